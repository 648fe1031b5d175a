//! `mailq check`: everything that could stop a mail, looked at before one is sent.

use super::{Context, send_batch, value};
use crate::config::{Dkim, Road, program};
use crate::dkim::Signers;
use crate::domain::fault::{Fault, Kind, folder_of, words_of};
use crate::domain::outcome::{Phase, Trouble};
use crate::exit;
use crate::host;
use crate::output::Level;
use crate::store::{self, Access, Breaker};
use crate::transport::smtp::SmtpRelay;
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Do not connect to the smarthost.
    #[arg(long)]
    offline: bool,
    /// Create the database where it is missing.
    #[arg(long)]
    create: bool,
}

/// What is found; each thing is told as soon as it is known.
struct Findings<'a> {
    context: &'a Context,
    first: Option<Fault>,
}

impl Findings<'_> {
    /// Tells one thing that was looked at: its name, and what is wrong with it.
    fn add(&mut self, name: &str, result: Result<String, Fault>) -> Result<()> {
        let output = &self.context.output;
        let (words, hint) = match &result {
            Ok(words) => (words.clone(), None),
            Err(fault) => (fault.to_string(), fault.next_step()),
        };
        let is_sound = result.is_ok();
        if self.context.json {
            let mut told = json!({ "check": name, "ok": is_sound, "detail": words });
            if let Some(hint) = hint {
                told["hint"] = hint.into();
            }
            output.json(&told)?;
        } else {
            let verdict = if is_sound { "ok" } else { "PROBLEM" };
            output.line(&format!("{verdict:<8} {name}: {words}"))?;
            if let Some(hint) = hint {
                output.line(&format!("         hint: {hint}"))?;
            }
        }
        self.first = self.first.take().or(result.err());
        Ok(())
    }
}

pub fn run(args: &CheckArgs, context: &Context) -> Result<u8> {
    let config = &context.config;
    let shown = |path: &Path| path.display().to_string();
    let access = if args.create { Access::Create } else { Access::Read };
    let mut findings = Findings { context, first: None };
    let file = config.file().map_or("defaults only".into(), |path| shown(path));
    findings.add("configuration", Ok(file))?;
    findings.add("database", database(access, context))?;
    let spool = config.spool();
    findings.add("spool", takes_files(&spool).map(|()| shown(&spool)))?;
    if let Some(warning) = store::network_warning(config.database()) {
        context.output.say(Level::Warning, &warning);
    }
    if config.names_templates() {
        findings.add("templates", folder(&config.templates()))?;
    }
    let workshop = send_batch::workshop(config, Signers::default())?;
    let templates = &workshop.templates;
    for name in templates.names() {
        let words = if templates.is_compiled_in(&name) { "parses (built in)" } else { "parses" };
        let result = templates.parse(&name).map(|()| words.to_owned());
        findings.add(&format!("template {name}"), result)?;
    }
    if let Some(name) = config.on_failed().first() {
        findings.add("on_failed", program(name))?;
    }
    for dkim in config.dkim()? {
        findings.add(&format!("dkim {}", dkim.domain), signature(&dkim, context))?;
    }
    let own = config.queues().iter().filter(|queue| config.has_own_road(queue));
    for queue in std::iter::once(None).chain(own.map(|queue| Some(queue.as_str()))) {
        let name =
            queue.map_or("transport".to_owned(), |queue| format!("transport of queue {queue}"));
        findings.add(&name, road(queue, args.offline, context))?;
    }
    match findings.first {
        Some(fault) => Err(fault.into()),
        None => Ok(exit::DONE),
    }
}

/// The database must open, and hold no damage.
fn database(access: Access, context: &Context) -> Result<String, Fault> {
    let is_known = context.store(access)?.look_for_damage()?;
    let path = context.config.database().display();
    Ok(match is_known {
        true => path.to_string(),
        false => format!("{path} (too large to be looked through for damage)"),
    })
}

/// A folder of templates that was named must be there: without it those that are built in would serve.
fn folder(path: &Path) -> Result<String, Fault> {
    match fs::read_dir(path) {
        Ok(_) => Ok(path.display().to_string()),
        Err(error) => {
            let words = format!("templates = {:?}: {}", path, words_of(&error));
            Err(Fault::new(Kind::Config, words)
                .hint("make the folder, or correct the key; what is built in serves until then"))
        }
    }
}

fn program(name: &str) -> Result<String, Fault> {
    program::find(name).map(|path| path.display().to_string()).ok_or_else(|| {
        Fault::new(Kind::Config, format!("there is no program {name}"))
            .hint("correct on_failed: the program's path, then its arguments")
    })
}

