//! The configuration file: TOML into entries, each with the line it stands on.

use super::keys::Entries;
use super::value::Raw;
use crate::domain::fault::{Fault, Kind, Need, one_line, words_of};
use std::io::ErrorKind;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// What a file may be long at most, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads the file at `path` into `entries`; says whether it was there.
pub(super) fn read(path: &Path, entries: &mut Entries) -> Result<bool, Fault> {
    let shown = path.display();
    let fail = |kind, why: &dyn std::fmt::Display| {
        Fault::new(kind, format!("cannot read the configuration {shown}: {why}"))
            .barred(path, Need::Read)
    };
    let size = match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(fail(Kind::Config, &"it is a directory")),
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(fail(kind_of(&error), &words_of(&error))),
    };
    if size > LONGEST {
        return Err(fail(Kind::Config, &"it is longer than 1 MiB"));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(kind_of(&error), &words_of(&error)))?;
    let text = String::from_utf8(bytes).map_err(|_| fail(Kind::Config, &"it is not UTF-8"))?;
    parse(&text, &shown.to_string(), entries)?;
    Ok(true)
}

fn kind_of(error: &std::io::Error) -> Kind {
    match error.kind() {
        ErrorKind::PermissionDenied => Kind::Permission,
        _ => Kind::Config,
    }
}

pub(super) fn parse(text: &str, name: &str, entries: &mut Entries) -> Result<(), Fault> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        // Only the parser's words: the line itself could hold a secret.
        let why = one_line(error.message(), 200);
        Fault::new(Kind::Config, format!("{name}:{line}: not TOML: {why}"))
    })?;
    let place = |at: usize| format!("{name}:{}", line_of(text, at));
    for (at, key, value) in in_order(table.get_ref()) {
        match value {
            DeValue::Table(queues) if key == "queues" => {
                for (at, queue, value) in in_order(queues) {
                    read_queue(&queue, at, value, &place, entries)?;
                }
            }
            DeValue::Table(domains) if key == "dkim" => {
                read_domains("", at, domains, &place, entries)?;
            }
            DeValue::Table(section) => {
                read_section(None, &key, at, section, &place, entries)?;
            }
            value => entries.put(None, &key, &raw(value), &place(at))?,
        }
    }
    Ok(())
}

type Place<'a> = &'a dyn Fn(usize) -> String;

fn read_queue(
    queue: &str,
    at: usize,
    value: &DeValue<'_>,
    place: Place<'_>,
    entries: &mut Entries,
) -> Result<(), Fault> {
    let DeValue::Table(table) = value else {
        let message = format!("{}: queues.{queue} must be a table, [queues.{queue}]", place(at));
        return Err(Fault::new(Kind::Config, message));
    };
    if queue.is_empty() || queue.chars().any(char::is_control) {
        let message = format!("{}: {queue:?} cannot be the name of a queue", place(at));
        return Err(Fault::new(Kind::Config, message));
    }
    entries.name_queue(queue);
    for (at, key, value) in in_order(table) {
        match value {
            DeValue::Table(section) => {
                read_section(Some(queue), &key, at, section, place, entries)?;
            }
            value => entries.put(Some(queue), &key, &raw(value), &place(at))?,
        }
    }
    Ok(())
}

/// Reads `[dkim."example.com"]`. Without the quotes it is the table `com` in `example`, and means the same.
fn read_domains(
    name: &str,
    at: usize,
    table: &DeTable<'_>,
    place: Place<'_>,
    entries: &mut Entries,
) -> Result<(), Fault> {
    let has_keys = table.values().any(|value| !matches!(value.get_ref(), DeValue::Table(_)));
    let mut domain = String::new();
    // A name too long to be one ends here, however deep its table goes.
    if has_keys || name.len() > 253 || (table.is_empty() && !name.is_empty()) {
        domain = super::dkim::domain(name)
            .map_err(|why| Fault::new(Kind::Config, format!("{}: {why}", place(at))))?;
        entries.name_domain(&domain);
    }
    for (at, key, value) in in_order(table) {
        match value {
            DeValue::Table(inner) => {
                let dot = if name.is_empty() { "" } else { "." };
                read_domains(&format!("{name}{dot}{key}"), at, inner, place, entries)?;
            }
            value => entries.put_for_domain(&domain, &key, &raw(value), &place(at))?,
        }
    }
    Ok(())
}

