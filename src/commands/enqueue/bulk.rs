//! `--bulk`: one mail a line, over the command's own options as defaults. All lines are good, or none is stored; with
//! `--skip-bad` the good ones are, and the others go into a file as they came.
//!
//! JSON Lines if the first character is `{`, else CSV with a head line. Every bad line is named. The input is read once,
//! line by line, and what is good waits on disk, so memory does not grow with it.

use super::files::Wanted;
use super::line::{self, Line};
use super::records::{Record, Records};
use super::{EnqueueArgs, House, Request, json};
use crate::commands::{Context, value};
use crate::domain::fault::{Fault, Kind, words_of};
use crate::domain::message::Draft;
use crate::output::{Level, Progress};
use crate::store::{Clash, Stage};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// More bad lines, or warnings, than this are only counted.
pub(super) const MOST_TOLD: usize = 50;

const NONE_IS_GOOD: &str = "none of the lines is good";
const MEND: &str =
    "mend the lines named above and run it again, or take the good ones with --skip-bad FILE";

const MARK: &[u8] = "\u{feff}".as_bytes();

/// Where good lines go, with their number and how they came.
pub(super) type Take<'a> = dyn FnMut(Draft, Vec<Wanted>, u64, &[u8]) -> Result<(), Fault> + 'a;

/// The lines of one input, while they are read.
struct Reading<'a, 'h> {
    /// The input, as it is named to the user.
    name: String,
    base: Request,
    house: &'a House<'h>,
    warnings: &'a mut BTreeSet<String>,
    take: &'a mut Take<'a>,
    good: usize,
    bad: usize,
    /// The file of `--skip-bad`.
    skipped: Option<BufWriter<File>>,
    progress: Progress,
}

/// Hands each good line of `source` to `take`.
///
/// # Errors
/// `Data` when a line is bad (with `--skip-bad`: when all are), after all bad lines were named; `NoInput` when there is
/// no such file, or nothing in it.
pub(super) fn read<'a>(
    source: &Path,
    args: &EnqueueArgs,
    house: &'a House<'_>,
    warnings: &'a mut BTreeSet<String>,
    take: &'a mut Take<'a>,
) -> Result<Lines> {
    let (name, mut input) = value::open("--bulk", source)?;
    let (mark, head) = head(&mut input).map_err(|e| unreadable(&name, &e))?;
    let base = Request::of(args, house)?;
    let skipped = args.skip_bad.as_deref().map(create).transpose()?;
    let progress = house.context.output.progress("checking", 0);
    let mut reading =
        Reading { name, base, house, warnings, take, good: 0, bad: 0, skipped, progress };
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
    let input = io::BufReader::new(Cursor::new(head).chain(input));
    match first {
        Some(b'{') => reading.json_lines(input)?,
        Some(b'[') => {
            let told = format!("--bulk {} is a JSON array", reading.name);
            let hint = "JSON Lines: one object a line, not an array; jq -c '.[]' makes them";
            return Err(Fault::new(Kind::Data, told).hint(hint).into());
        }
        Some(_) => {
            if let Some(file) = &mut reading.skipped {
                file.write_all(mark).map_err(|e| unwritable(&e))?;
            }
            reading.csv_lines(input)?;
        }
        None => {}
    }
    reading.end(args.skip_bad.as_deref())
}

impl Reading<'_, '_> {
    fn json_lines(&mut self, mut input: impl BufRead) -> Result<(), Fault> {
        let (mut bytes, mut number) = (Vec::new(), 0);
        loop {
            bytes.clear();
            if input.read_until(b'\n', &mut bytes).map_err(|e| unreadable(&self.name, &e))? == 0 {
                return Ok(());
            }
            number += 1;
            let line = match std::str::from_utf8(&bytes) {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => json::read::<Line>(text.trim_end()).map_err(|e| json::words(&e)),
                Err(e) => Err(format!("is not UTF-8, at column {}", e.valid_up_to() + 1)),
            };
            if let Err(why) = self.line(line, number, &bytes, |words| words.to_owned())? {
                self.is_bad(number, &why, &bytes)?;
            }
        }
    }