/// `dir` must take files, or not be there yet in a place that takes it.
fn takes_files(dir: &Path) -> Result<(), Fault> {
    let place = dir.ancestors().find(|place| place.exists()).unwrap_or(folder_of(dir));
    let is_ready =
        fs::metadata(place).is_ok_and(|meta| meta.is_dir() && !meta.permissions().readonly());
    match is_ready {
        true => Ok(()),
        false => {
            Err(Fault::new(Kind::CannotCreate, format!("{} cannot be written", dir.display()))
                .hint(format!("create it for the user who enqueues: mkdir -p {}", dir.display())))
        }
    }
}

/// The key of a domain that signs must be one. Whether DNS has its other half is not asked.
fn signature(dkim: &Dkim, context: &Context) -> Result<String, Fault> {
    if let Some(warning) = dkim.warning() {
        context.output.say(Level::Warning, &warning);
    }
    let (domain, selector) = (&dkim.domain, &dkim.selector);
    send_batch::signer(dkim)
        .map(|signer| format!("{} as {selector}._domainkey.{domain}", signer.algorithm()))
        .map_err(|fault| {
            // The fault names the domain too, for those who do not check.
            let words = fault.to_string().replacen(&format!("dkim {domain}: "), "", 1);
            let told = Fault::new(fault.kind(), words);
            fault.next_step().map(|hint| told.clone().hint(hint)).unwrap_or(told)
        })
}

/// The way out of `queue`.
fn road(queue: Option<&str>, offline: bool, context: &Context) -> Result<String, Fault> {
    let missing =
        |what: &str, path: &Path| Fault::new(Kind::Config, format!("no {what} {}", path.display()));
    match context.config.road(queue) {
        Road::File { directory } if directory.is_dir() => {
            Ok(format!("files in {}", directory.display()))
        }
        Road::File { directory } => takes_files(&directory)
            .map(|()| format!("files in {}, which the first mail makes", directory.display())),
        Road::Sendmail { program } if program.is_file() => Ok(program.display().to_string()),
        Road::Sendmail { program } => Err(missing("program", &program)),
        Road::Smtp(smtp) => {
            if let Some(warning) = smtp.password.as_ref().and_then(|secret| secret.warning()) {
                context.output.say(Level::Warning, &warning);
            }
            match context.config.check_password(queue) {
                // Only its sender need read it, and that may be somebody else.
                Err(fault) if offline && fault.kind() == Kind::Permission => {}
                other => other?,
            }
            let source = smtp.password.as_ref().map(ToString::to_string).unwrap_or_default();
            let settings = Arc::new(send_batch::settings(smtp));
            if offline {
                return Ok(format!("{}, not tried", settings.scope()));
            }
            SmtpRelay::new(Arc::clone(&settings)).try_road().map_err(|trouble| {
                let hint = next_step(&trouble, &source);
                Fault::new(Kind::TryAgain, trouble.words).hint(hint)
            })?;
            Ok(format!("{} answers{}", settings.scope(), let_go(&settings.scope(), context)))
        }
    }
}

/// What to look at when the smarthost did not let us in; `source` is where the password comes from.
fn next_step(trouble: &Trouble, source: &str) -> String {
    match trouble.phase {
        Some(Phase::Auth) => format!(
            "look at smtp.username, and at the password: smtp.password_file or smtp.password_command, here {source}"
        ),
        Some(Phase::Connect) if trouble.words.contains("cannot be resolved") => {
            "look at smtp.host: the name is not known here".to_owned()
        }
        Some(Phase::Connect) => "look at smtp.host and smtp.port".to_owned(),
        Some(Phase::Tls | Phase::StartTls) => {
            "look at smtp.tls, smtp.port and smtp.ca_file".to_owned()
        }
        _ => "look at smtp.port and smtp.tls; the smarthost's own log says more".to_owned(),
    }
}

/// A smarthost that lets us in is not left alone any longer. What is said of that.
fn let_go(scope: &str, context: &Context) -> String {
    let close = || -> Result<Option<Breaker>, Fault> {
        let all = context.store(Access::Read)?.breakers()?;
        let found = all.into_iter().find(|one| one.scope == scope);
        if found.is_some() {
            context.store(Access::Write)?.close_breaker(scope)?;
        }
        Ok(found)
    };
    match close() {
        Ok(Some(one)) if host::now_ms() < one.until => {
            format!(
                "; it was left alone until {}, and is not any more",
                value::show_moment(one.until)
            )
        }
        Ok(_) => String::new(),
        // No database: that was told before.
        Err(fault) if fault.kind() == Kind::NoInput => String::new(),
        Err(fault) => {
            let words = format!("{scope} is left alone all the same: {fault}");
            context.output.say(Level::Warning, &words);
            String::new()
        }
    }
}
