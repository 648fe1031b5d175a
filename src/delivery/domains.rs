//! `max_per_domain`: how many mails to one domain are in hand at once, so that a slow one leaves the others room.
//!
//! Of a domain that is at its limit a few mails wait aside, to follow without a claim. All further ones go back into
//! the queue for about as long as those before them will take, so the mails behind them come up; each mail goes back
//! once or twice, and no claim looks at the same mails again and again. Which domain: that of the first recipient.

use super::Plan;
use super::desk::Job;
use crate::domain::address;
use crate::domain::message::{Mail, MailId};
use std::collections::{HashMap, VecDeque};

/// How long handing over is taken to last until one was seen, in microseconds.
const GUESS_US: i64 = 100_000;

/// One domain of one queue.
struct Crowd {
    in_hand: usize,
    aside: VecDeque<Job>,
    /// How long handing over lasts.
    usual_us: i64,
    /// When the last of those that went back comes up again.
    next_us: i64,
}

/// Where a claimed mail goes.
pub enum Place {
    Desk(Job),
    /// It waits here.
    Aside,
    /// Back into the queue until then, in milliseconds since 1970.
    Back(Job, i64),
}

#[derive(Default)]
pub struct Domains {
    crowds: HashMap<(String, String), Crowd>,
    /// The crowd of each mail on a desk.
    of_mails: HashMap<MailId, (String, String)>,
}

impl Domains {
    /// Where `job` goes at `now`.
    pub fn place(&mut self, job: Job, plan: &Plan, now: i64) -> Place {
        let Some(limit) = plan.max_per_domain.get(&job.mail.queue).copied() else {
            return Place::Desk(job);
        };
        let key = (job.mail.queue.clone(), domain(&job.mail));
        let crowd = self.crowds.entry(key.clone()).or_insert_with(|| Crowd {
            in_hand: 0,
            aside: VecDeque::new(),
            usual_us: GUESS_US,
            next_us: 0,
        });
        if crowd.in_hand < limit {
            crowd.in_hand += 1;
            self.of_mails.insert(job.lease.id(), key);
            return Place::Desk(job);
        }
        if crowd.aside.len() < limit * 2 {
            crowd.aside.push_back(job);
            return Place::Aside;
        }
        // Too early costs one more claim; too late would leave the domain idle.
        let step = crowd.usual_us / (2 * i64::try_from(limit).unwrap_or(i64::MAX / 2)).max(1);
        crowd.next_us = crowd.next_us.max(now.saturating_mul(1_000)).saturating_add(step.max(1));
        Place::Back(job, crowd.next_us / 1_000 + 1)
    }

    /// Mail `id` is in nobody's hand any more; `ms`: how long handing over took. Returns who follows.
    pub fn release(&mut self, id: MailId, ms: Option<i64>) -> Option<Job> {
        let key = self.of_mails.remove(&id)?;
        let crowd = self.crowds.get_mut(&key)?;
        if let Some(ms) = ms {
            crowd.usual_us = (crowd.usual_us / 10 * 7).saturating_add(ms.min(600_000) * 300);
        }
        match crowd.aside.pop_front() {
            Some(job) => {
                self.of_mails.insert(job.lease.id(), key);
                Some(job)
            }
            None => {
                crowd.in_hand -= 1;
                None
            }
        }
    }

    /// Whether a mail that went back comes up soon, in a queue that `is_open` says.
    pub fn are_coming(&self, is_open: &dyn Fn(&str) -> bool, now: i64) -> bool {
        let coming = |crowd: &Crowd| crowd.next_us / 1_000 + 1 >= now;
        self.crowds.iter().any(|((queue, _), crowd)| coming(crowd) && is_open(queue))
    }

    /// The mails that wait aside, of the queues that `is_of` says.
    pub fn clear(&mut self, is_of: &dyn Fn(&str) -> bool) -> Vec<Job> {
        let crowds = self.crowds.iter_mut().filter(|((queue, _), _)| is_of(queue));
        crowds.flat_map(|(_, crowd)| crowd.aside.drain(..)).collect()
    }
}

/// The domain of the first recipient who waits. What cannot be read is told when the mail is built.
fn domain(mail: &Mail) -> String {
    let lists = [&mail.to, &mail.cc, &mail.bcc];
    let mut all = lists.into_iter().flat_map(|list| address::parse_list(list).unwrap_or_default());
    let waits = |text: &String| !mail.delivered.contains(text) && !mail.refused.contains_key(text);
    all.find(|one| waits(&one.address.to_string()))
        .map_or_else(String::new, |one| one.address.domain().to_owned())
}
