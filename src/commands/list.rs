//! `mailq list`: one line a mail.

use super::{Context, value};
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{MailId, Record};
use crate::domain::retry::millis;
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::output::Table;
use crate::store::{Access, Filter};
use anyhow::Result;
use clap::Args;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub which: Which,
    /// The newest so many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
}

/// Which mails.
#[derive(Debug, Args, Default)]
pub struct Which {
    /// Only mails in this state.
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<Status>,
    /// Only mails of this queue.
    #[arg(long, value_name = "QUEUE", value_parser = value::text())]
    queue: Vec<String>,
    /// Only FAILED mails with this reason (`rejected`, `exhausted`, `render`, …).
    #[arg(long, value_name = "REASON", value_parser = value::text())]
    failure: Vec<String>,
    /// Only mails to an address with this text in it.
    #[arg(long, value_name = "TEXT", value_parser = value::text())]
    to: Option<String>,
    /// Only mails created since so long.
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    since: Option<Duration>,
}

impl Which {
    /// The same for the store.
    pub fn filter(&self, limit: Option<u64>) -> Filter {
        Filter {
            statuses: self.status.clone(),
            queues: self.queue.clone(),
            failures: self.failure.clone(),
            recipient: self.to.clone(),
            created_since: self.since.map(|since| host::now_ms().saturating_sub(millis(since))),
            limit,
            ..Filter::default()
        }
    }

    /// Whether anything narrows it down.
    pub fn is_everything(&self) -> bool {
        self.status.is_empty()
            && self.queue.is_empty()
            && self.failure.is_empty()
            && self.to.is_none()
            && self.since.is_none()
    }
}

fn status(word: &str) -> Result<Status, String> {
    Status::from_word(&word.to_ascii_uppercase())
        .ok_or_else(|| "is PENDING, SENDING, SENT or FAILED".to_owned())
}

pub fn run(args: ListArgs, context: &Context) -> Result<u8> {
    let store = context.store(Access::Read)?;
    let found = store.list(&args.which.filter(Some(args.limit)))?;
    if context.json {
        for (id, record) in &found {
            context.output.json(&super::show::as_json(*id, record))?;
        }
        return Ok(exit::DONE);
    }
    let mut table =
        Table::new(&["id", "status", "queue", "created", "attempts", "to", "template", "error"]);
    for (id, record) in &found {
        table.row(row(*id, record));
    }
    context.output.print(&table.to_string())?;
    Ok(exit::DONE)
}

fn row(id: MailId, record: &Result<Record, String>) -> Vec<String> {
    let record = match record {
        Ok(record) => record,
        Err(why) => return vec![id.to_string(), "unreadable".into(), why.clone()],
    };
    let mail = &record.mail;
    let to = [&mail.to, &mail.cc, &mail.bcc].into_iter().find(|list| !list.is_empty());
    let error =
        [&record.failure, &record.error_message].into_iter().flatten().cloned().collect::<Vec<_>>();
    vec![
        id.to_string(),
        record.status.to_string(),
        mail.queue.clone(),
        value::show_moment(mail.created_at),
        mail.attempt_count.to_string(),
        shorten(to.map_or("", String::as_str), 40),
        mail.template.clone(),
        shorten(&error.join(": "), 60),
    ]
}

fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The ids that an intervention is about: given ones, those on stdin for `-`, or all that `which` finds, if `yes`.
pub fn chosen(ids: &[String], which: &Which, yes: bool, context: &Context) -> Result<Vec<MailId>> {
    if ids.is_empty() && which.is_everything() {
        return Err(Fault::new(Kind::Usage, "no mail is named")
            .hint("give ids, - for ids on stdin, or a filter such as --status FAILED with --yes")
            .into());
    }
    if ids.is_empty() {
        let found = context.store(Access::Read)?.list(&which.filter(None))?;
        if !yes {
            return Err(Fault::new(Kind::Usage, format!("{} mails match", found.len()))
                .hint("add --yes to go on, or look first: mailq list")
                .into());
        }
        return Ok(found.into_iter().map(|(id, _)| id).collect());
    }
    if !which.is_everything() {
        return Err(Fault::new(Kind::Usage, "give ids or a filter, not both").into());
    }
    let mut all = Vec::new();
    for text in ids {
        if text == "-" {
            for word in value::stdin("ids")?.split_whitespace() {
                all.push(id(word)?);
            }
        } else {
            all.push(id(text)?);
        }
    }
    Ok(all)
}

/// Reads the id of a mail.
pub fn id(text: &str) -> Result<MailId, Fault> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(MailId(number)),
        _ => Err(Fault::new(Kind::Usage, format!("{text:?} is no mail id"))
            .hint("`mailq list` shows them")),
    }
}
