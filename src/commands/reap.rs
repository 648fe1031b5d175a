//! `mailq reap`: mails whose sender died go back into the queue.

use super::{Context, value};
use crate::domain::retry::millis;
use crate::exit;
use crate::host;
use crate::output::Level;
use crate::store::Access;
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct ReapArgs {
    /// How old a lease must be to be over [default: the configured lease, 2m].
    #[arg(long, value_name = "DURATION", value_parser = value::duration(), allow_hyphen_values = true)]
    older_than: Option<Duration>,
    /// Say what would be done; do nothing.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &ReapArgs, context: &Context) -> Result<u8> {
    let lease = args.older_than.unwrap_or(context.config.send().lease);
    let access = if args.dry_run { Access::Read } else { Access::Write };
    let mut store = context.store(access)?;
    let reaped = store.reap(millis(lease), host::now_ms(), &host::is_running, args.dry_run)?;
    if !args.dry_run && reaped.returned.len() + reaped.failed.len() > 0 {
        let result = json!({ "returned": reaped.returned.len(), "failed": reaped.failed.len() });
        context.note_run(&mut store, "reap", &result);
    }
    let (returned, failed, held) = (reaped.returned.len(), reaped.failed.len(), reaped.held);
    if !args.dry_run {
        let tell = |line: String| context.output.say(Level::Warning, &line);
        let (back, lost) = (&reaped.returned, &reaped.failed);
        back.iter()
            .for_each(|id| tell(format!("mail {}: its sender died; back in the queue", id.0)));
        lost.iter().for_each(|id| tell(format!("mail {}: FAILED worker-lost", id.0)));
    }
    if context.json {
        let ids =
            |all: &[crate::domain::message::MailId]| all.iter().map(|id| id.0).collect::<Vec<_>>();
        context.output.json(&json!({
            "returned": ids(&reaped.returned), "failed": ids(&reaped.failed), "held": held, "dry_run": args.dry_run,
        }))?;
        return Ok(exit::DONE);
    }
    let would = if args.dry_run { "would have " } else { "" };
    context.output.line(&format!(
        "{would}returned {returned}, failed {failed}; {held} in hand, their leases not over"
    ))?;
    Ok(exit::DONE)
}
