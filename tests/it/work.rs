//! Work that must not grow: what a run asks of the system, counted by strace, and of the server, counted there.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::{Script, Sink};

fn queued(connections: usize, extensions: &[&str], mails: usize) -> (Sandbox, Sink) {
    let sink = Script::new().offers(extensions).start();
    let sandbox = Sandbox::new();
    sandbox.configure(&format!(
        "[smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\n[send]\nconcurrency = {connections}\n",
        sink.port
    ));
    // The first one makes the tables.
    sandbox.enqueue(&["--to", "a@example.com", "--template", "hello", "--param", "name=0"]);
    Rows::of(&sandbox).run(&format!(
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {mails} - 1)
         INSERT INTO email_messages (to_addrs, template, parameters)
         SELECT 'user' || i || '@example.com', 'hello', json_object('name', i) FROM c"
    ));
    (sandbox, sink)
}

fn count(trace: &[String], is_so: impl Fn(&str) -> bool) -> usize {
    trace.iter().filter(|line| is_so(line)).count()
}

#[test]
fn a_run_that_finds_nothing_due_writes_syncs_connects_and_starts_nothing() {
    let (sandbox, sink) = queued(4, &[], 3);
    Rows::of(&sandbox).run("UPDATE email_messages SET next_attempt_at = 4000000000000");
    // Somebody else has the database open, as on a host where mail is sent: then SQLite makes no files of its own.
    let _open = Rows::of(&sandbox);
    _open.one::<i64>("SELECT count(*) FROM email_messages");
    let calls = [
        "trace=write,pwrite64,writev,fsync,fdatasync,ftruncate,unlink,connect,socket,clone,clone3",
    ];
    let Some((seen, trace)) = sandbox.traced(&calls, &["send-batch"]) else { return };
    seen.assert_code(0);
    assert!(seen.out.starts_with("sent 0,"), "{seen}");
    // Its one line on standard output, and what SQLite puts into the index of its log.
    let others = |line: &str| !line.contains("write(1<") && !line.contains("mailq.db-shm>");
    assert_eq!(trace.iter().filter(|line| others(line)).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(sink.connections(), 0);
}

#[test]
fn a_mail_opens_no_file_makes_no_connection_and_costs_one_round_trip() {
    const MAILS: usize = 60;
    let (sandbox, sink) = queued(1, &["PIPELINING"], MAILS);
    let calls = ["trace=openat,connect,sendto,write,fsync,fdatasync,clone,clone3"];
    let Some((seen, trace)) = sandbox.traced(&calls, &["send-batch"]) else { return };
    seen.assert_code(0);
    assert_eq!(sink.accepted().len(), MAILS, "{seen}");
    let told = trace.join("\n");
    for file in ["subject.hbs", "text.hbs"] {
        assert_eq!(count(&trace, |line| line.contains(&format!("hello/{file}"))), 1, "{told}");
    }
    assert_eq!(count(&trace, |line| line.contains("connect(")), 1, "{told}");
    let threads = count(&trace, |line| line.contains("clone"));
    assert_eq!(threads, 2, "one sender, and its one connect aside: {told}");
    let opened = count(&trace, |line| line.contains("openat("));
    assert!(opened < MAILS, "{opened} files for {MAILS} mails: {told}");
    // EHLO, the first mail's commands, each message with the commands of the next, QUIT; now and then the next mail is
    // not on the desk yet.
    let sent = count(&trace, |line| line.contains("sendto("));
    assert!(sent <= MAILS * 5 / 4, "{sent} writes: {told}");
    // One record a mail: each is on disk before the next dot.
    let synced = count(&trace, |line| line.contains("sync(") && line.contains("mailq.db"));
    assert!(synced <= MAILS + 10, "{synced} synchronisations: {told}");
}

#[test]
fn many_connections_share_their_commits_and_a_turn_of_them_one_write_to_the_log() {
    const MAILS: usize = 300;
    // While one commit is on its way the others' answers come in: the delay makes sure of it.
    let (sandbox, sink) = queued(20, &["PIPELINING"], MAILS);
    let calls = ["trace=fdatasync,write", "inject=fdatasync:delay_exit=20000"];
    let Some((seen, trace)) = sandbox.traced(&calls, &["send-batch"]) else { return };
    seen.assert_code(0);
    assert_eq!(sink.accepted().len(), MAILS, "{seen}");
    let synced = count(&trace, |line| line.contains("fdatasync("));
    assert!(synced * 4 <= MAILS, "{synced} synchronisations for {MAILS} mails");
    assert_eq!(seen.err.matches("status=sent").count(), MAILS);
    let told = count(&trace, |line| line.contains("write(2<"));
    assert!((1..=MAILS / 4).contains(&told), "{told} writes to the log of {MAILS} mails");
}
