//! The environment: the only place that reads it.
//!
//! `MAILQ_SMTP__HOST` is the key `smtp.host`, `MAILQ_QUEUES__BULK__RATE` is `queues.bulk.rate`. An empty variable is
//! one that is not set.

use super::keys::{Entries, near};
use super::value::Raw;
use crate::domain::fault::{Fault, Kind};
use std::ffi::OsString;

/// The variables that are no keys of the file.
const OTHERS: [&str; 2] = ["CONFIG", "DB"];

/// The value of a variable; `None` where it is missing or empty.
pub(super) fn variable(name: &str) -> Option<OsString> {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// All variables.
pub(super) fn all() -> Vec<(OsString, OsString)> {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    std::env::vars_os().collect()
}

/// Takes the keys among `variables` into `entries`.
pub(super) fn read(
    variables: Vec<(OsString, OsString)>,
    entries: &mut Entries,
) -> Result<(), Fault> {
    let mut variables: Vec<(String, OsString)> = variables
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            Some((name.strip_prefix("MAILQ_")?.to_owned(), value))
        })
        .filter(|(name, _)| !OTHERS.contains(&name.as_str()))
        .collect();
    variables.sort();
    for (name, given) in variables {
        let place = format!("$MAILQ_{name}");
        let text = |given: OsString| match given.into_string() {
            Ok(text) => Ok(Raw::Text(text)),
            Err(_) => Err(Fault::new(Kind::Config, format!("{place} is not UTF-8"))),
        };
        if let Some((domain, key)) = domain_target(&name, entries) {
            let domain = super::dkim::domain(&domain)
                .map_err(|why| Fault::new(Kind::Config, format!("{place}: {why}")))?;
            entries.put_for_domain(&domain, &key, &text(given)?, &place)?;
        } else if let Some((queue, key)) = target(&name, entries.queues()) {
            entries.put(queue.as_deref(), &key, &text(given)?, &place)?;
        }
    }
    Ok(())
}

/// The queue and the key that the variable `MAILQ_NAME` means. A name without `__` that resembles no key belongs to
/// somebody else (`MAILQ_BIN` of a script) and is let be.
fn target(name: &str, queues: &[String]) -> Option<(Option<String>, String)> {
    let parts: Vec<&str> = name.split("__").collect();
    let key = |parts: &[&str]| parts.join(".").to_ascii_lowercase();
    match parts[..] {
        [single] => {
            let key = single.to_ascii_lowercase();
            near(&key).map(|_| (None, key))
        }
        [first, queue, ..] if first.eq_ignore_ascii_case("queues") && parts.len() > 2 => {
            let known = queues.iter().find(|known| known.eq_ignore_ascii_case(queue));
            let queue = known.cloned().unwrap_or_else(|| queue.to_ascii_lowercase());
            Some((Some(queue), key(&parts[2..])))
        }
        _ => Some((None, key(&parts))),
    }
}

/// The domain and the key that `MAILQ_DKIM__EXAMPLE_COM__SELECTOR` means: `_` stands for what a name of a variable
/// cannot have, and for a dot where no domain of the file says otherwise.
fn domain_target(name: &str, entries: &Entries) -> Option<(String, String)> {
    let (section, rest) = name.split_once("__")?;
    let (written, key) = rest.split_once("__")?;
    if !section.eq_ignore_ascii_case("dkim") {
        return None;
    }
    let written = written.to_ascii_lowercase();
    let known = entries.domains().keys().find(|known| known.replace(['.', '-'], "_") == written);
    let domain = known.cloned().unwrap_or_else(|| written.replace('_', "."));
    Some((domain, key.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Result<Entries, Fault> {
        let mut entries = Entries::default();
        entries.name_queue("Bulk");
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        read(variables, &mut entries)?;
        Ok(entries)
    }

    #[test]
    fn every_section_and_queue_can_be_reached() {
        let entries = from(&[
            ("MAILQ_SMTP__PORT", "2525"),
            ("MAILQ_FROM", "a@b.example"),
            ("MAILQ_QUEUES__BULK__RATE", "1/1s"),
            ("MAILQ_QUEUES__news__SMTP__HOST", "n.example"),
            ("MAILQ_SPOOL", ""),
            ("MAILQ_DB", "elsewhere"),
            ("MAILQ_BIN", "somebody's"),
            ("PATH", "/bin"),
        ])
        .unwrap();
        assert_eq!(entries.get(None, "smtp.port"), Some(&Value::Number(2525)));
        assert!(entries.get(Some("Bulk"), "rate").is_some());
        let host = entries.get(Some("news"), "smtp.host");
        assert_eq!(host, Some(&Value::Text("n.example".to_owned())));
        assert_eq!(entries.get(None, "spool"), None);
        assert_eq!(entries.queues(), ["Bulk", "news"]);
    }

    #[test]
    fn a_misspelt_or_wrong_variable_is_named() {
        for (name, value) in [
            ("MAILQ_SMTP__HSOT", "x"),
            ("MAILQ_TEMPALTES", "x"),
            ("MAILQ_SMTP__PORT", "many"),
            ("MAILQ_QUEUES__BULK", "x"),
        ] {
            let fault = from(&[(name, value)]).expect_err(name);
            assert!(fault.to_string().starts_with(&format!("${name}: ")), "{fault}");
        }
    }
}