    fn csv_lines(&mut self, input: impl BufRead) -> Result<(), Fault> {
        let (mut records, mut record) = (Records::of(input), Record::default());
        records.read(&mut record).map_err(|e| unreadable(&self.name, &e))?;
        let head = record.fault.take().map_or_else(|| columns(&record.fields), Err);
        let columns = match head {
            Ok(columns) => columns,
            Err(why) => return self.is_bad(record.line, &why, &[]),
        };
        self.skip(&record.raw)?;
        while records.read(&mut record).map_err(|e| unreadable(&self.name, &e))? {
            let texts = record.fault.take().map_or_else(|| texts(&columns, &record.fields), Err);
            let line = texts.and_then(|all| line::of_columns(&columns, &all));
            if let Err(why) =
                self.line(line, record.line, &record.raw, |words| format!("column {words}"))?
            {
                self.is_bad(record.line, &why, &record.raw)?;
            }
        }
        Ok(())
    }

    /// Takes a line in, or says what is wrong with it: in a column, where it is an option's value.
    fn line(
        &mut self,
        line: Result<Line, String>,
        number: u64,
        raw: &[u8],
        column: impl Fn(&str) -> String,
    ) -> Result<Result<(), String>, Fault> {
        self.progress.add(1);
        let mut warnings = Vec::new();
        let mail = line.and_then(|line| {
            line::mail(line, &self.base, self.house, &mut warnings).map_err(|fault| {
                let words = fault.to_string();
                match words.strip_prefix("--") {
                    Some(words) => {
                        let end = words.find([' ', ':']).unwrap_or(words.len());
                        column(&format!("{}{}", words[..end].replace('-', "_"), &words[end..]))
                    }
                    None => words,
                }
            })
        });
        self.warnings.extend(warnings);
        Ok(match mail {
            Ok((draft, wanted)) => {
                let raw = if self.skipped.is_some() { raw } else { &[] };
                (self.take)(draft, wanted, number, raw)?;
                self.good += 1;
                Ok(())
            }
            Err(why) => Err(why),
        })
    }

    fn is_bad(&mut self, number: u64, why: &str, raw: &[u8]) -> Result<(), Fault> {
        self.bad += 1;
        if self.bad <= MOST_TOLD {
            let level = if self.skipped.is_some() { Level::Warning } else { Level::Error };
            self.house.context.output.say(level, &format!("{}:{number}: {why}", self.name));
        }
        self.skip(raw)
    }

    /// Writes a line as it came into the file of `--skip-bad`.
    fn skip(&mut self, raw: &[u8]) -> Result<(), Fault> {
        let Some(file) = &mut self.skipped else { return Ok(()) };
        keep(file, raw)
    }

    fn end(self, skip_bad: Option<&Path>) -> Result<Lines> {
        let Reading { name, good, bad, skipped, house, .. } = self;
        if bad > MOST_TOLD {
            let level = if skipped.is_some() { Level::Warning } else { Level::Error };
            house.context.output.say(level, &format!("{name}: … and {} more", bad - MOST_TOLD));
        }
        let mut skipped = skipped;
        if let Some(file) = &mut skipped {
            on_disk(file)?;
        }
        let lines = value::count(bad, "bad line");
        match skip_bad {
            Some(path) if bad > 0 && good > 0 => {
                let path = path.display();
                let words = format!("{name}: {lines} left out, and kept in {path}");
                house.context.output.say(Level::Warning, &words);
            }
            _ if bad > 0 => {
                let told = format!("{name}: {lines}, nothing is stored");
                let hint = if skip_bad.is_some() { NONE_IS_GOOD } else { MEND };
                return Err(Fault::new(Kind::Data, told).hint(hint).into());
            }
            _ => {}
        }
        if good == 0 {
            return Err(Fault::new(Kind::NoInput, format!("--bulk {name} has no mail in it"))
                .hint("write one JSON object a line, or CSV with the columns' names on the first")
                .into());
        }
        Ok(Lines { name, good, skipped: skip_bad.map(Path::to_owned).zip(skipped) })
    }
}

/// The lines that were read, on their way into the queue.
pub(super) struct Lines {
    name: String,
    good: usize,
    /// The file of `--skip-bad`.
    skipped: Option<(PathBuf, BufWriter<File>)>,
}

