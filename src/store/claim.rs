//! PENDING becomes SENDING: a sender takes the mails that are due.

use super::row;
use crate::domain::message::{Mail, MailId};
use crate::domain::state::{Event, Status, leads};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Transaction, named_params};
use std::sync::Arc;

/// The right to record what becomes of one claimed mail. Only a claim makes one, and recording takes it by value, so
/// recording twice does not compile.
#[derive(Debug)]
pub struct Lease {
    id: MailId,
    holder: Arc<str>,
}

impl Lease {
    pub(super) fn new(id: MailId, holder: Arc<str>) -> Lease {
        Lease { id, holder }
    }

    /// The mail that is held.
    pub fn id(&self) -> MailId {
        self.id
    }

    /// What `locked_by` says while the lease is held.
    pub fn holder(&self) -> &Arc<str> {
        &self.holder
    }
}

/// A claimed mail, or a row that cannot be read, and why.
#[derive(Debug)]
pub struct Claimed {
    pub lease: Lease,
    pub mail: Result<Mail, String>,
}

/// How many mails to claim from which queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    pub queue: String,
    pub limit: usize,
}

/// The next queue after `?1` that has a PENDING mail: one look into the index each, however many mails wait.
const NEXT_QUEUE: &str =
    "SELECT min(queue) FROM email_messages WHERE status = 'PENDING' AND queue > CAST(?1 AS TEXT)";

/// The moment when the first mail of a queue is due.
const FIRST_DUE: &str =
    "SELECT min(next_attempt_at) FROM email_messages WHERE status = 'PENDING' AND queue = ?1";

const _: () = assert!(leads(Status::Pending, Event::Claim, Status::Sending));

const DUE: &str = "FROM email_messages WHERE status = 'PENDING' AND queue = :queue AND next_attempt_at <= :now \
     ORDER BY next_attempt_at, id LIMIT :limit";

/// One statement that finds, takes and returns them would keep two tables of its own meanwhile, and take half as long
/// again.
const TAKE: &str = "UPDATE email_messages SET status = 'SENDING', locked_at = :now, locked_by = :holder, dot_at = NULL \
     WHERE id = :id AND status = 'PENDING'";

/// The queues with a PENDING mail, in alphabetical order.
pub(super) fn queues(conn: &Connection) -> Result<Vec<String>, rusqlite::Error> {
    let mut next = conn.prepare_cached(NEXT_QUEUE)?;
    let (mut all, mut after) = (Vec::new(), Vec::new());
    // A name that is no UTF-8 (only past the CHECKs) is no queue that anybody can ask for.
    while let Some(queue) = next.query_row([&after], |row| match row.get_ref(0)? {
        ValueRef::Text(bytes) => Ok(Some(bytes.to_vec())),
        _ => Ok(None),
    })? {
        all.extend(String::from_utf8(queue.clone()).ok());
        after = queue;
    }
    Ok(all)
}

/// Those of them with a mail that is due at `now`.
pub(super) fn due_queues(conn: &Connection, now: i64) -> Result<Vec<String>, rusqlite::Error> {
    let mut first_due = conn.prepare_cached(FIRST_DUE)?;
    let mut due = Vec::new();
    for queue in queues(conn)? {
        // Anything but a number (only past the CHECKs) is never due, and keeps no other mail waiting.
        let first = first_due.query_row([&queue], |row| Ok(row.get_ref(0)?.as_i64().ok()))?;
        if first.is_some_and(|first| first <= now) {
            due.push(queue);
        }
    }
    Ok(due)
}

/// Claims the mails of `arm` that are due at `now`, oldest first.
pub(super) fn claim(
    tx: &Transaction<'_>,
    arm: &Arm,
    holder: &Arc<str>,
    now: i64,
) -> Result<Vec<Claimed>, rusqlite::Error> {
    let limit = i64::try_from(arm.limit).unwrap_or(i64::MAX);
    let mut due = tx.prepare_cached(&due_sql())?;
    let found = due.query_map(
        named_params! { ":now": now, ":queue": arm.queue, ":limit": limit },
        row::mail,
    )?;
    let found: Vec<_> = found.collect::<Result<_, _>>()?;
    let mut take = tx.prepare_cached(TAKE)?;
    let mut claimed = Vec::with_capacity(found.len());
    for (id, mail) in found {
        let values = named_params! { ":now": now, ":holder": holder, ":id": id.0 };
        // A trigger of the application may have moved it meanwhile.
        if take.execute(values)? == 1 {
            claimed.push(Claimed { lease: Lease::new(id, Arc::clone(holder)), mail });
        }
    }
    Ok(claimed)
}

fn due_sql() -> String {
    format!("SELECT {} {DUE}", row::MAIL_COLUMNS)
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    vec![
        ("next queue", NEXT_QUEUE.to_owned()),
        ("first due", FIRST_DUE.to_owned()),
        ("due", due_sql()),
        ("take", TAKE.to_owned()),
    ]
}
