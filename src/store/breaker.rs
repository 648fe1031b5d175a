//! The breaker: until when a smarthost is left alone, and why.

use super::{Store, error};
use crate::domain::fault::Fault;
use crate::domain::retry;
use rusqlite::{Connection, OptionalExtension, named_params};
use std::time::Duration;

/// One road that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    /// The smarthost, `host:port`.
    pub scope: String,
    pub reason: String,
    /// The first outage of this row of outages, in milliseconds since 1970.
    pub since: i64,
    pub until: i64,
    /// The last outage.
    pub tripped_at: i64,
    /// How many outages in a row.
    pub outages: u32,
}

impl Breaker {
    /// Whether the smarthost is left alone at `now`. One that was tripped in the future was set by a clock that has
    /// stepped back since, and counts as closed.
    pub fn is_open(&self, now: i64) -> bool {
        self.tripped_at <= now && now < self.until
    }

    /// The reason, without the smarthost's name that it begins with.
    pub fn words(&self) -> &str {
        self.reason.strip_prefix(&self.scope).map_or(self.reason.as_str(), str::trim_start)
    }
}

const COLUMNS: &str = "SELECT scope, reason, since, until, tripped_at, outages FROM mailq_breaker";

impl Store {
    /// All breakers, closed ones that still count outages included.
    pub fn breakers(&self) -> Result<Vec<Breaker>, Fault> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&format!("{COLUMNS} ORDER BY scope"))?;
            let rows = statement.query_map([], breaker)?;
            rows.collect()
        })
    }

    /// The breaker of `scope` if it is open at `now`.
    pub fn open_breaker(&self, scope: &str, now: i64) -> Result<Option<Breaker>, Fault> {
        let found = find(&self.conn, scope).map_err(|e| error::fault(&self.path, &e))?;
        Ok(found.filter(|one| one.is_open(now)))
    }

    /// Opens the breaker of `scope`, for longer each time in a row, or for as long as the server wishes.
    pub fn trip(
        &mut self,
        scope: &str,
        reason: &str,
        wait: Option<Duration>,
        now: i64,
        draw: f64,
    ) -> Result<Breaker, Fault> {
        self.write(|tx| {
            let before = find(tx, scope)?;
            let outages = before.as_ref().map_or(1, |one| one.outages.saturating_add(1));
            let one = Breaker {
                scope: scope.to_owned(),
                reason: crate::domain::fault::one_line(reason, 500),
                since: before.map_or(now, |one| one.since.min(now)),
                until: now.saturating_add(retry::break_ms(outages, wait, draw)),
                tripped_at: now,
                outages,
            };
            tx.prepare_cached(
                "INSERT INTO mailq_breaker (scope, reason, since, until, tripped_at, outages) \
                 VALUES (:scope, :reason, :since, :until, :tripped_at, :outages) ON CONFLICT (scope) DO UPDATE SET \
                 reason = excluded.reason, since = excluded.since, until = excluded.until, \
                 tripped_at = excluded.tripped_at, outages = excluded.outages",
            )?
            .execute(named_params! {
                ":scope": one.scope, ":reason": one.reason, ":since": one.since, ":until": one.until,
                ":tripped_at": one.tripped_at, ":outages": one.outages,
            })?;
            Ok(one)
        })
    }

    /// Closes the breaker of `scope`: the road works again.
    pub fn close_breaker(&mut self, scope: &str) -> Result<(), Fault> {
        if find(&self.conn, scope).map_err(|e| error::fault(&self.path, &e))?.is_none() {
            return Ok(());
        }
        self.write(|tx| {
            tx.prepare_cached("DELETE FROM mailq_breaker WHERE scope = ?1")?.execute([scope])?;
            Ok(())
        })
    }
}

fn find(conn: &Connection, scope: &str) -> Result<Option<Breaker>, rusqlite::Error> {
    conn.prepare_cached(&format!("{COLUMNS} WHERE scope = ?1"))?
        .query_row([scope], breaker)
        .optional()
}

fn breaker(row: &rusqlite::Row<'_>) -> Result<Breaker, rusqlite::Error> {
    Ok(Breaker {
        scope: row.get(0)?,
        reason: row.get(1)?,
        since: row.get(2)?,
        until: row.get(3)?,
        tripped_at: row.get(4)?,
        outages: row.get(5)?,
    })
}
