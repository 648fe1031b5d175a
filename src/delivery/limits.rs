//! What may be claimed: the queues in order of priority, their rates, and the pace after a server had too many.

use super::Plan;
use crate::domain::fault::Fault;
use crate::domain::rate::{Pace, Rate};
use crate::store::{Arm, Charge, Choice, Store};
use std::collections::{BTreeMap, HashMap};

/// What holds the queues of a run back.
pub struct Limits<'a> {
    plan: &'a Plan,
    paces: HashMap<String, Pace>,
    /// Mails that were handed over and are not counted in the database yet, by queue; of queues with a rate.
    handed: BTreeMap<String, u64>,
}

impl<'a> Limits<'a> {
    pub fn new(plan: &'a Plan, paces: HashMap<String, Pace>) -> Limits<'a> {
        Limits { plan, paces, handed: BTreeMap::new() }
    }

    /// The rates of `queue`: those configured, and the pace where there is one.
    fn rates(&self, queue: &str, now: i64) -> Vec<Rate> {
        let pace = self.paces.get(queue).and_then(|pace| pace.at(now));
        self.plan.rates.get(queue).into_iter().flatten().copied().chain(pace).collect()
    }

    /// Books a mail of `queue` that was handed over.
    pub fn note(&mut self, queue: &str, now: i64) {
        if !self.rates(queue, now).is_empty() {
            *self.handed.entry(queue.to_owned()).or_default() += 1;
        }
    }

    /// What to count in the database; to be taken off by `counted` when it is there.
    pub fn charges(&self, now: i64) -> Vec<Charge> {
        let charge = |(queue, mails): (&String, &u64)| Charge {
            queue: queue.clone(),
            mails: *mails,
            rates: self.rates(queue, now),
        };
        self.handed.iter().map(charge).collect()
    }

    pub fn counted(&mut self) {
        self.handed.clear();
    }

    /// A server had too many mails of `queue`: fewer go from now on.
    pub fn slow_down(&mut self, queue: &str, store: &mut Store, now: i64) -> Result<Pace, Fault> {
        let pace = store.slow_down(queue, now)?;
        self.paces.insert(queue.to_owned(), pace);
        Ok(pace)
    }

    /// What to claim of the queues that are due: those that are named first, in their order, then the others.
    pub fn choice(&self, due: &[String], wants: &[usize], budget: usize, now: i64) -> Choice {
        let plan = self.plan;
        let named =
            plan.lanes.iter().flat_map(|lane| &lane.queues).filter(|queue| due.contains(queue));
        let others =
            due.iter().filter(|queue| !plan.lanes.iter().any(|lane| lane.queues.contains(queue)));
        let arm = |queue: &String| {
            let lane = plan.lane_of(queue)?;
            let (queue, rates) = (queue.clone(), self.rates(queue, now));
            Some(Arm { queue, lane, limit: wants[lane], rates })
        };
        let arms = named.chain(others).filter(|queue| plan.wants(queue)).filter_map(arm);
        Choice { arms: arms.collect(), budget }
    }
}
