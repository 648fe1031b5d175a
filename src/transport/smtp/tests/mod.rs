//! The dialogue against a real server on loopback. Each test asks what the mail became and what the server saw.

mod answers;
mod arbitrary;
mod auth;
mod pipelining;
mod recipients;
mod sessions;
mod tls;

use super::smtp_sink::{Script, Sink};
use super::{Settings, SmtpRelay, Tls};
use crate::domain::message::Outgoing;
use crate::domain::outcome::{Fate, Outcome, Trouble};
use crate::transport::Relay;
use crate::transport::samples::mail;
use std::sync::Arc;
use std::time::Duration;

/// Short, for the tests that wait for it. Nothing is asserted about time.
const SHORT: Duration = Duration::from_millis(300);

fn settings(sink: &Sink) -> Settings {
    let mut settings = Settings::new("127.0.0.1", sink.port);
    settings.tls = Tls::None;
    settings
}

fn relay(settings: Settings) -> SmtpRelay {
    SmtpRelay::new(Arc::new(settings))
}

/// Hands over one mail alone.
fn send(relay: &mut SmtpRelay, mail: &Outgoing) -> Outcome {
    relay.deliver(mail, None, &mut || true)
}

/// Hands over `mails` in turn, each with the next one known.
fn send_all(relay: &mut SmtpRelay, mails: &[Outgoing]) -> Vec<Outcome> {
    mails
        .iter()
        .enumerate()
        .map(|(at, mail)| relay.deliver(mail, mails.get(at + 1), &mut || true))
        .collect()
}

fn mails(count: i64) -> Vec<Outgoing> {
    (1..=count).map(|id| mail(id, &["a@x.example"])).collect()
}

fn all_accepted(outcomes: &[Outcome]) -> bool {
    outcomes.iter().all(|outcome| *outcome == Outcome::Answered(vec![Fate::Accepted]))
}

fn road(outcome: Outcome) -> Trouble {
    match outcome {
        Outcome::Road(trouble) => trouble,
        other => panic!("{other:?}"),
    }
}
