//! `mailq wait`: ends when mails have ended, and says how by its exit code.

use super::{Context, named, value};
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::MailId;
use crate::domain::state::Status;
use crate::exit;
use crate::store::{Access, Filter};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub struct WaitArgs {
    /// The mails' ids; `-` reads them from stdin.
    #[arg(required_unless_present = "group", value_parser = value::text())]
    id: Vec<String>,
    /// The mails of this group, instead of ids.
    #[arg(long, value_name = "GROUP", conflicts_with = "id", value_parser = value::text())]
    group: Option<String>,
    /// How long to wait at most [default: without end].
    #[arg(long, value_name = "DURATION", value_parser = value::duration(), allow_hyphen_values = true)]
    timeout: Option<Duration>,
}

/// How long to wait before the next look: at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

pub fn run(args: &WaitArgs, context: &Context) -> Result<u8> {
    let mut waiting = named::read_some_ids(&args.id)?;
    let store = context.store(Access::Read)?;
    if let Some(group) = &args.group {
        waiting = store.ids(&Filter { groups: vec![group.clone()], ..Filter::default() })?;
        if waiting.is_empty() {
            let fault = Fault::new(Kind::NoInput, format!("no mail of the group {group:?}"));
            return Err(fault.hint("it was never there, or it is pruned").into());
        }
    }
    let (began, mut pause) = (Instant::now(), PAUSES.0);
    let (mut failed, mut missing) = (0usize, None);
    loop {
        let seen = store.statuses(&waiting)?;
        let mut left = Vec::new();
        for (id, status) in waiting.iter().copied().zip(seen) {
            match status {
                Some(Status::Pending | Status::Sending) => left.push(id),
                Some(Status::Sent) => tell(id, "SENT", context)?,
                Some(Status::Failed) => {
                    failed += 1;
                    tell(id, "FAILED", context)?;
                }
                None => {
                    missing = missing.or(Some(id));
                    tell(id, "missing", context)?;
                }
            }
        }
        waiting = left;
        let rest = args.timeout.map(|limit| limit.saturating_sub(began.elapsed()));
        if waiting.is_empty() || rest == Some(Duration::ZERO) {
            break;
        }
        thread::sleep(rest.map_or(pause, |rest| rest.min(pause)));
        pause = (pause * 2).min(PAUSES.1);
    }
    for id in &waiting {
        tell(*id, "waiting", context)?;
    }
    if let Some(id) = missing {
        let fault = Fault::new(Kind::NoInput, format!("no mail {id}"));
        return Err(fault.hint("it was never there, or it is pruned").into());
    }
    if failed > 0 {
        let fault = Fault::new(Kind::Data, format!("{failed} of the mails FAILED"));
        return Err(fault.hint("`mailq show ID` tells why").into());
    }
    if !waiting.is_empty() {
        let fault =
            Fault::new(Kind::TryAgain, format!("{} of the mails still wait", waiting.len()));
        return Err(fault.hint("`mailq show ID` tells when each is tried next").into());
    }
    Ok(exit::DONE)
}

fn tell(id: MailId, state: &str, context: &Context) -> Result<()> {
    match context.json {
        true => context.output.json(&json!({ "id": id.0, "status": state }))?,
        false => context.output.line(&format!("mail {id}: {state}"))?,
    }
    Ok(())
}