impl Lines {
    /// Tells the lines whose key is taken. With `--skip-bad` they are kept, and the others may be stored.
    pub(super) fn refuse(
        self,
        clashes: &[Clash],
        stage: &Stage,
        context: &Context,
    ) -> Result<(), Fault> {
        let Lines { name, good, skipped } = self;
        let level = if skipped.is_some() { Level::Warning } else { Level::Error };
        for clash in clashes.iter().take(MOST_TOLD) {
            let holder = match clash.earlier {
                Some(number) => format!("line {}", stage.came(number)?.0),
                None => format!("mail {}", clash.mail),
            };
            let line = stage.came(clash.number)?.0;
            context.output.say(level, &format!("{name}:{line}: {}", clash.words(&holder)));
        }
        if clashes.len() > MOST_TOLD {
            let more = clashes.len() - MOST_TOLD;
            context.output.say(level, &format!("{name}: … and {more} more"));
        }
        let lines = format!("{} with a key that is taken", value::count(clashes.len(), "line"));
        let is_skipping = skipped.is_some();
        if let Some((path, mut file)) = skipped {
            for clash in clashes {
                keep(&mut file, &stage.came(clash.number)?.1)?;
            }
            on_disk(&mut file)?;
            if clashes.len() < good {
                let words = format!("{name}: {lines} left out, and kept in {}", path.display());
                context.output.say(Level::Warning, &words);
                return Ok(());
            }
        }
        let hint = if is_skipping { NONE_IS_GOOD } else { MEND };
        Err(Fault::new(Kind::Data, format!("{name}: {lines}, nothing is stored")).hint(hint))
    }
}

/// Writes a line as it came.
fn keep(file: &mut BufWriter<File>, raw: &[u8]) -> Result<(), Fault> {
    let ends = raw.is_empty() || raw.ends_with(b"\n") || raw.ends_with(b"\r");
    let newline: &[u8] = if ends { b"" } else { b"\n" };
    file.write_all(raw).and_then(|()| file.write_all(newline)).map_err(|e| unwritable(&e))
}

fn on_disk(file: &mut BufWriter<File>) -> Result<(), Fault> {
    file.flush().and_then(|()| file.get_ref().sync_all()).map_err(|e| unwritable(&e))
}

/// The byte order mark, if there is one, and the lines up to the first that is not blank.
fn head(input: &mut dyn BufRead) -> io::Result<(&'static [u8], Vec<u8>)> {
    let (mut mark, mut head): (&[u8], Vec<u8>) = (b"", Vec::new());
    while head.iter().all(u8::is_ascii_whitespace) {
        if input.read_until(b'\n', &mut head)? == 0 {
            break;
        }
        if head.starts_with(MARK) {
            head.drain(..MARK.len());
            mark = MARK;
        }
    }
    Ok((mark, head))
}

/// The names of the columns, or what is wrong with them.
fn columns(head: &csv::ByteRecord) -> Result<Vec<String>, String> {
    let mut columns: Vec<String> = Vec::new();
    for (at, name) in (1..).zip(head) {
        let name = std::str::from_utf8(name);
        let name = name.map_err(|_| format!("the name of column {at} is not UTF-8"))?.to_owned();
        if columns.contains(&name) {
            return Err(format!("the head line has the column {name:?} twice"));
        }
        columns.push(name);
    }
    if !columns.iter().any(|column| matches!(column.as_str(), "to" | "cc" | "bcc")) {
        return Err(match columns.as_slice() {
            [only] if only.contains([';', '\t']) => {
                format!("the head line has one column, {only:?}: the separator is a comma")
            }
            _ => format!("the head line has no column `to`, only {columns:?}"),
        });
    }
    Ok(columns)
}

/// The fields of a record as texts.
fn texts<'r>(columns: &[String], record: &'r csv::ByteRecord) -> Result<Vec<&'r str>, String> {
    if record.len() != columns.len() {
        let (has, head) =
            (value::count(record.len(), "field"), value::count(columns.len(), "column"));
        return Err(format!("has {has}, and the head line has {head}"));
    }
    let text = |(column, field): (&String, &'r [u8])| {
        std::str::from_utf8(field)
            .map_err(|e| format!("column {column} is not UTF-8, at byte {}", e.valid_up_to() + 1))
    };
    columns.iter().zip(record).map(text).collect()
}

/// The file for the bad lines, empty at first.
fn create(path: &Path) -> Result<BufWriter<File>, Fault> {
    let shown = path.display();
    File::create(path).map(BufWriter::new).map_err(|e| {
        let kind = match e.kind() {
            io::ErrorKind::PermissionDenied => Kind::Permission,
            _ => Kind::CannotCreate,
        };
        Fault::new(kind, format!("--skip-bad {shown}: {}", words_of(&e)))
    })
}

fn unwritable(e: &io::Error) -> Fault {
    Fault::new(Kind::Io, format!("--skip-bad: cannot write: {}; nothing is stored", words_of(e)))
}

fn unreadable(name: &str, e: &io::Error) -> Fault {
    Fault::new(Kind::NoInput, format!("--bulk {name}: cannot read: {}", words_of(e)))
}
