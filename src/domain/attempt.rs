//! One attempt at a mail, as its history tells it: when, where, how far it came, and what was said.

use super::fault::one_line;
use super::outcome::{Defect, Fate, Outcome, Phase, Said};
use std::collections::BTreeMap;

/// The longest text that one attempt keeps of what was said, in bytes.
const WORDS: usize = 1_000;

/// What an attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Sent,
    /// Some recipients have the mail.
    Partly,
    Deferred,
    Refused,
    /// Nobody knows whether the server has it.
    Unknown,
    /// Says nothing about the mail.
    Outage,
    /// The sender died.
    Lost,
    Defective(Defect),
}

impl Verdict {
    /// The word in the column `outcome`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Sent => "sent",
            Verdict::Partly => "partly",
            Verdict::Deferred => "deferred",
            Verdict::Refused => "refused",
            Verdict::Unknown => "unknown",
            Verdict::Outage => "outage",
            Verdict::Lost => "lost",
            Verdict::Defective(Defect::Render) => "render",
            Verdict::Defective(Defect::Attachment) => "attachment",
            Verdict::Defective(Defect::Invalid) => "invalid",
        }
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// When it began, in milliseconds since 1970.
    pub at: i64,
    /// How many milliseconds it took.
    pub ms: i64,
    /// The server, or the program, that the mail was handed to.
    pub relay: Option<String>,
    pub verdict: Verdict,
    pub phase: Option<Phase>,
    pub code: Option<u16>,
    pub message: Option<String>,
    /// What each recipient was told, where it was not the same for all.
    pub recipients: BTreeMap<String, String>,
}

impl Attempt {
    /// The attempt that led to `outcome`, at `relay`; `recipients` are those of the envelope, in its order, and `said`
    /// is the server's answer that decided it.
    pub fn new(
        outcome: &Outcome,
        recipients: &[String],
        said: Option<Said>,
        relay: &str,
        began: (i64, i64),
    ) -> Attempt {
        let (phase, code, words) = match said {
            Some(Said { phase, code, words }) => (Some(phase), code, Some(words)),
            None => (None, None, None),
        };
        let (verdict, message, phase, code) = match outcome {
            Outcome::Answered(fates) => (of(fates), words.or_else(|| first(fates)), phase, code),
            Outcome::Unknown { words, .. } => (Verdict::Unknown, Some(words.clone()), phase, code),
            Outcome::Road(trouble) => {
                (Verdict::Outage, Some(trouble.words.clone()), trouble.phase, trouble.code)
            }
            Outcome::Defective { defect, words } => {
                (Verdict::Defective(*defect), Some(words.clone()), None, None)
            }
        };
        Attempt {
            at: began.0,
            ms: began.1,
            relay: (!matches!(verdict, Verdict::Defective(_))).then(|| relay.to_owned()),
            recipients: match outcome {
                Outcome::Answered(fates) if fates.windows(2).any(|two| two[0] != two[1]) => {
                    each(recipients, fates, message.as_deref())
                }
                _ => BTreeMap::new(),
            },
            message: message.map(|words| one_line(&words, WORDS)),
            verdict,
            phase,
            code,
        }
    }

    /// A server took the mail at `at`, and only the journal beside the database was told then.
    pub fn journaled(at: i64) -> Attempt {
        let words = "accepted; recorded later, from the journal beside the database";
        Attempt { verdict: Verdict::Sent, ..Attempt::lost(words, at) }
    }

    /// The attempt of a sender that died, as of `at`, when that was seen.
    pub fn lost(words: &str, at: i64) -> Attempt {
        Attempt {
            at,
            ms: 0,
            relay: None,
            verdict: Verdict::Lost,
            phase: None,
            code: None,
            message: Some(one_line(words, WORDS)),
            recipients: BTreeMap::new(),
        }
    }

    /// How long handing over took, where it came to that.
    pub fn send_ms(&self) -> Option<i64> {
        match self.verdict {
            Verdict::Outage | Verdict::Lost | Verdict::Defective(_) => None,
            _ => Some(self.ms),
        }
    }
}

fn of(fates: &[Fate]) -> Verdict {
    let accepted = fates.iter().filter(|fate| **fate == Fate::Accepted).count();
    let is_refusal = |fate: &Fate| matches!(fate, Fate::Refused(_));
    match accepted {
        0 if fates.iter().all(is_refusal) => Verdict::Refused,
        0 => Verdict::Deferred,
        n if n == fates.len() => Verdict::Sent,
        _ => Verdict::Partly,
    }
}

fn words(fate: &Fate) -> Option<&str> {
    match fate {
        Fate::Accepted => None,
        Fate::Refused(words) | Fate::Deferred(words) | Fate::Crowded(words) => Some(words),
    }
}

fn first(fates: &[Fate]) -> Option<String> {
    fates.iter().find_map(words).map(str::to_owned)
}

fn each(recipients: &[String], fates: &[Fate], accepted: Option<&str>) -> BTreeMap<String, String> {
    let told = recipients.iter().zip(fates).map(|(recipient, fate)| {
        let words = words(fate).or(accepted).unwrap_or("accepted");
        (recipient.clone(), one_line(words, WORDS))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(fates: Vec<Fate>, said: Option<Said>) -> Attempt {
        let recipients: Vec<String> = (0..fates.len()).map(|at| format!("r{at}@x")).collect();
        Attempt::new(&Outcome::Answered(fates), &recipients, said, "mx:25", (1, 2))
    }

    #[test]
    fn a_mail_that_was_sent_keeps_the_number_that_the_server_gave_it() {
        let said =
            Said { phase: Phase::Dot, code: Some(250), words: "250 queued as 4F1".to_owned() };
        let sent = attempt(vec![Fate::Accepted; 2], Some(said));
        assert_eq!((sent.verdict.word(), sent.code, sent.send_ms()), ("sent", Some(250), Some(2)));
        assert_eq!(sent.message.as_deref(), Some("250 queued as 4F1"));
        assert!(sent.recipients.is_empty(), "the same for all is told once");
    }

    #[test]
    fn recipients_are_told_apart_where_they_differ() {
        let said = Said { phase: Phase::Dot, code: Some(250), words: "250 ok".to_owned() };
        let partly = attempt(vec![Fate::Accepted, Fate::Refused("550 no".into())], Some(said));
        assert_eq!(partly.verdict, Verdict::Partly);
        let told: Vec<&str> = partly.recipients.values().map(String::as_str).collect();
        assert_eq!(told, ["250 ok", "550 no"]);
        let put_off =
            attempt(vec![Fate::Deferred("450 a".into()), Fate::Refused("550 b".into())], None);
        assert_eq!((put_off.verdict, put_off.recipients.len()), (Verdict::Deferred, 2));
        assert_eq!(attempt(vec![Fate::Refused("550".into()); 3], None).verdict, Verdict::Refused);
    }
}
