//! Rates: what counts, since when, until when, and for whom.

use super::*;
use crate::domain::rate::Rate;

fn rate(count: u32, seconds: u64) -> Rate {
    Rate { count, per: Duration::from_secs(seconds) }
}

impl Bench {
    /// One turn over the queue `default` under `rates`, in which `settled` is recorded and counted.
    fn rated(&mut self, settled: Vec<Settled>, rates: &[Rate], now: i64) -> Turned {
        let mails = settled.len() as u64;
        let charges = [Charge { queue: "default".into(), mails, rates: rates.to_vec() }];
        let holder: Arc<str> = "w".into();
        let (renew, mark) = (&[], &[]);
        let turn = Turn { settled, renew, mark, charges: &charges, holder: &holder, now };
        let mut choose = |due: &[String]| {
            let arm = |queue: &String| Arm {
                queue: queue.clone(),
                limit: 100,
                rates: rates.to_vec(),
                ..Arm::default()
            };
            Choice { arms: due.iter().map(arm).collect(), budget: 100 }
        };
        self.store.turn(turn, &mut choose).unwrap()
    }
}

fn settled(claimed: Vec<Claimed>) -> Vec<Settled> {
    claimed.into_iter().map(settle).collect()
}

#[test]
fn a_mail_counts_while_it_is_in_hand_and_a_window_long_after_its_record() {
    let mut bench = bench();
    bench.enqueue(100);
    let rates = [rate(10, 60)];
    let first = bench.rated(vec![], &rates, NOW);
    assert_eq!((first.claimed.len(), first.limited.len()), (10, 0));
    // In hand for ten minutes: however slow its sender, it takes its place.
    let during = bench.rated(vec![], &rates, NOW + 600_000);
    assert_eq!((during.claimed.len(), during.limited.len()), (0, 1));
    let after = bench.rated(settled(first.claimed), &rates, NOW + 600_000);
    assert_eq!(after.claimed.len(), 0);
    let until = after.limited[0].until;
    assert!((NOW + 660_000..=NOW + 661_001).contains(&until), "{until}");
    assert_eq!(bench.rated(vec![], &rates, NOW + 659_999).claimed.len(), 0);
    assert_eq!(bench.rated(vec![], &rates, until).claimed.len(), 10);
}

#[test]
fn every_window_holds_and_the_tightest_decides() {
    let mut bench = bench();
    bench.enqueue(100);
    let rates = [rate(14, 1), rate(20, 3_600)];
    let first = bench.rated(vec![], &rates, NOW).claimed;
    assert_eq!(first.len(), 14);
    let second = bench.rated(settled(first), &rates, NOW + 1).claimed;
    assert_eq!(second.len(), 0, "the second is not over");
    let second = bench.rated(vec![], &rates, NOW + 1_100).claimed;
    assert_eq!(second.len(), 6, "the hour has no more");
    let met = bench.rated(settled(second), &rates, NOW + 1_200).limited;
    assert_eq!(met[0].rate, rates[1]);
    let rows = bench.text("SELECT count(*) || '' FROM mailq_rate WHERE mails > 0");
    assert!(rows.parse::<u32>().unwrap() <= 4, "a slice is a row, not a mail: {rows}");
}

#[test]
fn a_queue_that_met_its_rate_keeps_no_other_one_waiting() {
    let mut bench = bench();
    bench.enqueue(20);
    let other = Draft { queue: "other".into(), ..draft() };
    bench.rated(vec![], &[rate(1, 60)], NOW);
    bench.store.enqueue(&[other], NOW).unwrap();
    let holder: Arc<str> = "w".into();
    let turn =
        Turn { settled: vec![], renew: &[], mark: &[], charges: &[], holder: &holder, now: NOW };
    let arm = |queue: &str, rates| Arm { queue: queue.into(), lane: 0, limit: 5, rates };
    let arms = vec![arm("default", vec![rate(1, 60)]), arm("other", vec![])];
    let mut choose = |_: &[String]| Choice { arms: arms.clone(), budget: 5 };
    let turned = bench.store.turn(turn, &mut choose).unwrap();
    assert_eq!((turned.claimed.len(), turned.limited.len()), (1, 1));
}

#[test]
fn without_a_rate_nothing_is_asked_and_nothing_written() {
    let mut bench = bench();
    bench.enqueue(3);
    // Whoever named the table now would fail.
    bench.sql("DROP TABLE mailq_rate");
    assert_eq!(bench.claim("w", NOW).len(), 3);
}

#[test]
fn what_a_dead_sender_may_have_sent_counts() {
    let mut bench = bench();
    bench.enqueue(10);
    let rates = [rate(4, 60)];
    assert_eq!(bench.rated(vec![], &rates, NOW).claimed.len(), 4);
    let reaped = bench.store.reap(1_000, NOW + 120_000, &|_| false, false).unwrap();
    assert_eq!(reaped.returned.len(), 4);
    assert_eq!(bench.rated(vec![], &rates, NOW + 120_001).claimed.len(), 0);
    assert_eq!(bench.rated(vec![], &rates, NOW + 181_001).claimed.len(), 4);
}

#[test]
fn a_clock_that_steps_back_stops_a_queue_for_a_window_at_most() {
    let mut bench = bench();
    bench.enqueue(10);
    let rates = [rate(4, 60)];
    let year = 365 * 86_400_000;
    let claimed = bench.rated(vec![], &rates, NOW + year).claimed;
    bench.rated(settled(claimed), &rates, NOW + year);
    assert_eq!(bench.rated(vec![], &rates, NOW).claimed.len(), 0);
    assert_eq!(bench.rated(vec![], &rates, NOW + 61_001).claimed.len(), 4);
}

#[test]
fn a_pace_is_half_of_the_last_minute() {
    let mut bench = bench();
    bench.enqueue(9);
    for one in bench.claim("w", NOW) {
        bench.record(settle(one), NOW);
    }
    assert_eq!(bench.store.slow_down("default", NOW + 1).unwrap().mails, 4);
    assert_eq!(bench.store.slow_down("default", NOW + 90_000).unwrap().mails, 1);
    let paces = bench.store.paces().unwrap();
    assert_eq!((paces.len(), paces["default"].since), (1, NOW + 90_000));
}
