//! Whole runs on a real database, over a road that does as it is told.

use super::*;
use crate::dkim::Signers;
use crate::domain::address::parse_list;
use crate::domain::message::{Draft, MailId, Outgoing};
use crate::domain::outcome::{Fate, Outcome, Trouble};
use crate::domain::state::Status;
use crate::host;
use crate::mime::Defaults;
use crate::spool::Spool;
use crate::store::{Access, Filter};
use crate::templates::Templates;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the road answers, by the number of the mail in this run.
type Script = dyn Fn(usize) -> Outcome + Send + Sync;

#[derive(Default)]
struct Seen {
    handed: Mutex<Vec<(MailId, String)>>,
    roads: AtomicUsize,
}

struct Double {
    seen: Arc<Seen>,
    script: Arc<Script>,
}

impl Relay for Double {
    fn deliver(
        &mut self,
        mail: &Outgoing,
        _next: Option<&Outgoing>,
        before_end: &mut dyn FnMut() -> bool,
    ) -> Outcome {
        let number = {
            let mut handed = self.seen.handed.lock().unwrap();
            handed.push((mail.id, mail.message_id.clone()));
            handed.len()
        };
        let outcome = (self.script)(number);
        if matches!(outcome, Outcome::Answered(_) | Outcome::Unknown { .. }) && !before_end() {
            return Outcome::Road(Trouble::new("not ended", true));
        }
        outcome
    }

    fn close(&mut self) {}
}

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Journal for Lines {
    fn warn(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn stopping(&self, in_hand: usize) {
        self.warn(&format!("stopping with {in_hand}"));
    }

    fn note(&self, _: &str) {}

    fn entries(&self, entries: &[Entry]) {
        for Entry { id, to, attempt, status, code, message, .. } in entries {
            let (status, code) = (status.word(), code.unwrap_or_default());
            self.warn(&format!("{} {to} {attempt} {status} {code} {message}", id.0));
        }
    }
}

pub(super) struct House {
    dir: tempfile::TempDir,
    pub(super) store: Store,
    seen: Arc<Seen>,
    stop: Arc<AtomicBool>,
    lines: Lines,
}

pub(super) fn house(mails: usize) -> House {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("q.db"), Access::Create).unwrap();
    let draft = Draft {
        queue: "default".into(),
        to: "a@x.example, b@x.example".into(),
        template: "message".into(),
        parameters: r#"{"subject":"s","body":"b"}"#.into(),
        ..Draft::default()
    };
    store.enqueue(&vec![draft; mails], host::now_ms()).unwrap();
    House { dir, store, seen: Arc::default(), stop: Arc::default(), lines: Lines::default() }
}

impl House {
    pub(super) fn plan(
        &self,
        concurrency: usize,
        script: impl Fn(usize) -> Outcome + Send + Sync + 'static,
    ) -> Plan {
        let (seen, script) = (Arc::clone(&self.seen), Arc::new(script));
        let relay: RelayMaker = Box::new(move || {
            seen.roads.fetch_add(1, Ordering::SeqCst);
            Box::new(Double { seen: Arc::clone(&seen), script: Arc::clone(&script) as Arc<Script> })
        });
        let lane = Lane { queues: vec![], others: true, concurrency, scope: "mx:25".into(), relay };
        Plan {
            lanes: vec![lane],
            policies: HashMap::new(),
            policy: Policy::default(),
            rates: HashMap::new(),
            max_per_domain: HashMap::new(),
            waits: false,
            only: vec![],
            lease: Duration::from_secs(120),
            batch_size: 100,
            limit: None,
            time_limit: None,
            worker: "me".into(),
        }
    }

    fn run(&mut self, plan: &Plan) -> Result<Summary, Fault> {
        let workshop = Workshop {
            templates: Templates::new(None),
            spool: Spool::new(self.dir.path().join("spool"), vec![]),
            defaults: Defaults {
                from: parse_list("me@x.example").unwrap().pop(),
                reply_to: vec![],
            },
            own_defaults: HashMap::new(),
            signers: Signers::default(),
            max_message_size: 1_000_000,
        };
        run(&mut self.store, plan, &workshop, &self.stop, &self.lines)
    }

    fn count(&self, status: Status) -> usize {
        self.store.list(&Filter { statuses: vec![status], ..Filter::default() }).unwrap().len()
    }

    fn attempts(&self) -> u32 {
        let all = self.store.list(&Filter::default()).unwrap();
        all.iter().map(|(_, record)| record.as_ref().unwrap().mail.attempt_count).sum()
    }
}

fn accepted(_: usize) -> Outcome {
    Outcome::Answered(vec![Fate::Accepted, Fate::Accepted])
}

fn out(_: usize) -> Outcome {
    Outcome::Road(Trouble::new("connection refused", false))
}

