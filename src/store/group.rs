//! How far the mails of a group are.

use super::{Store, row};
use crate::domain::fault::Fault;
use rusqlite::{Connection, OptionalExtension, named_params};
use std::collections::BTreeMap;

/// The mails of a group, by what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    pub waiting: u64,
    pub sending: u64,
    pub sent: u64,
    pub failed: u64,
    /// Why they failed.
    pub failures: BTreeMap<String, u64>,
    /// How many of them finished in the last [`LATELY_MS`], and when the first of these did.
    pub lately: u64,
    pub lately_since: Option<i64>,
    /// The queue of one that waits.
    pub queue: Option<String>,
}

/// What counts as the present speed.
pub const LATELY_MS: i64 = 10 * 60_000;

const BY_STATUS: &str =
    "SELECT status, count(*) FROM email_messages WHERE group_name = :group GROUP BY status";

const FAILURES: &str = "SELECT failure, count(*) FROM email_messages \
     WHERE group_name = :group AND status = 'FAILED' GROUP BY failure";

const LATELY: &str = "SELECT count(*), min(finished_at) FROM email_messages INDEXED BY email_messages_sent \
     WHERE status = 'SENT' AND finished_at > :since AND group_name = :group";

const WAITS_IN: &str =
    "SELECT queue FROM email_messages WHERE group_name = :group AND status = 'PENDING' LIMIT 1";

impl Store {
    /// How far the mails of `group` are at `now`.
    pub fn progress(&self, group: &str, now: i64) -> Result<Progress, Fault> {
        self.read(|conn| {
            let mut progress = Progress::default();
            for (status, mails) in counts(conn, BY_STATUS, group)? {
                match status.as_str() {
                    "PENDING" => progress.waiting = mails,
                    "SENDING" => progress.sending = mails,
                    "SENT" => progress.sent = mails,
                    _ => progress.failed = mails,
                }
            }
            progress.failures = counts(conn, FAILURES, group)?.into_iter().collect();
            let since = now.saturating_sub(LATELY_MS);
            let (lately, first): (i64, Option<i64>) = conn.query_row(
                LATELY,
                named_params! { ":group": group, ":since": since },
                |found| Ok((found.get(0)?, found.get(1)?)),
            )?;
            (progress.lately, progress.lately_since) = (lately.unsigned_abs(), first);
            progress.queue = conn
                .query_row(WAITS_IN, named_params! { ":group": group }, |found| {
                    row::lossy(found, 0)
                })
                .optional()?
                .flatten();
            Ok(progress)
        })
    }
}

fn counts(
    conn: &Connection,
    sql: &str,
    group: &str,
) -> Result<Vec<(String, u64)>, rusqlite::Error> {
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map(named_params! { ":group": group }, |found| {
        let mails: i64 = found.get(1)?;
        Ok((row::lossy(found, 0)?.unwrap_or_default(), mails.unsigned_abs()))
    })?;
    rows.collect()
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [
        ("group by status", BY_STATUS),
        ("group's failures", FAILURES),
        ("group lately", LATELY),
        ("group's queue", WAITS_IN),
    ]
    .map(|(name, sql)| (name, sql.to_owned()))
    .to_vec()
}
