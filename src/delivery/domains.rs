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

/// For each mail in hand, how many may wait aside, and how many until it is known how long handing over lasts.
const ASIDE: usize = 2;
const ASIDE_AT_FIRST: usize = 8;

/// One domain of one queue.
struct Crowd {
    in_hand: usize,
    aside: VecDeque<Job>,
    /// How long handing over lasts, once one was seen.
    usual_us: Option<i64>,
    /// When the next one that goes back comes up again, at the earliest.
    next_us: i64,
    /// When the last of those that went back comes up again.
    last_us: i64,
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
            usual_us: None,
            next_us: 0,
            last_us: 0,
        });
        if crowd.in_hand < limit {
            crowd.in_hand += 1;
            self.of_mails.insert(job.lease.id(), key);
            return Place::Desk(job);
        }
        let each = if crowd.usual_us.is_some() { ASIDE } else { ASIDE_AT_FIRST };
        if crowd.aside.len() < limit.saturating_mul(each) {
            crowd.aside.push_back(job);
            return Place::Aside;
        }
        // Too early costs one more claim; too late would leave the domain idle.
        let usual = crowd.usual_us.unwrap_or(GUESS_US);
        let step = usual / (2 * i64::try_from(limit).unwrap_or(i64::MAX / 2)).max(1);
        crowd.next_us = crowd.next_us.max(now.saturating_mul(1_000)).saturating_add(step.max(1));
        crowd.last_us = crowd.last_us.max(crowd.next_us);
        Place::Back(job, crowd.next_us / 1_000 + 1)
    }

    /// Mail `id` is in nobody's hand any more; `ms`: how long handing over took. Returns who follows.
    pub fn release(&mut self, id: MailId, ms: Option<i64>) -> Option<Job> {
        let key = self.of_mails.remove(&id)?;
        let crowd = self.crowds.get_mut(&key)?;
        if let Some(ms) = ms {
            // What takes less than a millisecond still takes the writer's turn.
            let seen = ms.clamp(1, 600_000) * 1_000;
            crowd.usual_us = Some(match crowd.usual_us {
                Some(usual) => usual / 10 * 7 + seen / 10 * 3,
                None => {
                    // Those that went back for a guess hold nobody up.
                    crowd.next_us = 0;
                    seen
                }
            });
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
        let coming = |crowd: &Crowd| crowd.last_us / 1_000 + 1 >= now;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::tests::house;
    use crate::host;
    use crate::store::{Arm, Choice, Turn};

    #[test]
    fn a_domain_is_kept_back_for_a_guess_only_until_it_is_known() {
        let mut house = house(20);
        let mut plan = house.plan(1, |_| unreachable!("nothing is sent"));
        plan.max_per_domain.insert("default".into(), 1);
        let now = host::now_ms();
        let (settled, renew, mark, charges) = (vec![], &[], &[], &[]);
        let turn = Turn { settled, renew, mark, charges, holder: &"me".into(), now };
        let arm = Arm { queue: "default".into(), limit: 20, ..Arm::default() };
        let choice = Choice { arms: vec![arm], budget: 20 };
        let turned = house.store.turn(turn, &mut |_| choice.clone()).expect("it can be claimed");
        let mut jobs = turned.claimed.into_iter();
        let mut domains = Domains::default();
        let mut place = |domains: &mut Domains| {
            let one = jobs.next().expect("there are twenty");
            let mail = one.mail.expect("it can be read");
            domains.place(Job { lease: one.lease, mail }, &plan, now)
        };
        assert!(matches!(place(&mut domains), Place::Desk(_)));
        for _ in 0..8 {
            assert!(matches!(place(&mut domains), Place::Aside));
        }
        let mut backs = (0..3).map(|_| match place(&mut domains) {
            Place::Back(_, at) => at - now,
            _ => panic!("it had room"),
        });
        assert_eq!(backs.by_ref().collect::<Vec<_>>(), [51, 101, 151]);
        assert!(domains.release(MailId(1), Some(0)).is_some(), "the next one follows");
        assert!(matches!(place(&mut domains), Place::Back(_, at) if at == now + 1));
        assert!(domains.are_coming(&|_| true, now + 150), "the first ones still come");
    }
}
