//! The failure policy: what each answer of a server means for the mail, for the run and for the road.
//!
//! Two questions are kept apart. *Is this about this mail?* Then the mail pays: it is refused or tried again, and the
//! run goes on with the next one. *Is this about the road?* Then no mail pays: every mail in hand goes back as it
//! was, and the road is left alone for a while.
//!
//! 1. **Before MAIL** nothing was said about any mail. Whatever goes wrong in name resolution, connect, TLS,
//!    greeting, EHLO, STARTTLS or AUTH is an outage, 5xx included. So are 530, 535 and 538 at any command: the
//!    password is wrong, not the mail.
//! 2. **421, a lost connection or bytes that are no reply, before the final dot**, end the connection. Nothing was
//!    accepted, so the mail is offered once more on a new connection for free; the second time it is an outage.
//!    Silence past the deadline is an outage at once: a second wait would only double the first.
//! 3. **Throttling** (421, 450 4.7.x, 451 4.7.x or 454 4.7.x whose words say "too many", "rate", "try again in N", …)
//!    is about the sender. It pauses the road, for the N that the server names where it names one. A 421 between
//!    EHLO and the dot that names none is first taken as the end of this session ("too many messages"): rule 2. At
//!    RCPT, where somebody was accepted, those get the mail now, and the throttled recipient is asked again in the
//!    next transaction, as in rule 5; if it is still throttled then, that is the pause.
//! 4. **MAIL** refused is a verdict about the mail; a refused **RCPT** is one about that recipient only; a refused
//!    **DATA** or **final dot** about all recipients that were accepted until then. 5xx is for good, 4xx for now.
//!    A quota told as 5xx (`x.4.5`; `552 x.2.2` at MAIL, where it is the sender's) passes with time: a deferral.
//! 5. **452, and 552 with the words or the code of "too many recipients", at RCPT** where one was accepted: the
//!    others get the mail now, this one in the next transaction, and no attempt is counted.
//! 6. **Any other code than the one that is due** (a 3xx where a 2xx belongs, a 2xx where 354 belongs) means that the
//!    two sides no longer speak of the same command. Before the dot that is a lost connection; after it, unknown. A
//!    503 (bad sequence) before the dot says the same, and never anything about the mail.
//! 7. **After the final dot** only a reply in the 2xx is acceptance and only a 4xx or 5xx is refusal. Everything
//!    else (silence, a lost connection, nonsense) leaves it unknown whether the server has the mail.

use std::fmt;
use std::time::Duration;

/// How far the dialogue had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    Connect,
    Tls,
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    Mail,
    Rcpt,
    Data,
    /// While the message is written: the final dot has not left.
    Body,
    /// From the first byte of the final dot on.
    Dot,
}

impl Phase {
    /// The phase in words, for an error message.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Connect => "connecting",
            Phase::Tls => "in the TLS handshake",
            Phase::Greeting => "at the greeting",
            Phase::Ehlo => "at EHLO",
            Phase::StartTls => "at STARTTLS",
            Phase::Auth => "at AUTH",
            Phase::Mail => "at MAIL FROM",
            Phase::Rcpt => "at RCPT TO",
            Phase::Data => "at DATA",
            Phase::Body => "while the message was written",
            Phase::Dot => "after the final dot",
        }
    }

    /// The phase in one word, for the history.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Connect => "connect",
            Phase::Tls => "tls",
            Phase::Greeting => "greeting",
            Phase::Ehlo => "ehlo",
            Phase::StartTls => "starttls",
            Phase::Auth => "auth",
            Phase::Mail => "mail",
            Phase::Rcpt => "rcpt",
            Phase::Data => "data",
            Phase::Body => "body",
            Phase::Dot => "dot",
        }
    }

    /// Whether nothing was said about any mail yet.
    fn is_road(self) -> bool {
        match self {
            Phase::Connect
            | Phase::Tls
            | Phase::Greeting
            | Phase::Ehlo
            | Phase::StartTls
            | Phase::Auth => true,
            Phase::Mail | Phase::Rcpt | Phase::Data | Phase::Body | Phase::Dot => false,
        }
    }

    /// The class of the reply that lets the dialogue go on.
    fn due(self) -> u16 {
        match self {
            Phase::Data => 3,
            _ => 2,
        }
    }
}

