//! What became of the last mails: how many finished, how long they took, why they FAILED. Whole hours come from the
//! tally, and what is looked at mail by mail is bounded.

use super::stats::{Fallen, Reason, Stats};
use super::{Store, row};
use crate::domain::state::Failure;
use rusqlite::{Connection, Row, named_params};
use std::collections::{BTreeMap, HashMap};

/// So many of the last mails SENT are measured, and so many of the last FAILED ones are asked for their reason.
const SAMPLE: i64 = 5_000;

/// The first part of an hour is counted mail by mail, up to this many; beyond, it is a share of its hour.
const PART: i64 = 20_000;

/// How many of the latest failures are told one by one.
const LATEST: usize = 10;

const HOUR_MS: i64 = 3_600_000;

/// So many hours are plotted.
const HOURS: usize = 24;

/// The hour of the clock, counted since 1970, that the plot begins with.
pub fn first_hour(now: i64) -> i64 {
    now.div_euclid(HOUR_MS) - 23
}

/// What became of the mails that finished since some moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recent {
    pub sent: u64,
    pub failed: u64,
    /// Those of `failed` that an admin cancelled.
    pub cancelled: u64,
    /// FAILED ÷ (SENT + FAILED).
    pub failed_ratio: Option<f64>,
    /// How long handing over took, in milliseconds, at the 50th, 95th and 99th percentile of the last mails SENT.
    pub send_ms: Option<[i64; 3]>,
    pub attempts_per_mail: Option<f64>,
    pub sent_per_minute: Option<f64>,
    /// Mails SENT in each of the last 24 hours of the clock, the running one last.
    pub sent_by_hour: [u64; HOURS],
}

const BY_HOUR: &str = "SELECT hour, mails FROM mailq_tally WHERE queue = :queue AND status = :status \
     AND hour BETWEEN :from AND :until";

const PART_SENT: &str = "SELECT queue FROM email_messages WHERE status = 'SENT' \
     AND finished_at >= :from AND finished_at < :until ORDER BY finished_at LIMIT :limit";

const PART_FAILED: &str = "SELECT queue, failure FROM email_messages WHERE status = 'FAILED' \
     AND finished_at >= :from AND finished_at < :until ORDER BY finished_at LIMIT :limit";

/// Nothing is left of a tally: neither mails nor, of those that were cancelled, the FAILED of that hour.
const IS_OVER: &str = "mails <= 0 OR status = 'CANCELLED' AND NOT EXISTS (SELECT 1 FROM mailq_tally AS failed \
     WHERE failed.queue = one.queue AND failed.status = 'FAILED' AND failed.hour = one.hour AND failed.mails > 0)";

/// What `cancel` and `retry` count in the tally, beside the FAILED that the triggers count.
const CANCELLED: &str = "CANCELLED";

const COUNT_CANCELLED: &str = "INSERT INTO mailq_tally (queue, status, hour, mails) \
     VALUES (:queue, 'CANCELLED', :hour, :mails) ON CONFLICT (queue, status, hour) DO UPDATE SET mails = mails + :mails";

/// Counts `mails` more, or fewer, of `queue` as cancelled at `at`.
pub(super) fn count_cancelled(
    conn: &Connection,
    queue: &str,
    at: i64,
    mails: i64,
) -> Result<(), rusqlite::Error> {
    let values =
        named_params! { ":queue": queue, ":hour": at.div_euclid(HOUR_MS), ":mails": mails };
    conn.prepare_cached(COUNT_CANCELLED)?.execute(values).map(drop)
}

const LAST_SENT: &str = "SELECT queue, send_ms, attempt_count, finished_at FROM email_messages WHERE status = 'SENT' \
     AND finished_at >= :since ORDER BY finished_at DESC LIMIT :limit";

const LAST_ACCEPTED: &str =
    "SELECT max(finished_at) FROM email_messages WHERE status = 'SENT' AND finished_at IS NOT NULL";

const LAST_FAILED: &str = "SELECT queue, id, failure, error_message, finished_at FROM email_messages WHERE status = 'FAILED' \
     AND finished_at >= :since ORDER BY finished_at DESC LIMIT :limit";

