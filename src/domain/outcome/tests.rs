//! The failure policy: every phase with every kind of answer.

use super::*;

fn reply(text: &str) -> Answer {
    let (code, rest) = text.split_at(3);
    let mut rest = rest.trim_start();
    let mut enhanced = None;
    let parts: Vec<u8> =
        rest.split(' ').next().unwrap().split('.').filter_map(|p| p.parse().ok()).collect();
    if let [a, b, c] = parts[..] {
        enhanced = Some((a, b, c));
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
    }
    Answer::Reply(Reply { code: code.parse().unwrap(), enhanced, text: rest.to_owned() })
}

#[test]
fn every_phase_and_answer_has_one_meaning() {
    use Meaning::*;
    let lost = Answer::Lost("reset".into());
    let silence = Answer::Silence(Duration::from_secs(3));
    let garbage = Answer::Garbage("hello".into());
    for phase in
        [Phase::Connect, Phase::Tls, Phase::Greeting, Phase::Ehlo, Phase::StartTls, Phase::Auth]
    {
        for answer in [&lost, &silence, &garbage] {
            assert_eq!(meaning(phase, answer, false), Outage, "{phase:?} {answer}");
        }
        assert_eq!(meaning(phase, &reply("220 hello"), false), Proceed);
        for words in ["354 what", "421 4.3.2 bye", "450 no", "554 5.7.1 blocked", "535 5.7.8 no"] {
            assert_eq!(meaning(phase, &reply(words), false), Outage, "{phase:?} {words}");
        }
    }
    for phase in [Phase::Mail, Phase::Rcpt, Phase::Data, Phase::Body] {
        assert_eq!(meaning(phase, &lost, true), Reopen, "{phase:?}");
        assert_eq!(meaning(phase, &garbage, true), Reopen, "{phase:?}");
        assert_eq!(meaning(phase, &silence, true), Outage, "{phase:?}");
        assert_eq!(meaning(phase, &reply("421 4.3.2 bye"), true), Reopen, "{phase:?}");
        assert_eq!(meaning(phase, &reply("450 4.2.0 greylisted"), true), Deferred);
        assert_eq!(meaning(phase, &reply("550 5.1.1 no"), true), Refused);
        assert_eq!(meaning(phase, &reply("530 5.7.0 login"), true), Outage);
        let nested = reply("503 5.5.1 nested MAIL command");
        assert_eq!(meaning(phase, &nested, true), Reopen, "{phase:?}");
        let other = if phase == Phase::Data { "250 what" } else { "354 what" };
        assert_eq!(meaning(phase, &reply(other), true), Reopen, "{phase:?}");
        let due = if phase == Phase::Data { "354 go" } else { "250" };
        assert_eq!(meaning(phase, &reply(due), true), Proceed, "{phase:?}");
    }
    for answer in [&lost, &silence, &garbage, &reply("354 go"), &reply("199 x")] {
        assert_eq!(meaning(Phase::Dot, answer, true), Unknown, "{answer}");
    }
    assert_eq!(meaning(Phase::Dot, &reply("250"), true), Proceed);
    assert_eq!(meaning(Phase::Dot, &reply("421 4.3.2 bye"), true), Deferred);
    assert_eq!(meaning(Phase::Dot, &reply("451 later"), true), Deferred);
    assert_eq!(meaning(Phase::Dot, &reply("554 5.6.0 no"), true), Refused);
}

#[test]
fn too_many_recipients_waits_for_the_next_transaction_only_after_progress() {
    for words in ["452 4.5.3 too many recipients", "552 5.5.3 Too many recipients", "452 more"] {
        assert_eq!(meaning(Phase::Rcpt, &reply(words), true), Meaning::Crowded, "{words}");
        assert_eq!(meaning(Phase::Rcpt, &reply(words), false), Meaning::Deferred, "{words}");
    }
    let full = reply("552 5.2.2 mailbox full");
    assert_eq!(meaning(Phase::Rcpt, &full, true), Meaning::Refused);
    assert_eq!(meaning(Phase::Rcpt, &reply("452 4.2.2 over quota"), true), Meaning::Deferred);
}

#[test]
fn a_quota_of_the_sender_passes_with_time() {
    for phase in [Phase::Mail, Phase::Data, Phase::Dot] {
        let full = reply("552 5.2.2 sender over quota");
        assert_eq!(meaning(phase, &full, true), Meaning::Deferred, "{phase:?}");
    }
    let limit = reply("550 5.4.5 Daily user sending limit exceeded");
    assert_eq!(meaning(Phase::Rcpt, &limit, false), Meaning::Deferred);
}

#[test]
fn throttling_is_about_the_road_and_its_wait_is_honoured() {
    let wait = |text| match meaning(Phase::Mail, &reply(text), false) {
        Meaning::Pause(wait) => wait.map(|d| d.as_secs()),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(wait("450 4.7.1 Too many messages, try again in 90 seconds"), Some(90));
    assert_eq!(wait("454 4.7.0 rate limited, retry after 5 minutes"), Some(300));
    let over = reply("421 4.7.0 too many messages");
    assert_eq!(meaning(Phase::Mail, &over, false), Meaning::Reopen);
    for phase in [Phase::Greeting, Phase::Dot] {
        let paused = Meaning::Pause(None);
        assert_eq!(meaning(phase, &over, true), paused, "{phase:?}");
    }
    let limited = reply("450 4.7.1 rate limited");
    assert_eq!(meaning(Phase::Rcpt, &limited, true), Meaning::Crowded);
    let paused = Meaning::Pause(None);
    assert_eq!(meaning(Phase::Rcpt, &limited, false), paused);
    assert_eq!(wait("421 too many errors, try again in 99999999999999999 hours"), Some(86_400));
    for words in ["450 4.7.1 greylisted, try again in 300 seconds", "451 4.7.1 operated"] {
        assert_eq!(meaning(Phase::Rcpt, &reply(words), false), Meaning::Deferred, "{words}");
    }
}
