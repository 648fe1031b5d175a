//! Group commit: one transaction records every outcome that is waiting, keeps the leases fresh, and claims what is
//! needed next. One fsync serves them all.

use super::claim::{self, Choice, Claimed};
use super::counter::Counts;
use super::rate::{self, Charge, Limited};
use super::record::{self, Recorded, Settled};
use super::{Store, error};
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::domain::state::{Event, Status, leads};
use rusqlite::{Transaction, named_params};
use std::sync::Arc;

/// What one transaction is to do.
pub struct Turn<'a> {
    pub settled: Vec<Settled>,
    /// Leases to keep: mails still in hand.
    pub renew: &'a [(MailId, Arc<str>)],
    /// Mails whose final dot is about to be sent, where a crash must be told from a refusal.
    pub mark: &'a [(MailId, Arc<str>)],
    /// What was handed over for the first time, of queues with a rate.
    pub charges: &'a [Charge],
    /// What `locked_by` says of newly claimed mails.
    pub holder: &'a Arc<str>,
    pub now: i64,
}

/// What the transaction did.
#[derive(Debug)]
pub struct Turned {
    /// In the order of `settled`.
    pub recorded: Vec<(Settled, Recorded)>,
    /// Mails whose lease was lost, and which nobody had taken: they are this run's again.
    pub retaken: Vec<MailId>,
    pub claimed: Vec<Claimed>,
    /// Queues with mails that are due, of which a rate lets none go now.
    pub limited: Vec<Limited>,
}

const RENEW: &str = "UPDATE email_messages SET locked_at = :now \
     WHERE id = :id AND status = 'SENDING' AND locked_by = :holder";

const _: () = assert!(leads(Status::Pending, Event::Claim, Status::Sending));

/// A run that was stopped, reaped and continued still has the mail in hand, maybe past its dot. Unless it takes the mail
/// back before anybody claims, itself included, it goes twice.
const RETAKE: &str = "UPDATE email_messages SET status = 'SENDING', locked_at = :now, locked_by = :holder \
     WHERE id = :id AND status = 'PENDING'";

const MARK: &str = "UPDATE email_messages SET dot_at = :now \
     WHERE id = :id AND status = 'SENDING' AND locked_by = :holder";

impl Store {
    /// Does `turn` in one transaction. `choose` is shown the queues with mails that are due and says what to claim.
    ///
    /// # Errors
    /// Nothing was done, and the outcomes come back to be recorded later. The flag tells whether trying again may help.
    pub fn turn(
        &mut self,
        turn: Turn<'_>,
        choose: &mut dyn FnMut(&[String]) -> Choice,
    ) -> Result<Turned, (Fault, bool, Vec<Settled>)> {
        let Turn { settled, renew, mark, charges, holder, now } = turn;
        let result = self.try_write(|tx| {
            let mut results = Vec::with_capacity(settled.len());
            let mut counts = Counts::default();
            for one in &settled {
                results.push(record::record(tx, one, &mut counts, now)?);
            }
            for one in charges {
                rate::charge(tx, one, now)?;
            }
            counts.write(tx)?;
            let mut retaken = touch(tx, RENEW, renew, now)?;
            let lost = touch(tx, RETAKE, &retaken, now)?;
            retaken.retain(|one| !lost.contains(one));
            touch(tx, MARK, mark, now)?;
            let choice = choose(&claim::open_queues(tx, now)?);
            let (claimed, limited) = claim::claim_all(tx, &choice, holder, now)?;
            Ok((results, retaken, claimed, limited))
        });
        match result {
            Ok((results, retaken, claimed, limited)) => Ok(Turned {
                recorded: settled.into_iter().zip(results).collect(),
                retaken: retaken.into_iter().map(|(id, _)| id).collect(),
                claimed,
                limited,
            }),
            Err(e) => Err((error::fault(&self.path, &e), error::is_passing(&e), settled)),
        }
    }

    /// The queues with a mail that is due at `now`, those that are held left out. Reads only.
    pub fn open_queues(&self, now: i64) -> Result<Vec<String>, Fault> {
        self.read(|conn| claim::open_queues(conn, now))
    }
}

/// Runs `sql` for each lease, and returns those that it changed nothing for.
fn touch(
    tx: &Transaction<'_>,
    sql: &str,
    leases: &[(MailId, Arc<str>)],
    now: i64,
) -> Result<Vec<(MailId, Arc<str>)>, rusqlite::Error> {
    let mut untouched = Vec::new();
    if leases.is_empty() {
        return Ok(untouched);
    }
    let mut statement = tx.prepare_cached(sql)?;
    for (id, holder) in leases {
        let values = named_params! { ":now": now, ":id": id.0, ":holder": holder };
        if statement.execute(values)? == 0 {
            untouched.push((*id, Arc::clone(holder)));
        }
    }
    Ok(untouched)
}
