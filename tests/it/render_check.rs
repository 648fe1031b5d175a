//! `mailq render` and `mailq check`: what a mail would look like, and what would stop it, before anybody gets it.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::Script;
use std::fs;

#[test]
fn render_shows_what_would_be_sent() {
    let sandbox = Sandbox::new();
    sandbox.template("both", "S {{name}}", "T {{name}}\n", Some("<p>{{name}}</p>"));
    let seen = sandbox.mailq(&["render", "--template", "both", "--param", "name=A&B"]);
    assert_eq!(
        seen.assert_code(0).out,
        "Subject: S A&B\n\n--- text ---\nT A&B\n\n--- html ---\n<p>A&amp;B</p>\n"
    );
    let json = sandbox.mailq(&["render", "--template", "both", "--param", "name=A&B", "--json"]);
    assert_eq!(json.assert_code(0).json()["html"], "<p>A&amp;B</p>");
    let plain = sandbox.mailq(&["render", "--subject", "S", "--body", "B"]);
    assert_eq!(plain.assert_code(0).out, "Subject: S\n\n--- text ---\nB\n");
    assert!(!sandbox.database().exists());
}

#[test]
fn render_shows_a_mail_of_the_queue() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--template", "hello", "--param", "name=Ada"]);
    let seen = sandbox.mailq(&["render", "--mail", "1"]);
    assert!(seen.assert_code(0).out.starts_with("Subject: Hello Ada\n"), "{seen}");
    sandbox.mailq(&["render", "--mail", "1", "--template", "hello"]).assert_code(64);
    sandbox.mailq(&["render"]).assert_code(64);
    fs::remove_dir_all(sandbox.path("templates/hello")).unwrap();
    sandbox.mailq(&["render", "--mail", "1"]).assert_code(65);
}

#[test]
fn check_looks_at_everything() {
    let sink = Script::new().start();
    let sandbox = Sandbox::with_smtp(sink.port);
    Rows::of(&sandbox).run(include_str!("../../schema.sql"));
    let seen = sandbox.mailq(&["check"]);
    seen.assert_code(0);
    for name in ["configuration", "database", "spool", "template hello", "transport"] {
        assert!(
            seen.out.lines().any(|line| line.starts_with(&format!("ok       {name}: "))),
            "{name}\n{seen}"
        );
    }
    assert_eq!(sink.connections(), 1);
    assert_eq!(sink.count("MAIL"), 0);
    let offline = sandbox.mailq(&["check", "--offline", "--json"]);
    for line in offline.assert_code(0).out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["ok"], true, "{line}");
    }
    assert_eq!(sink.connections(), 1);
}

#[test]
fn a_database_without_a_folder_in_its_name_is_in_this_one() {
    let sandbox = Sandbox::new();
    sandbox.write("config.toml", "transport.kind = \"file\"\ntransport.directory = \"out\"\n");
    let seen = sandbox.mailq(&["--db", "bare.db", "check", "--create", "--offline"]);
    assert!(seen.code == 0 && seen.out.contains("ok       spool: bare.db-spool"), "{seen}");
    assert!(sandbox.path("bare.db").exists(), "{seen}");
}

#[test]
fn check_names_each_problem_and_ends_with_its_code() {
    let sandbox = Sandbox::new();
    let seen = sandbox.mailq(&["check"]);
    seen.assert_code(66);
    assert!(seen.out.contains("PROBLEM  database: no database at $DIR/mailq.db"), "{seen}");
    assert!(!sandbox.database().exists());
    sandbox.mailq(&["check", "--create"]).assert_code(0);
    sandbox.mailq(&["stats"]).assert_code(0);
    sandbox.template("broken", "{{#if}", "x", None);
    let seen = sandbox.mailq(&["check"]);
    seen.assert_code(65);
    assert!(seen.out.contains("PROBLEM  template broken: broken/subject.hbs:1"), "{seen}");
    fs::remove_dir_all(sandbox.path("templates/broken")).unwrap();
}

#[test]
fn check_warns_of_a_password_that_everybody_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    Rows::of(&sandbox).run(include_str!("../../schema.sql"));
    let secret = sandbox.write("secret", "hunter2");
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o644)).unwrap();
    sandbox.configure(
        "[smtp]\nhost = \"mail.example\"\nusername = \"u\"\npassword_file = \"secret\"\n",
    );
    let seen = sandbox.mailq(&["check", "--offline"]);
    assert!(
        seen.assert_code(0)
            .err
            .contains("warning: everybody on this host can read the password file $DIR/secret"),
        "{seen}"
    );
    assert!(!seen.to_string().contains("hunter2"), "{seen}");
}

#[test]
fn a_template_tells_what_it_needs() {
    let sandbox = Sandbox::new();
    sandbox.template("bill", "Bill {{number}}", "{{customer.name}} {{default note \"-\"}}", None);
    let seen = sandbox.mailq(&["render", "--template", "bill", "--needs"]);
    assert_eq!(seen.assert_code(0).out, "number\ncustomer.name\nnote (optional)\n");
    let list = "{{#each items}}{{name}}{{#if (optional url)}}{{url}}{{/if}}{{/each}}";
    sandbox.template("goods", "Goods", list, None);
    let seen = sandbox.mailq(&["render", "--template", "goods", "--needs"]);
    assert_eq!(seen.assert_code(0).out, "items\nitems[].name\nitems[].url (optional)\n");
    let json = sandbox.mailq(&["render", "--template", "message", "--needs", "--json"]);
    assert_eq!(
        json.assert_code(0).json(),
        serde_json::json!({"template": "message", "required": ["subject"], "optional": ["body", "html"]})
    );
    sandbox.mailq(&["render", "--template", "gone", "--needs"]).assert_code(65);
}

#[test]
fn the_end_of_the_name_says_what_is_put_into_a_file() {
    let sandbox = Sandbox::new();
    sandbox.template("hello", "Hello {{name}}", "Dear {{name}}", Some("<p>Dear {{name}}</p>"));
    let id =
        sandbox.enqueue(&["--to", "ada@example.com", "--template", "hello", "--param", "name=Ada"])
            [0];
    let id = id.to_string();
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap();
    for name in ["a.eml", "a.html", "a.txt"] {
        let seen = sandbox.mailq(&["render", "--mail", &id, "--output", name]);
        assert_eq!(seen.assert_code(0).out, "");
    }
    assert!(read("a.eml").contains("\r\nTo: ada@example.com\r\n"), "{}", read("a.eml"));
    assert!(read("a.html").contains("<p>Dear Ada</p>"));
    assert_eq!(read("a.txt").trim_end(), "Dear Ada");
    let new = ["render", "--template", "hello", "--param", "name=Bob", "--output", "b.eml"];
    sandbox.mailq(&new).assert_code(0);
    assert!(read("b.eml").contains("Subject: Hello Bob\r\n"), "{}", read("b.eml"));
    let wrong = sandbox.mailq(&["render", "--mail", &id, "--output", "a.pdf"]);
    wrong.assert_code(64);
    assert!(wrong.err.contains("--output a.pdf: is no .eml, .html or .txt\nhint: "), "{wrong}");
    sandbox.mailq(&["render", "--mail", &id, "--output", "no/such/a.eml"]).assert_code(73);
}