/// A reply of the server: its code, its enhanced code (RFC 3463) where it has one, and its words on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub code: u16,
    pub enhanced: Option<(u8, u8, u8)>,
    pub text: String,
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some((class, subject, detail)) = self.enhanced {
            write!(f, " {class}.{subject}.{detail}")?;
        }
        if !self.text.is_empty() {
            write!(f, " {}", self.text)?;
        }
        Ok(())
    }
}

/// What came back where a reply was due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Reply(Reply),
    /// The connection ended, or could not be made: why.
    Lost(String),
    /// Nothing, or not all of it, until the deadline.
    Silence(Duration),
    /// Bytes that are no reply, or a reply where none was due.
    Garbage(String),
}

impl Answer {
    /// The code, where it is a reply.
    pub fn code(&self) -> Option<u16> {
        match self {
            Answer::Reply(reply) => Some(reply.code),
            Answer::Lost(_) | Answer::Silence(_) | Answer::Garbage(_) => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Reply(reply) => reply.fmt(f),
            Answer::Lost(why) => f.write_str(why),
            Answer::Silence(waited) => {
                write!(f, "no reply within {}", humantime::format_duration(whole_seconds(*waited)))
            }
            Answer::Garbage(bytes) => write!(f, "not an SMTP reply that was due: {bytes:?}"),
        }
    }
}

fn whole_seconds(d: Duration) -> Duration {
    if d >= Duration::from_secs(1) { Duration::from_secs(d.as_secs()) } else { d }
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The reply that was due.
    Proceed,
    /// About the mail (or the recipient), for good.
    Refused,
    /// About the mail (or the recipient), for now.
    Deferred,
    /// This recipient is one too many for this transaction.
    Crowded,
    /// Nothing was accepted and the connection is of no more use: offer the mail again on a new one, once.
    Reopen,
    /// The road is out.
    Outage,
    /// The server asks for a pause, of this length where it says so.
    Pause(Option<Duration>),
    /// The server may have the mail, or not.
    Unknown,
}

/// What `answer` means at `phase`; `accepted`: whether a recipient of this transaction was accepted.
pub fn meaning(phase: Phase, answer: &Answer, accepted: bool) -> Meaning {
    match answer {
        Answer::Reply(reply) => of_reply(phase, reply, accepted),
        Answer::Silence(_) | Answer::Lost(_) | Answer::Garbage(_) if phase == Phase::Dot => {
            Meaning::Unknown
        }
        Answer::Silence(_) => Meaning::Outage,
        Answer::Lost(_) | Answer::Garbage(_) if phase.is_road() => Meaning::Outage,
        Answer::Lost(_) | Answer::Garbage(_) => Meaning::Reopen,
    }
}

fn of_reply(phase: Phase, reply: &Reply, accepted: bool) -> Meaning {
    let class = reply.code / 100;
    if class == phase.due() {
        return Meaning::Proceed;
    }
    if class != 4 && class != 5 {
        return match phase {
            Phase::Dot => Meaning::Unknown,
            phase if phase.is_road() => Meaning::Outage,
            _ => Meaning::Reopen,
        };
    }
    if is_throttle(reply) {
        let wait = named_wait(&reply.text);
        let may_be_the_session = !phase.is_road() && phase != Phase::Dot && wait.is_none();
        return match reply.code {
            421 if may_be_the_session => Meaning::Reopen,
            450..=454 if phase == Phase::Rcpt && accepted => Meaning::Crowded,
            _ => Meaning::Pause(wait),
        };
    }
    if phase.is_road() || matches!(reply.code, 530 | 535 | 538) {
        return Meaning::Outage;
    }
    if reply.code == 421 {
        // After the dot a 421 is still a reply to it: the server says that it did not take the mail.
        return if phase == Phase::Dot { Meaning::Deferred } else { Meaning::Reopen };
    }
    if reply.code == 503 && phase != Phase::Dot {
        return Meaning::Reopen;
    }
    if phase == Phase::Rcpt && accepted && is_crowded(reply) {
        return Meaning::Crowded;
    }
    if class == 4 || is_quota(phase, reply) || (phase == Phase::Rcpt && is_crowded(reply)) {
        return Meaning::Deferred;
    }
    Meaning::Refused
}