#[test]
fn every_mail_is_sent_once_by_any_number_of_senders() {
    for concurrency in [1, 8] {
        let mut house = house(300);
        let plan = house.plan(concurrency, accepted);
        let summary = house.run(&plan).unwrap();
        assert_eq!((summary.sent, summary.deferred, summary.failed), (300, 0, 0));
        let mut ids: Vec<_> = house.seen.handed.lock().unwrap().iter().map(|one| one.0).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 300, "each once");
        assert_eq!(house.count(Status::Sent), 300);
        assert!(house.seen.roads.load(Ordering::SeqCst) <= concurrency);
    }
}

#[test]
fn an_outage_costs_no_attempt_tries_one_road_and_opens_the_breaker() {
    let mut house = house(50);
    let plan = house.plan(8, out);
    let summary = house.run(&plan).unwrap();
    assert_eq!(
        (summary.sent, summary.deferred, summary.failed, summary.outages.len()),
        (0, 0, 0, 1)
    );
    assert_eq!((house.count(Status::Pending), house.attempts()), (50, 0));
    assert_eq!(house.seen.roads.load(Ordering::SeqCst), 1);
    // While it is open nobody connects; the reason is told.
    let summary = house.run(&plan).unwrap();
    assert_eq!(summary.outages[0].reason, "connection refused");
    assert_eq!(house.seen.roads.load(Ordering::SeqCst), 1);
}

#[test]
fn a_success_closes_the_breaker() {
    let mut house = house(1);
    house.store.trip("mx:25", "was out", None, 1_000, 0.5).unwrap();
    let plan = house.plan(1, accepted);
    assert_eq!(house.run(&plan).unwrap().sent, 1);
    assert!(house.store.breakers().unwrap().is_empty());
}

#[test]
fn a_road_that_goes_out_under_way_stops_the_run_and_loses_nothing() {
    let mut house = house(100);
    let plan = house.plan(4, |number| if number <= 10 { accepted(number) } else { out(number) });
    let summary = house.run(&plan).unwrap();
    assert_eq!(summary.outages.len(), 1);
    assert_eq!((house.count(Status::Sent), house.count(Status::Pending)), (10, 90));
    assert_eq!(house.attempts(), 10);
}

#[test]
fn one_connection_too_many_is_no_outage() {
    let mut house = house(200);
    let (seen, busy) = (Arc::clone(&house.seen), Arc::new(AtomicUsize::new(0)));
    let mut plan = house.plan(8, accepted);
    // The server lets one connection in.
    plan.lanes[0].relay = Box::new(move || {
        let script: Arc<Script> = if busy.fetch_add(1, Ordering::SeqCst) == 0 {
            Arc::new(accepted)
        } else {
            Arc::new(out)
        };
        Box::new(Double { seen: Arc::clone(&seen), script })
    });
    let summary = house.run(&plan).unwrap();
    assert_eq!((summary.sent, summary.outages.len()), (200, 0));
}

#[test]
fn what_cannot_be_built_fails_and_the_others_go() {
    let mut house = house(2);
    let bad = Draft {
        queue: "default".into(),
        to: "a@x.example".into(),
        template: "no-such-template".into(),
        parameters: "{}".into(),
        ..Draft::default()
    };
    let broken = Draft {
        to: "nonsense".into(),
        template: "message".into(),
        parameters: r#"{"subject":"s","body":"b"}"#.into(),
        ..bad.clone()
    };
    house.store.enqueue(&[bad, broken], host::now_ms()).unwrap();
    let plan = house.plan(1, accepted);
    let summary = house.run(&plan).unwrap();
    assert_eq!((summary.sent, summary.failed), (2, 2));
    let failures: Vec<_> = house
        .store
        .list(&Filter { statuses: vec![Status::Failed], ..Filter::default() })
        .unwrap()
        .into_iter()
        .map(|(_, record)| record.unwrap().failure.unwrap())
        .collect();
    assert_eq!(failures, ["render", "invalid"]);
}

#[test]
fn mails_that_all_end_in_one_turn_do_not_end_the_run() {
    // As many as one sender has claimed at first: the writer settles them itself, in one transaction.
    let mut house = house(5);
    house.store.execute(
        "PRAGMA ignore_check_constraints = 1; UPDATE email_messages SET template = CAST(x'ff' AS TEXT) WHERE id <= 4",
    );
    let plan = house.plan(1, accepted);
    let summary = house.run(&plan).unwrap();
    assert_eq!((summary.sent, summary.failed), (1, 4));
}

#[test]
fn the_rest_of_a_crowded_mail_goes_in_the_same_run() {
    let mut house = house(1);
    let plan = house.plan(1, |number| match number {
        1 => Outcome::Answered(vec![Fate::Accepted, Fate::Crowded("452 too many".into())]),
        _ => Outcome::Answered(vec![Fate::Accepted]),
    });
    assert_eq!(house.run(&plan).unwrap().sent, 1);
    let handed = house.seen.handed.lock().unwrap();
    assert_eq!(handed.len(), 2);
    assert_eq!(handed[0].1, handed[1].1, "the same Message-ID");
}

