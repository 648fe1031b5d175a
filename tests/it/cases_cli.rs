//! Arguments that people met trouble with: values that look like options, keys that come twice, words that come close.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

#[test]
fn a_key_that_stands_twice_in_params_is_refused() {
    let sandbox = Sandbox::new();
    let enqueue = |params: &str| {
        let args = ["enqueue", "--to", "a@example.com", "--template", "hello", "--params", params];
        sandbox.mailq(&args)
    };
    let seen = enqueue(r#"{"name":"Ada","name":"Bob"}"#);
    seen.assert_code(65);
    assert!(seen.err.contains("\"name\" is there twice"), "{seen}");
    // Big numbers come through as they were written, and an object inside may use the same key.
    enqueue(r#"{"name":12345678901234567890.10,"x":{"name":1}}"#).assert_code(0);
    let stored: String = Rows::of(&sandbox).one("SELECT parameters FROM email_messages");
    assert!(stored.contains("12345678901234567890.10"), "{stored}");
    enqueue("[]").assert_code(65);
}

#[test]
fn an_address_may_begin_with_a_hyphen() {
    let sandbox = Sandbox::new();
    let seen = sandbox.mailq(&["enqueue", "--to", "-a@example.com", "--subject", "s"]);
    seen.assert_code(64);
    assert!(seen.err.contains("--to=-a@example.com"), "{seen}");
    for args in [
        ["--to=-a@example.com", "--from=-b@example.com", "--reply-to=-c@example.com"].as_slice(),
        &["--to=-a@example.com", "--from", "-b@example.com", "--reply-to", "-c@example.com"],
    ] {
        let all = [&["enqueue", "--subject", "s"], args].concat();
        sandbox.mailq(&all).assert_code(0);
    }
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails();
    assert_eq!(mails.len(), 2);
    for line in
        ["To: -a@example.com\r\n", "From: -b@example.com\r\n", "Reply-To: -c@example.com\r\n"]
    {
        assert!(mails.iter().all(|mail| mail.contains(line)), "{mails:?}");
    }
}

#[test]
fn a_name_of_one_letter_is_not_said_to_be_another_one() {
    let sandbox = Sandbox::new();
    sandbox.template("letters", "{{m}}", "T", None);
    let args = ["enqueue", "--to", "a@example.com", "--template", "letters", "--param", "a=1"];
    let seen = sandbox.mailq(&args);
    seen.assert_code(65);
    assert!(seen.err.contains("`m` is missing") && !seen.err.contains("did you mean"), "{seen}");
}
