//! `mailq stats --group`: how far a group is, and about when it will be through.

use crate::commands::{Context, value};
use crate::domain::fault::{Fault, Kind};
use crate::exit;
use crate::host;
use crate::output::Table;
use crate::store::{Access, LATELY_MS, Progress};
use anyhow::Result;
use serde_json::json;

pub fn run(group: &str, context: &Context) -> Result<u8> {
    let now = host::now_ms();
    let progress = context.store(Access::Read)?.progress(group, now)?;
    let Progress { waiting, sending, sent, failed, failures, lately } = &progress;
    if waiting + sending + sent + failed == 0 {
        let fault = Fault::new(Kind::NoInput, format!("no mail of the group {group:?}"));
        return Err(fault.hint("it was never there, or it is pruned").into());
    }
    let end = estimate(&progress, now);
    let per_minute = *lately as f64 / (LATELY_MS as f64 / 60_000.0);
    if context.json {
        context.output.json(&json!({
            "group": group, "waiting": waiting, "sending": sending, "sent": sent, "failed": failed,
            "failures": failures, "sent_per_minute": per_minute, "estimated_end": end,
        }))?;
        return Ok(exit::DONE);
    }
    let mut table = Table::new(&[
        "group",
        "waiting",
        "sending",
        "sent",
        "failed",
        "per minute",
        "through at about",
    ]);
    let end = match (waiting + sending, end) {
        (0, _) => "through".to_owned(),
        (_, Some(end)) => value::show_moment(end),
        (_, None) => "none was sent lately".to_owned(),
    };
    let mut cells = vec![group.to_owned()];
    cells.extend([waiting, sending, sent, failed].map(ToString::to_string));
    cells.extend([format!("{per_minute:.1}"), end]);
    table.row(cells);
    context.output.print(&table.to_string())?;
    for (failure, mails) in failures {
        context.output.line(&format!("FAILED {failure}: {mails}"))?;
    }
    Ok(exit::DONE)
}

/// When the mails that are left will have gone at the speed of late, in milliseconds since 1970.
fn estimate(progress: &Progress, now: i64) -> Option<i64> {
    let left = i64::try_from(progress.waiting + progress.sending).ok()?;
    let lately = i64::try_from(progress.lately).ok().filter(|lately| *lately > 0)?;
    (left > 0).then(|| now.saturating_add(left.saturating_mul(LATELY_MS) / lately))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_follows_from_what_is_left_and_the_speed_of_late() {
        let at =
            |waiting, lately| estimate(&Progress { waiting, lately, ..Progress::default() }, 1_000);
        assert_eq!(at(1_000, 500), Some(1_000 + 20 * 60_000));
        assert_eq!((at(0, 500), at(10, 0)), (None, None));
    }
}
