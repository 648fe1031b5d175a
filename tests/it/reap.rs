//! `mailq reap`: a lease that is over returns its mail, once more and once more, and then no longer.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

/// A sandbox with one mail that somebody claimed so many milliseconds ago and who is no process of this host.
fn claimed(ago: i64, deaths: i64) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    Rows::of(&sandbox).run(&format!(
        "UPDATE email_messages SET status = 'SENDING', locked_by = 'gone/1/1/0/0', reap_count = {deaths},
         locked_at = CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) - {ago}"
    ));
    sandbox
}

#[test]
fn a_lease_that_is_over_returns_the_mail() {
    let sandbox = claimed(121_000, 0);
    let rehearsed = sandbox.mailq(&["reap", "--dry-run"]);
    assert_eq!(
        rehearsed.assert_code(0).out,
        "would have returned 1, failed 0; 0 in hand, their leases not over\n"
    );
    assert_eq!(Rows::of(&sandbox).statuses()["SENDING"], 1);
    let seen = sandbox.mailq(&["reap"]);
    assert_eq!(seen.assert_code(0).out, "returned 1, failed 0; 0 in hand, their leases not over\n");
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.statuses()["PENDING"], 1);
    assert_eq!(rows.of_mail::<i64>(1, "attempt_count"), 0);
    assert_eq!(rows.of_mail::<i64>(1, "reap_count"), 1);
}

#[test]
fn the_lease_is_two_minutes_or_what_is_said() {
    let sandbox = claimed(60_000, 0);
    let held = sandbox.mailq(&["reap", "--json"]).assert_code(0).json();
    assert_eq!(
        held,
        serde_json::json!({"returned": [], "failed": [], "held": 1, "dry_run": false})
    );
    let returned = sandbox.mailq(&["reap", "--older-than", "30s", "--json"]).assert_code(0).json();
    assert_eq!(returned["returned"], serde_json::json!([1]));
    let sandbox = claimed(60_000, 0);
    sandbox.configure("[send]\nlease = \"50s\"\n");
    assert!(sandbox.mailq(&["reap"]).assert_code(0).out.starts_with("returned 1, "));
    let sandbox = claimed(-3_600_000, 0);
    let future = sandbox.mailq(&["reap"]);
    assert!(
        future.assert_code(0).out.starts_with("returned 1, "),
        "a claim from the future is no lease\n{future}"
    );
}

#[test]
fn after_three_deaths_a_mail_is_given_up() {
    let sandbox = claimed(121_000, 2);
    let seen = sandbox.mailq(&["reap"]);
    assert!(seen.assert_code(0).out.starts_with("returned 0, failed 1; "), "{seen}");
    assert_eq!(Rows::of(&sandbox).of_mail::<String>(1, "failure"), "worker-lost");
}
