//! The states of a mail and the only ways between them.
//!
//! | state | what is known in it | who moves it on | what a crash leaves |
//! |---|---|---|---|
//! | PENDING | nobody works on it; due at `next_attempt_at` | `send-batch` claims; `cancel`, expiry end it | PENDING: a claim is one transaction |
//! | SENDING | `locked_by` works on it until the lease is over | its sender records an outcome or gives it back; `reap` after the lease | SENDING until the lease is over, then `reap` makes it PENDING (or FAILED at the third death, or when its dot had left under `hold`) |
//! | SENT | a server accepted it for every recipient; `sent_at` | `prune` deletes it | SENT |
//! | FAILED | why: `failure`, `error_message`; who has it all the same: `delivered` | `retry` makes it PENDING; `prune` deletes it | FAILED |
//!
//! The window no one can close: a crash between the server's 250 and the commit of SENT leaves SENDING, so the mail
//! goes again, with the same `Message-ID`.

use super::message::Mail;
use super::outcome::{Defect, Fate, Outcome};
use super::retry::{OnUnknown, Policy, millis};
use std::collections::BTreeMap;
use std::fmt;

/// The four states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    Pending,
    Sending,
    Sent,
    Failed,
}

impl Status {
    pub const ALL: [Status; 4] = [
        Status::Pending,
        Status::Sending,
        Status::Sent,
        Status::Failed,
    ];

    /// The word in the column `status`.
    pub fn word(self) -> &'static str {
        match self {
            Status::Pending => "PENDING",
            Status::Sending => "SENDING",
            Status::Sent => "SENT",
            Status::Failed => "FAILED",
        }
    }

    /// The state that a word of the column means.
    pub fn from_word(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.word() == word)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What can happen to a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A sender takes it.
    Claim,
    /// A server took it for every recipient.
    Accept,
    /// It is tried again later, or it goes back as it was (outage, shutdown).
    Release,
    /// A verdict, a defect or the limit of attempts ends it.
    Fail,
    /// Its sender's lease is over.
    Reap,
    /// Its time is over before it could be sent.
    Expire,
    /// An admin takes it out.
    Cancel,
    /// An admin gives it another chance.
    Retry,
    /// Its time in the archive is over.
    Prune,
}

impl Event {
    #[cfg(test)]
    const ALL: [Event; 9] = [
        Event::Claim,
        Event::Accept,
        Event::Release,
        Event::Fail,
        Event::Reap,
        Event::Expire,
        Event::Cancel,
        Event::Retry,
        Event::Prune,
    ];
}

/// Where a mail stands after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    State(Status),
    /// `reap` alone: PENDING, or FAILED `worker-lost` at the third death.
    PendingOrFailed,
    /// The row is deleted.
    Gone,
    /// Cannot happen in this state: the row stays as it is, and the caller is told.
    Refused,
}

/// Where `event` leads from `status`. The SQL of each verb in `store` names the same states in its WHERE.
pub fn next(status: Status, event: Event) -> Next {
    use Next::{Gone, PendingOrFailed, Refused, State};
    match (status, event) {
        (Status::Pending, Event::Claim) => State(Status::Sending),
        (Status::Pending, Event::Expire | Event::Cancel) => State(Status::Failed),
        (Status::Pending, Event::Retry) => State(Status::Pending),
        // A sender that lost its lease to `reap`, and then got the server's 250.
        (Status::Pending, Event::Accept) => State(Status::Sent),
        (Status::Pending, Event::Release | Event::Fail | Event::Reap | Event::Prune) => Refused,
        (Status::Sending, Event::Accept) => State(Status::Sent),
        (Status::Sending, Event::Release) => State(Status::Pending),
        (Status::Sending, Event::Fail | Event::Expire) => State(Status::Failed),
        (Status::Sending, Event::Reap) => PendingOrFailed,
        (Status::Sending, Event::Claim | Event::Cancel | Event::Retry | Event::Prune) => Refused,
        (Status::Sent, Event::Prune) => Gone,
        (
            Status::Sent,
            Event::Claim
            | Event::Accept
            | Event::Release
            | Event::Fail
            | Event::Reap
            | Event::Expire
            | Event::Cancel
            | Event::Retry,
        ) => Refused,
        (Status::Failed, Event::Retry) => State(Status::Pending),
        (Status::Failed, Event::Prune) => Gone,
        // The late 250 again: reaped for the third time meanwhile.
        (Status::Failed, Event::Accept) => State(Status::Sent),
        (
            Status::Failed,
            Event::Claim
            | Event::Release
            | Event::Fail
            | Event::Reap
            | Event::Expire
            | Event::Cancel,
        ) => Refused,
    }
}

