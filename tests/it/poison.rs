//! Mails that cannot be sent, by the hand of another program: each ends with its reason, and the mails before and after
//! it go out in the same run.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

/// What a good mail has, as SQL.
const GOOD: [(&str, &str); 3] = [
    ("to_addrs", "'ada@example.com'"),
    ("template", "'hello'"),
    ("parameters", r#"'{"name":"Ada"}'"#),
];

fn insert(rows: &Rows, column: &str, value: &str) -> i64 {
    let others = GOOD.iter().filter(|(name, _)| *name != column);
    let (columns, values): (Vec<&str>, Vec<&str>) =
        others.copied().chain([(column, value)]).unzip();
    rows.run(&format!(
        "INSERT INTO email_messages ({}) VALUES ({})",
        columns.join(", "),
        values.join(", ")
    ));
    rows.one("SELECT max(id) FROM email_messages")
}

#[test]
fn a_poison_row_fails_alone_and_says_why() {
    let sandbox = Sandbox::new();
    sandbox.template("self", "S", "{{> a}}", None);
    sandbox.write("templates/_partials/a.hbs", "{{> b}}");
    sandbox.write("templates/_partials/b.hbs", "{{> a}}");
    sandbox.template("open", "S", "{{#if name}}", None);
    let deep = format!("{}x{}", "{{#if name}}".repeat(2_000), "{{/if}}".repeat(2_000));
    sandbox.template("deep", "S", &deep, None);
    let rows = Rows::of(&sandbox);
    rows.run(include_str!("../../schema.sql"));
    let poison = [
        ("to_addrs", "'nonsense'", "invalid"),
        ("to_addrs", "'a@b@c.example'", "invalid"),
        ("to_addrs", "CAST(x'ff41406578616d706c652e636f6d' AS TEXT)", "invalid"),
        ("from_addr", "'nobody'", "invalid"),
        ("headers", r#"'{"X-A":"1\r\nBcc: evil@example.org"}'"#, "invalid"),
        ("headers", r#"'{"Bcc":"evil@example.org"}'"#, "invalid"),
        ("template", "'gone'", "render"),
        ("template", "'../templates/hello'", "render"),
        ("template", "'self'", "render"),
        ("template", "'open'", "render"),
        ("template", "'deep'", "render"),
        ("parameters", "'{}'", "render"),
        ("parameters", r#"'{"name":{"a":1}}'"#, "render"),
        ("attachments", r#"'[{"filename":"a","storage_ref":"/etc/passwd"}]'"#, "attachment"),
        ("attachments", r#"'[{"filename":"a","storage_ref":"spool:00"}]'"#, "attachment"),
    ];
    let mut good = vec![insert(&rows, "queue", "'default'")];
    let mut bad = Vec::new();
    for (column, value, failure) in poison {
        bad.push((insert(&rows, column, value), column, value, failure));
        good.push(insert(&rows, "queue", "'default'"));
    }

    let seen = sandbox.mailq(&["send-batch"]);
    seen.assert_code(0);
    for (id, column, value, failure) in bad {
        let state: String = rows.of_mail(
            id,
            "status || ' ' || coalesce(failure, '') || ': ' || coalesce(error_message, '')",
        );
        assert!(state.starts_with(&format!("FAILED {failure}: ")), "{column} = {value}: {state}");
        assert!(!state.chars().any(char::is_control), "{column} = {value}: {state:?}");
        assert!(!state.ends_with(": "), "{column} = {value}: no reason");
    }
    for id in &good {
        assert_eq!(rows.of_mail::<String>(*id, "status"), "SENT", "{seen}");
    }
    let mails = sandbox.mails();
    assert_eq!(mails.len(), good.len());
    assert!(mails.iter().all(|mail| !mail.contains("evil@example.org")));
    for args in [&["stats"][..], &["list"], &[]] {
        sandbox.mailq(args).assert_code(0);
    }
}

#[test]
fn a_huge_parameter_and_control_characters_come_in_by_standard_input() {
    let sandbox = Sandbox::new();
    let huge = format!(r#"{{"name":"{}"}}"#, "x".repeat(3_000_000));
    let args = ["enqueue", "--to", "a@example.com", "--template", "hello", "--params", "-"];
    sandbox.mailq_reading(&args, &huge).assert_code(0);
    sandbox.mailq_reading(&args, r#"{"name":"a\r\nBcc: evil@example.org"}"#).assert_code(0);
    sandbox.mailq_reading(&args, r#"{"name":"#).assert_code(65);
    sandbox.mailq_reading(&args, b"{\"name\":\"\xff\"}").assert_code(65);
    sandbox.mailq_reading(&args, "").assert_code(65);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.one::<i64>("SELECT count(*) FROM email_messages"), 2);
    let mails = sandbox.mails();
    let evil = mails.iter().filter(|mail| mail.lines().any(|line| line.starts_with("Bcc:")));
    // In the text part it is a line like any other; above it, in the header, it may not stand.
    for mail in evil {
        let (header, _) = mail.split_once("\r\n\r\n").unwrap();
        assert!(!header.contains("\nBcc:"), "{header}");
    }
    assert!(!mails.is_empty());
}
