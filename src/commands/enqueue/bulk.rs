//! `--bulk`: one mail a line, over the command's own options as defaults. All lines are good, or none is stored.
//!
//! JSON Lines if the first character is `{`, else CSV with a head line. Every bad line is named.

use super::content::plain;
use super::files::Wanted;
use super::{EnqueueArgs, House, Request, fields};
use crate::commands::value;
use crate::config::units;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{BUILT_IN_TEMPLATE, Draft};
use crate::output::Level;
use anyhow::Result;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// More bad lines than this are only counted.
const MOST_TOLD: usize = 50;

/// What a line may say; everything else comes from the options.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Line {
    to: Option<OneOrMany>,
    cc: Option<OneOrMany>,
    bcc: Option<OneOrMany>,
    from: Option<String>,
    reply_to: Option<String>,
    template: Option<String>,
    locale: Option<String>,
    params: Option<Map<String, Value>>,
    subject: Option<String>,
    body: Option<String>,
    html: Option<String>,
    attach: Option<OneOrMany>,
    headers: Option<BTreeMap<String, String>>,
    queue: Option<String>,
    at: Option<String>,
    r#in: Option<String>,
    expires_in: Option<String>,
    key: Option<String>,
    max_attempts: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// The mails of `source`, each checked.
///
/// # Errors
/// `Data` when a line is bad, after all bad lines were named; `NoInput` when there is no such file, or nothing in it.
pub(super) fn mails(
    source: &Path,
    args: &EnqueueArgs,
    house: &House<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<(Draft, Vec<Wanted>)>> {
    let (name, text) = match source.to_str() {
        Some("-") => ("stdin".to_owned(), value::stdin("--bulk")?),
        _ => (source.display().to_string(), value::file("--bulk", source)?),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let base = Request::of(args, house)?;
    let mut bad = 0;
    let mut mails = Vec::new();
    let mut progress = house.context.output.progress("checking", text.lines().count() as u64);
    let mut take = |number: u64, line: Result<Line, String>| {
        progress.add(1);
        let mail = line
            .and_then(|line| one(line, &base, house, warnings).map_err(|fault| fault.to_string()));
        match mail {
            Ok(mail) => mails.push(mail),
            Err(why) => {
                bad += 1;
                if bad <= MOST_TOLD {
                    house.context.output.say(Level::Error, &format!("{name}:{number}: {why}"));
                }
            }
        }
    };
    match text.trim_start().chars().next() {
        Some('{') => json_lines(text, &mut take),
        Some(_) => csv_lines(text, &mut take),
        None => {}
    }
    if bad > 0 {
        return Err(Fault::new(Kind::Data, format!("{name}: {bad} bad lines, nothing is stored"))
            .hint("mend the lines named above and run it again")
            .into());
    }
    if mails.is_empty() {
        return Err(Fault::new(Kind::NoInput, format!("--bulk {name} has no mail in it"))
            .hint("write one JSON object a line, or CSV with the columns' names on the first")
            .into());
    }
    Ok(mails)
}

fn json_lines(text: &str, take: &mut dyn FnMut(u64, Result<Line, String>)) {
    for (number, line) in (1..).zip(text.lines()) {
        if !line.trim().is_empty() {
            take(number, serde_json::from_str(line).map_err(|e| e.to_string()));
        }
    }
}

fn csv_lines(text: &str, take: &mut dyn FnMut(u64, Result<Line, String>)) {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let columns = match reader.headers() {
        Ok(columns) => columns.clone(),
        Err(e) => return take(1, Err(e.to_string())),
    };
    if !columns.iter().any(|column| matches!(column, "to" | "cc" | "bcc")) {
        return take(1, Err("the head line has no column `to`".to_owned()));
    }
    for record in reader.records() {
        match record {
            Ok(record) => {
                let number = record.position().map_or(0, csv::Position::line);
                take(number, of_columns(&columns, &record));
            }
            Err(e) => {
                let number = e.position().map_or(0, csv::Position::line);
                take(number, Err(e.to_string()));
            }
        }
    }
}

/// A record by its columns: the known ones are options, every other one is a parameter. An empty option is not given.
fn of_columns(columns: &csv::StringRecord, record: &csv::StringRecord) -> Result<Line, String> {
    let mut line = Line::default();
    let mut params = Map::new();
    for (column, text) in columns.iter().zip(record) {
        let given = (!text.is_empty()).then(|| text.to_owned());
        match column {
            "to" => line.to = given.map(OneOrMany::One),
            "cc" => line.cc = given.map(OneOrMany::One),
            "bcc" => line.bcc = given.map(OneOrMany::One),
            "from" => line.from = given,
            "reply_to" => line.reply_to = given,
            "template" => line.template = given,
            "locale" => line.locale = given,
            "queue" => line.queue = given,
            "at" => line.at = given,
            "in" => line.r#in = given,
            "expires_in" => line.expires_in = given,
            "key" => line.key = given,
            "attach" => line.attach = given.map(OneOrMany::One),
            "params" | "headers" => {
                let Some(given) = given else { continue };
                let wrong = |e: serde_json::Error| format!("{column} is no JSON object: {e}");
                if column == "params" {
                    line.params = Some(serde_json::from_str(&given).map_err(wrong)?);
                } else {
                    line.headers = Some(serde_json::from_str(&given).map_err(wrong)?);
                }
            }
            _ => drop(params.insert(column.to_owned(), Value::String(text.to_owned()))),
        }
    }
    if !params.is_empty() {
        line.params.get_or_insert_default().extend(params);
    }
    Ok(line)
}

/// The mail of one line.
fn one(
    line: Line,
    base: &Request,
    house: &House<'_>,
    warnings: &mut Vec<String>,
) -> Result<(Draft, Vec<Wanted>), Fault> {
    let mut mail = base.clone();
    let lists = [(&mut mail.to, line.to), (&mut mail.cc, line.cc), (&mut mail.bcc, line.bcc)];
    for (list, given) in lists {
        if let Some(given) = given {
            *list = given.into_vec();
        }
    }
    let fields = [
        (&mut mail.from, line.from),
        (&mut mail.reply_to, line.reply_to),
        (&mut mail.locale, line.locale),
        (&mut mail.key, line.key),
    ];
    for (field, given) in fields {
        *field = given.or(field.take());
    }
    if let Some(template) = line.template {
        mail.template = template;
    }
    mail.parameters.extend(line.params.unwrap_or_default());
    match line.subject {
        Some(subject) => {
            mail.has_html = line.html.is_some();
            mail.template = BUILT_IN_TEMPLATE.to_owned();
            mail.parameters = plain(&subject, line.body, line.html);
        }
        None if line.body.is_some() || line.html.is_some() => {
            return Err(Fault::new(Kind::Data, "body and html go with a subject"));
        }
        None => {}
    }
    if let Some(files) = line.attach {
        mail.wanted = files
            .into_vec()
            .into_iter()
            .map(|path| Wanted { path: PathBuf::from(path), cid: None })
            .collect();
    }
    for (name, value) in line.headers.unwrap_or_default() {
        mail.headers.retain(|known, _| !known.eq_ignore_ascii_case(&name));
        fields::header(&mut mail.headers, &name, &value)?;
    }
    if let Some(queue) = line.queue {
        mail.queue = queue;
    }
    let duration = |key: &str, text: &str| {
        units::duration(text).map_err(|why| Fault::new(Kind::Data, format!("{key} {text:?} {why}")))
    };
    mail.due = match (line.at, line.r#in) {
        (Some(_), Some(_)) => return Err(Fault::new(Kind::Data, "at and in exclude each other")),
        (Some(at), None) => Some(fields::at("at", &at, house)?),
        (None, Some(later)) => Some(fields::after(house.now, duration("in", &later)?)),
        (None, None) => mail.due,
    };
    if let Some(later) = line.expires_in {
        mail.expires_in = Some(duration("expires_in", &later)?);
    }
    mail.max_attempts = line.max_attempts.or(mail.max_attempts);
    mail.check(house, warnings)
}
