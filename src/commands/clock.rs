//! Local times in a named zone: `2026-12-24 09:00 Europe/Berlin`.
//!
//! Twice a year a local time is none, or two. As calendars do it (RFC 5545, 3.3.5), one that the clocks leave out is
//! read with the offset from before the change (02:30 becomes 03:30), and one that comes twice is the first.

use chrono::{Duration, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

/// What was special about a local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Once,
    /// The clocks leave it out.
    LeftOut,
    /// It comes twice.
    Twice,
}

impl Fit {
    /// What the user is told.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Fit::Once => None,
            Fit::LeftOut => Some("does not exist there, since the clocks leave it out"),
            Fit::Twice => Some("comes twice there, and is the first of the two"),
        }
    }
}

/// The moment of `time` in `zone`, in milliseconds since 1970.
pub fn in_zone(zone: &impl TimeZone, time: NaiveDateTime) -> Option<(i64, Fit)> {
    let found = zone.from_local_datetime(&time);
    if let Some(one) = found.clone().single() {
        return Some((one.timestamp_millis(), Fit::Once));
    }
    if let Some(first) = found.earliest() {
        return Some((first.timestamp_millis(), Fit::Twice));
    }
    // The largest gap so far was a day.
    let before = (1..=104).find_map(|quarter| {
        let earlier = time.checked_sub_signed(Duration::minutes(15 * quarter))?;
        zone.from_local_datetime(&earlier).latest()
    })?;
    let offset = Duration::seconds(before.offset().fix().local_minus_utc().into());
    let moment = time.checked_sub_signed(offset)?;
    Some((moment.and_utc().timestamp_millis(), Fit::LeftOut))
}

/// A text that ends in the name of a zone, `2026-12-24 09:00 Europe/Berlin` or `2026-12-24T09:00[Europe/Berlin]`: what
/// stands before the name, and the zone if there is one of it.
pub fn split(text: &str) -> Option<(&str, Result<Tz, String>)> {
    let (time, name) = match text.strip_suffix(']') {
        Some(text) => text.split_once('[')?,
        None => text.rsplit_once(' ')?,
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let zone = || name.parse().map_err(|_| format!("names the zone {name:?}, which is none"));
    is_name.then(|| (time.trim_end(), zone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> (i64, Fit) {
        let (time, zone) = split(text).unwrap();
        let time = NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M").unwrap();
        in_zone(&zone.unwrap(), time).unwrap()
    }

    fn utc(text: &str) -> i64 {
        chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    #[test]
    fn a_time_that_is_left_out_or_comes_twice_has_one_meaning() {
        for (text, moment, fit) in [
            ("2026-12-24 09:00 Europe/Berlin", "2026-12-24T08:00:00Z", Fit::Once),
            ("2026-07-01 09:00 America/New_York", "2026-07-01T13:00:00Z", Fit::Once),
            ("2026-03-29 02:00 Europe/Berlin", "2026-03-29T01:00:00Z", Fit::LeftOut),
            ("2026-03-29 02:30 Europe/Berlin", "2026-03-29T01:30:00Z", Fit::LeftOut),
            ("2026-03-29 03:00 Europe/Berlin", "2026-03-29T01:00:00Z", Fit::Once),
            ("2026-10-25 02:30 Europe/Berlin", "2026-10-25T00:30:00Z", Fit::Twice),
            ("2026-04-05 01:40 Australia/Lord_Howe", "2026-04-04T14:40:00Z", Fit::Twice),
            ("2011-12-30 12:00 Pacific/Apia", "2011-12-30T22:00:00Z", Fit::LeftOut),
        ] {
            assert_eq!(at(text), (utc(moment), fit), "{text}");
        }
    }

    #[test]
    fn what_is_no_zone_is_told_and_what_names_none_is_left() {
        assert!(split("2026-12-24T09:00[Asia/Tokyo]").unwrap().1.is_ok());
        assert!(split("2026-12-24 09:00 Europe/Berlni").unwrap().1.unwrap_err().contains("Berlni"));
        for none in ["2026-12-24 09:00", "2026-12-24T09:00Z", "tomorrow", "", "]"] {
            assert!(split(none).is_none(), "{none}");
        }
    }
}
