//! The verbs of the store against the table of `domain::state`: every state, every event.

use super::*;
use crate::domain::state::{Event, Next, next};

const EVENTS: [Event; 9] = [
    Event::Claim,
    Event::Accept,
    Event::Release,
    Event::Fail,
    Event::Reap,
    Event::Expire,
    Event::Cancel,
    Event::Retry,
    Event::Prune,
];

/// Lets `event` happen to the only mail there is, by the verb that stands for it.
fn happen(bench: &mut Bench, event: Event, stale: Claimed) {
    let id = stale.lease.id();
    let record = |bench: &mut Bench, stale: Claimed, fate| {
        let change = answered(stale.mail.as_ref().unwrap(), fate);
        bench.record(Settled { lease: stale.lease, change, attempt: None }, NOW);
    };
    match event {
        Event::Claim => drop(bench.claim("claimer", NOW)),
        Event::Accept => record(bench, stale, Fate::Accepted),
        Event::Release => record(bench, stale, Fate::Deferred("450".into())),
        Event::Fail => record(bench, stale, Fate::Refused("550".into())),
        Event::Reap => drop(bench.store.reap(0, NOW + 1, &|_| false, false).unwrap()),
        Event::Expire => drop(bench.store.expire(&|_| 0, 1, NOW).unwrap()),
        Event::Cancel => drop(bench.store.cancel(&[id], NOW).unwrap()),
        Event::Retry => drop(bench.store.retry(&[id], NOW).unwrap()),
        Event::Prune => {
            let cuts = [cut(Status::Sent, i64::MAX), cut(Status::Failed, i64::MAX)];
            let pruning = pruning(&cuts);
            bench.store.prune(pruning).unwrap();
        }
    }
}

#[test]
fn every_verb_moves_what_the_table_says_and_nothing_else() {
    for status in Status::ALL {
        for event in EVENTS {
            let mut bench = bench();
            let id = bench.enqueue(1)[0];
            let claimed = bench.claim("holder", NOW).remove(0);
            match status {
                Status::Sending => {}
                Status::Pending => bench.sql("UPDATE email_messages SET status = 'PENDING', locked_at = NULL, locked_by = NULL"),
                Status::Sent => bench.sql("UPDATE email_messages SET status = 'SENT', locked_at = NULL, locked_by = NULL, finished_at = 5"),
                Status::Failed => bench.sql(
                    "UPDATE email_messages SET status = 'FAILED', failure = 'worker-lost', locked_at = NULL, \
                     locked_by = NULL, finished_at = 5",
                ),
            }
            happen(&mut bench, event, claimed);
            let found = bench.store.show(id).unwrap().map(|record| record.unwrap().status);
            // A mail in hand expires by its sender's word alone, so the verb that sweeps leaves it.
            let expected = match (status, event, next(status, event)) {
                (Status::Sending, Event::Expire, _) => Some(Status::Sending),
                (_, _, Next::State(state)) => Some(state),
                (_, _, Next::PendingOrFailed) => Some(Status::Pending),
                (_, _, Next::Gone) => None,
                (_, _, Next::Refused) => Some(status),
            };
            assert_eq!(found, expected, "{status} {event:?}");
        }
    }
}
