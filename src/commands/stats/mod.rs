//! `mailq stats`: the figures, for people, for programs and for Prometheus; thresholds for monitoring.

mod group;
mod html;
mod plot;
mod prometheus;
mod text;
mod verdict;

use super::{Context, replace, send_batch, value};
use crate::config::units;
use crate::domain::fault::Fault;
use crate::domain::rate::Rate;
use crate::domain::retry::millis;
use crate::exit;
use crate::host;
use crate::output::{Level, Page, Unwritable, to_json};
use crate::store::{Access, Breaker, Counters, Run, Stats, Store};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// How far back ratios, durations and rates look.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = value::positive_duration(), allow_hyphen_values = true)]
    since: Duration,
    /// Only this queue.
    #[arg(long, value_name = "QUEUE", value_parser = value::text())]
    queue: Vec<String>,
    /// Instead: how far the mails of this group are, and about when they will be through.
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["queue", "prometheus", "html", "output", "max_pending_age", "max_failed_ratio", "max_silence"], value_parser = value::text())]
    group: Option<String>,
    /// Print in Prometheus' text format, for its textfile collector.
    #[arg(long, conflicts_with = "json")]
    prometheus: bool,
    /// Print a page for a browser.
    #[arg(long, conflicts_with_all = ["json", "prometheus"])]
    html: bool,
    /// Replace this file with the figures, all at once, instead of printing them.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit 1 if a mail is due for longer than this, 2 if for more than twice as long.
    #[arg(long, value_name = "DURATION", value_parser = value::duration(), allow_hyphen_values = true)]
    max_pending_age: Option<Duration>,
    /// Exit 1 if a larger share than this (`5%`, `0.05`) FAILED, 2 if twice as large a one, or one half-way to all.
    #[arg(long, value_name = "SHARE", value_parser = value::read(units::share), allow_hyphen_values = true)]
    max_failed_ratio: Option<f64>,
    /// Exit 1 if no run of send-batch ended well for so long, 2 if for more than twice as long, or if none ever did.
    #[arg(long, value_name = "DURATION", value_parser = value::positive_duration(), allow_hyphen_values = true)]
    max_silence: Option<Duration>,
}

/// All that is told, in whatever form.
struct Figures {
    /// In milliseconds since 1970.
    now: i64,
    since: Duration,
    stats: Stats,
    counters: Counters,
    runs: Vec<Run>,
    /// When `send-batch` last ended well, whether or not it found something to do.
    last_run_at: Option<i64>,
    /// The smarthosts, or what else mails are handed to, each with its breaker if it has one.
    roads: Vec<(String, Option<Breaker>)>,
    rates: Vec<Limit>,
}

/// A rate of a queue, and how many more mails it lets through now.
struct Limit {
    queue: String,
    rate: Rate,
    left: u64,
    /// A server had too many, and the queue recovers from that.
    is_pace: bool,
}

impl Figures {
    fn gather(args: &StatsArgs, store: &Store, context: &Context) -> Result<Figures, Fault> {
        let now = host::now_ms();
        let since = now.saturating_sub(millis(args.since)).max(0);
        let stats = store.stats(&args.queue, since, now)?;
        let (runs, idle_at) = store.runs()?;
        let busy_at = runs.iter().find(|run| run.command == "send-batch").map(|run| run.at);
        let mut roads: Vec<(String, Option<Breaker>)> =
            send_batch::scopes(&context.config).into_iter().map(|scope| (scope, None)).collect();
        for breaker in &stats.breakers {
            match roads.iter_mut().find(|(scope, _)| *scope == breaker.scope) {
                Some((_, known)) => *known = Some(breaker.clone()),
                None => roads.push((breaker.scope.clone(), Some(breaker.clone()))),
            }
        }
        let named = |queue: &String| args.queue.is_empty() || args.queue.contains(queue);
        let own = context.config.queues().iter().filter(|queue| named(queue)).flat_map(|queue| {
            let rates = context.config.rates(queue).into_iter();
            rates.map(move |rate| (queue.clone(), rate, false))
        });
        let paces = store.paces()?.into_iter().filter(|(queue, _)| named(queue));
        let paces = paces.filter_map(|(queue, pace)| Some((queue, pace.at(now)?, true)));
        let limit = |(queue, rate, is_pace): (String, Rate, bool)| {
            Ok(Limit { left: store.left(&queue, rate, now)?, queue, rate, is_pace })
        };
        let rates = own.chain(paces).map(limit).collect::<Result<_, Fault>>()?;
        Ok(Figures {
            now,
            since: args.since,
            stats,
            counters: store.counters()?,
            runs,
            last_run_at: busy_at.max(idle_at),
            roads,
            rates,
        })
    }

    fn is_open(&self, breaker: &Breaker) -> bool {
        breaker.is_open(self.now)
    }
}

