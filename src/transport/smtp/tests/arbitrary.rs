//! Servers that say anything at all: no panic, no mail that is taken for sent without a 2xx, nothing held without bound.

use super::super::reply::{Input, MAX_REPLY, Parsed};
use super::*;
use proptest::prelude::*;

/// The least number of cases; `PROPTEST_CASES` asks for more.
fn cases(least: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(least), failure_persistence: None, ..usual }
}

/// Few cases unless more are asked for: each opens connections.
fn dialogues() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let cases = if usual.cases == 256 { 64 } else { usual.cases };
    ProptestConfig { cases, max_shrink_iters: 64, failure_persistence: None, ..usual }
}

/// An answer: a good one, one of any code, several, an end, or bytes.
fn answer() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        4 => (200u16..600, "[ -~]{0,40}").prop_map(|(code, words)| format!("{code} {}", words.replace(['|', '!'], ""))),
        1 => (200u16..600).prop_map(|code| format!("{code}-a|{code} b")),
        1 => (200u16..600, 200u16..600).prop_map(|(one, two)| format!("{one} a|{two} b")),
        1 => "[0-9]{0,4}[ -]?[\x01-\u{ff}]{0,20}".prop_map(|text| text.replace(['|', '!'], "")),
        1 => Just("!close".to_owned()),
        1 => Just("!rst".to_owned()),
    ]
}

proptest! {
    #![proptest_config(cases(5_000))]

    #[test]
    fn any_bytes_are_replies_or_garbage_and_are_not_hoarded(
        pieces in prop::collection::vec(
            prop_oneof![
                any::<Vec<u8>>(),
                Just(b"250-".to_vec()),
                Just(b"250 ok\r\n".to_vec()),
                Just(b"\r\n".to_vec()),
                (any::<u8>(), 0usize..70_000).prop_map(|(byte, count)| vec![byte; count]),
            ],
            0..8,
        )
    ) {
        let mut input = Input::default();
        let mut received = 0;
        let mut replies = 0;
        for piece in pieces {
            input.push(&piece);
            received += piece.len();
            loop {
                match input.next_reply() {
                    Parsed::Reply(reply) => {
                        replies += 1;
                        prop_assert!((100..600).contains(&reply.code));
                        prop_assert!(reply.text.len() < 600, "{}", reply.text);
                    }
                    Parsed::Garbage(words) => {
                        prop_assert!(words.len() < 200);
                        return Ok(());
                    }
                    Parsed::More => break,
                }
            }
        }
        // Every reply has at least a code and a line end, and what waits for more is bounded.
        prop_assert!(replies * 4 <= received && (received <= MAX_REPLY || replies > 0));
    }
}

proptest! {
    #![proptest_config(dialogues())]

    #[test]
    fn any_dialogue_ends_and_sent_means_accepted(
        answers in prop::collection::vec(answer(), 8),
        offers in prop::sample::subsequence(vec!["PIPELINING", "SIZE 9999", "SIZE x", "8BITMIME", "AUTH", "SMTPUTF8"], 0..6),
    ) {
        let mut script = Script::new().offers(&offers);
        for (verb, answer) in ["GREET", "MAIL", "RCPT", "DATA", "DOT", "RSET", "QUIT"].iter().zip(&answers) {
            if !answer.is_empty() {
                script = script.on(verb, &[answer, answer, ""]);
            }
        }
        if !answers[7].is_empty() {
            script = script.on("EHLO", &[&answers[7]]);
        }
        let sink = script.start();
        let mut settings = settings(&sink);
        settings.timeout = Some(SHORT);
        let outcomes = send_all(&mut relay(settings), &mails(3));
        prop_assert_eq!(outcomes.len(), 3);
        let sent = outcomes
            .iter()
            .filter(|outcome| **outcome == Outcome::Answered(vec![Fate::Accepted]))
            .count();
        prop_assert!(sent <= sink.accepted().len(), "{:?} of {:?}", outcomes, answers);
        for message in sink.messages() {
            prop_assert_eq!(message.faults, Vec::<String>::new());
        }
    }
}
