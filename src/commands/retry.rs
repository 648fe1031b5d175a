//! `mailq retry`: another chance.

use super::Context;
use super::named::{Deed, Intervention, Targets};
use crate::host;
use crate::store::Retried;
use anyhow::Result;
use clap::Args;

#[derive(Debug, Args)]
pub struct RetryArgs {
    #[command(flatten)]
    targets: Targets,
}

pub fn run(args: &RetryArgs, context: &Context) -> Result<u8> {
    let retry = Intervention { key: "retried", takes: "only FAILED and PENDING mails are retried" };
    retry.run(&args.targets, context, |store, ids| {
        let told = store.retry(ids, host::now_ms())?;
        Ok(told.into_iter().map(|(id, what)| (id, deed(what))).collect())
    })
}

fn deed(what: Retried) -> Deed {
    match what {
        Retried::Again => Deed::Done("again", "back in the queue"),
        Retried::Hastened => Deed::Done("hastened", "due now"),
        Retried::Refused(state) => Deed::Refused(state),
        Retried::Missing => Deed::Missing,
    }
}