/// Measures the queues of `stats`, each and together.
pub(super) fn measure(
    conn: &Connection,
    stats: &mut Stats,
    since: i64,
    now: i64,
) -> Result<(), rusqlite::Error> {
    let sent_part = part(conn, PART_SENT, since, |_| Ok(true))?;
    let failed_part = part(conn, PART_FAILED, since, |_| Ok(true))?;
    let is_cancelled = |found: &Row<'_>| Ok(text(found, 1)? == Failure::Cancelled.word());
    let cancelled_part = part(conn, PART_FAILED, since, is_cancelled)?;
    for one in &mut stats.queues {
        let [sent, failed, cancelled] = ["SENT", "FAILED", CANCELLED]
            .map(|status| by_hour(conn, &one.queue, status, since, now));
        let (sent, failed, cancelled) = (sent?, failed?, cancelled?);
        one.recent.sent = total(&sent, &sent_part, &one.queue, since);
        one.recent.failed = total(&failed, &failed_part, &one.queue, since);
        // Another program may have deleted some, which only the triggers see.
        let cancelled = total(&cancelled, &cancelled_part, &one.queue, since);
        one.recent.cancelled = cancelled.min(one.recent.failed);
        for (count, hour) in one.recent.sent_by_hour.iter_mut().zip(first_hour(now)..) {
            *count = sent.get(&hour).copied().unwrap_or_default();
        }
    }
    sample(conn, stats, since)?;
    reasons(conn, stats, since)?;
    stats.last_sent_at = conn
        .prepare_cached(LAST_ACCEPTED)?
        .query_row([], |found| Ok(found.get_ref(0)?.as_i64().ok()))?;
    let all = &mut stats.recent;
    for one in &stats.queues {
        all.sent += one.recent.sent;
        all.failed += one.recent.failed;
        all.cancelled += one.recent.cancelled;
        for (sum, count) in all.sent_by_hour.iter_mut().zip(one.recent.sent_by_hour) {
            *sum += count;
        }
    }
    for one in stats.queues.iter_mut().map(|one| &mut one.recent).chain([all]) {
        let finished = one.sent + one.failed;
        one.failed_ratio = (finished > 0).then(|| one.failed as f64 / finished as f64);
        let minutes = (now - since) as f64 / 60_000.0;
        one.sent_per_minute = (minutes > 0.0).then(|| one.sent as f64 / minutes);
    }
    Ok(())
}

/// Mails that finished, by hour, back to `since` and at least as far as the plot goes.
fn by_hour(
    conn: &Connection,
    queue: &str,
    status: &str,
    since: i64,
    now: i64,
) -> Result<HashMap<i64, u64>, rusqlite::Error> {
    let plotted = first_hour(now);
    let mut statement = conn.prepare_cached(BY_HOUR)?;
    let rows = statement.query_map(
        named_params! {
            ":queue": queue, ":status": status, ":from": since.div_euclid(HOUR_MS).min(plotted), ":until": i64::MAX,
        },
        |found| {
            // A time past the CHECKs makes an hour that is no whole number; it is nobody's.
            let number = |at| found.get_ref(at).map(|value| value.as_i64().unwrap_or_default());
            Ok((number(0)?, number(1)?.max(0).unsigned_abs()))
        },
    )?;
    rows.collect()
}

/// By queue, what finished between `since` and the end of that hour and `is_one`; `None` where that is too many to count.
fn part(
    conn: &Connection,
    sql: &str,
    since: i64,
    is_one: impl Fn(&Row<'_>) -> Result<bool, rusqlite::Error>,
) -> Result<Option<HashMap<String, u64>>, rusqlite::Error> {
    let until = (since.div_euclid(HOUR_MS) + 1).saturating_mul(HOUR_MS);
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows =
        statement.query(named_params! { ":from": since, ":until": until, ":limit": PART })?;
    let (mut queues, mut count) = (HashMap::new(), 0);
    while let Some(found) = rows.next()? {
        *queues.entry(text(found, 0)?).or_default() += u64::from(is_one(found)?);
        count += 1;
    }
    Ok((count < PART).then_some(queues))
}

fn total(
    by_hour: &HashMap<i64, u64>,
    part: &Option<HashMap<String, u64>>,
    queue: &str,
    since: i64,
) -> u64 {
    let first = since.div_euclid(HOUR_MS);
    let later: u64 = by_hour.iter().filter(|(hour, _)| **hour > first).map(|(_, n)| n).sum();
    let in_part = match part {
        Some(queues) => queues.get(queue).copied().unwrap_or_default(),
        None => {
            let share = 1.0 - since.rem_euclid(HOUR_MS) as f64 / HOUR_MS as f64;
            (by_hour.get(&first).copied().unwrap_or_default() as f64 * share) as u64
        }
    };
    later + in_part
}

#[derive(Default)]
struct Sample {
    durations: Vec<i64>,
    attempts: i64,
    mails: i64,
}

impl Sample {
    fn add(&mut self, ms: Option<i64>, attempts: i64) {
        self.durations.extend(ms);
        self.attempts = self.attempts.saturating_add(attempts);
        self.mails += 1;
    }

    fn tell(mut self, recent: &mut Recent) {
        if self.mails > 0 {
            recent.attempts_per_mail = Some(self.attempts as f64 / self.mails as f64);
        }
        self.durations.sort_unstable();
        let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile(&self.durations, percent));
        recent.send_ms = p50.zip(p95).zip(p99).map(|((p50, p95), p99)| [p50, p95, p99]);
    }
}

