//! `mailq cancel`: waiting mails leave the queue.

use super::Context;
use super::named::{Deed, Intervention, Targets};
use crate::host;
use crate::store::Cancelled;
use anyhow::Result;
use clap::Args;

#[derive(Debug, Args)]
pub struct CancelArgs {
    #[command(flatten)]
    targets: Targets,
}

pub fn run(args: &CancelArgs, context: &Context) -> Result<u8> {
    let cancel = Intervention { key: "cancelled", takes: "only PENDING mails can be cancelled" };
    cancel.run(&args.targets, context, |store, ids| {
        let told = store.cancel(ids, host::now_ms())?;
        Ok(told.into_iter().map(|(id, what)| (id, deed(what))).collect())
    })
}

fn deed(what: Cancelled) -> Deed {
    match what {
        Cancelled::Done => Deed::Done("cancelled", "cancelled".to_owned()),
        Cancelled::Refused(state) => Deed::Refused(state),
        Cancelled::Missing => Deed::Missing,
    }
}
