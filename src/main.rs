//! `mailq`: a durable outgoing e-mail queue for one host, on SQLite.
//!
//! **Floors**, each naming only those before it: `domain` < `store`, `templates`, `mime`, `dkim`, `spool`, `transport`,
//! `host` < `delivery` < `config`, `output` < `exit` < `commands` < `main`. The rooms of the second floor never name each
//! other. `tests/it/layers.rs` holds this, and which room may use which outside crate.
//!
//! **Enqueue**: `commands/enqueue` checks (`domain`), copies attachments (`spool`), stores in one transaction (`store`).
//! **Send**: `commands/send_batch` → `delivery`: one writer records, renews and claims in one transaction; sender
//! threads render (`templates`), build (`mime`), sign (`dkim`) and hand over (`transport`); what it costs a mail is
//! decided in `domain::outcome` (the failure policy) and `domain::state` (the states and the only ways between them).
//! **Reap, prune, stats**: a command, one verb of the store.
//!
//! The message and the SMTP dialogue are our own, for reasons that `mime` and `transport::smtp` give; lettre types the
//! addresses, handlebars renders, rusqlite stores, rustls encrypts, smtp-proto reads replies.

mod commands;
mod config;
mod delivery;
mod dkim;
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
