//! One row of `email_messages`, from columns to values.
//!
//! Another program may have written anything that the CHECKs let through: a row that cannot be read is told in words,
//! never a panic, and costs no other row anything.

use crate::domain::message::{Mail, MailId, Record};
use crate::domain::state::Status;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;

/// The columns that `mail` reads, in its order.
pub const MAIL_COLUMNS: &str = "id, queue, from_addr, reply_to, to_addrs, cc_addrs, bcc_addrs, template, locale, \
     parameters, attachments, headers, attempt_count, reap_count, max_attempts, created_at, next_attempt_at, \
     expires_at, message_id, delivered, refused";

/// The columns that `record` reads after those.
pub const RECORD_COLUMNS: &str = "status, failure, error_message, locked_at, locked_by, sent_at, finished_at, \
     idempotency_key, send_ms, group_name";

/// A row that could be read, or why not.
pub type Reading<T> = Result<T, String>;

/// Reads the columns of [`MAIL_COLUMNS`].
pub fn mail(row: &Row<'_>) -> Result<(MailId, Reading<Mail>), rusqlite::Error> {
    let id = MailId(row.get(0)?);
    Ok((id, read_mail(row, id)))
}

/// Ids as the list that `json_each` takes apart.
pub fn list(ids: impl Iterator<Item = MailId>) -> String {
    serde_json::to_string(&ids.map(|id| id.0).collect::<Vec<_>>()).expect("numbers")
}

fn read_mail(row: &Row<'_>, id: MailId) -> Reading<Mail> {
    Ok(Mail {
        id,
        queue: text(row, 1, "queue")?,
        from: optional_text(row, 2, "from_addr")?,
        reply_to: optional_text(row, 3, "reply_to")?,
        to: text(row, 4, "to_addrs")?,
        cc: text(row, 5, "cc_addrs")?,
        bcc: text(row, 6, "bcc_addrs")?,
        template: text(row, 7, "template")?,
        locale: optional_text(row, 8, "locale")?,
        parameters: text(row, 9, "parameters")?,
        attachments: text(row, 10, "attachments")?,
        headers: text(row, 11, "headers")?,
        attempt_count: count(row, 12, "attempt_count")?,
        reap_count: count(row, 13, "reap_count")?,
        max_attempts: match optional_number(row, 14, "max_attempts")? {
            Some(_) => Some(count(row, 14, "max_attempts")?),
            None => None,
        },
        created_at: number(row, 15, "created_at")?,
        next_attempt_at: number(row, 16, "next_attempt_at")?,
        expires_at: optional_number(row, 17, "expires_at")?,
        message_id: text(row, 18, "message_id")?,
        delivered: json(row, 19, "delivered")?.unwrap_or_default(),
        refused: json::<BTreeMap<String, String>>(row, 20, "refused")?.unwrap_or_default(),
    })
}

/// Reads the columns of [`MAIL_COLUMNS`] and [`RECORD_COLUMNS`].
pub fn record(row: &Row<'_>) -> Result<(MailId, Reading<Record>), rusqlite::Error> {
    let (id, mail) = mail(row)?;
    Ok((id, mail.and_then(|mail| read_record(row, mail))))
}

fn read_record(row: &Row<'_>, mail: Mail) -> Reading<Record> {
    let status = text(row, 21, "status")?;
    Ok(Record {
        mail,
        status: Status::from_word(&status).ok_or_else(|| format!("status is {status:?}"))?,
        failure: optional_text(row, 22, "failure")?,
        error_message: optional_text(row, 23, "error_message")?,
        locked_at: optional_number(row, 24, "locked_at")?,
        locked_by: optional_text(row, 25, "locked_by")?,
        sent_at: optional_number(row, 26, "sent_at")?,
        finished_at: optional_number(row, 27, "finished_at")?,
        idempotency_key: optional_text(row, 28, "idempotency_key")?,
        send_ms: optional_number(row, 29, "send_ms")?,
        group_name: optional_text(row, 30, "group_name")?,
    })
}

/// A text that another program may have written as anything; `None` where it is NULL.
pub fn lossy(row: &Row<'_>, at: usize) -> Result<Option<String>, rusqlite::Error> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
    })
}

fn text(row: &Row<'_>, at: usize, column: &str) -> Reading<String> {
    optional_text(row, at, column)?.ok_or_else(|| format!("{column} is NULL"))
}

fn optional_text(row: &Row<'_>, at: usize, column: &str) -> Reading<Option<String>> {
    match row.get_ref(at).map_err(|e| e.to_string())? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(e) => Err(format!("{column} is not UTF-8 at byte {}", e.valid_up_to())),
        },
        other => Err(format!("{column} is a {}, not a text", other.data_type())),
    }
}

fn number(row: &Row<'_>, at: usize, column: &str) -> Reading<i64> {
    optional_number(row, at, column)?.ok_or_else(|| format!("{column} is NULL"))
}

fn optional_number(row: &Row<'_>, at: usize, column: &str) -> Reading<Option<i64>> {
    match row.get_ref(at).map_err(|e| e.to_string())? {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(number)),
        other => Err(format!("{column} is a {}, not an integer", other.data_type())),
    }
}

fn count(row: &Row<'_>, at: usize, column: &str) -> Reading<u32> {
    let number = number(row, at, column)?;
    u32::try_from(number).map_err(|_| format!("{column} is {number}"))
}

fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    at: usize,
    column: &str,
) -> Reading<Option<T>> {
    match optional_text(row, at, column)? {
        None => Ok(None),
        Some(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|e| format!("{column} cannot be read: {e}")),
    }
}
