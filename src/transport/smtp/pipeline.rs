//! One mail on one session: MAIL, RCPT, DATA, the message, the dot, in as few round trips as the server allows.
//!
//! With PIPELINING (RFC 2920) the commands of a mail leave in one write, and those of the next mail in the same write as
//! this one's dot. Invariants: replies are read in the order of the commands and each is held against the code that its
//! command is due; the message leaves only when somebody accepts it and nothing unasked has come in; no more than one
//! mail of a connection is past its dot and unanswered.

use super::ask::{Answers, Command, WINDOW};
use super::body::Body;
use super::screen::{Screened, header};
use super::session::{Clock, Session};
use super::wire::Glance;
use crate::domain::message::Outgoing;
use crate::domain::outcome::{
    Answer, Defect, Fate, Meaning, Outcome, Phase, Reply, Trouble, meaning,
};
use std::collections::VecDeque;
use std::io::Write;
use std::time::Instant;

/// What the session is good for afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Keep,
    /// Both sides still understand each other, but it is over.
    Quit,
    Drop,
}

/// How an offer ended before there was an outcome to speak of.
pub(super) enum Halt {
    /// Nothing was accepted: to be offered again on another connection. `was_first` tells that not even the first
    /// command was answered well.
    Again { trouble: Trouble, was_first: bool },
    /// This is the outcome.
    Over(Outcome, Then),
}

/// What the thread keeps from mail to mail, beside the session.
pub(super) struct Desk {
    /// The memory that messages are written from.
    pub(super) block: Vec<u8>,
    /// Whether DATA may be sent before the answers to RCPT are known. A server that says 354 although it refused
    /// everybody would take an empty message for a mail; it is not asked that way again.
    pub(super) data_early: bool,
    /// The server's words when it accepted the mail.
    pub(super) answer: Option<String>,
}

/// One mail being offered.
pub(super) struct Offer<'a> {
    pub(super) session: &'a mut Session,
    pub(super) desk: &'a mut Desk,
    pub(super) clock: &'a Clock<'a>,
    pub(super) mail: &'a Outgoing,
}

