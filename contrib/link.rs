//! How the executable is linked: at a fixed address, so that the loader has nothing to do.
//!
//! A position-independent executable has 52,000 addresses in its tables (time zones, HTML entities, options) that the
//! loader writes at every start, 360 pages of them: 2 ms of an `enqueue` that takes 3. Everything else of it, stack,
//! heap and libraries, lies at random addresses as before. A static build (`-C target-feature=+crt-static`) says for
//! itself how it is linked.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script hears Cargo in its environment and answers on its standard output"
)]

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=contrib/link.rs");
    let cfg = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_static = cfg("FEATURE").split(',').any(|feature| feature == "crt-static");
    let is_known = matches!(cfg("ARCH").as_str(), "x86_64" | "aarch64");
    if cfg("OS") == "linux" && cfg("ENV") == "gnu" && is_known && !is_static {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
