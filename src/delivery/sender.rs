//! One sender: takes jobs from its lane's desk, one road for all of them.

use super::desk::{Desk, Job};
use super::prepare::Workshop;
use crate::domain::message::{Mail, MailId, Outgoing};
use crate::domain::outcome::{Outcome, Trouble};
use crate::host;
use crate::store::Lease;
use crate::transport::{Relay, Told};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender as Channel;
use std::thread::{self, Thread};
use std::time::Instant;

/// What a sender tells the writer.
pub enum Report {
    /// What became of a mail; boxed, since the others are small.
    Outcome(Box<Finished>),
    /// The final dot of this mail is about to leave, and a crash from here on must be told from a refusal.
    AboutToEnd { clerk: Arc<Clerk>, id: MailId, holder: Arc<str> },
    /// The road works.
    Proven { lane: usize },
    /// This sender has gone home; `retired` when it never had a connection while others had.
    Gone { lane: usize, retired: Option<Trouble> },
}

/// A mail and what became of it.
pub struct Finished {
    pub lane: usize,
    pub lease: Lease,
    pub mail: Mail,
    pub recipients: Vec<String>,
    /// `None`: it was not begun, and goes back as it was, or is over if it `is_late`.
    pub outcome: Option<Outcome>,
    pub is_late: bool,
    /// When it was begun, in milliseconds since 1970, and how many milliseconds it took.
    pub began: (i64, i64),
    pub told: Told,
    /// Who waits for the record.
    pub clerk: Arc<Clerk>,
}

/// Counts what the writer has made durable for one sender.
pub struct Clerk {
    done: AtomicU64,
    lost: AtomicBool,
    thread: Thread,
}

impl Clerk {
    fn of_this_thread() -> Arc<Clerk> {
        Arc::new(Clerk {
            done: AtomicU64::new(0),
            lost: AtomicBool::new(false),
            thread: thread::current(),
        })
    }

    /// One more thing the sender asked for is on disk.
    pub fn acknowledge(&self) {
        self.done.fetch_add(1, Ordering::Release);
        self.thread.unpark();
    }

    /// The database is out: nothing more will be recorded.
    pub fn give_up(&self) {
        self.lost.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Waits until `count` things are on disk; `false` if they will never be.
    fn wait_for(&self, count: u64) -> bool {
        while self.done.load(Ordering::Acquire) < count {
            if self.lost.load(Ordering::Acquire) {
                return false;
            }
            thread::park();
        }
        true
    }
}

/// What a sender thread works with.
pub struct Sender<'a> {
    pub lane: usize,
    pub desk: &'a Desk,
    pub workshop: &'a Workshop,
    pub stop: &'a AtomicBool,
    /// Whether a mail of this queue is marked before its final dot.
    pub holds: &'a (dyn Fn(&str) -> bool + Sync),
    /// When the waiting of a mail ends, in milliseconds since 1970.
    pub deadline: &'a (dyn Fn(&Mail) -> i64 + Sync),
    pub reports: Channel<Report>,
}

/// A job whose message is built.
struct Ready {
    job: Job,
    outgoing: Outgoing,
}

/// One sender at work.
struct Shift<'a> {
    sender: Sender<'a>,
    clerk: Arc<Clerk>,
    /// How many acknowledgements this sender has asked for.
    asked: u64,
    /// Whether its road ever took commands for a mail.
    connected: bool,
    /// The time of the mail in hand was over before its end.
    is_late: bool,
}

impl Sender<'_> {
    /// Works until the desk is closed or the road is out.
    pub fn work(self, mut relay: Box<dyn Relay>) {
        let mut shift = Shift {
            clerk: Clerk::of_this_thread(),
            sender: self,
            asked: 0,
            connected: false,
            is_late: false,
        };
        let retired = shift.work(relay.as_mut());
        relay.close();
        let lane = shift.sender.lane;
        shift.sender.tell(Report::Gone { lane, retired });
    }

    fn tell(&self, report: Report) {
        // The writer outlives its senders; should it not, its leases run out and nothing is lost.
        self.reports.send(report).ok();
    }
}

