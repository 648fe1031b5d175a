//! The life of a connection: made late, kept, found stale, full, and ended.

use super::*;
use crate::domain::message::Content;

#[test]
fn nobody_at_home_is_an_outage_that_names_the_place() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let trouble = road(send(&mut relay(Settings::new("127.0.0.1", port)), &mails(1)[0]));
    let start = format!("127.0.0.1:{port} connecting: ");
    assert!(trouble.words.starts_with(&start) && !trouble.in_hand, "{trouble:?}");
    let mut settings = Settings::new("no.such.invalid", 25);
    settings.timeout = Some(SHORT);
    let trouble = road(send(&mut relay(settings), &mails(1)[0]));
    assert!(trouble.words.starts_with("no.such.invalid:25 connecting: "), "{trouble:?}");
}

#[test]
fn an_outage_tells_the_phase_and_the_servers_words() {
    let sink = Script::new().on("GREET", &["554 5.7.1 blocked by policy"]).start();
    let trouble = road(send(&mut relay(settings(&sink)), &mails(1)[0]));
    let expected = format!("127.0.0.1:{} at the greeting: 554 5.7.1 blocked by policy", sink.port);
    assert_eq!(trouble.words, expected);
    assert!(!trouble.in_hand && sink.commands().is_empty(), "nobody speaks before the greeting");
}

#[test]
fn no_connection_is_made_before_the_first_mail() {
    let sink = Script::new().start();
    let mut relay = relay(settings(&sink));
    relay.close();
    assert_eq!(sink.connections(), 0);
}

#[test]
fn trouble_at_quit_changes_nothing() {
    for reply in ["!rst", "!close", "500 what", "!sleep3", "!drip221 bye bye bye bye bye"] {
        let sink = Script::new().on("QUIT", &[reply]).start();
        let mut relay = relay(settings(&sink));
        assert!(all_accepted(&send_all(&mut relay, &mails(2))), "{reply}");
        relay.close();
        assert!(sink.wait_until(|sink| sink.count("QUIT") == 1), "{reply}");
        assert_eq!(sink.accepted().len(), 2);
    }
}

