//! Options that become columns: addresses, headers, the queue, the times.
//!
//! Each is read once; what is wrong with it is told with the option's name and its value.

use super::House;
use crate::commands::value::{self, Moment};
use crate::domain::address::{self, Mailbox};
use crate::domain::fault::{Fault, Kind};
use crate::domain::header::check_header;
use crate::domain::message::is_name;
use crate::domain::retry::millis;
use crate::output::Level;
use std::collections::BTreeMap;
use std::time::Duration;

/// Reads the address lists of an option, which may be given several times.
pub(super) fn list(option: &str, texts: &[String]) -> Result<Vec<Mailbox>, Fault> {
    let mut all = Vec::new();
    for text in texts {
        let found = address::parse_list(text).map_err(|fault| named(option, &fault))?;
        if found.is_empty() {
            return Err(Fault::new(Kind::Data, format!("{option} is empty: {text:?}"))
                .hint("give an address, or leave the option out"));
        }
        all.extend(found);
    }
    Ok(all)
}

pub(super) fn one(option: &str, text: &str) -> Result<Mailbox, Fault> {
    let mut all = list(option, &[text.to_owned()])?;
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(Fault::new(Kind::Data, format!("{option} takes one address: {text:?}"))),
    }
}

/// `fault` with the option that it is about.
fn named(option: &str, fault: &Fault) -> Fault {
    let told = Fault::new(fault.kind(), format!("{option}: {fault}"));
    match fault.next_step() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

/// Whether `name` may name a queue or a group, which is what `option` asks for.
pub(super) fn check_name(option: &str, name: &str) -> Result<(), Fault> {
    match is_name(name) {
        true => Ok(()),
        false => Err(Fault::new(
            Kind::Usage,
            format!("{option} {name:?} is no name of a {}", &option[2..]),
        )
        .hint("letters, digits, _, - and . only, at most 64")),
    }
}

/// `later` after `from`, in milliseconds.
pub(super) fn after(from: i64, later: Duration) -> i64 {
    from.saturating_add(millis(later))
}

/// When a mail is due and, where a time was named and not one so long from now, that time.
pub(super) type Due = (Option<i64>, Option<i64>);

/// The moment that `option` names; one that is past is now.
pub(super) fn at(option: &str, text: &str, house: &House<'_>) -> Result<Due, Fault> {
    let Moment { at_ms, assumed_local, fit } = value::moment(option, text, house.now)?;
    let shown = value::show_moment(at_ms);
    let mut told = Vec::new();
    if assumed_local {
        told.push(format!("names no zone: taken as {shown}, this host's time"));
    }
    if let Some(words) = fit.words() {
        told.push(format!("{words}: taken as {shown}"));
    }
    if at_ms < house.now {
        told.push("is past: it is due now".to_owned());
    }
    // A long list is told once.
    if !told.is_empty() && !house.told_time.replace(true) {
        for words in told {
            house.context.output.say(Level::Notice, &format!("{option} {text:?} {words}"));
        }
    }
    Ok((Some(at_ms.max(house.now)), (!text.starts_with('+')).then_some(at_ms)))
}

/// The headers of `--header` and `--list-unsubscribe`.
pub(super) fn headers(
    texts: &[String],
    unsubscribe: Option<&str>,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut all = BTreeMap::new();
    for text in texts {
        let (name, value) = text.split_once(':').ok_or_else(|| {
            Fault::new(Kind::Usage, format!("--header {text:?} has no colon"))
                .hint("write --header 'Name: value'")
        })?;
        header(&mut all, name, value)?;
    }
    if let Some(url) = unsubscribe {
        self::unsubscribe(&mut all, url)?;
    }
    Ok(all)
}

/// Takes the header of `--list-unsubscribe` into `all`.
pub(super) fn unsubscribe(all: &mut BTreeMap<String, String>, url: &str) -> Result<(), Fault> {
    // List-Unsubscribe-Post follows from it when the message is built.
    header(all, "List-Unsubscribe", &format!("<{}>", https(url)?))
}

/// `url`, which is one that RFC 8058 can use.
fn https(url: &str) -> Result<&str, Fault> {
    let is_plain = |b: u8| b.is_ascii_graphic() && !b"<>\"".contains(&b);
    let is_https = url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    if is_https && url.len() > 8 && url.bytes().all(is_plain) {
        return Ok(url);
    }
    let told = format!("--list-unsubscribe {url:?} is no https address");
    Err(Fault::new(Kind::Data, told)
        .hint("a mailto: or several addresses go into --header 'List-Unsubscribe: <…>, <…>'"))
}

/// Takes one more header into `all`.
pub(super) fn header(
    all: &mut BTreeMap<String, String>,
    name: &str,
    value: &str,
) -> Result<(), Fault> {
    let value = value.trim_matches([' ', '\t']);
    check_header(name, value).map_err(|fault| named("--header", &fault))?;
    if all.keys().any(|known: &String| known.eq_ignore_ascii_case(name)) {
        return Err(Fault::new(Kind::Usage, format!("--header {name} is given twice")));
    }
    all.insert(name.to_owned(), value.to_owned());
    Ok(())
}
