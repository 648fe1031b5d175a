//! The failure policy, row by row: each phase with each kind of answer.

use super::*;

/// What a row expects of the first mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Accepted,
    Refused,
    Deferred,
    Outage,
    Paused,
    Unknown,
}
use Expect::*;

fn what(outcome: &Outcome) -> Expect {
    match outcome {
        Outcome::Answered(fates) => match fates[0] {
            Fate::Accepted => Accepted,
            Fate::Refused(_) => Refused,
            Fate::Deferred(_) | Fate::Crowded(_) => Deferred,
        },
        Outcome::Road(trouble) if trouble.wait.is_some() => Paused,
        Outcome::Road(_) => Outage,
        Outcome::Unknown { .. } => Unknown,
        Outcome::Defective { words, .. } => panic!("{words}"),
    }
}

/// Phase, answer, what the mail becomes, and how many connections two mails take, the second of which meets a server
/// that answers well again. After an outage the run would end; a second mail is sent here all the same.
type Row = (&'static str, &'static str, Expect, usize);

const ROWS: &[Row] = &[
    ("GREET", "220", Accepted, 1),
    ("GREET", "220-sink|220-we do not authorise|220 bulk mail", Accepted, 1),
    ("GREET", "220-hi|521 5.7.1 blocked|!close", Outage, 2),
    ("GREET", "354 what", Outage, 2),
    ("GREET", "421 4.3.2 shutting down", Outage, 2),
    ("GREET", "421 4.7.0 try again in 90 seconds", Paused, 2),
    ("GREET", "554 5.7.1 blocked", Outage, 2),
    ("GREET", "!close", Outage, 2),
    ("GREET", "!rst", Outage, 2),
    ("GREET", "!sleep2", Outage, 2),
    ("GREET", "!drip220 hello hello", Outage, 2),
    ("GREET", "hello", Outage, 2),
    ("GREET", "220 \u{fc}\u{ff}", Accepted, 1),
    ("GREET", "!raw220 a\r\n220 b\r\n", Outage, 2),
    ("EHLO", "250", Accepted, 1),
    ("EHLO", "250 \u{fc}\u{ff}", Accepted, 1),
    ("EHLO", "354 what", Outage, 2),
    ("EHLO", "421 4.3.2 bye|!close", Outage, 2),
    ("EHLO", "450 later", Outage, 2),
    ("EHLO", "550 no", Outage, 2),
    ("EHLO", "502 unknown", Accepted, 1),
    ("EHLO", "!close", Outage, 2),
    ("EHLO", "!sleep2", Outage, 2),
    ("EHLO", "!drip250 hello hello", Outage, 2),
    ("EHLO", "hello", Outage, 2),
    ("MAIL", "250", Accepted, 1),
    ("MAIL", "354 what", Accepted, 2),
    ("MAIL", "450 4.2.0 later", Deferred, 1),
    ("MAIL", "450 4.7.1 too many mails, try again in 90 seconds", Paused, 2),
    ("MAIL", "421 4.3.2 bye|!close", Accepted, 2),
    ("MAIL", "530 5.7.0 log in first", Outage, 2),
    ("MAIL", "550 5.7.1 no", Refused, 1),
    ("MAIL", "552 5.2.2 sender over quota", Deferred, 1),
    ("MAIL", "!close", Accepted, 2),
    ("MAIL", "!rst", Accepted, 2),
    ("MAIL", "!sleep2", Outage, 2),
    ("MAIL", "!drip250 hello hello", Outage, 2),
    ("MAIL", "hello", Accepted, 2),
    ("MAIL", "250 \u{fc}\u{ff}", Accepted, 1),
    ("MAIL", "250 ok|250 stray", Accepted, 2),
    ("RCPT", "250", Accepted, 1),
    ("RCPT", "251 will forward", Accepted, 1),
    ("RCPT", "354 weird", Accepted, 2),
    ("RCPT", "450 4.2.0 greylisted", Deferred, 1),
    ("RCPT", "421 bye|!close", Accepted, 2),
    ("RCPT", "550 5.1.1 no", Refused, 1),
    ("RCPT", "452 4.5.3 too many recipients", Deferred, 1),
    ("RCPT", "535 5.7.8 no", Outage, 2),
    ("RCPT", "!close", Accepted, 2),
    ("RCPT", "!sleep2", Outage, 2),
    ("RCPT", "!drip250 hello hello", Outage, 2),
    ("RCPT", "hello", Accepted, 2),
    ("RCPT", "550 \u{fc}\u{ff}", Refused, 1),
    ("RCPT", "250 ok|250 stray", Accepted, 2),
    ("DATA", "354", Accepted, 1),
    ("DATA", "250 what", Accepted, 2),
    ("DATA", "451 4.3.0 later", Deferred, 1),
    ("DATA", "421 4.3.2 bye|!close", Accepted, 2),
    ("DATA", "554 5.7.1 no", Refused, 1),
    ("DATA", "!close", Accepted, 2),
    ("DATA", "!sleep2", Outage, 2),
    ("DATA", "!drip354 hello hello", Outage, 2),
    ("DATA", "hello", Accepted, 2),
    ("DATA", "354 \u{fc}\u{ff}", Accepted, 1),
    ("DATA", "!raw354 go\r\n250 stray\r\n", Accepted, 2),
    ("DOT", "250", Accepted, 1),
    ("DOT", "250 \u{fc}\u{ff}", Accepted, 1),
    ("DOT", "354 still going", Unknown, 2),
    ("DOT", "451 4.3.0 later", Deferred, 1),
    ("DOT", "421 4.3.2 bye|!close", Deferred, 2),
    ("DOT", "554 5.6.0 no", Refused, 1),
    ("DOT", "!close", Unknown, 2),
    ("DOT", "!rst", Unknown, 2),
    ("DOT", "!sleep2", Unknown, 2),
    ("DOT", "!drip250 accepted by slow server", Unknown, 2),
    ("DOT", "hello", Unknown, 2),
    ("DOT", "|250 ok", Unknown, 2),
    ("DOT", "!raw250 ok\r\n250 stray\r\n", Accepted, 2),
    ("DOT", "!raw250 stray\r\n554 5.6.0 no\r\n", Unknown, 2),
    ("DOT", "!raw250 ok\r\n421 4.4.2 bye\r\n|!close", Accepted, 2),
];

