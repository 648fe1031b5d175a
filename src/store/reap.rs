//! Mails whose time is over: a dead sender's lease, a deadline, a retry that a wrong clock put too far ahead.

use super::counter::{Counter, Counts};
use super::{Store, history, row};
use crate::domain::attempt::Attempt;
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::domain::state::{Event, Failure, Status, leads};
use rusqlite::{Connection, Rows, Transaction, named_params};

/// What a reap did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reaped {
    /// Back to PENDING.
    pub returned: Vec<MailId>,
    /// FAILED `worker-lost` (or `unknown-outcome` under `hold`).
    pub failed: Vec<MailId>,
    /// SENDING, with a lease that is not over.
    pub held: u64,
}

/// At which death of its sender a mail is given up.
const DEATHS: i64 = 3;

/// How many rows one transaction moves.
const PIECE: usize = 500;

/// Leases that are over by the wall clock: too old, or from a future that a clock stepping back leaves behind.
/// The holder comes as bytes and the count as a number, whatever another program wrote there: one row that cannot be
/// read must not keep the others from coming back.
const OVER: &str = "SELECT id, CAST(coalesce(locked_by, '') AS BLOB), CAST(reap_count AS INTEGER), dot_at IS NOT NULL, \
     queue FROM email_messages \
     WHERE status = 'SENDING' AND (locked_at IS NULL OR locked_at <= :oldest OR locked_at > :newest)";

const _: () = assert!(
    leads(Status::Sending, Event::Reap, Status::Pending)
        && leads(Status::Sending, Event::Reap, Status::Failed)
);

const RETURN: &str = "UPDATE email_messages SET status = 'PENDING', reap_count = min(reap_count + 1, 1000000), locked_at = NULL, \
     locked_by = NULL, dot_at = NULL, error_message = :error \
     WHERE id = :id AND status = 'SENDING' AND CAST(coalesce(locked_by, '') AS BLOB) = :holder";

const BURY: &str = "UPDATE email_messages SET status = 'FAILED', reap_count = min(reap_count + 1, 1000000), locked_at = NULL, \
     locked_by = NULL, dot_at = NULL, failure = :failure, error_message = :error, finished_at = :now \
     WHERE id = :id AND status = 'SENDING' AND CAST(coalesce(locked_by, '') AS BLOB) = :holder";

const _: () = assert!(leads(Status::Pending, Event::Expire, Status::Failed));

const EXPIRE: &str = "UPDATE email_messages SET status = 'FAILED', failure = 'expired', finished_at = :now, \
     error_message = 'expired before it could be sent' || coalesce('; last error: ' || error_message, '') \
     WHERE status = 'PENDING' AND id IN (SELECT id FROM email_messages WHERE status = 'PENDING' \
     AND expires_at IS NOT NULL AND expires_at <= :now LIMIT 500) RETURNING queue";

const EXPIRE_BY_AGE: &str = "UPDATE email_messages SET status = 'FAILED', failure = 'expired', finished_at = :now, \
     error_message = 'expired before it could be sent' || coalesce('; last error: ' || error_message, '') \
     WHERE status = 'PENDING' AND id IN (SELECT id FROM email_messages WHERE status = 'PENDING' \
     AND queue = :queue AND next_attempt_at <= :oldest AND created_at <= :oldest AND expires_at IS NULL LIMIT 500) RETURNING queue";

const PULL_IN: &str = "UPDATE email_messages SET next_attempt_at = :now \
     WHERE status = 'PENDING' AND id IN (SELECT id FROM email_messages WHERE status = 'PENDING' \
     AND attempt_count > 0 AND next_attempt_at > :latest LIMIT 500)";

struct Over {
    id: i64,
    holder: Vec<u8>,
    deaths: i64,
    dot_left: bool,
    queue: String,
}

