//! Due, expired, too far ahead; breakers; an admin's second chance.

use super::*;

const DAY: i64 = 86_400_000;

#[test]
fn what_is_not_due_is_not_claimed_and_queues_are_told_apart() {
    let mut bench = bench();
    let later = Draft { next_attempt_at: Some(NOW + 10), ..draft() };
    let bulk = Draft { queue: "bulk".into(), ..draft() };
    bench.store.enqueue(&[later, bulk], NOW).unwrap();
    assert_eq!(bench.store.open_queues(NOW).unwrap(), ["bulk"]);
    assert_eq!(bench.store.open_queues(NOW + 10).unwrap(), ["bulk", "default"]);
    assert_eq!(bench.claim("w", NOW).len(), 1);
}

#[test]
fn waiting_ends_at_expires_at_or_max_age_after_it_was_due() {
    let mut bench = bench();
    let own = Draft { expires_at: Some(NOW + 10), ..draft() };
    let scheduled = Draft { next_attempt_at: Some(NOW + 30 * DAY), ..draft() };
    let queued = bench.store.enqueue(&[own, draft(), scheduled], NOW).unwrap();
    let status = |bench: &Bench| queued.iter().map(|one| bench.status(one.id)).collect::<Vec<_>>();
    let max_age = |_: &str| 5 * DAY;
    assert_eq!(bench.store.expire(&max_age, DAY, NOW + 9).unwrap(), 0);
    assert_eq!(bench.store.expire(&max_age, DAY, NOW + 10).unwrap(), 1);
    assert_eq!(status(&bench), ["FAILED", "PENDING", "PENDING"]);
    assert_eq!(bench.store.expire(&max_age, DAY, NOW + 5 * DAY).unwrap(), 1);
    assert_eq!(status(&bench), ["FAILED", "FAILED", "PENDING"]);
    assert_eq!(bench.text("SELECT failure FROM email_messages WHERE id = 2"), "expired");
}

#[test]
fn a_mail_that_another_program_made_due_at_once_has_not_waited_since_1970() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    bench.sql("UPDATE email_messages SET next_attempt_at = 0");
    assert_eq!(bench.store.expire(&|_| 5 * DAY, DAY, NOW).unwrap(), 0);
    assert_eq!(bench.claim("w", NOW)[0].lease.id(), id);
    let mail = bench.store.show(id).unwrap().unwrap().unwrap().mail;
    assert_eq!(state::deadline(&mail, &Policy::default()), NOW + 5 * DAY);
}

#[test]
fn a_retry_that_a_wrong_clock_set_is_pulled_in_but_a_schedule_is_not() {
    let mut bench = bench();
    let scheduled = Draft { next_attempt_at: Some(NOW + 30 * DAY), ..draft() };
    bench.store.enqueue(&[draft(), scheduled], NOW).unwrap();
    bench.sql(&format!(
        "UPDATE email_messages SET attempt_count = 1, next_attempt_at = {} WHERE id = 1",
        NOW + 30 * DAY
    ));
    bench.store.expire(&|_| 5 * DAY, DAY, NOW).unwrap();
    assert_eq!(bench.claim("w", NOW).len(), 1);
}

#[test]
fn a_breaker_opens_for_longer_each_time_and_a_success_closes_it() {
    let mut bench = bench();
    let store = &mut bench.store;
    let first = store.trip("mx:25", "connection refused\nreally", None, NOW, 0.5).unwrap();
    let second = store.trip("mx:25", "again", None, NOW + 40_000, 0.5).unwrap();
    assert_eq!((first.until - NOW, second.until - NOW - 40_000), (30_000, 60_000));
    assert_eq!((second.since, first.reason.as_str()), (NOW, "connection refused really"));
    assert!(store.open_breaker("mx:25", NOW + 99_999).unwrap().is_some());
    assert!(store.open_breaker("mx:25", NOW + 100_000).unwrap().is_none());
    assert!(store.open_breaker("mx:25", NOW + 1).unwrap().is_none(), "the clock stepped back");
    assert!(store.open_breaker("other:25", NOW).unwrap().is_none());
    store.close_breaker("mx:25").unwrap();
    assert_eq!(store.trip("mx:25", "later", None, NOW, 0.5).unwrap().outages, 1);
}

#[test]
fn retry_gives_a_failed_mail_all_its_attempts_and_cancel_takes_a_pending_one() {
    let mut bench = bench();
    let ids = bench.enqueue(3);
    bench.sql("UPDATE email_messages SET status = 'FAILED', failure = 'rejected', attempt_count = 5, \
               delivered = '[\"a@x.example\"]', refused = '{\"b@x.example\":\"550\"}' WHERE id = 1; \
               UPDATE email_messages SET status = 'SENT' WHERE id = 2");
    let missing = MailId(99);
    let retried = bench.store.retry(&[ids[0], ids[1], ids[2], missing], NOW + 1).unwrap();
    let what: Vec<_> = retried.into_iter().map(|(_, what)| what).collect();
    assert_eq!(
        what,
        [Retried::Again, Retried::Refused("SENT".into()), Retried::Hastened, Retried::Missing]
    );
    let Some(Ok(record)) = bench.store.show(ids[0]).unwrap() else { panic!() };
    assert_eq!(record.mail.delivered, ["a@x.example"], "who has it is not asked again");
    assert!(record.mail.refused.is_empty() && record.mail.attempt_count == 0);
    let cancelled = bench.store.cancel(&[ids[0], ids[1]], NOW).unwrap();
    assert_eq!(cancelled[0].1, Cancelled::Done);
    assert_eq!(cancelled[1].1, Cancelled::Refused("SENT".into()));
    assert_eq!(
        bench
            .store
            .list(&Filter { statuses: vec![Status::Failed], ..Filter::default() })
            .unwrap()
            .len(),
        1
    );
}
