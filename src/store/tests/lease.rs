//! Who holds a mail, and what a holder that lost it may still write.

use super::*;

fn nobody(_: &str) -> bool {
    false
}

#[test]
fn a_lease_that_is_not_over_is_left_alone() {
    let mut bench = bench();
    bench.enqueue(1);
    bench.claim("w", NOW);
    let reaped = bench.store.reap(120_000, NOW + 119_000, &nobody, false).unwrap();
    assert_eq!((reaped.returned.len(), reaped.held), (0, 1));
}

#[test]
fn what_a_trigger_keeps_back_is_not_claimed() {
    let mut bench = bench();
    let ids = bench.enqueue(3);
    bench.sql(
        "CREATE TRIGGER keep BEFORE UPDATE OF status ON email_messages WHEN NEW.id = 2 BEGIN SELECT RAISE(IGNORE); END",
    );
    let claimed: Vec<MailId> =
        bench.claim("w", NOW).iter().map(|claimed| claimed.lease.id()).collect();
    assert_eq!(claimed, [ids[0], ids[2]]);
    assert_eq!(bench.status(ids[1]), "PENDING");
}

#[test]
fn a_dead_senders_mail_comes_back_and_the_third_death_ends_it() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    for death in 1..=3 {
        let now = NOW + death * 1_000_000;
        assert_eq!(bench.claim("w", now).len(), 1);
        let dry = bench.store.reap(120_000, now + 120_000, &nobody, true).unwrap();
        assert_eq!(bench.status(id), "SENDING", "a dry run moves nothing");
        let reaped = bench.store.reap(120_000, now + 120_000, &nobody, false).unwrap();
        assert_eq!(dry, reaped);
        assert_eq!(bench.status(id), if death < 3 { "PENDING" } else { "FAILED" });
    }
    assert_eq!(bench.text("SELECT failure FROM email_messages"), "worker-lost");
}

#[test]
fn a_running_sender_keeps_its_mail_however_the_clock_jumps() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    bench.claim("alive", NOW);
    const DAY: i64 = 86_400_000;
    for now in [NOW + DAY, NOW - DAY] {
        let alive = |holder: &str| holder == "alive";
        assert!(bench.store.reap(120_000, now, &alive, false).unwrap().returned.is_empty());
    }
    // The clock went back and the sender died: its lease from the future is over.
    assert_eq!(bench.store.reap(120_000, NOW - DAY, &nobody, false).unwrap().returned, [id]);
}

#[test]
fn renewing_keeps_a_lease() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    let held: Vec<_> = bench
        .claim("w", NOW)
        .iter()
        .map(|one| (one.lease.id(), Arc::clone(one.lease.holder())))
        .collect();
    let holder: Arc<str> = "w".into();
    let turn = Turn {
        settled: vec![],
        renew: &held,
        mark: &held,
        charges: &[],
        holder: &holder,
        now: NOW + 100_000,
    };
    bench.store.turn(turn, &mut |_| Choice::default()).unwrap();
    assert!(bench.store.reap(120_000, NOW + 200_000, &nobody, false).unwrap().returned.is_empty());
    // Its dot was marked as about to leave, so nobody may send it again unasked.
    let reaped = bench.store.reap(120_000, NOW + 300_000, &nobody, false).unwrap();
    assert_eq!(reaped.failed, [id]);
    assert_eq!(bench.text("SELECT failure FROM email_messages"), "unknown-outcome");
}

#[test]
fn a_lost_lease_overwrites_nothing_but_an_acceptance_counts() {
    let mut bench = bench();
    let id = bench.enqueue(1)[0];
    let stopped = bench.claim("stopped", NOW).remove(0);
    bench.store.reap(1, NOW + 10, &nobody, false).unwrap();
    // Nobody else has it: the 250 is reconciled.
    assert_eq!(bench.record(settle(stopped), NOW + 20), Recorded::Reconciled);
    assert_eq!(bench.status(id), "SENT");

    let id = bench.enqueue(1)[0];
    let stopped = bench.claim("stopped", NOW).remove(0);
    bench.store.reap(1, NOW + 10, &nobody, false).unwrap();
    let other = bench.claim("other", NOW + 20).remove(0);
    assert_eq!(other.lease.id(), id);
    let state = "SENDING".to_owned();
    assert_eq!(bench.record(settle(stopped), NOW + 30), Recorded::LeaseLost { state });
    assert_eq!(
        bench.text(&format!("SELECT locked_by FROM email_messages WHERE id = {id}")),
        "other"
    );
    assert_eq!(bench.record(settle(other), NOW + 40), Recorded::Done);
}

