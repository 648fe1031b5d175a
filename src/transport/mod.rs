//! The roads out: whatever takes a ready message and says what became of it.
//!
//! A `Relay` never decides what an outcome costs a mail; it only reports, in the words of `domain::outcome`.

pub mod file;
pub mod sendmail;
pub mod smtp;

#[cfg(test)]
mod samples;

use crate::domain::message::Outgoing;
use crate::domain::outcome::{Outcome, Said};
use std::time::Duration;

/// What is worth telling of a mail that was handed over, beside its outcome.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// How long it took to make a connection; nothing where one was kept.
    pub connecting: Duration,
    /// The answer that decided it, where the road has one.
    pub said: Option<Said>,
}

/// One road, used by one thread. It may keep a connection open between mails.
pub trait Relay: Send {
    /// Hands `mail` over and reports what became of it.
    ///
    /// `next` is the mail that the following call will hand over, if one is known: a relay that can, announces it in
    /// the same write as the end of this one. If the following call brings another mail after all, the relay must
    /// drop the connection.
    ///
    /// `before_end` is called once, after everybody was asked and right before the bytes that let the server accept
    /// the mail (the final dot) are sent. It waits until the outcome of the mail before is durable. If it says `false`
    /// the relay must not send them: it drops the connection and reports `Outcome::Road`.
    fn deliver(
        &mut self,
        mail: &Outgoing,
        next: Option<&Outgoing>,
        before_end: &mut dyn FnMut() -> bool,
    ) -> Outcome;

    /// What the last `deliver` can tell of itself; once.
    fn told(&mut self) -> Told {
        Told::default()
    }

    /// Ends the session politely, without waiting long for an answer.
    fn close(&mut self);
}
