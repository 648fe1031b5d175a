//! What a mail costs in round trips, and what can go wrong while more than one command is on its way.

use super::*;
use crate::transport::samples::Broken;

/// The commands of the sink without their arguments.
fn verbs(sink: &Sink) -> Vec<String> {
    let verb = |line: &String| line.split([' ', ':']).next().unwrap().to_owned();
    sink.commands().iter().map(verb).collect()
}

#[test]
fn a_mail_costs_one_round_trip() {
    let sink = Script::new().start();
    let mut relay = relay(settings(&sink));
    assert!(all_accepted(&send_all(&mut relay, &mails(10))));
    relay.close();
    // EHLO, the commands of the first mail, ten times a message with the next commands, QUIT.
    assert_eq!((sink.reads(), sink.connections()), (1 + 1 + 10 + 1, 1));
    for (at, message) in sink.accepted().iter().enumerate() {
        let text = String::from_utf8_lossy(&message.bytes);
        assert!(text.contains(&format!("Subject: mail {}\r\n\r\n.hello\r\n", at + 1)), "{text}");
        assert_eq!(message.recipients, ["a@x.example"]);
        assert_eq!((message.faults.len(), message.sender.as_str()), (0, "me@x.example"));
    }
    assert_eq!(sink.accepted().len(), 10);
    assert_eq!(sink.count("RSET") + sink.count("NOOP"), 0);
}

#[test]
fn without_pipelining_each_command_waits_for_its_reply() {
    let sink = Script::new().offers(&["8BITMIME"]).start();
    let mut relay = relay(settings(&sink));
    assert!(all_accepted(&send_all(&mut relay, &mails(2))));
    relay.close();
    assert_eq!(verbs(&sink), ["EHLO", "MAIL", "RCPT", "DATA", "MAIL", "RCPT", "DATA", "QUIT"]);
    assert_eq!(sink.reads(), 1 + 2 * 4 + 1);
}

#[test]
fn another_mail_than_the_announced_one_goes_on_a_new_connection() {
    let sink = Script::new().start();
    let mut relay = relay(settings(&sink));
    let mails = mails(3);
    let first = relay.deliver(&mails[0], Some(&mails[1]), &mut || true);
    let third = relay.deliver(&mails[2], None, &mut || true);
    relay.close();
    assert!(all_accepted(&[first, third]));
    assert_eq!((sink.accepted().len(), sink.connections()), (2, 2));
}

#[test]
fn closing_with_a_mail_announced_says_nothing_into_its_message() {
    let sink = Script::new().start();
    let mut relay = relay(settings(&sink));
    let mails = mails(2);
    assert!(all_accepted(&[relay.deliver(&mails[0], Some(&mails[1]), &mut || true)]));
    relay.close();
    assert_eq!(sink.count("QUIT"), 0);
    assert_eq!(sink.messages().len(), 1);
}

/// Five mails, of which the server refuses the second's recipient and the third's message.
fn refusals(extensions: &[&str]) {
    let sink = Script::new()
        .offers(extensions)
        .strict()
        .on("RCPT:two@x.example", &["550 5.1.1 no"])
        .on("DOT", &["250 ok", "554 5.6.0 no", "250 ok"])
        .start();
    let mut mails = mails(5);
    mails[1] = mail(2, &["two@x.example"]);
    let mut relay = relay(settings(&sink));
    let outcomes = send_all(&mut relay, &mails);
    relay.close();
    let refused = |outcome: &Outcome, words: &str| {
        *outcome == Outcome::Answered(vec![Fate::Refused(words.to_owned())])
    };
    assert!(refused(&outcomes[1], "550 5.1.1 no (at RCPT TO)"), "{:?}", outcomes[1]);
    assert!(refused(&outcomes[2], "554 5.6.0 no (after the final dot)"), "{:?}", outcomes[2]);
    for at in [0, 3, 4] {
        assert!(all_accepted(&outcomes[at..=at]), "{at} {:?}", outcomes[at]);
    }
    assert_eq!((sink.connections(), sink.accepted().len()), (1, 3), "{extensions:?}");
    assert!(sink.count("RSET") >= 1 && sink.messages().iter().all(|m| !m.recipients.is_empty()));
}

#[test]
fn a_refused_mail_does_not_touch_the_next_one() {
    refusals(&["PIPELINING"]);
    refusals(&["8BITMIME"]);
}

#[test]
fn without_pipelining_no_data_follows_a_refusal() {
    let sink = Script::new().offers(&[]).on("RCPT", &["550 no", "250 ok"]).start();
    let mut relay = relay(settings(&sink));
    send_all(&mut relay, &mails(2));
    relay.close();
    let expected = ["EHLO", "MAIL", "RCPT", "RSET", "MAIL", "RCPT", "DATA", "QUIT"];
    assert_eq!(verbs(&sink), expected);
}