/// 452 (RFC 5321 4.5.3.1.10), or 552 as older servers say it.
fn is_crowded(reply: &Reply) -> bool {
    let by_code = matches!(reply.enhanced, Some((_, 5, 3)));
    let text = reply.text.to_ascii_lowercase();
    let by_words = text.contains("too many") || text.contains("recipient limit");
    match reply.code {
        452 => !matches!(reply.enhanced, Some((_, 2, 2) | (_, 3, 1))) || by_words,
        552 => by_code || by_words || reply.enhanced.is_none() && text.contains("recipients"),
        _ => by_code,
    }
}

/// A quota of the sender's, told as 5xx.
fn is_quota(phase: Phase, reply: &Reply) -> bool {
    match reply.enhanced {
        Some((_, 4, 5)) => true,
        Some((_, 2, 2)) => reply.code == 552 && phase != Phase::Rcpt,
        _ => false,
    }
}

/// Whether a temporary reply is about how much this sender sends.
fn is_throttle(reply: &Reply) -> bool {
    let may_throttle = match reply.code {
        421 => true,
        450 | 451 | 452 | 454 => matches!(reply.enhanced, Some((4, 7, _))),
        _ => false,
    };
    if !may_throttle {
        return false;
    }
    let text = reply.text.to_ascii_lowercase();
    const WORDS: [&str; 7] =
        ["too many", "rate", "throttl", "slow down", "try again in", "too fast", "quota exceeded"];
    WORDS.iter().any(|word| contains_word(&text, word)) && !text.contains("greylist")
}

/// Whether `word` stands in `text` at the beginning of a word ("rate limited", not "operated").
fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].chars().next_back().is_some_and(char::is_alphanumeric))
}

/// The wait that a server names: "try again in 90 seconds", "in 5 minutes", "retry after 60".
fn named_wait(text: &str) -> Option<Duration> {
    let lower = text.to_ascii_lowercase();
    let after = ["again in ", "again after ", "retry after ", "retry in ", "wait "]
        .iter()
        .find_map(|lead| lower.split_once(lead).map(|(_, rest)| rest))?;
    let rest = after.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = rest[..digits].parse().ok()?;
    let unit = match rest[digits..].trim_start().chars().next() {
        Some('m') if !rest[digits..].trim_start().starts_with("ms") => 60,
        Some('h') => 3600,
        _ => 1,
    };
    Some(Duration::from_secs(number.saturating_mul(unit).min(86_400)))
}

/// What became of one recipient of an envelope. The words are the server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Has the mail.
    Accepted,
    Refused(String),
    Deferred(String),
    /// One too many for this transaction; belongs into the next.
    Crowded(String),
}

/// Why a mail was not offered, or not to the end, through no fault of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What happened and when in the dialogue, in one line.
    pub words: String,
    /// How long the server wants to be left alone, where it says so.
    pub wait: Option<Duration>,
    /// Whether the server said that it had too many of our mails.
    pub too_many: bool,
    /// Whether the mail itself was being handed over when it happened.
    pub in_hand: bool,
    /// How far the dialogue had come, where there was one, and the code of the reply that ended it.
    pub phase: Option<Phase>,
    pub code: Option<u16>,
}

impl Trouble {
    /// Trouble on a road that is no dialogue.
    pub fn new(words: impl Into<String>, in_hand: bool) -> Trouble {
        Trouble {
            words: words.into(),
            wait: None,
            too_many: false,
            in_hand,
            phase: None,
            code: None,
        }
    }
}

/// The answer that decided a mail, in the server's own words: for the mail's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub phase: Phase,
    pub code: Option<u16>,
    pub words: String,
}

impl Said {
    pub fn new(phase: Phase, answer: &Answer) -> Said {
        Said { phase, code: answer.code(), words: answer.to_string() }
    }
}

/// Why a mail that cannot be built is FAILED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    Render,
    Attachment,
    Invalid,
}

/// What handing one mail over led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server gave a verdict: one fate for each recipient of the envelope, in its order.
    Answered(Vec<Fate>),
    /// The road is out, or wants a pause. Says nothing about the mail.
    Road(Trouble),
    /// The final dot left and no reply to it came. One fate for each recipient; `Accepted` here means "may have it".
    Unknown { fates: Vec<Fate>, words: String },
    /// The mail cannot be built or cannot be said in this server's dialect.
    Defective { defect: Defect, words: String },
}

#[cfg(test)]
mod tests;
