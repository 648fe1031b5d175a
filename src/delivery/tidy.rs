//! What a run does before it sends: records what an earlier one could not, and ends what is over.

use super::entry::{end, waiting};
use super::{Entry, Journal, Plan, Summary};
use crate::domain::fault::Fault;
use crate::domain::message::Record;
use crate::domain::retry::millis;
use crate::host;
use crate::store::Store;

/// Records what an earlier run could not, and ends what is over: dead senders' leases, and waiting.
pub fn up(
    store: &mut Store,
    plan: &Plan,
    journal: &dyn Journal,
    summary: &mut Summary,
) -> Result<(), Fault> {
    let replayed = store.replay_journal()?;
    if replayed > 0 {
        journal.warn(&format!(
            "recorded {replayed} outcomes that an earlier run could only write to its journal"
        ));
    }
    let now = host::now_ms();
    let reaped = store.reap(millis(plan.lease), now, &host::is_running, false)?;
    let max_age = |queue: &str| millis(plan.policy(queue).max_age);
    summary.expired = store.expire(&max_age, plan.longest_wait_ms(), now)?;
    summary.reaped = (reaped.returned.len() + reaped.failed.len()) as u64;
    summary.failed = summary.expired + reaped.failed.len() as u64;
    summary.failures = reaped.failed;
    if summary.expired > 0 {
        summary.failures.extend(store.expired_at(now)?);
    }
    for id in &summary.failures {
        // What cannot be read cannot be told of; `on_failed` and `list` name it.
        if let Some(Ok(record)) = store.show(*id)? {
            tell(&record, journal, now);
        }
    }
    Ok(())
}

/// A line for each recipient of a mail that ended here.
fn tell(record: &Record, journal: &dyn Journal, now: i64) {
    let Record { mail, failure, error_message, .. } = record;
    let failure = failure.as_deref().unwrap_or_default();
    let words = error_message.as_deref().unwrap_or_default();
    let entry = |to| Entry {
        attempt: mail.attempt_count,
        delay: now.saturating_sub(mail.created_at).max(0),
        ..end(mail.id, &mail.queue, to, failure, words)
    };
    journal.entries(&waiting(mail).into_iter().map(entry).collect::<Vec<_>>());
}
