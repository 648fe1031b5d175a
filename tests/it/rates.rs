//! Rates: held in any window by any number of processes; what a run says of them; and a server that has too many.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::{Script, Sink};
use std::thread;
use std::time::{Duration, Instant};

fn configured(sink: &Sink, queues: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!(
        "[smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\ntimeout = \"10s\"\n{queues}",
        sink.port
    ));
    sandbox
}

fn fill(sandbox: &Sandbox, queue: &str, mails: usize) {
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S", "--queue", queue]);
    Rows::of(sandbox).run(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {mails}) \
         INSERT INTO email_messages (queue, to_addrs, template, parameters) \
         SELECT '{queue}', 'a@example.com', 'message', '{{\"subject\":\"S\",\"body\":\"\"}}' FROM n"
    ));
}

/// The most messages that came in any stretch of time of this length.
fn most_in(sink: &Sink, window: Duration) -> usize {
    let times: Vec<Instant> = sink.accepted().iter().map(|message| message.at).collect();
    let in_window =
        |from: Instant| times.iter().filter(|at| **at >= from && **at < from + window).count();
    times.iter().map(|from| in_window(*from)).max().unwrap_or(0)
}

#[test]
fn eight_senders_at_once_keep_a_rate_in_every_window() {
    let sink = Script::new().start();
    let sandbox = configured(&sink, "[queues.bulk]\nrate = ['30/1s', '70/3s']\n");
    fill(&sandbox, "bulk", 140);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while Rows::of(&sandbox).statuses().get("SENT") != Some(&140) {
                    sandbox.mailq(&["send-batch", "--concurrency", "2"]).assert_code(0);
                    thread::sleep(Duration::from_millis(20));
                }
            });
        }
    });
    assert_eq!(sink.accepted().len(), 140);
    let (second, three) = (Duration::from_secs(1), Duration::from_secs(3));
    let most = (most_in(&sink, second), most_in(&sink, three));
    assert!(most.0 <= 30 && most.1 <= 70, "{most:?}");
}

#[test]
fn a_run_that_meets_the_limit_ends_and_says_when_it_may_go_on() {
    let sink = Script::new().start();
    let sandbox = configured(&sink, "[queues.bulk]\nrate = '5/1h'\n");
    fill(&sandbox, "bulk", 12);
    sandbox.enqueue(&["--to", "b@example.com", "--subject", "S"]);
    let seen = sandbox.mailq(&["send-batch"]);
    seen.assert_code(0);
    assert!(seen.out.starts_with("sent 6, deferred 0, failed 0, outage no"), "{seen}");
    assert!(seen.err.contains("queue bulk has met its rate, 5/1h, and may go on at "), "{seen}");
    let told = sandbox.mailq(&["send-batch", "--json"]).assert_code(0).json();
    assert_eq!((&told["sent"], &told["limited"][0]["queue"]), (&0.into(), &"bulk".into()));
    assert_eq!(told["limited"][0]["rate"], "5/1h");
    let rows = Rows::of(&sandbox);
    let last: i64 = rows.one("SELECT max(sent_at) FROM email_messages WHERE queue = 'bulk'");
    let until = told["limited"][0]["until"].as_i64().unwrap();
    assert!((last..=last + 3_600_000 + 60_000).contains(&until), "{until} {last}");
    assert_eq!(sandbox.mailq(&["-q", "send-batch"]).assert_code(0).err, "");
    let why = "due, but queue bulk has met its rate, 5/1h, and may go on at ";
    let show = sandbox.mailq(&["show", "12"]);
    assert!(show.assert_code(0).out.contains(why), "{show}");
}

#[test]
fn a_run_that_is_told_to_waits_for_the_rate() {
    let sink = Script::new().start();
    let sandbox = configured(&sink, "[queues.bulk]\nrate = '4/1s'\n");
    fill(&sandbox, "bulk", 10);
    let seen = sandbox.mailq(&["send-batch", "--wait"]);
    seen.assert_code(0);
    assert!(seen.out.starts_with("sent 10, "), "{seen}");
    assert!(most_in(&sink, Duration::from_secs(1)) <= 4);
    fill(&sandbox, "bulk", 100);
    let seen = sandbox.mailq(&["send-batch", "--wait", "--time-limit", "1s"]);
    assert!(seen.err.contains("has met its rate, 4/1s"), "{seen}");
}

#[test]
fn a_server_that_has_too_many_slows_the_queue_which_recovers() {
    let sink = Script::new()
        .on(
            "MAIL",
            &["250 ok", "250 ok", "450 4.7.1 too many mails, try again in 1 seconds", "250 ok"],
        )
        .start();
    let sandbox = configured(&sink, "");
    fill(&sandbox, "default", 20);
    let seen = sandbox.mailq(&["send-batch", "--concurrency", "1"]);
    seen.assert_code(75);
    let words = "queue default: the server had too many; going on with 1 mails a minute";
    assert!(seen.err.contains(words), "{seen}");
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.one::<i64>("SELECT sum(attempt_count) FROM email_messages"), 2);
    rows.run("UPDATE mailq_breaker SET until = 0");
    let seen = sandbox.mailq(&["send-batch"]);
    seen.assert_code(0);
    assert!(seen.out.starts_with("sent 1, ") && seen.err.contains("has met its rate"), "{seen}");
    // Ten minutes later nothing holds it back.
    rows.run("UPDATE mailq_rate SET at = at - 660000");
    assert!(sandbox.mailq(&["send-batch"]).out.starts_with("sent 17, "));
}
