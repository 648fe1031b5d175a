//! Queues: their order is their priority, a large one delays nobody, and none is forgotten.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::{Script, Sink};

fn configured(sink: &Sink, more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!(
        "[smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\ntimeout = \"10s\"\n{more}",
        sink.port
    ));
    sandbox
}

/// `count` mails in `queue`, by SQL as an application would.
fn fill(rows: &Rows, queue: &str, to: &str, count: usize) {
    rows.run(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         INSERT INTO email_messages (queue, to_addrs, template, parameters) \
         SELECT '{queue}', '{to}', 'message', '{{\"subject\":\"S\",\"body\":\"\"}}' FROM n"
    ));
}

#[test]
fn a_newsletter_delays_a_one_time_password_by_the_mails_in_hand_at_most() {
    const SENDERS: usize = 2;
    let sink = Script::new().start();
    let sandbox = configured(&sink, "[queues.critical]\n[queues.bulk]\n");
    sandbox.enqueue(&["--to", "first@example.com", "--subject", "S"]);
    let rows = Rows::of(&sandbox);
    fill(&rows, "bulk", "reader@example.com", 100_000);
    // Nobody reads its log meanwhile.
    let run = sandbox.start(&["send-batch", "--quiet", "--concurrency", &SENDERS.to_string()]);
    for round in 1..=3 {
        assert!(sink.wait_until(|sink| sink.accepted().len() >= 100 * round), "too slow");
        fill(&rows, "critical", "otp@example.com", 1);
        let before = sink.accepted().len();
        let arrived = |sink: &Sink| {
            let all = sink.accepted();
            let mut found = (0..all.len()).filter(|at| all[*at].recipients[0] == "otp@example.com");
            found.nth(round - 1)
        };
        assert!(sink.wait_until(|sink| arrived(sink).is_some()), "it never came");
        let ahead = arrived(&sink).unwrap().saturating_sub(before);
        // For each sender: one in hand, one to follow, two on the desk; and what another sender ends meanwhile.
        assert!(ahead <= 8 * SENDERS, "{ahead} mails went first");
    }
    terminate(run.id());
    let seen = sandbox.finish(run);
    assert_eq!(seen.code, 0, "{seen}");
}

/// SIGTERM, by the program that every system has.
fn terminate(process: u32) {
    let done = std::process::Command::new("kill").arg(process.to_string()).status().unwrap();
    assert!(done.success());
}

#[test]
fn the_order_of_the_file_decides_and_what_it_does_not_name_goes_last() {
    let sink = Script::new().start();
    let sandbox = configured(&sink, "[queues.urgent]\n[queues.bulk]\n");
    sandbox.enqueue(&["--to", "z@example.com", "--subject", "S", "--queue", "a-stray"]);
    let rows = Rows::of(&sandbox);
    for queue in ["bulk", "urgent", "another"] {
        fill(&rows, queue, &format!("{queue}@example.com"), 3);
    }
    sandbox.mailq(&["send-batch", "--concurrency", "1"]).assert_code(0);
    let order: Vec<String> = sink.accepted().iter().map(|one| one.recipients[0].clone()).collect();
    let place = |who: &str| {
        let at = |one: &&String| one.starts_with(who);
        order.iter().position(|one| at(&one)).unwrap()
            ..=order.iter().rposition(|one| at(&one)).unwrap()
    };
    assert_eq!(order.len(), 10, "none is forgotten");
    assert!(place("urgent").end() < place("bulk").start(), "{order:?}");
    assert!(place("bulk").end() < place("another").start(), "{order:?}");
    assert!(place("bulk").end() < place("z@").start(), "{order:?}");
}

#[test]
fn a_domain_at_its_limit_keeps_nobody_else_waiting() {
    let sink = Script::new()
        // The large domain is slow: its recipients wait a moment each.
        .on("RCPT:a@big.example", &["!sleep0.02|250 ok"])
        .start();
    let sandbox = configured(&sink, "[queues.bulk]\nconcurrency = 4\nmax_per_domain = 2\n");
    sandbox.enqueue(&["--to", "a@big.example", "--subject", "S", "--queue", "bulk"]);
    let rows = Rows::of(&sandbox);
    fill(&rows, "bulk", "a@big.example", 399);
    fill(&rows, "bulk", "b@small.example", 20);
    let seen = sandbox.mailq(&["send-batch"]);
    seen.assert_code(0);
    assert!(seen.out.starts_with("sent 420, "), "{seen}");
    assert_eq!(rows.one::<i64>("SELECT max(attempt_count) FROM email_messages"), 1);
    let is_small = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("To: b@small.example");
    let order: Vec<bool> = sink.messages().iter().map(|one| is_small(&one.bytes)).collect();
    let last_small = order.iter().rposition(|small| *small).unwrap();
    let big_before = order[..last_small].iter().filter(|small| !**small).count();
    assert!(big_before < 300, "{big_before} of 400 went before the last of those behind them");
}

