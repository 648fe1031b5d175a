//! The templates that are compiled in: a start for people's own, and what serves where the folder has none of that name.
//!
//! Every file of `templates/` is named here; a test compares the two.

/// The path of each file relative to `templates/`, and its text.
const FILES: &[(&str, &str)] = &[];

/// The text of one file.
pub(super) fn file(path: &str) -> Option<&'static str> {
    FILES
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, text)| *text)
}

/// The paths of all files.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}
