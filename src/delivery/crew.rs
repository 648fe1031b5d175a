//! The senders of each lane: how many there are, and when to take on more.

use super::desk::{Desk, Job};
use super::sender::{Report, Sender};
use super::{Lane, Plan, Workshop};
use crate::domain::message::Mail;
use crate::domain::retry::OnUnknown;
use crate::domain::state;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender as Channel;
use std::thread;

/// Nothing that a template or a message does needs more, and what is not used is not there.
const STACK: usize = 8 << 20;

/// One lane while the run goes on.
pub struct Post<'a> {
    pub desk: &'a Desk,
    /// Claims go on: no outage so far.
    pub open: bool,
    /// A breaker row may be there that a success deletes.
    pub may_have_breaker: bool,
    /// Mails claimed and not settled yet.
    pub outstanding: usize,
    /// Of those, the ones that wait aside for their domain.
    pub aside: usize,
    /// How many more to claim while most of what comes up goes back for its domain.
    pub extra: usize,
    /// Senders at work.
    pub senders: usize,
    /// The server takes no more connections than this.
    pub ceiling: usize,
}

impl<'a> Post<'a> {
    /// The post of `lane`; `open`: its road is not left alone.
    pub fn new(lane: &Lane, desk: &'a Desk, open: bool) -> Post<'a> {
        let ceiling = lane.concurrency.max(1);
        Post {
            desk,
            open,
            may_have_breaker: true,
            outstanding: 0,
            aside: 0,
            extra: 0,
            senders: 0,
            ceiling,
        }
    }

    /// How many mails to have claimed: one to send, one to follow, and as many again on the desk, for each sender. Until
    /// the road is known to work one sender tries it, and an outage should not have to give many back.
    /// `ended` of the claimed ones are over by then.
    pub fn wanted(&self, ended: usize) -> usize {
        let target = if self.desk.is_proven() { self.ceiling * 4 } else { self.ceiling.max(2) };
        let in_hand = self.outstanding.saturating_sub(self.aside).saturating_sub(ended);
        if self.open { (target + self.extra).saturating_sub(in_hand) } else { 0 }
    }

    /// Ends the lane's claims; the jobs that nobody began come back.
    pub fn close(&mut self) -> Vec<Job> {
        self.open = false;
        self.desk.close()
    }

    /// Whether one more sender would find a job. The first one tries the road alone.
    fn is_short_handed(&self) -> bool {
        let (jobs, idle) = self.desk.waiting();
        let may_grow = self.senders == 0 || self.desk.is_proven();
        self.open && may_grow && self.senders < self.ceiling && jobs > idle
    }
}

/// What all senders share.
pub struct Crew<'a> {
    pub plan: &'a Plan,
    pub workshop: &'a Workshop,
    pub stop: &'a AtomicBool,
    pub reports: Channel<Report>,
}

impl<'a> Crew<'a> {
    /// Takes on senders for the jobs on the desk of lane `lane`. Returns what the system says if it has no thread left.
    pub fn hire<'scope>(
        &self,
        scope: &'scope thread::Scope<'scope, 'a>,
        lane: usize,
        post: &mut Post<'a>,
    ) -> Result<(), std::io::Error> {
        // A new sender takes one job; more hands than jobs would only wait.
        let (jobs, idle) = post.desk.waiting();
        let mut spare = jobs.saturating_sub(idle);
        while spare > 0 && post.is_short_handed() {
            let (plan, desk) = (self.plan, post.desk);
            let (workshop, stop, reports) = (self.workshop, self.stop, self.reports.clone());
            let work = move || {
                let holds = |queue: &str| plan.policy(queue).on_unknown == OnUnknown::Hold;
                let deadline = |mail: &Mail| state::deadline(mail, plan.policy(&mail.queue));
                let (holds, deadline) = (&holds, &deadline);
                let sender = Sender { lane, desk, workshop, stop, holds, deadline, reports };
                sender.work((plan.lanes[lane].relay)());
            };
            thread::Builder::new()
                .name(format!("sender-{lane}"))
                .stack_size(STACK)
                .spawn_scoped(scope, work)?;
            post.senders += 1;
            spare -= 1;
        }
        Ok(())
    }
}
