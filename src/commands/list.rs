//! `mailq list`: one line a mail.

use super::named::Which;
use super::{Context, value};
use crate::domain::message::{MailId, Record};
use crate::exit;
use crate::output::Table;
use crate::store::Access;
use anyhow::Result;
use clap::Args;

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub which: Which,
    /// The newest so many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
}

pub fn run(args: &ListArgs, context: &Context) -> Result<u8> {
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
