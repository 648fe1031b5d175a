//! Values of options, read at the door: durations, moments, files named by `@` and `-`.

use super::clock::{self, Fit};
use crate::config::units;
use crate::domain::fault::{Fault, Kind, words_of};
use crate::domain::retry::millis;
use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, TimeZone};
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::error::Error;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::time::Duration;

/// The value of an option is not UTF-8.
#[derive(Debug)]
pub struct NotUtf8;

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not UTF-8")
    }
}

impl Error for NotUtf8 {}

/// For clap: a text; one that is not UTF-8 is refused by the option's name.
pub fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|text| text.into_string().map_err(|_| NotUtf8))
}

/// For clap: what `read` makes of a text; one that is not UTF-8 is refused by the option's name.
pub fn read<T>(read: fn(&str) -> Result<T, String>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    OsStringValueParser::new().try_map(move |text| -> Result<T, Box<dyn Error + Send + Sync>> {
        let text = text.into_string().map_err(|_| NotUtf8)?;
        Ok(read(&text)?)
    })
}

/// For clap: a duration such as `90s`, `2m`, `30d`; `0s` is one.
pub fn duration() -> impl TypedValueParser<Value = Duration> {
    read(units::duration)
}

/// For clap: a duration that is longer than nothing.
pub fn positive_duration() -> impl TypedValueParser<Value = Duration> {
    read(units::positive_duration)
}

/// A moment in milliseconds since 1970, and what was assumed about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub at_ms: i64,
    /// The text named no zone: this host's was taken.
    pub assumed_local: bool,
    /// What was special about it in its zone.
    pub fit: Fit,
}

/// Reads `2026-12-24T09:00:00+01:00`, the same with `Z` or with a blank for the `T`, `2026-12-24 09:00 Europe/Berlin`, or
/// `+2d` from `now_ms`. Without a zone it is this host's time.
pub fn moment(option: &str, text: &str, now_ms: i64) -> Result<Moment, Fault> {
    let wrong = |why: String| {
        Fault::new(Kind::Usage, format!("{option} {text:?}: {why}"))
            .hint("write 2026-12-24T09:00:00+01:00, '2026-12-24 09:00 Europe/Berlin' or +2d")
    };
    if let Some(later) = text.strip_prefix('+') {
        let later = units::duration(later).map_err(wrong)?;
        let later =
            i64::try_from(later.as_millis()).map_err(|_| wrong("is too far ahead".into()))?;
        let at_ms = now_ms.saturating_add(later);
        return Ok(Moment { at_ms, assumed_local: false, fit: Fit::Once });
    }
    let in_range = |at_ms: i64, assumed_local, fit| match at_ms {
        0..=253_402_300_799_999 => Ok(Moment { at_ms, assumed_local, fit }),
        _ => Err(wrong("is not between 1970 and 9999".into())),
    };
    let (text, zone) = match clock::split(text) {
        Some((time, zone)) => (time, Some(zone.map_err(wrong)?)),
        None => (text, None),
    };
    let strict = text.replacen(' ', "T", 1);
    if let Ok(time) = DateTime::parse_from_rfc3339(&strict) {
        if zone.is_some() {
            return Err(wrong("has an offset and a zone; write one of them".into()));
        }
        return in_range(time.timestamp_millis(), false, Fit::Once);
    }
    for pattern in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(&strict, pattern) {
            let found = match zone {
                Some(zone) => clock::in_zone(&zone, time),
                None => clock::in_zone(&Local, time),
            };
            let (at_ms, fit) = found.ok_or_else(|| wrong("is no time".into()))?;
            return in_range(at_ms, zone.is_none(), fit);
        }
    }
    if NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok() {
        return Err(wrong("is a day without a time".into()));
    }
    Err(wrong("is no time".into()))
}

/// Reads a moment of the past: how long ago (`2h`), or as [`moment`] does.
pub fn past(option: &str, text: &str, now_ms: i64) -> Result<i64, Fault> {
    let hint = "write how long ago, such as 2h or 7d, or 2026-12-24T08:00:00Z";
    let is_moment = text.starts_with('+') || text.contains(':') || text.matches('-').count() > 1;
    if is_moment {
        let found = moment(option, text, now_ms).map_err(|fault| fault.hint(hint))?;
        return Ok(found.at_ms);
    }
    let ago = units::duration(text)
        .map_err(|why| Fault::new(Kind::Usage, format!("{option} {text:?}: {why}")).hint(hint))?;
    Ok(now_ms.saturating_sub(millis(ago)))
}

/// A moment as this host's clock shows it, with its zone.
pub fn show_moment(at_ms: i64) -> String {
    match Local.timestamp_millis_opt(at_ms).earliest() {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S %:z").to_string(),
        None => format!("{at_ms} ms"),
    }
}

/// The same to the minute, without its zone: for tables.
pub fn short_moment(at_ms: i64) -> String {
    match Local.timestamp_millis_opt(at_ms).earliest() {
        Some(time) => time.format("%Y-%m-%d %H:%M").to_string(),
        None => format!("{at_ms} ms"),
    }
}

/// A span in its largest two units, `3m 20s`; less than a second is `0s`.
pub fn span(ms: i64) -> String {
    units::human(Duration::from_millis(ms.max(0).unsigned_abs()))
}