fn good(verb: &str) -> &'static str {
    match verb {
        "GREET" => "220 hello",
        "EHLO" => "250 sink.example",
        "DATA" => "354 go",
        _ => "250 ok",
    }
}

fn walk(extensions: &[&str]) {
    for (verb, answer, expected, connections) in ROWS {
        let script = Script::new().offers(extensions).strict();
        let sink = script.on(verb, &[answer, good(verb)]).start();
        let mut settings = settings(&sink);
        settings.timeout = Some(SHORT);
        let mut relay = relay(settings);
        let row = format!("{verb} {answer:?} with {extensions:?}");
        let first = send(&mut relay, &mail(1, &["a@x.example"]));
        assert_eq!(what(&first), *expected, "{row}: {first:?}");
        let accepted = sink.accepted().len();
        let second = send(&mut relay, &mail(2, &["b@x.example"]));
        assert_eq!(what(&second), Accepted, "{row}: the next mail: {second:?}");
        relay.close();
        assert_eq!(sink.connections(), *connections, "{row}");
        match expected {
            Accepted => assert_eq!(accepted, 1, "{row}"),
            Refused | Deferred | Outage | Paused => assert_eq!(accepted, 0, "{row}"),
            Unknown => assert!(accepted <= 1, "{row}"),
        }
    }
}

#[test]
fn each_answer_in_the_plain_dialogue() {
    walk(&["8BITMIME"]);
}

#[test]
fn each_answer_with_pipelining() {
    walk(&["PIPELINING"]);
}