impl Shift<'_> {
    fn work(&mut self, relay: &mut dyn Relay) -> Option<Trouble> {
        let mut next = None;
        loop {
            let current = match next.take() {
                Some(ready) => ready,
                None => self.ready(self.sender.desk.take()?)?,
            };
            let following = self.following();
            let (at, begun) = (host::now_ms(), Instant::now());
            let outcome = self.hand_over(relay, &current, following.as_ref());
            let took = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
            let (began, told) = ((at, took), relay.told());
            if self.is_late {
                self.report(current.job, vec![], None, began, Told::default());
            } else if let Outcome::Road(trouble) = &outcome {
                if !trouble.in_hand && self.sender.stop.load(Ordering::Relaxed) {
                    // Not offered to anybody when the run was stopped: that says nothing about the road.
                    self.lay_back(following);
                    self.lay_back(Some(current));
                    return None;
                }
                let trouble = trouble.clone();
                if self.may_retire(&trouble) {
                    self.lay_back(following);
                    self.lay_back(Some(current));
                    return Some(trouble);
                }
                self.finish(current, outcome, began, told);
                self.lay_back(following);
                return None;
            } else {
                self.finish(current, outcome, began, told);
            }
            next = following;
            if self.sender.desk.is_closed() {
                self.lay_back(next);
                return None;
            }
        }
    }

    /// Hands `current` over, `following` in view.
    fn hand_over(
        &mut self,
        relay: &mut dyn Relay,
        current: &Ready,
        following: Option<&Ready>,
    ) -> Outcome {
        let mut ended = false;
        let outcome = {
            let mut before_end = || {
                ended = self.before_end(current);
                ended
            };
            let next = following.map(|ready| &ready.outgoing);
            catch_unwind(AssertUnwindSafe(|| {
                relay.deliver(&current.outgoing, next, &mut before_end)
            }))
        };
        match outcome {
            Ok(outcome) => {
                if !matches!(outcome, Outcome::Road(_)) {
                    self.prove();
                }
                outcome
            }
            // A bug. Before the end nothing was accepted; from there on, nobody knows.
            Err(_) if ended => Outcome::Unknown {
                fates: vec![],
                words: "mailq has a bug after the final dot".into(),
            },
            Err(_) => Outcome::Road(Trouble::new("mailq has a bug in its dialogue", true)),
        }
    }

    /// Right before the final dot: the mail before is on disk, and so is the mark of this one where one is due.
    fn before_end(&mut self, current: &Ready) -> bool {
        self.prove();
        if self.is_over(&current.job) {
            return false;
        }
        if (self.sender.holds)(&current.job.mail.queue) {
            let lease = &current.job.lease;
            let (id, holder) = (lease.id(), Arc::clone(lease.holder()));
            self.asked += 1;
            self.sender.tell(Report::AboutToEnd { clerk: Arc::clone(&self.clerk), id, holder });
        }
        self.clerk.wait_for(self.asked) && !self.is_over(&current.job)
    }

    /// Whether the time of a mail is over; if so, its report will say that.
    fn is_over(&mut self, job: &Job) -> bool {
        self.is_late = (self.sender.deadline)(&job.mail) <= host::now_ms();
        self.is_late
    }

    fn prove(&mut self) {
        self.connected = true;
        if self.sender.desk.prove() {
            self.sender.tell(Report::Proven { lane: self.sender.lane });
        }
    }

    /// A road that never came up beside others that work is one connection too many, not an outage.
    fn may_retire(&self, trouble: &Trouble) -> bool {
        !self.connected
            && !trouble.in_hand
            && self.sender.desk.is_proven()
            && !self.sender.desk.is_closed()
    }

    /// The message of `job`; one that cannot be built is finished, and the next is tried. `None`: the desk is closed.
    fn ready(&mut self, mut job: Job) -> Option<Ready> {
        loop {
            match self.prepare(job) {
                Some(ready) => return Some(ready),
                None => job = self.sender.desk.take()?,
            }
        }
    }

    /// A message to follow the one in hand, if there is a job for it.
    fn following(&mut self) -> Option<Ready> {
        while !self.sender.stop.load(Ordering::Relaxed) {
            let job = self.sender.desk.take_following()?;
            if let Some(ready) = self.prepare(job) {
                return Some(ready);
            }
        }
        None
    }

    fn prepare(&mut self, job: Job) -> Option<Ready> {
        let now = host::now_ms();
        if self.is_over(&job) {
            self.report(job, vec![], None, (now, 0), Told::default());
            return None;
        }
        match self.sender.workshop.prepare(&job.mail, now) {
            Ok(outgoing) => Some(Ready { job, outgoing }),
            Err((defect, words)) => {
                let outcome = Outcome::Defective { defect, words };
                self.report(job, vec![], Some(outcome), (now, 0), Told::default());
                None
            }
        }
    }

    /// Lays a mail that was not begun back on the desk, or gives it back to the queue when the desk is closed.
    fn lay_back(&mut self, ready: Option<Ready>) {
        let Some(ready) = ready else { return };
        if let Some(job) = self.sender.desk.put_back(ready.job) {
            self.report(job, vec![], None, (0, 0), Told::default());
        }
    }

    fn finish(&mut self, ready: Ready, outcome: Outcome, began: (i64, i64), told: Told) {
        let recipients =
            ready.outgoing.envelope.recipients.iter().map(ToString::to_string).collect();
        self.report(ready.job, recipients, Some(outcome), began, told);
    }

    fn report(
        &mut self,
        job: Job,
        recipients: Vec<String>,
        outcome: Option<Outcome>,
        began: (i64, i64),
        told: Told,
    ) {
        self.asked += 1;
        self.sender.tell(Report::Outcome(Box::new(Finished {
            lane: self.sender.lane,
            lease: job.lease,
            mail: job.mail,
            recipients,
            outcome,
            is_late: std::mem::take(&mut self.is_late),
            began,
            told,
            clerk: Arc::clone(&self.clerk),
        })));
    }
}
