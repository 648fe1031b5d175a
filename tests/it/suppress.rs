//! `mailq suppress`: who gets no mail, and what becomes of the mails to them.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::Script;

#[test]
fn the_suppressed_get_nothing_and_the_others_their_mail() {
    let sink = Script::new().start();
    let sandbox = Sandbox::with_smtp(sink.port);
    let added = sandbox.mailq(&["suppress", "add", "Bob.B@Example.com", "--reason", "asked to"]);
    assert_eq!((added.code, added.out.as_str()), (0, "1 added, 0 known before\n"), "{added}");
    let mail = |to: &str, cc: &str| {
        let cc: &[&str] = if cc.is_empty() { &[] } else { &["--cc", cc] };
        sandbox.enqueue(&[&["--to", to, "--subject", "S"], cc].concat())
    };
    mail("bob.b@example.COM", "");
    mail("ada@example.com", "Bob <BOB.B@example.com>");
    mail("eve@example.com", "");
    let told = sandbox.mailq(&["send-batch", "--json"]).assert_code(0).json();
    assert_eq!((&told["sent"], &told["failed"]), (&2.into(), &1.into()), "{told}");
    let got: Vec<Vec<String>> = sink.accepted().into_iter().map(|one| one.recipients).collect();
    assert_eq!(got.len(), 2);
    assert!(got.contains(&vec!["ada@example.com".to_owned()]), "{got:?}");
    assert_eq!(sink.count("RCPT TO:<bob"), 0, "the server is not even asked");
    let rows = Rows::of(&sandbox);
    let text = |id, column: &str| rows.of_mail::<String>(id, column);
    assert_eq!((text(1, "status"), text(1, "failure")), ("FAILED".into(), "suppressed".into()));
    assert_eq!(text(1, "error_message"), "bob.b@example.com: suppressed: asked to");
    assert_eq!(rows.of_mail::<i64>(1, "attempt_count"), 0);
    // Who was left out on purpose is no failure of a mail that the others have.
    assert_eq!(text(2, "status"), "SENT");
    assert!(text(2, "refused").contains("suppressed: asked to"));
    assert!(sandbox.mailq(&["show", "2"]).out.contains("BOB.B@example.com: suppressed: asked to"));
    sandbox.mailq(&["wait", "2"]).assert_code(0);
    let still = sandbox.mailq(&["retry", "1"]);
    let told = "warning: mail 1: bob.b@example.com is still suppressed and gets nothing; \
                `mailq suppress remove bob.b@example.com` ends that";
    assert!(still.code == 0 && still.err.contains(told), "{still}");
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(text(1, "failure"), "suppressed");
    // Let go again, a retry reaches him.
    sandbox.mailq(&["suppress", "remove", "bob.b@example.com"]).assert_code(0);
    sandbox.mailq(&["retry", "1"]).assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(rows.statuses(), [("SENT".to_owned(), 3)].into());
    assert_eq!(sink.count("RCPT TO:<ada"), 1, "who has it does not get it again");
}

#[test]
fn a_list_is_imported_whole_or_not_and_listed() {
    let sandbox = Sandbox::new();
    let list = "email,reason\nada@example.com,bounced\n# a comment\n\n\"bob@example.com\"\nADA@example.com\n";
    let import = ["suppress", "import", "-", "--reason", "old list"];
    let seen = sandbox.mailq_reading(&import, list);
    assert_eq!((seen.code, seen.out.as_str()), (0, "2 added, 1 known before\n"), "{seen}");
    let bad = sandbox.mailq_reading(&import, "eve@example.com\nnonsense@\nx y@example.com\n");
    assert_eq!((bad.code, bad.out.as_str()), (65, ""), "{bad}");
    assert!(bad.err.contains("stdin:2:") && bad.err.contains("stdin:3:"), "{bad}");
    let listed = sandbox.mailq(&["suppress", "list", "--json"]);
    let lines: Vec<serde_json::Value> =
        listed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines.iter().map(|one| (&one["address"], &one["reason"])).collect();
    let expected = [("ada@example.com", "old list"), ("bob@example.com", "old list")]
        .map(|(address, reason)| (address.into(), reason.into()));
    assert_eq!(told, expected.iter().map(|(a, r)| (a, r)).collect::<Vec<_>>());
    let table = sandbox.mailq(&["suppress", "list"]).out;
    assert!(table.lines().count() == 3 && table.contains("bob@example.com"), "{table}");
    let missing = sandbox.mailq(&["suppress", "remove", "bob@example.com", "eve@example.com"]);
    assert_eq!((missing.code, missing.out.as_str()), (66, "1 removed\n"), "{missing}");
    assert!(missing.err.contains("eve@example.com was not suppressed"), "{missing}");
    let wrong = sandbox.mailq(&["suppress", "add", "Ada <ada@example.com>"]);
    assert_eq!(wrong.code, 65, "{wrong}");
    let gone = sandbox.mailq(&["suppress", "import", "no-such-file"]);
    let begin = "mailq: suppress import no-such-file: ";
    assert!(gone.assert_code(66).err.starts_with(begin) && !gone.err.contains('@'), "{gone}");
    let many = sandbox.mailq_reading(&import, "x@\n".repeat(52));
    assert!(many.err.contains("… and 2 more") && many.err.contains("52 bad lines"), "{many}");
    let one = sandbox.mailq_reading(&import, "x@\n");
    assert!(one.err.contains("stdin: 1 bad line, nobody is added"), "{one}");
    assert_eq!(sandbox.mailq(&["suppress"]).code, 64);
}
