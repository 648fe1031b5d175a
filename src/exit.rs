//! How the process ends: the one table from a failure to its exit code, and what is said about it.
//!
//! The codes are those of sysexits(3). Nothing ends with a code that is not in this file: a panic is 70, with one
//! line that asks for a report.

use crate::domain::fault::{Fault, Kind, words_of};
use crate::host;
use crate::output::{Level, Output, Unwritable};
use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

/// Done, and durable.
pub const DONE: u8 = 0;
/// `stats`: a threshold is passed.
pub const WARNING: u8 = 1;
/// `stats`: a threshold is passed twice over.
pub const CRITICAL: u8 = 2;
pub const USAGE: u8 = 64;
pub const DATA: u8 = 65;
const BUG: u8 = 70;
const IO: u8 = 74;
/// `send-batch`: the smarthost was out.
pub const TRY_AGAIN: u8 = 75;

const REPORT: &str = "this is a bug in mailq; please report it with the line above";

/// The exit code for a kind of trouble.
pub fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Usage => USAGE,
        Kind::Data => DATA,
        Kind::NoInput => 66,
        Kind::Bug => BUG,
        Kind::CannotCreate => 73,
        Kind::Io => IO,
        Kind::TryAgain => TRY_AGAIN,
        Kind::Permission => 77,
        Kind::Config => 78,
    }
}

/// Tells the user why the command failed, and with which code it ends.
pub fn report(error: &anyhow::Error, output: &Output) -> u8 {
    if let Some(unwritable) = error.downcast_ref::<Unwritable>() {
        if !unwritable.is_closed() {
            output.say(Level::Error, &unwritable.to_string());
        }
        return if unwritable.is_closed() { DONE } else { IO };
    }
    let words = error.chain().map(|cause| match cause.downcast_ref() {
        Some(system) => words_of(system),
        None => cause.to_string(),
    });
    let words = words.collect::<Vec<_>>().join(": ");
    let fault = error.downcast_ref::<Fault>();
    let barrier = fault.and_then(Fault::missing_permission).and_then(host::barrier);
    let why = barrier.as_ref().map_or_else(String::new, |barrier| format!(": {barrier}"));
    output.say(Level::Error, &format!("{words}{why}"));
    let system = error.chain().find_map(|cause| cause.downcast_ref()).map(kind_of);
    let kind = fault.map(Fault::kind).or(system).unwrap_or(Kind::Bug);
    match barrier {
        Some(barrier) => output.hint(&barrier.remedy()),
        None => output.hint(fault.and_then(Fault::next_step).unwrap_or(usual_step(kind))),
    }
    code(kind)
}

/// The next step where the place that failed knows none that is nearer.
fn usual_step(kind: Kind) -> &'static str {
    match kind {
        Kind::Usage => "`mailq COMMAND --help` tells the options",
        Kind::Data => "correct the value and run the command again",
        Kind::NoInput => "check the name, and that this user may look there",
        Kind::Bug => REPORT,
        Kind::CannotCreate => {
            "check that its directory is there and that this user may write in it"
        }
        Kind::Io => "the system's log may say more: journalctl -k",
        Kind::TryAgain => "try again later",
        Kind::Permission => "run as a user who may, or change the permissions",
        Kind::Config => "mailq-config(5) tells all keys of the configuration and what they take",
    }
}

/// What kind of trouble the operating system tells of.
fn kind_of(error: &std::io::Error) -> Kind {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => Kind::NoInput,
        ErrorKind::PermissionDenied => Kind::Permission,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Kind::TryAgain,
        _ => Kind::Io,
    }
}

/// Runs the command. A panic, in whatever thread, is told in one line; in this one it is exit code 70.
pub fn guard(run: impl FnOnce() -> u8 + UnwindSafe) -> ExitCode {
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let words = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no words");
        let place = info
            .location()
            .map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
        let output = Output::new(Level::Error, None);
        output.say(Level::Error, &format!("bug: {words}{place}"));
        output.hint(REPORT);
    }));
    ExitCode::from(panic::catch_unwind(run).unwrap_or(BUG))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends_with(error: &anyhow::Error) -> u8 {
        report(error, &Output::new(Level::Error, None))
    }

    #[test]
    fn each_kind_has_the_code_of_sysexits() {
        for (kind, expected) in [
            (Kind::Usage, 64),
            (Kind::Data, 65),
            (Kind::NoInput, 66),
            (Kind::Bug, 70),
            (Kind::CannotCreate, 73),
            (Kind::Io, 74),
            (Kind::TryAgain, 75),
            (Kind::Permission, 77),
            (Kind::Config, 78),
        ] {
            let error = anyhow::Error::new(Fault::new(kind, "x")).context("while testing");
            assert_eq!(ends_with(&error), expected, "{kind:?}");
        }
    }

    #[test]
    fn an_error_without_a_kind_is_a_bug_unless_the_system_tells() {
        assert_eq!(ends_with(&anyhow::anyhow!("strange")), 70);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(ends_with(&anyhow::Error::new(full).context("writing")), 75);
    }
}
