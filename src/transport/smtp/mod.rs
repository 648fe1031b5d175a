//! The SMTP dialogue: one session a thread, kept open between mails.
//!
//! `session` makes connections, `pipeline` offers a mail on one, `reply` and `wire` read what comes back, and the policy
//! in `domain::outcome` says what it means. Invariant: a mail is offered again here only while the server cannot have
//! accepted it, and at most once on a new connection.

mod aside;
mod ask;
mod auth;
mod body;
mod pipeline;
mod reply;
mod screen;
mod session;
mod settings;
mod tls;
mod wire;

#[cfg(test)]
#[path = "../../../tests/it/support/smtp_sink.rs"]
mod smtp_sink;
#[cfg(test)]
mod tests;

pub use settings::{Auth, Secret, Settings, Tls};

use super::{Relay, Told};
use crate::domain::message::Outgoing;
use crate::domain::outcome::{Outcome, Trouble};
use pipeline::{Desk, Halt, Offer, Then};
use session::{Clock, Session};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A road to one SMTP server. It connects when the first mail comes.
pub struct SmtpRelay {
    settings: Arc<Settings>,
    session: Option<Session>,
    desk: Desk,
    /// How long the mail in hand waited for connections.
    connecting: Duration,
}

impl SmtpRelay {
    /// A relay that has not connected yet.
    pub fn new(settings: Arc<Settings>) -> Self {
        let desk = Desk { block: Vec::new(), data_early: true, said: None };
        SmtpRelay { settings, session: None, desk, connecting: Duration::ZERO }
    }

    /// Connects, logs in and leaves again: whether the road is there, without a mail.
    pub fn try_road(&self) -> Result<(), Trouble> {
        let settings = self.settings.clone();
        Session::open(&Clock::start(&settings)).map(Session::quit)
    }

    /// The kept session if it can take `mail`, else a new one; and whether it was kept.
    fn ready(&mut self, mail: &Outgoing, clock: &Clock<'_>) -> Result<(Session, bool), Trouble> {
        if let Some(mut session) = self.session.take() {
            let fits = match session.announced {
                Some(id) => id == mail.id,
                None => session.is_usable(&self.settings),
            };
            if fits {
                return Ok((session, true));
            }
            session.quit();
        }
        let began = Instant::now();
        let opened = Session::open(clock);
        self.connecting += began.elapsed();
        Ok((opened?, false))
    }
}

impl Relay for SmtpRelay {
    fn deliver(
        &mut self,
        mail: &Outgoing,
        next: Option<&Outgoing>,
        before_end: &mut dyn FnMut() -> bool,
    ) -> Outcome {
        let settings = self.settings.clone();
        let clock = Clock::start(&settings);
        self.desk.said = None;
        let mut allowed = None;
        let mut allow = || *allowed.get_or_insert_with(&mut *before_end);
        let mut was_reopened = false;
        self.connecting = Duration::ZERO;
        loop {
            let (mut session, was_kept) = match self.ready(mail, &clock) {
                Ok(ready) => ready,
                Err(trouble) => return Outcome::Road(trouble),
            };
            let offer = Offer { session: &mut session, desk: &mut self.desk, clock: &clock, mail };
            let (outcome, then) = match offer.make(next, &mut allow) {
                Ok(end) => end,
                Err(Halt::Over(outcome, then)) => (outcome, then),
                Err(Halt::Again { trouble, was_first }) => {
                    // A kept connection that was closed meanwhile is nobody's failure.
                    let was_stale = was_kept && was_first;
                    if was_reopened {
                        return Outcome::Road(trouble);
                    }
                    was_reopened = !was_stale;
                    continue;
                }
            };
            match then {
                Then::Keep => self.session = Some(session),
                Then::Quit => session.quit(),
                Then::Drop => drop(session),
            }
            return outcome;
        }
    }

    fn told(&mut self) -> Told {
        Told { connecting: mem::take(&mut self.connecting), said: self.desk.said.take() }
    }

    fn close(&mut self) {
        if let Some(session) = self.session.take() {
            session.quit();
        }
    }
}
