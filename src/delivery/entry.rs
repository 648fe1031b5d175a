//! What a run's log has of an attempt: a line for each recipient, once the outcome is on disk.
//!
//! No value of a parameter is among it, nor anything of the message: only who, where, when, and the server's words.

use crate::domain::address::parse_list;
use crate::domain::message::{Mail, MailId};
use crate::domain::outcome::{Defect, Fate, Outcome};
use crate::domain::state::{Change, Failure, Move};
use crate::transport::Told;

/// What became of one recipient in one attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: MailId,
    pub queue: String,
    /// `-`: nobody can be read from the row.
    pub to: String,
    /// What the breaker knows the smarthost by; `-`: the mail came to none.
    pub relay: String,
    pub attempt: u32,
    pub status: Verdict,
    /// The code of the server's reply, where it gave one.
    pub code: Option<u16>,
    /// Since the mail was enqueued, in milliseconds.
    pub delay: i64,
    /// Waiting since it was due, making a connection, and handing it over, in milliseconds.
    pub delays: [i64; 3],
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Sent,
    Deferred,
    Failed,
    /// FAILED too, and nobody's mistake.
    Suppressed,
    /// The server may have it or not.
    Unknown,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Sent => "sent",
            Verdict::Deferred => "deferred",
            Verdict::Failed | Verdict::Suppressed => "failed",
            Verdict::Unknown => "unknown",
        }
    }
}

/// What became of a mail, for those who keep the log. An outage is none of a mail's attempts, and tells nothing here
/// unless the mail's time is over.
pub fn entries(
    mail: &Mail,
    recipients: &[String],
    outcome: &Outcome,
    change: &Change,
    (relay, told): (&str, &Told),
    (send_ms, now): (i64, i64),
) -> Vec<Entry> {
    let connecting = i64::try_from(told.connecting.as_millis()).unwrap_or(i64::MAX);
    let due = mail.created_at.max(mail.next_attempt_at);
    let queued = now.saturating_sub(send_ms).saturating_sub(due).max(0);
    let line = |to: &str, status: Verdict, words: &str| Entry {
        id: mail.id,
        queue: mail.queue.clone(),
        to: to.to_owned(),
        relay: relay.to_owned(),
        attempt: change.attempts(),
        status,
        code: code(words),
        delay: now.saturating_sub(mail.created_at).max(0),
        delays: [queued, connecting, send_ms.saturating_sub(connecting).max(0)],
        message: words.to_owned(),
    };
    let failure = match change.to() {
        Move::Failed(failure) => Some(failure.word()),
        _ => None,
    };
    let (fates, unknown) = match outcome {
        Outcome::Answered(fates) => (fates, None),
        Outcome::Unknown { fates, words } => (fates, Some(words)),
        Outcome::Road(_) => return ended(mail, change, now),
        Outcome::Defective { defect, words } => {
            let words = match defect {
                Defect::Render => without_values(words),
                Defect::Attachment | Defect::Invalid => words.clone(),
            };
            let words = format!("{}: {words}", failure.unwrap_or_default());
            let each = |to: String| Entry { code: None, ..line(&to, Verdict::Failed, &words) };
            return waiting(mail).into_iter().map(each).collect();
        }
    };
    let accepted = told.said.as_ref().map_or("", |said| said.words.as_str());
    let each = |(to, fate): (&String, &Fate)| match (fate, unknown) {
        (Fate::Accepted, None) => line(to, Verdict::Sent, accepted),
        (Fate::Accepted, Some(words)) => line(to, Verdict::Unknown, words),
        (Fate::Refused(words), _) => line(to, Verdict::Failed, words),
        (Fate::Deferred(words) | Fate::Crowded(words), _) => match failure {
            Some(failure) => line(to, Verdict::Failed, &format!("{words} ({failure})")),
            None => line(to, Verdict::Deferred, words),
        },
    };
    recipients.iter().zip(fates).map(each).collect()
}

/// The end of a mail that no server was asked for; nothing, if `change` is none.
pub fn ended(mail: &Mail, change: &Change, now: i64) -> Vec<Entry> {
    match change.to() {
        Move::Failed(failure) => {
            let words = change.error().unwrap_or_default();
            let end = |to| end(mail.id, &mail.queue, to, failure.word(), words);
            let delay = now.saturating_sub(mail.created_at).max(0);
            let attempt = change.attempts();
            waiting(mail).into_iter().map(|to| Entry { attempt, delay, ..end(to) }).collect()
        }
        Move::Sent | Move::Again { .. } => Vec::new(),
    }
}

/// A line about a mail that no server was asked for.
pub fn end(id: MailId, queue: &str, to: String, failure: &str, words: &str) -> Entry {
    let is_suppressed = failure == Failure::Suppressed.word();
    let status = if is_suppressed { Verdict::Suppressed } else { Verdict::Failed };
    Entry {
        id,
        queue: queue.to_owned(),
        to,
        relay: "-".to_owned(),
        attempt: 0,
        status,
        code: None,
        delay: 0,
        delays: [0; 3],
        message: format!("{failure}: {words}"),
    }
}

/// Those whom the mail was still for, as the row names them; `-` where nobody can be read.
pub fn waiting(mail: &Mail) -> Vec<String> {
    let lists = [&mail.to, &mail.cc, &mail.bcc].into_iter();
    let all = lists.filter_map(|list| parse_list(list).ok()).flatten();
    let mut all: Vec<String> = all.map(|one| one.address.to_string()).collect();
    all.retain(|one| !mail.delivered.contains(one));
    // Where nobody is left, all were refused, or are suppressed.
    if all.iter().any(|one| !mail.refused.contains_key(one)) {
        all.retain(|one| !mail.refused.contains_key(one));
    }
    if all.is_empty() {
        all.push("-".to_owned());
    }
    all
}

/// The code at the beginning of a server's words.
fn code(words: &str) -> Option<u16> {
    let (code, rest) = words.split_at_checked(3)?;
    let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    code.parse().ok().filter(|code| (200..600).contains(code) && ends)
}

/// The words of a template's error without what stands in double quotes: values of parameters are quoted so.
fn without_values(words: &str) -> String {
    let (mut out, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for c in words.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => {
                out.push_str(if is_quoted { "…\"" } else { "\"" });
                is_quoted = !is_quoted;
            }
            c if !is_quoted => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_servers_and_a_value_is_nobodys() {
        assert_eq!(code("550 5.1.1 no such user"), Some(550));
        assert_eq!(code("250"), Some(250));
        for words in ["5501 x", "no reply within 3s", "99 bottles", "12é", ""] {
            assert_eq!(code(words), None, "{words}");
        }
        let told = r#"welcome/text.hbs:1:1: `date`: "s3\"cret" is no RFC 3339 time"#;
        assert_eq!(without_values(told), "welcome/text.hbs:1:1: `date`: \"…\" is no RFC 3339 time");
    }
}
