//! `--key`: one mail, whoever asks; and `--suppress-for`: one mail in so long, and a count.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use std::thread;

const MAIL: [&str; 8] =
    ["enqueue", "--to", "a@example.com", "--template", "hello", "--param", "name=A", "--key"];

#[test]
fn a_key_from_many_processes_at_once_is_one_mail_and_all_print_its_id() {
    let sandbox = Sandbox::new();
    let printed: Vec<String> = thread::scope(|scope| {
        let runs: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| sandbox.mailq(&[&MAIL[..], &["order-1"]].concat())))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap().assert_code(0).out.clone()).collect()
    });
    assert_eq!(printed, vec!["1\n"; 16]);
    assert_eq!(Rows::of(&sandbox).statuses(), [("PENDING".to_owned(), 1)].into());
    let other =
        sandbox.mailq(&["enqueue", "--to", "b@example.com", "--subject", "S", "--key", "order-1"]);
    assert_eq!((other.code, other.out.as_str()), (65, ""), "{other}");
    let told = "key \"order-1\" is taken by mail 1, which differs from this one in \
                to (\"a@example.com\" there, \"b@example.com\" here), template (\"hello\" there, \"message\" here)";
    assert!(other.err.contains(told), "{other}");
    assert!(other.err.contains("parameters ({\"name\":"), "JSON as it is, not escaped: {other}");
}

#[test]
fn a_time_that_is_named_belongs_to_the_mail_of_a_key() {
    let sandbox = Sandbox::new();
    let mail = |when: &[&str]| sandbox.mailq(&[&MAIL[..], &["visit"], when].concat());
    let at = ["--at", "2099-12-24T09:00:00+01:00"];
    for when in [&at[..], &["--at", "2099-12-24 08:00 UTC"], &["--in", "2h"], &["--at", "+2d"], &[]]
    {
        assert_eq!(mail(when).assert_code(0).out, "1\n");
    }
    let moved = mail(&["--at", "2099-12-25T09:00:00+01:00"]);
    assert_eq!((moved.code, moved.out.as_str()), (65, ""), "{moved}");
    let told = "at (\"2099-12-24T08:00:00+00:00\" there, \"2099-12-25T08:00:00+00:00\" here)";
    assert!(moved.err.contains(told), "{moved}");
    // One that was past was due at once, and is so again.
    for _ in 0..2 {
        let past = [&MAIL[..], &["past", "--at", "2020-01-01T00:00:00Z"]].concat();
        assert_eq!(sandbox.mailq(&past).assert_code(0).out, "2\n");
    }
    // A mail that waits after a deferral has another time than it began with.
    Rows::of(&sandbox).run("UPDATE email_messages SET attempt_count = 1, next_attempt_at = next_attempt_at + 1 WHERE id = 1");
    assert_eq!(mail(&at).assert_code(0).out, "1\n");
}

#[test]
fn repeats_are_counted_and_the_next_mail_tells_how_many() {
    let sandbox = Sandbox::new();
    sandbox.template("disk", "{{disk}}", "{{disk}} is full, and {{repeats}} more", None);
    let alert = |disk: &str| {
        let disk = format!("disk={disk}");
        let args = ["enqueue", "--to", "ops@example.com", "--template", "disk", "--param", &disk];
        sandbox.mailq(&[&args[..], &["--key", "disk", "--suppress-for", "1h", "--json"]].concat())
    };
    let first = alert("sda").assert_code(0).json();
    assert_eq!((&first["id"], &first["existed"]), (&1.into(), &false.into()));
    for repeats in 1..=3 {
        let told = alert("sdb").assert_code(0).json();
        assert_eq!((&told["id"], &told["repeats"]), (&1.into(), &repeats.into()), "{told}");
    }
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.statuses().get("PENDING"), Some(&1));
    // An hour later the next one goes, and says what was left out.
    rows.run("UPDATE mailq_repeats SET until = until - 3600001");
    assert_eq!(alert("sdc").json()["id"], 2);
    assert_eq!(alert("sdd").json()["repeats"], 1, "counted anew");
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails().join("\n");
    assert!(
        mails.contains("sda is full, and 0 more") && mails.contains("sdc is full, and 3 more"),
        "{mails}"
    );
    let wrong = ["enqueue", "--to", "a@example.com", "--subject", "S", "--suppress-for", "1h"];
    sandbox.mailq(&wrong).assert_code(64);
}

#[test]
fn a_storm_from_many_processes_is_one_mail() {
    let sandbox = Sandbox::new();
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let args = [&MAIL[..], &["storm", "--suppress-for", "10m"]].concat();
                assert_eq!(sandbox.mailq(&args).assert_code(0).out, "1\n");
            });
        }
    });
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.one::<i64>("SELECT repeats FROM mailq_repeats"), 11);
    assert_eq!(rows.one::<i64>("SELECT count(*) FROM email_messages"), 1);
}
