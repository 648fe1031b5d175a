//! Every state and event, and what each outcome makes of a mail.

use super::*;
use crate::domain::message::Mail;
use crate::domain::message::MailId;
use crate::domain::outcome::Trouble;
use crate::domain::outcome::{Fate, Outcome};
use crate::domain::retry::{OnUnknown, Policy, millis};
use std::collections::BTreeMap;

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
            [Refused, sent, pending, failed, PendingOrFailed, failed, Refused, Refused, Refused],
        ),
        (
            Status::Sent,
            [Refused, Refused, Refused, Refused, Refused, Refused, Refused, Refused, Gone],
        ),
        (
            Status::Failed,
            [Refused, sent, Refused, Refused, Refused, Refused, Refused, pending, Gone],
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
    assert_eq!((change.to(), change.attempts(), change.error()), (Move::Sent, 1, None));
}

#[test]
fn one_refused_recipient_fails_the_mail_and_the_other_has_it() {
    let change = after(&mail(), &answered([Fate::Accepted, Fate::Refused("550 no".into())]));
    assert_eq!(change.to(), Move::Failed(Failure::Rejected));
    assert_eq!(change.delivered(), ["a@x.example"]);
    assert_eq!(change.error(), Some("b@x.example: 550 no"));
}

#[test]
fn a_suppressed_recipient_is_no_failure_of_a_mail_that_the_others_have() {
    let mut mail = mail();
    mail.refused.insert("c@x.example".into(), "suppressed: asked to".into());
    let change = after(&mail, &answered([Fate::Accepted, Fate::Accepted]));
    assert_eq!((change.to(), change.error(), change.refused().len()), (Move::Sent, None, 1));
    let change = after(&mail, &answered([Fate::Accepted, Fate::Refused("550 no".into())]));
    assert_eq!(change.to(), Move::Failed(Failure::Rejected));
    assert_eq!(suppress(&mail).to(), Move::Failed(Failure::Suppressed));
    mail.delivered = both();
    assert_eq!(suppress(&mail).to(), Move::Sent, "suppressed while the others got it");
}

#[test]
fn a_deferred_recipient_costs_an_attempt_and_keeps_the_deadline() {
    let mut mail = mail();
    let outcome = answered([Fate::Accepted, Fate::Deferred("450 later".into())]);
    let change = after(&mail, &outcome);
    let deadline = 1_000 + millis(Policy::default().max_age);
    assert_eq!(change.to(), Move::Again { at: 40_000, expires_at: Some(deadline) });
    assert_eq!((change.attempts(), change.delivered()), (1, &["a@x.example".to_owned()][..]));
    mail.attempt_count = 4;
    assert_eq!(after(&mail, &outcome).to(), Move::Failed(Failure::Exhausted));
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
    let trouble = Trouble::new("no route", false);
    let change = after(&mail(), &Outcome::Road(trouble));
    assert_eq!(change.to(), Move::Again { at: 1_000, expires_at: None });
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
    let policy = Policy { on_unknown: OnUnknown::Hold, ..Policy::default() };
    let change = decide(&mail(), &both(), &outcome, &policy, 10_000, 0.5);
    assert_eq!(change.to(), Move::Failed(Failure::UnknownOutcome));
}

#[test]
fn a_defect_fails_at_once_and_standing_back_keeps_the_deadline() {
    let outcome = Outcome::Defective { defect: Defect::Render, words: "name is missing".into() };
    assert_eq!(after(&mail(), &outcome).to(), Move::Failed(Failure::Render));
    let change = give_back(&mail(), &Policy::default(), None, Some(99_000));
    let Move::Again { at: 99_000, expires_at: Some(at) } = change.to() else { panic!() };
    assert_eq!(at, deadline(&mail(), &Policy::default()));
    assert_eq!(expire(&mail()).to(), Move::Failed(Failure::Expired));
}

#[test]
fn a_count_at_its_limit_stays_what_the_schema_takes() {
    let mail = Mail { attempt_count: 1_000_000, ..mail() };
    let change = after(&mail, &answered([Fate::Accepted, Fate::Accepted]));
    assert_eq!((change.to(), change.attempts()), (Move::Sent, 1_000_000));
}
