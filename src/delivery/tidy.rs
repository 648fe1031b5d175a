//! Housekeeping before a run: what an earlier one could not record, dead senders' leases, and waiting that is over.

use super::{Journal, Plan, Summary};
use crate::domain::fault::Fault;
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
    Ok(())
}
