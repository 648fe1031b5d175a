//! What an admin does to single mails: `retry` and `cancel`.

use super::counter::{Counter, Counts};
use super::{Store, recent, row};
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::domain::state::{Event, Failure, Status, leads};
use rusqlite::{OptionalExtension, Transaction, named_params};

/// What `retry` did to a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retried {
    /// FAILED became PENDING, due now; only those who do not have the mail are asked again.
    Again,
    /// It was PENDING already and is due now.
    Hastened,
    /// It is in this state, which `retry` does not leave.
    Refused(String),
    Missing,
}

/// What `cancel` did to a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    Done,
    Refused(String),
    Missing,
}

const _: () = assert!(
    leads(Status::Failed, Event::Retry, Status::Pending)
        && leads(Status::Pending, Event::Cancel, Status::Failed)
);

impl Store {
    /// Gives FAILED mails another chance, with all their attempts, and makes PENDING ones due now.
    pub fn retry(&mut self, ids: &[MailId], now: i64) -> Result<Vec<(MailId, Retried)>, Fault> {
        self.one_by_one(ids, |tx, id, _| {
            let cancelled: Option<(Option<String>, i64)> = tx
                .prepare_cached(
                    "SELECT queue, finished_at FROM email_messages \
                     WHERE id = ?1 AND status = 'FAILED' AND failure = 'cancelled' AND finished_at IS NOT NULL",
                )?
                .query_row([id.0], |found| Ok((row::lossy(found, 0)?, found.get(1)?)))
                .optional()?;
            let again = tx
                .prepare_cached(
                    "UPDATE email_messages SET status = 'PENDING', attempt_count = 0, reap_count = 0, failure = NULL, \
                     refused = NULL, finished_at = NULL, next_attempt_at = :now, expires_at = NULL \
                     WHERE id = :id AND status = 'FAILED'",
                )?
                .execute(named_params! { ":now": now, ":id": id.0 })?;
            if again == 1 {
                if let Some((queue, at)) = cancelled {
                    recent::count_cancelled(tx, &queue.unwrap_or_default(), at, -1)?;
                }
                return Ok(Retried::Again);
            }
            let hastened = tx
                .prepare_cached(
                    "UPDATE email_messages SET next_attempt_at = :now WHERE id = :id AND status = 'PENDING'",
                )?
                .execute(named_params! { ":now": now, ":id": id.0 })?;
            if hastened == 1 {
                return Ok(Retried::Hastened);
            }
            Ok(state(tx, id)?.map_or(Retried::Missing, Retried::Refused))
        })
    }

    /// Takes PENDING mails out of the queue: FAILED `cancelled`.
    pub fn cancel(&mut self, ids: &[MailId], now: i64) -> Result<Vec<(MailId, Cancelled)>, Fault> {
        self.one_by_one(ids, |tx, id, counts| {
            let cancelled = Failure::Cancelled.word();
            let queue = tx
                .prepare_cached(
                    "UPDATE email_messages SET status = 'FAILED', failure = :failure, finished_at = :now \
                     WHERE id = :id AND status = 'PENDING' RETURNING queue",
                )?
                .query_row(
                    named_params! { ":failure": cancelled, ":now": now, ":id": id.0 },
                    |found| row::lossy(found, 0),
                )
                .optional()?;
            if let Some(queue) = queue {
                let queue = queue.unwrap_or_default();
                counts.add(Counter::Failed, &queue, cancelled, 1);
                recent::count_cancelled(tx, &queue, now, 1)?;
                return Ok(Cancelled::Done);
            }
            Ok(state(tx, id)?.map_or(Cancelled::Missing, Cancelled::Refused))
        })
    }

    fn one_by_one<T>(
        &mut self,
        ids: &[MailId],
        act: impl Fn(&Transaction<'_>, MailId, &mut Counts) -> Result<T, rusqlite::Error>,
    ) -> Result<Vec<(MailId, T)>, Fault> {
        let mut done = Vec::with_capacity(ids.len());
        for piece in ids.chunks(500) {
            done.extend(self.write(|tx| {
                let mut counts = Counts::default();
                let acted = piece.iter().map(|id| Ok((*id, act(tx, *id, &mut counts)?)));
                let acted = acted.collect::<Result<Vec<_>, rusqlite::Error>>()?;
                counts.write(tx)?;
                Ok(acted)
            })?);
            std::thread::sleep(super::COURTESY);
        }
        Ok(done)
    }
}

fn state(tx: &Transaction<'_>, id: MailId) -> Result<Option<String>, rusqlite::Error> {
    tx.prepare_cached("SELECT status FROM email_messages WHERE id = ?1")?
        .query_row([id.0], |row| row.get(0))
        .optional()
}
