//! The answer to "why did this mail not go out?", and to "when does it?".

use crate::commands::mail::Scene;
use crate::commands::value;
use crate::domain::message::Record;
use crate::domain::state::Status;
use crate::host;
use crate::store::{Breaker, Limited};

/// What keeps a queue's mails back that are due.
#[derive(Default)]
pub struct Obstacle {
    pub breaker: Option<Breaker>,
    pub limited: Option<Limited>,
}

/// Why `record` is where it is, and what comes next.
pub fn why(record: &Record, obstacle: &Obstacle, scene: &Scene) -> String {
    let (mail, now) = (&record.mail, scene.now);
    let error = record.error_message.as_deref().unwrap_or("no reason was recorded");
    match record.status {
        Status::Sent => {
            let at = record.sent_at.map_or("an unknown time".into(), value::show_moment);
            format!("a server accepted it at {at}, in attempt {}", mail.attempt_count)
        }
        Status::Failed => {
            let failure = record.failure.as_deref().unwrap_or("failed");
            let others = match mail.delivered.len() {
                0 => "",
                1 => "; 1 recipient has it, and a retry asks only the others",
                n => &format!("; {n} recipients have it, and a retry asks only the others"),
            };
            format!("{failure}: {error}{others}")
        }
        Status::Sending => {
            let who = record.locked_by.as_deref().unwrap_or("unknown");
            let alive = if host::is_running(who) {
                "is running"
            } else {
                "is not running: `mailq reap` returns it"
            };
            format!("being sent by {who}, which {alive}")
        }
        Status::Pending if scene.held(&mail.queue).is_some() => {
            let held = scene.held(&mail.queue);
            let reason = held.and_then(|held| held.reason.as_ref());
            let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("queue {0} is held{reason}; `mailq release {0}` lets it go", mail.queue)
        }
        Status::Pending if mail.next_attempt_at > now => {
            let due = format!(
                "{} (in {})",
                value::show_moment(mail.next_attempt_at),
                value::span(mail.next_attempt_at - now)
            );
            match mail.attempt_count {
                0 => format!("scheduled for {due}"),
                n => format!("attempt {n} did not work, the next is due {due}: {error}"),
            }
        }
        Status::Pending => match (&obstacle.breaker, &obstacle.limited) {
            (Some(one), _) => {
                let until = value::show_moment(one.until);
                format!(
                    "due, but smarthost {} is left alone until {until}: {}; when that is mended: mailq check",
                    one.scope,
                    one.words()
                )
            }
            (None, Some(Limited { queue, rate, until })) => {
                let until = value::show_moment(*until);
                format!("due, but queue {queue} has met its rate, {rate}, and may go on at {until}")
            }
            (None, None) => format!(
                "due, and waiting for `mailq send-batch`{}",
                record
                    .error_message
                    .as_ref()
                    .map_or(String::new(), |error| format!("; last error: {error}"))
            ),
        },
    }
}

/// What to do about a FAILED mail.
pub fn next(record: &Record) -> String {
    let retry = format!("mailq retry {}", record.mail.id);
    let error = record.error_message.as_deref().unwrap_or_default();
    match record.failure.as_deref().unwrap_or_default() {
        // No command changes what a mail was enqueued with.
        "render" if error.contains("the parameter `") => format!(
            "let the template say {{{{optional …}}}} or {{{{default … \"…\"}}}}, then: {retry}; or enqueue it again with the parameter"
        ),
        "render" => format!("correct the template, then: {retry}"),
        "attachment" => format!("put the file right, then: {retry}; or enqueue it again"),
        "invalid" => {
            format!("enqueue it again, corrected; where the configuration was wrong: {retry}")
        }
        "rejected" => {
            format!("enqueue it again to the right address; where the server was wrong: {retry}")
        }
        "suppressed" => format!("if they are to get it: mailq suppress remove ADDR, then: {retry}"),
        "unknown-outcome" => {
            format!("ask the server for its message id; if it has no such mail: {retry}")
        }
        "worker-lost" => format!("find out what ended its senders (memory, a kill), then: {retry}"),
        "expired" => format!("if it is still of use: {retry}"),
        _ => format!("when the cause is gone: {retry}"),
    }
}
