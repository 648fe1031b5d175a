//! What a run of `send-batch` tells while it goes on: a line for each attempt and recipient, and on a terminal how far
//! it is.

use super::{Context, SendBatchArgs};
use crate::delivery::{Attempt, Journal, Verdict};
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::host;
use crate::output::{Level, Output, Progress};
use crate::store::Store;
use serde_json::json;
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

    fn note(&self, line: &str) {
        self.output.say(Level::Detail, line);
    }

    fn attempt(&self, attempt: &Attempt) {
        let level = match attempt.status {
            Verdict::Sent => Level::Notice,
            Verdict::Deferred | Verdict::Unknown => Level::Warning,
            Verdict::Failed => Level::Error,
        };
        let seconds = |ms: i64| (ms as f64 / 10.0).round() / 100.0;
        let delays = attempt.delays.map(|ms| seconds(ms).to_string()).join("/");
        self.output.record(
            level,
            &[
                ("id", json!(attempt.id.0)),
                ("queue", json!(attempt.queue)),
                ("to", json!(attempt.to)),
                ("relay", json!(attempt.relay)),
                ("attempt", json!(attempt.attempt)),
                ("status", json!(attempt.status.word())),
                ("code", json!(attempt.code)),
                ("delay", json!(seconds(attempt.delay))),
                ("delays", json!(delays)),
                ("message", json!(attempt.message)),
            ],
        );
        if let Ok(mut progress) = self.progress.lock()
            && progress.1.replace(attempt.id) != Some(attempt.id)
        {
            progress.0.add(1);
        }
    }
}
