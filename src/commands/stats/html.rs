//! The figures as a page for a browser: one file that needs no other, light and dark, wide and narrow.

use super::{Figures, percent, percentiles, plot, shown_seconds};
use crate::commands::{hold, value};
use crate::config::units;
use crate::output::tame_line;
use crate::store::{QueueStats, first_hour};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub fn page(figures: &Figures) -> String {
    let mut body = String::new();
    header(figures, &mut body);
    cards(figures, &mut body);
    queues(figures, &mut body);
    hours(figures, &mut body);
    reasons(figures, &mut body);
    failures(figures, &mut body);
    runs(figures, &mut body);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"refresh\" content=\"60\">\n<title>mailq</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

/// Text that is no markup and has no control character, whatever it holds.
fn plain(text: &str) -> String {
    let escaped = tame_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

fn header(figures: &Figures, body: &mut String) {
    let at = value::show_moment(figures.now);
    body.push_str(&format!("<header><h1>mailq</h1><span class=\"soft\">{at}</span></header>\n"));
    let mut notice = |tone: &str, words: String| {
        body.push_str(&format!("<p class=\"notice {tone}\">{}</p>\n", plain(&words)));
    };
    for (scope, breaker) in &figures.roads {
        if let Some(one) = breaker.as_ref().filter(|one| figures.is_open(one)) {
            let until = value::show_moment(one.until);
            notice("bad", format!("{scope} is left alone until {until}: {}", one.words()));
        }
    }
    for held in figures.stats.queues.iter().filter_map(|one| one.held.as_ref()) {
        notice("warning", hold::words(held));
    }
}

fn cards(figures: &Figures, body: &mut String) {
    let stats = &figures.stats;
    let sum =
        |count: fn(&QueueStats) -> u64| stats.queues.iter().map(count).sum::<u64>().to_string();
    let recent = &stats.recent;
    let [p50, p95, _] = percentiles(recent.send_ms).map(shown_seconds);
    let failed = recent.failed_ratio.map_or("-".to_owned(), percent);
    let tone = if recent.failed > 0 { "bad" } else { "" };
    let rate = recent.sent_per_minute.map_or("-".to_owned(), |rate| format!("{rate:.1}"));
    let attempts = recent.attempts_per_mail.map_or("-".to_owned(), |n| format!("{n:.2}"));
    let oldest = stats.oldest_due_age_ms.map_or("-".to_owned(), value::span);
    body.push_str("<div class=\"cards\">\n");
    for (name, figure, tone) in [
        ("due now", sum(|one| one.due), ""),
        ("oldest due", oldest, ""),
        ("scheduled", sum(|one| one.scheduled), ""),
        ("sending", sum(|one| one.sending), ""),
        ("sent a minute", rate, ""),
        ("failed", failed, tone),
        ("attempts", attempts, ""),
        ("send, p50", p50, ""),
        ("send, p95", p95, ""),
    ] {
        body.push_str(&format!(
            "<div class=\"card\"><span class=\"soft\">{name}</span><b class=\"{tone}\">{figure}</b></div>\n"
        ));
    }
    let since = units::human(figures.since);
    body.push_str(&format!(
        "</div>\n<p class=\"soft\">Rates, shares and durations: the last {since}.</p>\n"
    ));
}

fn table(body: &mut String, title: &str, heads: &[(&str, &str)], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    // On a phone, long words stand below the rest of their row.
    let kind = if heads.iter().any(|(_, class)| *class == "words") { "stack" } else { "wide" };
    body.push_str(&format!("<h2>{title}</h2>\n<div class=\"{kind}\"><table>\n<tr>"));
    for (name, class) in heads {
        body.push_str(&format!("<th class=\"{class}\">{name}</th>"));
    }
    body.push_str("</tr>\n");
    for row in rows {
        body.push_str("<tr>");
        for (cell, (_, class)) in row.iter().zip(heads) {
            body.push_str(&format!("<td class=\"{class}\">{}</td>", plain(cell)));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
}

fn queues(figures: &Figures, body: &mut String) {
    let rows: Vec<Vec<String>> = figures
        .stats
        .queues
        .iter()
        .map(|one| {
            let [p50, p95, p99] = percentiles(one.recent.send_ms).map(shown_seconds);
            vec![
                one.queue.clone(),
                one.due.to_string(),
                one.scheduled.to_string(),
                one.sending.to_string(),
                one.sent.to_string(),
                one.failed.to_string(),
                one.oldest_due_age_ms.map_or("-".to_owned(), value::span),
                one.recent.failed_ratio.map_or("-".to_owned(), percent),
                one.recent.attempts_per_mail.map_or("-".to_owned(), |n| format!("{n:.2}")),
                p50,
                p95,
                p99,
            ]
        })
        .collect();
    let heads = [
        ("queue", ""),
        ("due", "number"),
        ("scheduled", "number"),
        ("sending", "number"),
        ("sent", "number"),
        ("failed", "number"),
        ("oldest due", "number"),
        ("failed share", "number"),
        ("attempts", "number"),
        ("p50", "number"),
        ("p95", "number"),
        ("p99", "number"),
    ];
    table(body, "Queues", &heads, &rows);
}

fn hours(figures: &Figures, body: &mut String) {
    const HOUR_MS: i64 = 3_600_000;
    let hours = (first_hour(figures.now)..).map(|hour| hour.saturating_mul(HOUR_MS));
    let labels: Vec<String> = hours.take(24).map(value::short_moment).collect();
    let sent = &figures.stats.recent.sent_by_hour;
    let most = sent.iter().max().copied().unwrap_or_default();
    body.push_str(&format!("<h2>Sent by hour, at most {most}</h2>\n"));
    body.push_str(&plot::bars(sent, &labels, "Mails sent in each of the last 24 hours"));
    body.push_str(&format!(
        "<div class=\"axis\"><span>{}</span><span>now</span></div>\n",
        labels.first().map(String::as_str).unwrap_or_default()
    ));
}

fn reasons(figures: &Figures, body: &mut String) {
    let rows: Vec<Vec<String>> = figures
        .stats
        .reasons
        .iter()
        .map(|one| vec![one.mails.to_string(), one.failure.clone(), one.words.clone()])
        .collect();
    let heads = [("mails", "number"), ("failure", ""), ("words", "words")];
    let title = match figures.stats.reasons_of_last {
        Some(last) => format!("Why mails failed, the last {last} of them"),
        None => "Why mails failed".to_owned(),
    };
    table(body, &title, &heads, &rows);
}

fn failures(figures: &Figures, body: &mut String) {
    let rows: Vec<Vec<String>> = figures
        .stats
        .failures
        .iter()
        .map(|one| {
            vec![
                one.id.to_string(),
                value::short_moment(one.finished_at),
                one.queue.clone(),
                one.failure.clone(),
                one.error.clone(),
            ]
        })
        .collect();
    let heads =
        [("mail", "number"), ("when", ""), ("queue", ""), ("failure", ""), ("error", "words")];
    table(body, "The latest failures", &heads, &rows);
}

fn runs(figures: &Figures, body: &mut String) {
    let ago = |at: i64| format!("{} ago", value::span(figures.now.saturating_sub(at)));
    let mut rows = Vec::new();
    let last = figures.last_run_at.map_or("none that ended well is known".to_owned(), ago);
    rows.push(vec!["last send-batch".to_owned(), last]);
    let last = figures.stats.last_sent_at.map_or("-".to_owned(), ago);
    rows.push(vec!["last mail sent".to_owned(), last]);
    for run in figures.runs.iter().filter(|run| run.command != "send-batch") {
        rows.push(vec![format!("last {}", run.command), ago(run.at)]);
    }
    for (scope, breaker) in &figures.roads {
        let state = match breaker {
            Some(one) if figures.is_open(one) => "left alone",
            Some(_) => "was out, tried by the next run",
            None => "in use",
        };
        rows.push(vec![scope.clone(), state.to_owned()]);
    }
    for one in &figures.rates {
        let what = if one.is_pace { "slowed down" } else { "rate" };
        rows.push(vec![
            format!("{what}: {}", one.queue),
            format!("{}, {} left", one.rate, one.left),
        ]);
    }
    table(body, "Runs and smarthosts", &[("what", ""), ("", "words")], &rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_said_is_text_and_no_markup() {
        let text = plain("<script>alert('1')</script> & \"more\"");
        assert_eq!(text, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;more&quot;");
        let mut body = String::new();
        table(&mut body, "T", &[("a", "")], &[vec!["<b>".to_owned()]]);
        assert!(body.contains("<td class=\"\">&lt;b&gt;</td>"), "{body}");
    }
}