#[test]
fn a_group_is_followed_listed_waited_for_and_cancelled() {
    let sandbox = Sandbox::new();
    let bulk = |group: &str, lines: &str| {
        let args = ["enqueue", "--template", "hello", "--group", group, "--bulk", "-"];
        sandbox.mailq_reading(&args, format!("to,name\n{lines}")).assert_code(0);
    };
    bulk("news-1", "a@example.com,A\nb@example.com,B\nc@example.com,C\n");
    bulk("news-2", "d@example.com,D\n");
    Rows::of(&sandbox).run("UPDATE email_messages SET template = 'gone' WHERE id = 3");
    sandbox.mailq(&["send-batch", "--limit", "3"]).assert_code(0);
    let told = sandbox.mailq(&["stats", "--group", "news-1", "--json"]).assert_code(0).json();
    for (key, value) in [("waiting", 0), ("sent", 2), ("failed", 1)] {
        assert_eq!(told[key], value, "{told}");
    }
    assert_eq!((&told["failures"]["render"], &told["sent_per_minute"]), (&1.into(), &0.2.into()));
    assert!(sandbox.mailq(&["stats", "--group", "news-1"]).out.contains("FAILED render: 1"));
    sandbox.mailq(&["stats", "--group", "news-3"]).assert_code(66);
    sandbox.mailq(&["wait", "--group", "news-1"]).assert_code(65);
    sandbox.mailq(&["wait", "--group", "news-2", "--timeout", "0s"]).assert_code(75);
    let listed = sandbox.mailq(&["list", "--group", "news-2", "--json"]).json();
    assert_eq!(listed["id"], 4);
    sandbox.mailq(&["cancel", "--group", "news-2", "--yes"]).assert_code(0);
    assert_eq!(
        sandbox.mailq(&["stats", "--group", "news-2", "--json"]).json()["failures"]["cancelled"],
        1
    );
}

#[test]
fn a_queue_has_its_own_sender_and_retention() {
    let sandbox = Sandbox::new();
    let out = sandbox.path("out");
    sandbox.configure(&format!(
        "[transport]\nkind = \"file\"\ndirectory = \"{}\"\n\
         [queues.audit]\nfrom = \"Audit <audit@example.com>\"\nreply_to = \"desk@example.com\"\n\
         [queues.audit.retention]\nsent = \"365d\"\n\
         [queues.codes.retention]\nsent = \"1h\"\n",
        out.display()
    ));
    for queue in ["audit", "default", "codes"] {
        sandbox.enqueue(&["--to", "a@example.com", "--subject", queue, "--queue", queue]);
    }
    let listed = sandbox.mailq::<&str>(&[]).assert_code(0).out.clone();
    assert!(listed.contains("audit@example.com"), "{listed}");
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails();
    let of = |subject: &str| {
        let subject = format!("Subject: {subject}\r\n");
        mails.iter().find(|mail| mail.contains(&subject)).unwrap()
    };
    assert!(of("audit").contains("From: Audit <audit@example.com>\r\n"), "{}", of("audit"));
    assert!(of("audit").contains("Reply-To: desk@example.com\r\n"), "{}", of("audit"));
    assert!(of("default").contains("From: Sender <sender@example.com>\r\n"));
    assert!(!of("default").contains("Reply-To"));

    let rows = Rows::of(&sandbox);
    rows.run("UPDATE email_messages SET finished_at = finished_at - 2 * 86400000");
    sandbox.mailq(&["prune"]).assert_code(0);
    assert_eq!(
        rows.all::<String>("SELECT queue FROM email_messages ORDER BY id", []),
        ["audit", "default"]
    );
    rows.run("UPDATE email_messages SET finished_at = finished_at - 40 * 86400000");
    sandbox.mailq(&["prune"]).assert_code(0);
    assert_eq!(rows.all::<String>("SELECT queue FROM email_messages", []), ["audit"]);
    sandbox.mailq(&["prune", "--older-than", "0s"]).assert_code(0);
    assert!(rows.statuses().is_empty());
}