/// Why a mail is FAILED: the words of the column `failure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Rejected,
    Exhausted,
    Expired,
    Render,
    Attachment,
    Invalid,
    Cancelled,
    WorkerLost,
    UnknownOutcome,
}

impl Failure {
    /// The word in the column `failure`.
    pub fn word(self) -> &'static str {
        match self {
            Failure::Rejected => "rejected",
            Failure::Exhausted => "exhausted",
            Failure::Expired => "expired",
            Failure::Render => "render",
            Failure::Attachment => "attachment",
            Failure::Invalid => "invalid",
            Failure::Cancelled => "cancelled",
            Failure::WorkerLost => "worker-lost",
            Failure::UnknownOutcome => "unknown-outcome",
        }
    }
}

impl From<Defect> for Failure {
    fn from(defect: Defect) -> Failure {
        match defect {
            Defect::Render => Failure::Render,
            Defect::Attachment => Failure::Attachment,
            Defect::Invalid => Failure::Invalid,
        }
    }
}

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

    /// Everyone who was refused for good.
    pub fn refused(&self) -> &BTreeMap<String, String> {
        &self.refused
    }
}

/// When `mail` ends its waiting: its own `expires_at`, or `max_age` after it was due.
pub fn deadline(mail: &Mail, policy: &Policy) -> i64 {
    mail.expires_at
        .unwrap_or_else(|| mail.next_attempt_at.saturating_add(millis(policy.max_age)))
}

