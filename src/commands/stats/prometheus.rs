//! The figures in Prometheus' text format, for the textfile collector of its node exporter.
//!
//! Counters come from the table that only grows, so that a prune is no reset. What Prometheus can work out itself
//! (ratios, rates, percentiles) is not told.

use super::Figures;
use crate::output::tame_line;
use crate::store::{Counter, DURATIONS};
use std::collections::BTreeSet;
use std::fmt::Write;

/// One sample: its labels, and its value.
type Sample = (String, f64);

/// All families, each with its samples.
pub fn page(figures: &Figures) -> String {
    let mut text = String::new();
    gauges(figures, &mut text);
    counters(figures, &mut text);
    durations(figures, &mut text);
    text
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: Vec<Sample>) {
    if samples.is_empty() {
        return;
    }
    let _ = write!(text, "# HELP mailq_{name} {help}\n# TYPE mailq_{name} {kind}\n");
    for (labels, number) in samples {
        let _ = writeln!(text, "mailq_{name}{labels} {number}");
    }
}

fn label(name: &str, value: &str) -> String {
    // No line end is left after this.
    let value = tame_line(value).replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{value}\"")
}

fn of_queue(queue: &str) -> String {
    format!("{{{}}}", label("queue", queue))
}

fn gauges(figures: &Figures, text: &mut String) {
    let (stats, now) = (&figures.stats, figures.now);
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
    family(text, "mails", "gauge", "Mails in the database by state.", mails);
    let ages = stats.queues.iter().map(|one| {
        (of_queue(&one.queue), one.oldest_due_age_ms.unwrap_or_default() as f64 / 1000.0)
    });
    let help = "How long the oldest due mail of a queue has been due; 0 without one.";
    family(text, "oldest_due_age_seconds", "gauge", help, ages.collect());
    let held = stats.queues.iter();
    let held = held.map(|one| (of_queue(&one.queue), f64::from(u8::from(one.held.is_some()))));
    family(text, "queue_held", "gauge", "Whether an admin holds the queue.", held.collect());
    let open = figures.roads.iter().map(|(scope, breaker)| {
        let is_open = breaker.as_ref().is_some_and(|one| figures.is_open(one));
        (format!("{{{}}}", label("scope", scope)), f64::from(u8::from(is_open)))
    });
    family(text, "breaker_open", "gauge", "Whether a smarthost is left alone.", open.collect());
    let seconds = |ms: i64| ms as f64 / 1000.0;
    let mut runs: Vec<Sample> = figures
        .runs
        .iter()
        .filter(|run| run.command != "send-batch")
        .map(|run| (format!("{{{}}}", label("command", &run.command)), seconds(run.at)))
        .collect();
    if let Some(at) = figures.last_run_at {
        runs.insert(0, (format!("{{{}}}", label("command", "send-batch")), seconds(at)));
    }
    let help = "When a command last ended well, in seconds since 1970.";
    family(text, "last_run_timestamp_seconds", "gauge", help, runs);
    let help = "When these figures were taken, in seconds since 1970.";
    family(text, "stats_timestamp_seconds", "gauge", help, vec![(String::new(), seconds(now))]);
}

fn counters(figures: &Figures, text: &mut String) {
    let enqueued = vec![(String::new(), figures.counters.enqueued as f64)];
    family(text, "enqueued_total", "counter", "Mails that ever came into the queue.", enqueued);
    for (counter, label_name, help) in [
        (Counter::Sent, "", "Mails that a server took for every recipient."),
        (Counter::Deferred, "", "Attempts after which a mail was put off."),
        (Counter::Failed, "reason", "Mails that FAILED."),
        (Counter::Reaped, "", "Mails taken from senders that died."),
        (Counter::Pruned, "state", "Finished mails that were deleted."),
    ] {
        let samples = figures.counters.of(counter).map(|(queue, value, count)| {
            let mut labels = Vec::new();
            if matches!(
                counter,
                Counter::Sent | Counter::Deferred | Counter::Failed | Counter::Reaped
            ) {
                labels.push(label("queue", queue));
            }
            if !label_name.is_empty() {
                labels.push(label(label_name, value));
            }
            let labels =
                if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            (labels, count as f64)
        });
        let name = format!("{}_total", counter.word());
        family(text, &name, "counter", help, samples.collect());
    }
}

fn durations(figures: &Figures, text: &mut String) {
    let counters = &figures.counters;
    let queues: BTreeSet<&str> =
        counters.of(Counter::Duration).map(|(queue, _, _)| queue).collect();
    if queues.is_empty() {
        return;
    }
    let name = "mailq_send_duration_seconds";
    let _ =
        write!(text, "# HELP {name} How long handing a mail over took.\n# TYPE {name} histogram\n");
    for queue in queues {
        let at = |end: &str| {
            let mut found = counters.of(Counter::Duration);
            found.find(|(of, label, _)| *of == queue && *label == end).map_or(0, |one| one.2)
        };
        let (queue_label, mut below) = (label("queue", queue), 0);
        for end in DURATIONS {
            below += at(&end.to_string());
            let end = end as f64 / 1000.0;
            let _ = writeln!(text, "{name}_bucket{{{queue_label},le=\"{end}\"}} {below}");
        }
        let all: i64 = counters
            .of(Counter::Duration)
            .filter(|(of, _, _)| *of == queue)
            .map(|(_, _, count)| count)
            .sum();
        let sum = counters.of(Counter::DurationSum).find(|(of, _, _)| *of == queue);
        let sum = sum.map_or(0, |(_, _, ms)| ms) as f64 / 1000.0;
        let _ = writeln!(text, "{name}_bucket{{{queue_label},le=\"+Inf\"}} {all}");
        let _ = writeln!(text, "{name}_sum{{{queue_label}}} {sum}");
        let _ = writeln!(text, "{name}_count{{{queue_label}}} {all}");
    }
}
