//! SENDING becomes what the outcome makes of it.
//!
//! Only the holder of the lease writes. A sender that lost it (stopped, reaped) overwrites nothing, but what a server
//! accepted stays accepted: its 250 is reconciled with a row that nobody else has taken.

use super::claim::Lease;
use super::counter::{Counter, Counts};
use super::history;
use crate::domain::attempt::{Attempt, Verdict};
use crate::domain::message::MailId;
use crate::domain::state::{Change, Event, Failure, Move, Status, leads};
use rusqlite::{OptionalExtension, Transaction, named_params};

/// An outcome on its way into the database.
#[derive(Debug)]
pub struct Settled {
    pub lease: Lease,
    pub change: Change,
    /// What was tried, where it came to that.
    pub attempt: Option<Attempt>,
}

/// What recording did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// The row says so now.
    Done,
    /// The lease was lost, but the server has the mail, and the row says so now.
    Reconciled,
    /// The lease was lost and the row left as it is, in this state.
    LeaseLost { state: String },
}

const _: () = assert!(leads(Status::Sending, Event::Accept, Status::Sent));

const SENT: &str = "UPDATE email_messages SET status = 'SENT', attempt_count = :attempts, failure = NULL, \
     error_message = :error, delivered = NULL, refused = :refused, locked_at = NULL, locked_by = NULL, dot_at = NULL, \
     sent_at = :now, finished_at = :now, send_ms = :send_ms \
     WHERE id = :id AND status = 'SENDING' AND locked_by = :holder";

const _: () = assert!(leads(Status::Sending, Event::Release, Status::Pending));

const AGAIN: &str = "UPDATE email_messages SET status = 'PENDING', attempt_count = :attempts, \
     error_message = coalesce(:error, error_message), delivered = :delivered, refused = :refused, locked_at = NULL, \
     locked_by = NULL, dot_at = NULL, next_attempt_at = :at, expires_at = :expires_at, send_ms = :send_ms \
     WHERE id = :id AND status = 'SENDING' AND locked_by = :holder";

const _: () = assert!(leads(Status::Sending, Event::Fail, Status::Failed));

const FAILED: &str = "UPDATE email_messages SET status = 'FAILED', attempt_count = :attempts, failure = :failure, \
     error_message = :error, delivered = :delivered, refused = :refused, locked_at = NULL, locked_by = NULL, \
     dot_at = NULL, finished_at = :now, send_ms = :send_ms \
     WHERE id = :id AND status = 'SENDING' AND locked_by = :holder";

const _: () = assert!(
    leads(Status::Pending, Event::Accept, Status::Sent)
        && leads(Status::Failed, Event::Accept, Status::Sent)
);

const RECONCILE_SENT: &str = "UPDATE email_messages SET status = 'SENT', failure = NULL, \
     error_message = 'accepted after its lease was lost', delivered = NULL, refused = :refused, sent_at = :now, \
     finished_at = :now \
     WHERE id = :id AND (status = 'PENDING' OR (status = 'FAILED' AND failure IN ('worker-lost', 'unknown-outcome', 'expired')))";

const RECONCILE_PARTLY: &str = "UPDATE email_messages SET delivered = :delivered, refused = :refused \
     WHERE id = :id AND status IN ('PENDING', 'FAILED')";

/// The longest text that `error_message` is given, in bytes.
const ERROR_LIMIT: usize = 1_000;

/// Records one outcome. Exactly one row changes, or the answer says why none did.
pub(super) fn record(
    tx: &Transaction<'_>,
    settled: &Settled,
    counts: &mut Counts,
    now: i64,
) -> Result<Recorded, rusqlite::Error> {
    let recorded = move_on(tx, settled, now)?;
    if !matches!(recorded, Recorded::LeaseLost { .. }) {
        if let Some(attempt) = &settled.attempt {
            history::add(tx, settled.lease.id(), attempt)?;
        }
        count(settled, counts);
    }
    Ok(recorded)
}