fn read_section(
    queue: Option<&str>,
    section: &str,
    at: usize,
    table: &DeTable<'_>,
    place: Place<'_>,
    entries: &mut Entries,
) -> Result<(), Fault> {
    const SECTIONS: [&str; 5] = ["smtp", "transport", "send", "retry", "retention"];
    if table.is_empty() && !SECTIONS.contains(&section) {
        return entries.put(queue, section, &Raw::Other("a table"), &place(at));
    }
    for (at, key, value) in in_order(table) {
        entries.put(queue, &format!("{section}.{key}"), &raw(value), &place(at))?;
    }
    Ok(())
}

/// The keys of `table` with where each begins, in the order of the file.
fn in_order<'a>(table: &'a DeTable<'a>) -> Vec<(usize, String, &'a DeValue<'a>)> {
    let mut keys: Vec<_> = table
        .iter()
        .map(|(key, value)| (key.span().start, key.get_ref().to_string(), value.get_ref()))
        .collect();
    keys.sort_by_key(|(at, ..)| *at);
    keys
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Raw::Integer(number.as_str().to_owned())
        }
        DeValue::Integer(_) => Raw::Other("a number that is not decimal"),
        DeValue::Float(number) => Raw::Float(number.as_str().to_owned()),
        DeValue::Boolean(true) => Raw::Other("true"),
        DeValue::Boolean(false) => Raw::Other("false"),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Array(items) => Raw::List(items.iter().map(|item| raw(item.get_ref())).collect()),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|b| *b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;

    fn read_text(text: &str) -> Result<Entries, Fault> {
        let mut entries = Entries::default();
        parse(text, "c.toml", &mut entries)?;
        Ok(entries)
    }

    #[test]
    fn queues_keep_the_order_of_the_file() {
        let entries = read_text(
            "[queues.urgent]\n[queues.bulk]\nrate = '600/1m'\n[queues.bulk.smtp]\nhost = 'b'\n[queues.a]\n",
        )
        .unwrap();
        assert_eq!(entries.queues(), ["urgent", "bulk", "a"]);
        let host = entries.get(Some("bulk"), "smtp.host").cloned();
        assert_eq!(host, Some(Value::Text("b".to_owned())));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, line) in [
            ("database = 'x'\n\nfrmo = 'a@b.example'\n", 3),
            ("[smtp]\nhost = 'a'\nprot = 25\n", 3),
            ("[stmp]\nhost = 'a'\n", 2),
            ("[nonsense]\n", 1),
            ("[queues]\nbulk = 3\n", 2),
            ("[queues.x]\ndatabase = 'a'\n", 2),
            ("smtp = 3\n", 1),
            ("[smtp]\nport = 0x19\n", 2),
            ("[smtp]\nhost = 'never closed\n", 2),
            ("a = 1\na = 2\n", 2),
            ("[smtp]\nhost = 'a'\nhost = 'b'\n", 3),
        ] {
            let fault = read_text(text).expect_err(text);
            assert_eq!(fault.kind(), Kind::Config);
            assert!(
                fault.to_string().starts_with(&format!("c.toml:{line}: ")),
                "{text:?}: {fault}"
            );
        }
    }

    #[test]
    fn a_numeral_with_underscores_and_an_empty_section_are_fine() {
        let entries = read_text("[smtp]\n[send]\nbatch_size = 1_000\n").unwrap();
        assert_eq!(entries.get(None, "send.batch_size"), Some(&Value::Number(1_000)));
    }
}
