//! `mailq cancel`: waiting mails leave the queue.

use super::Context;
use super::list::{Which, chosen};
use crate::domain::fault::{Fault, Kind};
use crate::exit;
use crate::host;
use crate::store::{Access, Cancelled};
use anyhow::Result;
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The mails' ids; `-` reads them from stdin.
    id: Vec<String>,
    #[command(flatten)]
    which: Which,
    /// Yes, all that the filter finds.
    #[arg(long)]
    yes: bool,
}

pub fn run(args: CancelArgs, context: &Context) -> Result<u8> {
    let ids = chosen(&args.id, &args.which, args.yes, context)?;
    let mut store = context.store(Access::Write)?;
    let mut refused = None;
    for (id, what) in store.cancel(&ids, host::now_ms())? {
        let (word, words) = match &what {
            Cancelled::Done => ("cancelled", format!("mail {id}: cancelled")),
            Cancelled::Refused(state) => ("refused", format!("mail {id}: {state}, left as it is")),
            Cancelled::Missing => ("missing", format!("mail {id}: not there")),
        };
        match what {
            Cancelled::Done => {}
            Cancelled::Missing => {
                refused = Some(
                    Fault::new(Kind::NoInput, format!("no mail {id}"))
                        .hint("`mailq list` shows what is there"),
                );
            }
            Cancelled::Refused(state) => {
                refused = refused.or_else(|| {
                    Some(
                        Fault::new(Kind::Data, format!("mail {id} is {state}"))
                            .hint("only PENDING mails can be cancelled"),
                    )
                });
            }
        }
        match context.json {
            true => context.output.json(&json!({ "id": id.0, "cancelled": word }))?,
            false => context.output.line(&words)?,
        }
    }
    match refused {
        Some(fault) if !args.id.is_empty() => Err(fault.into()),
        _ => Ok(exit::DONE),
    }
}
