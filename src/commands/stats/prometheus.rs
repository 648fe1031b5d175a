//! The figures in Prometheus' text format, for the textfile collector of its node exporter.

use super::{percentiles, seconds};
use crate::store::Stats;

/// All families, each with its samples.
pub fn page(stats: &Stats, now: i64) -> String {
    let mut text = String::new();
    let mut family = |name: &str, help: &str, samples: Vec<(String, f64)>| {
        if samples.is_empty() {
            return;
        }
        text.push_str(&format!("# HELP mailq_{name} {help}\n# TYPE mailq_{name} gauge\n"));
        for (labels, number) in samples {
            text.push_str(&format!("mailq_{name}{labels} {number}\n"));
        }
    };
    let label = |name: &str, value: &str| {
        format!(
            "{name}=\"{}\"",
            value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
        )
    };
    let mut mails = Vec::new();
    for one in &stats.queues {
        let states = [
            ("due", one.due),
            ("scheduled", one.scheduled),
            ("sending", one.sending),
            ("sent", one.sent),
            ("failed", one.failed),
        ];
        for (state, count) in states {
            let labels = format!("{{{},{}}}", label("queue", &one.queue), label("state", state));
            mails.push((labels, count as f64));
        }
    }
    let plain =
        |number: Option<f64>| number.map(|n| (String::new(), n)).into_iter().collect::<Vec<_>>();
    family("mails", "Mails in the queue by state.", mails);
    let age = Some(seconds(stats.oldest_due_age_ms).unwrap_or(0.0));
    family(
        "oldest_due_age_seconds",
        "How long the oldest due mail has been due; 0 without one.",
        plain(age),
    );
    family("failed_ratio", "FAILED share of what finished since.", plain(stats.failed_ratio));
    let quantiles = [("0.5", 0), ("0.95", 1), ("0.99", 2)];
    let durations = quantiles.iter().filter_map(|(name, at)| {
        let figure = percentiles(stats)[*at]?;
        Some((format!("{{{}}}", label("quantile", name)), figure))
    });
    family("send_duration_seconds", "How long handing a mail over took.", durations.collect());
    family("attempts_per_mail", "Attempts that a mail SENT took.", plain(stats.attempts_per_mail));
    family("sent_per_minute", "Mails SENT a minute since.", plain(stats.sent_per_minute));
    let open = stats.breakers.iter().map(|one| {
        let is_open = one.tripped_at <= now && now < one.until;
        (format!("{{{}}}", label("scope", &one.scope)), f64::from(u8::from(is_open)))
    });
    family("breaker_open", "Whether a smarthost is left alone.", open.collect());
    text
}
