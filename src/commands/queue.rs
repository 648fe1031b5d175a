//! `mailq` alone: what waits, in the layout of Postfix's `mailq`, so that hands and scripts that know it keep working.

use super::Context;
use super::mail::{self, Scene};
use crate::domain::message::Record;
use crate::domain::state::Status;
use crate::exit;
use crate::store::{Access, Filter};
use anyhow::Result;
use chrono::{Local, TimeZone};
use std::mem;

pub fn run(context: &Context) -> Result<u8> {
    let store = context.store(Access::Read)?;
    let waiting = store
        .list(&Filter { statuses: vec![Status::Pending, Status::Sending], ..Filter::default() })?;
    let scene = Scene::of(context, &store)?;
    if context.json {
        for (id, record) in &waiting {
            context.output.json(&scene.json(*id, record))?;
        }
        return Ok(exit::DONE);
    }
    if waiting.is_empty() {
        context.output.line("Mail queue is empty")?;
        return Ok(exit::DONE);
    }
    let mut text =
        "-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------\n".to_owned();
    let mut bytes = 0;
    for (id, record) in &waiting {
        match record {
            Ok(record) => {
                bytes += mail::size(record);
                text.push_str(&entry(record, &scene));
            }
            Err(why) => text.push_str(&format!("{id:<11} cannot be read: {why}\n\n")),
        }
        if text.len() > 64 * 1024 {
            context.output.print(&mem::take(&mut text))?;
        }
    }
    let (kilobytes, count) = (bytes.div_ceil(1024), waiting.len());
    let requests = if count == 1 { "Request" } else { "Requests" };
    text.push_str(&format!("-- {kilobytes} Kbytes in {count} {requests}.\n"));
    context.output.print(&text)?;
    Ok(exit::DONE)
}

/// The queue id carries `*` while it is being sent and `!` where its queue is held or it is scheduled for later, as
/// Postfix marks active and held mails.
fn entry(record: &Record, scene: &Scene) -> String {
    let mail = &record.mail;
    let mark = match scene.place(record) {
        "active" => "*",
        "hold" => "!",
        _ => "",
    };
    let arrival = match Local.timestamp_millis_opt(mail.created_at).earliest() {
        Some(time) => time.format("%a %b %e %H:%M:%S").to_string(),
        None => "-".to_owned(),
    };
    let id = format!("{}{mark}", mail.id);
    let one_line = |text: &str| text.replace(['\n', '\r'], " ");
    let mut text = format!(
        "{id:<11}{:>8} {arrival}  {}\n",
        mail::size(record),
        one_line(&scene.sender(record))
    );
    if let Some(held) = scene.held(&mail.queue) {
        let reason = held.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        text.push_str(&format!("{:>12}(queue {} is held{})\n", "", held.queue, one_line(&reason)));
    } else if let Some(error) = &record.error_message {
        text.push_str(&format!("{:>12}({})\n", "", one_line(error)));
    }
    for address in mail::recipients(record) {
        text.push_str(&format!("{:>42}{}\n", "", one_line(&address)));
    }
    text.push('\n');
    text
}
