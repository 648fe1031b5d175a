//! `mailq stats --group`: how far a group is, and about when it will be through.

use crate::commands::{Context, value};
use crate::domain::fault::{Fault, Kind};
use crate::domain::rate::Rate;
use crate::exit;
use crate::host;
use crate::output::Table;
use crate::store::{Access, LATELY_MS, Progress};
use anyhow::Result;
use serde_json::json;

pub fn run(group: &str, context: &Context) -> Result<u8> {
    let now = host::now_ms();
    let store = context.store(Access::Read)?;
    let progress = store.progress(group, now)?;
    let Progress { waiting, sending, sent, failed, failures, .. } = &progress;
    if waiting + sending + sent + failed == 0 {
        let fault = Fault::new(Kind::NoInput, format!("no mail of the group {group:?}"));
        return Err(fault.hint("it was never there, or it is pruned").into());
    }
    let queue = progress.queue.as_deref();
    let rates = queue.map(|queue| context.config.rates(queue)).unwrap_or_default();
    let mut limits = Vec::new();
    for rate in rates {
        limits.push((rate, store.left(queue.unwrap_or_default(), rate, now)?));
    }
    let end = estimate(&progress, &limits, now);
    let per_minute = progress.lately as f64 / (LATELY_MS as f64 / 60_000.0);
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

/// How long the mails of late have been going, in milliseconds: a minute at least, since a rate lets some go at once.
fn spell(progress: &Progress, now: i64) -> i64 {
    progress.lately_since.map_or(LATELY_MS, |since| now.saturating_sub(since)).max(60_000)
}

/// When the mails that are left will have gone at the speed of late, but no faster than the rates let them, each with
/// how many it lets through now. In milliseconds since 1970.
fn estimate(progress: &Progress, limits: &[(Rate, u64)], now: i64) -> Option<i64> {
    let left = i64::try_from(progress.waiting + progress.sending).ok().filter(|left| *left > 0)?;
    let lately = i64::try_from(progress.lately).ok().filter(|lately| *lately > 0)?;
    let limited = limits.iter().map(|(rate, free)| {
        let later = left.saturating_sub(i64::try_from(*free).unwrap_or(i64::MAX)).max(0);
        later.saturating_mul(rate.per_ms()) / i64::from(rate.count.max(1))
    });
    let measured = left.saturating_mul(spell(progress, now)) / lately;
    Some(now.saturating_add(limited.fold(measured, i64::max)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_end_follows_from_what_is_left_and_the_speed_of_late() {
        let now = 3_600_000;
        let at = |waiting, lately, minutes: i64, limits: &[(Rate, u64)]| {
            let lately_since = Some(now - minutes * 60_000);
            let progress = Progress { waiting, lately, lately_since, ..Progress::default() };
            estimate(&progress, limits, now).map(|end| (end - now) / 60_000)
        };
        assert_eq!(at(1_000, 500, 10, &[]), Some(20));
        assert_eq!(at(1_000, 500, 2, &[]), Some(4), "over the time that it was sending");
        assert_eq!((at(0, 500, 10, &[]), at(10, 0, 10, &[])), (None, None));
        let rate = Rate { count: 600, per: Duration::from_secs(60) };
        assert_eq!(at(9_400, 600, 0, &[(rate, 0)]), Some(15), "what the rate lets through");
        assert_eq!(at(9_400, 60_000, 1, &[(rate, 400)]), Some(15), "and no more");
        assert_eq!(at(9_400, 3_000, 10, &[(rate, 600)]), Some(31), "where the server is slower");
        let day = Rate { count: 50_000, per: Duration::from_secs(86_400) };
        assert_eq!(at(9_400, 600, 1, &[(day, 20_000)]), Some(15), "a day's rate that is not met");
    }
}
