//! Asking who may have a mail: MAIL, RCPT and DATA, and the replies to them in the order of the commands.
//!
//! Invariant: a command is sent only while no reply is owed but those that the pipeline is waiting for, and each reply is
//! held against the command that it belongs to.

use super::pipeline::{Halt, Offer};
use super::screen::Screened;
use super::session::Session;
use crate::domain::message::Outgoing;
use crate::domain::outcome::{Answer, Meaning, Phase, Reply, meaning};
use std::collections::VecDeque;
use std::io::Write;

/// How many commands may be unanswered: their replies fit into any socket's buffer, so that neither side waits for the
/// other to read.
pub(super) const WINDOW: usize = 100;

/// A command that has one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Reset,
    Mail,
    /// The recipient at this place of the envelope.
    Rcpt(usize),
    Data,
}

impl Command {
    fn phase(self) -> Phase {
        match self {
            Command::Reset | Command::Mail => Phase::Mail,
            Command::Rcpt(_) => Phase::Rcpt,
            Command::Data => Phase::Data,
        }
    }

    pub(super) fn write(
        self,
        mail: &Outgoing,
        screened: &Screened,
        session: &Session,
        out: &mut Vec<u8>,
    ) {
        let written = match self {
            Command::Reset => out.write_all(b"RSET\r\n"),
            Command::Data => out.write_all(b"DATA\r\n"),
            Command::Rcpt(at) => {
                write!(out, "RCPT TO:<{}>\r\n", mail.envelope.recipients[at])
            }
            Command::Mail => {
                let size = session.can.size.map(|_| format!(" SIZE={}", screened.size));
                let utf8 = if screened.needs_utf8 { " SMTPUTF8" } else { "" };
                let size = size.as_deref().unwrap_or_default();
                write!(out, "MAIL FROM:<{}>{size}{utf8}\r\n", mail.envelope.sender)
            }
        };
        written.expect("writing to memory does not fail");
    }
}

/// The answers to the commands of one mail.
#[derive(Default)]
pub(super) struct Answers {
    /// The refusal of MAIL.
    pub(super) mail: Option<(Meaning, Reply)>,
    pub(super) recipients: Vec<(usize, Reply)>,
    pub(super) data: Option<Reply>,
    /// Whether the connection failed after the fate of everybody was known.
    pub(super) is_broken: bool,
}

impl Answers {
    pub(super) fn somebody(&self) -> bool {
        self.mail.is_none() && self.recipients.iter().any(|(_, reply)| reply.code / 100 == 2)
    }
}

impl Offer<'_> {
    /// Sends the commands of the mail, where they were not sent already, and reads the replies.
    pub(super) fn ask_everybody(&mut self, screened: &Screened) -> Result<Answers, Halt> {
        let mut answers = Answers::default();
        let mut todo = VecDeque::new();
        let mut data_is_to_come = false;
        if self.session.announced.take().is_none() {
            todo = self.commands(screened);
            data_is_to_come = todo.back() != Some(&Command::Data);
        } else if self.session.due.back() != Some(&Command::Data) {
            data_is_to_come = true;
        }
        let mut is_first = true;
        loop {
            if self.session.due.is_empty() {
                if todo.is_empty() && data_is_to_come && answers.somebody() {
                    data_is_to_come = false;
                    todo.push_back(Command::Data);
                }
                if todo.is_empty() {
                    return Ok(answers);
                }
                self.send_window(&mut todo, screened, is_first)?;
            }
            let Some(command) = self.session.due.pop_front() else {
                continue;
            };
            let answer = self.session.wire.reply(self.clock.until(command.phase()));
            if answers.mail.is_some() || command == Command::Data && !answers.somebody() {
                // Nobody is to get the mail: this answer can change nothing but what the session is good for.
                match answer {
                    Answer::Reply(reply) if reply.code != 421 => {
                        answers.data = Some(reply).filter(|_| command == Command::Data);
                        continue;
                    }
                    _ => answers.is_broken = true,
                }
                self.session.due.clear();
                return Ok(answers);
            }
            self.note(command, answer, &mut answers, is_first)?;
            if answers.mail.is_some() {
                todo.clear();
                data_is_to_come = false;
            }
            is_first = false;
        }
    }

    /// The commands of a mail in their order. DATA is among them only if it may go with the others.
    fn commands(&mut self, screened: &Screened) -> VecDeque<Command> {
        let mut commands = VecDeque::with_capacity(screened.asked.len() + 3);
        if std::mem::take(&mut self.session.needs_reset) {
            commands.push_back(Command::Reset);
        }
        commands.push_back(Command::Mail);
        commands.extend(screened.asked.iter().copied().map(Command::Rcpt));
        let fits = commands.len() < WINDOW;
        if self.session.can.pipelining && self.desk.data_early && fits {
            commands.push_back(Command::Data);
        }
        self.session.offered = self.session.offered.saturating_add(1);
        commands
    }

    /// Sends as many commands as may be unanswered at once.
    fn send_window(
        &mut self,
        todo: &mut VecDeque<Command>,
        screened: &Screened,
        is_first: bool,
    ) -> Result<(), Halt> {
        let phase = todo.front().map_or(Phase::Mail, |command| command.phase());
        if let Some(bytes) = self.session.wire.unread() {
            return Err(self.halt_at(phase, &Answer::Garbage(bytes), is_first));
        }
        let count = if self.session.can.pipelining { WINDOW } else { 1 };
        let window: VecDeque<Command> = todo.drain(..count.min(todo.len())).collect();
        let mut bytes = Vec::with_capacity(64 * window.len());
        for command in &window {
            command.write(self.mail, screened, self.session, &mut bytes);
        }
        self.session.due = window;
        match self.session.wire.send(&bytes, self.clock.until(phase)) {
            Ok(()) => Ok(()),
            Err(unsent) => {
                let heard = self.session.wire.last_words();
                let answer = heard.map_or(unsent.answer, Answer::Reply);
                let answer = match &answer {
                    // Praise from whoever hung up is worth nothing.
                    Answer::Reply(reply) if reply.code < 400 => {
                        Answer::Lost("the server closed the connection".to_owned())
                    }
                    _ => answer,
                };
                Err(self.halt_at(phase, &answer, is_first))
            }
        }
    }

    /// Notes the answer to one command; an error where it ends the session.
    fn note(
        &mut self,
        command: Command,
        answer: Answer,
        answers: &mut Answers,
        is_first: bool,
    ) -> Result<(), Halt> {
        let phase = command.phase();
        let verdict = meaning(phase, &answer, false);
        let Answer::Reply(reply) = answer else {
            return Err(self.halt_at(phase, &answer, is_first));
        };
        match command {
            Command::Reset if verdict == Meaning::Proceed => {}
            Command::Reset => {
                let trouble = self.clock.trouble(phase, &Answer::Reply(reply));
                return Err(Halt::Again { trouble, was_first: is_first });
            }
            Command::Mail => match verdict {
                Meaning::Proceed => {}
                Meaning::Refused | Meaning::Deferred => answers.mail = Some((verdict, reply)),
                _ => return Err(self.halt_at(phase, &Answer::Reply(reply), is_first)),
            },
            Command::Rcpt(at) => match verdict {
                Meaning::Reopen | Meaning::Outage | Meaning::Unknown => {
                    return Err(self.halt(phase, &Answer::Reply(reply)));
                }
                _ => answers.recipients.push((at, reply)),
            },
            Command::Data if reply.code == 421 => {
                return Err(self.halt(phase, &Answer::Reply(reply)));
            }
            Command::Data => answers.data = Some(reply),
        }
        Ok(())
    }
}
