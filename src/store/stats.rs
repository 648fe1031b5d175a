//! Figures about the queue, from the tallies and the indexes: the cost does not grow with the archive.

use super::breaker::Breaker;
use super::{Store, claim};
use crate::domain::fault::Fault;
use rusqlite::{Connection, Row, named_params};
use std::collections::BTreeMap;

/// How many mails of one queue are in which state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueCounts {
    pub queue: String,
    pub pending: u64,
    /// PENDING and due.
    pub due: u64,
    /// PENDING and not due yet.
    pub scheduled: u64,
    pub sending: u64,
    pub sent: u64,
    pub failed: u64,
}

/// The figures of `mailq stats`. `None`: there is nothing to measure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stats {
    pub queues: Vec<QueueCounts>,
    pub oldest_due_age_ms: Option<i64>,
    /// FAILED ÷ (SENT + FAILED) of what finished since.
    pub failed_ratio: Option<f64>,
    /// How long handing over took, in milliseconds, at the 50th, 95th and 99th percentile of the last mails SENT.
    pub send_ms: Option<[i64; 3]>,
    pub attempts_per_mail: Option<f64>,
    pub sent_per_minute: Option<f64>,
    pub breakers: Vec<Breaker>,
}

/// So many of the last mails SENT are measured.
const SAMPLE: i64 = 5_000;

const HOUR_MS: i64 = 3_600_000;

const COUNT_PENDING: &str =
    "SELECT count(*) FROM email_messages WHERE status = 'PENDING' AND queue = :queue";

const COUNT_SENDING: &str = "SELECT queue, status, count(*) FROM email_messages INDEXED BY email_messages_leased WHERE status = 'SENDING' GROUP BY queue";

const COUNT_FINISHED: &str =
    "SELECT queue, status, sum(mails) FROM mailq_tally WHERE mails > 0 GROUP BY queue, status";

const COUNT_DUE: &str = "SELECT count(*) FROM email_messages WHERE status = 'PENDING' AND queue = :queue \
     AND next_attempt_at <= :now";

const OLDEST_DUE: &str =
    "SELECT min(next_attempt_at) FROM email_messages WHERE status = 'PENDING' AND queue = :queue";

const LAST_SENT: &str = "SELECT queue, send_ms, attempt_count FROM email_messages WHERE status = 'SENT' \
     AND finished_at >= :since ORDER BY finished_at DESC LIMIT :sample";

impl Store {
    /// The figures at `now`, of `queues` (empty: all); what finished counts from `since` on.
    pub fn stats(&self, queues: &[String], since: i64, now: i64) -> Result<Stats, Fault> {
        let wanted = |queue: &str| queues.is_empty() || queues.iter().any(|one| one == queue);
        let mut stats = self.read(|conn| {
            let mut stats = Stats { queues: counts(conn, &wanted, now)?, ..Stats::default() };
            stats.oldest_due_age_ms = oldest_due(conn, &wanted, now)?;
            let (sent, failed) = finished(conn, &wanted, since)?;
            if sent + failed > 0 {
                stats.failed_ratio = Some(failed as f64 / (sent + failed) as f64);
            }
            if now > since {
                stats.sent_per_minute = Some(sent as f64 * 60_000.0 / (now - since) as f64);
            }
            sample(conn, &wanted, since, &mut stats)?;
            Ok(stats)
        })?;
        for name in queues {
            if !stats.queues.iter().any(|one| one.queue == *name) {
                stats.queues.push(QueueCounts { queue: name.clone(), ..QueueCounts::default() });
            }
        }
        stats.breakers = self.breakers()?;
        Ok(stats)
    }
}

fn counts(
    conn: &Connection,
    wanted: &dyn Fn(&str) -> bool,
    now: i64,
) -> Result<Vec<QueueCounts>, rusqlite::Error> {
    let mut queues: BTreeMap<String, QueueCounts> = BTreeMap::new();
    let mut add = |queue: String, count: &dyn Fn(&mut QueueCounts)| {
        if wanted(&queue) {
            count(
                queues
                    .entry(queue.clone())
                    .or_insert_with(|| QueueCounts { queue, ..QueueCounts::default() }),
            );
        }
    };
    let mut pending = conn.prepare_cached(COUNT_PENDING)?;
    let mut due = conn.prepare_cached(COUNT_DUE)?;
    for queue in claim::queues(conn)? {
        let all: i64 = pending.query_row(named_params! { ":queue": queue }, |row| row.get(0))?;
        let due: i64 =
            due.query_row(named_params! { ":queue": queue, ":now": now }, |row| row.get(0))?;
        add(queue, &|one| {
            one.pending = all.unsigned_abs();
            one.due = due.unsigned_abs();
            one.scheduled = one.pending.saturating_sub(one.due);
        });
    }
    for sql in [COUNT_SENDING, COUNT_FINISHED] {
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (queue, status, mails): (String, String, i64) =
                (words(row, 0)?, words(row, 1)?, row.get(2)?);
            add(queue, &|one| match status.as_str() {
                "SENDING" => one.sending = mails.unsigned_abs(),
                "SENT" => one.sent = mails.unsigned_abs(),
                _ => one.failed = mails.unsigned_abs(),
            });
        }
    }
    Ok(queues.into_values().collect())
}

