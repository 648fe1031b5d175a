//! The run: claim → render → build → hand over → record → count, until nothing is due.
//!
//! One thread, the writer, owns the database connection. Each sender thread owns one road. No transaction is open
//! while a mail is rendered or on the network, and nothing stands between a server's reply and its record: the sender
//! reports it, the writer commits what is waiting, and only then does the sender end its next mail. So a crash leaves
//! at most one mail a road of which nobody knows whether it went.

mod crew;
mod desk;
mod domains;
mod entry;
mod ledger;
mod limits;
mod prepare;
mod sender;
mod tidy;
mod writer;

pub use entry::{Entry, Verdict};
pub use prepare::Workshop;

use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::domain::rate::Rate;
use crate::domain::retry::Policy;
use crate::store::{Breaker, Limited, Store};
use crate::transport::Relay;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Makes a road for a sender thread. The road connects when it has a mail.
pub type RelayMaker = Box<dyn Fn() -> Box<dyn Relay> + Send + Sync>;

/// Queues that share a smarthost and its connections.
pub struct Lane {
    /// The queues by name, in order of priority; a lane that takes `others` takes every queue that no lane names, too.
    pub queues: Vec<String>,
    pub others: bool,
    /// How many connections at most.
    pub concurrency: usize,
    /// What the breaker knows the smarthost by.
    pub scope: String,
    pub relay: RelayMaker,
}

/// What a run is to do.
pub struct Plan {
    pub lanes: Vec<Lane>,
    /// The policies of queues with their own; `policy` is for all others.
    pub policies: HashMap<String, Policy>,
    pub policy: Policy,
    /// The rates of the queues that have one.
    pub rates: HashMap<String, Vec<Rate>>,
    /// How many mails to one domain are in hand at once, for the queues that have such a limit.
    pub max_per_domain: HashMap<String, usize>,
    /// Wait where a rate is met, instead of ending.
    pub waits: bool,
    /// Only these queues; empty: all.
    pub only: Vec<String>,
    pub lease: Duration,
    /// How many mails a transaction claims at most.
    pub batch_size: usize,
    /// How many mails to claim in all.
    pub limit: Option<u64>,
    pub time_limit: Option<Duration>,
    /// Who this process is, as `locked_by` says it.
    pub worker: String,
}

impl Plan {
    /// The policy of `queue`.
    pub fn policy(&self, queue: &str) -> &Policy {
        self.policies.get(queue).unwrap_or(&self.policy)
    }

    /// The lane that serves `queue`, by its place.
    fn lane_of(&self, queue: &str) -> Option<usize> {
        let named = self.lanes.iter().position(|lane| lane.queues.iter().any(|one| one == queue));
        named.or_else(|| self.lanes.iter().position(|lane| lane.others))
    }

    /// Whether `--queue` lets `queue` through.
    fn wants(&self, queue: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|one| one == queue)
    }

    /// The longest wait that any policy gives: a retry further ahead was set by a wrong clock.
    fn longest_wait_ms(&self) -> i64 {
        let all = self.policies.values().chain([&self.policy]);
        all.map(Policy::longest_wait_ms).max().unwrap_or_default()
    }
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    pub sent: u64,
    pub deferred: u64,
    pub failed: u64,
    /// Which they are.
    pub failures: Vec<MailId>,
    /// The roads that are out, and why.
    pub outages: Vec<Breaker>,
    /// The queues with mails that a rate kept back when the run ended.
    pub limited: Vec<Limited>,
    /// Mails of dead senders that this run returned or gave up first.
    pub reaped: u64,
    /// Of `failed`: mails whose time was over, and mails to nobody but suppressed people.
    pub expired: u64,
    pub suppressed: u64,
    pub took: Duration,
}

/// What a run tells while it goes on. A line each.
pub trait Journal: Sync {
    /// Something an admin must know.
    fn warn(&self, line: &str);
    /// The run is to end, with so many mails in hand.
    fn stopping(&self, in_hand: usize);
    /// Something that only those who look closely want to know.
    fn note(&self, line: &str);
    /// What became of recipients of mails, one each, now that it is on disk.
    fn entries(&self, entries: &[Entry]);
}

/// Sends what is due until nothing is, a limit is met, or `stop` is set.
///
/// # Errors
/// The database could not be read or written. What servers had accepted by then is recorded, in the database or in the
/// journal beside it.
pub fn run(
    store: &mut Store,
    plan: &Plan,
    workshop: &Workshop,
    stop: &AtomicBool,
    journal: &dyn Journal,
) -> Result<Summary, Fault> {
    writer::run(store, plan, workshop, stop, journal)
}

#[cfg(test)]
mod tests;
