//! Looking at mails without touching them.

use super::Store;
use super::row;
use crate::domain::fault::Fault;
use crate::domain::message::{MailId, Record};
use crate::domain::state::Status;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};

/// A mail, or why its row cannot be read.
pub type Found = (MailId, Result<Record, String>);

/// Which mails to look at. Empty lists ask for all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub queues: Vec<String>,
    pub failures: Vec<String>,
    /// A part of an address in To, Cc or Bcc.
    pub recipient: Option<String>,
    /// Only mails created at or after this, in milliseconds since 1970.
    pub created_since: Option<i64>,
    /// Only mails that are due at this, in milliseconds since 1970.
    pub due_at: Option<i64>,
    /// The newest so many, oldest first.
    pub limit: Option<u64>,
}

impl Store {
    /// The mails that `filter` asks for, oldest first; a row that cannot be read is told in words.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Found>, Fault> {
        let (conditions, values) = conditions(filter);
        let mut sql = format!(
            "SELECT {}, {} FROM email_messages WHERE {conditions} ORDER BY id DESC",
            row::MAIL_COLUMNS,
            row::RECORD_COLUMNS
        );
        if let Some(limit) = filter.limit {
            sql.push_str(&format!(" LIMIT {limit}"));
        }
        let mut found = self.read(|conn| {
            let mut statement = conn.prepare(&sql)?;
            let rows = statement.query_map(params_from_iter(values), row::record)?;
            rows.collect::<Result<Vec<_>, _>>()
        })?;
        found.reverse();
        Ok(found)
    }

    /// One mail, or `None`.
    pub fn show(&self, id: MailId) -> Result<Option<Result<Record, String>>, Fault> {
        let sql = format!(
            "SELECT {}, {} FROM email_messages WHERE id = ?1",
            row::MAIL_COLUMNS,
            row::RECORD_COLUMNS
        );
        self.read(|conn| conn.prepare_cached(&sql)?.query_row([id.0], row::record).optional())
            .map(|found| found.map(|(_, record)| record))
    }
}

fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut parts = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut one_of = |column: &str, words: Vec<String>| {
        if !words.is_empty() {
            let marks = vec!["?"; words.len()].join(", ");
            parts.push(format!("{column} IN ({marks})"));
            values.extend(words.into_iter().map(Value::Text));
        }
    };
    one_of("status", filter.statuses.iter().map(|status| status.word().to_owned()).collect());
    one_of("queue", filter.queues.clone());
    one_of("failure", filter.failures.clone());
    if let Some(part) = &filter.recipient {
        parts.push(
            "instr(lower(to_addrs || ',' || cc_addrs || ',' || bcc_addrs), ?) > 0".to_owned(),
        );
        values.push(Value::Text(part.to_lowercase()));
    }
    if let Some(since) = filter.created_since {
        parts.push("created_at >= ?".to_owned());
        values.push(Value::Integer(since));
    }
    if let Some(due_at) = filter.due_at {
        parts.push("next_attempt_at <= ?".to_owned());
        values.push(Value::Integer(due_at));
    }
    (parts.join(" AND "), values)
}
