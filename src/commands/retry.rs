//! `mailq retry`: another chance.

use super::Context;
use super::named::{Deed, Intervention, Targets};
use crate::host;
use crate::output::Level;
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
        for (id, _) in told.iter().filter(|(_, what)| *what == Retried::Again) {
            let Some(Ok(record)) = store.show(*id)? else { continue };
            for who in store.suppressed_of(&record.mail)? {
                let words = format!(
                    "mail {id}: {who} is still suppressed and gets nothing; `mailq suppress remove {who}` ends that"
                );
                context.output.say(Level::Warning, &words);
            }
        }
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
