//! `mailq list`: one line a mail, or how many there are by age.

mod histogram;

use super::mail::{self, Scene};
use super::named::{self, Which};
use super::{Context, value};
use crate::domain::message::{MailId, Record};
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::output::{Page, Piece, Table, Tone};
use crate::store::{Access, Found, Order};
use anyhow::Result;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub which: Which,
    /// What to list by; the last in this order comes last.
    #[arg(long, value_name = "ORDER", default_value = "id")]
    sort: Sort,
    /// The last so many; 0 for all [default: 50, with --ids all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print the ids alone, for `mailq retry -` and the like.
    #[arg(long, conflicts_with = "histogram")]
    ids: bool,
    /// Count what waits by age in minutes, as Postfix's qshape does.
    #[arg(long, value_name = "BY", conflicts_with_all = ["sort", "limit"])]
    histogram: Option<histogram::By>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    Id,
    Due,
    Finished,
    Attempts,
}

pub fn run(args: &ListArgs, context: &Context) -> Result<u8> {
    let store = context.store(Access::Read)?;
    named::warn_of_unknown(&args.which.queue, &store, context)?;
    let limit = args.limit.unwrap_or(if args.ids { 0 } else { 50 });
    let mut filter = args.which.filter((limit > 0).then_some(limit))?;
    filter.order = match args.sort {
        Sort::Id => Order::Id,
        Sort::Due => Order::Due,
        Sort::Finished => Order::Finished,
        Sort::Attempts => Order::Attempts,
    };
    if let Some(by) = args.histogram {
        filter.limit = None;
        return histogram::run(by, filter, &store, context);
    }
    if args.ids {
        let mut text = String::new();
        for id in store.ids(&filter)? {
            text.push_str(&format!("{id}\n"));
        }
        context.output.print(&text)?;
        return Ok(exit::DONE);
    }
    let found = store.list(&filter)?;
    if context.json {
        let scene = Scene::of(context, &store)?;
        for (id, record) in &found {
            context.output.json(&scene.json(*id, record))?;
        }
        return Ok(exit::DONE);
    }
    let mut page = Page::default();
    page.table(table(&found, context.output.width().is_none_or(|width| width >= WIDE)));
    context.output.page(&page)?;
    Ok(exit::DONE)
}

/// On a terminal with fewer columns the error stands below its mail.
const WIDE: usize = 120;

fn table(found: &[Found], is_wide: bool) -> Table {
    let mut titles = vec!["id", "status", "queue", "created", "attempts", "to", "template"];
    match is_wide {
        true => titles.push("error"),
        false => titles[3..5].copy_from_slice(&["age", "tries"]),
    }
    let mut table = Table::new(&titles);
    let now = host::now_ms();
    for (id, record) in found {
        let record = match record {
            Ok(record) => record,
            Err(why) => {
                let id = id.to_string();
                table.row([id.into(), Piece::new("unreadable", Tone::Bad), why.as_str().into()]);
                continue;
            }
        };
        let mut cells = row(*id, record);
        let error = [&record.failure, &record.error_message].into_iter().flatten();
        let error = error.map(String::as_str).collect::<Vec<_>>().join(": ");
        if is_wide {
            cells.push(shorten(&error, 60).into());
            table.row(cells);
            continue;
        }
        cells[3] = value::span(now.saturating_sub(record.mail.created_at)).into();
        cells[5] = to_cell(&mail::recipients(record)).into();
        table.row(cells);
        if !error.is_empty() {
            table.note(Piece::new(error, Tone::Faint));
        }
    }
    table
}

fn row(id: MailId, record: &Record) -> Vec<Piece> {
    let mail = &record.mail;
    let to = [&mail.to, &mail.cc, &mail.bcc].into_iter().find(|list| !list.is_empty());
    let tone = match record.status {
        Status::Failed => Tone::Bad,
        Status::Sent => Tone::Good,
        Status::Pending if mail.attempt_count > 0 => Tone::Warning,
        Status::Pending | Status::Sending => Tone::Plain,
    };
    vec![
        id.to_string().into(),
        Piece::new(record.status.word(), tone),
        mail.queue.as_str().into(),
        value::short_moment(mail.created_at).into(),
        mail.attempt_count.to_string().into(),
        shorten(to.map_or("", String::as_str), 40).into(),
        mail.template.as_str().into(),
    ]
}

/// The first recipient, and how many more there are: in front, since it is the end of a cell that is cut.
fn to_cell(recipients: &[String]) -> String {
    let first = shorten(recipients.first().map_or("", String::as_str), 60);
    match recipients.len() {
        0 | 1 => first,
        n => format!("+{} {first}", n - 1),
    }
}

fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_how_many_more_recipients_there_are() {
        let all = ["a@x", "b@x", "c@x"].map(str::to_owned);
        assert_eq!([&all[..0], &all[..1], &all].map(to_cell), ["", "a@x", "+2 a@x"]);
    }
}
