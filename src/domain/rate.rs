//! How much may be handed over: limits that are configured, and the pace that a server which had too many leaves behind.

use super::retry::millis;
use std::fmt;
use std::time::Duration;

/// At most `count` mails in any stretch of time as long as `per`: `600/1m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub per: Duration,
}

/// In so many slices a window is counted. A slice counts until its end has left the window, so a mail may count for a
/// sixtieth too long, and never too short.
const SLICES: i64 = 60;

impl Rate {
    pub fn per_ms(&self) -> i64 {
        millis(self.per).max(1)
    }

    /// How long a slice of the window is.
    pub fn slice_ms(&self) -> i64 {
        (self.per_ms() / SLICES).max(1)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = humantime::format_duration(self.per).to_string().replace(' ', "");
        write!(f, "{}/{per}", self.count)
    }
}

/// The slow start of a queue after a server said "too many": `mails` a minute at `since`, and twice as many each
/// minute from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub since: i64,
    pub mails: u32,
}

const MINUTE: Duration = Duration::from_secs(60);

/// After so many doublings the queue is as fast as before.
const DOUBLINGS: i64 = 10;

impl Pace {
    /// The pace after a server had too many with `mails` in the last minute: half of that.
    pub fn after(mails: u64, now: i64) -> Pace {
        Pace { since: now, mails: u32::try_from(mails / 2).unwrap_or(u32::MAX).max(1) }
    }

    /// The limit at `now`; `None`: it has recovered, or comes from a clock that stepped back since.
    pub fn at(&self, now: i64) -> Option<Rate> {
        let minutes = now.checked_sub(self.since)?.div_euclid(60_000);
        let doublings = u32::try_from(minutes).ok().filter(|_| minutes < DOUBLINGS)?;
        Some(Rate { count: self.mails.saturating_mul(2u32.pow(doublings)), per: MINUTE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_doubles_each_minute_and_ends() {
        let pace = Pace::after(101, 1_000_000);
        let at = |minutes: i64| pace.at(1_000_000 + minutes * 60_000).map(|rate| rate.count);
        assert_eq!([at(0), at(1), at(4)], [Some(50), Some(100), Some(800)]);
        assert_eq!([at(10), at(1_000), at(-1)], [None; 3]);
        assert_eq!(Pace::after(0, 0).mails, 1);
    }

    #[test]
    fn a_rate_is_written_as_it_is_read() {
        let rate = |seconds| Rate { count: 600, per: Duration::from_secs(seconds) }.to_string();
        assert_eq!((rate(60), rate(5_400)), ("600/1m".to_owned(), "600/1h30m".to_owned()));
        assert_eq!(Rate { count: 1, per: Duration::from_millis(1) }.slice_ms(), 1);
    }
}