#[test]
fn nobody_says_quit_after_silence() {
    let sink = Script::new().on("RCPT", &["!sleep1|250 ok"]).start();
    let mut settings = settings(&sink);
    settings.timeout = Some(SHORT);
    let mut relay = relay(settings);
    road(send(&mut relay, &mails(1)[0]));
    relay.close();
    assert_eq!(sink.count("QUIT"), 0);
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_made_anew() {
    let sink = Script::new().start();
    let mut relay = relay(settings(&sink));
    for mail in mails(3) {
        assert!(all_accepted(&[send(&mut relay, &mail)]));
        sink.hang_up();
    }
    assert_eq!((sink.accepted().len(), sink.connections()), (3, 3));
}

#[test]
fn a_farewell_while_idle_is_heard() {
    let home = tempfile::tempdir().unwrap();
    let said = home.path().join("said");
    let farewell = format!("250 ok|!sleep0.05|421 4.4.2 idle|!touch{}|!close", said.display());
    let sink = Script::new().on("DOT", &[&farewell, "250 ok"]).start();
    let mut relay = relay(settings(&sink));
    let mails = mails(2);
    assert!(all_accepted(&[send(&mut relay, &mails[0])]));
    assert!(sink.wait_until(|_| said.exists()));
    assert!(all_accepted(&[send(&mut relay, &mails[1])]));
    assert_eq!((sink.count("MAIL"), sink.connections()), (2, 2));
}

#[test]
fn a_kept_connection_that_fails_at_once_is_free() {
    // The second mail meets a stale connection, and then one that fails as well: only that one counts.
    let script = Script::new().offers(&[]).on("MAIL", &["250 ok", "!close", "!close", "250 ok"]);
    let sink = script.start();
    let mut relay = relay(settings(&sink));
    assert!(all_accepted(&send_all(&mut relay, &mails(2))));
    assert_eq!(sink.connections(), 3);
}

#[test]
fn a_server_that_always_hangs_up_is_an_outage_after_two_connections() {
    for reply in ["421 4.3.2 bye|!close", "!close", "!rst", "nonsense", "421 4.7.0 too many"] {
        for verb in ["MAIL", "RCPT", "DATA"] {
            let sink = Script::new().on(verb, &[reply]).start();
            let trouble = road(send(&mut relay(settings(&sink)), &mails(1)[0]));
            assert!(trouble.in_hand && trouble.wait.is_none(), "{verb} {reply}: {trouble:?}");
            assert_eq!(sink.connections(), 2, "{verb} {reply}");
        }
    }
}

#[test]
fn a_full_connection_is_ended_and_another_one_made() {
    for extensions in [&["PIPELINING"][..], &[]] {
        let sink = Script::new().offers(extensions).start();
        let mut settings = settings(&sink);
        settings.max_messages_per_connection = Some(3);
        let mut relay = relay(settings);
        assert!(all_accepted(&send_all(&mut relay, &mails(10))));
        relay.close();
        assert_eq!((sink.connections(), sink.count("QUIT")), (4, 4), "{extensions:?}");
        assert_eq!(sink.accepted().iter().filter(|m| m.connection == 1).count(), 3);
    }
}

#[test]
fn a_server_that_ends_the_session_after_some_mails_is_followed() {
    for extensions in [&["PIPELINING"][..], &[]] {
        let sink = Script::new().offers(extensions).max_messages(3).start();
        let mut relay = relay(settings(&sink));
        assert!(all_accepted(&send_all(&mut relay, &mails(10))), "{extensions:?}");
        assert_eq!((sink.accepted().len(), sink.connections()), (10, 4));
    }
}

#[test]
fn a_connection_idle_for_too_long_is_not_used_again() {
    let sink = Script::new().start();
    let mut settings = settings(&sink);
    settings.idle_limit = Duration::ZERO;
    let mut relay = relay(settings);
    for mail in mails(2) {
        assert!(all_accepted(&[send(&mut relay, &mail)]));
    }
    assert_eq!((sink.connections(), sink.count("QUIT")), (2, 1));
}

#[test]
fn a_mail_has_a_deadline_of_its_own() {
    // Each wait is within its limit; together they are not.
    let slow = "!sleep0.2|250 ok";
    let script = Script::new().offers(&[]).on("MAIL", &[slow]).on("RCPT", &[slow]);
    let sink = script.on("DATA", &["!sleep0.2|354 go"]).start();
    let mut settings = settings(&sink);
    settings.mail_timeout = SHORT;
    let trouble = road(send(&mut relay(settings), &mails(1)[0]));
    assert!(trouble.words.contains("no reply within"), "{trouble:?}");
    assert!(sink.messages().is_empty());
}

#[test]
fn a_server_that_knows_no_ehlo_is_greeted_by_helo() {
    let sink = Script::new().on("EHLO", &["500 5.5.1 what"]).start();
    let mut settings = settings(&sink);
    settings.hello_name = "h.example".into();
    assert!(all_accepted(&[send(&mut relay(settings), &mails(1)[0])]));
    assert_eq!((sink.count("EHLO h.example"), sink.count("HELO h.example")), (1, 1));
    assert_eq!(sink.commands()[2], "MAIL FROM:<me@x.example>");
}

#[test]
fn a_server_that_does_not_read_its_mail_is_not_waited_for() {
    let sink = Script::new().on("DATA", &["354 go|!sleep2"]).start();
    let mut settings = settings(&sink);
    settings.timeout = Some(SHORT);
    let mut large = mail(1, &["a@x.example"]);
    large.content = Box::new(b"a line of a message that fills every buffer\r\n".repeat(400_000));
    let trouble = road(send(&mut relay(settings), &large));
    assert!(trouble.words.contains("while the message was written"), "{trouble:?}");
    assert!(sink.accepted().is_empty());
}

/// A message that tells when its writing begins.
struct Telling {
    begun: std::path::PathBuf,
    bytes: Vec<u8>,
}

impl Content for Telling {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        std::fs::write(&self.begun, "")?;
        out.write_all(&self.bytes)
    }
}

#[test]
fn a_refusal_in_the_middle_of_a_message_is_heard() {
    let home = tempfile::tempdir().unwrap();
    let begun = home.path().join("begun");
    let reply = format!("354 go|!wait{}|552 5.3.4 too big|!sleep2", begun.display());
    let sink = Script::new().on("DATA", &[&reply, "354 go"]).start();
    let mut mails = mails(2);
    let bytes = b"a line of a message that fills every buffer\r\n".repeat(400_000);
    mails[0].content = Box::new(Telling { begun, bytes });
    let mut settings = settings(&sink);
    settings.timeout = Some(SHORT);
    let outcomes = send_all(&mut relay(settings), &mails);
    let words = "552 5.3.4 too big (while the message was written)";
    assert_eq!(outcomes[0], Outcome::Answered(vec![Fate::Refused(words.into())]));
    assert!(all_accepted(&outcomes[1..]), "{outcomes:?}");
    assert_eq!((sink.messages().len(), sink.connections()), (1, 2));
}
