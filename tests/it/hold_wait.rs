//! `mailq hold`, `release` and `wait`: a queue stands still and goes on, and a script knows when mails have ended.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

fn queued() -> Sandbox {
    let sandbox = Sandbox::new();
    for queue in ["news", "default"] {
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S", "--queue", queue]);
    }
    sandbox
}

#[test]
fn a_slip_of_the_finger_is_told_with_the_nearest_word() {
    let sandbox = queued();
    for args in [
        &["list", "--queue", "defualt"][..],
        &["send-batch", "--queue", "defualt"],
        &["hold", "defualt"],
        &["cancel", "--queue", "defualt", "--yes"],
    ] {
        let seen = sandbox.mailq(args);
        let told = "warning: no queue \"defualt\" is configured, and none has a mail";
        assert!(seen.code == 0 && seen.err.contains(told), "{seen}");
        assert!(seen.err.contains("did you mean \"default\"?"), "{seen}");
        if args[0] == "hold" {
            sandbox.mailq(&["release", "defualt"]).assert_code(0);
        }
    }
    assert_eq!(sandbox.mailq(&["list", "--queue", "news"]).err, "");
    for command in ["list", "retry", "cancel"] {
        let seen = sandbox.mailq(&[command, "--failure", "rendr"]);
        assert!(seen.code == 64 && seen.err.contains("did you mean `render`?"), "{seen}");
    }
}

#[test]
fn a_held_queue_stands_still_and_everybody_says_so() {
    let sandbox = queued();
    let seen = sandbox.mailq(&["hold", "news", "--reason", "wrong template"]);
    assert_eq!(seen.assert_code(0).out, "queue news: is held\n");
    assert!(sandbox.mailq(&["send-batch", "--dry-run"]).out.starts_with("would send 1,"));
    let run =
        |args: &[&str]| sandbox.mailq(&[&["send-batch"], args].concat()).assert_code(0).err.clone();
    let is_told =
        |err: &str| err.contains("queue news is held since ") && err.contains(": wrong template\n");
    assert!(is_told(&run(&[])) && is_told(&run(&["--queue", "news"])));
    assert!(!is_told(&run(&["--queue", "default"])), "of another queue");
    let states: Vec<String> =
        Rows::of(&sandbox).all("SELECT status FROM email_messages ORDER BY id", []);
    assert_eq!(states, ["PENDING", "SENT"]);
    let show = sandbox.mailq(&["show", "1"]).out;
    let why = "queue news is held (wrong template); `mailq release news` lets it go";
    assert!(show.contains(why), "{show}");
    let listing = sandbox.mailq(&[] as &[&str]).out;
    assert!(
        listing.contains("\n1!  ") && listing.contains("(queue news is held: wrong template)"),
        "{listing}"
    );
    let stats = sandbox.mailq(&["stats", "--json"]).json();
    assert_eq!(stats["queues"][1]["held"]["reason"], "wrong template", "{stats}");
    assert_eq!(stats["queues"][1]["due"], 1);
    assert_eq!(stats["oldest_due_age_seconds"], serde_json::Value::Null, "held on purpose");
    assert!(sandbox.mailq(&["stats"]).out.contains("queue news is held since "));
    assert!(
        sandbox
            .mailq(&["stats", "--prometheus"])
            .out
            .contains("mailq_queue_held{queue=\"news\"} 1\n")
    );
    assert_eq!(
        sandbox
            .mailq(&["list", "--json"])
            .out
            .lines()
            .next()
            .map(|line| line.contains("\"queue_name\":\"hold\"")),
        Some(true)
    );
    assert_eq!(sandbox.mailq(&["hold", "news"]).out, "queue news: is held already\n");
    let seen = sandbox.mailq(&["release", "news", "other"]);
    assert_eq!(seen.assert_code(0).out, "queue news: released\nqueue other: was not held\n");
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(Rows::of(&sandbox).of_mail::<String>(1, "status"), "SENT");
    let wrong = sandbox.mailq(&["hold", "a b"]);
    wrong.assert_code(64);
    assert!(wrong.err.contains("\"a b\" is no name of a queue\nhint: "), "{wrong}");
}

#[test]
fn wait_ends_with_the_worst_of_the_outcomes() {
    let sandbox = queued();
    let late = sandbox.mailq(&["wait", "1", "2", "--timeout", "0s"]);
    late.assert_code(75);
    assert_eq!(late.out, "mail 1: waiting\nmail 2: waiting\n");
    assert!(late.err.contains("2 of the mails still wait\nhint: "), "{late}");
    sandbox.mailq(&["cancel", "2"]).assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let sent = sandbox.mailq_reading(&["wait", "-", "--json"], "1\n");
    assert_eq!(sent.assert_code(0).out, "{\"id\":1,\"status\":\"SENT\"}\n");
    let twice = sandbox.mailq_reading(&["wait", "1", "-", "--json"], "1 1\n");
    assert_eq!(twice.assert_code(0).out, sent.out, "the same mail counts once");
    let failed = sandbox.mailq(&["wait", "1", "2"]);
    failed.assert_code(65);
    assert_eq!(failed.out, "mail 1: SENT\nmail 2: FAILED\n");
    let missing = sandbox.mailq(&["wait", "1", "99"]);
    missing.assert_code(66);
    assert!(missing.err.contains("no mail 99"), "{missing}");
    sandbox.mailq(&["wait"]).assert_code(64);
    sandbox.mailq(&["wait", "x"]).assert_code(64);
}

#[test]
fn wait_sees_what_happens_while_it_waits() {
    let sandbox = queued();
    let waiting = sandbox.start(&["wait", "1", "2"]);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let seen = sandbox.finish(waiting);
    seen.assert_code(0);
    assert_eq!(seen.out.lines().count(), 2, "{seen}");
}

#[test]
fn no_ids_on_stdin_are_no_success() {
    let sandbox = queued();
    for command in ["wait", "show"] {
        let seen = sandbox.mailq_reading(&[command, "-"], " \n");
        seen.assert_code(66);
        assert!(seen.err.contains("no ids on standard input\nhint: "), "{seen}");
        assert_eq!(seen.out, "");
    }
    // As with a filter that finds nothing, nothing was to be done.
    for command in ["retry", "cancel"] {
        let seen = sandbox.mailq_reading(&[command, "-"], "");
        assert_eq!(seen.assert_code(0).err, "mailq: no ids on standard input\n");
    }
    let once = sandbox.mailq_reading(&["cancel", "1", "-"], "1\n2\n2\n");
    assert_eq!(once.assert_code(0).out, "mail 1: cancelled\nmail 2: cancelled\n");
}
