//! What the thresholds make of the figures: one line and an exit code, as monitoring plugins have them.

use super::{Figures, StatsArgs, percent};
use crate::commands::value;
use crate::domain::retry::millis;
use crate::exit;

/// The line that a plugin prints first, and the code that it ends with.
pub struct Verdict {
    pub code: u8,
    pub line: String,
}

struct Check {
    code: u8,
    words: String,
}

impl Verdict {
    /// `None` where there is no threshold.
    pub fn reach(args: &StatsArgs, figures: &Figures) -> Option<Verdict> {
        let checks: Vec<Check> =
            [pending_age(args, figures), failed_ratio(args, figures), silence(args, figures)]
                .into_iter()
                .flatten()
                .collect();
        let code = checks.iter().map(|check| check.code).max()?;
        let word = match code {
            exit::DONE => "OK",
            exit::WARNING => "WARNING",
            _ => "CRITICAL",
        };
        // What is wrong comes first, and alone.
        let told = checks.iter().filter(|check| check.code == code || check.code != exit::DONE);
        let words: Vec<&str> = told.map(|check| check.words.as_str()).collect();
        let line = format!("MAILQ {word} - {} | {}", words.join("; "), measures(figures));
        Some(Verdict { code, line })
    }
}

fn grade(measured: f64, warning: f64, critical: f64) -> u8 {
    match measured {
        measured if measured <= warning => exit::DONE,
        measured if measured > critical => exit::CRITICAL,
        _ => exit::WARNING,
    }
}

fn pending_age(args: &StatsArgs, figures: &Figures) -> Option<Check> {
    let limit = millis(args.max_pending_age?);
    let Some(age) = figures.stats.oldest_due_age_ms else {
        return Some(Check { code: exit::DONE, words: "no mail is due".to_owned() });
    };
    let code = grade(age as f64, limit as f64, 2.0 * limit as f64);
    let more = if code == exit::DONE { "at most" } else { "more than" };
    let words = format!(
        "the oldest due mail has been due for {}, {more} {}",
        value::span(age),
        value::span(limit)
    );
    Some(Check { code, words })
}

fn failed_ratio(args: &StatsArgs, figures: &Figures) -> Option<Check> {
    let limit = args.max_failed_ratio?;
    let Some(ratio) = figures.stats.recent.failed_ratio else {
        return Some(Check { code: exit::DONE, words: "no mail finished".to_owned() });
    };
    // No ratio is above 1, so that from a limit of a third on, half-way to it is critical.
    let code = grade(ratio, limit, (2.0 * limit).min((1.0 + limit) / 2.0));
    let more = if code == exit::DONE { "at most" } else { "more than" };
    let words = format!("{} FAILED, {more} {}", percent(ratio), percent(limit));
    Some(Check { code, words })
}

fn silence(args: &StatsArgs, figures: &Figures) -> Option<Check> {
    let limit = millis(args.max_silence?);
    let Some(at) = figures.last_run_at else {
        let words = "no run of send-batch ever ended well".to_owned();
        return Some(Check { code: exit::CRITICAL, words });
    };
    let age = figures.now.saturating_sub(at).max(0);
    let code = grade(age as f64, limit as f64, 2.0 * limit as f64);
    let words = match code {
        exit::DONE => format!("send-batch last ended well {} ago", value::span(age)),
        _ => format!(
            "no run of send-batch ended well for {}, more than {}",
            value::span(age),
            value::span(limit)
        ),
    };
    Some(Check { code, words })
}

/// The figures as a plugin gives them to whoever plots them.
fn measures(figures: &Figures) -> String {
    let stats = &figures.stats;
    let sum =
        |count: fn(&crate::store::QueueStats) -> u64| stats.queues.iter().map(count).sum::<u64>();
    let age = stats.oldest_due_age_ms.unwrap_or_default() as f64 / 1000.0;
    let mut all = format!(
        "due={} scheduled={} sending={} oldest_due_age={age}s",
        sum(|one| one.due),
        sum(|one| one.scheduled),
        sum(|one| one.sending)
    );
    if let Some(ratio) = stats.recent.failed_ratio {
        all.push_str(&format!(" failed_ratio={:.2}%", ratio * 100.0));
    }
    all
}
