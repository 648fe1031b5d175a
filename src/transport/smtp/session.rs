//! From nothing to a session that may say MAIL: connect, greeting, EHLO, STARTTLS, AUTH; and the end of it, QUIT.
//!
//! Invariant: a `Session` exists only when all of that succeeded as the settings demand; before, no mail was named and
//! whatever goes wrong is the road's fault.

use super::ask::Command;
use super::auth;
use super::reply::Capabilities;
use super::settings::{Settings, Tls};
use super::tls;
use super::wire::{Glance, Wire, after};
use crate::domain::message::MailId;
use crate::domain::outcome::{Answer, Meaning, Phase, Trouble, meaning};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long the answer to QUIT is waited for. It changes nothing.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// The time that one mail has.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    pub(super) settings: &'a Settings,
    end: Instant,
}

impl<'a> Clock<'a> {
    pub(super) fn start(settings: &'a Settings) -> Self {
        Clock { settings, end: after(settings.mail_timeout) }
    }

    /// When a wait at `phase` that begins now ends.
    pub(super) fn until(&self, phase: Phase) -> Instant {
        after(self.settings.wait(phase)).min(self.end)
    }

    /// The road is out: where, when, and what was heard.
    pub(super) fn trouble(&self, phase: Phase, answer: &Answer) -> Trouble {
        let (too_many, wait) = match meaning(phase, answer, false) {
            Meaning::Pause(wait) => (true, wait),
            Meaning::Proceed
            | Meaning::Refused
            | Meaning::Deferred
            | Meaning::Crowded
            | Meaning::Reopen
            | Meaning::Outage
            | Meaning::Unknown => (false, None),
        };
        let said = match answer {
            Answer::Reply(reply) if reply.code < 400 => format!("{reply} (not the reply due here)"),
            Answer::Reply(_) | Answer::Lost(_) | Answer::Silence(_) | Answer::Garbage(_) => {
                answer.to_string()
            }
        };
        Trouble { too_many, wait, code: answer.code(), ..self.out(phase, &said) }
    }

    /// The road is out for a reason of our own.
    pub(super) fn out(&self, phase: Phase, why: &str) -> Trouble {
        Trouble {
            words: format!("{} {}: {why}", self.settings.scope(), phase.words()),
            wait: None,
            too_many: false,
            in_hand: phase >= Phase::Mail,
            phase: Some(phase),
            code: None,
        }
    }
}

/// A connection that is ready for the next mail.
pub(super) struct Session {
    pub(super) wire: Wire,
    pub(super) can: Capabilities,
    /// How many mails were offered on it.
    pub(super) offered: u32,
    /// Whether a transaction was refused and the server still has a part of it.
    pub(super) needs_reset: bool,
    /// When it was used last.
    pub(super) used: Instant,
    /// The commands that were sent and not answered yet.
    pub(super) due: VecDeque<Command>,
    /// The mail that those commands belong to, where they went with the end of the one before.
    pub(super) announced: Option<MailId>,
}

impl Session {
    /// Makes a session as the settings demand.
    pub(super) fn open(clock: &Clock<'_>) -> Result<Session, Trouble> {
        let settings = clock.settings;
        let limit = settings.wait(Phase::Connect);
        let wire = Wire::connect(&settings.host, settings.port, limit, clock.end, &settings.stop)
            .map_err(|answer| clock.trouble(Phase::Connect, &answer))?;
        let mut dialogue = Dialogue { wire, clock };
        if settings.tls == Tls::Implicit {
            dialogue = dialogue.secure()?;
        }
        dialogue.expect(Phase::Greeting)?;
        let mut can = dialogue.hello()?;
        let wants_tls = match settings.tls {
            Tls::None | Tls::Implicit => false,
            Tls::Opportunistic => can.starttls,
            Tls::StartTls => true,
        };
        if wants_tls {
            if !can.starttls {
                return Err(clock.out(Phase::StartTls, "the server does not offer STARTTLS"));
            }
            dialogue.command("STARTTLS\r\n", Phase::StartTls)?;
            if let Some(bytes) = dialogue.wire.unread() {
                return Err(clock.trouble(Phase::StartTls, &Answer::Garbage(bytes)));
            }
            dialogue = dialogue.secure()?;
            can = dialogue.hello()?;
        }
        auth::log_in(&mut dialogue, can)?;
        dialogue.wire.begin();
        Ok(Session {
            wire: dialogue.wire,
            can,
            offered: 0,
            needs_reset: false,
            used: Instant::now(),
            due: VecDeque::new(),
            announced: None,
        })
    }

