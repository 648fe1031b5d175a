//! `on_failed`: told once a run, of what failed; and whatever becomes of it changes nothing.

use crate::support::rows::Rows;
use crate::support::sandbox::{Sandbox, Seen};

/// A run of `send-batch` with this hook, and whatever `more` configures.
fn run(sandbox: &Sandbox, hook: &str) -> Seen {
    let out = sandbox.path("out");
    let hook = hook.replace('\\', "\\\\").replace('"', "\\\"");
    sandbox.configure(&format!(
        "on_failed = \"{hook}\"\n[transport]\nkind = \"file\"\ndirectory = \"{}\"\n",
        out.display()
    ));
    sandbox.mailq(&["send-batch"])
}

#[test]
fn what_failed_in_a_run_is_told_once() {
    let sandbox = Sandbox::new();
    let hook = "cat >>told.jsonl; echo >>told.jsonl";
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    let seen = run(&sandbox, hook);
    assert!(!seen.assert_code(0).err.contains("on_failed"), "{seen}");
    assert!(!sandbox.path("told.jsonl").exists(), "nothing failed");
    let late = ["--to", "b@example.com", "--subject", "S", "--key", "k", "--expires-in", "1s"];
    sandbox.enqueue(&late);
    sandbox.enqueue(&["--to", "c@example.com", "--subject", "S", "--queue", "q"]);
    sandbox.enqueue(&["--to", "d@example.com", "--subject", "S"]);
    let rows = Rows::of(&sandbox);
    rows.run("UPDATE email_messages SET expires_at = created_at - 1 WHERE id = 2");
    rows.run("UPDATE email_messages SET template = 'gone' WHERE id = 3");
    let seen = run(&sandbox, hook);
    assert!(seen.assert_code(0).out.starts_with("sent 1, deferred 0, failed 2"), "{seen}");
    let told = std::fs::read_to_string(sandbox.path("told.jsonl")).unwrap();
    let told: serde_json::Value = serde_json::from_str(told.trim()).expect(&told);
    assert_eq!(told["count"], 2);
    let all = told["failed"].as_array().unwrap();
    let of = |id: i64| all.iter().find(|one| one["id"] == id).unwrap();
    assert_eq!((&of(2)["failure"], &of(2)["key"]), (&"expired".into(), &"k".into()));
    assert_eq!((&of(3)["failure"], &of(3)["queue"]), (&"render".into(), &"q".into()));
    assert!(of(3)["error"].as_str().unwrap().contains("gone"), "{told}");
}

#[test]
fn a_hook_that_fails_changes_nothing_but_a_warning() {
    for (hook, words) in [
        ("exit 3", "on_failed: the command ended with exit status: 3"),
        ("kill -9 $$", "on_failed: the command ended with signal: 9"),
        ("/no/such/program", "on_failed: the command ended with exit status: 127"),
        ("exec <&-; sleep 0.1; exit 1", "on_failed: the command ended with exit status: 1"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
        Rows::of(&sandbox).run("UPDATE email_messages SET template = 'gone'");
        let seen = run(&sandbox, hook);
        assert!(seen.assert_code(0).err.contains(words), "{hook}: {seen}");
        assert!(seen.out.starts_with("sent 0, deferred 0, failed 1"), "{seen}");
    }
}

#[test]
fn nobody_who_reads_what_a_run_says_waits_for_what_a_hook_left_behind() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    Rows::of(&sandbox).run("UPDATE email_messages SET template = 'gone'");
    let seen = run(&sandbox, "(sleep 5; echo still here >&2) & printf 'told \\033[31mit' >&2");
    let told = "mailq: on_failed: told \\u{1b}[31mit\n";
    assert!(seen.assert_code(0).err.contains(told), "{seen}");
    assert!(!seen.err.contains("still here"), "{seen}");
}
