//! Which keys there are, where each may stand, and the values that were given for them.
//!
//! Nothing later meets a key that does not exist, or a value of another kind than its key takes.

use super::value::{Raw, Type, Value};
use crate::domain::fault::{Fault, Kind, one_line};
use std::collections::BTreeMap;
use std::path::Path;

/// Where a key may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Only outside `[queues.NAME]`.
    Base,
    /// Only inside it.
    Queue,
    /// The base, and over again in a queue.
    Both,
    /// Only inside `[dkim.DOMAIN]`.
    Domain,
}

const TLS: &[&str] = &["none", "opportunistic", "starttls", "implicit"];
const AUTH: &[&str] = &["auto", "plain", "login", "xoauth2"];
const ROADS: &[&str] = &["smtp", "sendmail", "file"];
const LOGS: &[&str] = &["text", "json"];
const UNKNOWN: &[&str] = &["retry", "hold"];
const fn number(least: u64, most: u64) -> Type {
    Type::Number { least, most }
}

/// Every key there is.
const KEYS: &[(&str, Type, Place)] = &[
    ("database", Type::Path, Place::Base),
    ("templates", Type::Path, Place::Base),
    ("spool", Type::Path, Place::Base),
    ("from", Type::Text, Place::Both),
    ("reply_to", Type::Text, Place::Both),
    ("attachment_roots", Type::Paths, Place::Base),
    ("max_message_size", Type::Size, Place::Base),
    ("log", Type::Word(LOGS), Place::Base),
    ("on_failed", Type::Command, Place::Base),
    ("smtp.host", Type::Text, Place::Both),
    ("smtp.port", number(1, 65_535), Place::Both),
    ("smtp.tls", Type::Word(TLS), Place::Both),
    ("smtp.auth", Type::Word(AUTH), Place::Both),
    ("smtp.username", Type::Text, Place::Both),
    ("smtp.password_file", Type::Path, Place::Both),
    ("smtp.password_command", Type::Command, Place::Both),
    ("smtp.ca_file", Type::Path, Place::Both),
    ("smtp.hello_name", Type::Text, Place::Both),
    ("smtp.timeout", Type::Duration, Place::Both),
    ("smtp.mail_timeout", Type::Duration, Place::Both),
    ("smtp.idle_timeout", Type::Duration, Place::Both),
    ("smtp.max_messages_per_connection", number(1, 1_000_000), Place::Both),
    ("smtp.idempotency_header", Type::Text, Place::Both),
    ("transport.kind", Type::Word(ROADS), Place::Base),
    ("transport.directory", Type::Path, Place::Base),
    ("transport.program", Type::Path, Place::Base),
    ("send.concurrency", number(1, 256), Place::Both),
    ("send.batch_size", number(1, 100_000), Place::Base),
    ("send.lease", Type::Duration, Place::Base),
    ("send.time_limit", Type::Duration, Place::Base),
    ("send.on_unknown", Type::Word(UNKNOWN), Place::Both),
    ("retry.max_attempts", number(1, 1_000), Place::Both),
    ("retry.backoff", Type::Durations, Place::Both),
    ("retry.jitter", Type::Share, Place::Both),
    ("retry.max_age", Type::Duration, Place::Both),
    ("retention.sent", Type::Duration, Place::Both),
    ("retention.failed", Type::Duration, Place::Both),
    ("rate", Type::Rates, Place::Queue),
    ("concurrency", number(1, 256), Place::Queue),
    ("max_per_domain", number(1, 256), Place::Queue),
    ("selector", Type::Text, Place::Domain),
    ("key_file", Type::Path, Place::Domain),
];

/// What a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope<'a> {
    Base,
    Queue(&'a str),
    /// The mails that a domain sends.
    Domain(&'a str),
}

impl Scope<'_> {
    fn takes(self, place: Place) -> bool {
        match place {
            Place::Base => self == Scope::Base,
            Place::Queue => matches!(self, Scope::Queue(_)),
            Place::Both => !matches!(self, Scope::Domain(_)),
            Place::Domain => matches!(self, Scope::Domain(_)),
        }
    }

    /// `key` as the file would have it outside all tables.
    fn shown(self, key: &str) -> String {
        match self {
            Scope::Base => key.to_owned(),
            Scope::Queue(queue) => format!("queues.{queue}.{key}"),
            Scope::Domain(domain) => format!("dkim.'{domain}'.{key}"),
        }
    }
}

