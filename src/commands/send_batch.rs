//! `mailq send-batch`: send what is due.

mod log;

use super::{Context, hold, hook, named, value};
use crate::config::{self, Config, Dkim, Road};
use crate::delivery::{self, Lane, Plan, RelayMaker, Summary, Workshop};
use crate::dkim::{Signer, Signers};
use crate::domain::address;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{Mail, Outgoing};
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::mime::Defaults;
use crate::output::Level;
use crate::spool::Spool;
use crate::store::{Access, Filter, Limited, Store};
use crate::templates::Templates;
use crate::transport::file::FileRelay;
use crate::transport::sendmail::SendmailRelay;
use crate::transport::smtp::{self, SmtpRelay};
use anyhow::{Context as _, Result};
use clap::Args;
use log::Log;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a `sendmail` program may take for one mail: it only queues.
const SENDMAIL_LIMIT: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Args)]
pub struct SendBatchArgs {
    /// Only mails of this queue.
    #[arg(long, value_name = "QUEUE", value_parser = value::text())]
    queue: Vec<String>,
    /// How many mails to send at most.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// How many mails a transaction claims at most [default: as configured, 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch_size: Option<u32>,
    /// How many connections to use [default: as configured, 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    concurrency: Option<u32>,
    /// How long to begin new mails.
    #[arg(long, value_name = "DURATION", value_parser = value::positive_duration(), allow_hyphen_values = true)]
    time_limit: Option<Duration>,
    /// Where a rate is met, wait until more may go, instead of ending.
    #[arg(long)]
    wait: bool,
    /// Render what is due and say what would happen; send and change nothing.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: SendBatchArgs, context: &Context) -> Result<u8> {
    let dkim = context.config.dkim()?;
    let signers = dkim.iter().map(signer).collect::<Result<_, Fault>>()?;
    let workshop = workshop(&context.config, Signers::new(signers))?;
    if args.dry_run {
        return rehearse(&args, &workshop, context);
    }
    context.config.check_passwords()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        // A second signal finds the flag set and ends the process at once.
        flag::register_conditional_default(signal, Arc::clone(&stop))
            .context("cannot handle signals")?;
        flag::register(signal, Arc::clone(&stop)).context("cannot handle signals")?;
    }
    let exposed = dkim.iter().filter_map(Dkim::warning);
    for warning in context.config.exposed_passwords().into_iter().chain(exposed) {
        context.output.say(Level::Warning, &warning);
    }
    let plan = plan(&args, &context.config, &stop);
    let mut store = context.store(Access::Write)?;
    named::warn_of_unknown(&args.queue, &store, context)?;
    let log = Log::new(&store, &args, context)?;
    let summary = delivery::run(&mut store, &plan, &workshop, &stop, &log)?;
    drop(log);
    note(&mut store, &summary, context);
    let held = store.held_back(host::now_ms())?;
    for one in held.iter().filter(|one| args.queue.is_empty() || args.queue.contains(&one.queue)) {
        context.output.say(Level::Notice, &hold::words(one));
    }
    hook::tell(&context.config.on_failed(), &summary.failures, &store, &context.output, &stop);
    drop(store);
    tell(&summary, context)?;
    Ok(if summary.outages.is_empty() { exit::DONE } else { exit::TRY_AGAIN })
}

/// Notes a run that ended well, for whoever watches the timer.
fn note(store: &mut Store, summary: &Summary, context: &Context) {
    let Summary { sent, deferred, failed, reaped, expired, suppressed, .. } = summary;
    if !summary.outages.is_empty() {
        return;
    }
    if sent + deferred + failed + reaped + expired + suppressed > 0 {
        context.note_run(store, "send-batch", &as_json(summary));
    } else if let Err(e) = store.note_idle_run() {
        let words = format!("cannot note that nothing was due: {e}");
        context.output.say(Level::Detail, &words);
    }
}

fn as_json(summary: &Summary) -> Value {
    let Summary {
        sent, deferred, failed, outages, limited, reaped, expired, suppressed, took, ..
    } = summary;
    let limited: Vec<_> = limited
        .iter()
        .map(|one| json!({ "queue": one.queue, "rate": one.rate.to_string(), "until": one.until }))
        .collect();
    let seconds = took.as_secs_f64();
    json!({
        "sent": sent, "deferred": deferred, "failed": failed, "outage": !outages.is_empty(), "reaped": reaped,
        "expired": expired, "suppressed": suppressed, "limited": limited, "seconds": round(seconds),
        "per_second": round(per_second(*sent, seconds)),
    })
}

fn per_second(sent: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { sent as f64 / seconds } else { 0.0 }
}

