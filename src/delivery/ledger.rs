//! What is in hand and what is not on disk yet: the writer's book, and the one transaction that settles it.
//!
//! An outcome stays in the book until it is recorded, or, as the last resort, written to the journal beside the
//! database. While the database is out nothing more is claimed.

use super::entry::Entry;
use super::limits::Limits;
use super::sender::Clerk;
use super::{Journal, Plan, Summary};
use crate::domain::attempt::Attempt;
use crate::domain::fault::Fault;
use crate::domain::message::MailId;
use crate::domain::state::{Change, Failure, Move};
use crate::host;
use crate::store::{COURTESY, Claimed, Lease, Recorded, Settled, Store, Turn};
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long to try to record what a server accepted before it goes to the journal.
const PERSISTENCE: Duration = Duration::from_secs(120);

/// How long to wait between two tries to write a database that is out.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// By how much the kernel lets a sleeper sleep on.
const SLACK: Duration = Duration::from_micros(60);

/// The writer looks up more often than this. One that did not was stopped, and may have lost what it holds.
const STOPPED: Duration = Duration::from_secs(1);

/// An outcome that is not on disk yet.
pub struct Waiting {
    pub settled: Settled,
    pub lane: usize,
    /// The attempts before, which tell a deferral from a mail that goes back as it was.
    pub attempts: u32,
    /// Who waits for the record.
    pub clerk: Option<Arc<Clerk>>,
    /// What to tell when it is on disk.
    pub entries: Vec<Entry>,
}

/// What one turn did.
#[derive(Default)]
pub struct Done {
    pub claimed: Vec<Claimed>,
    /// The lane of each mail that is settled now.
    pub settled_in: Vec<usize>,
    /// What is to be told of them, once nobody waits any more.
    pub entries: Vec<Entry>,
    /// The database is out, and it is worth trying again.
    pub is_waiting: bool,
}

pub struct Ledger<'a> {
    pub store: &'a mut Store,
    pub plan: &'a Plan,
    pub journal: &'a dyn Journal,
    pub summary: &'a mut Summary,
    pub limits: Limits<'a>,
    waiting: Vec<Waiting>,
    marks: Vec<(Arc<Clerk>, MailId, Arc<str>)>,
    /// The leases of mails that are not settled.
    held: HashMap<MailId, Arc<str>>,
    claimed: u64,
    renewed: Instant,
    looked: Instant,
    /// Since when the database cannot be written.
    out_since: Option<Instant>,
    turns: u64,
    /// Until when the database is left to others.
    free_until: Instant,
}

