//! Looking at mails without touching them.

use super::Store;
use super::row;
use crate::domain::fault::Fault;
use crate::domain::message::{MailId, Record};
use crate::domain::state::Status;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};
use std::fmt::Write as _;

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
    pub templates: Vec<String>,
    pub keys: Vec<String>,
    pub groups: Vec<String>,
    /// Only mails created at or after this, in milliseconds since 1970.
    pub created_since: Option<i64>,
    /// Only mails created before this.
    pub created_until: Option<i64>,
    /// Only mails that are due at this, in milliseconds since 1970.
    pub due_at: Option<i64>,
    pub order: Order,
    /// The last so many in this order.
    pub limit: Option<u64>,
}

/// What mails are listed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    Id,
    Due,
    Finished,
    Attempts,
}

impl Order {
    fn sql(self) -> &'static str {
        match self {
            Order::Id => "id DESC",
            Order::Due => "next_attempt_at DESC, id DESC",
            Order::Finished => "finished_at DESC, id DESC",
            Order::Attempts => "attempt_count DESC, id DESC",
        }
    }
}

/// What a histogram is made of: one mail's age and what it is counted by.
pub struct Shape {
    pub queue: String,
    pub template: String,
    /// The three address lists.
    pub recipients: [String; 3],
    pub created_at: i64,
}

impl Store {
    /// The ids of the mails that `filter` asks for, in its order.
    pub fn ids(&self, filter: &Filter) -> Result<Vec<MailId>, Fault> {
        let (sql, values) = select("id", filter);
        let mut ids = self.read(|conn| {
            let mut statement = conn.prepare(&sql)?;
            let rows =
                statement.query_map(params_from_iter(values), |row| row.get(0).map(MailId))?;
            rows.collect::<Result<Vec<_>, _>>()
        })?;
        ids.reverse();
        Ok(ids)
    }

    /// Shows `look` the shape of each mail that `filter` asks for.
    pub fn shapes(&self, filter: &Filter, look: &mut dyn FnMut(Shape)) -> Result<(), Fault> {
        let columns = "queue, template, to_addrs, cc_addrs, bcc_addrs, created_at";
        let (sql, values) = select(columns, filter);
        self.read(|conn| {
            let mut statement = conn.prepare(&sql)?;
            let mut rows = statement.query(params_from_iter(values))?;
            while let Some(found) = rows.next()? {
                let text = |at| row::lossy(found, at).map(Option::unwrap_or_default);
                look(Shape {
                    queue: text(0)?,
                    template: text(1)?,
                    recipients: [text(2)?, text(3)?, text(4)?],
                    created_at: found.get_ref(5)?.as_i64().unwrap_or_default(),
                });
            }
            Ok(())
        })
    }

    /// The states of these mails; `None` for one that is not there.
    pub fn statuses(&self, ids: &[MailId]) -> Result<Vec<Option<Status>>, Fault> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached("SELECT status FROM email_messages WHERE id = ?1")?;
            let status = |id: &MailId| {
                let word = statement.query_row([id.0], |found| row::lossy(found, 0)).optional()?;
                Ok(word.flatten().and_then(|word| Status::from_word(&word)))
            };
            ids.iter().map(status).collect()
        })
    }

    /// The mails that `filter` asks for, in its order, oldest first; a row that cannot be read is told in words.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Found>, Fault> {
        let columns = format!("{}, {}", row::MAIL_COLUMNS, row::RECORD_COLUMNS);
        let (sql, values) = select(&columns, filter);
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

/// The statement and its values; the last one in order comes first.
fn select(columns: &str, filter: &Filter) -> (String, Vec<Value>) {
    let (conditions, values) = conditions(filter);
    let order = filter.order.sql();
    let mut sql =
        format!("SELECT {columns} FROM email_messages WHERE {conditions} ORDER BY {order}");
    if let Some(limit) = filter.limit {
        let _ = write!(sql, " LIMIT {}", limit.min(i64::MAX.unsigned_abs()));
    }
    (sql, values)
}

/// The mails in these states by the states' own indexes, so that what waits is found without a look at the archive.
/// SENT is the archive.
fn by_index(statuses: &[Status]) -> Option<String> {
    let one = |status: &Status| match status {
        Status::Pending => Some(
            "SELECT id FROM email_messages INDEXED BY email_messages_due WHERE status = 'PENDING'",
        ),
        Status::Sending => Some(
            "SELECT id FROM email_messages INDEXED BY email_messages_leased WHERE status = 'SENDING'",
        ),
        Status::Failed => Some(
            "SELECT id FROM email_messages INDEXED BY email_messages_failed WHERE status = 'FAILED'",
        ),
        Status::Sent => None,
    };
    let all: Option<Vec<&str>> = statuses.iter().map(one).collect();
    all.filter(|all| !all.is_empty()).map(|all| format!("id IN ({})", all.join(" UNION ALL ")))
}

fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut parts = vec!["1".to_owned()];
    parts.extend(by_index(&filter.statuses));
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
    one_of("template", filter.templates.clone());
    one_of("idempotency_key", filter.keys.clone());
    one_of("group_name", filter.groups.clone());
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
    if let Some(until) = filter.created_until {
        parts.push("created_at < ?".to_owned());
        values.push(Value::Integer(until));
    }
    if let Some(due_at) = filter.due_at {
        parts.push("next_attempt_at <= ?".to_owned());
        values.push(Value::Integer(due_at));
    }
    (parts.join(" AND "), values)
}

#[cfg(test)]
pub(super) fn statement(filter: &Filter) -> String {
    select("id", filter).0
}
