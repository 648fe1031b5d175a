//! The figures for a person at a terminal: one screen.

use super::{Figures, percent, percentiles, plot, shown_seconds};
use crate::commands::{hold, value};
use crate::config::{self, units};
use crate::output::{Page, Piece, Table, Tone};
use crate::store::{QueueStats, Recent};

/// A terminal with fewer columns is shown fewer figures of each queue.
const WIDE: usize = 110;

/// So many reasons are shown.
const SHOWN: usize = 5;

/// Puts everything on `page`, for a terminal with so many columns.
pub fn fill(page: &mut Page, figures: &Figures, width: Option<usize>) {
    queues(figures, width.is_none_or(|width| width >= WIDE), page);
    recent(figures, page);
    roads(figures, page);
    runs(figures, page);
    reasons(figures, page);
}

fn queues(figures: &Figures, is_wide: bool, page: &mut Page) {
    let stats = &figures.stats;
    if stats.queues.is_empty() {
        return page.line(["no mails".into()]);
    }
    let mut titles = vec![
        "queue",
        "due",
        "scheduled",
        "sending",
        "sent",
        "failed",
        "oldest",
        "failed%",
        "sent/min",
    ];
    if is_wide {
        titles.extend(["attempts", "p50", "p95", "p99"]);
    }
    let mut table = Table::new(&titles);
    let row = |one: &QueueStats| row(one).into_iter().take(titles.len()).collect::<Vec<_>>();
    for one in &stats.queues {
        table.row(row(one));
    }
    if stats.queues.len() > 1 {
        let mut all = QueueStats { queue: "all".to_owned(), ..QueueStats::default() };
        for one in &stats.queues {
            all.due += one.due;
            all.scheduled += one.scheduled;
            all.sending += one.sending;
            all.sent += one.sent;
            all.failed += one.failed;
        }
        all.oldest_due_age_ms = stats.oldest_due_age_ms;
        all.recent = stats.recent.clone();
        table.row(row(&all));
    }
    page.table(table);
    for held in stats.queues.iter().filter_map(|one| one.held.as_ref()) {
        page.hanging(2, [Piece::new(hold::words(held), Tone::Warning)]);
    }
}

fn row(one: &QueueStats) -> Vec<Piece> {
    let count = |count: u64, tone: Tone| {
        Piece::new(count.to_string(), if count > 0 { tone } else { Tone::Faint })
    };
    let Recent { failed_ratio, sent_per_minute, attempts_per_mail, send_ms, .. } = one.recent;
    let [p50, p95, p99] = percentiles(send_ms).map(shown_seconds);
    vec![
        one.queue.as_str().into(),
        count(one.due, Tone::Plain),
        count(one.scheduled, Tone::Plain),
        count(one.sending, Tone::Plain),
        count(one.sent, Tone::Good),
        count(one.failed, Tone::Bad),
        one.oldest_due_age_ms.map_or("-".to_owned(), value::span).into(),
        failed_ratio.map_or("-".to_owned(), percent).into(),
        sent_per_minute.map_or("-".to_owned(), |rate| format!("{rate:.1}")).into(),
        attempts_per_mail.map_or("-".to_owned(), |n| format!("{n:.2}")).into(),
        p50.into(),
        p95.into(),
        p99.into(),
    ]
}

/// A line with a name in front.
fn entry(page: &mut Page, name: &str, pieces: impl IntoIterator<Item = Piece>) {
    let name = Piece::new(format!("{name:<17} "), Tone::Faint);
    page.hanging(18, std::iter::once(name).chain(pieces));
}

