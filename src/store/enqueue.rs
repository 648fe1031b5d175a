//! A checked mail becomes a row.

use super::{Store, row};
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{Draft, Mail, MailId};
use rusqlite::{OptionalExtension, Transaction, named_params};
use serde_json::Value;

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    pub id: MailId,
    /// A mail with this idempotency key was there already, with the same content.
    pub existed: bool,
}

impl Store {
    /// Stores all of `drafts` in one transaction, or none. On return they are on disk.
    ///
    /// # Errors
    /// `Data` when an idempotency key is taken by a mail with other content; else what the database says.
    pub fn enqueue(&mut self, drafts: &[Draft], now: i64) -> Result<Vec<Enqueued>, Fault> {
        let mut clash = None;
        let result = self.write(|tx| {
            let mut stored = Vec::with_capacity(drafts.len());
            for draft in drafts {
                match store_one(tx, draft, now)? {
                    Ok(one) => stored.push(one),
                    Err(fault) => {
                        clash = Some(fault);
                        return Err(rusqlite::Error::QueryReturnedNoRows);
                    }
                }
            }
            Ok(stored)
        });
        match clash {
            Some(fault) => Err(fault),
            None => result,
        }
    }
}

fn store_one(
    tx: &Transaction<'_>,
    draft: &Draft,
    now: i64,
) -> Result<Result<Enqueued, Fault>, rusqlite::Error> {
    if let Some(key) = &draft.idempotency_key {
        let sql =
            format!("SELECT {} FROM email_messages WHERE idempotency_key = ?1", row::MAIL_COLUMNS);
        let found = tx.prepare_cached(&sql)?.query_row([key], row::mail).optional()?;
        if let Some((id, mail)) = found {
            return Ok(same_content(draft, id, mail, key).map(|()| Enqueued { id, existed: true }));
        }
    }
    let attachments =
        serde_json::to_string(&draft.attachments).expect("an attachment is plain data");
    let headers = serde_json::to_string(&draft.headers).expect("a header is plain text");
    let id = tx
        .prepare_cached(
            "INSERT INTO email_messages (queue, from_addr, reply_to, to_addrs, cc_addrs, bcc_addrs, template, \
             locale, parameters, attachments, headers, max_attempts, created_at, next_attempt_at, expires_at, \
             idempotency_key) \
             VALUES (:queue, :from, :reply_to, :to, :cc, :bcc, :template, :locale, :parameters, :attachments, \
             :headers, :max_attempts, :now, :due, :expires_at, :key) RETURNING id",
        )?
        .query_row(
            named_params! {
                ":queue": draft.queue, ":from": draft.from, ":reply_to": draft.reply_to, ":to": draft.to,
                ":cc": draft.cc, ":bcc": draft.bcc, ":template": draft.template, ":locale": draft.locale,
                ":parameters": draft.parameters, ":attachments": attachments, ":headers": headers,
                ":max_attempts": draft.max_attempts, ":now": now, ":due": draft.next_attempt_at.unwrap_or(now),
                ":expires_at": draft.expires_at, ":key": draft.idempotency_key,
            },
            |row| row.get(0),
        )?;
    Ok(Ok(Enqueued { id: MailId(id), existed: false }))
}

/// A repeated key must bring the same mail; times may differ, since `--in 5m` does.
fn same_content(
    draft: &Draft,
    id: MailId,
    mail: Result<Mail, String>,
    key: &str,
) -> Result<(), Fault> {
    let mail =
        mail.map_err(|why| Fault::new(Kind::Data, format!("mail {id} cannot be read: {why}")))?;
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let attachments = serde_json::to_value(&draft.attachments).ok();
    let headers = serde_json::to_value(&draft.headers).ok();
    let pairs = [
        ("queue", draft.queue == mail.queue),
        ("from", draft.from == mail.from),
        ("reply-to", draft.reply_to == mail.reply_to),
        ("to", draft.to == mail.to),
        ("cc", draft.cc == mail.cc),
        ("bcc", draft.bcc == mail.bcc),
        ("template", draft.template == mail.template),
        ("locale", draft.locale == mail.locale),
        ("parameters", json(&draft.parameters) == json(&mail.parameters)),
        ("attachments", attachments == json(&mail.attachments)),
        ("headers", headers == json(&mail.headers)),
    ];
    let different: Vec<&str> =
        pairs.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    if different.is_empty() {
        return Ok(());
    }
    Err(Fault::new(
        Kind::Data,
        format!(
            "key {key:?} is taken by mail {id}, which differs from this one in {}",
            different.join(", ")
        ),
    )
    .hint(format!("`mailq show {id}` shows that mail; another mail wants another key")))
}