/// A text that another program may have written as anything.
fn words(row: &Row<'_>, at: usize) -> Result<String, rusqlite::Error> {
    let value = row.get_ref(at)?;
    Ok(String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned())
}

fn oldest_due(
    conn: &Connection,
    wanted: &dyn Fn(&str) -> bool,
    now: i64,
) -> Result<Option<i64>, rusqlite::Error> {
    let mut oldest: Option<i64> = None;
    let mut statement = conn.prepare_cached(OLDEST_DUE)?;
    for queue in claim::due_queues(conn, now)?.into_iter().filter(|queue| wanted(queue)) {
        let due: Option<i64> = statement.query_row(named_params! { ":queue": queue }, |row| {
            Ok(row.get_ref(0)?.as_i64().ok())
        })?;
        oldest = oldest.into_iter().chain(due).min();
    }
    Ok(oldest.map(|due| (now - due).max(0)))
}

/// How many became SENT and FAILED since then: whole hours from the tally, the first part of an hour by the index.
fn finished(
    conn: &Connection,
    wanted: &dyn Fn(&str) -> bool,
    since: i64,
) -> Result<(i64, i64), rusqlite::Error> {
    let first_whole_hour = since.div_euclid(HOUR_MS) + 1;
    let (mut sent, mut failed) = (0, 0);
    let mut add = |sql: &str, from: i64, to: i64| -> Result<(), rusqlite::Error> {
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query([from, to])?;
        while let Some(row) = rows.next()? {
            let (queue, status, mails): (String, String, i64) =
                (words(row, 0)?, words(row, 1)?, row.get(2)?);
            match status.as_str() {
                _ if !wanted(&queue) => {}
                "SENT" => sent += mails,
                _ => failed += mails,
            }
        }
        Ok(())
    };
    add(
        "SELECT queue, status, sum(mails) FROM mailq_tally WHERE status IN ('SENT', 'FAILED') AND hour BETWEEN ?1 AND ?2 \
         GROUP BY queue, status",
        first_whole_hour,
        i64::MAX,
    )?;
    for sql in [PART_SENT, PART_FAILED] {
        add(sql, since, first_whole_hour.saturating_mul(HOUR_MS))?;
    }
    Ok((sent, failed))
}

const PART_SENT: &str = "SELECT queue, status, count(*) FROM email_messages WHERE status = 'SENT' \
     AND finished_at >= ?1 AND finished_at < ?2 GROUP BY queue";

const PART_FAILED: &str = "SELECT queue, status, count(*) FROM email_messages WHERE status = 'FAILED' \
     AND finished_at >= ?1 AND finished_at < ?2 GROUP BY queue";

fn sample(
    conn: &Connection,
    wanted: &dyn Fn(&str) -> bool,
    since: i64,
    stats: &mut Stats,
) -> Result<(), rusqlite::Error> {
    let mut statement = conn.prepare_cached(LAST_SENT)?;
    let mut rows = statement.query(named_params! { ":since": since, ":sample": SAMPLE })?;
    let (mut durations, mut mails, mut attempts) = (Vec::new(), 0i64, 0i64);
    while let Some(row) = rows.next()? {
        if !wanted(&words(row, 0)?) {
            continue;
        }
        // Another program may have written anything here.
        durations.extend(row.get_ref(1)?.as_i64().ok());
        attempts = attempts.saturating_add(row.get_ref(2)?.as_i64().unwrap_or_default());
        mails += 1;
    }
    if mails > 0 {
        stats.attempts_per_mail = Some(attempts as f64 / mails as f64);
    }
    durations.sort_unstable();
    stats.send_ms = percentile(&durations, 50)
        .zip(percentile(&durations, 95))
        .zip(percentile(&durations, 99))
        .map(|((p50, p95), p99)| [p50, p95, p99]);
    Ok(())
}

/// The nearest-rank percentile of sorted values.
fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [
        ("count pending", COUNT_PENDING),
        ("count due", COUNT_DUE),
        ("oldest due", OLDEST_DUE),
        ("last sent", LAST_SENT),
        ("part of an hour", PART_SENT),
        ("part of an hour", PART_FAILED),
    ]
    .map(|(name, sql)| (name, sql.to_owned()))
    .to_vec()
}