fn recent(figures: &Figures, page: &mut Page) {
    let stats = &figures.stats;
    let recent = &stats.recent;
    page.line([]);
    // A day is asked for as 24h, the default.
    let since = match figures.since.as_secs() {
        86_400 => "24h".to_owned(),
        _ => units::human(figures.since),
    };
    page.line([Piece::new(format!("in the last {since}"), Tone::Title)]);
    let ratio = recent.failed_ratio.map_or("-".to_owned(), percent);
    let Recent { sent, failed, cancelled, .. } = recent;
    let cancelled = match cancelled {
        0 => String::new(),
        _ => format!("{cancelled} of them cancelled; "),
    };
    entry(page, "finished", [format!("{sent} SENT, {failed} FAILED ({cancelled}{ratio})").into()]);
    let [p50, p95, p99] = percentiles(recent.send_ms).map(shown_seconds);
    entry(page, "send duration", [format!("p50 {p50}, p95 {p95}, p99 {p99}").into()]);
    let number = |figure: Option<f64>| figure.map_or("-".to_owned(), |n| format!("{n:.2}"));
    entry(page, "attempts per mail", [number(recent.attempts_per_mail).into()]);
    entry(page, "sent per minute", [number(recent.sent_per_minute).into()]);
    let hours = recent.sent_by_hour;
    let most = hours.iter().max().copied().unwrap_or_default();
    let plot = format!(
        "{} (at most {most} an hour, now last)",
        plot::blocks(&hours, config::has_plain_locale())
    );
    entry(page, "sent, 24 h", [plot.into()]);
    let oldest = stats.oldest_due_age_ms.map_or("-".to_owned(), value::span);
    entry(page, "oldest due mail", [oldest.into()]);
}

fn roads(figures: &Figures, page: &mut Page) {
    page.line([]);
    for (scope, breaker) in &figures.roads {
        let words = match breaker {
            Some(one) if figures.is_open(one) => Piece::new(
                format!(
                    "{scope} is left alone until {} (out since {}, {}): {}",
                    value::show_moment(one.until),
                    value::show_moment(one.since),
                    value::count(one.outages as usize, "outage"),
                    one.words()
                ),
                Tone::Bad,
            ),
            Some(one) => Piece::new(
                format!(
                    "{scope} was out since {} and is tried by the next run: {}",
                    value::show_moment(one.since),
                    one.reason
                ),
                Tone::Warning,
            ),
            None => Piece::new(scope.clone(), Tone::Plain),
        };
        entry(page, "smarthost", [words]);
    }
    let last = figures.stats.last_sent_at;
    entry(page, "last mail SENT", [last.map_or("-".into(), |at| ago(figures, at).into())]);
    for one in &figures.rates {
        let words = format!("{} {}, {} left", one.queue, one.rate, one.left);
        entry(page, if one.is_pace { "slowed down" } else { "rate" }, [words.into()]);
    }
}

fn ago(figures: &Figures, at: i64) -> String {
    format!("{} ({} ago)", value::show_moment(at), value::span(figures.now.saturating_sub(at)))
}

fn runs(figures: &Figures, page: &mut Page) {
    let last = match figures.last_run_at {
        Some(at) => ago(figures, at).into(),
        None => Piece::new("none that ended well is known", Tone::Warning),
    };
    entry(page, "last send-batch", [last]);
    for run in &figures.runs {
        let did = match run.command.as_str() {
            "send-batch" => "last with work",
            "reap" => "last reap",
            "prune" => "last prune",
            _ => continue,
        };
        let result: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&run.result).unwrap_or_default();
        let counted = result.iter().filter(|(_, value)| value.as_u64().is_some_and(|n| n > 0));
        let words: Vec<String> =
            counted.map(|(name, count)| format!("{} {count}", name.replace('_', " "))).collect();
        let words = if words.is_empty() { "nothing to do".to_owned() } else { words.join(", ") };
        entry(page, did, [format!("{}: {words}", ago(figures, run.at)).into()]);
    }
}

fn reasons(figures: &Figures, page: &mut Page) {
    let reasons = &figures.stats.reasons;
    if reasons.is_empty() {
        return;
    }
    page.line([]);
    let title = match figures.stats.reasons_of_last {
        Some(last) => format!("why mails FAILED, the last {last} of them"),
        None => "why mails FAILED".to_owned(),
    };
    page.line([Piece::new(title, Tone::Title)]);
    let mut table = Table::new(&["mails", "failure", "words"]);
    for one in reasons.iter().take(SHOWN) {
        let words: String = one.words.chars().take(160).collect();
        table.row([one.mails.to_string(), one.failure.clone(), words]);
    }
    page.table(table);
    let more = reasons.len().saturating_sub(SHOWN) as u64 + figures.stats.reasons_untold;
    if more > 0 {
        page.line([format!("and {more} more reasons").into()]);
    }
}
