//! What a run of `send-batch` tells while it goes on: a line for each attempt and recipient, and on a terminal how far
//! it is.

use super::{Context, SendBatchArgs};
use crate::delivery::{Entry, Journal, Verdict};
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::host;
use crate::output::{Level, Output, Progress};
use crate::store::Store;
use serde_json::{Value, json};
use std::sync::Mutex;

/// What a run tells: lines, and on a terminal how far it is.
pub(super) struct Log {
    output: Output,
    /// And the mail whose recipients are told of one after the other.
    progress: Mutex<(Progress, Option<MailId>)>,
}

impl Log {
    pub(super) fn new(
        store: &Store,
        args: &SendBatchArgs,
        context: &Context,
    ) -> Result<Log, Fault> {
        let now = host::now_ms();
        let due = match context.output.is_watched() {
            true => store.stats(&args.queue, now, now)?.queues.iter().map(|queue| queue.due).sum(),
            false => 0,
        };
        let total = args.limit.map_or(due, |limit| limit.min(due));
        let progress = Mutex::new((context.output.progress("sending", total), None));
        Ok(Log { output: context.output, progress })
    }
}

impl Journal for Log {
    fn warn(&self, line: &str) {
        self.output.say(Level::Warning, line);
    }

    fn stopping(&self, in_hand: usize) {
        let what = match in_hand {
            0 => return,
            1 => "1 mail in hand is finished first".to_owned(),
            n => format!("{n} mails in hand are finished first"),
        };
        if self.output.is_watched() {
            let words =
                format!("stopping: {what}; press again to end at once, at the risk of a copy");
            self.output.say(Level::Notice, &words);
        }
    }

    fn note(&self, line: &str) {
        self.output.say(Level::Detail, line);
    }

    fn entries(&self, entries: &[Entry]) {
        self.output.records(entries.iter().map(|entry| (level(entry), pairs(entry))));
        if let Ok(mut progress) = self.progress.lock() {
            for entry in entries {
                if progress.1.replace(entry.id) != Some(entry.id) {
                    progress.0.add(1);
                }
            }
        }
    }
}

fn level(entry: &Entry) -> Level {
    match entry.status {
        Verdict::Sent | Verdict::Suppressed => Level::Notice,
        Verdict::Deferred | Verdict::Unknown => Level::Warning,
        Verdict::Failed => Level::Error,
    }
}

fn pairs(entry: &Entry) -> [(&'static str, Value); 10] {
    let seconds = |ms: i64| (ms as f64 / 10.0).round() / 100.0;
    let delays = entry.delays.map(|ms| seconds(ms).to_string()).join("/");
    [
        ("id", json!(entry.id.0)),
        ("queue", json!(entry.queue)),
        ("to", json!(entry.to)),
        ("relay", json!(entry.relay)),
        ("attempt", json!(entry.attempt)),
        ("status", json!(entry.status.word())),
        ("code", json!(entry.code)),
        ("delay", json!(seconds(entry.delay))),
        ("delays", json!(delays)),
        ("message", json!(entry.message)),
    ]
}
