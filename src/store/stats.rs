//! Figures about the queue, from the tallies and the indexes: the cost does not grow with the archive.

use super::breaker::Breaker;
use super::hold::{self, Held};
use super::recent::{self, Recent};
use super::{Store, claim, row};
use crate::domain::fault::Fault;
use rusqlite::{Connection, named_params};
use std::collections::{BTreeMap, BTreeSet};

/// How many mails of one queue are in which state, and what became of the last ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueStats {
    pub queue: String,
    pub pending: u64,
    /// PENDING and due.
    pub due: u64,
    /// PENDING and not due yet.
    pub scheduled: u64,
    pub sending: u64,
    pub sent: u64,
    pub failed: u64,
    /// How long its oldest due mail has been due.
    pub oldest_due_age_ms: Option<i64>,
    pub held: Option<Held>,
    pub recent: Recent,
}

/// Why mails FAILED, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The word of the column `failure`.
    pub failure: String,
    /// What was said, without the recipient.
    pub words: String,
    pub mails: u64,
}

/// A mail that FAILED.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallen {
    pub id: i64,
    pub queue: String,
    pub failure: String,
    pub error: String,
    /// In milliseconds since 1970.
    pub finished_at: i64,
}

/// The figures of `mailq stats`. `None`: there is nothing to measure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stats {
    pub queues: Vec<QueueStats>,
    /// Of the queues that nobody holds.
    pub oldest_due_age_ms: Option<i64>,
    /// All of `queues` together.
    pub recent: Recent,
    /// The commonest first.
    pub reasons: Vec<Reason>,
    /// How many reasons there are beside them.
    pub reasons_untold: u64,
    /// `reasons` are those of so many mails that FAILED last; `None`: of all since then.
    pub reasons_of_last: Option<u64>,
    /// The latest first.
    pub failures: Vec<Fallen>,
    /// When a server last took a mail, in milliseconds since 1970.
    pub last_sent_at: Option<i64>,
    pub breakers: Vec<Breaker>,
}

const COUNT_PENDING: &str =
    "SELECT count(*) FROM email_messages WHERE status = 'PENDING' AND queue = :queue";

const COUNT_SENDING: &str = "SELECT queue, status, count(*) FROM email_messages INDEXED BY email_messages_leased WHERE status = 'SENDING' GROUP BY queue";

const COUNT_FINISHED: &str =
    "SELECT queue, status, sum(mails) FROM mailq_tally WHERE mails > 0 GROUP BY queue, status";

const COUNT_DUE: &str = "SELECT count(*) FROM email_messages WHERE status = 'PENDING' AND queue = :queue \
     AND next_attempt_at <= :now";

/// One that another program made due at once, with a time long ago, has waited since it was made.
const OLDEST_DUE: &str = "SELECT max(next_attempt_at, created_at) FROM email_messages WHERE status = 'PENDING' \
     AND queue = :queue ORDER BY next_attempt_at, id LIMIT 1";

const TALLIED: &str = "SELECT DISTINCT queue FROM mailq_tally";

impl Store {
    /// The names of all queues that have a mail, or had one lately, and of those that are held.
    pub fn queue_names(&self) -> Result<BTreeSet<String>, Fault> {
        self.read(|conn| {
            let mut names: BTreeSet<String> = claim::queues(conn)?.into_iter().collect();
            names.extend(hold::all(conn)?.into_iter().map(|held| held.queue));
            for sql in [COUNT_SENDING, TALLIED] {
                let mut statement = conn.prepare_cached(sql)?;
                let mut rows = statement.query([])?;
                while let Some(found) = rows.next()? {
                    names.extend(row::lossy(found, 0)?);
                }
            }
            Ok(names)
        })
    }

    /// The figures at `now`, of `queues` (empty: all); what finished counts from `since` on.
    pub fn stats(&self, queues: &[String], since: i64, now: i64) -> Result<Stats, Fault> {
        let wanted = |queue: &str| queues.is_empty() || queues.iter().any(|one| one == queue);
        let mut stats = self.read(|conn| {
            let mut found = counts(conn, now)?;
            let held = hold::all(conn)?;
            let named = held.iter().map(|one| &one.queue).chain(queues);
            for name in named {
                found.entry(name.clone()).or_default();
            }
            found.retain(|queue, _| wanted(queue));
            let mut stats = Stats::default();
            for (queue, mut one) in found {
                one.held = held.iter().find(|held| held.queue == queue).cloned();
                one.oldest_due_age_ms = oldest_due(conn, &queue, now)?;
                if one.held.is_none() {
                    stats.oldest_due_age_ms = stats.oldest_due_age_ms.max(one.oldest_due_age_ms);
                }
                stats.queues.push(QueueStats { queue, ..one });
            }
            recent::measure(conn, &mut stats, since, now)?;
            Ok(stats)
        })?;
        stats.breakers = self.breakers()?;
        Ok(stats)
    }
}

fn counts(conn: &Connection, now: i64) -> Result<BTreeMap<String, QueueStats>, rusqlite::Error> {
    let mut queues: BTreeMap<String, QueueStats> = BTreeMap::new();
    let mut pending = conn.prepare_cached(COUNT_PENDING)?;
    let mut due = conn.prepare_cached(COUNT_DUE)?;
    for queue in claim::queues(conn)? {
        let all: i64 = pending.query_row(named_params! { ":queue": queue }, |row| row.get(0))?;
        let due: i64 =
            due.query_row(named_params! { ":queue": queue, ":now": now }, |row| row.get(0))?;
        let one = queues.entry(queue).or_default();
        one.pending = all.unsigned_abs();
        one.due = due.unsigned_abs();
        one.scheduled = one.pending.saturating_sub(one.due);
    }
    for sql in [COUNT_SENDING, COUNT_FINISHED] {
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(found) = rows.next()? {
            let text = |at| row::lossy(found, at).map(Option::unwrap_or_default);
            let mails = found.get_ref(2)?.as_i64().unwrap_or_default().unsigned_abs();
            let one = queues.entry(text(0)?).or_default();
            match text(1)?.as_str() {
                "SENDING" => one.sending = mails,
                "SENT" => one.sent = mails,
                "FAILED" => one.failed = mails,
                // Of the FAILED, those that were cancelled.
                _ => {}
            }
        }
    }
    Ok(queues)
}

fn oldest_due(conn: &Connection, queue: &str, now: i64) -> Result<Option<i64>, rusqlite::Error> {
    let mut statement = conn.prepare_cached(OLDEST_DUE)?;
    let mut rows = statement.query(named_params! { ":queue": queue })?;
    let Some(found) = rows.next()? else { return Ok(None) };
    let since = found.get_ref(0)?.as_i64().ok();
    Ok(since.filter(|since| *since <= now).map(|since| now.saturating_sub(since)))
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    let mut all: Vec<_> =
        [("count pending", COUNT_PENDING), ("count due", COUNT_DUE), ("oldest due", OLDEST_DUE)]
            .map(|(name, sql)| (name, sql.to_owned()))
            .to_vec();
    all.extend(recent::hot_statements());
    all
}
