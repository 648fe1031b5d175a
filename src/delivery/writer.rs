//! The one writer: commits what the senders report, keeps the leases, claims what they need next.

use super::crew::{Crew, Post};
use super::desk::{Desk, Job};
use super::sender::{Clerk, Finished, Report};
use super::{Journal, Plan, Summary, Workshop};
use crate::domain::fault::Fault;
use crate::domain::message::{Mail, MailId};
use crate::domain::outcome::{Outcome, Trouble};
use crate::domain::retry::millis;
use crate::domain::state::{self, Change, Move};
use crate::host;
use crate::store::{Arm, COURTESY, Claimed, Lease, Recorded, Settled, Store, Turn};
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How often the writer looks up from waiting: for a signal, a limit of time, a lease to renew.
const GLANCE: Duration = Duration::from_millis(50);

/// How long to try to record what a server accepted before it goes to the journal.
const PERSISTENCE: Duration = Duration::from_secs(120);

/// How long to wait between two tries to write a database that is out.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Housekeeping first, then the run proper if something is due.
pub fn run(
    store: &mut Store,
    plan: &Plan,
    workshop: &Workshop,
    stop: &AtomicBool,
    journal: &dyn Journal,
) -> Result<Summary, Fault> {
    let began = Instant::now();
    let mut summary = Summary::default();
    let replayed = store.replay_journal()?;
    if replayed > 0 {
        journal.warn(&format!(
            "recorded {replayed} outcomes that an earlier run could only write to its journal"
        ));
    }
    let now = host::now_ms();
    let reaped = store.reap(millis(plan.lease), now, &host::is_running, false)?;
    summary.reaped = (reaped.returned.len() + reaped.failed.len()) as u64;
    let max_age = |queue: &str| millis(plan.policy(queue).max_age);
    summary.expired = store.expire(&max_age, plan.longest_wait_ms(), now)?;
    summary.failed = summary.expired + reaped.failed.len() as u64;

    let desks: Vec<Desk> = plan.lanes.iter().map(|_| Desk::default()).collect();
    let mut posts = Vec::new();
    let due = store.due_queues(now)?;
    for (index, lane) in plan.lanes.iter().enumerate() {
        let has_work = due
            .iter()
            .any(|queue| plan.wants(queue) && plan.lane_of(queue) == Some(index));
        let breaker = store.open_breaker(&lane.scope, now)?;
        let ceiling = lane.concurrency.max(1);
        let open = breaker.is_none();
        posts.push(Post {
            desk: &desks[index],
            open,
            has_breaker: true,
            outstanding: 0,
            senders: 0,
            ceiling,
        });
        summary.outages.extend(breaker.filter(|_| has_work));
    }
    let is_idle = !due.iter().any(|queue| plan.wants(queue)) || posts.iter().all(|post| !post.open);
    if !is_idle && plan.limit != Some(0) {
        let (reports, inbox) = mpsc::channel();
        let crew = Crew {
            plan,
            workshop,
            stop,
            reports,
        };
        thread::scope(|scope| {
            let mut writer = Writer {
                store,
                plan,
                stop,
                journal,
                posts,
                inbox,
                waiting: Vec::new(),
                marks: Vec::new(),
                held: HashMap::new(),
                claimed: 0,
                began,
                renewed: Instant::now(),
                out_since: None,
                turns: 0,
                summary: &mut summary,
            };
            writer.work(scope, &crew)
        })?;
    }
    summary.took = began.elapsed();
    Ok(summary)
}

/// An outcome that is not on disk yet.
struct Waiting {
    settled: Settled,
    lane: usize,
    /// The attempts before, which tell a deferral from a mail that goes back as it was.
    attempts: u32,
    clerk: Option<Arc<Clerk>>,
}

struct Writer<'a, 'w> {
    store: &'w mut Store,
    plan: &'a Plan,
    stop: &'a AtomicBool,
    journal: &'w dyn Journal,
    posts: Vec<Post<'a>>,
    inbox: Receiver<Report>,
    waiting: Vec<Waiting>,
    marks: Vec<(Arc<Clerk>, MailId, Arc<str>)>,
    /// The leases of mails that are not settled.
    held: HashMap<MailId, Arc<str>>,
    claimed: u64,
    began: Instant,
    renewed: Instant,
    /// Since when the database cannot be written.
    out_since: Option<Instant>,
    turns: u64,
    summary: &'w mut Summary,
}

