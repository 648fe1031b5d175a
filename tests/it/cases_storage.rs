//! What other programs leave in a database: a row that does not fit costs no other mail anything.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

const COLUMNS: &str = "to_addrs, template, parameters";
const VALUES: &str = r#"'ada@example.com', 'hello', '{"name":"Ada"}'"#;

fn nothing_ends_badly(sandbox: &Sandbox) {
    for args in [&["stats"][..], &["stats", "--json"], &["list"], &["reap"], &["send-batch"], &[]] {
        sandbox.mailq(args).assert_code(0);
    }
}

/// Values that the CHECKs let through, at the edge of what a column takes.
#[test]
fn rows_at_the_limits_stop_nothing() {
    let sandbox = Sandbox::new();
    let rows = Rows::of(&sandbox);
    rows.run(include_str!("../../schema.sql"));
    for (columns, values) in [
        ("queue", "'default'"),
        ("attempt_count, max_attempts", "1000000, 1000000"),
        ("status, reap_count, locked_at, locked_by", "'SENDING', 1000000, 1, 'gone'"),
        ("status, locked_at, locked_by", "'SENDING', 1, CAST(x'77ff' AS TEXT)"),
        ("status, finished_at, attempt_count", "'SENT', 9223372036854775807, 1000000"),
        ("queue", "'default'"),
    ] {
        rows.run(&format!(
            "INSERT INTO email_messages ({COLUMNS}, {columns}) VALUES ({VALUES}, {values})"
        ));
    }
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let states: Vec<String> =
        (1..=6).map(|id| rows.of_mail(id, "status || coalesce(' ' || failure, '')")).collect();
    assert_eq!(states, ["SENT", "SENT", "FAILED worker-lost", "SENT", "SENT", "SENT"]);
    nothing_ends_badly(&sandbox);
}

/// Past the CHECKs, as a program with `ignore_check_constraints` writes it: never due, and in nobody's way.
#[test]
fn rows_past_the_checks_stop_nothing() {
    let sandbox = Sandbox::new();
    let rows = Rows::of(&sandbox);
    rows.run(include_str!("../../schema.sql"));
    rows.run(&format!(
        "PRAGMA ignore_check_constraints = ON;
         INSERT INTO email_messages ({COLUMNS}, queue) VALUES ({VALUES}, CAST(x'71ff' AS TEXT));
         INSERT INTO email_messages ({COLUMNS}, queue) VALUES ({VALUES}, x'71ff');
         INSERT INTO email_messages ({COLUMNS}, next_attempt_at, queue) VALUES ({VALUES}, 'tomorrow', 'other');
         INSERT INTO email_messages ({COLUMNS}, status, finished_at, attempt_count)
           VALUES ({VALUES}, 'SENT', 9000000000000, 9223372036854775807);
         INSERT INTO email_messages ({COLUMNS}, status, finished_at, attempt_count)
           VALUES ({VALUES}, 'SENT', 9000000000000, 9223372036854775807);
         INSERT INTO email_messages ({COLUMNS}) VALUES ({VALUES});"
    ));
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(rows.of_mail::<String>(6, "status"), "SENT");
    nothing_ends_badly(&sandbox);
}
