//! Queues that an admin holds: nothing of them is claimed until they are released.

use super::{Store, row};
use crate::domain::fault::Fault;
use rusqlite::{Connection, params};

/// A queue that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub queue: String,
    /// In milliseconds since 1970.
    pub since: i64,
    pub reason: Option<String>,
}

impl Store {
    /// The queues that are held, by name.
    pub fn held(&self) -> Result<Vec<Held>, Fault> {
        self.read(all)
    }

    /// Those of them that keep mails back which are due at `now`.
    pub fn held_back(&self, now: i64) -> Result<Vec<Held>, Fault> {
        self.read(|conn| {
            let mut held = all(conn)?;
            if !held.is_empty() {
                let due = super::claim::due_queues(conn, now)?;
                held.retain(|one| due.contains(&one.queue));
            }
            Ok(held)
        })
    }

    /// Holds `queue`, which need not have a mail yet. Returns whether it was held before; then it is held for the new
    /// reason, if there is one.
    pub fn hold(&mut self, queue: &str, reason: Option<&str>, now: i64) -> Result<bool, Fault> {
        self.write(|tx| {
            let held = tx.execute(
                "UPDATE mailq_held SET reason = coalesce(?2, reason) WHERE queue = ?1",
                params![queue, reason],
            )?;
            if held == 0 {
                tx.execute(
                    "INSERT INTO mailq_held (queue, since, reason) VALUES (?1, ?2, ?3)",
                    params![queue, now, reason],
                )?;
            }
            Ok(held == 1)
        })
    }

    /// Releases `queue`. Returns whether it was held.
    pub fn release(&mut self, queue: &str) -> Result<bool, Fault> {
        self.write(|tx| Ok(tx.execute("DELETE FROM mailq_held WHERE queue = ?1", [queue])? == 1))
    }
}

pub(super) fn all(conn: &Connection) -> Result<Vec<Held>, rusqlite::Error> {
    let mut statement =
        conn.prepare_cached("SELECT queue, since, reason FROM mailq_held ORDER BY queue")?;
    let held = statement.query_map([], |found| {
        Ok(Held {
            queue: row::lossy(found, 0)?.unwrap_or_default(),
            since: found.get_ref(1)?.as_i64().unwrap_or_default(),
            reason: row::lossy(found, 2)?,
        })
    })?;
    held.collect()
}
