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
        ("to;name\na;A\n", vec!["stdin:1:", "the separator is a comma"]),
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

#[test]
fn a_bad_line_is_told_by_line_and_column() {
    let sandbox = Sandbox::new();
    let csv = b"to,name,expires_in\na@example.com,A,\nb@example.com,B,5\nnonsense,C,\nx@example.com,D\n\xff@example.com,E,\n";
    let args = ["enqueue", "--template", "hello", "--bulk", "-"];
    let seen = sandbox.mailq_reading(&args, csv);
    seen.assert_code(65);
    for words in [
        "stdin:3: column expires_in \"5\" has no unit",
        "stdin:4: column to: address \"nonsense\"",
        "stdin:5: has 2 fields, and the head line has 3 columns",
        "stdin:6: column to is not UTF-8, at byte 1",
        "4 bad lines, nothing is stored",
    ] {
        assert!(seen.err.contains(words), "{words}\n{seen}");
    }
    let json = "{\"to\":\"a@example.com\",\"params\":{\"name\" 1}}\n{\"to\":\"a@example.com\",\"group\":\"a b\",\"params\":{\"name\":1}}\n";
    let seen = sandbox.mailq_reading(&args, json);
    assert!(seen.assert_code(65).err.contains("stdin:1: expected `:`, at column 40"), "{seen}");
    assert!(seen.err.contains("stdin:2: group \"a b\" is no name of a group"), "{seen}");
}

#[test]
fn the_good_lines_are_taken_and_the_bad_ones_kept_as_they_came() {
    let sandbox = Sandbox::new();
    let bad = sandbox.path("bad.csv");
    let args =
        ["enqueue", "--template", "hello", "--bulk", "-", "--skip-bad", bad.to_str().unwrap()];
    let lines =
        "to,name,group\na@example.com,A,g1\nnonsense,\"B, the second\",g1\nc@example.com,C,\n";
    let seen = sandbox.mailq_reading(&[&args[..], &["--group", "g0"]].concat(), lines);
    assert_eq!((seen.code, seen.out.as_str()), (0, "1\n2\n"), "{seen}");
    assert!(seen.err.contains("1 bad line left out, and kept in $DIR/bad.csv"), "{seen}");
    let kept = std::fs::read_to_string(&bad).unwrap();
    assert_eq!(kept, "to,name,group\nnonsense,\"B, the second\",g1\n");
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.all::<String>("SELECT group_name FROM email_messages", []), ["g1", "g0"]);
    // Mended, the file is what --bulk takes; and with nothing bad it is empty of lines.
    let seen = sandbox.mailq_reading(&args, kept.replace("nonsense", "b@example.com"));
    assert_eq!((seen.code, seen.out.as_str(), seen.err.as_str()), (0, "3\n", ""));
    assert_eq!(std::fs::read_to_string(&bad).unwrap(), "to,name,group\n");
    let json = "{\"to\":\"nonsense\"}\n{\"to\" 1}\n";
    let seen = sandbox.mailq_reading(&args, json);
    assert_eq!((seen.code, seen.out.as_str()), (65, ""), "none is good: {seen}");
    assert_eq!(std::fs::read_to_string(&bad).unwrap(), json);
    let itself = sandbox.write("l.csv", lines);
    let itself = itself.to_str().unwrap();
    let args = ["enqueue", "--template", "hello", "--bulk", itself, "--skip-bad", itself];
    sandbox.mailq(&args).assert_code(64);
    assert_eq!(std::fs::read_to_string(itself).unwrap(), lines);
}

