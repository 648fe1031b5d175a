//! `mailq stats`: the figures, for people, for programs and for Prometheus; thresholds for monitoring.

mod html;
mod prometheus;

use super::{Context, value};
use crate::config::units;
use crate::domain::fault::{Fault, Kind, words_of};
use crate::domain::retry::millis;
use crate::exit;
use crate::host;
use crate::output::{Level, Table, to_json};
use crate::store::{Access, Stats};
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// How far back ratios, durations and rates look.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = value::positive_duration(), allow_hyphen_values = true)]
    since: Duration,
    /// Only this queue.
    #[arg(long, value_name = "QUEUE", value_parser = value::text())]
    queue: Vec<String>,
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
}

pub fn run(args: &StatsArgs, context: &Context) -> Result<u8> {
    let now = host::now_ms();
    let store = context.store(Access::Read)?;
    let stats = store.stats(&args.queue, now.saturating_sub(millis(args.since)).max(0), now)?;
    let text = match (context.json, args.prometheus) {
        (true, _) => to_json(&as_json(&stats, now)) + "\n",
        (_, true) => prometheus::page(&stats, now),
        _ if args.html => html::page(&as_text(&stats, now, args.since), now),
        _ => as_text(&stats, now, args.since),
    };
    match &args.output {
        Some(path) => replace(path, &text)?,
        None if context.json || args.prometheus || args.html => context.output.document(&text)?,
        None => context.output.print(&text)?,
    }
    Ok(severity(args, &stats, context))
}

/// The exit code that the thresholds ask for.
fn severity(args: &StatsArgs, stats: &Stats, context: &Context) -> u8 {
    let mut worst = exit::DONE;
    let mut hold = |name: &str, measured: f64, warning: f64, critical: f64, shown: String| {
        let (code, word, level) = match measured {
            measured if measured <= warning => return,
            measured if measured > critical => (exit::CRITICAL, "critical: ", Level::Error),
            _ => (exit::WARNING, "", Level::Warning),
        };
        context.output.say(level, &format!("{word}{name} is {shown}"));
        worst = worst.max(code);
    };
    if let Some((age, limit)) = stats.oldest_due_age_ms.zip(args.max_pending_age.map(millis)) {
        let shown = format!("{} s, more than {} s", age as f64 / 1000.0, limit as f64 / 1000.0);
        let limit = limit as f64;
        hold("the age of the oldest due mail", age as f64, limit, 2.0 * limit, shown);
    }
    if let Some((ratio, limit)) = stats.failed_ratio.zip(args.max_failed_ratio) {
        let shown = format!("{}, more than {}", percent(ratio), percent(limit));
        // No ratio is above 1, so that from a limit of a third on, half-way to it is critical.
        let critical = (2.0 * limit).min((1.0 + limit) / 2.0);
        hold("the FAILED ratio", ratio, limit, critical, shown);
    }
    worst
}

fn seconds(ms: Option<i64>) -> Option<f64> {
    ms.map(|ms| ms as f64 / 1000.0)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn as_json(stats: &Stats, now: i64) -> Value {
    let queues: Vec<Value> = stats
        .queues
        .iter()
        .map(|one| {
            json!({
                "queue": one.queue, "pending": one.pending, "due": one.due, "scheduled": one.scheduled,
                "sending": one.sending, "sent": one.sent, "failed": one.failed,
            })
        })
        .collect();
    let breakers: Vec<Value> = stats
        .breakers
        .iter()
        .map(|one| {
            json!({
                "scope": one.scope, "reason": one.reason, "since": one.since, "until": one.until,
                "open": one.tripped_at <= now && now < one.until,
            })
        })
        .collect();
    let [p50, p95, p99] = percentiles(stats);
    json!({
        "schema": 1, "at": now, "queues": queues,
        "oldest_due_age_seconds": seconds(stats.oldest_due_age_ms),
        "failed_ratio": stats.failed_ratio,
        "send_duration_seconds": { "p50": p50, "p95": p95, "p99": p99 },
        "attempts_per_mail": stats.attempts_per_mail,
        "sent_per_minute": stats.sent_per_minute,
        "breakers": breakers,
    })
}

fn percentiles(stats: &Stats) -> [Option<f64>; 3] {
    stats.send_ms.map_or([None; 3], |all| all.map(|ms| seconds(Some(ms))))
}

fn as_text(stats: &Stats, now: i64, since: Duration) -> String {
    let mut table =
        Table::new(&["queue", "pending", "due", "scheduled", "sending", "sent", "failed"]);
    for one in &stats.queues {
        let numbers = [one.pending, one.due, one.scheduled, one.sending, one.sent, one.failed];
        let cells = std::iter::once(one.queue.clone()).chain(numbers.map(|n| n.to_string()));
        table.row(cells.collect());
    }
    let mut text =
        if stats.queues.is_empty() { "no mails\n".to_owned() } else { table.to_string() };
    let [p50, p95, p99] = percentiles(stats);
    let shown = |number: Option<f64>, unit: &str| {
        number.map_or("-".to_owned(), |n| format!("{n:.3}{unit}"))
    };
    let lines = [
        ("oldest due mail", shown(seconds(stats.oldest_due_age_ms), " s")),
        ("failed", stats.failed_ratio.map_or("-".to_owned(), percent)),
        (
            "send duration",
            format!("p50 {}, p95 {}, p99 {}", shown(p50, " s"), shown(p95, " s"), shown(p99, " s")),
        ),
        ("attempts per mail", shown(stats.attempts_per_mail, "")),
        ("sent per minute", shown(stats.sent_per_minute, "")),
    ];
    text.push('\n');
    for (name, figure) in lines {
        text.push_str(&format!("{name:<18} {figure}\n"));
    }
    text.push_str(&format!("(what finished in the last {})\n", units::human(since)));
    for one in stats.breakers.iter().filter(|one| now < one.until) {
        let until = value::show_moment(one.until);
        text.push_str(&format!(
            "smarthost {} is left alone until {until}: {}\n",
            one.scope, one.reason
        ));
    }
    text
}

/// Puts `text` into `path` so that a reader sees the old file or the new one, whole.
fn replace(path: &Path, text: &str) -> Result<(), Fault> {
    let cannot = |e: std::io::Error| {
        Fault::new(Kind::CannotCreate, format!("cannot write {}: {}", path.display(), words_of(&e)))
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", process::id()));
    let draft = path.with_file_name(name);
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(|e| {
        // What could not become the file must not stay beside it.
        fs::remove_file(&draft).ok();
        cannot(e)
    })
}
