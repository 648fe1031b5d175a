//! Rates: how many mails of a queue were handed over lately, by any process, and how many more may be.
//!
//! What counts is when a mail reaches the server, and that is some time between its claim and its record. So a mail that
//! is SENDING counts as handed over now, and one that is recorded counts from its record on. The last to be claimed of
//! the mails that arrive in a window found all the others of it either way, however slow a sender was: no window ever
//! has more than the rate says.

use super::Store;
use crate::domain::fault::Fault;
use crate::domain::rate::{Pace, Rate};
use rusqlite::{Connection, OptionalExtension, Transaction, named_params};
use std::collections::HashMap;

/// A queue that has met its rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    pub queue: String,
    pub rate: Rate,
    /// When it may go on, in milliseconds since 1970.
    pub until: i64,
}

/// Mails that were handed over, by queue, and the rates they count for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub queue: String,
    pub mails: u64,
    pub rates: Vec<Rate>,
}

const IN_HAND: &str = "SELECT count(*) FROM email_messages INDEXED BY email_messages_leased \
     WHERE status = 'SENDING' AND queue = :queue";

/// What a window holds, and the end of its first slice.
const HELD: &str = "SELECT coalesce(sum(mails), 0), min(at) FROM mailq_rate \
     WHERE queue = :queue AND slice = :slice AND at > :from AND mails > 0";

const ADD: &str = "INSERT INTO mailq_rate (queue, slice, at, mails) VALUES (:queue, :slice, :at, :mails) \
     ON CONFLICT (queue, slice, at) DO UPDATE SET mails = mails + excluded.mails";

const FORGET: &str =
    "DELETE FROM mailq_rate WHERE queue = :queue AND slice = :slice AND at <= :from";

/// A slice further ahead than any lock is waited for was written by a clock that has stepped back since.
const AHEAD_MS: i64 = 60_000;

const FROM_AHEAD: &str =
    "SELECT sum(mails) FROM mailq_rate WHERE queue = :queue AND slice = :slice AND at > :latest";

const FORGET_AHEAD: &str =
    "DELETE FROM mailq_rate WHERE queue = :queue AND slice = :slice AND at > :latest";

/// The mail of a sender that died may have gone. It counts for the rates that its queue is known to have.
const ADD_OF_THE_DEAD: &str = "INSERT INTO mailq_rate (queue, slice, at, mails) \
     SELECT DISTINCT queue, slice, (:now / slice + 1) * slice, 1 FROM mailq_rate \
     WHERE queue = (SELECT queue FROM email_messages WHERE id = :id) AND slice > 0 \
     ON CONFLICT (queue, slice, at) DO UPDATE SET mails = mails + 1";

/// The slice of a row that holds a pace.
const PACE: i64 = 0;

impl Store {
    /// The paces that servers left, by queue.
    pub fn paces(&self) -> Result<HashMap<String, Pace>, Fault> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached("SELECT queue, at, mails FROM mailq_rate WHERE slice = 0")?;
            let rows = statement.query_map([], |row| {
                Ok((row.get(0)?, Pace { since: row.get(1)?, mails: row.get(2)? }))
            })?;
            rows.collect()
        })
    }

    /// How many more mails of `queue` `rate` lets through at `now`.
    pub fn left(&self, queue: &str, rate: Rate, now: i64) -> Result<u64, Fault> {
        self.read(|conn| {
            let in_hand: i64 = conn
                .prepare_cached(IN_HAND)?
                .query_row(named_params! { ":queue": queue }, |row| row.get(0))?;
            let from = now.saturating_sub(rate.per_ms());
            let (held, _) = held(conn, queue, rate.slice_ms(), from)?;
            Ok(u64::try_from(i64::from(rate.count) - held - in_hand).unwrap_or_default())
        })
    }

    /// Which of `rates`, or of the pace that a server left, `queue` has met at `now`. Reads only.
    pub fn limited(&self, queue: &str, rates: &[Rate], now: i64) -> Result<Option<Limited>, Fault> {
        let pace = self.paces()?.get(queue).and_then(|pace| pace.at(now));
        let rates: Vec<Rate> = rates.iter().copied().chain(pace).collect();
        self.read(|conn| Ok(look(conn, queue, &rates, now)?.err()))
    }

    /// A server had too many: slows `queue` down from what went in the last minute.
    pub fn slow_down(&mut self, queue: &str, now: i64) -> Result<Pace, Fault> {
        self.write(|tx| {
            let sent: i64 = tx
                .prepare_cached(
                    "SELECT count(*) FROM email_messages WHERE status = 'SENT' AND finished_at > :from AND queue = :queue",
                )?
                .query_row(named_params! { ":from": now.saturating_sub(60_000), ":queue": queue }, |row| row.get(0))?;
            let pace = Pace::after(sent.unsigned_abs(), now);
            tx.prepare_cached("DELETE FROM mailq_rate WHERE queue = ?1 AND slice = 0")?
                .execute([queue])?;
            add(tx, queue, PACE, pace.since, pace.mails.into())?;
            Ok(pace)
        })
    }
}

