//! The one writer: hears what the senders report, books it, and keeps their desks full.

use super::crew::{Crew, Post};
use super::desk::{Desk, Job};
use super::domains::{Domains, Place};
use super::entry::{end, ended, entries};
use super::ledger::{Done, Ledger};
use super::limits::Limits;
use super::sender::{Finished, Report};
use super::{Journal, Plan, Summary, Workshop, tidy};
use crate::domain::attempt::Attempt;
use crate::domain::fault::Fault;
use crate::domain::message::Mail;
use crate::domain::outcome::{Outcome, Trouble};
use crate::domain::state::{self, Change, Failure};
use crate::host;
use crate::store::{Breaker, Claimed, Lease, Store};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How often the writer looks up from waiting: for a signal, a limit of time, a lease to renew.
const GLANCE: Duration = Duration::from_millis(50);

/// More than this is not claimed in one turn beyond what the senders want.
const MOST_EXTRA: usize = 16;

/// How often a run that waits for a rate looks whether it may go on.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Housekeeping first, then the run proper if something is due on a road that is not left alone.
pub fn run(
    store: &mut Store,
    plan: &Plan,
    workshop: &Workshop,
    stop: &AtomicBool,
    journal: &dyn Journal,
) -> Result<Summary, Fault> {
    let began = Instant::now();
    let mut summary = Summary::default();
    tidy::up(store, plan, journal, &mut summary)?;
    let now = host::now_ms();
    let mut due = store.open_queues(now)?;
    due.retain(|queue| plan.wants(queue));
    let breakers = plan
        .lanes
        .iter()
        .map(|lane| store.open_breaker(&lane.scope, now))
        .collect::<Result<Vec<Option<Breaker>>, _>>()?;
    let desks: Vec<Desk> = plan.lanes.iter().map(|_| Desk::default()).collect();
    let mut has_work = false;
    for queue in &due {
        match plan.lane_of(queue).and_then(|lane| breakers[lane].as_ref()) {
            Some(breaker) if !summary.outages.contains(breaker) => {
                summary.outages.push(breaker.clone())
            }
            Some(_) => {}
            None => has_work = true,
        }
    }
    if has_work && plan.limit != Some(0) {
        let posts = plan.lanes.iter().zip(&desks).zip(&breakers);
        let posts = posts.map(|((lane, desk), breaker)| Post::new(lane, desk, breaker.is_none()));
        let (reports, inbox) = mpsc::channel();
        let crew = Crew { plan, workshop, stop, reports };
        let limits = Limits::new(plan, store.paces()?);
        let ledger = Ledger::new(store, plan, journal, &mut summary, limits);
        let mut writer = Writer {
            ledger,
            stop,
            posts: posts.collect(),
            inbox,
            began,
            domains: Domains::default(),
            looked: None,
            gave_up: false,
            said_so: false,
        };
        thread::scope(|scope| writer.work(scope, &crew))?;
    }
    summary.took = began.elapsed();
    Ok(summary)
}