pub fn run(args: &StatsArgs, context: &Context) -> anyhow::Result<u8> {
    if let Some(group) = &args.group {
        return group::run(group, context);
    }
    if let Some(path) = &args.output {
        context.spare("--output", path)?;
    }
    let store = context.store(Access::Read)?;
    let figures = Figures::gather(args, &store, context)?;
    drop(store);
    let verdict = verdict::Verdict::reach(args, &figures);
    let is_for_people = !context.json && !args.prometheus && !args.html;
    let code = verdict.as_ref().map_or(exit::DONE, |verdict| verdict.code);
    if is_for_people && args.output.is_none() {
        let mut page = Page::default();
        if let Some(verdict) = &verdict {
            page.line([verdict.line.as_str().into()]);
            page.line([]);
        }
        text::fill(&mut page, &figures, context.output.width());
        return done(context.output.page(&page), code);
    }
    if let Some(verdict) = verdict.filter(|verdict| verdict.code != exit::DONE) {
        context.output.say(Level::Warning, &verdict.line);
    }
    let text = match (context.json, args.prometheus) {
        (true, _) => to_json(&as_json(&figures)) + "\n",
        (_, true) => prometheus::page(&figures),
        _ if args.html => html::page(&figures),
        _ => {
            let mut page = Page::default();
            text::fill(&mut page, &figures, None);
            page.to_string()
        }
    };
    match &args.output {
        Some(path) => replace::file(path, text.as_bytes())?,
        None => return done(context.output.document(&text), code),
    }
    Ok(code)
}

/// The verdict counts also for a reader that went away, as `head -1` does.
fn done(printed: Result<(), Unwritable>, code: u8) -> anyhow::Result<u8> {
    match printed {
        Err(unwritable) if !unwritable.is_closed() => Err(unwritable.into()),
        _ => Ok(code),
    }
}

fn seconds(ms: Option<i64>) -> Option<f64> {
    ms.map(|ms| ms as f64 / 1000.0)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn shown_seconds(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |n| format!("{n:.3} s"))
}

fn percentiles(send_ms: Option<[i64; 3]>) -> [Option<f64>; 3] {
    send_ms.map_or([None; 3], |all| all.map(|ms| seconds(Some(ms))))
}

fn as_json(figures: &Figures) -> Value {
    let stats = &figures.stats;
    let duration = |send_ms: Option<[i64; 3]>| {
        let [p50, p95, p99] = percentiles(send_ms);
        json!({ "p50": p50, "p95": p95, "p99": p99 })
    };
    let queues: Vec<Value> = stats
        .queues
        .iter()
        .map(|one| {
            json!({
                "queue": one.queue, "pending": one.pending, "due": one.due, "scheduled": one.scheduled,
                "sending": one.sending, "sent": one.sent, "failed": one.failed,
                "oldest_due_age_seconds": seconds(one.oldest_due_age_ms),
                "failed_ratio": one.recent.failed_ratio, "cancelled": one.recent.cancelled,
                "send_duration_seconds": duration(one.recent.send_ms),
                "attempts_per_mail": one.recent.attempts_per_mail,
                "sent_per_minute": one.recent.sent_per_minute,
                "held": one.held.as_ref().map(|held| json!({ "since": held.since, "reason": held.reason })),
            })
        })
        .collect();
    let breakers: Vec<Value> = stats
        .breakers
        .iter()
        .map(|one| {
            json!({
                "scope": one.scope, "reason": one.reason, "since": one.since, "until": one.until,
                "outages": one.outages, "open": figures.is_open(one),
            })
        })
        .collect();
    let runs: Vec<Value> = figures
        .runs
        .iter()
        .map(|run| {
            let result: Option<Value> = serde_json::from_str(&run.result).ok();
            json!({ "command": run.command, "at": run.at, "result": result })
        })
        .collect();
    let rates: Vec<Value> = figures
        .rates
        .iter()
        .map(|one| {
            json!({
                "queue": one.queue, "rate": one.rate.to_string(), "left": one.left, "slowed_down": one.is_pace,
            })
        })
        .collect();
    let reasons: Vec<Value> = stats
        .reasons
        .iter()
        .map(|one| json!({ "failure": one.failure, "words": one.words, "mails": one.mails }))
        .collect();
    json!({
        "schema": 1, "at": figures.now, "queues": queues,
        "oldest_due_age_seconds": seconds(stats.oldest_due_age_ms),
        "failed_ratio": stats.recent.failed_ratio,
        "send_duration_seconds": duration(stats.recent.send_ms),
        "attempts_per_mail": stats.recent.attempts_per_mail,
        "sent_per_minute": stats.recent.sent_per_minute,
        "breakers": breakers,
        "sent_by_hour": stats.recent.sent_by_hour, "last_sent_at": stats.last_sent_at,
        "last_run_at": figures.last_run_at, "runs": runs, "rates": rates,
        "reasons": reasons, "reasons_of_last": stats.reasons_of_last, "reasons_untold": stats.reasons_untold,
    })
}
