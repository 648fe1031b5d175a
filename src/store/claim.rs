//! PENDING becomes SENDING: a sender takes the mails that are due.

use super::rate::{self, Limited};
use super::{hold, row, suppress};
use crate::domain::message::{Mail, MailId};
use crate::domain::rate::Rate;
use crate::domain::state::{Event, Status, leads};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Transaction, named_params};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The right to record what becomes of one claimed mail. Only a claim makes one, and recording takes it by value, so
/// recording twice does not compile.
#[derive(Debug)]
pub struct Lease {
    id: MailId,
    holder: Arc<str>,
    queue: Arc<str>,
}

impl Lease {
    /// The mail that is held.
    pub fn id(&self) -> MailId {
        self.id
    }

    /// What `locked_by` says while the lease is held.
    pub fn holder(&self) -> &Arc<str> {
        &self.holder
    }

    /// The queue that it was claimed from.
    pub fn queue(&self) -> &str {
        &self.queue
    }
}

/// A claimed mail, or a row that cannot be read, and why.
#[derive(Debug)]
pub struct Claimed {
    pub lease: Lease,
    pub mail: Result<Mail, String>,
    /// All who are still to get it are suppressed.
    pub is_suppressed: bool,
}

/// What to claim from one queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arm {
    pub queue: String,
    /// Queues of one lane share its `limit`.
    pub lane: usize,
    pub limit: usize,
    /// The rates that hold for the queue.
    pub rates: Vec<Rate>,
}

/// What to claim, in order of priority, and how many mails in all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    pub arms: Vec<Arm>,
    pub budget: usize,
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

/// All of them in one statement: each statement on a table with triggers copies the pages it changes, to undo it alone.
const TAKE: &str = "UPDATE email_messages SET status = 'SENDING', locked_at = :now, locked_by = :holder, dot_at = NULL \
     WHERE id IN (SELECT value FROM json_each(:ids)) AND status = 'PENDING'";

/// Which of them were taken, where a trigger of the application moved some meanwhile.
const TAKEN: &str = "SELECT id FROM email_messages WHERE id IN (SELECT value FROM json_each(:ids)) \
     AND status = 'SENDING' AND locked_by = :holder";

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

/// Those of them that nobody holds.
pub(super) fn open_queues(conn: &Connection, now: i64) -> Result<Vec<String>, rusqlite::Error> {
    let mut due = due_queues(conn, now)?;
    if !due.is_empty() {
        let held = hold::all(conn)?;
        due.retain(|queue| held.iter().all(|one| one.queue != *queue));
    }
    Ok(due)
}

/// Claims what `choice` asks for. What a queue leaves of its lane's limit, and of the budget, is for the next one.
pub(super) fn claim_all(
    tx: &Transaction<'_>,
    choice: &Choice,
    holder: &Arc<str>,
    now: i64,
) -> Result<(Vec<Claimed>, Vec<Limited>), rusqlite::Error> {
    let (mut claimed, mut limited) = (Vec::new(), Vec::new());
    let mut of_lanes: HashMap<usize, usize> = HashMap::new();
    for arm in &choice.arms {
        let of_lane = of_lanes.entry(arm.lane).or_default();
        let left = arm.limit.saturating_sub(*of_lane);
        let mut limit = left.min(choice.budget.saturating_sub(claimed.len()));
        if limit > 0 && !arm.rates.is_empty() {
            match rate::allowance(tx, &arm.queue, &arm.rates, now)? {
                Ok(allowed) => limit = limit.min(allowed),
                Err(met) => {
                    limited.push(met);
                    continue;
                }
            }
            rate::open(tx, &arm.queue, &arm.rates, now)?;
        }
        if limit > 0 {
            let found = claim(tx, &arm.queue, limit, holder, now)?;
            *of_lane += found.len();
            claimed.extend(found);
        }
    }
    suppress::leave_out(tx, &mut claimed)?;
    Ok((claimed, limited))
}

/// Claims mails of `queue` that are due at `now`, oldest first.
fn claim(
    tx: &Transaction<'_>,
    queue: &str,
    limit: usize,
    holder: &Arc<str>,
    now: i64,
) -> Result<Vec<Claimed>, rusqlite::Error> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut due = tx.prepare_cached(&due_sql())?;
    let found =
        due.query_map(named_params! { ":now": now, ":queue": queue, ":limit": limit }, row::mail)?;
    let mut found: Vec<_> = found.collect::<Result<_, _>>()?;
    let ids = row::list(found.iter().map(|(id, _)| *id));
    let values = named_params! { ":now": now, ":holder": holder, ":ids": ids };
    if tx.prepare_cached(TAKE)?.execute(values)? != found.len() {
        let mut taken = tx.prepare_cached(TAKEN)?;
        let taken = taken
            .query_map(named_params! { ":ids": ids, ":holder": holder }, |row| row.get(0))?
            .collect::<Result<HashSet<i64>, _>>()?;
        found.retain(|(id, _)| taken.contains(&id.0));
    }
    let queue: Arc<str> = Arc::from(queue);
    let claimed = found.into_iter().map(|(id, mail)| {
        let lease = Lease { id, holder: Arc::clone(holder), queue: Arc::clone(&queue) };
        Claimed { lease, mail, is_suppressed: false }
    });
    Ok(claimed.collect())
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
        ("taken", TAKEN.to_owned()),
    ]
}
