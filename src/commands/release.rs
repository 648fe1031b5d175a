//! `mailq release`: a queue that was held goes on.

use super::{Context, named};
use crate::exit;
use crate::store::Access;
use anyhow::Result;
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// The queues.
    #[arg(value_name = "QUEUE", required = true, value_parser = super::value::text())]
    queue: Vec<String>,
}

pub fn run(args: &ReleaseArgs, context: &Context) -> Result<u8> {
    args.queue.iter().try_for_each(|name| named::queue(name))?;
    let mut store = context.store(Access::Write)?;
    for queue in &args.queue {
        let was_held = store.release(queue)?;
        if context.json {
            context.output.json(&json!({ "queue": queue, "held": false, "was_held": was_held }))?;
            continue;
        }
        let words = if was_held { "released" } else { "was not held" };
        context.output.line(&format!("queue {queue}: {words}"))?;
    }
    Ok(exit::DONE)
}