#[test]
fn a_limit_a_signal_and_other_queues_leave_the_rest_alone() {
    let mut house = house(20);
    let mut plan = house.plan(2, accepted);
    plan.limit = Some(5);
    assert_eq!(house.run(&plan).unwrap().sent, 5);
    plan.limit = None;
    plan.only = vec!["bulk".into()];
    assert_eq!(house.run(&plan).unwrap().sent, 0);
    plan.only = vec![];
    let stop = Arc::clone(&house.stop);
    let mut plan = house.plan(2, move |number| {
        stop.store(true, Ordering::SeqCst);
        accepted(number)
    });
    plan.batch_size = 10;
    let summary = house.run(&plan).unwrap();
    assert!(summary.sent < 15, "{summary:?}");
    let lines = house.lines.0.lock().unwrap();
    assert_eq!(lines.iter().filter(|line| line.starts_with("stopping with ")).count(), 1);
    drop(lines);
    assert_eq!(house.count(Status::Sending), 0);
    assert_eq!(house.count(Status::Pending) + house.count(Status::Sent), 20);
}

#[test]
fn a_database_that_cannot_record_stops_the_run_and_the_next_one_recovers() {
    let mut house = house(10);
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON email_messages WHEN NEW.status = 'SENT' \
                  BEGIN SELECT RAISE(ABORT, 'no'); END";
    house.store.execute(refuse);
    let plan = house.plan(1, accepted);
    house.run(&plan).unwrap_err();
    let handed = house.seen.handed.lock().unwrap().len();
    assert!(house.store.breakers().unwrap().is_empty(), "the smarthost is blamed for the database");
    assert!(handed <= 2, "it went on sending what it could not record: {handed}");
    house.store.execute(
        "DROP TRIGGER refuse; UPDATE email_messages SET locked_at = 0 WHERE status = 'SENDING'",
    );
    // This process is alive, so its leases count as held: the replay alone must have recorded the first.
    house.run(&plan).unwrap();
    let first = house.seen.handed.lock().unwrap()[0].0;
    let Some(Ok(record)) = house.store.show(first).unwrap() else { panic!() };
    assert_eq!(record.status, Status::Sent);
    let handed = house.seen.handed.lock().unwrap();
    assert_eq!(handed.iter().filter(|one| one.0 == first).count(), 1, "accepted once, sent once");
}

#[test]
fn a_mail_whose_time_passes_in_the_sender_s_hand_is_not_ended() {
    let mut house = house(3);
    // The second is over while the server is asked for its recipients.
    house.store.execute(&format!(
        "UPDATE email_messages SET expires_at = {} WHERE id = 2",
        host::now_ms() + 400
    ));
    let plan = house.plan(1, |number| {
        if number == 2 {
            std::thread::sleep(Duration::from_millis(450));
        }
        accepted(number)
    });
    let summary = house.run(&plan).unwrap();
    assert_eq!((summary.sent, summary.failed, summary.expired), (2, 1, 1), "{summary:?}");
    assert!(summary.outages.is_empty());
    let Some(Ok(record)) = house.store.show(MailId(2)).unwrap() else { panic!() };
    assert_eq!((record.failure.as_deref(), record.mail.attempt_count), (Some("expired"), 0));
}

#[test]
fn a_domain_has_no_more_in_hand_than_its_limit_and_each_mail_goes_back_seldom() {
    let mut house = house(300);
    house.store.execute(
        "UPDATE email_messages SET to_addrs = 'a' || id || '@big.example' WHERE id <= 290;
         CREATE TABLE moves (id INTEGER);
         CREATE TRIGGER count_moves AFTER UPDATE OF locked_by ON email_messages
           WHEN NEW.locked_by IS NOT NULL AND OLD.locked_by IS NULL BEGIN INSERT INTO moves VALUES (NEW.id); END",
    );
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = (Arc::clone(&now), Arc::clone(&most));
    let mut plan = house.plan(8, move |_| {
        seen.1.fetch_max(seen.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(2));
        seen.0.fetch_sub(1, Ordering::SeqCst);
        Outcome::Answered(vec![Fate::Accepted])
    });
    plan.max_per_domain.insert("default".into(), 3);
    house.store.execute("DELETE FROM email_messages WHERE id > 290");
    let summary = house.run(&plan).unwrap();
    assert_eq!(summary.sent, 290, "{summary:?}");
    assert!(most.load(Ordering::SeqCst) <= 3, "{most:?} at once");
    let claims = house.store.number("SELECT count(*) FROM moves");
    assert!(claims <= 290 * 4, "{claims} claims for 290 mails");
}
