//! The history of a mail, the counters, and queues that are held.

use super::*;

/// Claims the only mail and records this fate of it, due again at once.
fn go(bench: &mut Bench, fate: Fate) {
    bench.sql("UPDATE email_messages SET next_attempt_at = 0");
    let claimed = bench.claim("w", NOW).remove(0);
    let change = answered(claimed.mail.as_ref().unwrap(), fate.clone());
    let settled = Settled { lease: claimed.lease, change, attempt: Some(attempt(fate)) };
    assert_eq!(bench.record(settled, NOW), Recorded::Done);
}

fn counter(bench: &Bench, counter: Counter) -> Vec<(String, String, i64)> {
    let all = bench.store.counters().unwrap();
    all.of(counter).map(|(queue, label, value)| (queue.into(), label.into(), value)).collect()
}

#[test]
fn the_first_and_the_last_attempts_are_kept_and_no_longer_than_the_mail() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    bench.sql("UPDATE email_messages SET max_attempts = 1000");
    for _ in 0..24 {
        go(&mut bench, Fate::Deferred("450 4.2.0 later".into()));
    }
    go(&mut bench, Fate::Accepted);
    let past = bench.store.history(id).unwrap();
    let numbers: Vec<i64> = past.iter().map(|one| one.attempt).collect();
    assert_eq!(numbers, std::iter::once(1).chain(7..=25).collect::<Vec<_>>());
    assert_eq!(past[0].message.as_deref(), Some("450 4.2.0 later"));
    assert_eq!((past[19].outcome.as_str(), past[19].relay.as_deref()), ("sent", Some("mx:25")));
    bench.sql("DELETE FROM email_messages");
    assert!(bench.store.history(id).unwrap().is_empty());
}

#[test]
fn a_sender_that_died_is_part_of_the_story() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    bench.claim("dead", NOW);
    bench.store.reap(0, NOW, &|_| false, false).unwrap();
    let past = bench.store.history(id).unwrap();
    assert_eq!(past[0].outcome, "lost");
    assert!(past[0].message.as_ref().unwrap().contains("dead"), "{past:?}");
    assert_eq!(counter(&bench, Counter::Reaped), [("default".to_owned(), String::new(), 1)]);
}

#[test]
fn a_lost_lease_leaves_no_trace() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    let first = bench.claim("first", NOW).remove(0);
    bench.store.reap(0, NOW, &|_| false, false).unwrap();
    bench.claim("second", NOW);
    let change = answered(first.mail.as_ref().unwrap(), Fate::Refused("550".into()));
    let late = Settled { lease: first.lease, change, attempt: Some(attempt(Fate::Accepted)) };
    assert!(matches!(bench.record(late, NOW), Recorded::LeaseLost { .. }));
    assert_eq!(bench.store.history(id).unwrap().len(), 1, "the death alone");
    assert!(counter(&bench, Counter::Failed).is_empty());
}

#[test]
fn counters_only_grow_and_survive_prune() {
    let mut bench = bench();
    bench.enqueue(1);
    go(&mut bench, Fate::Deferred("450".into()));
    go(&mut bench, Fate::Accepted);
    let ids = bench.enqueue(2);
    bench.store.cancel(&ids[..1], NOW).unwrap();
    bench.sql(&format!("UPDATE email_messages SET expires_at = 5 WHERE id = {}", ids[1]));
    bench.store.expire(&|_| 1_000_000, 1_000_000_000, NOW).unwrap();
    let cuts = [cut(Status::Sent, i64::MAX), cut(Status::Failed, i64::MAX)];
    let pruning = pruning(&cuts);
    bench.store.prune(pruning).unwrap();
    let of = |queue: &str, label: &str, value| (queue.to_owned(), label.to_owned(), value);
    assert_eq!(counter(&bench, Counter::Sent), [of("default", "", 1)]);
    assert_eq!(counter(&bench, Counter::Deferred), [of("default", "", 1)]);
    assert_eq!(
        counter(&bench, Counter::Failed),
        [of("default", "cancelled", 1), of("default", "expired", 1)]
    );
    assert_eq!(counter(&bench, Counter::Duration), [of("default", "10", 1)]);
    assert_eq!(counter(&bench, Counter::DurationSum), [of("default", "", 5)]);
    assert_eq!(counter(&bench, Counter::Pruned), [of("", "FAILED", 2), of("", "SENT", 1)]);
    assert_eq!(bench.store.counters().unwrap().enqueued, 3);
}

#[test]
fn one_transaction_writes_a_counter_once_however_many_mails_it_records() {
    let mut bench = bench();
    bench.enqueue(50);
    bench.sql(
        "CREATE TABLE heard (name TEXT);
         CREATE TRIGGER hear_new AFTER INSERT ON mailq_counter BEGIN INSERT INTO heard VALUES (NEW.name); END;
         CREATE TRIGGER hear_more AFTER UPDATE ON mailq_counter BEGIN INSERT INTO heard VALUES (NEW.name); END;",
    );
    let settled = bench.claim("w", NOW).into_iter().map(settle).collect();
    bench.turn("w", settled, NOW);
    assert_eq!(counter(&bench, Counter::Sent)[0].2, 50);
    assert_eq!(bench.text("SELECT group_concat(name) FROM heard"), "sent,duration,duration_ms");
}

#[test]
fn nothing_of_a_held_queue_is_claimed_and_its_time_goes_on() {
    let mut bench = bench();
    bench.enqueue(2);
    assert!(!bench.store.hold("default", Some("bad template"), NOW).unwrap());
    assert!(bench.store.hold("default", None, NOW + 1).unwrap());
    let held = bench.store.held().unwrap();
    assert_eq!((held[0].since, held[0].reason.as_deref()), (NOW, Some("bad template")));
    assert!(bench.claim("w", NOW).is_empty());
    assert!(bench.store.open_queues(NOW).unwrap().is_empty());
    bench.sql("UPDATE email_messages SET expires_at = 5 WHERE id = 1");
    assert_eq!(bench.store.expire(&|_| 1_000_000, 1_000_000_000, NOW).unwrap(), 1);
    assert!(bench.store.release("default").unwrap());
    assert!(!bench.store.release("default").unwrap());
    assert_eq!(bench.claim("w", NOW).len(), 1);
}

#[test]
fn odd_times_past_the_checks_end_no_figures() {
    let mut bench = bench();
    bench.enqueue(4);
    bench.sql(&format!(
        "PRAGMA ignore_check_constraints = 1;
         UPDATE email_messages SET status = 'SENT', finished_at = {NOW} + 0.5, send_ms = 'x' WHERE id = 1;
         UPDATE email_messages SET status = 'FAILED', finished_at = 'never', failure = x'ff', error_message = 7 WHERE id = 2;
         UPDATE email_messages SET next_attempt_at = 'soon', queue = x'ff' WHERE id = 3;
         INSERT INTO mailq_attempts VALUES (4, 1, 'then', x'ff', 1, 2, 3, 'y', x'ff41', 5)"
    ));
    let stats = bench.store.stats(&[], 0, NOW + 10).unwrap();
    assert!(!stats.queues.is_empty());
    assert_eq!(bench.store.history(MailId(4)).unwrap().len(), 1);
    bench.store.counters().unwrap();
}
