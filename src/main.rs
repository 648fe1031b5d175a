mod delivery;
mod domain;
mod host;
mod mime;
mod spool;
mod store;
mod templates;
mod transport;

fn main() {}