fn count(settled: &Settled, counts: &mut Counts) {
    let Settled { lease, change, attempt } = settled;
    let queue = lease.queue();
    match change.to() {
        Move::Sent => {
            counts.add(Counter::Sent, queue, "", 1);
            if let Some(ms) = attempt.as_ref().and_then(Attempt::send_ms) {
                counts.took(queue, ms);
            }
        }
        Move::Failed(failure) => counts.add(Counter::Failed, queue, failure.word(), 1),
        Move::Again { .. } => {
            if attempt.as_ref().is_some_and(|attempt| attempt.verdict != Verdict::Outage) {
                counts.add(Counter::Deferred, queue, "", 1);
            }
        }
    }
}

fn move_on(tx: &Transaction<'_>, settled: &Settled, now: i64) -> Result<Recorded, rusqlite::Error> {
    let Settled { lease, change, attempt } = settled;
    let send_ms = attempt.as_ref().and_then(Attempt::send_ms);
    let (id, holder) = (lease.id().0, lease.holder());
    let error = change.error().map(|error| crate::domain::fault::one_line(error, ERROR_LIMIT));
    let attempts = change.attempts();
    let delivered = list(change.delivered());
    let refused = (!change.refused().is_empty())
        .then(|| serde_json::to_string(change.refused()).expect("two texts each"));
    let changed = match change.to() {
        Move::Sent => tx.prepare_cached(SENT)?.execute(named_params! {
            ":attempts": attempts, ":error": error, ":refused": refused, ":now": now, ":send_ms": send_ms, ":id": id,
            ":holder": holder,
        })?,
        Move::Again { at, expires_at } => tx.prepare_cached(AGAIN)?.execute(named_params! {
            ":attempts": attempts, ":error": error, ":delivered": delivered, ":refused": refused, ":at": at,
            ":expires_at": expires_at, ":send_ms": send_ms, ":id": id, ":holder": holder,
        })?,
        Move::Failed(failure) => tx.prepare_cached(FAILED)?.execute(named_params! {
            ":attempts": attempts, ":failure": failure.word(), ":error": error, ":delivered": delivered,
            ":refused": refused, ":now": now, ":send_ms": send_ms, ":id": id, ":holder": holder,
        })?,
    };
    if changed == 1 {
        return Ok(Recorded::Done);
    }
    reconcile(tx, lease.id(), change, delivered, refused, now)
}

fn reconcile(
    tx: &Transaction<'_>,
    id: MailId,
    change: &Change,
    delivered: Option<String>,
    refused: Option<String>,
    now: i64,
) -> Result<Recorded, rusqlite::Error> {
    let changed = match change.to() {
        Move::Sent => tx
            .prepare_cached(RECONCILE_SENT)?
            .execute(named_params! { ":refused": refused, ":now": now, ":id": id.0 })?,
        Move::Again { .. } | Move::Failed(Failure::Rejected) if delivered.is_some() => tx
            .prepare_cached(RECONCILE_PARTLY)?
            .execute(named_params! { ":delivered": delivered, ":refused": refused, ":id": id.0 })?,
        Move::Again { .. } | Move::Failed(_) => 0,
    };
    if changed == 1 {
        return Ok(Recorded::Reconciled);
    }
    let state: Option<String> = tx
        .prepare_cached("SELECT status FROM email_messages WHERE id = ?1")?
        .query_row([id.0], |row| row.get(0))
        .optional()?;
    Ok(Recorded::LeaseLost { state: state.unwrap_or_else(|| "deleted".to_owned()) })
}

fn list(addresses: &[String]) -> Option<String> {
    (!addresses.is_empty()).then(|| serde_json::to_string(addresses).expect("a list of texts"))
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [("sent", SENT), ("again", AGAIN), ("failed", FAILED), ("reconcile", RECONCILE_SENT)]
        .map(|(name, sql)| (name, sql.to_owned()))
        .to_vec()
}