    /// Whether the next mail, which was not announced, may use this session: it was not idle for too long, the server
    /// did not hang up, and it said nothing that nobody asked for.
    pub(super) fn is_usable(&mut self, settings: &Settings) -> bool {
        let is_full =
            settings.max_messages_per_connection.is_some_and(|max| self.offered >= max.max(1));
        !is_full
            && self.used.elapsed() <= settings.idle_limit
            && self.wire.glance() == Glance::Quiet
    }

    /// Says QUIT where the server listens. Its answer has a second and no influence.
    pub(super) fn quit(mut self) {
        if !self.due.is_empty() || self.announced.is_some() {
            return;
        }
        let until = after(QUIT_LIMIT);
        if self.wire.send(b"QUIT\r\n", until).is_ok() {
            self.wire.reply(until);
        }
    }
}

/// A session in the making.
pub(super) struct Dialogue<'a> {
    pub(super) wire: Wire,
    pub(super) clock: &'a Clock<'a>,
}

impl Dialogue<'_> {
    fn secure(self) -> Result<Self, Trouble> {
        let settings = self.clock.settings;
        let is_harmless = settings.credentials().is_none() || self.wire.is_loopback();
        let check = settings.tls != Tls::Opportunistic || !is_harmless;
        let config =
            tls::client(settings, check).map_err(|why| self.clock.out(Phase::Tls, &why))?;
        let until = self.clock.until(Phase::Tls);
        let wire = self
            .wire
            .secure(config, &settings.host, until)
            .map_err(|answer| self.clock.trouble(Phase::Tls, &answer))?;
        Ok(Dialogue { wire, clock: self.clock })
    }

    /// Waits for the reply that is due at `phase`.
    fn expect(&mut self, phase: Phase) -> Result<(), Trouble> {
        let answer = self.wire.reply(self.clock.until(phase));
        match meaning(phase, &answer, false) {
            Meaning::Proceed => Ok(()),
            _ => Err(self.clock.trouble(phase, &answer)),
        }
    }

    /// Says one line and gives what comes back.
    pub(super) fn ask(&mut self, line: &str, phase: Phase) -> Answer {
        if let Some(bytes) = self.wire.unread() {
            return Answer::Garbage(bytes);
        }
        let until = self.clock.until(phase);
        match self.wire.send(line.as_bytes(), until) {
            Ok(()) => self.wire.reply(until),
            // Whoever hangs up may have said why.
            Err(unsent) => self.wire.last_words().map_or(unsent.answer, Answer::Reply),
        }
    }

    fn command(&mut self, line: &str, phase: Phase) -> Result<(), Trouble> {
        let answer = self.ask(line, phase);
        match meaning(phase, &answer, false) {
            Meaning::Proceed => Ok(()),
            _ => Err(self.clock.trouble(phase, &answer)),
        }
    }

    /// EHLO, or HELO for a server that does not know it and of which nothing more is wanted.
    fn hello(&mut self) -> Result<Capabilities, Trouble> {
        let settings = self.clock.settings;
        let name = match settings.hello_name.as_str() {
            name if !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()) => name,
            _ => "localhost",
        };
        let answer = self.ask(&format!("EHLO {name}\r\n"), Phase::Ehlo);
        if meaning(Phase::Ehlo, &answer, false) == Meaning::Proceed {
            return Ok(Capabilities::read(self.wire.last_lines()));
        }
        let is_unknown =
            matches!(&answer, Answer::Reply(reply) if matches!(reply.code, 500 | 502 | 504));
        let needs_ehlo = settings.tls == Tls::StartTls || settings.credentials().is_some();
        if !is_unknown || needs_ehlo {
            return Err(self.clock.trouble(Phase::Ehlo, &answer));
        }
        self.command(&format!("HELO {name}\r\n"), Phase::Ehlo)?;
        Ok(Capabilities::default())
    }
}
