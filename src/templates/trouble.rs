//! What is wrong with a template or with its parameters, told once for both sides.
//!
//! The same trouble is a `Fault` at enqueue and one line in `error_message` at send.

use crate::domain::fault::{Fault, Kind, one_line};

/// The longest message, in bytes: it names things, it does not quote files.
const LONGEST: usize = 500;

/// A failure to load or to render a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trouble {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl Trouble {
    /// Something that is wrong with a template or with the values for it.
    pub(super) fn new(message: impl AsRef<str>) -> Trouble {
        Trouble::of(Kind::Data, message)
    }

    /// The same with another kind, for files that cannot be read.
    pub(super) fn of(kind: Kind, message: impl AsRef<str>) -> Trouble {
        Trouble { kind, message: one_line(message.as_ref(), LONGEST), hint: None }
    }

    /// The same trouble with the next step.
    pub(super) fn hint(mut self, hint: impl AsRef<str>) -> Trouble {
        self.hint = Some(one_line(hint.as_ref(), LONGEST));
        self
    }

    /// The same trouble, met at `place`.
    pub(super) fn at(mut self, place: &Place) -> Trouble {
        self.message = one_line(&format!("{place}: {}", self.message), LONGEST);
        self
    }

    /// The trouble as the user of `enqueue` sees it.
    pub(super) fn fault(&self) -> Fault {
        let fault = Fault::new(self.kind, self.message.clone());
        match &self.hint {
            Some(hint) => fault.hint(hint.clone()),
            None => fault,
        }
    }

    /// The trouble as the row keeps it: one line.
    pub(super) fn line(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }
}

/// A place in a template file. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The file as the author knows it: relative to the template folder.
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The candidate that is most like `wanted`, if one is like enough to be meant by it.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let enough = match wanted.chars().count() {
        // Every other single letter is one slip away.
        0 | 1 => 0,
        length => (length / 3).clamp(1, 3),
    };
    let folded = wanted.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| *candidate != wanted && candidate.len() <= 200)
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= enough)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_takes_a_slip_and_leaves_the_unlike() {
        assert_eq!(nearest("name", ["nmae", "url"]), Some("nmae"));
        assert_eq!(nearest("welcom", ["alert", "welcome"]), Some("welcome"));
        assert_eq!(nearest("Name", ["name"]), Some("name"));
        assert_eq!(nearest("name", ["address", "url"]), None);
        assert_eq!(nearest("m", ["a"]), None);
        assert_eq!(nearest("M", ["m"]), Some("m"));
    }

    #[test]
    fn the_line_keeps_the_hint_and_no_line_end() {
        let trouble = Trouble::new("a\nb").hint("c\r\nd");
        assert_eq!(trouble.line(), "a b (c d)");
        assert_eq!(trouble.fault().to_string(), "a b");
        assert_eq!(trouble.fault().next_step(), Some("c d"));
    }
}
