//! What was tried with each mail: one row an attempt, written in the transaction of its outcome.

use super::Store;
use super::row;
use crate::domain::attempt::Attempt;
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use rusqlite::{Row, Transaction, named_params};

/// So many attempts of a mail are kept: the first, which tells how it began, and the last ones.
const KEPT: i64 = 20;

/// The first attempt, which for most mails is the only one, costs one look into the index and no answer.
const ADD_FIRST: &str = "INSERT INTO mailq_attempts (mail, attempt, at, ms, relay, outcome, phase, code, message, recipients) \
     VALUES (:mail, 1, :at, :ms, :relay, :outcome, :phase, :code, :message, :recipients) ON CONFLICT DO NOTHING";

const ADD_NEXT: &str = "INSERT INTO mailq_attempts (mail, attempt, at, ms, relay, outcome, phase, code, message, recipients) \
     VALUES (:mail, (SELECT max(attempt) + 1 FROM mailq_attempts WHERE mail = :mail), :at, :ms, :relay, \
     :outcome, :phase, :code, :message, :recipients) RETURNING attempt";

const FORGET: &str = "DELETE FROM mailq_attempts WHERE mail = ?1 AND attempt > 1 AND attempt <= ?2";

const HISTORY: &str = "SELECT attempt, at, ms, relay, outcome, phase, code, message, recipients FROM mailq_attempts \
     WHERE mail = ?1 ORDER BY attempt";

/// One attempt as the table has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The how manieth it was, counted from 1 over the life of the mail.
    pub attempt: i64,
    /// When it began, in milliseconds since 1970, and how many milliseconds it took.
    pub at: i64,
    pub ms: i64,
    pub relay: Option<String>,
    pub outcome: String,
    pub phase: Option<String>,
    pub code: Option<i64>,
    pub message: Option<String>,
    /// A JSON object, where the recipients were not told the same.
    pub recipients: Option<String>,
}

/// Adds one attempt to the history of `mail`.
pub(super) fn add(
    tx: &Transaction<'_>,
    mail: MailId,
    attempt: &Attempt,
) -> Result<(), rusqlite::Error> {
    let recipients = (!attempt.recipients.is_empty())
        .then(|| serde_json::to_string(&attempt.recipients).expect("two texts each"));
    let phase = attempt.phase.map(|phase| phase.word());
    let values = named_params! {
        ":mail": mail.0, ":at": attempt.at, ":ms": attempt.ms, ":relay": attempt.relay,
        ":outcome": attempt.verdict.word(), ":phase": phase, ":code": attempt.code,
        ":message": attempt.message, ":recipients": recipients,
    };
    if tx.prepare_cached(ADD_FIRST)?.execute(values)? == 1 {
        return Ok(());
    }
    let number: i64 = tx.prepare_cached(ADD_NEXT)?.query_row(values, |row| row.get(0))?;
    if number > KEPT {
        tx.prepare_cached(FORGET)?.execute([mail.0, number - KEPT + 1])?;
    }
    Ok(())
}

impl Store {
    /// The first and the last attempts of `mail`, the oldest first.
    pub fn history(&self, mail: MailId) -> Result<Vec<Past>, Fault> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(HISTORY)?;
            statement.query_map([mail.0], past)?.collect()
        })
    }
}

fn past(row: &Row<'_>) -> Result<Past, rusqlite::Error> {
    let number = |at| row.get_ref(at).map(|value| value.as_i64().unwrap_or_default());
    Ok(Past {
        attempt: number(0)?,
        at: number(1)?,
        ms: number(2)?,
        relay: row::lossy(row, 3)?,
        outcome: row::lossy(row, 4)?.unwrap_or_default(),
        phase: row::lossy(row, 5)?,
        code: row.get_ref(6)?.as_i64().ok(),
        message: row::lossy(row, 7)?,
        recipients: row::lossy(row, 8)?,
    })
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    [
        ("add an attempt", ADD_FIRST),
        ("add an attempt", ADD_NEXT),
        ("forget attempts", FORGET),
        ("history", HISTORY),
    ]
    .map(|(name, sql)| (name, sql.to_owned()))
    .to_vec()
}
