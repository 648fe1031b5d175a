//! `mailq`: a durable outgoing e-mail queue for one host, on SQLite.

mod commands;
mod config;
mod delivery;
mod domain;
mod exit;
mod host;
mod mime;
mod output;
mod spool;
mod store;
mod templates;
mod transport;

use std::process::ExitCode;

fn main() -> ExitCode {
    exit::guard(commands::main)
}