impl<'a> Ledger<'a> {
    pub fn new(
        store: &'a mut Store,
        plan: &'a Plan,
        journal: &'a dyn Journal,
        summary: &'a mut Summary,
        limits: Limits<'a>,
    ) -> Ledger<'a> {
        Ledger {
            store,
            plan,
            journal,
            summary,
            limits,
            waiting: Vec::new(),
            marks: Vec::new(),
            held: HashMap::new(),
            claimed: 0,
            renewed: Instant::now(),
            looked: Instant::now(),
            out_since: None,
            turns: 0,
            free_until: Instant::now(),
        }
    }

    /// Books an outcome.
    pub fn settle(
        &mut self,
        lease: Lease,
        change: Change,
        waiting: (usize, u32),
        attempt: Option<Attempt>,
        (clerk, entries): (Option<Arc<Clerk>>, Vec<Entry>),
    ) {
        let (lane, attempts) = waiting;
        self.waiting.push(Waiting {
            settled: Settled { lease, change, attempt },
            lane,
            attempts,
            clerk,
            entries,
        });
    }

    /// Books what becomes of a mail that no sender had in hand.
    pub fn dismiss(
        &mut self,
        lease: Lease,
        change: Change,
        waiting: (usize, u32),
        entries: Vec<Entry>,
    ) {
        self.settle(lease, change, waiting, None, (None, entries));
    }

    /// Books the mark of a mail whose final dot is about to leave.
    pub fn mark(&mut self, clerk: Arc<Clerk>, id: MailId, holder: Arc<str>) {
        self.marks.push((clerk, id, holder));
    }

    /// Whether something is booked that could be written now.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.marks.is_empty()
    }

    /// How many mails of each of `lanes` lanes the next turn records.
    pub fn settling(&self, lanes: usize) -> Vec<usize> {
        let mut settling = vec![0; lanes];
        self.waiting.iter().for_each(|one| settling[one.lane] += 1);
        settling
    }

    /// Whether no mail is in hand and nothing waits.
    pub fn is_clear(&self) -> bool {
        self.held.is_empty() && !self.has_waiting()
    }

    /// Leaves the database to others for as long as it was just held, a moment at most: a writer that begins again at
    /// once starves them. The time in which there was nothing to write counts.
    pub fn stand_back(&self) {
        loop {
            let left = self.free_until.saturating_duration_since(Instant::now());
            match left.checked_sub(SLACK) {
                Some(left) => thread::sleep(left),
                None if left.is_zero() => return,
                None => thread::yield_now(),
            }
        }
    }

    /// One transaction, if there is something to do: `wants` says how many mails each lane could use.
    pub fn turn(&mut self, wants: &[usize]) -> Result<Done, Fault> {
        let renew = self.due_leases();
        let budget = self.budget();
        let is_hungry = budget > 0 && wants.iter().any(|wanted| *wanted > 0);
        if !self.has_waiting() && renew.is_empty() && !is_hungry {
            return Ok(Done::default());
        }
        let (settled, rest): (Vec<_>, Vec<_>) = mem::take(&mut self.waiting)
            .into_iter()
            .map(|one| (one.settled, (one.lane, one.attempts, one.clerk, one.entries)))
            .unzip();
        let mark: Vec<_> =
            self.marks.iter().map(|(_, id, holder)| (*id, Arc::clone(holder))).collect();
        self.turns += 1;
        let holder: Arc<str> = format!("{}-{}", self.plan.worker, self.turns).into();
        let now = host::now_ms();
        let charges = self.limits.charges(now);
        let (renew, mark, charges) = (&renew, &mark, &charges);
        let turn = Turn { settled, renew, mark, charges, holder: &holder, now };
        let limits = &self.limits;
        let begun = Instant::now();
        let turned = self.store.turn(turn, &mut |due| limits.choice(due, wants, budget, now));
        let ended = Instant::now();
        self.free_until = ended + COURTESY.min(ended - begun);
        match turned {
            Ok(turned) => {
                self.out_since = None;
                self.limits.counted();
                if is_hungry {
                    self.summary.limited = turned.limited;
                }
                let mut done = Done { claimed: turned.claimed, ..Done::default() };
                for id in turned.retaken {
                    self.journal.warn(&format!(
                        "mail {id}: its lease was lost while it was in hand, and is taken back"
                    ));
                }
                for ((settled, recorded), (lane, attempts, clerk, entries)) in
                    turned.recorded.into_iter().zip(rest)
                {
                    clerk.iter().for_each(|clerk| clerk.acknowledge());
                    done.settled_in.push(lane);
                    if self.account(&settled, &recorded, attempts) {
                        done.entries.extend(entries);
                    }
                }
                mem::take(&mut self.marks).iter().for_each(|(clerk, _, _)| clerk.acknowledge());
                self.claimed += done.claimed.len() as u64;
                for Claimed { lease, .. } in &done.claimed {
                    self.held.insert(lease.id(), Arc::clone(lease.holder()));
                }
                Ok(done)
            }
            Err((fault, is_passing, settled)) => {
                let back = settled.into_iter().zip(rest);
                self.waiting.extend(back.map(|(settled, (lane, attempts, clerk, entries))| {
                    Waiting { settled, lane, attempts, clerk, entries }
                }));
                self.endure(fault, is_passing)
            }
        }
    }

    /// A claimed mail goes back unsent, and does not count for the limit.
    pub fn unclaim(&mut self) {
        self.claimed = self.claimed.saturating_sub(1);
    }

    /// How many mails may be claimed now.
    pub fn budget(&self) -> usize {
        let left = self.plan.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.claimed));
        let left = usize::try_from(left).unwrap_or(usize::MAX).min(self.plan.batch_size);
        if self.out_since.is_some() { 0 } else { left }
    }

    /// The database is out: go on trying while something could be lost, then give up with `fault`.
    fn endure(&mut self, fault: Fault, is_passing: bool) -> Result<Done, Fault> {
        if self.out_since.is_none() {
            self.journal.warn(&format!("cannot record for now, and claim nothing more: {fault}"));
        }
        let since = *self.out_since.get_or_insert_with(Instant::now);
        if !is_passing || self.is_clear() || since.elapsed() >= PERSISTENCE {
            return Err(fault);
        }
        thread::sleep(RETRY_PAUSE);
        Ok(Done { is_waiting: true, ..Done::default() })
    }

    /// The leases to renew, when it is time: a quarter of the lease after the last time, and before anything is claimed
    /// by a run that was stopped meanwhile.
    fn due_leases(&mut self) -> Vec<(MailId, Arc<str>)> {
        let was_stopped = mem::replace(&mut self.looked, Instant::now()).elapsed() >= STOPPED;
        let is_time = was_stopped || self.renewed.elapsed() >= self.plan.lease / 4;
        if self.held.is_empty() || !is_time {
            return Vec::new();
        }
        self.renewed = Instant::now();
        // What is settled in the same transaction is not in hand any more.
        let is_settled = |id: &MailId| self.waiting.iter().any(|one| one.settled.lease.id() == *id);
        let held = self.held.iter().filter(|(id, _)| !is_settled(id));
        held.map(|(id, holder)| (*id, Arc::clone(holder))).collect()
    }

    /// Counts an outcome that is on disk. Returns whether it is the mail's.
    fn account(&mut self, settled: &Settled, recorded: &Recorded, attempts: u32) -> bool {
        let Settled { lease, change, .. } = settled;
        let id = lease.id();
        self.held.remove(&id);
        let error = change.error().unwrap_or_default();
        match recorded {
            Recorded::Done => {}
            Recorded::Reconciled => self
                .journal
                .warn(&format!("mail {id}: its lease was lost, but the server has accepted it")),
            Recorded::LeaseLost { state } if change.to() == Move::Sent => {
                self.journal.warn(&format!(
                    "mail {id}: accepted by the server after its lease was lost; it is {state} now and may go twice"
                ));
                return false;
            }
            Recorded::LeaseLost { state } => {
                self.journal.warn(&format!(
                    "mail {id}: its lease was lost, it is {state} now; not recorded: {error}"
                ));
                return false;
            }
        }
        match change.to() {
            Move::Sent => self.summary.sent += 1,
            Move::Again { .. } if change.attempts() > attempts => self.summary.deferred += 1,
            Move::Again { .. } => {
                self.journal.note(&format!("mail {id}: back in the queue {error}"))
            }
            Move::Failed(failure) => {
                self.summary.failed += 1;
                self.summary.failures.push(id);
                self.summary.expired += u64::from(failure == Failure::Expired);
                self.summary.suppressed += u64::from(failure == Failure::Suppressed);
            }
        }
        true
    }

    /// Tells every sender that waits for a record that there will be none.
    pub fn disappoint(&mut self) {
        let clerks = self.waiting.iter().filter_map(|one| one.clerk.as_ref());
        clerks.chain(self.marks.iter().map(|(clerk, _, _)| clerk)).for_each(|one| one.give_up());
        self.marks.clear();
    }

    /// The last resort: what servers accepted goes to the journal.
    pub fn save(&mut self) {
        let settled: Vec<Settled> =
            mem::take(&mut self.waiting).into_iter().map(|one| one.settled).collect();
        match self.store.journal(&settled, host::now_ms()) {
            Ok(0) => {}
            Ok(count) => self.journal.warn(&format!(
                "{count} accepted mails are in the journal beside the database; the next run records them"
            )),
            Err(worse) => self.journal.warn(&worse.to_string()),
        }
    }
}
