//! `mailq check`: everything that could stop a mail, looked at before one is sent.

use super::{Context, send_batch};
use crate::config::{Dkim, Road};
use crate::dkim::Signers;
use crate::domain::fault::{Fault, Kind, folder_of};
use crate::exit;
use crate::output::Level;
use crate::store::{self, Access};
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

/// One thing that was looked at: its name, and what is wrong with it.
type Finding = (String, Result<String, Fault>);

pub fn run(args: &CheckArgs, context: &Context) -> Result<u8> {
    let config = &context.config;
    let shown = |path: &Path| path.display().to_string();
    let access = if args.create { Access::Create } else { Access::Read };
    let mut findings: Vec<Finding> = vec![
        (
            "configuration".into(),
            Ok(config.file().map_or("defaults only".into(), |path| shown(path))),
        ),
        ("database".into(), context.store(access).map(|_| shown(config.database()))),
        ("spool".into(), spool(&config.spool()).map(|()| shown(&config.spool()))),
    ];
    if let Some(warning) = store::network_warning(config.database()) {
        context.output.say(Level::Warning, &warning);
    }
    let workshop = send_batch::workshop(config, Signers::default())?;
    for name in workshop.templates.names() {
        let result = workshop.templates.parse(&name).map(|()| "parses".to_owned());
        findings.push((format!("template {name}"), result));
    }
    for dkim in config.dkim()? {
        findings.push(signature(&dkim, context));
    }
    findings.extend(roads(args.offline, context));
    let mut worst = None;
    for (name, result) in findings {
        let (words, is_sound) = match &result {
            Ok(words) => (words.clone(), true),
            Err(fault) => (fault.to_string(), false),
        };
        match context.json {
            true => {
                context.output.json(&json!({ "check": name, "ok": is_sound, "detail": words }))?
            }
            false => context
                .output
                .line(&format!("{:<8} {name}: {words}", if is_sound { "ok" } else { "PROBLEM" }))?,
        }
        worst = worst.or(result.err());
    }
    match worst {
        Some(fault) => Err(fault.into()),
        None => Ok(exit::DONE),
    }
}

/// The spool must take files, or not be there yet in a place that takes it.
fn spool(dir: &Path) -> Result<(), Fault> {
    let place = if dir.exists() { dir } else { folder_of(dir) };
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
fn signature(dkim: &Dkim, context: &Context) -> Finding {
    if let Some(warning) = dkim.warning() {
        context.output.say(Level::Warning, &warning);
    }
    let (domain, selector) = (&dkim.domain, &dkim.selector);
    let result = send_batch::signer(dkim)
        .map(|signer| format!("{} as {selector}._domainkey.{domain}", signer.algorithm()));
    (format!("dkim {domain}"), result)
}

/// The ways out: the usual one, and those of queues with their own.
fn roads(offline: bool, context: &Context) -> Vec<Finding> {
    let config = &context.config;
    let own = config
        .queues()
        .iter()
        .filter(|queue| config.has_own_road(queue))
        .map(|queue| Some(queue.as_str()));
    let mut findings = Vec::new();
    for queue in std::iter::once(None).chain(own) {
        let name =
            queue.map_or("transport".to_owned(), |queue| format!("transport of queue {queue}"));
        let result = match config.road(queue) {
            Road::File { directory } if directory.is_dir() => {
                Ok(format!("files in {}", directory.display()))
            }
            Road::File { directory } => {
                Err(Fault::new(Kind::Config, format!("no directory {}", directory.display())))
            }
            Road::Sendmail { program } if program.is_file() => Ok(program.display().to_string()),
            Road::Sendmail { program } => {
                Err(Fault::new(Kind::Config, format!("no program {}", program.display())))
            }
            Road::Smtp(smtp) => {
                if let Some(warning) = smtp.password.as_ref().and_then(|secret| secret.warning()) {
                    context.output.say(Level::Warning, &warning);
                }
                let settings = Arc::new(send_batch::settings(smtp));
                match offline {
                    true => Ok(format!("{}, not tried", settings.scope())),
                    false => SmtpRelay::new(Arc::clone(&settings))
                        .try_road()
                        .map(|()| format!("{} answers", settings.scope()))
                        .map_err(|trouble| Fault::new(Kind::TryAgain, trouble.words)),
                }
            }
        };
        findings.push((name, result));
    }
    findings
}
