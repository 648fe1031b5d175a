//! Where the text of a template comes from: the configured folder first, then what is compiled in.
//!
//! A name is one plain segment, so that no name leads out of the folder; only regular files of bounded size are read.

use super::embedded;
use super::trouble::{Trouble, nearest};
use crate::domain::fault::{Kind, words_of};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest template file, in bytes.
pub(super) const LARGEST_FILE: u64 = 1 << 20;
/// The folder of the partials, beside the templates.
const PARTIALS: &str = "_partials";

/// One file of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// The path relative to the template folder, for messages.
    pub(super) label: String,
    /// The text with LF line ends and without a byte order mark.
    pub(super) text: String,
}

/// The template folder and the templates that are compiled in behind it.
#[derive(Debug)]
pub(super) struct Library {
    dir: Option<PathBuf>,
}

impl Library {
    pub(super) fn new(dir: Option<PathBuf>) -> Library {
        Library { dir }
    }

    /// Whether a folder's own template has this name, before the one that is compiled in.
    pub(super) fn has_own(&self, name: &str) -> bool {
        self.dir.as_ref().is_some_and(|dir| match fs::metadata(dir.join(name)) {
            Ok(found) => found.is_dir(),
            // Not ours to look into: the read that follows says so, rather than another template going out.
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        })
    }

    /// Reads `part` (`subject`, `text`, …) of a template in the first of `locales` that has it, else in none.
    ///
    /// `None`: the template has no such part.
    pub(super) fn part(
        &self,
        name: &str,
        locales: &[String],
        part: &str,
    ) -> Result<Option<Source>, Trouble> {
        let owner = self.dir.as_deref().filter(|_| self.has_own(name));
        for label in labels(name, locales, part) {
            let found = match owner {
                Some(dir) => read(dir, &label)?,
                None => embedded::file(&label).map(str::to_owned),
            };
            if let Some(text) = found {
                return Ok(Some(Source { label, text }));
            }
        }
        Ok(None)
    }

    /// Reads a partial: the folder's own, else the one that is compiled in.
    pub(super) fn partial(&self, name: &str, locales: &[String]) -> Result<Source, Trouble> {
        for label in labels(PARTIALS, locales, name) {
            let own = match &self.dir {
                Some(dir) => read(dir, &label)?,
                None => None,
            };
            if let Some(text) = own.or_else(|| embedded::file(&label).map(str::to_owned)) {
                return Ok(Source { label, text });
            }
        }
        let names = self.partial_names();
        let trouble =
            Trouble::new(format!("no partial `{name}` ({PARTIALS}/{name}.hbs is missing)"));
        Err(match nearest(name, names.iter().map(String::as_str)) {
            Some(like) => trouble.hint(format!("did you mean `{like}`?")),
            None => trouble,
        })
    }

    /// Whether a template has files of its own for any of `locales`.
    pub(super) fn speaks(&self, name: &str, locales: &[String]) -> bool {
        locales.iter().any(|locale| match &self.dir {
            Some(dir) if self.has_own(name) => dir.join(name).join(locale).is_dir(),
            _ => embedded::names().any(|file| file.starts_with(&format!("{name}/{locale}/"))),
        })
    }

    /// The names of all templates, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = embedded::names()
            .filter_map(|file| file.strip_suffix("/subject.hbs"))
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect();
        for name in self.dir.iter().flat_map(|dir| entries(dir)) {
            if self.has_own(&name) && legal_name(&name).is_ok() {
                names.push(name);
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// What to say when a template is not there.
    pub(super) fn missing(&self, name: &str) -> Trouble {
        let trouble = match &self.dir {
            Some(dir) => Trouble::new(format!(
                "no template `{name}` ({} is missing)",
                dir.join(name).join("subject.hbs").display()
            )),
            None => Trouble::new(format!("no template `{name}` ({name}/subject.hbs is missing)")),
        };
        let names = self.names();
        match nearest(name, names.iter().map(String::as_str)) {
            Some(like) => trouble.hint(format!("did you mean `{like}`?")),
            None => trouble.hint(format!("the templates are: {}", names.join(", "))),
        }
    }

    fn partial_names(&self) -> Vec<String> {
        let own = self.dir.iter().flat_map(|dir| entries(&dir.join(PARTIALS)));
        let shipped =
            embedded::names().filter_map(|file| file.strip_prefix("_partials/")).map(str::to_owned);
        own.chain(shipped).filter_map(|file| file.strip_suffix(".hbs").map(str::to_owned)).collect()
    }
}

/// The paths to look at, the most special first.
fn labels(folder: &str, locales: &[String], file: &str) -> Vec<String> {
    let special = locales.iter().map(|locale| format!("{folder}/{locale}/{file}.hbs"));
    special.chain([format!("{folder}/{file}.hbs")]).collect()
}

/// The plain names in a folder; none if it cannot be listed.
fn entries(dir: &Path) -> Vec<String> {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect()
}

/// Reads `label` below `dir`. `None`: it does not exist.
fn read(dir: &Path, label: &str) -> Result<Option<String>, Trouble> {
    let path = dir.join(label);
    let told = |error: &io::Error| {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => Kind::Permission,
            _ => Kind::Io,
        };
        Trouble::of(kind, format!("cannot read {}: {}", path.display(), words_of(error)))
    };
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => {
            return Err(Trouble::new(format!("{label} is no regular file")));
        }
        Ok(_) => {}
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(told(&error)),
    }
    let mut bytes = Vec::new();
    fs::File::open(&path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| told(&error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(Trouble::new(format!("{label} is larger than {LARGEST_FILE} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
        Trouble::new(format!("{label}:{line}: not UTF-8")).hint("save the file as UTF-8")
    })?;
    Ok(Some(normalise(&text)))
}

/// LF line ends, and no byte order mark.
fn normalise(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Refuses a template name that is no plain segment.
pub(super) fn legal_name(name: &str) -> Result<(), Trouble> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.len() > 100 {
        return Err(Trouble::new("a template name has 1 to 100 characters"));
    }
    if name.starts_with(['.', '_', '-']) || !name.chars().all(plain) {
        return Err(Trouble::new(format!("{name:?} is no template name")).hint(
            "a name is made of letters, digits, `.`, `_` and `-`, and begins with a letter or a digit",
        ));
    }
    Ok(())
}

/// The folders of a locale, the most special first: `pt-BR` gives `pt-BR` and `pt`.
pub(super) fn locales(locale: Option<&str>) -> Result<Vec<String>, Trouble> {
    let Some(locale) = locale.filter(|locale| !locale.is_empty()) else {
        return Ok(Vec::new());
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if locale.len() > 35
        || !locale.chars().all(plain)
        || !locale.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        return Err(Trouble::new(format!("{locale:?} is no locale"))
            .hint("a locale is a language and maybe a region, such as `tr` or `pt-BR`"));
    }
    let mut tag = locale.replace('_', "-");
    // A language is the same in capitals (RFC 5646, 2.1.1), and its folder is in small letters.
    let language = tag.find('-').unwrap_or(tag.len());
    tag[..language].make_ascii_lowercase();
    let mut found = vec![locale.to_owned()];
    loop {
        if !found.contains(&tag) {
            found.push(tag.clone());
        }
        match tag.rfind('-') {
            Some(at) => tag.truncate(at),
            None => return Ok(found),
        }
    }
}