impl Store {
    /// Returns the mails whose lease (of `lease_ms`) is over and whose sender `is_running` does not know to PENDING;
    /// FAILED at the third death, or where the final dot had left and `hold` was asked for.
    pub fn reap(
        &mut self,
        lease_ms: i64,
        now: i64,
        is_running: &dyn Fn(&str) -> bool,
        dry_run: bool,
    ) -> Result<Reaped, Fault> {
        let (held, over) = self.read(|conn| over(conn, lease_ms, now))?;
        let over: Vec<Over> = over.into_iter().filter(|one| !is_running(&one.who())).collect();
        let mut reaped =
            Reaped { held: held.saturating_sub(over.len() as u64), ..Reaped::default() };
        for piece in over.chunks(PIECE) {
            if dry_run {
                piece.iter().for_each(|one| reaped.count(one));
                continue;
            }
            self.write(|tx| {
                let mut counts = Counts::default();
                for one in piece {
                    if move_on(tx, one, now)? == 1 {
                        super::rate::charge_for_the_dead(tx, one.id, now)?;
                        reaped.count(one);
                        counts.add(Counter::Reaped, &one.queue, "", 1);
                        if let Some(failure) = one.verdict() {
                            counts.add(Counter::Failed, &one.queue, failure.word(), 1);
                        }
                    }
                }
                counts.write(tx)
            })?;
            std::thread::sleep(super::COURTESY);
        }
        Ok(reaped)
    }

    /// FAILS the PENDING mails whose `expires_at` has come, or that are due for longer than the `max_age_ms` of their
    /// queue, and pulls in retries that lie further ahead than `longest_wait_ms`. Writes nothing where there are none.
    pub fn expire(
        &mut self,
        max_age_ms: &dyn Fn(&str) -> i64,
        longest_wait_ms: i64,
        now: i64,
    ) -> Result<u64, Fault> {
        let latest = now.saturating_add(longest_wait_ms);
        let (some, queues) = self.read(|conn| {
            let some: bool = conn
                .prepare_cached(ANY_OVERDUE)?
                .query_row(named_params! { ":now": now, ":latest": latest }, |row| row.get(0))?;
            Ok((some, overaged(conn, max_age_ms, now)?))
        })?;
        let mut expired = 0;
        if some {
            self.in_pieces(|tx| {
                tx.prepare_cached(PULL_IN)?
                    .execute(named_params! { ":now": now, ":latest": latest })
            })?;
            expired += self.in_pieces(|tx| {
                let mut statement = tx.prepare_cached(EXPIRE)?;
                count_expired(tx, statement.query(named_params! { ":now": now })?)
            })?;
        }
        for queue in queues {
            let oldest = now.saturating_sub(max_age_ms(&queue));
            expired += self.in_pieces(|tx| {
                let mut statement = tx.prepare_cached(EXPIRE_BY_AGE)?;
                let values = named_params! { ":now": now, ":queue": queue, ":oldest": oldest };
                count_expired(tx, statement.query(values)?)
            })?;
        }
        Ok(expired)
    }

    /// The mails that `expire` ended at `now`.
    pub fn expired_at(&self, now: i64) -> Result<Vec<MailId>, Fault> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT id FROM email_messages WHERE status = 'FAILED' AND finished_at = ?1 AND failure = 'expired'",
            )?;
            let ids = statement.query_map([now], |found| found.get(0).map(MailId))?;
            ids.collect()
        })
    }

    /// Repeats `piece` until it changes nothing, leaving others their turn in between.
    pub(super) fn in_pieces(
        &mut self,
        mut piece: impl FnMut(&Transaction<'_>) -> Result<usize, rusqlite::Error>,
    ) -> Result<u64, Fault> {
        let mut total = 0;
        loop {
            let changed = self.write(&mut piece)?;
            if changed == 0 {
                return Ok(total);
            }
            total += changed as u64;
            std::thread::sleep(super::COURTESY);
        }
    }
}

/// Counts the mails that a statement expired, by the queue that it returns of each.
fn count_expired(tx: &Transaction<'_>, mut expired: Rows<'_>) -> Result<usize, rusqlite::Error> {
    let (mut counts, mut total) = (Counts::default(), 0);
    while let Some(one) = expired.next()? {
        let queue = row::lossy(one, 0)?.unwrap_or_default();
        counts.add(Counter::Failed, &queue, Failure::Expired.word(), 1);
        total += 1;
    }
    counts.write(tx)?;
    Ok(total)
}

