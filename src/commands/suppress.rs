//! `mailq suppress`: who is to get no mail.

use super::{Context, value};
use crate::domain::address::Address;
use crate::domain::fault::{Fault, Kind, one_line};
use crate::exit;
use crate::host;
use crate::output::{Level, Table};
use crate::store::Access;
use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::{Path, PathBuf};

/// More bad lines than this are only counted.
const MOST_TOLD: usize = 50;

/// The longest reason that is kept, in bytes.
const LONGEST_REASON: usize = 300;

#[derive(Debug, Args)]
pub struct SuppressArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Send nothing to these addresses from now on.
    Add {
        /// The addresses, as `ada@example.com`.
        #[arg(required = true, value_name = "ADDR", value_parser = value::text())]
        address: Vec<String>,
        /// Why, for the list and for the mails that are not sent.
        #[arg(long, value_name = "TEXT", value_parser = value::text())]
        reason: Option<String>,
    },
    /// Send to these addresses again.
    Remove {
        /// The addresses, as `ada@example.com`.
        #[arg(required = true, value_name = "ADDR", value_parser = value::text())]
        address: Vec<String>,
    },
    /// List who is to get no mail.
    List,
    /// Read addresses from a file: all of them or none.
    Import {
        /// An address a line, with a comma and the reason behind it if there is one; `-` is stdin.
        #[arg(value_name = "FILE|-")]
        file: PathBuf,
        /// The reason for those that have none.
        #[arg(long, value_name = "TEXT", value_parser = value::text())]
        reason: Option<String>,
    },
}

pub fn run(args: &SuppressArgs, context: &Context) -> Result<u8> {
    match &args.what {
        What::Add { address, reason } => {
            let reason = reason.as_deref().map(kept);
            let all = addresses(address)?.into_iter().map(|one| (one, reason.clone()));
            add(&all.collect::<Vec<_>>(), context)
        }
        What::Remove { address } => remove(address, context),
        What::List => list(context),
        What::Import { file, reason } => add(&read(file, reason.as_deref(), context)?, context),
    }
}

fn kept(reason: &str) -> String {
    one_line(reason, LONGEST_REASON)
}

fn addresses(texts: &[String]) -> Result<Vec<Address>, Fault> {
    let read = |text: &String| {
        Address::parse(text)
            .map_err(|fault| fault.hint("write the bare address, without a name: ada@example.com"))
    };
    texts.iter().map(read).collect()
}

fn add(all: &[(Address, Option<String>)], context: &Context) -> Result<u8> {
    let added = context.store(Access::Create)?.suppress(all, host::now_ms())?;
    let known = all.len() as u64 - added;
    if context.json {
        context.output.json(&json!({ "added": added, "known": known }))?;
    } else {
        context.output.line(&format!("{added} added, {known} known before"))?;
    }
    Ok(exit::DONE)
}

fn remove(texts: &[String], context: &Context) -> Result<u8> {
    let all = addresses(texts)?;
    let missing = context.store(Access::Write)?.unsuppress(&all)?;
    let removed = all.len() - missing.len();
    if context.json {
        context.output.json(&json!({ "removed": removed, "missing": missing.len() }))?;
    } else {
        context.output.line(&format!("{removed} removed"))?;
    }
    match missing.first() {
        None => Ok(exit::DONE),
        Some(one) => Err(Fault::new(Kind::NoInput, format!("{one} was not suppressed"))
            .hint("`mailq suppress list` shows who is")
            .into()),
    }
}

fn list(context: &Context) -> Result<u8> {
    let mut table = Table::new(&["address", "since", "reason"]);
    context.store(Access::Read)?.suppressed(&mut |one| {
        if context.json {
            let told = json!({ "address": one.address, "since": one.since, "reason": one.reason });
            return context
                .output
                .json(&told)
                .map_err(|unwritable| Fault::new(Kind::Io, unwritable.to_string()));
        }
        let since = value::show_moment(one.since);
        table.row(vec![one.address, since, one.reason.unwrap_or_default()]);
        Ok(())
    })?;
    if !context.json {
        context.output.print(&table.to_string())?;
    }
    Ok(exit::DONE)
}

/// The addresses in a file, each checked.
fn read(
    file: &Path,
    reason: Option<&str>,
    context: &Context,
) -> Result<Vec<(Address, Option<String>)>, Fault> {
    let (name, text) = value::whole("suppress import", file)?;
    let (mut all, mut bad) = (Vec::new(), 0);
    for (number, line) in (1..).zip(text.lines()) {
        let (address, why) = line.split_once(',').unwrap_or((line, ""));
        let (address, why) = (unquoted(address), unquoted(why));
        let is_title = number == 1 && !address.contains('@');
        if address.is_empty() || address.starts_with('#') || is_title {
            continue;
        }
        let why = Some(why).filter(|why| !why.is_empty()).or(reason);
        match Address::parse(address) {
            Ok(address) => all.push((address, why.map(kept))),
            Err(fault) => {
                bad += 1;
                if bad <= MOST_TOLD {
                    context.output.say(Level::Error, &format!("{name}:{number}: {fault}"));
                }
            }
        }
    }
    if bad > MOST_TOLD {
        context.output.say(Level::Error, &format!("… and {} more", bad - MOST_TOLD));
    }
    if bad > 0 {
        let lines = value::count(bad, "bad line");
        return Err(Fault::new(Kind::Data, format!("{name}: {lines}, nobody is added"))
            .hint("mend the lines named above and run it again"));
    }
    Ok(all)
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
