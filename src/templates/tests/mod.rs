//! The rules of the room, tried on real template folders.

mod arbitrary;
mod escaping;
mod formats;
mod places;
mod poison;
mod shipped;
mod strictness;

use super::Templates;
use crate::domain::message::Letter;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A template folder of one test.
pub(super) struct Folder {
    dir: TempDir,
}

impl Folder {
    pub(super) fn new() -> Folder {
        Folder { dir: TempDir::new().unwrap() }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn with(self, file: &str, text: impl AsRef<[u8]>) -> Folder {
        let path = self.dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(super) fn templates(&self) -> Templates {
        Templates::new(Some(self.dir.path().to_owned()))
    }

    pub(super) fn letter(&self, parameters: &str) -> Letter {
        self.templates().render("t", None, parameters).unwrap()
    }

    pub(super) fn error(&self, parameters: &str) -> String {
        self.templates().render("t", None, parameters).unwrap_err()
    }
}

/// The template `t` with a text part.
pub(super) fn text(text: &str) -> Folder {
    Folder::new().with("t/subject.hbs", "S\n").with("t/text.hbs", text)
}

/// What `source` renders to as a text part.
pub(super) fn rendered(source: &str, parameters: &str) -> String {
    text(source).letter(parameters).text.unwrap()
}

/// Why `source` does not render as a text part.
pub(super) fn refused(source: &str, parameters: &str) -> String {
    text(source).error(parameters)
}
