//! Quantities as people write them: durations, sizes, shares and rates.
//!
//! Every reader here says what is wrong in a phrase that fits behind the value's name, and none of them wraps,
//! rounds up or guesses a unit.

use crate::domain::rate::Rate;
use std::time::Duration;

/// The longest duration that is believed.
const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
/// More text than any sensible duration has; it also keeps the sum of its parts from overflowing.
const LONGEST_TEXT: usize = 64;
/// More digits than any sensible number in a duration has.
const MOST_DIGITS: usize = 12;

/// Reads a duration such as `90s`, `2m`, `1h 30m` or `30d`. Zero needs a unit too.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty; write a duration such as 90s, 2m or 30d".to_owned());
    }
    if text.starts_with('-') {
        return Err("is negative".to_owned());
    }
    if !text.is_ascii() {
        return Err(
            "has characters other than digits 0-9 and a unit; write 90s, 2m or 30d".to_owned()
        );
    }
    if text.contains('.') {
        return Err("has a fraction; write it with a smaller unit, such as 1h 30m".to_owned());
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("has no unit; write {text}s, {text}m, {text}h or {text}d"));
    }
    if has_unit_m(text) {
        return Err(
            "has the unit M; write m for minutes, or the days of a month, such as 30d".to_owned()
        );
    }
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    if text.len() > LONGEST_TEXT || numbers.map(str::len).max() > Some(MOST_DIGITS) {
        return Err("is longer than 100 years".to_owned());
    }
    let parsed = humantime::parse_duration(text)
        .map_err(|_| "is no duration; write 90s, 2m, 1h 30m or 30d".to_owned())?;
    if parsed > CENTURY {
        return Err("is longer than 100 years".to_owned());
    }
    if !parsed.is_zero() && parsed < Duration::from_millis(1) {
        return Err("is shorter than a millisecond".to_owned());
    }
    Ok(parsed)
}

/// Like [`duration`], but zero is refused.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        d if d.is_zero() => Err("must be longer than zero".to_owned()),
        d => Ok(d),
    }
}

/// Whether a unit of `text` is the capital letter alone, which would be a month.
fn has_unit_m(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphabetic()).any(|unit| unit == "M")
}

/// A size in bytes: `25M`, `25MiB` or `26214400`. K, M and G are powers of 1,024.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor: u64 = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err("is no size; write bytes, or 500K, 25M or 1G".to_owned()),
    };
    let number: u64 =
        digits.parse().map_err(|_| "is no size; write bytes, or 500K, 25M or 1G".to_owned())?;
    number
        .checked_mul(factor)
        .filter(|bytes| *bytes > 0 && *bytes <= 1 << 40)
        .ok_or_else(|| "is not between 1 byte and 1024G".to_owned())
}

/// A share: `5%` or `0.05`.
pub fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|n| n / scale)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "is no share; write one between 0 and 1, or 0% and 100%".to_owned())
}

/// A rate: `600/1m`, `10/s`.
pub fn rate(text: &str) -> Result<Rate, String> {
    let wrong = || "is no rate; write a number and a duration, such as 600/1m".to_owned();
    let (count, per) = text.trim().split_once('/').ok_or_else(wrong)?;
    let count: u32 = count.trim().parse().map_err(|_| wrong())?;
    if count == 0 {
        return Err("would never send anything; write at least 1".to_owned());
    }
    let per = per.trim();
    let per = if per.starts_with(|c: char| c.is_ascii_alphabetic()) {
        positive_duration(&format!("1{per}"))?
    } else {
        positive_duration(per)?
    };
    Ok(Rate { count, per })
}

/// `d` in its largest two units, for a human: `2m`, `1h 30m`, `3d 4h`.
pub fn human(d: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let seconds = d.as_secs();
    let Some(first) = UNITS.iter().position(|(size, _)| seconds >= *size) else {
        return "0s".to_owned();
    };
    let (size, unit) = UNITS[first];
    let mut text = format!("{}{unit}", seconds / size);
    if let Some((smaller, unit)) = UNITS.get(first + 1) {
        let rest = seconds % size / smaller;
        if rest > 0 {
            text.push_str(&format!(" {rest}{unit}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_are_meant_are_read() {
        for (text, seconds) in [
            ("90s", 90),
            ("2m", 120),
            ("1h 30m", 5_400),
            ("1h30m", 5_400),
            ("30d", 2_592_000),
            ("0s", 0),
            ("2 weeks", 1_209_600),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(duration("5ms"), Ok(Duration::from_millis(5)));
        assert!(positive_duration("0s").is_err());
    }

    #[test]
    fn durations_that_trap_are_refused_and_told_why() {
        for (text, why) in [
            ("18446744073709551615s", "100 years"),
            ("18446744073709551615s 1000000000ns", "100 years"),
            ("1000000 years", "100 years"),
            ("300y", "100 years"),
            ("-5m", "negative"),
            ("5", "5s"),
            ("0", "no unit"),
            ("", "empty"),
            ("  ", "empty"),
            ("1.5h", "fraction"),
            ("1M", "minutes"),
            ("1h 2M", "minutes"),
            ("５m", "0-9"),
            ("1ns", "millisecond"),
            ("5 parsecs", "no duration"),
            ("s", "no duration"),
        ] {
            let told = duration(text).expect_err(text);
            assert!(told.contains(why), "{text:?}: {told}");
        }
        let many = "999999999999ns ".repeat(5_000);
        assert!(duration(&many).is_err());
    }

    #[test]
    fn sizes_shares_and_rates() {
        assert_eq!(size("25M"), Ok(26_214_400));
        assert_eq!(size("25 MiB"), Ok(26_214_400));
        assert_eq!(size("7"), Ok(7));
        for wrong in ["", "M", "-1", "0", "99999999G", "1T", "1.5M", "99999999999999999999"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.05"), Ok(0.05));
        for wrong in ["", "%", "101%", "-0.1", "NaN", "inf", "5"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        let minute = Duration::from_secs(60);
        assert_eq!(rate("600/1m"), Ok(Rate { count: 600, per: minute }));
        assert_eq!(rate("600/m"), Ok(Rate { count: 600, per: minute }));
        for wrong in ["", "600", "0/1m", "-1/1m", "600/", "600/0s", "600/5"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_human_sees_two_units() {
        for (seconds, text) in
            [(0, "0s"), (59, "59s"), (120, "2m"), (5_400, "1h 30m"), (273_660, "3d 4h")]
        {
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
    }
}
