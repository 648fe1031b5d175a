//! The templates that are compiled in: a start for people's own, and what serves where the folder has none of that name.
//!
//! Every file of `templates/` is named here; a test compares the two.

/// Names each file once, beside its text.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../templates/", $path)))),*]
    };
}

/// The path of each file relative to `templates/`, and its text.
const FILES: &[(&str, &str)] = files![
    "_partials/alert_body.hbs",
    "_partials/button.hbs",
    "_partials/heading.hbs",
    "_partials/layout.hbs",
    "_partials/paragraph.hbs",
    "_partials/text_foot.hbs",
    "alert/html.hbs",
    "alert/subject.hbs",
    "alert/text.hbs",
    "newsletter/headers.hbs",
    "newsletter/html.hbs",
    "newsletter/subject.hbs",
    "newsletter/text.hbs",
    "order_confirmation/html.hbs",
    "order_confirmation/subject.hbs",
    "order_confirmation/text.hbs",
    "password_reset/html.hbs",
    "password_reset/subject.hbs",
    "password_reset/text.hbs",
    "welcome/html.hbs",
    "welcome/subject.hbs",
    "welcome/text.hbs",
];

/// The text of one file.
pub(super) fn file(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// The paths of all files.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}