#[test]
fn each_line_has_its_own_unsubscribe_headers() {
    let sandbox = Sandbox::new();
    let lines = "to,name,list_unsubscribe\na@example.com,A,https://example.com/u/1\nb@example.com,B,https://example.com/u/2\n";
    let args = [
        "enqueue",
        "--template",
        "hello",
        "--bulk",
        "-",
        "--list-unsubscribe",
        "https://example.com/all",
    ];
    sandbox.mailq_reading(&args, lines).assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails().join("\n");
    for line in [
        "List-Unsubscribe: <https://example.com/u/1>",
        "List-Unsubscribe: <https://example.com/u/2>",
    ] {
        assert!(mails.contains(line), "{mails}");
    }
    assert_eq!(mails.matches("List-Unsubscribe-Post: List-Unsubscribe=One-Click").count(), 2);
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let sandbox = Sandbox::new();
    // 96 MB, in a process that may have 80.
    let name = "x".repeat(12_000);
    let mut lines = "to,name\n".to_owned();
    (0..8_000).for_each(|n| lines.push_str(&format!("a{n}@example.com,{name}\n")));
    sandbox.write("mails.csv", &lines);
    let script = format!(
        "ulimit -v 80000 && exec '{}' enqueue --template hello --bulk mails.csv",
        env!("CARGO_BIN_EXE_mailq")
    );
    let seen = sandbox.other("sh", &["-c", &script], "");
    assert_eq!((seen.code, seen.out.lines().count()), (0, 8_000), "{}", seen.err);
}

#[test]
fn each_line_may_name_its_own_template() {
    let sandbox = Sandbox::new();
    let lines = "{\"to\":\"a@example.com\",\"template\":\"hello\"}\n{\"to\":\"b@example.com\",\"subject\":\"S\",\"body\":\"B\"}\n";
    let args = ["enqueue", "--bulk", "-", "--param", "name=You"];
    let seen = sandbox.mailq_reading(&args, lines);
    assert_eq!((seen.code, seen.out.as_str()), (0, "1\n2\n"), "{seen}");
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.all::<String>("SELECT template FROM email_messages", []), ["hello", "message"]);
    let seen = sandbox.mailq_reading(&args, "{\"to\":\"a@example.com\"}\n");
    assert!(seen.assert_code(65).err.contains("stdin:1: no template and no subject"), "{seen}");
}

#[test]
fn what_is_nearly_json_lines_or_csv_is_told_what_it_lacks() {
    let sandbox = Sandbox::new();
    let said = |input: &str| {
        let args = ["enqueue", "--template", "hello", "--param", "name=x", "--bulk", "-"];
        sandbox.mailq_reading(&args, input).assert_code(65).err.clone()
    };
    let array = said("[{\"to\": \"a@example.com\"}]\n");
    assert!(array.contains("is a JSON array\nhint: JSON Lines: one object a line"), "{array}");
    let semicolons = said("to;name\na@example.com;A\n");
    assert!(semicolons.contains("\"to;name\": the separator is a comma"), "{semicolons}");
    let slip = said("{\"to\": \"a@example.com\", \"subjct\": \"S\"}\n");
    let words = "stdin:1: unknown key `subjct`, at column 32: did you mean `subject`?";
    assert!(slip.contains(words), "{slip}");
    let strange = said("{\"to\": \"a@example.com\", \"colour\": 1}\n");
    assert!(strange.contains("`colour`, at column 32: the keys are to, cc, bcc, "), "{strange}");
    let many = said(&"{\n".repeat(53));
    assert!(many.contains("… and 3 more") && many.contains("53 bad lines"), "{many}");
    let lines: String = (0..52)
        .map(|n| format!("{{\"to\": \"a@example.com\", \"params\": {{\"p{n}xyz\": 1}}}}\n"))
        .collect();
    let args = ["enqueue", "--template", "hello", "--param", "name=x", "--bulk", "-"];
    let warned = sandbox.mailq_reading(&args, lines);
    assert_eq!(warned.assert_code(0).err.lines().count(), 51, "{warned}");
    assert!(warned.err.ends_with("… and 2 more\n"), "{warned}");
}

