//! A mail as the commands tell it: where it stands, and all of it for programs, with the names of Postfix's
//! `postqueue -j` where it has one.

use super::Context;
use crate::domain::address;
use crate::domain::fault::Fault;
use crate::domain::message::{Attachment, MailId, Record};
use crate::domain::state::Status;
use crate::host;
use crate::store::{Held, Store};
use serde_json::{Value, json};
use std::collections::HashMap;

/// What a mail is seen against.
pub struct Scene {
    /// The sender of mails that name none.
    pub from: String,
    /// The same of queues with their own.
    pub own_from: HashMap<String, String>,
    pub held: Vec<Held>,
    /// In milliseconds since 1970.
    pub now: i64,
}

impl Scene {
    pub fn of(context: &Context, store: &Store) -> Result<Scene, Fault> {
        let config = &context.config;
        let own = config.queues().iter().filter(|queue| config.has_own_sender(queue));
        let own_from = own.map(|queue| (queue.clone(), config.from(Some(queue)))).collect();
        let (from, held, now) = (config.from(None), store.held()?, host::now_ms());
        Ok(Scene { from, own_from, held, now })
    }

    /// Who holds `queue`, if it is held.
    pub fn held(&self, queue: &str) -> Option<&Held> {
        self.held.iter().find(|held| held.queue == queue)
    }

    /// The queue of Postfix that a mail in this state would be in; for a finished one, its state.
    pub fn place(&self, record: &Record) -> &'static str {
        let mail = &record.mail;
        match record.status {
            Status::Sending => "active",
            Status::Sent => "sent",
            Status::Failed => "failed",
            Status::Pending if self.held(&mail.queue).is_some() => "hold",
            Status::Pending if mail.attempt_count == 0 && mail.next_attempt_at > self.now => "hold",
            Status::Pending if mail.attempt_count == 0 => "incoming",
            Status::Pending => "deferred",
        }
    }

    /// Its sender's addresses.
    pub fn sender(&self, record: &Record) -> String {
        let configured = || self.own_from.get(&record.mail.queue).unwrap_or(&self.from);
        addresses(record.mail.from.as_ref().unwrap_or_else(configured)).join(", ")
    }

    /// A mail as JSON: as `postqueue -j` tells it, then the columns by their names, those that hold JSON as JSON.
    pub fn json(&self, id: MailId, record: &Result<Record, String>) -> Value {
        let record = match record {
            Ok(record) => record,
            Err(why) => return json!({ "id": id.0, "unreadable": why }),
        };
        let mail = &record.mail;
        let inner =
            |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
        let recipient = |address: String| {
            let reason = mail.refused.get(&address).or(record.error_message.as_ref());
            match reason {
                Some(reason) => json!({ "address": address, "delay_reason": reason }),
                None => json!({ "address": address }),
            }
        };
        let recipients: Vec<Value> = recipients(record).into_iter().map(recipient).collect();
        json!({
            "queue_name": self.place(record), "queue_id": id.to_string(),
            "arrival_time": mail.created_at / 1_000, "message_size": size(record), "forced_expire": false,
            "sender": self.sender(record), "recipients": recipients,
            "id": id.0, "queue": mail.queue, "status": record.status.word(), "from_addr": mail.from,
            "reply_to": mail.reply_to, "to_addrs": mail.to, "cc_addrs": mail.cc, "bcc_addrs": mail.bcc,
            "template": mail.template, "locale": mail.locale, "parameters": inner(&mail.parameters),
            "attachments": inner(&mail.attachments), "headers": inner(&mail.headers),
            "attempt_count": mail.attempt_count, "reap_count": mail.reap_count,
            "max_attempts": mail.max_attempts, "failure": record.failure,
            "error_message": record.error_message, "locked_at": record.locked_at,
            "locked_by": record.locked_by, "created_at": mail.created_at,
            "next_attempt_at": mail.next_attempt_at, "expires_at": mail.expires_at,
            "sent_at": record.sent_at, "finished_at": record.finished_at, "send_ms": record.send_ms,
            "message_id": mail.message_id, "idempotency_key": record.idempotency_key,
            "group_name": record.group_name, "delivered": mail.delivered, "refused": mail.refused,
        })
    }
}

/// The mail's own bytes: the row holds no rendered text.
pub fn size(record: &Record) -> u64 {
    let attachments: Vec<Attachment> =
        serde_json::from_str(&record.mail.attachments).unwrap_or_default();
    let files: u64 = attachments.iter().filter_map(|one| one.size).sum();
    record.mail.parameters.len() as u64 + files
}

/// Those who do not have the mail yet.
pub fn recipients(record: &Record) -> Vec<String> {
    let mail = &record.mail;
    let all = [&mail.to, &mail.cc, &mail.bcc].into_iter().flat_map(|list| addresses(list));
    all.filter(|one| !mail.delivered.contains(one)).collect()
}

/// The addresses of a list; one that cannot be read stands as it is.
pub fn addresses(list: &str) -> Vec<String> {
    match address::parse_list(list) {
        Ok(all) => all.iter().map(|one| one.address.to_string()).collect(),
        Err(_) => vec![list.to_owned()],
    }
}