/// The text of an option that may name a file: `@FILE`, `-` for stdin, or the text itself. `@@` is a plain `@`.
pub fn text_or_file(option: &str, value: &str, may_be_stdin: bool) -> Result<String, Fault> {
    if may_be_stdin && value == "-" {
        return stdin(option);
    }
    match value.strip_prefix('@') {
        None => Ok(value.to_owned()),
        Some(text) if text.starts_with('@') => Ok(text.to_owned()),
        Some(path) => file(option, Path::new(path)),
    }
}

/// `1 line`, `2 lines`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// All of stdin as UTF-8.
pub fn stdin(option: &str) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|e| {
        Fault::new(Kind::NoInput, format!("{option} -: cannot read stdin: {}", words_of(&e)))
    })?;
    utf8(option, "stdin", bytes)
}

/// A file, or stdin for `-`, to be read bit by bit; with its name for the user.
pub fn open(option: &str, path: &Path) -> Result<(String, Box<dyn BufRead>), Fault> {
    if path.to_str() == Some("-") {
        return Ok(("stdin".to_owned(), Box::new(io::stdin().lock())));
    }
    let told = |e: &io::Error| {
        let kind = match e.kind() {
            io::ErrorKind::PermissionDenied => Kind::Permission,
            _ => Kind::NoInput,
        };
        Fault::new(kind, format!("{option} {}: {}", path.display(), words_of(e)))
    };
    let file = fs::File::open(path).map_err(|e| told(&e))?;
    if file.metadata().map_err(|e| told(&e))?.is_dir() {
        return Err(Fault::new(
            Kind::NoInput,
            format!("{option} {}: is a directory", path.display()),
        ));
    }
    Ok((path.display().to_string(), Box::new(io::BufReader::new(file))))
}

/// All of a file as UTF-8, or of stdin for `-`; with its name for the user.
pub fn whole(option: &str, path: &Path) -> Result<(String, String), Fault> {
    let (name, mut input) = open(option, path)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|e| {
        Fault::new(Kind::NoInput, format!("{option} {name}: cannot read: {}", words_of(&e)))
    })?;
    let text = utf8(option, &name, bytes)?;
    Ok((name, text))
}

/// All of a file that an option names by `@`, as UTF-8.
fn file(option: &str, path: &Path) -> Result<String, Fault> {
    let shown = path.display();
    let meta = fs::metadata(path).map_err(|e| missing(option, path, &e))?;
    if meta.is_dir() {
        return Err(Fault::new(Kind::NoInput, format!("{option} @{shown}: is a directory")));
    }
    let bytes = fs::read(path).map_err(|e| missing(option, path, &e))?;
    utf8(option, &shown.to_string(), bytes)
}

fn missing(option: &str, path: &Path, e: &io::Error) -> Fault {
    let kind = match e.kind() {
        io::ErrorKind::PermissionDenied => Kind::Permission,
        _ => Kind::NoInput,
    };
    Fault::new(kind, format!("{option} @{}: {}", path.display(), words_of(e)))
        .hint("a value that begins with @ names a file; write @@ where the text itself begins so")
}

fn utf8(option: &str, source: &str, bytes: Vec<u8>) -> Result<String, Fault> {
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Fault::new(Kind::Data, format!("{option}: {source} is not UTF-8 at byte {at}"))
            .hint("convert it first: iconv -f ISO-8859-1 -t UTF-8")
    })?;
    // The byte order mark that editors on Windows write is no part of the text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    #[test]
    fn a_moment_has_a_zone_or_says_that_it_took_one() {
        let at = |text| moment("--at", text, NOW).unwrap();
        assert_eq!(at("2027-01-15T08:00:00Z").at_ms, NOW);
        assert_eq!(at("2027-01-15 10:00:00+02:00").at_ms, NOW);
        assert_eq!(at("+2h").at_ms, NOW + 7_200_000);
        assert!(!at("2027-01-15T08:00:00Z").assumed_local);
        assert!(at("2027-01-15 08:00").assumed_local);
        let berlin = at("2027-01-15 09:00 Europe/Berlin");
        assert_eq!((berlin.at_ms, berlin.assumed_local), (NOW, false));
    }

    #[test]
    fn what_is_no_moment_is_named() {
        for text in [
            "tomorrow",
            "2027-01-15 09:00 Berlin",
            "2027-01-15T09:00:00+01:00 Europe/Berlin",
            "",
            "2027-13-01T00:00:00Z",
            "1800000000",
            "+",
            "+5",
            "-1d",
            "1969-01-01T00:00:00Z",
        ] {
            let fault = moment("--at", text, NOW).unwrap_err();
            assert_eq!(fault.kind(), Kind::Usage, "{text}");
            assert!(fault.to_string().contains("--at"), "{fault}");
        }
    }

    #[test]
    fn text_is_taken_as_it_is_unless_it_names_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("body");
        fs::write(&path, b"a\xff").unwrap();
        assert_eq!(text_or_file("--body", "a @b", true).unwrap(), "a @b");
        assert_eq!(text_or_file("--body", "@@all: hi", true).unwrap(), "@all: hi");
        assert_eq!(text_or_file("--html", "-", false).unwrap(), "-");
        let named = format!("@{}", path.display());
        assert_eq!(text_or_file("--body", &named, true).unwrap_err().kind(), Kind::Data);
        assert_eq!(text_or_file("--body", "@/no/such", true).unwrap_err().kind(), Kind::NoInput);
        let dir = format!("@{}", dir.path().display());
        assert_eq!(text_or_file("--body", &dir, true).unwrap_err().kind(), Kind::NoInput);
    }
}
