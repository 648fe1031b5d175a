//! What has ever happened, for monitoring: counters that only grow, whatever is pruned.
//!
//! A transaction adds up what it did and writes each counter that moved once, so that a mail costs no write of its own.

use super::{Store, row};
use crate::domain::fault::Fault;
use rusqlite::{Transaction, params};
use std::collections::BTreeMap;

/// The upper ends of the histogram of send durations, in milliseconds; what took longer is counted as [`LONGER`].
pub const DURATIONS: [i64; 12] =
    [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000];

/// The label of what took longer than all of [`DURATIONS`].
const LONGER: &str = "longer";

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    Sent,
    Deferred,
    /// By reason.
    Failed,
    Reaped,
    /// By state.
    Pruned,
    /// Hand-overs by duration: the label is the upper end in milliseconds.
    Duration,
    /// Their milliseconds added up.
    DurationSum,
}

impl Counter {
    /// The word in the column `name`.
    pub fn word(self) -> &'static str {
        match self {
            Counter::Sent => "sent",
            Counter::Deferred => "deferred",
            Counter::Failed => "failed",
            Counter::Reaped => "reaped",
            Counter::Pruned => "pruned",
            Counter::Duration => "duration",
            Counter::DurationSum => "duration_ms",
        }
    }
}

/// What one transaction adds.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<(Counter, String, String), i64>);

const ADD: &str = "INSERT INTO mailq_counter (name, queue, label, value) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (name, queue, label) DO UPDATE SET value = value + excluded.value";

impl Counts {
    pub(super) fn add(&mut self, counter: Counter, queue: &str, label: &str, count: i64) {
        *self.0.entry((counter, queue.to_owned(), label.to_owned())).or_default() += count;
    }

    /// Counts a hand-over that took `ms`.
    pub(super) fn took(&mut self, queue: &str, ms: i64) {
        let end = DURATIONS.iter().find(|end| ms <= **end);
        let label = end.map_or_else(|| LONGER.to_owned(), ToString::to_string);
        self.add(Counter::Duration, queue, &label, 1);
        self.add(Counter::DurationSum, queue, "", ms.max(0));
    }

    pub(super) fn write(&self, tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
        for ((counter, queue, label), count) in &self.0 {
            tx.prepare_cached(ADD)?.execute(params![counter.word(), queue, label, count])?;
        }
        Ok(())
    }
}

/// All counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counters {
    /// How many mails ever came into the queue, by whatever way: the highest id.
    pub enqueued: i64,
    /// By name, queue and label.
    pub all: BTreeMap<(String, String, String), i64>,
}

impl Counters {
    /// The counters of one name: queue, label, value.
    pub fn of(&self, counter: Counter) -> impl Iterator<Item = (&str, &str, i64)> {
        let counters = self.all.iter().filter(move |((name, _, _), _)| name == counter.word());
        counters.map(|((_, queue, label), value)| (queue.as_str(), label.as_str(), *value))
    }
}

impl Store {
    /// What was ever counted.
    pub fn counters(&self) -> Result<Counters, Fault> {
        self.read(|conn| {
            let mut counters = Counters {
                // AUTOINCREMENT keeps it, and no delete lowers it.
                enqueued: conn
                    .prepare_cached(
                        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'email_messages'",
                    )?
                    .query_row([], |row| row.get(0))?,
                ..Counters::default()
            };
            let mut statement =
                conn.prepare_cached("SELECT name, queue, label, value FROM mailq_counter")?;
            let mut rows = statement.query([])?;
            while let Some(found) = rows.next()? {
                let text = |at| row::lossy(found, at).map(Option::unwrap_or_default);
                let value = found.get_ref(3)?.as_i64().unwrap_or_default();
                counters.all.insert((text(0)?, text(1)?, text(2)?), value);
            }
            Ok(counters)
        })
    }
}
