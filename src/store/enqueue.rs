//! A checked mail becomes a row.

use super::repeats::{self, Verdict};
use super::{Store, row};
use crate::domain::fault::{Fault, Kind, one_line};
use crate::domain::message::{Draft, Mail, MailId};
use chrono::DateTime;
use rusqlite::{OptionalExtension, Transaction, named_params};
use serde_json::Value;
use std::borrow::Borrow;

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    pub id: MailId,
    /// A mail with this idempotency key was there already, with the same content.
    pub existed: bool,
    /// With `suppress_for`, where a mail was counted instead of stored: how many were so far.
    pub repeats: Option<u64>,
}

/// A draft whose idempotency key is taken by a mail with other content.
#[derive(Debug)]
pub struct Clash {
    /// Which of the drafts, from 0.
    pub number: u64,
    /// Which of the drafts has the key, if it is not an older mail that has it.
    pub earlier: Option<u64>,
    pub mail: MailId,
    key: String,
    different: String,
}

impl Clash {
    /// What is wrong, where `holder` has the key.
    pub fn words(&self, holder: &str) -> String {
        let Clash { key, different, .. } = self;
        format!("key {key:?} is taken by {holder}, which differs from this one in {different}")
    }

    pub fn fault(&self) -> Fault {
        let id = self.mail;
        Fault::new(Kind::Data, self.words(&format!("mail {id}")))
            .hint(format!("`mailq show {id}` shows that mail; another mail wants another key"))
    }
}

/// What became of one draft.
enum Outcome {
    Stored(Enqueued),
    Clash { mail: MailId, key: String, different: String },
}

impl Store {
    /// Stores all of `drafts` in one transaction, or none. On return they are on disk.
    ///
    /// # Errors
    /// `Data` when an idempotency key is taken by a mail with other content; else what the database says.
    #[cfg(test)]
    pub fn enqueue(&mut self, drafts: &[Draft], now: i64) -> Result<Vec<Enqueued>, Fault> {
        let refuse = |clashes: &[Clash]| clashes.first().map_or(Ok(()), |one| Err(one.fault()));
        self.enqueue_all(drafts.iter().map(Ok), now, refuse)
    }

    /// The same for mails that come one by one. Where some clash, `judge` sees them before the others are on disk, and
    /// says whether these stay.
    ///
    /// # Errors
    /// What `drafts`, `judge` and the database say.
    pub fn enqueue_all<D: Borrow<Draft>>(
        &mut self,
        drafts: impl Iterator<Item = Result<D, Fault>>,
        now: i64,
        judge: impl FnOnce(&[Clash]) -> Result<(), Fault>,
    ) -> Result<Vec<Enqueued>, Fault> {
        let mut refused = None;
        let result = self.write(|tx| {
            store_each(tx, drafts, now, judge)?.map_err(|fault| {
                refused = Some(fault);
                rusqlite::Error::QueryReturnedNoRows
            })
        });
        refused.map_or(result, Err)
    }
}

fn store_each<D: Borrow<Draft>>(
    tx: &Transaction<'_>,
    drafts: impl Iterator<Item = Result<D, Fault>>,
    now: i64,
    judge: impl FnOnce(&[Clash]) -> Result<(), Fault>,
) -> Result<Result<Vec<Enqueued>, Fault>, rusqlite::Error> {
    // Ids grow, so `new` is in their order.
    let (mut stored, mut new, mut clashes) = (Vec::new(), Vec::new(), Vec::new());
    for (number, draft) in (0..).zip(drafts) {
        let one = match draft {
            Ok(draft) => store_one(tx, draft.borrow(), now)?,
            Err(fault) => Err(fault),
        };
        match one {
            Ok(Outcome::Stored(one)) => {
                if !one.existed {
                    new.push((one.id.0, number));
                }
                stored.push(one);
            }
            Ok(Outcome::Clash { mail, key, different }) => {
                let earlier = new.binary_search_by_key(&mail.0, |(id, _)| *id);
                let earlier = earlier.ok().map(|at| new[at].1);
                clashes.push(Clash { number, earlier, mail, key, different });
            }
            Err(fault) => return Ok(Err(fault)),
        }
    }
    let judged = if clashes.is_empty() { Ok(()) } else { judge(&clashes) };
    Ok(judged.map(|()| stored))
}

