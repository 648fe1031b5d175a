//! The part after the `@`: a host name as A-labels, or an address literal.
//!
//! What leaves here is printable ASCII without white space, at most 253 bytes for a name.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use std::net::{Ipv4Addr, Ipv6Addr};

/// RFC 1035, 2.3.4, without the root's dot.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// The canonical form of the host name `name` (UTS 46, then letters, digits and hyphens only), or what is wrong.
pub(super) fn name(name: &str) -> Result<String, String> {
    if name.is_empty() {
        return Err("there is no domain after the @".to_owned());
    }
    // A name that is long before it is mapped does not become short, and mapping takes its time.
    if name.len() > 4 * LONGEST_NAME {
        return Err(format!("the domain is longer than {LONGEST_NAME} characters"));
    }
    let ascii = if is_plain(name) {
        name.to_ascii_lowercase()
    } else {
        Uts46::new()
            .to_ascii(
                name.as_bytes(),
                AsciiDenyList::STD3,
                Hyphens::CheckFirstLast,
                DnsLength::Ignore,
            )
            .map_err(|_| format!("{name:?} is no domain name"))?
            .into_owned()
    };
    check(&ascii)?;
    Ok(ascii)
}

/// The canonical form of the address literal whose text between the brackets is `inside`, or what is wrong.
pub(super) fn literal(inside: &str) -> Result<String, String> {
    let is_tagged = inside.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case("IPv6:"));
    if is_tagged && let Ok(address) = inside[5..].parse::<Ipv6Addr>() {
        return Ok(format!("[IPv6:{address}]"));
    }
    match inside.parse::<Ipv4Addr>() {
        Ok(address) => Ok(format!("[{address}]")),
        Err(_) => {
            Err("it is no address literal such as [192.0.2.1] or [IPv6:2001:db8::1]".to_owned())
        }
    }
}

/// Whether `name` is ASCII and holds no A-label that must be looked into.
fn is_plain(name: &str) -> bool {
    name.is_ascii() && !name.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"xn--"))
}

fn check(ascii: &str) -> Result<(), String> {
    if ascii.len() > LONGEST_NAME {
        return Err(format!("the domain is longer than {LONGEST_NAME} characters"));
    }
    let mut last = "";
    for label in ascii.split('.') {
        if label.is_empty() {
            return Err(format!("the domain {ascii:?} has an empty part"));
        }
        if label.len() > LONGEST_LABEL {
            return Err(format!(
                "{label:?} in the domain is longer than {LONGEST_LABEL} characters"
            ));
        }
        let is_ldh = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !is_ldh || label.starts_with('-') || label.ends_with('-') {
            return Err(format!(
                "{label:?} in the domain is not made of letters, digits and inner hyphens"
            ));
        }
        last = label;
    }
    if last.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "the domain {ascii:?} ends in a number; an IP address is written [192.0.2.1]"
        ));
    }
    Ok(())
}
