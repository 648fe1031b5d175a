//! The mails that a command is about: named by id or found by a filter; and what an intervention made of each.

use super::{Context, value};
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{MailId, is_name};
use crate::domain::state::{Failure, Status};
use crate::exit;
use crate::host;
use crate::output::Level;
use crate::store::{Access, Filter, Store};
use crate::templates::nearest;
use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Which mails.
#[derive(Debug, Args, Default)]
pub struct Which {
    /// Only mails in this state.
    #[arg(long, value_name = "STATUS", value_parser = value::read(status))]
    status: Vec<Status>,
    /// Only mails of this queue.
    #[arg(long, value_name = "QUEUE", value_parser = value::text())]
    pub queue: Vec<String>,
    /// Only FAILED mails with this reason: `rejected`, `exhausted`, `expired`, `render`, `attachment`, `invalid`,
    /// `cancelled`, `suppressed`, `worker-lost` or `unknown-outcome`.
    #[arg(long, value_name = "REASON", value_parser = value::read(failure))]
    failure: Vec<String>,
    /// Only mails to an address with this text in it.
    #[arg(long, value_name = "TEXT", value_parser = value::text())]
    to: Option<String>,
    /// Only mails with this template.
    #[arg(long, value_name = "NAME", value_parser = value::text())]
    template: Vec<String>,
    /// Only the mail with this idempotency key.
    #[arg(long, value_name = "KEY", value_parser = value::text())]
    key: Vec<String>,
    /// Only mails of this group.
    #[arg(long, value_name = "GROUP", value_parser = value::text())]
    group: Vec<String>,
    /// Only mails created since then: so long ago (`2h`), or a TIME.
    #[arg(long, value_name = "DURATION|TIME", value_parser = value::text(), allow_hyphen_values = true)]
    since: Option<String>,
    /// Only mails created before then, so older than that.
    #[arg(long, value_name = "DURATION|TIME", visible_alias = "older-than", value_parser = value::text(), allow_hyphen_values = true)]
    until: Option<String>,
}

impl Which {
    /// The same for the store.
    pub fn filter(&self, limit: Option<u64>) -> Result<Filter, Fault> {
        let now = host::now_ms();
        let past = |option: &str, text: &Option<String>| {
            text.as_ref().map(|text| value::past(option, text, now)).transpose()
        };
        Ok(Filter {
            statuses: self.status.clone(),
            queues: self.queue.clone(),
            failures: self.failure.clone(),
            recipient: self.to.clone(),
            templates: self.template.clone(),
            keys: self.key.clone(),
            groups: self.group.clone(),
            created_since: past("--since", &self.since)?,
            created_until: past("--until", &self.until)?,
            limit,
            ..Filter::default()
        })
    }

    /// Whether anything narrows it down.
    pub fn is_everything(&self) -> bool {
        self.status.is_empty()
            && self.queue.is_empty()
            && self.failure.is_empty()
            && self.to.is_none()
            && self.template.is_empty()
            && self.key.is_empty()
            && self.group.is_empty()
            && self.since.is_none()
            && self.until.is_none()
    }
}

fn status(word: &str) -> Result<Status, String> {
    Status::from_word(&word.to_ascii_uppercase())
        .ok_or_else(|| "is PENDING, SENDING, SENT or FAILED".to_owned())
}

fn failure(word: &str) -> Result<String, String> {
    let words = Failure::ALL.map(Failure::word);
    match words.contains(&word) {
        true => Ok(word.to_owned()),
        false => Err(match nearest(word, words) {
            Some(like) => format!("is no reason; did you mean `{like}`?"),
            None => format!("is no reason; these are {}", words.join(", ")),
        }),
    }
}

const NO_IDS: &str = "no ids on standard input";

/// The mails that an intervention is about.
#[derive(Debug, Args)]
pub struct Targets {
    /// The mails' ids; `-` reads them from stdin.
    #[arg(value_parser = value::text())]
    id: Vec<String>,
    #[command(flatten)]
    which: Which,
    /// Yes, all that the filter finds.
    #[arg(long)]
    yes: bool,
}