fn store_one(
    tx: &Transaction<'_>,
    draft: &Draft,
    now: i64,
) -> Result<Result<Outcome, Fault>, rusqlite::Error> {
    let mut told = None;
    if let (Some(key), Some(window)) = (&draft.idempotency_key, draft.suppress_for) {
        match repeats::judge(tx, draft, key, window, now)? {
            Verdict::Counted(counted) => return Ok(Ok(Outcome::Stored(counted))),
            Verdict::Goes { repeats } => told = Some(repeats),
        }
        repeats::free_key(tx, key)?;
    } else if let Some(key) = &draft.idempotency_key {
        let sql = format!(
            "SELECT {}, attempt_count = 0 OR attempt_count = 1 AND status IN ('SENT', 'FAILED') AS is_first_time \
             FROM email_messages WHERE idempotency_key = ?1",
            row::MAIL_COLUMNS
        );
        let found = tx
            .prepare_cached(&sql)?
            .query_row([key], |found| Ok((row::mail(found)?, found.get("is_first_time")?)))
            .optional()?;
        if let Some(((id, mail), is_first_time)) = found {
            return Ok(differences(draft, id, mail, is_first_time).map(|all| match all {
                None => Outcome::Stored(Enqueued { id, existed: true, repeats: None }),
                Some(different) => Outcome::Clash { mail: id, key: key.clone(), different },
            }));
        }
    }
    let attachments =
        serde_json::to_string(&draft.attachments).expect("an attachment is plain data");
    let headers = serde_json::to_string(&draft.headers).expect("a header is plain text");
    let counted = told.map(|repeats| repeats::with_count(&draft.parameters, repeats));
    let parameters = counted.as_ref().unwrap_or(&draft.parameters);
    let id = tx
        .prepare_cached(
            "INSERT INTO email_messages (queue, from_addr, reply_to, to_addrs, cc_addrs, bcc_addrs, template, \
             locale, parameters, attachments, headers, max_attempts, created_at, next_attempt_at, expires_at, \
             idempotency_key, group_name) \
             VALUES (:queue, :from, :reply_to, :to, :cc, :bcc, :template, :locale, :parameters, :attachments, \
             :headers, :max_attempts, :now, :due, :expires_at, :key, :group) RETURNING id",
        )?
        .query_row(
            named_params! {
                ":queue": draft.queue, ":from": draft.from, ":reply_to": draft.reply_to, ":to": draft.to,
                ":cc": draft.cc, ":bcc": draft.bcc, ":template": draft.template, ":locale": draft.locale,
                ":parameters": parameters, ":attachments": attachments, ":headers": headers,
                ":max_attempts": draft.max_attempts, ":now": now, ":due": draft.next_attempt_at.unwrap_or(now),
                ":expires_at": draft.expires_at, ":key": draft.idempotency_key, ":group": draft.group,
            },
            |row| row.get(0),
        )?;
    let id = MailId(id);
    if let (Some(key), Some(window)) = (&draft.idempotency_key, draft.suppress_for) {
        repeats::begin(tx, draft, key, id, window, now)?;
    }
    Ok(Ok(Outcome::Stored(Enqueued { id, existed: false, repeats: None })))
}

/// A repeated key must bring the same mail. A time that was named belongs to it; one so long from now, as in `--in 5m`,
/// is another each time. A mail that was deferred has lost the time that it began with, unless `is_first_time`.
fn differences(
    draft: &Draft,
    id: MailId,
    mail: Result<Mail, String>,
    is_first_time: bool,
) -> Result<Option<String>, Fault> {
    let mail =
        mail.map_err(|why| Fault::new(Kind::Data, format!("mail {id} cannot be read: {why}")))?;
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let attachments = serde_json::to_value(&draft.attachments).ok();
    let headers = serde_json::to_value(&draft.headers).ok();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let headers_text = serde_json::to_string(&draft.headers).unwrap_or_default();
    let is_at = |named: i64| {
        !is_first_time || [named, named.max(mail.created_at)].contains(&mail.next_attempt_at)
    };
    // What, whether it is the same, and how it reads in both where that is short.
    let pairs = [
        ("queue", draft.queue == mail.queue, mail.queue.clone(), draft.queue.clone()),
        ("from", draft.from == mail.from, text(&mail.from), text(&draft.from)),
        ("reply-to", draft.reply_to == mail.reply_to, text(&mail.reply_to), text(&draft.reply_to)),
        ("to", draft.to == mail.to, mail.to.clone(), draft.to.clone()),
        ("cc", draft.cc == mail.cc, mail.cc.clone(), draft.cc.clone()),
        ("bcc", draft.bcc == mail.bcc, mail.bcc.clone(), draft.bcc.clone()),
        (
            "template",
            draft.template == mail.template,
            mail.template.clone(),
            draft.template.clone(),
        ),
        ("locale", draft.locale == mail.locale, text(&mail.locale), text(&draft.locale)),
        (
            "parameters",
            json(&draft.parameters) == json(&mail.parameters),
            mail.parameters.clone(),
            draft.parameters.clone(),
        ),
        ("attachments", attachments == json(&mail.attachments), String::new(), String::new()),
        ("headers", headers == json(&mail.headers), mail.headers.clone(), headers_text),
        (
            "at",
            draft.named_at.is_none_or(is_at),
            moment(mail.next_attempt_at),
            draft.named_at.map(moment).unwrap_or_default(),
        ),
    ];
    let told = |what: &str, there: &str, here: &str| match (there, here) {
        ("", "") => what.to_owned(),
        (there, here) => format!("{what} ({} there, {} here)", shown(there), shown(here)),
    };
    let different: Vec<String> = pairs
        .iter()
        .filter(|(_, same, _, _)| !same)
        .map(|(what, _, there, here)| told(what, there, here))
        .collect();
    Ok((!different.is_empty()).then(|| different.join(", ")))
}

fn moment(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms).map_or_else(|| ms.to_string(), |at| at.to_rfc3339())
}

/// A value as an error repeats it.
fn shown(text: &str) -> String {
    let short = one_line(text, 60);
    if short.starts_with('{') { short } else { format!("{short:?}") }
}
