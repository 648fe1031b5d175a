//! A run that is stopped (SIGSTOP) past a final dot, reaped meanwhile, and continued, sends nothing twice; one that is
//! to end (SIGTERM, SIGINT) waits for no server that has no mail yet.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::Script;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than the writer ever looks away, and far shorter than a quarter of the lease: it must notice by itself.
const STOP: Duration = Duration::from_millis(1_500);

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_run_that_was_stopped_and_reaped_takes_its_mail_back() {
    let sandbox = Sandbox::new();
    let (dot, go) = (sandbox.path("dot"), sandbox.path("go"));
    let held = format!("!touch{}|!wait{}|250 ok", dot.display(), go.display());
    let sink = Script::new().offers(&["PIPELINING"]).on("DOT", &[&held, "250 ok"]).start();
    sandbox.configure(&format!(
        "[smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\n[send]\nlease = \"1h\"\nconcurrency = 2\n",
        sink.port
    ));
    let id =
        sandbox.enqueue(&["--to", "a@example.com", "--template", "hello", "--param", "name=A"])[0];

    let run = sandbox.start(&["send-batch"]);
    let signal = |name: &str| {
        let line = format!("kill -{name} {}", run.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    };
    until("the dot", || dot.exists());
    signal("STOP");
    thread::sleep(STOP);
    let reaped = sandbox.mailq(&["reap", "--older-than", "0s"]);
    assert!(reaped.out.starts_with("returned 1,"), "{reaped}");
    signal("CONT");
    let rows = Rows::of(&sandbox);
    until("somebody has the mail", || rows.of_mail::<String>(id, "status") != "PENDING");
    fs::write(&go, "").unwrap();

    let seen = sandbox.finish(run);
    seen.assert_code(0);
    assert!(seen.err.contains("taken back"), "{seen}");
    assert_eq!(sink.accepted().len(), 1, "{seen}");
    assert_eq!(rows.of_mail::<String>(id, "status"), "SENT");
}

#[test]
fn a_run_that_is_to_end_waits_for_no_server_without_a_mail() {
    for (signal, verb) in [("TERM", "GREET"), ("INT", "EHLO"), ("INT", "AUTH")] {
        let sandbox = Sandbox::new();
        let (here, go) = (sandbox.path("here"), sandbox.path("go"));
        let held = format!("!touch{}|!wait{}|250 ok", here.display(), go.display());
        let sink = Script::new().offers(&["AUTH PLAIN"]).on(verb, &[&held]).start();
        sandbox.write("secret", "s");
        // Whoever waits for the server meets this limit, and tells of an outage.
        sandbox.configure(&format!(
            "[smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\ntimeout = \"1m\"\nusername = \"u\"\n\
             password_file = \"secret\"\n",
            sink.port
        ));
        let ids: Vec<i64> = (0..3)
            .flat_map(|_| sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]))
            .collect();
        let run = sandbox.start(&["send-batch"]);
        until("the server is asked", || here.exists());
        let line = format!("kill -{signal} {}", run.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
        let seen = sandbox.finish(run);
        fs::write(&go, "").unwrap();
        assert!(seen.assert_code(0).out.contains("outage no"), "{verb}: {seen}");
        let rows = Rows::of(&sandbox);
        for id in ids {
            assert_eq!(rows.of_mail::<String>(id, "status"), "PENDING", "{verb}: {seen}");
            assert_eq!(rows.of_mail::<i64>(id, "attempt_count"), 0);
        }
        assert_eq!(rows.one::<i64>("SELECT count(*) FROM mailq_breaker"), 0);
    }
}