#[test]
fn a_lost_lease_with_a_deferral_changes_nothing() {
    let mut bench = bench();
    bench.enqueue(1);
    let one = bench.claim("stopped", NOW).remove(0);
    bench.store.reap(1, NOW + 10, &nobody, false).unwrap();
    let change = answered(one.mail.as_ref().unwrap(), Fate::Deferred("450".into()));
    let settled = Settled { lease: one.lease, change, attempt: None };
    let state = "PENDING".to_owned();
    assert_eq!(bench.record(settled, NOW + 20), Recorded::LeaseLost { state });
    assert_eq!(bench.text("SELECT attempt_count || '' FROM email_messages"), "0");
}

#[test]
fn the_journal_is_replayed_once() {
    let mut bench = bench();
    let ids = bench.enqueue(2);
    let mut claimed = bench.claim("w", NOW);
    let (second, first) = (claimed.pop().unwrap(), claimed.pop().unwrap());
    let deferred = answered(second.mail.as_ref().unwrap(), Fate::Deferred("450".into()));
    let settled = [settle(first), Settled { lease: second.lease, change: deferred, attempt: None }];
    assert_eq!(bench.store.journal(&settled, NOW).unwrap(), 1, "only acceptances are worth it");
    let journal = fs::metadata(bench.dir.path().join("q.db-outcomes")).unwrap();
    assert_eq!(journal.permissions().mode() & 0o777, 0o660, "another user may replay it");
    assert_eq!(bench.status(ids[0]), "SENDING");
    assert_eq!(bench.store.replay_journal().unwrap(), 1);
    assert_eq!((bench.status(ids[0]), bench.status(ids[1])), ("SENT".into(), "SENDING".into()));
    assert_eq!(bench.store.replay_journal().unwrap(), 0);
    let told = bench.store.history(ids[0]).unwrap();
    assert_eq!((told.len(), told[0].outcome.as_str()), (1, "sent"));
}

#[test]
fn a_mail_that_is_still_in_hand_is_taken_back_before_anybody_claims_it() {
    let mut bench = bench();
    let ids = bench.enqueue(2);
    let held: Vec<_> = bench
        .claim("stopped", NOW)
        .iter()
        .map(|one| (one.lease.id(), Arc::clone(one.lease.holder())))
        .collect();
    bench.store.reap(1, NOW + 10, &nobody, false).unwrap();
    bench
        .store
        .execute(&format!("UPDATE email_messages SET status = 'FAILED' WHERE id = {}", ids[1]));
    let holder: Arc<str> = "again".into();
    let turn = Turn {
        settled: vec![],
        renew: &held,
        mark: &[],
        charges: &[],
        holder: &holder,
        now: NOW + 20,
    };
    let everything = |due: &[String]| {
        let arm = |queue: &String| Arm { queue: queue.clone(), limit: 9, ..Arm::default() };
        Choice { arms: due.iter().map(arm).collect(), budget: 9 }
    };
    let turned = bench.store.turn(turn, &mut |due| everything(due)).unwrap();
    assert_eq!((turned.retaken, turned.claimed.len()), (vec![ids[0]], 0));
    assert_eq!(bench.status(ids[1]), "FAILED", "only what waits is taken back");
    assert_eq!(
        bench.text(&format!("SELECT locked_by FROM email_messages WHERE id = {}", ids[0])),
        "stopped"
    );
}

#[test]
fn odd_rows_keep_no_other_from_coming_back() {
    let mut bench = bench();
    let ids = bench.enqueue(3);
    bench.claim("w", NOW);
    bench.store.execute(&format!(
        "UPDATE email_messages SET locked_by = CAST(x'77ff' AS TEXT) WHERE id = {};
         UPDATE email_messages SET reap_count = 1000000 WHERE id = {}",
        ids[0], ids[1]
    ));
    let reaped = bench.store.reap(1, NOW + 10, &nobody, false).unwrap();
    assert_eq!((reaped.returned, reaped.failed), (vec![ids[0], ids[2]], vec![ids[1]]));
}

#[test]
fn a_torn_journal_is_replayed_as_far_as_it_can_be_read() {
    let mut bench = bench();
    bench.enqueue(1);
    let one = bench.claim("w", NOW).remove(0);
    let id = one.lease.id();
    bench.store.execute("UPDATE email_messages SET attempt_count = 1000000");
    bench.store.journal(&[settle(one)], NOW).unwrap();
    let path = bench.dir.path().join("q.db-outcomes");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"\xff\x00{\"id\":");
    fs::write(&path, bytes).unwrap();
    assert_eq!(bench.store.replay_journal().unwrap(), 1);
    assert_eq!(bench.status(id), "SENT");
}
