//! Repeats: a mail of the same key and template within the time after one is counted, and the next one tells the count.

use super::enqueue::Enqueued;
use crate::domain::message::{Draft, MailId};
use crate::domain::retry::millis;
use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::{Map, Value};
use std::time::Duration;

/// For so long after its time a count is kept, should no mail come that tells it.
const FORGOTTEN_AFTER_MS: i64 = 30 * 86_400_000;

/// How long a process may wait between its look at the clock and its turn here.
const LATENESS_MS: i64 = 60_000;

/// What a mail with `--suppress-for` is to become.
pub(super) enum Verdict {
    /// One went a short time ago: this one is counted.
    Counted(Enqueued),
    /// It goes, and tells how many were counted since the last.
    Goes { repeats: i64 },
}

/// Whether `draft`, whose key is `key`, goes or is counted.
pub(super) fn judge(
    tx: &Transaction<'_>,
    draft: &Draft,
    key: &str,
    window: Duration,
    now: i64,
) -> Result<Verdict, rusqlite::Error> {
    let found: Option<(i64, i64, i64)> = tx
        .prepare_cached(
            "SELECT mail, until, repeats FROM mailq_repeats WHERE key = ?1 AND template = ?2",
        )?
        .query_row(params![key, draft.template], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((mail, until, repeats)) = found else { return Ok(Verdict::Goes { repeats: 0 }) };
    // A time further ahead was set by a clock that has stepped back since, or for a longer window. One that is a little
    // ahead is that of a process that read its clock later and was faster here.
    let latest = now.saturating_add(millis(window)).saturating_add(LATENESS_MS);
    if now < until && until <= latest {
        tx.prepare_cached(
            "UPDATE mailq_repeats SET repeats = repeats + 1 WHERE key = ?1 AND template = ?2",
        )?
        .execute(params![key, draft.template])?;
        let repeats = Some(repeats.saturating_add(1).unsigned_abs());
        return Ok(Verdict::Counted(Enqueued { id: MailId(mail), existed: true, repeats }));
    }
    Ok(Verdict::Goes { repeats })
}

/// The parameters of a mail that tells `repeats`.
pub(super) fn with_count(parameters: &str, repeats: i64) -> String {
    let mut all: Map<String, Value> = serde_json::from_str(parameters).unwrap_or_default();
    all.insert("repeats".to_owned(), repeats.into());
    Value::Object(all).to_string()
}

/// The key names the newest mail: an earlier one gives it up.
pub(super) fn free_key(tx: &Transaction<'_>, key: &str) -> Result<(), rusqlite::Error> {
    tx.prepare_cached(
        "UPDATE email_messages SET idempotency_key = NULL WHERE idempotency_key = ?1",
    )?
    .execute([key])
    .map(drop)
}

/// From `mail` on, repeats are counted anew.
pub(super) fn begin(
    tx: &Transaction<'_>,
    draft: &Draft,
    key: &str,
    mail: MailId,
    window: Duration,
    now: i64,
) -> Result<(), rusqlite::Error> {
    tx.prepare_cached(
        "DELETE FROM mailq_repeats WHERE (key = ?1 AND template = ?2) OR until < ?3",
    )?
    .execute(params![key, draft.template, now.saturating_sub(FORGOTTEN_AFTER_MS)])?;
    tx.prepare_cached(
        "INSERT INTO mailq_repeats (key, template, mail, until, repeats) VALUES (?1, ?2, ?3, ?4, 0)",
    )?
    .execute(params![key, draft.template, mail.0, now.saturating_add(millis(window))])
    .map(drop)
}
