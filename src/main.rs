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

fn main() {}
