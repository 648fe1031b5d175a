//! When to try again, and when to give up: back-off with jitter, for mails and for the road.

use std::time::Duration;

/// What to do when it is unknown whether the server has the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUnknown {
    /// Try again, with the same `Message-ID`: at least once.
    #[default]
    Retry,
    /// FAILED `unknown-outcome`, for a human: at most once.
    Hold,
}

/// How often and how long a mail is tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub max_attempts: u32,
    /// The wait after the first failed attempt, after the second, …; the last one repeats. Never empty.
    pub backoff: Vec<Duration>,
    /// The share by which a wait may be longer or shorter: 0.25 is ±25 %.
    pub jitter: f64,
    /// How long a mail without `expires_at` may wait from the moment it is due.
    pub max_age: Duration,
    pub on_unknown: OnUnknown,
}

impl Default for Policy {
    fn default() -> Self {
        const MINUTE: u64 = 60;
        Policy {
            max_attempts: 5,
            backoff: [30, 2 * MINUTE, 10 * MINUTE, 60 * MINUTE, 4 * 60 * MINUTE]
                .map(Duration::from_secs)
                .to_vec(),
            jitter: 0.25,
            max_age: Duration::from_secs(5 * 24 * 60 * MINUTE),
            on_unknown: OnUnknown::Retry,
        }
    }
}

impl Policy {
    /// The wait in milliseconds after `attempts` failed attempts; `draw` is a random number in `0.0..1.0`.
    pub fn wait_ms(&self, attempts: u32, draw: f64) -> i64 {
        let step = (attempts.max(1) as usize - 1).min(self.backoff.len().saturating_sub(1));
        let wait = self.backoff.get(step).copied().unwrap_or(Duration::from_secs(30));
        spread(wait, self.jitter, draw)
    }

    /// The longest wait that `wait_ms` can give: what lies further ahead was set by a clock that is wrong.
    pub fn longest_wait_ms(&self) -> i64 {
        let longest = self.backoff.iter().copied().max().unwrap_or_default();
        spread(longest, self.jitter, 1.0)
    }
}

const FIRST_BREAK: Duration = Duration::from_secs(30);
const LONGEST_BREAK: Duration = Duration::from_secs(15 * 60);
const BREAK_JITTER: f64 = 0.25;

/// How long in milliseconds to leave a road alone after `outages` outages in a row; `named` is the server's own wish.
pub fn break_ms(outages: u32, named: Option<Duration>, draw: f64) -> i64 {
    match named {
        // Never earlier than asked, so the jitter only adds.
        Some(wait) => millis(wait) + spread(wait, 0.0, draw) / 20,
        None => {
            let doubled = FIRST_BREAK * 2u32.saturating_pow(outages.saturating_sub(1).min(10));
            spread(doubled.min(LONGEST_BREAK), BREAK_JITTER, draw)
        }
    }
}

/// `wait` in milliseconds, moved by at most the share `jitter` either way.
fn spread(wait: Duration, jitter: f64, draw: f64) -> i64 {
    let factor = 1.0 + jitter.clamp(0.0, 1.0) * (2.0 * draw.clamp(0.0, 1.0) - 1.0);
    (millis(wait) as f64 * factor) as i64
}

/// A duration in whole milliseconds; one that does not fit becomes the largest that does no harm in a sum.
pub fn millis(d: Duration) -> i64 {
    i64::try_from(d.as_millis()).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_and_stays_within_the_jitter() {
        let policy = Policy::default();
        assert_eq!(policy.wait_ms(1, 0.5), 30_000);
        assert_eq!(policy.wait_ms(1, 0.0), 22_500);
        assert_eq!(policy.wait_ms(1, 1.0), 37_500);
        assert_eq!(policy.wait_ms(2, 0.5), 120_000);
        assert_eq!(policy.wait_ms(99, 0.5), policy.wait_ms(5, 0.5));
        assert_eq!(policy.wait_ms(0, 0.5), 30_000);
        assert!(policy.longest_wait_ms() >= policy.wait_ms(5, 1.0));
    }

    #[test]
    fn a_break_grows_to_a_quarter_of_an_hour() {
        let minutes = |n| break_ms(n, None, 0.5) as f64 / 60_000.0;
        assert_eq!([minutes(1), minutes(2), minutes(3)], [0.5, 1.0, 2.0]);
        assert_eq!(minutes(6), 15.0);
        assert_eq!(minutes(u32::MAX), 15.0);
        assert!(break_ms(u32::MAX, None, 1.0) <= 20 * 60_000);
    }

    #[test]
    fn a_break_that_the_server_names_is_never_shorter() {
        for draw in [0.0, 0.5, 1.0] {
            let wait = break_ms(1, Some(Duration::from_secs(90)), draw);
            assert!((90_000..=100_000).contains(&wait), "{wait}");
        }
    }

    #[test]
    fn a_policy_without_steps_and_huge_waits_do_no_harm() {
        let policy = Policy { backoff: vec![], ..Policy::default() };
        assert_eq!(policy.wait_ms(3, 0.5), 30_000);
        let policy = Policy { backoff: vec![Duration::MAX], ..Policy::default() };
        assert!(policy.wait_ms(1, 1.0) > 0);
        assert!(1_800_000_000_000i64.checked_add(policy.wait_ms(1, 1.0)).is_some());
    }
}