/// What became of a mail.
pub enum Deed {
    /// A word for a program and a phrase for a person.
    Done(&'static str, String),
    /// It is in this state, which the command does not leave.
    Refused(String),
    Missing,
}

/// A command that changes single mails.
pub struct Intervention {
    /// The key under which `--json` tells what became of a mail.
    pub key: &'static str,
    /// Which mails it takes.
    pub takes: &'static str,
}

impl Intervention {
    /// Does `deed` to each of `targets` and tells what became of it. An id that was named must be there and be taken; a
    /// filter takes what it finds.
    pub fn run(
        &self,
        targets: &Targets,
        context: &Context,
        deed: impl FnOnce(&mut Store, &[MailId]) -> Result<Vec<(MailId, Deed)>, Fault>,
    ) -> Result<u8> {
        let ids = targets.ids(context)?;
        let mut store = context.store(Access::Write)?;
        let (mut missing, mut refused) = (None, None);
        for (id, what) in deed(&mut store, &ids)? {
            let (word, phrase) = match what {
                Deed::Done(word, phrase) => (word, phrase),
                Deed::Refused(state) => {
                    let fault = Fault::new(Kind::Data, format!("mail {id} is {state}"));
                    refused = refused.or(Some(fault.hint(self.takes)));
                    ("refused", format!("{state}, left as it is"))
                }
                Deed::Missing => {
                    let fault = Fault::new(Kind::NoInput, format!("no mail {id}"));
                    missing = missing.or(Some(fault.hint("`mailq list` shows what is there")));
                    ("missing", "not there".to_owned())
                }
            };
            if context.json {
                let mut told = Map::new();
                told.insert("id".into(), id.0.into());
                told.insert(self.key.into(), word.into());
                context.output.json(&Value::Object(told))?;
            } else {
                context.output.line(&format!("mail {id}: {phrase}"))?;
            }
        }
        match missing.or(refused) {
            Some(fault) if !targets.id.is_empty() => Err(fault.into()),
            _ => Ok(exit::DONE),
        }
    }
}

impl Targets {
    /// The ids: given ones, those on stdin for `-`, or all that `which` finds, if `yes`.
    fn ids(&self, context: &Context) -> Result<Vec<MailId>> {
        let (ids, which, yes) = (&self.id, &self.which, self.yes);
        if ids.is_empty() && which.is_everything() {
            return Err(Fault::new(Kind::Usage, "no mail is named")
                .hint(
                    "give ids, - for ids on stdin, or a filter such as --status FAILED with --yes",
                )
                .into());
        }
        if ids.is_empty() {
            let store = context.store(Access::Read)?;
            warn_of_unknown(&which.queue, &store, context)?;
            let found = store.ids(&which.filter(None)?)?;
            drop(store);
            if !yes {
                return Err(Fault::new(Kind::Usage, format!("{} mails match", found.len()))
                    .hint("add --yes to go on, or look first: mailq list")
                    .into());
            }
            if found.is_empty() {
                context.output.say(Level::Notice, "no mail matches");
            }
            return Ok(found);
        }
        if !which.is_everything() {
            return Err(Fault::new(Kind::Usage, "give ids or a filter, not both").into());
        }
        let read = read_ids(ids)?;
        if read.is_empty() {
            // As with a filter that finds nothing: nothing was to be done, and it is done.
            context.output.say(Level::Notice, NO_IDS);
        }
        Ok(read)
    }
}

/// The ids of `texts` like `read_ids`, for a command that says something of them: no ids are no success.
pub fn read_some_ids(texts: &[String]) -> Result<Vec<MailId>, Fault> {
    let ids = read_ids(texts)?;
    match ids.is_empty() && !texts.is_empty() {
        true => Err(Fault::new(Kind::NoInput, NO_IDS).hint("`mailq list --ids` prints some")),
        false => Ok(ids),
    }
}

/// The ids of `texts`, and those on stdin for `-`; each once.
fn read_ids(texts: &[String]) -> Result<Vec<MailId>, Fault> {
    let mut all = Vec::new();
    for text in texts {
        if text == "-" {
            for word in value::stdin("ids")?.split_whitespace() {
                all.push(id(word)?);
            }
        } else {
            all.push(id(text)?);
        }
    }
    let mut seen = HashSet::new();
    all.retain(|id: &MailId| seen.insert(id.0));
    Ok(all)
}

/// Checks the name of a queue.
pub fn queue(name: &str) -> Result<(), Fault> {
    match is_name(name) {
        true => Ok(()),
        false => Err(Fault::new(Kind::Usage, format!("{name:?} is no name of a queue"))
            .hint("use letters, digits, _ - and ., at most 64")),
    }
}

/// Warns of each of `names` that is no queue: neither configured nor one that has, or had, a mail.
pub fn warn_of_unknown(names: &[String], store: &Store, context: &Context) -> Result<(), Fault> {
    if names.is_empty() {
        return Ok(());
    }
    let mut known = store.queue_names()?;
    known.extend(context.config.queues().iter().cloned());
    known.insert("default".to_owned());
    for name in names.iter().filter(|name| !known.contains(*name)) {
        let like = nearest(name, known.iter().map(String::as_str))
            .map(|like| format!("; did you mean {like:?}?"));
        let words = format!(
            "no queue {name:?} is configured, and none has a mail{}",
            like.unwrap_or_default()
        );
        context.output.say(Level::Warning, &words);
    }
    Ok(())
}

/// Reads the id of a mail.
pub fn id(text: &str) -> Result<MailId, Fault> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(MailId(number)),
        _ => Err(Fault::new(Kind::Usage, format!("{text:?} is no mail id"))
            .hint("`mailq list` shows them")),
    }
}
