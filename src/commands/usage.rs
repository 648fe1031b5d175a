//! What the parser of the command line says, in the shape of all other messages: what is wrong, then hints.

use super::value::NotUtf8;
use crate::exit;
use crate::output::{Level, Output};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;

/// Help and version are results, everything else is wrong usage. Returns the exit code.
pub fn explain(error: &clap::Error, output: &Output) -> u8 {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match output.print(&text) {
            Ok(()) => exit::DONE,
            Err(unwritable) => exit::report(&unwritable.into(), output),
        };
    }
    let (message, mut hints) = dissect(&text);
    if error.kind() == ErrorKind::UnknownArgument {
        hints.splice(..0, meant(error, &text));
    }
    output.say(Level::Error, &message);
    for hint in hints {
        output.hint(&hint);
    }
    let is_encoding = error.kind() == ErrorKind::InvalidUtf8
        || error.source().is_some_and(|cause| cause.is::<NotUtf8>());
    match is_encoding {
        true => exit::DATA,
        false => exit::USAGE,
    }
}

/// What the argument that no option is called by may have been meant for.
fn meant(error: &clap::Error, text: &str) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_enqueue = text.contains("mailq enqueue");
    if !argument.starts_with('-') {
        return (is_enqueue && argument.contains('@'))
            .then(|| format!("recipients go with --to: --to '{argument}'"));
    }
    let may_be_value = argument.contains('@') || (is_enqueue && !argument.starts_with("--"));
    may_be_value
        .then(|| "a value that begins with - is joined to its option: --to=-a@example.com".into())
}

/// The message on one line, and a hint for each tip and for the usage that the parser shows.
fn dissect(text: &str) -> (String, Vec<String>) {
    let (mut message, mut hints) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            hints.push(format!("usage: {usage}"));
        } else if line.starts_with("For more information") {
            hints.push("add --help to see all options".to_owned());
        } else if hints.is_empty() {
            message.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    (message.join(" "), hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_one_line_and_hints() {
        let (message, hints) = dissect(
            "error: the following were not provided:\n  --template <NAME>\n\n  tip: try --temp\n\nUsage: mailq enqueue\n\n\
             For more information, try '--help'.\n",
        );
        assert_eq!(message, "the following were not provided: --template <NAME>");
        assert_eq!(hints, ["try --temp", "usage: mailq enqueue", "add --help to see all options"]);
    }
}