impl Offer<'_> {
    /// Offers the mail. An error of kind `Again` leaves the session to be dropped.
    pub(super) fn make(
        mut self,
        next: Option<&Outgoing>,
        before_end: &mut dyn FnMut() -> bool,
    ) -> Result<(Outcome, Then), Halt> {
        let settings = self.clock.settings;
        let screened = Screened::look(self.mail, self.session.can, settings);
        let mut screened = screened.map_err(|outcome| {
            // Announced mails were looked at before, so no command of this one is on its way.
            let then = if self.session.due.is_empty() { Then::Keep } else { Then::Drop };
            Halt::Over(outcome, then)
        })?;
        let answers = self.ask_everybody(&screened)?;
        let words = |reply: &Reply, phase: Phase| format!("{reply} ({})", phase.words());
        if let Some((meaning, reply)) = &answers.mail {
            settle(&mut screened.fates, &fate(*meaning, words(reply, Phase::Mail)));
            return Ok(self.without_message(&answers, screened.fates));
        }
        let somebody = answers.somebody();
        let mut pause = None;
        for (at, reply) in &answers.recipients {
            let answer = Answer::Reply(reply.clone());
            let verdict = meaning(Phase::Rcpt, &answer, somebody);
            match verdict {
                Meaning::Proceed => continue,
                Meaning::Pause(_) => pause = Some(self.clock.trouble(Phase::Rcpt, &answer)),
                _ => {}
            }
            if let Some(slot) = screened.fates.get_mut(*at) {
                *slot = Some(fate(verdict, words(reply, Phase::Rcpt)));
            }
        }
        if !somebody {
            let (outcome, then) = self.without_message(&answers, screened.fates);
            return Ok(match pause {
                Some(trouble) => (Outcome::Road(trouble), quit_if_kept(then)),
                None => (outcome, then),
            });
        }
        let Some(reply) = answers.data else {
            return Err(self.halt(Phase::Data, &Answer::Lost("DATA was not answered".into())));
        };
        match meaning(Phase::Data, &Answer::Reply(reply.clone()), true) {
            Meaning::Proceed => self.hand_over(screened, next, before_end),
            verdict @ (Meaning::Refused | Meaning::Deferred) => {
                settle(&mut screened.fates, &fate(verdict, words(&reply, Phase::Data)));
                self.session.needs_reset = true;
                Ok((answered(screened.fates), self.keep()))
            }
            _ => Err(self.halt(Phase::Data, &Answer::Reply(reply))),
        }
    }

    /// The outcome of a mail that nobody is to get. The server may wait for a message nevertheless.
    fn without_message(&mut self, answers: &Answers, fates: Vec<Option<Fate>>) -> (Outcome, Then) {
        self.session.needs_reset = true;
        let then = match &answers.data {
            _ if answers.is_broken => Then::Drop,
            Some(reply) if reply.code / 100 == 3 => {
                self.desk.data_early = false;
                Then::Drop
            }
            Some(reply) if reply.code / 100 < 4 => Then::Drop,
            _ => self.keep(),
        };
        (answered(fates), then)
    }

    /// Sends the message and reads what became of it.
    fn hand_over(
        mut self,
        screened: Screened,
        next: Option<&Outgoing>,
        before_end: &mut dyn FnMut() -> bool,
    ) -> Result<(Outcome, Then), Halt> {
        if !before_end() {
            let mut trouble = self.clock.out(Phase::Data, "stopped before the message was sent");
            trouble.in_hand = false;
            return Ok((Outcome::Road(trouble), Then::Drop));
        }
        match self.session.wire.glance() {
            Glance::Quiet => {}
            Glance::Talking(bytes) => return Err(self.halt(Phase::Data, &Answer::Garbage(bytes))),
            Glance::Ended(why) => return Err(self.halt(Phase::Data, &Answer::Lost(why))),
        }
        let (announcement, due) = self.announcement(next);
        if let Err((phase, answer)) = self.send_message(&announcement)? {
            return match phase {
                Phase::Dot => Ok((unknown(screened.fates, &answer), Then::Drop)),
                _ => self.broken_off(screened.fates, &answer),
            };
        }
        if !due.is_empty() {
            self.session.announced = next.map(|next| next.id);
            self.session.offered = self.session.offered.saturating_add(1);
            self.session.due = due;
        }
        let answer = self.session.wire.reply(self.clock.until(Phase::Dot));
        self.session.used = Instant::now();
        Ok(self.after_the_dot(screened, &answer))
    }

    /// What the answer to the dot makes of the mail.
    fn after_the_dot(&mut self, mut screened: Screened, answer: &Answer) -> (Outcome, Then) {
        match meaning(Phase::Dot, answer, true) {
            Meaning::Proceed => {
                let then = self.keep();
                if then == Then::Drop && self.is_contradicted() {
                    let why = "a second reply, which does not agree with the first";
                    let answer = Answer::Garbage(why.to_owned());
                    return (unknown(screened.fates, &answer), Then::Drop);
                }
                self.desk.answer = Some(answer.to_string());
                settle(&mut screened.fates, &Fate::Accepted);
                (answered(screened.fates), then)
            }
            verdict @ (Meaning::Refused | Meaning::Deferred) => {
                let words = format!("{answer} ({})", Phase::Dot.words());
                settle(&mut screened.fates, &fate(verdict, words));
                self.session.needs_reset = self.session.announced.is_none();
                let is_over = matches!(answer, Answer::Reply(reply) if reply.code == 421);
                let then = if is_over { Then::Drop } else { self.keep() };
                (answered(screened.fates), then)
            }
            Meaning::Pause(_) | Meaning::Outage => {
                let trouble = self.clock.trouble(Phase::Dot, answer);
                (Outcome::Road(trouble), Then::Quit)
            }
            Meaning::Crowded | Meaning::Reopen | Meaning::Unknown => {
                (unknown(screened.fates, answer), Then::Drop)
            }
        }
    }

    /// Writes the message and its dot. The inner error is the connection's, with the phase that was reached.
    fn send_message(&mut self, announcement: &[u8]) -> Result<Result<(), (Phase, Answer)>, Halt> {
        let header = header(self.mail, self.clock.settings);
        let wire = &mut self.session.wire;
        let mut body = Body::begin(wire, self.clock, &mut self.desk.block);
        let written =
            body.write_all(header.as_bytes()).and_then(|()| self.mail.content.write_to(&mut body));
        if let Err(error) = written {
            if let Some(answer) = body.failure() {
                return Ok(Err((Phase::Body, answer)));
            }
            let outcome =
                Outcome::Defective { defect: Defect::Attachment, words: error.to_string() };
            return Err(Halt::Over(outcome, Then::Drop));
        }
        Ok(body.finish(announcement))
    }

    /// The connection failed before the dot; the server may have said why.
    fn broken_off(
        &mut self,
        mut fates: Vec<Option<Fate>>,
        answer: &Answer,
    ) -> Result<(Outcome, Then), Halt> {
        match meaning(Phase::Body, answer, true) {
            verdict @ (Meaning::Refused | Meaning::Deferred) => {
                let words = format!("{answer} ({})", Phase::Body.words());
                settle(&mut fates, &fate(verdict, words));
                Ok((answered(fates), Then::Drop))
            }
            _ => Err(self.halt(Phase::Body, answer)),
        }
    }

    /// The commands of the next mail, where they may go with the end of this one.
    fn announcement(&mut self, next: Option<&Outgoing>) -> (Vec<u8>, VecDeque<Command>) {
        let settings = self.clock.settings;
        let is_full =
            settings.max_messages_per_connection.is_some_and(|max| self.session.offered >= max);
        let nothing = (Vec::new(), VecDeque::new());
        let Some(next) = next.filter(|_| self.session.can.pipelining && !is_full) else {
            return nothing;
        };
        let Ok(screened) = Screened::look(next, self.session.can, settings) else {
            return nothing;
        };
        if screened.needs_utf8 || screened.asked.len() + 2 > WINDOW {
            return nothing;
        }
        let mut due = VecDeque::with_capacity(screened.asked.len() + 2);
        due.push_back(Command::Mail);
        due.extend(screened.asked.iter().copied().map(Command::Rcpt));
        if self.desk.data_early {
            due.push_back(Command::Data);
        }
        let mut bytes = Vec::with_capacity(64 * due.len());
        for command in &due {
            command.write(next, &screened, self.session, &mut bytes);
        }
        (bytes, due)
    }

    /// Whether a reply that nobody is owed says the contrary of the acceptance before it: then one of the two was
    /// meant for another command, and nobody knows which. A 421 contradicts nothing: a server may hang up with it at
    /// any time (RFC 5321 3.8), and many do right after the last mail that they take on a connection.
    fn is_contradicted(&mut self) -> bool {
        let second = self.session.wire.last_words();
        second.is_none_or(|reply| reply.code / 100 != 2 && reply.code != 421)
    }

    /// The session goes on, unless something came in that nobody asked for.
    fn keep(&self) -> Then {
        if self.session.due.is_empty() && self.session.wire.unread().is_some() {
            Then::Drop
        } else {
            Then::Keep
        }
    }

    pub(super) fn halt(&self, phase: Phase, answer: &Answer) -> Halt {
        self.halt_at(phase, answer, false)
    }

    /// What an answer other than the due one means for a mail that was not accepted.
    pub(super) fn halt_at(&self, phase: Phase, answer: &Answer, is_first: bool) -> Halt {
        let trouble = self.clock.trouble(phase, answer);
        match meaning(phase, answer, false) {
            Meaning::Outage | Meaning::Pause(_) => {
                let is_polite = matches!(answer, Answer::Reply(reply) if reply.code != 421);
                let is_idle = self.session.due.is_empty() && phase < Phase::Body;
                let then = if is_polite && is_idle { Then::Quit } else { Then::Drop };
                Halt::Over(Outcome::Road(trouble), then)
            }
            Meaning::Proceed
            | Meaning::Refused
            | Meaning::Deferred
            | Meaning::Crowded
            | Meaning::Reopen
            | Meaning::Unknown => Halt::Again { trouble, was_first: is_first },
        }
    }
}