#[test]
fn a_quote_that_is_not_closed_swallows_no_mail() {
    let sandbox = Sandbox::new();
    let bad = sandbox.path("bad.csv");
    let args = ["enqueue", "--template", "hello", "--bulk", "-"];
    for (csv, told) in [
        (
            "to,name\na@example.com,\"abc\nb@example.com,2\n",
            "stdin:2: field 2 begins with a quote that is never closed",
        ),
        (
            "to,name\na@example.com,1\nb@example.com,\"x\"y\nc@example.com,3\n",
            "stdin:3: field 2 goes on after its closing quote",
        ),
        (
            "to,name\na@example.com,\"abc\nb@example.com,\"2\"\n",
            "stdin:2: field 2 goes on after its closing quote",
        ),
        ("to,\"name\na@example.com,1\n", "stdin:1: field 2 begins with a quote that is never"),
    ] {
        let seen = sandbox.mailq_reading(&args, csv);
        assert_eq!((seen.code, seen.out.as_str()), (65, ""), "{csv}: {seen}");
        assert!(seen.err.contains(told), "{told}\n{seen}");
        assert!(!sandbox.database().exists());
    }
    // What is legal is taken as it is meant: commas, line ends and doubled quotes.
    let legal = "to,name\r\n\r\na@example.com,\"1, \"\"2\"\"\r\n3\"\r\nb@example.com,5\" x\r\n";
    let bads =
        "c@example.com,\"x\"y\r\nd@example.com,\"\"\r\ne@example.com,\"abc\r\nf@example.com,6";
    let skip = [&args[..], &["--skip-bad", bad.to_str().unwrap()]].concat();
    let seen = sandbox.mailq_reading(&skip, format!("\u{feff}{legal}{bads}"));
    assert_eq!((seen.code, seen.out.as_str()), (0, "1\n2\n3\n"), "{seen}");
    assert!(seen.err.contains("stdin:6: ") && seen.err.contains("stdin:8: "), "{seen}");
    let rows = Rows::of(&sandbox);
    assert_eq!(
        rows.all::<String>("SELECT parameters FROM email_messages", []),
        [r#"{"name":"1, \"2\"\r\n3"}"#, r#"{"name":"5\" x"}"#, r#"{"name":""}"#]
    );
    // The bad ones are kept byte for byte, the byte order mark and the line ends too.
    assert_eq!(
        std::fs::read_to_string(&bad).unwrap(),
        "\u{feff}to,name\r\nc@example.com,\"x\"y\r\ne@example.com,\"abc\r\nf@example.com,6\n"
    );
}

#[test]
fn a_key_that_is_taken_makes_a_line_bad() {
    let sandbox = Sandbox::new();
    let bad = sandbox.path("bad.csv");
    let args = ["enqueue", "--template", "hello", "--param", "name=x", "--bulk", "-"];
    let skip = [&args[..], &["--skip-bad", bad.to_str().unwrap()]].concat();
    let kept = || std::fs::read_to_string(&bad).unwrap();
    let csv = "to,key\na@example.com,q1\nb@example.com,q1\nc@example.com,q2\n";
    let seen = sandbox.mailq_reading(&args, csv);
    assert_eq!((seen.code, seen.out.as_str()), (65, ""), "{seen}");
    let told = "stdin:3: key \"q1\" is taken by line 2, which differs from this one in to";
    assert!(seen.err.contains(told) && !seen.err.contains("mailq show"), "{seen}");
    assert!(seen.err.contains("1 line with a key that is taken, nothing is stored"), "{seen}");
    let seen = sandbox.mailq_reading(&skip, csv);
    assert_eq!(seen.code, 0, "{seen}");
    assert!(seen.err.contains(told), "{seen}");
    assert_eq!(kept(), "to,key\nb@example.com,q1\n");
    let rows = Rows::of(&sandbox);
    let recipients = || rows.all::<String>("SELECT to_addrs FROM email_messages ORDER BY id", []);
    assert_eq!(recipients(), ["a@example.com", "c@example.com"]);
    // The same where a mail of the queue has the key.
    let csv = "to,key\nd@example.com,q3\ne@example.com,q2\n";
    let seen = sandbox.mailq_reading(&args, csv);
    let id = rows.all::<i64>("SELECT id FROM email_messages WHERE idempotency_key = 'q2'", [])[0];
    let told = format!("stdin:3: key \"q2\" is taken by mail {id}, which differs");
    assert!(seen.assert_code(65).err.contains(&told), "{seen}");
    assert_eq!(recipients().len(), 2);
    let seen = sandbox.mailq_reading(&skip, csv);
    assert!(seen.assert_code(0).err.contains(&told), "{seen}");
    assert_eq!(kept(), "to,key\ne@example.com,q2\n");
    assert_eq!(recipients().len(), 3);
    // And where no line is good.
    let json = "{\"to\":\"f@example.com\",\"key\":\"q3\"}\n";
    let seen = sandbox.mailq_reading(&skip, json);
    assert!(seen.assert_code(65).err.contains("none of the lines is good"), "{seen}");
    assert_eq!((kept().as_str(), recipients().len()), (json, 3));
}