struct Writer<'a, 'w> {
    ledger: Ledger<'w>,
    stop: &'a AtomicBool,
    posts: Vec<Post<'a>>,
    inbox: Receiver<Report>,
    began: Instant,
    domains: Domains,
    /// When a run that waits for a rate last looked whether it may go on.
    looked: Option<Instant>,
    /// The database is out for good: a mail that was not ended for that says nothing about the road.
    gave_up: bool,
    /// It was said that the run is stopped.
    said_so: bool,
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
                self.say_so();
            }
            match self.turn() {
                Ok(is_quiet) => {
                    for (lane, post) in self.posts.iter_mut().enumerate() {
                        if let Err(e) = crew.hire(scope, lane, post) {
                            self.ledger.journal.warn(&format!("cannot start another sender: {e}"));
                            post.ceiling = post.senders;
                        }
                    }
                    let has_nobody = self.posts.iter().any(|post| post.open && post.ceiling == 0);
                    let is_over =
                        is_quiet && self.ledger.is_clear() && !self.waits() && !self.are_coming();
                    if has_nobody || is_over {
                        return self.see_off();
                    }
                }
                Err(fault) => return self.save_what_was_accepted(fault),
            }
            self.listen();
        }
    }

    fn must_stop(&self) -> bool {
        let limit = self.ledger.plan.time_limit;
        self.stop.load(Ordering::Relaxed)
            || limit.is_some_and(|limit| self.began.elapsed() >= limit)
    }

    /// Says once that somebody stopped the run, and how many mails it still has to finish.
    fn say_so(&mut self) {
        if self.stop.load(Ordering::Relaxed) && !mem::replace(&mut self.said_so, true) {
            let outstanding: usize = self.posts.iter().map(|post| post.outstanding).sum();
            let ended: usize = self.ledger.settling(self.posts.len()).iter().sum();
            self.ledger.journal.stopping(outstanding.saturating_sub(ended));
        }
    }

    /// Whether mails that went back for their domain come up soon.
    fn are_coming(&self) -> bool {
        let limited = &self.ledger.summary.limited;
        let is_open = |queue: &str| {
            let lane = self.ledger.plan.lane_of(queue);
            lane.is_some_and(|lane| self.posts[lane].open)
                && limited.iter().all(|one| one.queue != queue)
        };
        self.ledger.budget() > 0 && self.domains.are_coming(&is_open, host::now_ms())
    }

    /// Whether the run is to wait until a rate lets it go on.
    fn waits(&mut self) -> bool {
        let limited = !self.ledger.summary.limited.is_empty();
        let waits = self.ledger.plan.waits && limited && self.posts.iter().any(|post| post.open);
        self.looked = waits.then(|| self.looked.unwrap_or_else(Instant::now));
        waits
    }

    /// One turn of the ledger. Returns whether nothing came of it: no claim, and no database to wait for.
    fn turn(&mut self) -> Result<bool, Fault> {
        let is_resting = self.looked.is_some_and(|looked| looked.elapsed() < LOOK_AGAIN);
        if !is_resting {
            self.looked = None;
        }
        // What this turn records is not in hand any more when it claims.
        let settling = self.ledger.settling(self.posts.len());
        let wants = self.posts.iter().zip(settling);
        let wants: Vec<usize> =
            wants.map(|(post, ended)| if is_resting { 0 } else { post.wanted(ended) }).collect();
        let Done { claimed, settled_in, entries, is_waiting } = self.ledger.turn(&wants)?;
        for lane in settled_in {
            self.posts[lane].outstanding -= 1;
        }
        let is_quiet = claimed.is_empty() && !is_waiting;
        self.posts.iter_mut().for_each(|post| post.extra /= 2);
        claimed.into_iter().for_each(|one| self.lay_out(one));
        self.ledger.journal.entries(&entries);
        Ok(is_quiet)
    }

    /// Lays a claimed mail on its lane's desk; one that is over or cannot be read is settled at once.
    fn lay_out(&mut self, claimed: Claimed) {
        let Claimed { lease, mail, is_suppressed } = claimed;
        let plan = self.ledger.plan;
        let lane = mail.as_ref().map_or(Some(0), |mail| plan.lane_of(&mail.queue)).unwrap_or(0);
        self.posts[lane].outstanding += 1;
        match mail {
            Err(words) => {
                let invalid = Failure::Invalid.word();
                let end = end(lease.id(), lease.queue(), "-".into(), invalid, &words);
                self.ledger.dismiss(lease, state::unreadable(&words), (lane, 0), vec![end]);
            }
            Ok(mail) if state::deadline(&mail, plan.policy(&mail.queue)) <= host::now_ms() => {
                self.end(lease, state::expire(&mail), &mail, lane);
            }
            Ok(mail) if is_suppressed => self.end(lease, state::suppress(&mail), &mail, lane),
            Ok(mail) => self.seat(Job { lease, mail }, lane),
        }
    }

    /// Settles a mail that is FAILED before any server is asked.
    fn end(&mut self, lease: Lease, change: Change, mail: &Mail, lane: usize) {
        let entries = ended(mail, &change, host::now_ms());
        self.ledger.dismiss(lease, change, (lane, mail.attempt_count), entries);
    }

    /// Lays a mail on the desk, unless its domain has to wait.
    fn seat(&mut self, job: Job, lane: usize) {
        let plan = self.ledger.plan;
        match self.domains.place(job, plan, host::now_ms()) {
            Place::Desk(job) => self.posts[lane].desk.put(job),
            Place::Aside => self.posts[lane].aside += 1,
            Place::Back(Job { lease, mail }, at) => {
                let post = &mut self.posts[lane];
                post.extra = (post.extra + 4).min(MOST_EXTRA);
                let change = state::give_back(&mail, plan.policy(&mail.queue), None, Some(at));
                self.ledger.unclaim();
                self.ledger.dismiss(lease, change, (lane, mail.attempt_count), vec![]);
            }
        }
    }

    fn close_all(&mut self) {
        (0..self.posts.len()).for_each(|lane| self.close_lane(lane, None));
    }

    /// Ends a lane's claims; the mails that nobody began go back as they were.
    fn close_lane(&mut self, lane: usize, words: Option<&str>) {
        let plan = self.ledger.plan;
        let mut jobs = self.domains.clear(&|queue| plan.lane_of(queue) == Some(lane));
        self.posts[lane].aside -= jobs.len();
        jobs.extend(self.posts[lane].close());
        for Job { lease, mail } in jobs {
            let policy = self.ledger.plan.policy(&mail.queue);
            let change = state::give_back(&mail, policy, words, None);
            self.end(lease, change, &mail, lane);
        }
    }

    /// Waits for a report, then takes all that are there.
    fn listen(&mut self) {
        let patience = if self.ledger.has_waiting() { Duration::ZERO } else { GLANCE };
        if let Ok(first) = self.inbox.recv_timeout(patience) {
            self.hear(first);
        }
        self.ledger.stand_back();
        while let Ok(report) = self.inbox.try_recv() {
            self.hear(report);
        }
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Outcome(finished) => self.hear_outcome(*finished),
            Report::AboutToEnd { clerk, id, holder } => self.ledger.mark(clerk, id, holder),
            Report::Proven { lane } => self.close_breaker(lane),
            Report::Gone { lane, retired } => {
                let post = &mut self.posts[lane];
                post.senders -= 1;
                if let Some(trouble) = retired {
                    post.ceiling = post.senders.max(1);
                    let (words, ceiling) = (trouble.words, post.ceiling);
                    self.ledger
                        .journal
                        .warn(&format!("going on with {ceiling} connections: {words}"));
                }
            }
        }
    }

    fn hear_outcome(&mut self, finished: Finished) {
        let Finished { lane, lease, mail, recipients, outcome, is_late, began, told, clerk } =
            finished;
        let policy = self.ledger.plan.policy(&mail.queue);
        let now = host::now_ms();
        let change = match &outcome {
            None if is_late => state::expire(&mail),
            None => state::give_back(&mail, policy, None, None),
            Some(Outcome::Road(trouble)) => {
                // A mail that was in hand stands back behind the others: should it be the cause, they go first.
                let later = trouble.in_hand.then_some(now.max(mail.next_attempt_at));
                state::give_back(&mail, policy, Some(&trouble.words), later)
            }
            Some(outcome) => state::decide(&mail, &recipients, outcome, policy, now, host::draw()),
        };
        if let Some(Outcome::Road(trouble)) = &outcome {
            self.close_lane(lane, Some(&trouble.words));
            self.trip(lane, trouble, now);
            if trouble.too_many {
                self.slow_down(&mail.queue, now);
            }
        }
        let relay = self.ledger.plan.lanes[lane].scope.as_str();
        let (attempt, entries) = match &outcome {
            None => (None, vec![]),
            Some(outcome) => (
                Some(Attempt::new(outcome, &recipients, told.said.clone(), relay, began)),
                entries(&mail, &recipients, outcome, &change, (relay, &told), (began.1, now)),
            ),
        };
        let send_ms = attempt.as_ref().and_then(Attempt::send_ms);
        if let Some(job) = self.domains.release(mail.id, send_ms) {
            self.posts[lane].aside -= 1;
            self.posts[lane].desk.put(job);
        }
        if send_ms.is_some() {
            self.ledger.limits.note(&mail.queue, now);
        }
        let waiting = (lane, mail.attempt_count);
        self.ledger.settle(lease, change, waiting, attempt, (Some(clerk), entries));
    }

    /// An outage: the breaker says until when to leave the road alone.
    fn trip(&mut self, lane: usize, trouble: &Trouble, now: i64) {
        let scope = &self.ledger.plan.lanes[lane].scope;
        if self.gave_up || self.ledger.summary.outages.iter().any(|one| one.scope == *scope) {
            return;
        }
        match self.ledger.store.trip(scope, &trouble.words, trouble.wait, now, host::draw()) {
            Ok(breaker) => {
                self.ledger.journal.warn(&format!("smarthost {scope} is out: {}", breaker.words()));
                self.ledger.summary.outages.push(breaker);
            }
            Err(fault) => self.ledger.journal.warn(&format!("cannot write the breaker: {fault}")),
        }
    }

    fn slow_down(&mut self, queue: &str, now: i64) {
        let Ledger { limits, store, journal, .. } = &mut self.ledger;
        match limits.slow_down(queue, store, now) {
            Ok(pace) => journal.warn(&format!(
                "queue {queue}: the server had too many; going on with {} mails a minute, twice as many each minute",
                pace.mails
            )),
            Err(fault) => journal.warn(&format!("cannot slow queue {queue} down: {fault}")),
        }
    }

    fn close_breaker(&mut self, lane: usize) {
        let scope = &self.ledger.plan.lanes[lane].scope;
        if mem::take(&mut self.posts[lane].may_have_breaker)
            && let Err(fault) = self.ledger.store.close_breaker(scope)
        {
            self.ledger.journal.warn(&format!("cannot close the breaker: {fault}"));
        }
    }

    /// The senders end what they have in hand and go home.
    fn see_off(&mut self) -> Result<(), Fault> {
        self.close_all();
        while self.posts.iter().any(|post| post.senders > 0) || self.ledger.has_waiting() {
            self.say_so();
            self.listen();
            if let Err(fault) = self.turn() {
                return self.save_what_was_accepted(fault);
            }
        }
        Ok(())
    }

    /// Nothing can be recorded any more: the senders end what is past its final dot and begin nothing, and what
    /// servers accepted goes to the journal.
    fn save_what_was_accepted(&mut self, fault: Fault) -> Result<(), Fault> {
        self.gave_up = true;
        self.close_all();
        while self.posts.iter().any(|post| post.senders > 0) {
            self.ledger.disappoint();
            if let Ok(report) = self.inbox.recv_timeout(GLANCE) {
                self.hear(report);
            }
        }
        self.ledger.save();
        Err(fault)
    }
}
