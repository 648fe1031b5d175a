//! Finished mails are deleted when their time in the archive is over. Never PENDING, never SENDING.

use super::counter::{Counter, Counts};
use super::{Store, row};
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::domain::state::{Event, Next, Status, next};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Transaction, named_params};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

/// Is given the rows of a transaction as JSON objects before they are deleted; returns when they are on disk.
pub type Archive<'a> = &'a mut dyn FnMut(&[Value]) -> Result<(), Fault>;

/// What to delete, and how gently.
pub struct Pruning<'a> {
    pub cuts: &'a [Cut],
    pub batch_size: usize,
    /// How long to leave others alone after each transaction, at least; as long as it took, if that is longer.
    pub pause: Duration,
    pub archive: Option<Archive<'a>>,
    pub dry_run: bool,
    /// Is told how many more mails are gone.
    pub gone: &'a dyn Fn(u64),
}

/// Which mails go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// SENT or FAILED.
    pub status: Status,
    /// Those that finished before this moment, in milliseconds since 1970.
    pub before: i64,
    /// Of this queue alone; of all others where it is `None`.
    pub queue: Option<String>,
    /// The queues that have a cut of their own.
    pub apart: Vec<String>,
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
    find: &'static str,
}

const SENT: Statements = Statements {
    status: Status::Sent,
    stamp: "UPDATE email_messages SET finished_at = coalesce(sent_at, next_attempt_at) WHERE status = 'SENT' \
            AND id IN (SELECT id FROM email_messages WHERE status = 'SENT' AND finished_at IS NULL LIMIT :limit)",
    count: "SELECT count(*) FROM email_messages WHERE status = 'SENT' AND finished_at < :before \
            AND (queue = :queue OR :queue IS NULL AND instr(:apart, '|' || queue || '|') = 0)",
    find: "SELECT id, finished_at FROM email_messages WHERE status = 'SENT' AND finished_at >= :from \
           AND finished_at < :before AND (queue = :queue OR :queue IS NULL AND instr(:apart, '|' || queue || '|') = 0) \
           ORDER BY finished_at, id LIMIT :limit",
};

const FAILED: Statements = Statements {
    status: Status::Failed,
    stamp: "UPDATE email_messages SET finished_at = coalesce(sent_at, next_attempt_at) WHERE status = 'FAILED' \
            AND id IN (SELECT id FROM email_messages WHERE status = 'FAILED' AND finished_at IS NULL LIMIT :limit)",
    count: "SELECT count(*) FROM email_messages WHERE status = 'FAILED' AND finished_at < :before \
            AND (queue = :queue OR :queue IS NULL AND instr(:apart, '|' || queue || '|') = 0)",
    find: "SELECT id, finished_at FROM email_messages WHERE status = 'FAILED' AND finished_at >= :from \
           AND finished_at < :before AND (queue = :queue OR :queue IS NULL AND instr(:apart, '|' || queue || '|') = 0) \
           ORDER BY finished_at, id LIMIT :limit",
};

const WHOLE: &str = "SELECT * FROM email_messages WHERE id = ?1";

/// All of a transaction in one statement: each statement on a table with triggers copies the pages it changes, to undo it
/// alone.
const DELETE: &str = "DELETE FROM email_messages WHERE id IN (SELECT value FROM json_each(?1))";

const _: () = assert!(
    matches!(next(Status::Sent, Event::Prune), Next::Gone)
        && matches!(next(Status::Failed, Event::Prune), Next::Gone)
);

impl Store {
    /// Deletes what `pruning` asks for, in small transactions.
    pub fn prune(&mut self, mut pruning: Pruning<'_>) -> Result<Pruned, Fault> {
        let mut pruned = Pruned::default();
        for cut in pruning.cuts {
            let (statements, total) = match cut.status {
                Status::Sent => (&SENT, &mut pruned.sent),
                Status::Failed => (&FAILED, &mut pruned.failed),
                Status::Pending | Status::Sending => continue,
            };
            if pruning.dry_run {
                let values = named_params! { ":before": cut.before, ":queue": cut.queue, ":apart": cut.apart() };
                let count = self.read(|conn| {
                    conn.prepare_cached(statements.count)?
                        .query_row(values, |row| row.get::<_, i64>(0))
                })?;
                *total += count.unsigned_abs();
                continue;
            }
            self.in_pieces(|tx| {
                tx.prepare_cached(statements.stamp)?.execute(named_params! { ":limit": 500 })
            })?;
            // What stays, in a queue with a longer time, is passed once.
            let mut from = i64::MIN;
            loop {
                let begun = Instant::now();
                let gone = self.prune_piece(statements, cut, &mut from, &mut pruning)?;
                *total += gone as u64;
                (pruning.gone)(gone as u64);
                if gone < pruning.batch_size.max(1) {
                    break;
                }
                // Who waits as SQLite does looks again after 1, 3 and 8 ms. A pause longer than the 2 ms between the first
                // two looks is found by one of them.
                thread::sleep(pruning.pause.max(begun.elapsed()));
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
        cut: &Cut,
        from: &mut i64,
        pruning: &mut Pruning<'_>,
    ) -> Result<usize, Fault> {
        let limit = i64::try_from(pruning.batch_size.max(1)).unwrap_or(i64::MAX);
        let mut trouble = None;
        let result = self.write(|tx| {
            let values = named_params! {
                ":from": *from, ":before": cut.before, ":queue": cut.queue, ":apart": cut.apart(), ":limit": limit,
            };
            let found: Vec<(i64, i64)> = tx
                .prepare_cached(statements.find)?
                .query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            let Some(&(_, last)) = found.last() else { return Ok(0) };
            *from = last;
            if let Some(archive) = &mut pruning.archive
                && let Err(fault) = archive(&whole_rows(tx, &found)?)
            {
                trouble = Some(fault);
                return Err(rusqlite::Error::QueryReturnedNoRows);
            }
            let ids = row::list(found.iter().map(|(id, _)| MailId(*id)));
            tx.prepare_cached(DELETE)?.execute([ids])?;
            let mut counts = Counts::default();
            let gone = i64::try_from(found.len()).unwrap_or(i64::MAX);
            counts.add(Counter::Pruned, "", statements.status.word(), gone);
            counts.write(tx)?;
            Ok(found.len())
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

impl Cut {
    /// The queues with a cut of their own, each between bars, which no name of a queue has.
    fn apart(&self) -> String {
        format!("|{}|", self.apart.join("|"))
    }
}

fn whole_rows(tx: &Transaction<'_>, found: &[(i64, i64)]) -> Result<Vec<Value>, rusqlite::Error> {
    let mut statement = tx.prepare_cached(WHOLE)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut whole = Vec::new();
    for (id, _) in found {
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            whole.push(whole_row(row, &names)?);
        }
    }
    Ok(whole)
}

fn whole_row(row: &Row<'_>, names: &[String]) -> Result<Value, rusqlite::Error> {
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
    Ok(Value::Object(object))
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [&SENT, &FAILED]
        .iter()
        .flat_map(|one| [one.stamp, one.count, one.find])
        .chain([WHOLE, DELETE])
        .map(|sql| ("prune", sql.to_owned()))
        .collect()
}
