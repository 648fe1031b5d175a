//! `mailq hold`: nothing of a queue is sent until it is released.

use super::{Context, named, value};
use crate::exit;
use crate::host;
use crate::store::{Access, Held};
use anyhow::Result;
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub struct HoldArgs {
    /// The queues; one without a mail in it can be held too.
    #[arg(value_name = "QUEUE", required = true, value_parser = super::value::text())]
    queue: Vec<String>,
    /// Why: `stats`, `show` and the listing tell it.
    #[arg(long, value_name = "TEXT", value_parser = super::value::text())]
    reason: Option<String>,
}

pub fn run(args: &HoldArgs, context: &Context) -> Result<u8> {
    args.queue.iter().try_for_each(|name| named::queue(name))?;
    let mut store = context.store(Access::Write)?;
    named::warn_of_unknown(&args.queue, &store, context)?;
    for queue in &args.queue {
        let was_held = store.hold(queue, args.reason.as_deref(), host::now_ms())?;
        if context.json {
            context.output.json(&json!({ "queue": queue, "held": true, "was_held": was_held }))?;
            continue;
        }
        let words = if was_held { "is held already" } else { "is held" };
        context.output.line(&format!("queue {queue}: {words}"))?;
    }
    Ok(exit::DONE)
}

/// Since when a queue is held, and why.
pub fn words(held: &Held) -> String {
    let since = value::show_moment(held.since);
    let reason = held.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("queue {} is held since {since}{reason}", held.queue)
}
