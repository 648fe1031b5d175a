//! The options of a command are made when it is asked for: those of all fifteen are a tenth of what an `enqueue` takes.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments `T` of a command, unknown to clap until somebody asks for that command or for its help.
#[derive(Debug)]
pub struct Lazy<T>(pub T);

impl<T: Args> Args for Lazy<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(later::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

/// What the command is about stays: flattened arguments bring words of their own.
fn later<T: Args>(command: Command) -> Command {
    let words = [command.get_about(), command.get_long_about()];
    let [about, long] = words.map(|words| Resettable::from(words.cloned()));
    T::augment_args(command).about(about).long_about(long)
}

impl<T: FromArgMatches> FromArgMatches for Lazy<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Lazy)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
