//! What a receiver sees, for inputs that people met trouble with: headers, bodies, parts, as another program reads them.

use crate::support::sandbox::Sandbox;

#[test]
fn a_file_name_that_looks_encoded_is_not_read_as_encoded() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("=?utf-8?q?x?=.txt", "a");
    let path = path.to_str().unwrap();
    let args = ["enqueue", "--to", "a@example.com", "--subject", "s", "--attach", path];
    sandbox.mailq(&args).assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails();
    assert!(mails[0].contains("filename*=utf-8''%3D%3Futf-8%3Fq%3Fx%3F%3D.txt"), "{}", mails[0]);
    assert!(!mails[0].contains("=?"), "{}", mails[0]);
}

#[test]
fn an_address_that_only_looks_like_another_is_refused() {
    let sandbox = Sandbox::new();
    for address in ["a\u{200b}@example.com", "\u{feff}a@example.com", "\"a\u{202e}b\"@example.com"]
    {
        let seen = sandbox.mailq(&["enqueue", "--to", address, "--subject", "s"]);
        seen.assert_code(65);
        assert!(seen.err.contains("invisible character U+"), "{seen}");
    }
    sandbox.mailq(&["enqueue", "--to", "jörg@example.com", "--subject", "s"]).assert_code(0);
}

#[test]
fn a_template_that_shows_an_image_which_no_option_gives_is_told() {
    let sandbox = Sandbox::new();
    sandbox.template("logo", "S", "T", Some("{{> head}}"));
    sandbox.write("templates/_partials/head.hbs", "<img src=\"cid:logo\">");
    let args = ["enqueue", "--to", "a@example.com", "--template", "logo"];
    let seen = sandbox.mailq(&args);
    seen.assert_code(0);
    assert!(seen.err.contains("no --inline logo=PATH gives it"), "{seen}");
    let logo = sandbox.write("logo.png", "png");
    let inline = format!("logo={}", logo.display());
    let seen = sandbox.mailq(&[&args[..], &["--inline", &inline]].concat());
    seen.assert_code(0);
    assert!(!seen.err.contains("cid:"), "{seen}");
}

#[test]
fn a_language_in_capitals_is_found_and_an_empty_one_is_none() {
    let sandbox = Sandbox::new();
    sandbox.template("hi", "Hello", "T", None);
    sandbox.write("templates/hi/tr/subject.hbs", "Merhaba");
    for (locale, subject) in [("TR", "Merhaba"), ("TR_TR", "Merhaba"), ("", "Hello")] {
        let args = ["enqueue", "--to", "a@example.com", "--template", "hi", "--locale", locale];
        sandbox.mailq(&args).assert_code(0);
        sandbox.mailq(&["send-batch"]).assert_code(0);
        let is_found = |mail: &String| mail.contains(&format!("Subject: {subject}\r\n"));
        assert!(sandbox.mails().iter().any(is_found), "{locale}");
    }
}