impl<'a> Writer<'a, '_> {
    fn work<'scope>(
        &mut self,
        scope: &'scope thread::Scope<'scope, 'a>,
        crew: &Crew<'a>,
    ) -> Result<(), Fault> {
        loop {
            if self.must_stop() {
                self.close_all();
            }
            match self.turn() {
                Ok(claimed) => {
                    for (lane, post) in self.posts.iter_mut().enumerate() {
                        if let Err(e) = crew.hire(scope, lane, post) {
                            self.journal
                                .warn(&format!("cannot start another sender: {e}"));
                            post.ceiling = post.senders;
                        }
                    }
                    let is_over = claimed == 0 && self.waiting.is_empty() && self.held.is_empty();
                    if is_over || self.has_nobody_left() {
                        self.close_all();
                        return self.see_off();
                    }
                }
                Err(fault) => return self.save_what_was_accepted(fault),
            }
            self.listen();
        }
    }

    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self
                .plan
                .time_limit
                .is_some_and(|limit| self.began.elapsed() >= limit)
    }

    /// Jobs are waiting, and no thread could be started to do them.
    fn has_nobody_left(&self) -> bool {
        self.posts.iter().any(|post| post.ceiling == 0 && post.open)
    }

    fn close_all(&mut self) {
        for lane in 0..self.posts.len() {
            self.give_back_jobs(lane, None);
        }
    }

    fn give_back_jobs(&mut self, lane: usize, words: Option<&str>) {
        for Job { lease, mail } in self.posts[lane].close() {
            let change = state::give_back(&mail, self.plan.policy(&mail.queue), words, None);
            self.settle(lane, lease, &mail, change, None, None);
        }
    }

    fn settle(
        &mut self,
        lane: usize,
        lease: Lease,
        mail: &Mail,
        change: Change,
        send_ms: Option<i64>,
        clerk: Option<Arc<Clerk>>,
    ) {
        let settled = Settled {
            lease,
            change,
            send_ms,
        };
        self.waiting.push(Waiting {
            settled,
            lane,
            attempts: mail.attempt_count,
            clerk,
        });
    }

    /// Waits for a report, then takes all that are there.
    fn listen(&mut self) {
        let patience = if self.waiting.is_empty() {
            GLANCE
        } else {
            Duration::ZERO
        };
        if let Ok(first) = self.inbox.recv_timeout(patience) {
            self.hear(first);
        }
        while let Ok(report) = self.inbox.try_recv() {
            self.hear(report);
        }
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Outcome(finished) => self.hear_outcome(*finished),
            Report::AboutToEnd { clerk, id, holder } => self.marks.push((clerk, id, holder)),
            Report::Proven { lane } => {
                if mem::take(&mut self.posts[lane].has_breaker)
                    && let Err(fault) = self.store.close_breaker(&self.plan.lanes[lane].scope)
                {
                    self.journal
                        .warn(&format!("cannot close the breaker: {fault}"));
                }
            }
            Report::Gone { lane, retired } => {
                let post = &mut self.posts[lane];
                post.senders = post.senders.saturating_sub(1);
                if let Some(trouble) = retired {
                    post.ceiling = post.senders.max(1);
                    let (words, ceiling) = (trouble.words, post.ceiling);
                    self.journal
                        .warn(&format!("going on with {ceiling} connections: {words}"));
                }
            }
        }
    }

    fn hear_outcome(&mut self, finished: Finished) {
        let Finished {
            lane,
            lease,
            mail,
            recipients,
            outcome,
            send_ms,
            clerk,
        } = finished;
        let policy = self.plan.policy(&mail.queue);
        let now = host::now_ms();
        let change = match &outcome {
            None => state::give_back(&mail, policy, None, None),
            Some(Outcome::Road(trouble)) => {
                // A mail that was in hand stands back behind the others: should it be the cause, they go first.
                let later = trouble.in_hand.then_some(now.max(mail.next_attempt_at));
                state::give_back(&mail, policy, Some(&trouble.words), later)
            }
            Some(outcome) => state::decide(&mail, &recipients, outcome, policy, now, host::draw()),
        };
        if let Some(Outcome::Road(trouble)) = &outcome {
            self.close_lane(lane, trouble, now);
        }
        self.settle(lane, lease, &mail, change, send_ms, Some(clerk));
    }

    /// An outage ends the lane: everything goes back, and the breaker says until when to leave the road alone.
    fn close_lane(&mut self, lane: usize, trouble: &Trouble, now: i64) {
        let was_open = self.posts[lane].open;
        self.give_back_jobs(lane, Some(&trouble.words));
        // The breaker is written even when a signal or a limit has closed the lane before.
        let scope = &self.plan.lanes[lane].scope;
        if self.summary.outages.iter().any(|one| one.scope == *scope) {
            return;
        }
        match self
            .store
            .trip(scope, &trouble.words, trouble.wait, now, host::draw())
        {
            Ok(breaker) => {
                self.journal
                    .warn(&format!("smarthost {scope} is out: {}", trouble.words));
                self.summary.outages.push(breaker);
            }
            Err(fault) if was_open => self
                .journal
                .warn(&format!("cannot write the breaker: {fault}")),
            Err(_) => {}
        }
    }

    /// One transaction, if there is something to do. Returns how many mails were claimed.
    fn turn(&mut self) -> Result<usize, Fault> {
        let renew = self.due_leases();
        let budget = match self.plan.limit {
            _ if self.out_since.is_some() => 0,
            Some(limit) => {
                usize::try_from(limit.saturating_sub(self.claimed)).unwrap_or(usize::MAX)
            }
            None => usize::MAX,
        }
        .min(self.plan.batch_size);
        let wants: Vec<usize> = self.posts.iter().map(Post::wanted).collect();
        let is_hungry = budget > 0 && wants.iter().any(|wanted| *wanted > 0);
        if self.waiting.is_empty() && self.marks.is_empty() && renew.is_empty() && !is_hungry {
            return Ok(0);
        }
        let (mut settled, mut rest) = (Vec::new(), Vec::new());
        for Waiting {
            settled: one,
            lane,
            attempts,
            clerk,
        } in mem::take(&mut self.waiting)
        {
            settled.push(one);
            rest.push((lane, attempts, clerk));
        }
        let mark: Vec<_> = self
            .marks
            .iter()
            .map(|(_, id, holder)| (*id, Arc::clone(holder)))
            .collect();
        self.turns += 1;
        let holder: Arc<str> = format!("{}-{}", self.plan.worker, self.turns).into();
        let turn = Turn {
            settled,
            renew: &renew,
            mark: &mark,
            holder: &holder,
            now: host::now_ms(),
        };
        let plan = self.plan;
        let result = self
            .store
            .turn(turn, &mut |due| arms(plan, due, &wants, budget));
        match result {
            Ok(turned) => {
                self.out_since = None;
                for ((settled, recorded), (lane, attempts, clerk)) in
                    turned.recorded.into_iter().zip(rest)
                {
                    self.account(&settled, &recorded, lane, attempts);
                    clerk.iter().for_each(|clerk| clerk.acknowledge());
                }
                mem::take(&mut self.marks)
                    .iter()
                    .for_each(|(clerk, _, _)| clerk.acknowledge());
                let count = turned.claimed.len();
                self.claimed += count as u64;
                turned
                    .claimed
                    .into_iter()
                    .for_each(|claimed| self.lay_out(claimed));
                thread::sleep(COURTESY);
                Ok(count)
            }
            Err((fault, is_passing, settled)) => {
                let restored = settled.into_iter().zip(rest);
                self.waiting
                    .extend(restored.map(|(settled, (lane, attempts, clerk))| Waiting {
                        settled,
                        lane,
                        attempts,
                        clerk,
                    }));
                self.endure(fault, is_passing)
            }
        }
    }

    /// The database is out: go on trying while something could be lost, then give up with `fault`.
    fn endure(&mut self, fault: Fault, is_passing: bool) -> Result<usize, Fault> {
        let since = match self.out_since {
            Some(since) => since,
            None => {
                self.journal.warn(&format!(
                    "cannot record for now, and claim nothing more: {fault}"
                ));
                *self.out_since.insert(Instant::now())
            }
        };
        let something_to_lose = !self.held.is_empty() || !self.waiting.is_empty();
        if !is_passing || !something_to_lose || since.elapsed() >= PERSISTENCE {
            return Err(fault);
        }
        thread::sleep(RETRY_PAUSE);
        // Not zero: the run is not over.
        Ok(1)
    }

    /// The leases to renew, when it is time: a quarter of the lease after the last time.
    fn due_leases(&mut self) -> Vec<(MailId, Arc<str>)> {
        if self.held.is_empty() || self.renewed.elapsed() < self.plan.lease / 4 {
            return Vec::new();
        }
        self.renewed = Instant::now();
        self.held
            .iter()
            .map(|(id, holder)| (*id, Arc::clone(holder)))
            .collect()
    }

    fn lay_out(&mut self, claimed: Claimed) {
        let Claimed { lease, mail } = claimed;
        self.held.insert(lease.id(), Arc::clone(lease.holder()));
        let lane = match &mail {
            Ok(mail) => self.plan.lane_of(&mail.queue).unwrap_or(0),
            Err(_) => 0,
        };
        self.posts[lane].outstanding += 1;
        match mail {
            Ok(mail) if state::deadline(&mail, self.plan.policy(&mail.queue)) <= host::now_ms() => {
                let change = state::expire(&mail);
                self.settle(lane, lease, &mail, change, None, None);
            }
            Ok(mail) => self.posts[lane].desk.put(Job { lease, mail }),
            Err(words) => {
                let settled = Settled {
                    lease,
                    change: state::unreadable(&words),
                    send_ms: None,
                };
                self.waiting.push(Waiting {
                    settled,
                    lane,
                    attempts: 0,
                    clerk: None,
                });
            }
        }
    }

    /// Counts an outcome that is on disk, and tells of it.
    fn account(&mut self, settled: &Settled, recorded: &Recorded, lane: usize, attempts: u32) {
        let Settled {
            lease,
            change,
            send_ms,
        } = settled;
        let id = lease.id();
        self.held.remove(&id);
        self.posts[lane].outstanding = self.posts[lane].outstanding.saturating_sub(1);
        let error = change.error().unwrap_or_default();
        match recorded {
            Recorded::Done => {}
            Recorded::Reconciled => {
                self.journal.warn(&format!(
                    "mail {id}: its lease was lost, but the server has accepted it"
                ));
            }
            Recorded::LeaseLost { state } if change.to() == Move::Sent => {
                self.journal.warn(&format!(
                    "mail {id}: accepted by the server after its lease was lost; it is {state} now and may go twice"
                ));
                return;
            }
            Recorded::LeaseLost { state } => {
                self.journal.warn(&format!(
                    "mail {id}: its lease was lost, it is {state} now; not recorded: {error}"
                ));
                return;
            }
        }
        match change.to() {
            Move::Sent => {
                self.summary.sent += 1;
                self.journal.note(&format!(
                    "mail {id}: sent in {} ms",
                    send_ms.unwrap_or_default()
                ));
            }
            Move::Again { .. } if change.attempts() > attempts => {
                self.summary.deferred += 1;
                self.journal.warn(&format!(
                    "mail {id}: deferred, attempt {}: {error}",
                    change.attempts()
                ));
            }
            Move::Again { .. } => self
                .journal
                .note(&format!("mail {id}: back in the queue {error}")),
            Move::Failed(failure) => {
                self.summary.failed += 1;
                self.journal
                    .warn(&format!("mail {id}: FAILED {}: {error}", failure.word()));
            }
        }
    }

    /// Nothing is in hand any more; the senders go home.
    fn see_off(&mut self) -> Result<(), Fault> {
        while self.posts.iter().any(|post| post.senders > 0) || !self.waiting.is_empty() {
            self.listen();
            if let Err(fault) = self.turn() {
                return self.save_what_was_accepted(fault);
            }
        }
        Ok(())
    }

    /// The last resort: the senders end what they have in hand, and what servers accepted goes to the journal.
    fn save_what_was_accepted(&mut self, fault: Fault) -> Result<(), Fault> {
        self.close_all();
        while self.posts.iter().any(|post| post.senders > 0) {
            let clerks = self.waiting.iter().filter_map(|one| one.clerk.as_ref());
            clerks
                .chain(self.marks.iter().map(|(clerk, _, _)| clerk))
                .for_each(|one| one.give_up());
            self.marks.clear();
            if let Ok(report) = self.inbox.recv_timeout(GLANCE) {
                self.hear(report);
            }
        }
        let settled: Vec<Settled> = mem::take(&mut self.waiting)
            .into_iter()
            .map(|one| one.settled)
            .collect();
        match self.store.journal(&settled, host::now_ms()) {
            Ok(0) => {}
            Ok(count) => self.journal.warn(&format!(
                "{count} accepted mails are in the journal beside the database; the next run records them"
            )),
            Err(worse) => self.journal.warn(&worse.to_string()),
        }
        Err(fault)
    }
}

/// How many mails to claim from which of the queues that are due, in order of priority.
fn arms(plan: &Plan, due: &[String], wants: &[usize], budget: usize) -> Vec<Arm> {
    let (mut wants, mut budget) = (wants.to_vec(), budget);
    let named = plan
        .lanes
        .iter()
        .flat_map(|lane| &lane.queues)
        .filter(|queue| due.contains(queue));
    let others = due
        .iter()
        .filter(|queue| !plan.lanes.iter().any(|lane| lane.queues.contains(queue)));
    let mut arms = Vec::new();
    for queue in named.chain(others).filter(|queue| plan.wants(queue)) {
        let Some(lane) = plan.lane_of(queue) else {
            continue;
        };
        let limit = wants[lane].min(budget);
        if limit > 0 {
            // What a queue does not use is lost to the next one for this turn only.
            wants[lane] -= limit;
            budget -= limit;
            arms.push(Arm {
                queue: queue.clone(),
                limit,
            });
        }
    }
    arms
}
