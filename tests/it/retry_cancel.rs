//! `mailq retry` and `mailq cancel`: single mails by id, many by a filter and `--yes`, none by mistake.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

/// 1 and 2 FAILED, 3 is scheduled, 4 SENT, 5 is being sent.
fn queue() -> Sandbox {
    let sandbox = Sandbox::new();
    for _ in 0..5 {
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S", "--in", "1h"]);
    }
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET status = 'FAILED', failure = 'rejected', error_message = 'no', attempt_count = 3,
           finished_at = created_at WHERE id < 3;
         UPDATE email_messages SET status = 'SENT', sent_at = created_at, finished_at = created_at WHERE id = 4;
         UPDATE email_messages SET status = 'SENDING', locked_at = created_at, locked_by = 'x' WHERE id = 5",
    );
    sandbox
}

fn statuses(sandbox: &Sandbox) -> Vec<String> {
    Rows::of(sandbox).all("SELECT status FROM email_messages ORDER BY id", [])
}

#[test]
fn retry_gives_all_attempts_anew() {
    let sandbox = queue();
    let seen = sandbox.mailq(&["retry", "1", "3"]);
    assert_eq!(seen.assert_code(0).out, "mail 1: back in the queue\nmail 3: due now\n");
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.of_mail::<String>(1, "status"), "PENDING");
    assert_eq!(rows.of_mail::<i64>(1, "attempt_count"), 0);
    assert_eq!(rows.of_mail::<Option<String>>(1, "failure"), None);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(statuses(&sandbox), ["SENT", "FAILED", "SENT", "SENT", "SENDING"]);
}

#[test]
fn what_is_refused_is_told_and_the_rest_is_done() {
    let sandbox = queue();
    let seen = sandbox.mailq(&["retry", "1", "4", "5", "99"]);
    seen.assert_code(66);
    assert_eq!(
        seen.out,
        "mail 1: back in the queue\nmail 4: SENT, left as it is\nmail 5: SENDING, left as it is\nmail 99: not there\n"
    );
    assert!(seen.err.contains("no mail 99"), "{seen}");
    let seen = sandbox.mailq(&["cancel", "1", "4"]);
    seen.assert_code(65);
    assert_eq!(seen.out, "mail 1: cancelled\nmail 4: SENT, left as it is\n");
    assert!(
        seen.err.contains("mail 4 is SENT\nhint: only PENDING mails can be cancelled"),
        "{seen}"
    );
    assert_eq!(Rows::of(&sandbox).of_mail::<String>(1, "failure"), "cancelled");
    assert_eq!(statuses(&sandbox), ["FAILED", "FAILED", "PENDING", "SENT", "SENDING"]);
}

#[test]
fn ids_come_from_stdin_too() {
    let sandbox = queue();
    let seen = sandbox.mailq_reading(&["retry", "-", "--json"], "1\n2 3\n");
    assert_eq!(
        seen.assert_code(0).out,
        "{\"id\":1,\"retried\":\"again\"}\n{\"id\":2,\"retried\":\"again\"}\n{\"id\":3,\"retried\":\"hastened\"}\n"
    );
    let seen = sandbox.mailq_reading(&["cancel", "-", "--json"], "2");
    assert_eq!(seen.assert_code(0).out, "{\"id\":2,\"cancelled\":\"cancelled\"}\n");
    sandbox.mailq_reading(&["retry", "-"], "1 x").assert_code(64);
    assert_eq!(sandbox.mailq_reading(&["retry", "-"], "").assert_code(0).out, "");
}

#[test]
fn many_want_a_filter_and_yes() {
    let sandbox = queue();
    let asked = sandbox.mailq(&["retry", "--status", "FAILED"]);
    asked.assert_code(64);
    assert!(asked.err.contains("2 mails match\nhint: add --yes"), "{asked}");
    sandbox.mailq(&["retry"]).assert_code(64);
    sandbox.mailq(&["retry", "--yes"]).assert_code(64);
    sandbox.mailq(&["cancel", "--yes"]).assert_code(64);
    assert_eq!(statuses(&sandbox), ["FAILED", "FAILED", "PENDING", "SENT", "SENDING"]);
    sandbox.mailq(&["retry", "--failure", "rejected", "--yes"]).assert_code(0);
    assert_eq!(statuses(&sandbox), ["PENDING", "PENDING", "PENDING", "SENT", "SENDING"]);
    let all = sandbox.mailq(&["cancel", "--queue", "default", "--yes"]);
    assert!(all.assert_code(0).out.contains("mail 5: SENDING, left as it is"), "{all}");
    assert_eq!(statuses(&sandbox), ["FAILED", "FAILED", "FAILED", "SENT", "SENDING"]);
}