const ANY_OVERDUE: &str = "SELECT EXISTS (SELECT 1 FROM email_messages WHERE status = 'PENDING' \
     AND expires_at IS NOT NULL AND expires_at <= :now) \
     OR EXISTS (SELECT 1 FROM email_messages WHERE status = 'PENDING' AND attempt_count > 0 AND next_attempt_at > :latest)";

const OVERAGED: &str = "SELECT EXISTS (SELECT 1 FROM email_messages WHERE status = 'PENDING' \
     AND queue = :queue AND next_attempt_at <= :oldest AND created_at <= :oldest AND expires_at IS NULL)";

/// The queues with a mail that is due for too long.
fn overaged(
    conn: &Connection,
    max_age_ms: &dyn Fn(&str) -> i64,
    now: i64,
) -> Result<Vec<String>, rusqlite::Error> {
    let mut statement = conn.prepare_cached(OVERAGED)?;
    let mut found = Vec::new();
    for queue in super::claim::due_queues(conn, now)? {
        let oldest = now.saturating_sub(max_age_ms(&queue));
        if statement
            .query_row(named_params! { ":queue": queue, ":oldest": oldest }, |row| row.get(0))?
        {
            found.push(queue);
        }
    }
    Ok(found)
}

fn over(conn: &Connection, lease_ms: i64, now: i64) -> Result<(u64, Vec<Over>), rusqlite::Error> {
    let held: i64 = conn
        .prepare_cached("SELECT count(*) FROM email_messages WHERE status = 'SENDING'")?
        .query_row([], |row| row.get(0))?;
    let mut statement = conn.prepare_cached(OVER)?;
    let rows = statement.query_map(
        named_params! { ":oldest": now.saturating_sub(lease_ms), ":newest": now.saturating_add(lease_ms) },
        |row| {
            let queue = row::lossy(row, 4)?.unwrap_or_default();
            Ok(Over { id: row.get(0)?, holder: row.get(1)?, deaths: row.get(2)?, dot_left: row.get(3)?, queue })
        },
    )?;
    Ok((held.unsigned_abs(), rows.collect::<Result<_, _>>()?))
}

fn move_on(tx: &Transaction<'_>, one: &Over, now: i64) -> Result<usize, rusqlite::Error> {
    let who = one.who();
    let verdict = one.verdict();
    let error = match verdict {
        None => format!(
            "its sender ({who}) was lost; the server may have the mail if its final dot had left"
        ),
        Some(Failure::UnknownOutcome) => {
            format!("its sender ({who}) was lost after the final dot was about to leave")
        }
        Some(_) => format!("its sender was lost {DEATHS} times, the last was {who}"),
    };
    let moved = match verdict {
        None => tx.prepare_cached(RETURN)?.execute(named_params! {
            ":id": one.id, ":holder": one.holder, ":error": error,
        })?,
        Some(failure) => tx.prepare_cached(BURY)?.execute(named_params! {
            ":id": one.id, ":holder": one.holder, ":failure": failure.word(), ":now": now, ":error": error,
        })?,
    };
    if moved == 1 {
        history::add(tx, MailId(one.id), &Attempt::lost(&error, now))?;
    }
    Ok(moved)
}

impl Over {
    fn who(&self) -> String {
        match self.holder.as_slice() {
            [] => "unknown".to_owned(),
            bytes => String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    fn verdict(&self) -> Option<Failure> {
        if self.dot_left {
            Some(Failure::UnknownOutcome)
        } else if self.deaths.saturating_add(1) >= DEATHS {
            Some(Failure::WorkerLost)
        } else {
            None
        }
    }
}

impl Reaped {
    fn count(&mut self, one: &Over) {
        match one.verdict() {
            None => self.returned.push(MailId(one.id)),
            Some(_) => self.failed.push(MailId(one.id)),
        }
    }
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [
        ("return", RETURN),
        ("expire", EXPIRE),
        ("expire by age", EXPIRE_BY_AGE),
        ("pull in", PULL_IN),
        ("any overdue", ANY_OVERDUE),
        ("overaged", OVERAGED),
    ]
    .map(|(name, sql)| (name, sql.to_owned()))
    .to_vec()
}