/// A claimed mail goes back as it was: an outage, a shutdown. `error` is told where there is one; with `later` the
/// mail stands back behind the others until then.
pub fn give_back(mail: &Mail, policy: &Policy, error: Option<&str>, later: Option<i64>) -> Change {
    let expires_at = later.map_or(mail.expires_at, |_| Some(deadline(mail, policy)));
    Change {
        to: Move::Again {
            at: later.unwrap_or(mail.next_attempt_at),
            expires_at,
        },
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
    let spent = mail.attempt_count.saturating_add(1);
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
            OnUnknown::Hold => (
                Move::Failed(Failure::UnknownOutcome),
                spent,
                Some(words.clone()),
            ),
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
    } else if refused.is_empty() {
        (Move::Sent, spent, None)
    } else {
        let words: Vec<_> = refused
            .iter()
            .map(|(who, why)| format!("{who}: {why}"))
            .collect();
        (
            Move::Failed(Failure::Rejected),
            spent,
            Some(words.join("; ")),
        )
    };
    Change {
        to,
        attempts,
        error,
        delivered,
        refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::MailId;
    use crate::domain::outcome::Trouble;

    fn mail() -> Mail {
        Mail {
            id: MailId(1),
            queue: "default".into(),
            from: None,
            reply_to: None,
            to: "a@x.example, b@x.example".into(),
            cc: String::new(),
            bcc: String::new(),
            template: "t".into(),
            locale: None,
            parameters: "{}".into(),
            attachments: "[]".into(),
            headers: "{}".into(),
            attempt_count: 0,
            reap_count: 0,
            max_attempts: None,
            created_at: 1_000,
            next_attempt_at: 1_000,
            expires_at: None,
            message_id: "m".into(),
            delivered: vec![],
            refused: BTreeMap::new(),
        }
    }

    fn both() -> Vec<String> {
        vec!["a@x.example".into(), "b@x.example".into()]
    }

    fn after(mail: &Mail, outcome: &Outcome) -> Change {
        decide(mail, &both(), outcome, &Policy::default(), 10_000, 0.5)
    }

    fn answered(fates: [Fate; 2]) -> Outcome {
        Outcome::Answered(fates.to_vec())
    }

    #[test]
    fn every_state_and_event_leads_where_the_contract_says() {
        use Next::{Gone, PendingOrFailed, Refused, State};
        let pending = State(Status::Pending);
        let (sent, failed) = (State(Status::Sent), State(Status::Failed));
        // Claim, Accept, Release, Fail, Reap, Expire, Cancel, Retry, Prune
        let table = [
            (
                Status::Pending,
                [
                    State(Status::Sending),
                    sent,
                    Refused,
                    Refused,
                    Refused,
                    failed,
                    failed,
                    pending,
                    Refused,
                ],
            ),
            (
                Status::Sending,
                [
                    Refused,
                    sent,
                    pending,
                    failed,
                    PendingOrFailed,
                    failed,
                    Refused,
                    Refused,
                    Refused,
                ],
            ),
            (
                Status::Sent,
                [
                    Refused, Refused, Refused, Refused, Refused, Refused, Refused, Refused, Gone,
                ],
            ),
            (
                Status::Failed,
                [
                    Refused, sent, Refused, Refused, Refused, Refused, Refused, pending, Gone,
                ],
            ),
        ];
        for (status, row) in table {
            for (event, expected) in Event::ALL.into_iter().zip(row) {
                assert_eq!(next(status, event), expected, "{status} {event:?}");
            }
        }
    }

    #[test]
    fn words_of_states_are_read_back() {
        for status in Status::ALL {
            assert_eq!(Status::from_word(status.word()), Some(status));
        }
        assert_eq!(Status::from_word("weird"), None);
    }

    #[test]
    fn accepted_by_all_is_sent() {
        let change = after(&mail(), &answered([Fate::Accepted, Fate::Accepted]));
        assert_eq!(
            (change.to(), change.attempts(), change.error()),
            (Move::Sent, 1, None)
        );
    }

    #[test]
    fn one_refused_recipient_fails_the_mail_and_the_other_has_it() {
        let change = after(
            &mail(),
            &answered([Fate::Accepted, Fate::Refused("550 no".into())]),
        );
        assert_eq!(change.to(), Move::Failed(Failure::Rejected));
        assert_eq!(change.delivered(), ["a@x.example"]);
        assert_eq!(change.error(), Some("b@x.example: 550 no"));
    }

    #[test]
    fn a_deferred_recipient_costs_an_attempt_and_keeps_the_deadline() {
        let mut mail = mail();
        let outcome = answered([Fate::Accepted, Fate::Deferred("450 later".into())]);
        let change = after(&mail, &outcome);
        let deadline = 1_000 + millis(Policy::default().max_age);
        assert_eq!(
            change.to(),
            Move::Again {
                at: 40_000,
                expires_at: Some(deadline)
            }
        );
        assert_eq!(
            (change.attempts(), change.delivered()),
            (1, &["a@x.example".to_owned()][..])
        );
        mail.attempt_count = 4;
        assert_eq!(
            after(&mail, &outcome).to(),
            Move::Failed(Failure::Exhausted)
        );
        mail.max_attempts = Some(6);
        assert!(matches!(after(&mail, &outcome).to(), Move::Again { .. }));
    }

    #[test]
    fn a_crowded_recipient_goes_next_for_free_only_after_progress() {
        let full = Fate::Crowded("452 too many".into());
        let change = after(&mail(), &answered([Fate::Accepted, full.clone()]));
        assert!(matches!(change.to(), Move::Again { at: 10_000, .. }));
        assert_eq!(change.attempts(), 0);
        let change = after(&mail(), &answered([full.clone(), full]));
        assert_eq!(change.attempts(), 1);
    }

    #[test]
    fn an_outage_costs_nothing() {
        let trouble = Trouble {
            words: "no route".into(),
            wait: None,
            in_hand: false,
        };
        let change = after(&mail(), &Outcome::Road(trouble));
        assert_eq!(
            change.to(),
            Move::Again {
                at: 1_000,
                expires_at: None
            }
        );
        assert_eq!((change.attempts(), change.error()), (0, Some("no route")));
    }

    #[test]
    fn an_unknown_outcome_is_tried_again_or_held() {
        let outcome = Outcome::Unknown {
            fates: vec![Fate::Accepted, Fate::Refused("550".into())],
            words: "after the final dot: lost".into(),
        };
        let change = after(&mail(), &outcome);
        assert!(matches!(change.to(), Move::Again { at: 40_000, .. }));
        assert!(change.delivered().is_empty() && change.refused().len() == 1);
        let policy = Policy {
            on_unknown: OnUnknown::Hold,
            ..Policy::default()
        };
        let change = decide(&mail(), &both(), &outcome, &policy, 10_000, 0.5);
        assert_eq!(change.to(), Move::Failed(Failure::UnknownOutcome));
    }

    #[test]
    fn a_defect_fails_at_once_and_standing_back_keeps_the_deadline() {
        let outcome = Outcome::Defective {
            defect: Defect::Render,
            words: "name is missing".into(),
        };
        assert_eq!(after(&mail(), &outcome).to(), Move::Failed(Failure::Render));
        let change = give_back(&mail(), &Policy::default(), None, Some(99_000));
        let Move::Again {
            at: 99_000,
            expires_at: Some(at),
        } = change.to()
        else {
            panic!()
        };
        assert_eq!(at, deadline(&mail(), &Policy::default()));
        assert_eq!(expire(&mail()).to(), Move::Failed(Failure::Expired));
    }
}
