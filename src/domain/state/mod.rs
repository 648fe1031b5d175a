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

mod change;

pub use change::{Change, Move, deadline, decide, expire, give_back, suppress, unreadable};

use super::outcome::Defect;
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
    pub const ALL: [Status; 4] = [Status::Pending, Status::Sending, Status::Sent, Status::Failed];

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

/// Where `event` leads from `status`. Each verb in `store` asserts at compile time that its statement makes such a move,
/// and a test there drives every verb from every state.
pub const fn next(status: Status, event: Event) -> Next {
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

/// Whether `event` leads from `from` to `to`.
pub const fn leads(from: Status, event: Event, to: Status) -> bool {
    match next(from, event) {
        Next::State(state) => state as u8 == to as u8,
        Next::PendingOrFailed => matches!(to, Status::Pending | Status::Failed),
        Next::Gone | Next::Refused => false,
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
    Suppressed,
    WorkerLost,
    UnknownOutcome,
}

impl Failure {
    pub const ALL: [Failure; 10] = [
        Failure::Rejected,
        Failure::Exhausted,
        Failure::Expired,
        Failure::Render,
        Failure::Attachment,
        Failure::Invalid,
        Failure::Cancelled,
        Failure::Suppressed,
        Failure::WorkerLost,
        Failure::UnknownOutcome,
    ];

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
            Failure::Suppressed => "suppressed",
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

#[cfg(test)]
mod tests;