fn quit_if_kept(then: Then) -> Then {
    if then == Then::Keep { Then::Quit } else { then }
}

/// The fate that a verdict makes.
fn fate(verdict: Meaning, words: String) -> Fate {
    match verdict {
        Meaning::Proceed => Fate::Accepted,
        Meaning::Refused => Fate::Refused(words),
        Meaning::Crowded => Fate::Crowded(words),
        Meaning::Deferred
        | Meaning::Reopen
        | Meaning::Outage
        | Meaning::Pause(_)
        | Meaning::Unknown => Fate::Deferred(words),
    }
}

/// Gives `fate` to everybody who has none yet.
fn settle(fates: &mut [Option<Fate>], fate: &Fate) {
    for slot in fates.iter_mut().filter(|slot| slot.is_none()) {
        *slot = Some(fate.clone());
    }
}

fn answered(fates: Vec<Option<Fate>>) -> Outcome {
    Outcome::Answered(all(fates))
}

fn unknown(mut fates: Vec<Option<Fate>>, answer: &Answer) -> Outcome {
    settle(&mut fates, &Fate::Accepted);
    Outcome::Unknown { fates: all(fates), words: format!("{}: {answer}", Phase::Dot.words()) }
}

fn all(fates: Vec<Option<Fate>>) -> Vec<Fate> {
    let unasked = || Fate::Deferred("was not asked".to_owned());
    fates.into_iter().map(|fate| fate.unwrap_or_else(unasked)).collect()
}
