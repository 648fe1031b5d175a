//! "Again, or give up": what an outcome makes of a mail. Pure; time and chance are arguments.

use super::Failure;
use crate::domain::message::{Mail, SUPPRESSED};
use crate::domain::outcome::{Fate, Outcome};
use crate::domain::retry::{OnUnknown, Policy, millis};
use std::collections::BTreeMap;

/// What the schema lets `attempt_count` hold.
const MOST_ATTEMPTS: u32 = 1_000_000;

/// Where a recorded outcome leaves the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Sent,
    /// PENDING, due at `at`; `expires_at` keeps the mail's original deadline.
    Again {
        at: i64,
        expires_at: Option<i64>,
    },
    Failed(Failure),
}

/// What is written when an outcome is recorded. Made by the functions below only.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    to: Move,
    attempts: u32,
    error: Option<String>,
    delivered: Vec<String>,
    refused: BTreeMap<String, String>,
}

impl Change {
    pub fn to(&self) -> Move {
        self.to
    }

    /// The new `attempt_count`.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The new `error_message`; `None` clears it.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Everyone who has the mail now.
    pub fn delivered(&self) -> &[String] {
        &self.delivered
    }

    /// Everyone who was refused for good, or is suppressed.
    pub fn refused(&self) -> &BTreeMap<String, String> {
        &self.refused
    }
}

/// When `mail` ends its waiting: its own `expires_at`, or `max_age` after it was made and due.
pub fn deadline(mail: &Mail, policy: &Policy) -> i64 {
    let since = mail.next_attempt_at.max(mail.created_at);
    mail.expires_at.unwrap_or_else(|| since.saturating_add(millis(policy.max_age)))
}

/// A claimed mail goes back as it was: an outage, a shutdown. `error` is told where there is one; with `later` the
/// mail stands back behind the others until then.
pub fn give_back(mail: &Mail, policy: &Policy, error: Option<&str>, later: Option<i64>) -> Change {
    let expires_at = later.map_or(mail.expires_at, |_| Some(deadline(mail, policy)));
    Change {
        to: Move::Again { at: later.unwrap_or(mail.next_attempt_at), expires_at },
        attempts: mail.attempt_count,
        error: error.map(str::to_owned),
        delivered: mail.delivered.clone(),
        refused: mail.refused.clone(),
    }
}

/// A claimed mail whose time is over.
pub fn expire(mail: &Mail) -> Change {
    Change {
        to: Move::Failed(Failure::Expired),
        attempts: mail.attempt_count,
        error: Some("expired before it could be sent".to_owned()),
        delivered: mail.delivered.clone(),
        refused: mail.refused.clone(),
    }
}

/// A claimed mail whose recipients, those that are left, are all suppressed; `refused` says so. It is SENT where
/// all the others have it.
pub fn suppress(mail: &Mail) -> Change {
    let (to, error) = match mail.delivered.is_empty() || is_rejected(&mail.refused) {
        true => (Move::Failed(Failure::Suppressed), Some(told(&mail.refused))),
        false => (Move::Sent, None),
    };
    Change {
        to,
        attempts: mail.attempt_count,
        error,
        delivered: mail.delivered.clone(),
        refused: mail.refused.clone(),
    }
}

/// Whether a server refused somebody. Who is suppressed was left out on purpose, which is no failure of the mail.
fn is_rejected(refused: &BTreeMap<String, String>) -> bool {
    refused.values().any(|words| !words.starts_with(SUPPRESSED))
}

fn told(refused: &BTreeMap<String, String>) -> String {
    let words: Vec<_> = refused.iter().map(|(who, why)| format!("{who}: {why}")).collect();
    words.join("; ")
}

/// A claimed row that cannot be read, and why.
pub fn unreadable(words: &str) -> Change {
    Change {
        to: Move::Failed(Failure::Invalid),
        attempts: 0,
        error: Some(words.to_owned()),
        delivered: Vec::new(),
        refused: BTreeMap::new(),
    }
}

/// "Again, or give up": what `outcome` makes of `mail`. `recipients` are those of the envelope, in its order; `now` is
/// in milliseconds, `draw` in `0.0..1.0`. Pure.
pub fn decide(
    mail: &Mail,
    recipients: &[String],
    outcome: &Outcome,
    policy: &Policy,
    now: i64,
    draw: f64,
) -> Change {
    match outcome {
        Outcome::Answered(fates) => verdict(mail, recipients, fates, None, policy, now, draw),
        Outcome::Unknown { fates, words } => {
            verdict(mail, recipients, fates, Some(words), policy, now, draw)
        }
        Outcome::Road(trouble) => give_back(mail, policy, Some(&trouble.words), None),
        Outcome::Defective { defect, words } => Change {
            to: Move::Failed((*defect).into()),
            attempts: mail.attempt_count,
            error: Some(words.clone()),
            delivered: mail.delivered.clone(),
            refused: mail.refused.clone(),
        },
    }
}

/// The fates of the recipients added up. `unknown` holds the words where the reply to the dot never came.
fn verdict(
    mail: &Mail,
    recipients: &[String],
    fates: &[Fate],
    unknown: Option<&String>,
    policy: &Policy,
    now: i64,
    draw: f64,
) -> Change {
    let mut delivered = mail.delivered.clone();
    let mut refused = mail.refused.clone();
    let (mut deferred, mut crowded, mut progress) = (None, None, false);
    for (recipient, fate) in recipients.iter().zip(fates) {
        match fate {
            Fate::Accepted if unknown.is_some() => {}
            Fate::Accepted => {
                delivered.push(recipient.clone());
                progress = true;
            }
            Fate::Refused(words) => {
                refused.insert(recipient.clone(), words.clone());
                progress = true;
            }
            Fate::Deferred(words) => deferred = Some(format!("{recipient}: {words}")),
            Fate::Crowded(words) => crowded = Some(format!("{recipient}: {words}")),
        }
    }
    let spent = mail.attempt_count.saturating_add(1).min(MOST_ATTEMPTS);
    let limit = mail.max_attempts.unwrap_or(policy.max_attempts);
    let again = |wait: i64| Move::Again {
        at: now.saturating_add(wait),
        expires_at: Some(deadline(mail, policy)),
    };
    let retry = || match spent >= limit {
        true => Move::Failed(Failure::Exhausted),
        false => again(policy.wait_ms(spent, draw)),
    };
    let (to, attempts, error) = if let Some(words) = unknown {
        match policy.on_unknown {
            OnUnknown::Retry => (retry(), spent, Some(words.clone())),
            OnUnknown::Hold => (Move::Failed(Failure::UnknownOutcome), spent, Some(words.clone())),
        }
    } else if let Some(words) = deferred {
        (retry(), spent, Some(words))
    } else if let Some(words) = crowded {
        // The next transaction takes the rest at once, so long as each one settles somebody.
        if progress {
            (again(0), mail.attempt_count, Some(words))
        } else {
            (retry(), spent, Some(words))
        }
    } else if is_rejected(&refused) {
        (Move::Failed(Failure::Rejected), spent, Some(told(&refused)))
    } else {
        (Move::Sent, spent, None)
    };
    Change { to, attempts, error, delivered, refused }
}