fn sample(conn: &Connection, stats: &mut Stats, since: i64) -> Result<(), rusqlite::Error> {
    let mut statement = conn.prepare_cached(LAST_SENT)?;
    let mut rows = statement.query(named_params! { ":since": since, ":limit": SAMPLE })?;
    let mut queues: HashMap<String, Sample> = HashMap::new();
    let mut all = Sample::default();
    while let Some(found) = rows.next()? {
        let queue = text(found, 0)?;
        if !stats.queues.iter().any(|one| one.queue == queue) {
            continue;
        }
        // Another program may have written anything here.
        let ms = found.get_ref(1)?.as_i64().ok();
        let attempts = found.get_ref(2)?.as_i64().unwrap_or_default();
        queues.entry(queue).or_default().add(ms, attempts);
        all.add(ms, attempts);
    }
    all.tell(&mut stats.recent);
    for one in &mut stats.queues {
        queues.remove(&one.queue).unwrap_or_default().tell(&mut one.recent);
    }
    Ok(())
}

/// The nearest-rank percentile of sorted values.
fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

fn reasons(conn: &Connection, stats: &mut Stats, since: i64) -> Result<(), rusqlite::Error> {
    let mut statement = conn.prepare_cached(LAST_FAILED)?;
    let mut rows = statement.query(named_params! { ":since": since, ":limit": SAMPLE })?;
    let mut counted: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut looked_at = 0;
    while let Some(found) = rows.next()? {
        looked_at += 1;
        let queue = text(found, 0)?;
        if !stats.queues.iter().any(|one| one.queue == queue) {
            continue;
        }
        let (failure, error) = (text(found, 2)?, text(found, 3)?);
        if stats.failures.len() < LATEST {
            stats.failures.push(Fallen {
                id: found.get(1)?,
                queue,
                failure: failure.clone(),
                error: error.clone(),
                finished_at: found.get_ref(4)?.as_i64().unwrap_or_default(),
            });
        }
        *counted.entry((failure, gist(&error))).or_default() += 1;
    }
    // With more than that, these are the last ones.
    stats.reasons_of_last = (looked_at == SAMPLE).then_some(SAMPLE.unsigned_abs());
    stats.reasons = counted
        .into_iter()
        .map(|((failure, words), mails)| Reason { failure, words, mails })
        .collect();
    stats.reasons.sort_by_key(|one| std::cmp::Reverse(one.mails));
    let untold = stats.reasons.split_off(LATEST.min(stats.reasons.len()));
    stats.reasons_untold = untold.len() as u64;
    Ok(())
}

/// What is the same in the errors of many mails: without the recipient in front and without further recipients.
fn gist(error: &str) -> String {
    let without = match error.split_once(": ") {
        Some((who, words)) if who.contains('@') && !who.contains(' ') => words,
        _ => error,
    };
    without.split("; ").next().unwrap_or_default().to_owned()
}

fn text(found: &Row<'_>, at: usize) -> Result<String, rusqlite::Error> {
    row::lossy(found, at).map(Option::unwrap_or_default)
}

impl Store {
    /// Deletes the tallies of hours that nothing is left of.
    pub fn tidy_tally(&mut self) -> Result<(), super::Fault> {
        let empty = self.read(|conn| {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM mailq_tally AS one WHERE {IS_OVER})");
            conn.prepare_cached(&sql)?.query_row([], |found| found.get(0))
        })?;
        if empty {
            let sql = format!("DELETE FROM mailq_tally AS one WHERE {IS_OVER}");
            self.write(|tx| tx.execute(&sql, []))?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [
        ("by hour", BY_HOUR),
        ("part of an hour", PART_SENT),
        ("part of an hour", PART_FAILED),
        ("last sent", LAST_SENT),
        ("last accepted", LAST_ACCEPTED),
        ("last failed", LAST_FAILED),
    ]
    .map(|(name, sql)| (name, sql.to_owned()))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_many_mails_are_told_as_one() {
        assert_eq!(gist("a@x.example: 550 5.1.1 no (at RCPT TO)"), "550 5.1.1 no (at RCPT TO)");
        assert_eq!(gist("a@x: 550 no; b@x: 550 no"), "550 no");
        assert_eq!(gist("cannot render `t`: x is missing"), "cannot render `t`: x is missing");
        assert_eq!(gist(""), "");
    }
}
