//! `mailq` alone: what waits, in the layout of Postfix's `mailq`, so that hands and scripts that know it keep working.

use super::Context;
use crate::domain::address;
use crate::domain::message::{Attachment, Record};
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::store::{Access, Filter};
use anyhow::Result;
use chrono::{Local, TimeZone};

pub fn run(context: &Context) -> Result<u8> {
    let store = context.store(Access::Read)?;
    let waiting = store
        .list(&Filter { statuses: vec![Status::Pending, Status::Sending], ..Filter::default() })?;
    if context.json {
        for (id, record) in &waiting {
            context.output.json(&super::show::as_json(*id, record))?;
        }
        return Ok(exit::DONE);
    }
    if waiting.is_empty() {
        context.output.line("Mail queue is empty")?;
        return Ok(exit::DONE);
    }
    context.output.line("-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------")?;
    let (mut bytes, default, now) = (0, context.config.from(), host::now_ms());
    for (id, record) in &waiting {
        match record {
            Ok(record) => {
                bytes += size(record);
                context.output.print(&entry(record, &default, now))?;
            }
            Err(why) => context.output.line(&format!("{id:<11} cannot be read: {why}"))?,
        }
    }
    let (kilobytes, count) = (bytes.div_ceil(1024), waiting.len());
    let requests = if count == 1 { "Request" } else { "Requests" };
    context.output.line(&format!("-- {kilobytes} Kbytes in {count} {requests}."))?;
    Ok(exit::DONE)
}

/// The mail's own bytes: the row holds no rendered text.
fn size(record: &Record) -> u64 {
    let attachments: Vec<Attachment> =
        serde_json::from_str(&record.mail.attachments).unwrap_or_default();
    let files: u64 = attachments.iter().filter_map(|one| one.size).sum();
    record.mail.parameters.len() as u64 + files
}

/// The queue id carries `*` while it is being sent and `!` where it is scheduled for later, as Postfix marks active
/// and held mails.
fn entry(record: &Record, default_from: &str, now: i64) -> String {
    let mail = &record.mail;
    let mark = match record.status {
        Status::Sending => "*",
        _ if mail.attempt_count == 0 && mail.next_attempt_at > now => "!",
        _ => "",
    };
    let arrival = match Local.timestamp_millis_opt(mail.created_at).earliest() {
        Some(time) => time.format("%a %b %e %H:%M:%S").to_string(),
        None => "-".to_owned(),
    };
    let from = bare(mail.from.as_deref().unwrap_or(default_from)).join(", ");
    let id = format!("{}{mark}", mail.id);
    let one_line = |text: &str| text.replace(['\n', '\r'], " ");
    let mut text = format!("{id:<11}{:>8} {arrival}  {}\n", size(record), one_line(&from));
    if let Some(error) = &record.error_message {
        text.push_str(&format!("{:>12}({})\n", "", one_line(error)));
    }
    for list in [&mail.to, &mail.cc, &mail.bcc] {
        for address in bare(list).iter().filter(|one| !mail.delivered.contains(one)) {
            text.push_str(&format!("{:>42}{}\n", "", one_line(address)));
        }
    }
    text.push('\n');
    text
}

/// The addresses of a list; one that cannot be read stands as it is.
fn bare(list: &str) -> Vec<String> {
    match address::parse_list(list) {
        Ok(all) => all.iter().map(|one| one.address.to_string()).collect(),
        Err(_) => vec![list.to_owned()],
    }
}