fn tell(summary: &Summary, context: &Context) -> Result<()> {
    let Summary { sent, deferred, failed, outages, limited, took, .. } = summary;
    for breaker in outages {
        let until = value::show_moment(breaker.until);
        let (scope, reason) = (&breaker.scope, breaker.words());
        context
            .output
            .say(Level::Warning, &format!("{scope} is left alone until {until}: {reason}"));
    }
    for Limited { queue, rate, until } in limited {
        let until = value::show_moment(*until);
        let words = format!("queue {queue} has met its rate, {rate}, and may go on at {until}");
        context.output.say(Level::Notice, &words);
    }
    if context.json {
        context.output.json(&as_json(summary))?;
        return Ok(());
    }
    let seconds = took.as_secs_f64();
    let per_second = per_second(*sent, seconds);
    let outage = if outages.is_empty() { "no" } else { "yes" };
    context.output.line(&format!(
        "sent {sent}, deferred {deferred}, failed {failed}, outage {outage} in {seconds:.2}s ({per_second:.1}/s)"
    ))?;
    Ok(())
}

/// Three digits behind the point say all that a measured time can.
fn round(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Reads the key of a domain that signs.
pub fn signer(dkim: &Dkim) -> Result<Signer, Fault> {
    Signer::read(&dkim.domain, &dkim.selector, &dkim.key_file)
}

/// What builds messages, from the configuration.
pub fn workshop(config: &Config, signers: Signers) -> Result<Workshop, Fault> {
    let own = config.queues().iter().filter(|queue| config.has_own_sender(queue));
    let own = own.map(|queue| Ok((queue.clone(), defaults(config, Some(queue))?)));
    Ok(Workshop {
        templates: Templates::new(Some(config.templates())),
        spool: Spool::new(config.spool(), config.attachment_roots()),
        defaults: defaults(config, None)?,
        own_defaults: own.collect::<Result<_, Fault>>()?,
        signers,
        max_message_size: config.max_message_size(),
    })
}

/// What mails of `queue` get that do not say otherwise.
fn defaults(config: &Config, queue: Option<&str>) -> Result<Defaults, Fault> {
    let read = |key: &str, text: &str| {
        address::parse_list(text)
            .map_err(|fault| Fault::new(Kind::Config, format!("{key} = {text:?}: {fault}")))
    };
    let reply_to = config.reply_to(queue).map(|text| read("reply_to", &text)).transpose()?;
    Ok(Defaults {
        from: read("from", &config.from(queue))?.pop(),
        reply_to: reply_to.unwrap_or_default(),
    })
}

/// A mail made ready to go, without sending it.
pub fn ready(mail: &Mail, context: &Context) -> Result<Outgoing> {
    let signers = context.config.dkim()?.iter().map(signer).collect::<Result<_, Fault>>()?;
    let workshop = workshop(&context.config, Signers::new(signers))?;
    let outgoing = workshop.prepare(mail, host::now_ms()).map_err(|(_, words)| {
        Fault::new(Kind::Data, format!("mail {} cannot be built: {words}", mail.id))
            .hint("correct the template, the attachment or the row; it would be FAILED as it is")
    })?;
    Ok(outgoing)
}

fn plan(args: &SendBatchArgs, config: &Config, stop: &Arc<AtomicBool>) -> Plan {
    let send = config.send();
    let concurrency = |own: Option<usize>| {
        args.concurrency.map_or(own.unwrap_or(config.concurrency()), |n| n as usize)
    };
    let (mut lanes, mut shared) = (Vec::new(), Vec::new());
    for queue in config.queues() {
        let own = config.own_concurrency(queue);
        if config.has_own_road(queue) || own.is_some() {
            lanes.push(lane(
                vec![queue.clone()],
                false,
                concurrency(own),
                config.road(Some(queue)),
                stop,
            ));
        } else {
            shared.push(queue.clone());
        }
    }
    lanes.push(lane(shared, true, concurrency(None), config.road(None), stop));
    let rates = |queue: &String| (queue.clone(), config.rates(queue));
    let per_domain =
        |queue: &String| config.max_per_domain(queue).map(|limit| (queue.clone(), limit));
    let own_policy = |queue: &String| (queue.clone(), config.policy(Some(queue)));
    Plan {
        lanes,
        policies: config.queues().iter().map(own_policy).collect::<HashMap<_, _>>(),
        policy: config.policy(None),
        rates: config.queues().iter().map(rates).filter(|(_, rates)| !rates.is_empty()).collect(),
        max_per_domain: config.queues().iter().filter_map(per_domain).collect(),
        waits: args.wait,
        only: args.queue.clone(),
        lease: send.lease,
        batch_size: args.batch_size.map_or(send.batch_size, |n| n as usize),
        limit: args.limit,
        time_limit: args.time_limit.or(send.time_limit),
        worker: host::worker_id(),
    }
}

/// What the breakers know the roads of all queues by, each once.
pub fn scopes(config: &Config) -> Vec<String> {
    let own = config.queues().iter().filter(|queue| config.has_own_road(queue));
    let roads = std::iter::once(config.road(None)).chain(own.map(|queue| config.road(Some(queue))));
    let mut scopes: Vec<String> = Vec::new();
    for scope in roads.map(|road| scope(&road)) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes
}

/// What the breaker knows the road of `queue` by.
pub fn scope_of(config: &Config, queue: &str) -> String {
    scope(&config.road(Some(queue).filter(|queue| config.has_own_road(queue))))
}

fn scope(road: &Road) -> String {
    match road {
        Road::Smtp(smtp) => smtp::Settings::new(smtp.host.clone(), smtp.port).scope(),
        Road::File { directory } => format!("file:{}", directory.display()),
        Road::Sendmail { program } => format!("sendmail:{}", program.display()),
    }
}

fn lane(
    queues: Vec<String>,
    others: bool,
    concurrency: usize,
    road: Road,
    stop: &Arc<AtomicBool>,
) -> Lane {
    let scope = scope(&road);
    let relay: RelayMaker = match road {
        Road::Smtp(smtp) => {
            let mut settings = settings(smtp);
            settings.stop = Arc::clone(stop);
            let settings = Arc::new(settings);
            Box::new(move || Box::new(SmtpRelay::new(Arc::clone(&settings))))
        }
        Road::File { directory } => Box::new(move || Box::new(FileRelay::new(directory.clone()))),
        Road::Sendmail { program } => {
            Box::new(move || Box::new(SendmailRelay::new(program.clone(), SENDMAIL_LIMIT)))
        }
    };
    Lane { queues, others, concurrency, scope, relay }
}

/// The smarthost's settings, as its transport wants them.
pub fn settings(smtp: config::Smtp) -> smtp::Settings {
    let mut settings = smtp::Settings::new(smtp.host, smtp.port);
    settings.tls = smtp.tls;
    settings.auth = smtp.auth;
    settings.username = smtp.username;
    settings.password = smtp.password.map(|secret| smtp::Secret::new(move || secret.read()));
    settings.ca_file = smtp.ca_file;
    settings.hello_name = smtp.hello_name.unwrap_or_else(host::name);
    settings.timeout = smtp.timeout;
    settings.mail_timeout = smtp.mail_timeout.unwrap_or(settings.mail_timeout);
    settings.idle_limit = smtp.idle_timeout.unwrap_or(settings.idle_limit);
    settings.max_messages_per_connection =
        smtp.max_messages_per_connection.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    settings.idempotency_header = smtp.idempotency_header;
    settings
}

/// Renders what is due and says what would happen to it.
fn rehearse(args: &SendBatchArgs, workshop: &Workshop, context: &Context) -> Result<u8> {
    let store = context.store(Access::Read)?;
    let now = host::now_ms();
    let mut due = store.list(&Filter {
        statuses: vec![Status::Pending],
        queues: args.queue.clone(),
        due_at: Some(now),
        ..Filter::default()
    })?;
    let held = store.held()?;
    due.retain(|(_, record)| {
        let queue = record.as_ref().map(|record| record.mail.queue.as_str()).unwrap_or_default();
        held.iter().all(|held| held.queue != queue)
    });
    // A run takes those first that are due for longest, and so does its rehearsal.
    due.sort_by_key(|(id, record)| {
        (record.as_ref().map_or(0, |record| record.mail.next_attempt_at), *id)
    });
    due.truncate(args.limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)));
    let (mut good, mut bad) = (0u64, 0u64);
    for (id, record) in due {
        let made = record
            .and_then(|record| workshop.prepare(&record.mail, now).map_err(|(_, words)| words));
        match made {
            Ok(outgoing) => {
                good += 1;
                let recipients = value::count(outgoing.envelope.recipients.len(), "recipient");
                let size = outgoing.content.size();
                context
                    .output
                    .say(Level::Detail, &format!("mail {id}: {recipients}, {size} bytes"));
            }
            Err(words) => {
                bad += 1;
                context.output.say(Level::Warning, &format!("mail {id} would fail: {words}"));
            }
        }
    }
    if context.json {
        context.output.json(&json!({ "would_send": good, "would_fail": bad }))?;
    } else {
        context.output.line(&format!("would send {good}, would fail {bad}"))?;
    }
    Ok(exit::DONE)
}