/// What was given, each key at most once for the base, each queue and each domain.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    values: BTreeMap<(Option<String>, &'static str), Value>,
    /// The queues that were named, in the order of the file: their priority.
    queues: Vec<String>,
    /// The domains that sign, with what was said of them.
    domains: BTreeMap<String, BTreeMap<&'static str, Value>>,
}

impl Entries {
    /// Takes in the value of `key` (in `queue`), which `place` names for the user (`config.toml:3`, `$MAILQ_SPOOL`).
    pub(super) fn put(
        &mut self,
        queue: Option<&str>,
        key: &str,
        raw: &Raw,
        place: &str,
    ) -> Result<(), Fault> {
        let (name, value) = read(queue.map_or(Scope::Base, Scope::Queue), key, raw, place)?;
        if let Some(queue) = queue {
            self.name_queue(queue);
        }
        self.values.insert((queue.map(str::to_owned), name), value);
        Ok(())
    }

    /// Takes in the value of `key` for the mails of `domain`.
    pub(super) fn put_for_domain(
        &mut self,
        domain: &str,
        key: &str,
        raw: &Raw,
        place: &str,
    ) -> Result<(), Fault> {
        let (name, value) = read(Scope::Domain(domain), key, raw, place)?;
        self.domains.entry(domain.to_owned()).or_default().insert(name, value);
        Ok(())
    }

    /// Notes that mails of `domain` are to be signed.
    pub(super) fn name_domain(&mut self, domain: &str) {
        self.domains.entry(domain.to_owned()).or_default();
    }

    /// The domains that sign, each with its values.
    pub(super) fn domains(&self) -> &BTreeMap<String, BTreeMap<&'static str, Value>> {
        &self.domains
    }

    /// Notes that there is a queue `name`, behind those that were named before.
    pub(super) fn name_queue(&mut self, name: &str) {
        if !self.queues.iter().any(|queue| queue == name) {
            self.queues.push(name.to_owned());
        }
    }

    /// Paths that are relative so far lie below `folder`: that of the file which named them.
    pub(super) fn rebase(&mut self, folder: &Path) {
        let of_domains = self.domains.values_mut().flat_map(BTreeMap::values_mut);
        for value in self.values.values_mut().chain(of_domains) {
            match value {
                // `$CREDENTIALS_DIRECTORY/…` is no path of this folder.
                Value::Path(path) if !path.starts_with("$CREDENTIALS_DIRECTORY") => {
                    *path = folder.join(&*path);
                }
                Value::Paths(paths) => {
                    paths.iter_mut().for_each(|path| *path = folder.join(&*path));
                }
                _ => {}
            }
        }
    }

    pub(super) fn queues(&self) -> &[String] {
        &self.queues
    }

    /// The value of `key` for `queue`: its own, else that of the base.
    pub(super) fn get(&self, queue: Option<&str>, key: &'static str) -> Option<&Value> {
        queue
            .and_then(|queue| self.values.get(&(Some(queue.to_owned()), key)))
            .or_else(|| self.values.get(&(None, key)))
    }

    /// Whether `queue` sets a key of `section` itself.
    pub(super) fn sets(&self, queue: &str, section: &str) -> bool {
        self.values.keys().any(|(of, key)| of.as_deref() == Some(queue) && key.starts_with(section))
    }
}

/// The name of `key` and its value, or what is wrong with either.
fn read(
    scope: Scope<'_>,
    key: &str,
    raw: &Raw,
    place: &str,
) -> Result<(&'static str, Value), Fault> {
    let (name, kind) =
        names(scope).find(|(name, _)| *name == key).ok_or_else(|| unknown(scope, key, place))?;
    let value = kind.read(raw).map_err(|why| {
        let shown = scope.shown(name);
        Fault::new(Kind::Config, format!("{place}: {shown} = {} {why}", raw.words()))
    })?;
    Ok((name, value))
}

fn names(scope: Scope<'_>) -> impl Iterator<Item = (&'static str, Type)> {
    KEYS.iter()
        .filter(move |(_, _, place)| scope.takes(*place))
        .map(|(name, kind, _)| (*name, *kind))
}

