//! What each recipient gets, and what can be said to a server at all.

use super::*;

fn fates(outcome: Outcome) -> Vec<Fate> {
    match outcome {
        Outcome::Answered(fates) => fates,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_accepted_get_the_mail_and_the_others_their_reason() {
    for extensions in [&["PIPELINING"][..], &[]] {
        let sink = Script::new()
            .offers(extensions)
            .on("RCPT:no@x.example", &["550 5.1.1 unknown"])
            .on("RCPT:later@x.example", &["450 4.2.0 greylisted"])
            .start();
        let mut relay = relay(settings(&sink));
        let names = ["no@x.example", "a@x.example", "later@x.example", "b@x.example"];
        let fates = fates(send(&mut relay, &mail(1, &names)));
        assert_eq!(
            fates,
            [
                Fate::Refused("550 5.1.1 unknown (at RCPT TO)".into()),
                Fate::Accepted,
                Fate::Deferred("450 4.2.0 greylisted (at RCPT TO)".into()),
                Fate::Accepted,
            ]
        );
        assert_eq!(sink.accepted()[0].recipients, ["a@x.example", "b@x.example"]);
    }
}

#[test]
fn a_verdict_on_the_message_is_for_those_who_were_to_get_it() {
    for (verb, reply, words) in [
        ("DATA", "554 5.7.1 no", "554 5.7.1 no (at DATA)"),
        ("DOT", "554 5.6.0 spam", "554 5.6.0 spam (after the final dot)"),
    ] {
        let script = Script::new().on(verb, &[reply]).on("RCPT:later@x.example", &["451 later"]);
        let sink = script.start();
        let mut relay = relay(settings(&sink));
        let fates = fates(send(&mut relay, &mail(1, &["later@x.example", "a@x.example"])));
        let expected =
            [Fate::Deferred("451 later (at RCPT TO)".into()), Fate::Refused(words.into())];
        assert_eq!(fates, expected);
    }
}

#[test]
fn one_recipient_too_many_waits_for_the_next_transaction() {
    let names = ["a@x.example", "b@x.example", "c@x.example"];
    let scripts = [
        Script::new().max_recipients(2),
        Script::new().on("RCPT:c@x.example", &["552 5.5.3 Too many recipients"]),
        Script::new().on("RCPT:c@x.example", &["450 4.7.1 rate limited, try again in 60 seconds"]),
    ];
    for script in scripts {
        let sink = script.start();
        let mut relay = relay(settings(&sink));
        let fates = fates(send(&mut relay, &mail(1, &names)));
        assert_eq!(&fates[..2], [Fate::Accepted, Fate::Accepted]);
        assert!(matches!(&fates[2], Fate::Crowded(_)), "{fates:?}");
        assert_eq!(sink.accepted()[0].recipients, names[..2]);
    }
}

#[test]
fn a_pause_that_the_server_asks_for_is_handed_on() {
    let reply = "450 4.7.1 Too many messages, try again in 2 minutes";
    for verb in ["MAIL", "RCPT", "DATA", "DOT"] {
        for extensions in [&["PIPELINING"][..], &[]] {
            let sink = Script::new().offers(extensions).strict().on(verb, &[reply]).start();
            let mut relay = relay(settings(&sink));
            let trouble = road(send(&mut relay, &mail(1, &["a@x.example"])));
            assert_eq!(trouble.wait, Some(Duration::from_secs(120)), "{verb} {trouble:?}");
            assert!(trouble.in_hand && trouble.words.contains(reply), "{verb} {trouble:?}");
            assert_eq!(sink.connections(), 1, "{verb}");
        }
    }
}

#[test]
fn a_message_over_the_limit_is_not_offered() {
    let sink = Script::new().offers(&["PIPELINING", "SIZE 500"]).start();
    let mut mails = mails(3);
    mails[1].content = Box::new(vec![b'x'; 501]);
    let mut relay = relay(settings(&sink));
    let outcomes = send_all(&mut relay, &mails);
    let words = "message of 501 bytes is over the server's limit of 500";
    assert_eq!(outcomes[1], Outcome::Answered(vec![Fate::Refused(words.into())]));
    assert!(all_accepted(&outcomes[..1]) && all_accepted(&outcomes[2..]));
    let size = format!("MAIL FROM:<me@x.example> SIZE={}", mails[0].content.size());
    assert_eq!((sink.count("MAIL"), sink.count(&size)), (2, 2), "{:?}", sink.commands());
    assert_eq!(sink.connections(), 1);
}

#[test]
fn a_local_part_outside_ascii_needs_smtputf8() {
    let names = ["jos\u{e9}@x.example", "a@x.example"];
    let sink = Script::new().start();
    let mut plain = relay(settings(&sink));
    let outcome = fates(send(&mut plain, &mail(1, &names)));
    assert!(
        matches!(&outcome[0], Fate::Refused(words) if words.contains("SMTPUTF8")),
        "{outcome:?}"
    );
    assert_eq!(outcome[1], Fate::Accepted);
    let alone = fates(send(&mut plain, &mail(2, &names[..1])));
    assert!(matches!(&alone[0], Fate::Refused(_)), "{alone:?}");
    assert_eq!((sink.count("MAIL"), sink.count("RCPT")), (1, 1));

    let sink = Script::new().offers(&["PIPELINING", "SMTPUTF8"]).start();
    let mut able = relay(settings(&sink));
    let outcomes = send_all(&mut able, &[mail(1, &names), mail(2, &names), mail(3, &names[1..])]);
    assert_eq!(outcomes[1], Outcome::Answered(vec![Fate::Accepted; 2]));
    assert_eq!(sink.count("MAIL FROM:<me@x.example> SMTPUTF8"), 2);
    assert_eq!(sink.count("MAIL"), 3);
    assert_eq!(sink.accepted()[0].recipients, names);
}

#[test]
fn the_idempotency_header_stands_above_the_message() {
    let sink = Script::new().offers(&["SIZE"]).start();
    let mut settings = settings(&sink);
    settings.idempotency_header = Some("X-Token".into());
    let mail = mail(1, &["a@x.example"]);
    assert!(all_accepted(&[send(&mut relay(settings), &mail)]));
    let message = &sink.accepted()[0].bytes;
    let text = String::from_utf8_lossy(message);
    assert!(text.starts_with("X-Token: m1@x.example\r\nMessage-ID: "), "{text}");
    assert_eq!(sink.count(&format!("MAIL FROM:<me@x.example> SIZE={}", message.len())), 1);
}

#[test]
fn a_mail_without_recipients_is_defective() {
    let sink = Script::new().start();
    let outcome = send(&mut relay(settings(&sink)), &mail(1, &[]));
    assert!(matches!(outcome, Outcome::Defective { .. }), "{outcome:?}");
    assert_eq!(sink.count("MAIL"), 0);
}
