//! `mailq retry`: another chance.

use super::Context;
use super::named::{Deed, Intervention, Targets};
use super::{send_batch, value};
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::host;
use crate::output::Level;
use crate::store::{Breaker, Retried, Store};
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
        let now = host::now_ms();
        let told = store.retry(ids, now)?;
        for (id, _) in told.iter().filter(|(_, what)| *what == Retried::Again) {
            let Some(Ok(record)) = store.show(*id)? else { continue };
            for who in store.suppressed_of(&record.mail)? {
                let words = format!(
                    "mail {id}: {who} is still suppressed and gets nothing; `mailq suppress remove {who}` ends that"
                );
                context.output.say(Level::Warning, &words);
            }
        }
        let mut open = store.breakers()?;
        open.retain(|one| one.is_open(now));
        let each = told
            .into_iter()
            .map(|(id, what)| Ok((id, deed(what, obstacle(id, &open, store, context)?))));
        each.collect()
    })
}

/// What keeps a mail that is due from going: its smarthost is left alone.
fn obstacle(
    id: MailId,
    open: &[Breaker],
    store: &Store,
    context: &Context,
) -> Result<String, Fault> {
    if open.is_empty() {
        return Ok(String::new());
    }
    let Some(Ok(record)) = store.show(id)? else { return Ok(String::new()) };
    let scope = send_batch::scope_of(&context.config, &record.mail.queue);
    Ok(open.iter().find(|one| one.scope == scope).map_or(String::new(), |one| {
        let until = value::show_moment(one.until);
        format!(", but smarthost {scope} is left alone until {until}: run mailq check")
    }))
}

fn deed(what: Retried, obstacle: String) -> Deed {
    match what {
        Retried::Again => Deed::Done("again", format!("back in the queue{obstacle}")),
        Retried::Hastened => {
            let now = if obstacle.is_empty() { " now" } else { "" };
            Deed::Done("hastened", format!("due{now}{obstacle}"))
        }
        Retried::Refused(state) => Deed::Refused(state),
        Retried::Missing => Deed::Missing,
    }
}