/// The fault for a key that does not exist. The value is not repeated: it may be a password under a wrong name.
fn unknown(scope: Scope<'_>, key: &str, place: &str) -> Fault {
    let message = format!("{place}: unknown key {:?}", one_line(&scope.shown(key), 200));
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |name: &str| {
        // A key that stands in the wrong section is as near as one that is misspelt.
        let bare = strsim::jaro_winkler(&last(name), &last(key));
        strsim::jaro_winkler(name, key).max(bare)
    };
    let nearest =
        names(scope).map(|(name, _)| name).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(name) => Fault::new(Kind::Config, message)
            .hint(format!("the nearest known key is {:?}", scope.shown(name))),
        None => Fault::new(Kind::Config, message),
    }
}

/// The known key that `key` is a slip of the finger away from.
pub(super) fn near(key: &str) -> Option<&'static str> {
    names(Scope::Base)
        .map(|(name, _)| name)
        .find(|name| strsim::damerau_levenshtein(name, key) <= 1 + name.len() / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(queue: Option<&str>, key: &str, raw: &Raw) -> Result<Entries, Fault> {
        let mut entries = Entries::default();
        entries.put(queue, key, raw, "f:1")?;
        Ok(entries)
    }

    fn text(value: &str) -> Raw {
        Raw::Text(value.to_owned())
    }

    #[test]
    fn an_unknown_key_names_the_nearest_and_never_its_value() {
        for (queue, key, near) in [
            (None, "smtp.hosst", "smtp.host"),
            (None, "stmp.host", "smtp.host"),
            (None, "host", "smtp.host"),
            (None, "smtp.password", "smtp.password_file"),
            (Some("bulk"), "rat", "queues.bulk.rate"),
            (Some("bulk"), "smtp.prot", "queues.bulk.smtp.port"),
        ] {
            let fault = put(queue, key, &text("hunter2")).expect_err(key);
            assert_eq!(fault.kind(), Kind::Config);
            let hint = fault.next_step().unwrap_or_default();
            assert!(hint.contains(&format!("{near:?}")), "{key}: {hint}");
            assert!(!format!("{fault} {hint}").contains("hunter2"));
        }
    }

    #[test]
    fn a_wrong_value_names_key_and_value() {
        for (key, raw) in [
            ("smtp.port", text("smtp")),
            ("smtp.port", Raw::Integer("0".to_owned())),
            ("smtp.tls", text("yes")),
            ("smtp.timeout", Raw::Integer("30".to_owned())),
            ("retry.jitter", Raw::Float("1.5".to_owned())),
            ("retry.backoff", Raw::List(vec![])),
            ("retry.backoff", text("30s, 5")),
            ("from", Raw::Other("a table")),
            ("from", text("a\nb")),
            ("send.concurrency", text("0")),
        ] {
            let told = put(None, key, &raw).expect_err(key).to_string();
            assert!(told.starts_with(&format!("f:1: {key} = {}", raw.words())), "{told}");
        }
    }

    #[test]
    fn a_queue_sets_over_the_base() {
        let mut entries = put(None, "retry.max_attempts", &text("7")).unwrap();
        entries
            .put(Some("bulk"), "retry.max_attempts", &Raw::Integer("2".to_owned()), "f:2")
            .unwrap();
        let attempts = |queue| entries.get(queue, "retry.max_attempts").cloned();
        assert_eq!(attempts(None), Some(Value::Number(7)));
        assert_eq!(attempts(Some("other")), Some(Value::Number(7)));
        assert_eq!(attempts(Some("bulk")), Some(Value::Number(2)));
        assert!(entries.sets("bulk", "retry."));
        assert!(!entries.sets("bulk", "smtp."));
    }

    #[test]
    fn lists_come_as_lists_or_with_commas() {
        let waits =
            |raw| put(None, "retry.backoff", &raw).map(|e| e.get(None, "retry.backoff").cloned());
        let listed = waits(Raw::List(vec![text("30s"), text("2m")])).unwrap();
        assert_eq!(listed, waits(text("30s, 2m")).unwrap());
        assert_eq!(near("tempaltes"), Some("templates"));
        assert_eq!(near("bin"), None);
    }
}
