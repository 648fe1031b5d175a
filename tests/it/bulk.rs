//! `enqueue --bulk`: all lines or none, each bad one named.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

#[test]
fn json_lines_over_the_options_as_defaults() {
    let sandbox = Sandbox::new();
    sandbox.write("note.txt", "hi");
    let lines = format!(
        "{{\"to\":\"ada@example.com\",\"params\":{{\"name\":\"Ada\"}},\"key\":\"a\"}}\n\n\
         {{\"to\":[\"bob@example.com\",\"Eve <eve@example.com>\"],\"queue\":\"bulk\",\"in\":\"1h\",\"attach\":\"{0}\",\
         \"headers\":{{\"X-Order\":\"7\"}}}}\n\
         {{\"to\":\"c@example.com\",\"subject\":\"Hi\",\"body\":\"x\",\"expires_in\":\"2d\"}}\n",
        sandbox.path("note.txt").display()
    );
    sandbox.write("mails.jsonl", &lines);
    let path = sandbox.path("mails.jsonl");
    let seen = sandbox.mailq(&[
        "enqueue",
        "--template",
        "hello",
        "--param",
        "name=you",
        "--bulk",
        path.to_str().unwrap(),
    ]);
    assert_eq!((seen.code, seen.out.as_str()), (0, "1\n2\n3\n"), "{}", seen.err);
    let rows = Rows::open(&sandbox.database());
    let text = |id, column: &str| rows.of_mail::<String>(id, column);
    assert_eq!(
        (text(1, "to_addrs"), text(1, "parameters")),
        ("ada@example.com".into(), r#"{"name":"Ada"}"#.into())
    );
    assert_eq!(
        (text(2, "to_addrs"), text(2, "parameters")),
        ("bob@example.com, Eve <eve@example.com>".into(), r#"{"name":"you"}"#.into())
    );
    assert_eq!(
        (text(2, "queue"), text(2, "headers")),
        ("bulk".into(), r#"{"X-Order":"7"}"#.into())
    );
    assert!(text(2, "attachments").contains("note.txt"));
    assert_eq!(text(3, "template"), "message");
    assert!(rows.of_mail::<i64>(3, "expires_at") > rows.of_mail::<i64>(3, "created_at"));
    // The key makes the repetition of a line one mail.
    let again = sandbox.mailq_reading(
        &["enqueue", "--template", "hello", "--bulk", "-"],
        lines.lines().next().unwrap(),
    );
    assert_eq!((again.code, again.out.as_str()), (0, "1\n"));
}

#[test]
fn csv_columns_are_options_or_parameters() {
    let sandbox = Sandbox::new();
    let csv = "to,name,queue\n\"Lovelace, Ada <ada@example.com>\",Ada,\nbob@example.com,\"Bob, \"\"the\"\" builder\",bulk\n";
    let csv = csv.replace("\"Lovelace, Ada <ada@example.com>\"", "ada@example.com");
    let seen = sandbox.mailq_reading(&["enqueue", "--template", "hello", "--bulk", "-"], csv);
    assert_eq!((seen.code, seen.out.as_str()), (0, "1\n2\n"), "{}", seen.err);
    let rows = Rows::open(&sandbox.database());
    assert_eq!(rows.of_mail::<String>(2, "parameters"), r#"{"name":"Bob, \"the\" builder"}"#);
    assert_eq!(
        (rows.of_mail::<String>(1, "queue"), rows.of_mail::<String>(2, "queue")),
        ("default".into(), "bulk".into())
    );
}

#[test]
fn one_bad_line_stores_nothing_and_each_is_named() {
    let sandbox = Sandbox::new();
    for (input, told) in [
        (
            "{\"to\":\"a@example.com\",\"params\":{\"name\":\"A\"}}\n{\"to\":\"nonsense\",\"params\":{\"name\":\"B\"}}\n{\"too\":1}\n{\"to\":\"c@example.com\"}\n",
            vec!["stdin:2:", "stdin:3:", "stdin:4:", "3 bad lines, nothing is stored"],
        ),
        ("to,name\na@example.com,A\nb@example.com\n", vec!["stdin:3:"]),
        ("to;name\na;A\n", vec!["stdin:1:", "no column `to`, only [\"to;name\"]"]),
        (
            r#"{"to":"a@example.com","subject":"s","params":{"name":"A"}}"#,
            vec!["stdin:1:", "a subject is sent as it is; it has no params"],
        ),
        (r#"{"to":1}"#, vec!["stdin:1: an address list is a text, or a list of texts"]),
    ] {
        let seen = sandbox.mailq_reading(&["enqueue", "--template", "hello", "--bulk", "-"], input);
        assert_eq!((seen.code, seen.out.as_str()), (65, ""), "{input}");
        for words in told {
            assert!(seen.err.contains(words), "{words} not in {}", seen.err);
        }
        assert!(!sandbox.database().exists());
    }
    let seen = sandbox.mailq_reading(&["enqueue", "--template", "hello", "--bulk", "-"], "");
    assert_eq!(seen.code, 66);
}
