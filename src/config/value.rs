//! Values: as the file or the environment gives them, and as a key takes them.
//!
//! A value is typed once, at the door; the reason why it cannot be is a phrase that fits behind `key = value`.

use super::units;
use crate::domain::fault::one_line;
use crate::domain::rate::Rate;
use std::path::PathBuf;
use std::time::Duration;

/// What a key may hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Text,
    Word(&'static [&'static str]),
    Path,
    Paths,
    /// A shell command, or a program with its arguments.
    Command,
    Number {
        least: u64,
        most: u64,
    },
    Size,
    Share,
    /// A duration longer than zero.
    Duration,
    Durations,
    Rates,
}

/// A value as the file or the environment gave it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    Text(String),
    Integer(String),
    Float(String),
    List(Vec<Raw>),
    /// Something that no key takes: its kind in words.
    Other(&'static str),
}

/// A value of the kind that its key takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Path(PathBuf),
    Paths(Vec<PathBuf>),
    Command(Vec<String>),
    Number(u64),
    Share(f64),
    Duration(Duration),
    Durations(Vec<Duration>),
    Rates(Vec<Rate>),
}

impl Raw {
    /// The value as it is repeated to the user.
    pub(super) fn words(&self) -> String {
        match self {
            Raw::Text(text) => format!("{:?}", one_line(text, 80)),
            Raw::Integer(number) | Raw::Float(number) => number.clone(),
            Raw::List(items) => {
                let items: Vec<String> = items.iter().map(Raw::words).collect();
                format!("[{}]", items.join(", "))
            }
            Raw::Other(kind) => (*kind).to_owned(),
        }
    }

    fn text(&self) -> Result<&str, String> {
        match self {
            Raw::Text(text) if text.contains('\0') => Err("holds a NUL".to_owned()),
            Raw::Text(text) => Ok(text),
            _ => Err("must be a text in quotes".to_owned()),
        }
    }

    /// A number may stand bare or, as in the environment, as text.
    fn scalar(&self) -> Result<&str, String> {
        match self {
            Raw::Text(text) | Raw::Integer(text) | Raw::Float(text) => Ok(text),
            Raw::List(_) | Raw::Other(_) => Err("must be a single value".to_owned()),
        }
    }

    /// A list, or a text with commas.
    fn items(&self) -> Result<Vec<&str>, String> {
        match self {
            Raw::List(items) => items.iter().map(Raw::text).collect(),
            raw => Ok(raw
                .text()
                .map_err(|_| "must be a list of texts".to_owned())?
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .collect()),
        }
    }
}

impl Type {
    /// Reads `raw`; the error is a phrase that fits behind the value.
    pub(super) fn read(self, raw: &Raw) -> Result<Value, String> {
        Ok(match self {
            Type::Text => Value::Text(line(raw.text()?)?.to_owned()),
            Type::Word(words) => Value::Text(word(raw.text()?, words)?.to_owned()),
            Type::Path => Value::Path(path(raw.text()?)?),
            Type::Paths => {
                Value::Paths(raw.items()?.into_iter().map(path).collect::<Result<_, _>>()?)
            }
            Type::Command => Value::Command(command(raw)?),
            Type::Number { least, most } => Value::Number(whole(raw.scalar()?, least, most)?),
            Type::Size => Value::Number(units::size(raw.scalar()?)?),
            Type::Share => Value::Share(units::share(raw.scalar()?)?),
            Type::Duration => Value::Duration(units::positive_duration(raw.scalar()?)?),
            Type::Durations => Value::Durations(durations(raw)?),
            Type::Rates => Value::Rates(rates(raw)?),
        })
    }
}

fn line(text: &str) -> Result<&str, String> {
    if text.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    Ok(text)
}

fn word(text: &str, words: &'static [&'static str]) -> Result<&'static str, String> {
    words
        .iter()
        .copied()
        .find(|word| *word == text)
        .ok_or_else(|| format!("must be one of {}", words.join(", ")))
}

fn path(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("must be a path, and is empty".to_owned()),
        text => Ok(PathBuf::from(text)),
    }
}

fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("must be a whole number from {least} to {most}"))
}

fn command(raw: &Raw) -> Result<Vec<String>, String> {
    let argv = match raw {
        Raw::List(_) => raw.items()?.into_iter().map(str::to_owned).collect(),
        raw => {
            let line = raw.text()?.to_owned();
            if line.trim().is_empty() {
                return Err("must be a command, and is empty".to_owned());
            }
            vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
        }
    };
    if argv.is_empty() {
        return Err("must be a command, and is empty".to_owned());
    }
    Ok(argv)
}

fn rates(raw: &Raw) -> Result<Vec<Rate>, String> {
    let items = raw.items()?;
    if items.is_empty() {
        return Err("must name at least one rate, such as 600/1m".to_owned());
    }
    items.into_iter().map(units::rate).collect()
}

fn durations(raw: &Raw) -> Result<Vec<Duration>, String> {
    let items = raw.items()?;
    if items.is_empty() {
        return Err("must name at least one wait".to_owned());
    }
    items
        .into_iter()
        .map(|item| {
            units::positive_duration(item).map_err(|why| format!("is wrong: {item:?} {why}"))
        })
        .collect()
}