/// How many more mails of `queue` may be claimed at `now`, and the rate that is met where it is none.
pub(super) fn allowance(
    tx: &Transaction<'_>,
    queue: &str,
    rates: &[Rate],
    now: i64,
) -> Result<Result<usize, Limited>, rusqlite::Error> {
    for rate in rates {
        bring_back(tx, queue, rate.slice_ms(), now)?;
    }
    look(tx, queue, rates, now)
}

fn look(
    conn: &Connection,
    queue: &str,
    rates: &[Rate],
    now: i64,
) -> Result<Result<usize, Limited>, rusqlite::Error> {
    let in_hand: i64 = conn
        .prepare_cached(IN_HAND)?
        .query_row(named_params! { ":queue": queue }, |row| row.get(0))?;
    let (mut least, mut limited) = (i64::MAX, None::<Limited>);
    for rate in rates {
        let (slice, from) = (rate.slice_ms(), now.saturating_sub(rate.per_ms()));
        let (held, first) = held(conn, queue, slice, from)?;
        let free = i64::from(rate.count) - held - in_hand;
        least = least.min(free);
        if free <= 0 {
            // With none recorded, all of it is in somebody's hand, and it takes a whole window at most.
            let until = first.unwrap_or(now).saturating_add(rate.per_ms());
            if limited.as_ref().is_none_or(|one| one.until < until) {
                limited = Some(Limited { queue: queue.to_owned(), rate: *rate, until });
            }
        }
    }
    Ok(match limited {
        Some(limited) => Err(limited),
        None => Ok(usize::try_from(least).unwrap_or(usize::MAX)),
    })
}

/// Notes at a claim which rates the queue has, so that `reap` knows them, and forgets what no window sees any more.
pub(super) fn open(
    tx: &Transaction<'_>,
    queue: &str,
    rates: &[Rate],
    now: i64,
) -> Result<(), rusqlite::Error> {
    for rate in rates {
        let slice = rate.slice_ms();
        let from = now.saturating_sub(rate.per_ms());
        tx.prepare_cached(FORGET)?
            .execute(named_params! { ":queue": queue, ":slice": slice, ":from": from })?;
        add(tx, queue, slice, end_of_slice(now, slice), 0)?;
    }
    Ok(())
}

/// Counts mails whose outcome is recorded in the same transaction.
pub(super) fn charge(
    tx: &Transaction<'_>,
    charge: &Charge,
    now: i64,
) -> Result<(), rusqlite::Error> {
    for rate in &charge.rates {
        let slice = rate.slice_ms();
        let mails = i64::try_from(charge.mails).unwrap_or(i64::MAX);
        add(tx, &charge.queue, slice, end_of_slice(now, slice), mails)?;
    }
    Ok(())
}

/// Counts a mail whose sender died.
pub(super) fn charge_for_the_dead(
    tx: &Transaction<'_>,
    id: i64,
    now: i64,
) -> Result<(), rusqlite::Error> {
    tx.prepare_cached(ADD_OF_THE_DEAD)?.execute(named_params! { ":now": now, ":id": id }).map(drop)
}

fn held(
    conn: &Connection,
    queue: &str,
    slice: i64,
    from: i64,
) -> Result<(i64, Option<i64>), rusqlite::Error> {
    conn.prepare_cached(HELD)?
        .query_row(named_params! { ":queue": queue, ":slice": slice, ":from": from }, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
}

fn bring_back(
    tx: &Transaction<'_>,
    queue: &str,
    slice: i64,
    now: i64,
) -> Result<(), rusqlite::Error> {
    let latest = now.saturating_add(slice).saturating_add(AHEAD_MS);
    let values = named_params! { ":queue": queue, ":slice": slice, ":latest": latest };
    let ahead: Option<i64> =
        tx.prepare_cached(FROM_AHEAD)?.query_row(values, |row| row.get(0)).optional()?.flatten();
    if let Some(mails) = ahead {
        tx.prepare_cached(FORGET_AHEAD)?.execute(values)?;
        add(tx, queue, slice, end_of_slice(now, slice), mails)?;
    }
    Ok(())
}

fn add(
    tx: &Transaction<'_>,
    queue: &str,
    slice: i64,
    at: i64,
    mails: i64,
) -> Result<(), rusqlite::Error> {
    let values = named_params! { ":queue": queue, ":slice": slice, ":at": at, ":mails": mails };
    tx.prepare_cached(ADD)?.execute(values).map(drop)
}

fn end_of_slice(now: i64, slice: i64) -> i64 {
    (now.div_euclid(slice) + 1).saturating_mul(slice)
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    // Not IN_HAND: it looks through an index that has only what is SENDING.
    [("held", HELD), ("forget", FORGET), ("from ahead", FROM_AHEAD), ("forget ahead", FORGET_AHEAD)]
        .map(|(name, sql)| (name, sql.to_owned()))
        .to_vec()
}