#[test]
fn a_server_that_wants_a_message_for_nobody_gets_none() {
    let script = Script::new().on("RCPT", &["250 ok", "550 no", "550 no", "250 ok"]);
    let sink = script.start();
    let mut relay = relay(settings(&sink));
    let outcomes = send_all(&mut relay, &mails(5));
    relay.close();
    assert!(all_accepted(&outcomes[..1]) && all_accepted(&outcomes[3..]), "{outcomes:?}");
    assert_eq!(sink.messages().len(), 3, "no empty message was taken for a mail");
    assert_eq!(sink.connections(), 2, "it is asked so only once");
}

#[test]
fn hundreds_of_recipients_are_asked_in_pieces() {
    let sink = Script::new().start();
    let names: Vec<String> = (0..250).map(|n| format!("u{n}@x.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut relay = relay(settings(&sink));
    let mails = [mail(1, &["a@x.example"]), mail(2, &names), mail(3, &["a@x.example"])];
    let outcomes = send_all(&mut relay, &mails);
    assert_eq!(outcomes[1], Outcome::Answered(vec![Fate::Accepted; 250]));
    assert_eq!(sink.accepted()[1].recipients, names);
    assert_eq!((sink.accepted().len(), sink.connections()), (3, 1));
}

#[test]
fn a_large_message_arrives_as_it_was() {
    let sink = Script::new().start();
    let body = b"Subject: large\r\n\r\n.\r\n..two\r\nplain text of some length\r\n".repeat(20_000);
    let mut mails = mails(2);
    mails[0].content = Box::new(body.clone());
    let mut relay = relay(settings(&sink));
    assert!(all_accepted(&send_all(&mut relay, &mails)));
    let accepted = sink.accepted();
    assert!(accepted[0].bytes == body && accepted[0].faults.is_empty());
    assert_eq!((accepted.len(), sink.connections()), (2, 1));
}

#[test]
fn odd_line_ends_neither_end_the_message_nor_reach_the_server() {
    let sink = Script::new().start();
    let mut odd = mail(1, &["a@x.example"]);
    odd.content = Box::new(b"a\n.\nb\r\n.\nMAIL FROM:<x@evil.example>\n\n.c".to_vec());
    let mut empty = mail(2, &["a@x.example"]);
    empty.content = Box::new(Vec::new());
    let mut relay = relay(settings(&sink));
    assert!(all_accepted(&send_all(&mut relay, &[odd, empty])));
    let messages = sink.accepted();
    let text = String::from_utf8_lossy(&messages[0].bytes);
    assert_eq!(text, "a\r\n.\r\nb\r\n.\r\nMAIL FROM:<x@evil.example>\r\n\r\n.c\r\n");
    assert!(messages[0].faults.is_empty() && messages[1].bytes.is_empty());
}

#[test]
fn an_attachment_that_changes_meanwhile_is_never_accepted() {
    let sink = Script::new().start();
    let mut mails = mails(2);
    mails[0].content = Box::new(Broken);
    let mut relay = relay(settings(&sink));
    let outcomes = send_all(&mut relay, &mails);
    assert!(
        matches!(&outcomes[0], Outcome::Defective { words, .. } if words == "it changed"),
        "{outcomes:?}"
    );
    assert!(all_accepted(&outcomes[1..]));
    assert_eq!((sink.messages().len(), sink.connections()), (1, 2));
}

#[test]
fn nothing_is_sent_that_cannot_be_recorded() {
    let sink = Script::new().start();
    let mut relay = relay(settings(&sink));
    let mut asked = 0;
    let outcome = relay.deliver(&mail(1, &["a@x.example"]), None, &mut || {
        asked += 1;
        assert_eq!((sink.count("DATA"), sink.messages().len()), (1, 0));
        false
    });
    let trouble = road(outcome);
    assert!(!trouble.in_hand, "{trouble:?}");
    assert_eq!((asked, sink.messages().len()), (1, 0));
}

#[test]
fn leave_to_end_is_asked_once_though_the_mail_is_offered_twice() {
    let sink = Script::new().on("DATA", &["!raw354 go\r\n250 stray\r\n", "354 go"]).start();
    let mut relay = relay(settings(&sink));
    let mut asked = 0;
    let outcome = relay.deliver(&mail(1, &["a@x.example"]), None, &mut || {
        asked += 1;
        true
    });
    assert!(all_accepted(&[outcome]));
    assert_eq!((asked, sink.connections()), (1, 2));
}

#[test]
fn a_reply_too_many_is_not_taken_for_the_one_to_the_dot() {
    let home = tempfile::tempdir().unwrap();
    let said = home.path().join("said");
    let stray = format!("354 go|!sleep0.05|250 stray|!touch{}", said.display());
    for extensions in [&["PIPELINING"][..], &[]] {
        let script = Script::new().offers(extensions).on("DATA", &[&stray, "354 go"]);
        let sink = script.on("DOT", &["554 5.7.1 rejected"]).start();
        let mut relay = relay(settings(&sink));
        let outcome = relay.deliver(&mail(1, &["a@x.example"]), None, &mut || {
            assert!(sink.wait_until(|_| said.exists()));
            true
        });
        let Outcome::Answered(fates) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(&fates[0], Fate::Refused(words) if words.contains("554")), "{fates:?}");
        assert_eq!((sink.messages().len(), sink.connections()), (1, 2));
        std::fs::remove_file(&said).unwrap();
    }
}
