//! `stats` as a monitoring check: one line, and the exit code of a plugin; and what tells it that a timer is dead.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

/// Makes a file older by so many seconds, and tells its time then.
fn age(file: &fs::File, seconds: u64) -> SystemTime {
    let old = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(seconds);
    file.set_modified(old).unwrap();
    old
}

fn queued() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    sandbox
}

/// The exit code and the verdict of `stats` with these thresholds.
fn verdict(sandbox: &Sandbox, thresholds: &[&str]) -> (i32, String) {
    let seen = sandbox.mailq(&[&["stats"], thresholds].concat());
    (seen.code, seen.out.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn the_first_line_is_the_verdict() {
    let sandbox = queued();
    let old = |minutes: i64| {
        Rows::of(&sandbox).run(&format!(
            "UPDATE email_messages SET next_attempt_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - {minutes} * 60000,
               created_at = 1700000000000"
        ));
    };
    let limit = ["--max-pending-age", "10m"];
    for (minutes, code, start) in [
        (5, 0, "MAILQ OK - the oldest due mail has been due for 5m, at most 10m | due=1 "),
        (15, 1, "MAILQ WARNING - the oldest due mail has been due for 15m, more than 10m | "),
        (25, 2, "MAILQ CRITICAL - the oldest due mail has been due for 25m, more than 10m | "),
    ] {
        old(minutes);
        let (seen, line) = verdict(&sandbox, &limit);
        assert_eq!(seen, code, "{line}");
        // A second may pass while it is looked at.
        let plain = line.replace("m 1s,", "m,");
        assert!(plain.starts_with(start), "{line}");
    }
    let json = sandbox.mailq(&["stats", "--json", "--max-pending-age", "10m"]);
    assert_eq!(json.assert_code(2).json()["queues"][0]["due"], 1);
    assert!(json.err.contains("MAILQ CRITICAL - "), "{json}");
    sandbox.mailq(&["hold", "default"]).assert_code(0);
    assert_eq!(verdict(&sandbox, &limit).0, 0, "an admin holds it");
}

#[test]
fn what_is_wrong_comes_alone() {
    let sandbox = queued();
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET status = 'FAILED', failure = 'rejected', finished_at = created_at",
    );
    let both = ["--max-failed-ratio", "5%", "--max-pending-age", "1h"];
    let (code, line) = verdict(&sandbox, &both);
    assert_eq!(code, 2);
    assert!(line.starts_with("MAILQ CRITICAL - 100.0% FAILED, more than 5.0% | "), "{line}");
    let piped = sandbox.other(
        "sh",
        &[
            "-c",
            &format!("'{}' stats --max-failed-ratio 5% >&-; echo $?", env!("CARGO_BIN_EXE_mailq")),
        ],
        "",
    );
    assert!(piped.out.trim() == "2" || piped.out.trim() == "74", "{piped}");
}

#[test]
fn a_dead_timer_is_noticed() {
    let sandbox = queued();
    let limit = ["--max-silence", "10m"];
    let (code, line) = verdict(&sandbox, &limit);
    assert_eq!(code, 2);
    assert!(line.starts_with("MAILQ CRITICAL - no run of send-batch ever ended well | "), "{line}");
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(verdict(&sandbox, &limit).0, 0);
    let result: String =
        Rows::of(&sandbox).one("SELECT result FROM mailq_runs WHERE command = 'send-batch'");
    assert!(result.starts_with("{\"sent\":1,"), "{result}");
    Rows::of(&sandbox).run("UPDATE mailq_runs SET at = at - 900000");
    assert_eq!(verdict(&sandbox, &limit).0, 1);
    // A run that finds nothing is a run.
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(verdict(&sandbox, &limit).0, 0);
    let stamp = fs::File::open(sandbox.path("mailq.db-idle")).unwrap();
    age(&stamp, 1500);
    assert_eq!(verdict(&sandbox, &limit).0, 1, "the later of both counts");
    Rows::of(&sandbox).run("UPDATE mailq_runs SET at = at - 900000");
    assert_eq!(verdict(&sandbox, &limit).0, 2);
}

#[test]
fn a_run_in_an_outage_did_not_end_well() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let sandbox = Sandbox::with_smtp(port);
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    sandbox.mailq(&["send-batch"]).assert_code(75);
    assert_eq!(verdict(&sandbox, &["--max-silence", "10m"]).0, 2);
}

#[test]
fn a_run_that_finds_nothing_leaves_the_database_alone() {
    let sandbox = queued();
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let look = || {
        let meta = fs::metadata(sandbox.database()).unwrap();
        (meta.mtime(), meta.mtime_nsec(), meta.size())
    };
    let before = (look(), fs::read(sandbox.database()).unwrap());
    let stamp = sandbox.path("mailq.db-idle");
    let run = |mask: &str| {
        let binary = env!("CARGO_BIN_EXE_mailq");
        let seen =
            sandbox.other("sh", &["-c", &format!("umask {mask}; exec '{binary}' send-batch")], "");
        assert_eq!(seen.code, 0, "{seen}");
        let meta = fs::metadata(&stamp).unwrap();
        assert_eq!((meta.permissions().mode() & 0o777, meta.size()), (0o660, 0));
        meta.modified().unwrap()
    };
    run("077");
    let file = fs::File::open(&stamp).unwrap();
    let old = age(&file, 100);
    assert!(run("022") > old, "the second run moved no time");
    assert_eq!((look(), fs::read(sandbox.database()).unwrap()), before);
}

#[test]
fn a_run_that_cannot_be_noted_did_its_work_all_the_same() {
    let sandbox = queued();
    Rows::of(&sandbox).run(
        "CREATE TRIGGER no_note BEFORE INSERT ON mailq_runs BEGIN SELECT raise(ABORT, 'no'); END",
    );
    let seen = sandbox.mailq(&["send-batch"]);
    seen.assert_code(0);
    assert!(seen.out.starts_with("sent 1,") && seen.err.contains("cannot note this run"), "{seen}");
}
