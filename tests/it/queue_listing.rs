//! `mailq` alone prints the queue as Postfix's `mailq` does, for hands and scripts that know it.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

const NOTHING: &[&str] = &[];

#[test]
fn an_empty_queue_says_so() {
    let sandbox = Sandbox::new();
    Rows::of(&sandbox).run(include_str!("../../schema.sql"));
    assert_eq!(
        sandbox.mailq(NOTHING).assert_code(0).to_string(),
        "exit 0\n--- stdout\nMail queue is empty\n--- stderr\n"
    );
}

#[test]
fn the_layout_is_that_of_postfix() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&[
        "--to",
        "Ada <ada@example.com>, bob@example.com",
        "--bcc",
        "c@example.com",
        "--subject",
        "S",
    ]);
    sandbox.enqueue(&[
        "--to",
        "d@example.com",
        "--from",
        "f@example.com",
        "--subject",
        "S",
        "--in",
        "1h",
    ]);
    sandbox.enqueue(&["--to", "e@example.com", "--subject", "S"]);
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET next_attempt_at = 1893553445000 + next_attempt_at - created_at, created_at = 1893553445000;
         UPDATE email_messages SET error_message = '451 later', attempt_count = 1, delivered = '[\"bob@example.com\"]' WHERE id = 1;
         UPDATE email_messages SET status = 'SENDING', locked_at = 1893553445000, locked_by = 'x' WHERE id = 3",
    );
    sandbox.mailq(NOTHING).assert_snapshot(
        "exit 0
--- stdout
-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------
1                25 Wed Jan  2 03:04:05  sender@example.com
            (451 later)
                                          ada@example.com
                                          c@example.com

2!               25 Wed Jan  2 03:04:05  f@example.com
                                          d@example.com

3*               25 Wed Jan  2 03:04:05  sender@example.com
                                          e@example.com

-- 1 Kbytes in 3 Requests.
--- stderr
",
    );
    let json = sandbox.mailq(&["--json"]);
    assert_eq!(json.assert_code(0).out.lines().count(), 3);
}
