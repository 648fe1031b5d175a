//! `mailq retry`: another chance.

use super::Context;
use super::list::{Which, chosen};
use crate::domain::fault::{Fault, Kind};
use crate::exit;
use crate::host;
use crate::store::{Access, Retried};
use anyhow::Result;
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub struct RetryArgs {
    /// The mails' ids; `-` reads them from stdin.
    id: Vec<String>,
    #[command(flatten)]
    which: Which,
    /// Yes, all that the filter finds.
    #[arg(long)]
    yes: bool,
}

pub fn run(args: RetryArgs, context: &Context) -> Result<u8> {
    let ids = chosen(&args.id, &args.which, args.yes, context)?;
    let mut store = context.store(Access::Write)?;
    let mut refused = None;
    for (id, what) in store.retry(&ids, host::now_ms())? {
        let (word, words) = match &what {
            Retried::Again => ("again", format!("mail {id}: back in the queue")),
            Retried::Hastened => ("hastened", format!("mail {id}: due now")),
            Retried::Refused(state) => ("refused", format!("mail {id}: {state}, left as it is")),
            Retried::Missing => ("missing", format!("mail {id}: not there")),
        };
        match what {
            Retried::Missing => {
                refused = Some(
                    Fault::new(Kind::NoInput, format!("no mail {id}"))
                        .hint("`mailq list` shows what is there"),
                );
            }
            Retried::Refused(state) => {
                refused = refused.or_else(|| {
                    Some(
                        Fault::new(Kind::Data, format!("mail {id} is {state}"))
                            .hint("only FAILED and PENDING mails are retried"),
                    )
                });
            }
            Retried::Again | Retried::Hastened => {}
        }
        match context.json {
            true => context.output.json(&json!({ "id": id.0, "retried": word }))?,
            false => context.output.line(&words)?,
        }
    }
    // A filter takes what it finds; an id that was named must be there.
    match refused {
        Some(fault) if !args.id.is_empty() => Err(fault.into()),
        _ => Ok(exit::DONE),
    }
}
