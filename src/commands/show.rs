//! `mailq show`: all of one mail, and why it did not go out.

use super::{Context, named, value};
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{MailId, Record};
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::store::{Access, Breaker};
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The mail's id.
    #[arg(value_parser = value::text())]
    id: String,
}

pub fn run(args: &ShowArgs, context: &Context) -> Result<u8> {
    let id = named::id(&args.id)?;
    let store = context.store(Access::Read)?;
    let Some(record) = store.show(id)? else {
        return Err(Fault::new(Kind::NoInput, format!("no mail {id}"))
            .hint("it may be pruned; `mailq list` shows what is there")
            .into());
    };
    if context.json {
        context.output.json(&as_json(id, &record))?;
        return Ok(exit::DONE);
    }
    match &record {
        Err(why) => context.output.line(&format!("mail {id} cannot be read: {why}"))?,
        Ok(record) => {
            for (name, value) in lines(record, &store.breakers()?, host::now_ms()) {
                context.output.line(&format!("{name:<14} {value}"))?;
            }
        }
    }
    Ok(exit::DONE)
}

fn lines(record: &Record, breakers: &[Breaker], now: i64) -> Vec<(&'static str, String)> {
    let mail = &record.mail;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
    let moment = |value: Option<i64>| value.map_or("-".into(), value::show_moment);
    let mut lines = vec![
        ("mail", mail.id.to_string()),
        ("status", record.status.to_string()),
        ("why", why(record, breakers, now)),
        ("queue", mail.queue.clone()),
        ("from", text(&mail.from)),
        ("to", mail.to.clone()),
        ("cc", mail.cc.clone()),
        ("bcc", mail.bcc.clone()),
        ("template", mail.template.clone()),
        ("locale", text(&mail.locale)),
        ("parameters", mail.parameters.clone()),
        ("attachments", mail.attachments.clone()),
        ("headers", mail.headers.clone()),
        ("attempts", mail.attempt_count.to_string()),
        ("deaths", mail.reap_count.to_string()),
        ("failure", text(&record.failure)),
        ("last error", text(&record.error_message)),
        ("created", value::show_moment(mail.created_at)),
        ("due", value::show_moment(mail.next_attempt_at)),
        ("expires", moment(mail.expires_at)),
        ("sent", moment(record.sent_at)),
        ("finished", moment(record.finished_at)),
        ("held by", text(&record.locked_by)),
        ("held since", moment(record.locked_at)),
        ("message id", mail.message_id.clone()),
        ("key", text(&record.idempotency_key)),
    ];
    lines.extend(mail.delivered.iter().map(|who| ("has it", who.clone())));
    lines.extend(mail.refused.iter().map(|(who, words)| ("refused", format!("{who}: {words}"))));
    lines.retain(|(_, value)| !value.is_empty() && value != "-");
    lines
}

/// The answer to "why did this mail not go out?".
fn why(record: &Record, breakers: &[Breaker], now: i64) -> String {
    let mail = &record.mail;
    let error = record.error_message.as_deref().unwrap_or("no reason was recorded");
    match record.status {
        Status::Sent => {
            let at = record.sent_at.map_or("an unknown time".into(), value::show_moment);
            format!("a server accepted it at {at}, in attempt {}", mail.attempt_count)
        }
        Status::Failed => {
            let failure = record.failure.as_deref().unwrap_or("failed");
            let others = match mail.delivered.len() {
                0 => String::new(),
                n => format!(
                    "; {n} recipients have it, and `mailq retry {}` asks only the others",
                    mail.id
                ),
            };
            format!("{failure}: {error}{others}")
        }
        Status::Sending => {
            let who = record.locked_by.as_deref().unwrap_or("unknown");
            let alive = if host::is_running(who) {
                "is running"
            } else {
                "is not running: `mailq reap` returns it"
            };
            format!("being sent by {who}, which {alive}")
        }
        Status::Pending if mail.next_attempt_at > now => {
            let due = value::show_moment(mail.next_attempt_at);
            match mail.attempt_count {
                0 => format!("scheduled for {due}"),
                n => format!("attempt {n} did not work, the next is due {due}: {error}"),
            }
        }
        Status::Pending => {
            match breakers.iter().find(|one| one.tripped_at <= now && now < one.until) {
                Some(one) => {
                    let until = value::show_moment(one.until);
                    format!(
                        "due, but smarthost {} is left alone until {until}: {}",
                        one.scope, one.reason
                    )
                }
                None => format!(
                    "due, and waiting for `mailq send-batch`{}",
                    record
                        .error_message
                        .as_ref()
                        .map_or(String::new(), |error| format!("; last error: {error}"))
                ),
            }
        }
    }
}

/// A mail as JSON: the columns by their names, those that hold JSON as JSON.
pub fn as_json(id: MailId, record: &Result<Record, String>) -> Value {
    let record = match record {
        Ok(record) => record,
        Err(why) => return json!({ "id": id.0, "unreadable": why }),
    };
    let mail = &record.mail;
    let inner = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    json!({
        "id": id.0, "queue": mail.queue, "status": record.status.word(), "from_addr": mail.from,
        "reply_to": mail.reply_to, "to_addrs": mail.to, "cc_addrs": mail.cc, "bcc_addrs": mail.bcc,
        "template": mail.template, "locale": mail.locale, "parameters": inner(&mail.parameters),
        "attachments": inner(&mail.attachments), "headers": inner(&mail.headers),
        "attempt_count": mail.attempt_count, "reap_count": mail.reap_count, "max_attempts": mail.max_attempts,
        "failure": record.failure, "error_message": record.error_message, "locked_at": record.locked_at,
        "locked_by": record.locked_by, "created_at": mail.created_at, "next_attempt_at": mail.next_attempt_at,
        "expires_at": mail.expires_at, "sent_at": record.sent_at, "finished_at": record.finished_at,
        "send_ms": record.send_ms, "message_id": mail.message_id, "idempotency_key": record.idempotency_key,
        "delivered": mail.delivered, "refused": mail.refused,
    })
}
