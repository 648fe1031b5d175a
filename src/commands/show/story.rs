//! What was tried with a mail, attempt by attempt.

use crate::commands::value;
use crate::output::{Page, Piece, Tone};
use crate::store::Past;
use serde_json::{Map, Value, json};

/// The attempts for a person, the last one last.
pub fn tell(history: &[Past], page: &mut Page) {
    if history.is_empty() {
        return;
    }
    page.line([]);
    page.line([Piece::new("attempts", Tone::Title)]);
    for one in history {
        let tone = match one.outcome.as_str() {
            "sent" => Tone::Good,
            "deferred" | "partly" | "outage" | "lost" => Tone::Warning,
            _ => Tone::Bad,
        };
        let took = one.ms as f64 / 1000.0;
        let relay = one.relay.as_ref().map(|relay| format!("  {relay}")).unwrap_or_default();
        let phase = one.phase.as_ref().map(|phase| format!("  at {phase}")).unwrap_or_default();
        page.hanging(
            6,
            [
                format!("{:>4}  {}  ", one.attempt, value::show_moment(one.at)).into(),
                Piece::new(one.outcome.clone(), tone),
                format!("  {took:.3} s{relay}{phase}").into(),
            ],
        );
        let recipients = recipients(one);
        match &one.message {
            Some(message) if recipients.is_empty() => {
                page.hanging(8, [format!("        {message}").into()]);
            }
            _ => {}
        }
        for (who, words) in recipients {
            let words = words.as_str().map_or_else(|| words.to_string(), str::to_owned);
            page.hanging(10, [format!("        {who}: {words}").into()]);
        }
    }
}

fn recipients(one: &Past) -> Map<String, Value> {
    one.recipients.as_ref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The attempts for a program.
pub fn json(history: &[Past]) -> Value {
    let all = history.iter().map(|one| {
        let recipients = recipients(one);
        let recipients = if recipients.is_empty() { Value::Null } else { recipients.into() };
        json!({
            "attempt": one.attempt, "at": one.at, "ms": one.ms, "relay": one.relay, "outcome": one.outcome,
            "phase": one.phase, "code": one.code, "message": one.message, "recipients": recipients,
        })
    });
    all.collect()
}
