//! Finished mails are deleted when their time in the archive is over. Never PENDING, never SENDING.

use super::Store;
use super::counter::{Counter, Counts};
use crate::domain::fault::Fault;
use crate::domain::state::{Event, Next, Status, next};
use rusqlite::types::ValueRef;
use rusqlite::{Transaction, named_params};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::time::Duration;

/// Is given the rows of a transaction as JSON objects before they are deleted; returns when they are on disk.
pub type Archive<'a> = &'a mut dyn FnMut(&[Value]) -> Result<(), Fault>;

/// What to delete, and how gently.
pub struct Pruning<'a> {
    /// Finished states (SENT, FAILED), each with the moment before which its mails go, in milliseconds since 1970.
    pub before: &'a [(Status, i64)],
    pub batch_size: usize,
    /// How long to leave others alone after each transaction.
    pub pause: Duration,
    pub archive: Option<Archive<'a>>,
    pub dry_run: bool,
    /// Is told how many more mails are gone.
    pub gone: &'a dyn Fn(u64),
}

/// How many mails of each state are gone, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    pub sent: u64,
    pub failed: u64,
}

/// The statements for one finished state; the predicate of its index stands in each.
struct Statements {
    status: Status,
    /// Rows that another program finished without saying when.
    stamp: &'static str,
    count: &'static str,
    select: &'static str,
    delete: &'static str,
}

const SENT: Statements = Statements {
    status: Status::Sent,
    stamp: "UPDATE email_messages SET finished_at = coalesce(sent_at, next_attempt_at) WHERE status = 'SENT' \
            AND id IN (SELECT id FROM email_messages WHERE status = 'SENT' AND finished_at IS NULL LIMIT :limit)",
    count: "SELECT count(*) FROM email_messages WHERE status = 'SENT' AND finished_at < :before",
    select: "SELECT * FROM email_messages WHERE status = 'SENT' AND finished_at < :before \
             ORDER BY finished_at, id LIMIT :limit",
    delete: "DELETE FROM email_messages WHERE status = 'SENT' AND id IN (SELECT id FROM email_messages \
             WHERE status = 'SENT' AND finished_at < :before ORDER BY finished_at, id LIMIT :limit)",
};

const FAILED: Statements = Statements {
    status: Status::Failed,
    stamp: "UPDATE email_messages SET finished_at = coalesce(sent_at, next_attempt_at) WHERE status = 'FAILED' \
            AND id IN (SELECT id FROM email_messages WHERE status = 'FAILED' AND finished_at IS NULL LIMIT :limit)",
    count: "SELECT count(*) FROM email_messages WHERE status = 'FAILED' AND finished_at < :before",
    select: "SELECT * FROM email_messages WHERE status = 'FAILED' AND finished_at < :before \
             ORDER BY finished_at, id LIMIT :limit",
    delete: "DELETE FROM email_messages WHERE status = 'FAILED' AND id IN (SELECT id FROM email_messages \
             WHERE status = 'FAILED' AND finished_at < :before ORDER BY finished_at, id LIMIT :limit)",
};

const _: () = assert!(
    matches!(next(Status::Sent, Event::Prune), Next::Gone)
        && matches!(next(Status::Failed, Event::Prune), Next::Gone)
);

impl Store {
    /// Deletes what `pruning` asks for, in small transactions.
    pub fn prune(&mut self, mut pruning: Pruning<'_>) -> Result<Pruned, Fault> {
        let mut pruned = Pruned::default();
        for &(status, before) in pruning.before {
            let (statements, total) = match status {
                Status::Sent => (&SENT, &mut pruned.sent),
                Status::Failed => (&FAILED, &mut pruned.failed),
                Status::Pending | Status::Sending => continue,
            };
            if pruning.dry_run {
                *total += self
                    .read(|conn| {
                        conn.prepare_cached(statements.count)?
                            .query_row(named_params! { ":before": before }, |row| {
                                row.get::<_, i64>(0)
                            })
                    })?
                    .unsigned_abs();
                continue;
            }
            self.in_pieces(|tx| {
                tx.prepare_cached(statements.stamp)?.execute(named_params! { ":limit": 500 })
            })?;
            loop {
                let gone = self.prune_piece(statements, before, &mut pruning)?;
                *total += gone as u64;
                (pruning.gone)(gone as u64);
                if gone < pruning.batch_size.max(1) {
                    break;
                }
                std::thread::sleep(pruning.pause);
            }
        }
        if !pruning.dry_run {
            self.tidy_tally()?;
        }
        Ok(pruned)
    }

    fn prune_piece(
        &mut self,
        statements: &Statements,
        before: i64,
        pruning: &mut Pruning<'_>,
    ) -> Result<usize, Fault> {
        let limit = i64::try_from(pruning.batch_size.max(1)).unwrap_or(i64::MAX);
        let mut trouble = None;
        let result = self.write(|tx| {
            if let Some(archive) = &mut pruning.archive {
                let rows = whole_rows(tx, statements.select, before, limit)?;
                if let Err(fault) = if rows.is_empty() { Ok(()) } else { archive(&rows) } {
                    trouble = Some(fault);
                    return Err(rusqlite::Error::QueryReturnedNoRows);
                }
            }
            let gone = tx
                .prepare_cached(statements.delete)?
                .execute(named_params! { ":before": before, ":limit": limit })?;
            if gone > 0 {
                let mut counts = Counts::default();
                let gone = i64::try_from(gone).unwrap_or(i64::MAX);
                counts.add(Counter::Pruned, "", statements.status.word(), gone);
                counts.write(tx)?;
            }
            Ok(gone)
        });
        match trouble {
            Some(fault) => Err(fault),
            None => result,
        }
    }

    /// The content hashes of the spooled files that some mail still refers to.
    pub fn spooled_files(&self) -> Result<HashSet<String>, Fault> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT attachments FROM email_messages WHERE attachments <> '[]'",
            )?;
            let mut rows = statement.query([])?;
            let mut files = HashSet::new();
            while let Some(row) = rows.next()? {
                let Ok(text) = row.get_ref(0)?.as_str() else {
                    continue;
                };
                // A reference is found in any text, also in one that is no list of ours.
                for (at, scheme) in text.match_indices(crate::domain::message::SPOOL_SCHEME) {
                    let hash =
                        text[at + scheme.len()..].chars().take_while(char::is_ascii_hexdigit);
                    files.insert(hash.collect());
                }
            }
            Ok(files)
        })
    }
}

fn whole_rows(
    tx: &Transaction<'_>,
    sql: &str,
    before: i64,
    limit: i64,
) -> Result<Vec<Value>, rusqlite::Error> {
    let mut statement = tx.prepare_cached(sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query(named_params! { ":before": before, ":limit": limit })?;
    let mut whole = Vec::new();
    while let Some(row) = rows.next()? {
        let mut object = Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => json!(number),
                ValueRef::Real(number) => json!(number),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    Value::String(String::from_utf8_lossy(bytes).into_owned())
                }
            };
            object.insert(name.clone(), value);
        }
        whole.push(Value::Object(object));
    }
    Ok(whole)
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [&SENT, &FAILED]
        .iter()
        .flat_map(|one| [one.stamp, one.count, one.select, one.delete])
        .map(|sql| ("prune", sql.to_owned()))
        .collect()
}
