//! `[dkim.DOMAIN]`: which sender domains sign, under which selector, with which key.
//!
//! Names and selectors are checked when the configuration is read; a key file is only named here, never opened.

use super::value::Value;
use super::{Config, secret};
use crate::domain::address::Address;
use crate::domain::fault::{Fault, Kind};
use std::path::PathBuf;

/// A sender domain whose mails are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dkim {
    /// Lower case, A-labels.
    pub domain: String,
    pub selector: String,
    pub key_file: PathBuf,
}

impl Dkim {
    /// What is wrong with how the key is kept, without reading it.
    pub fn warning(&self) -> Option<String> {
        secret::open_to_all("DKIM key", &self.key_file)
    }
}

/// `text` as the domain of an address, or what is wrong with it.
pub(super) fn domain(text: &str) -> Result<String, String> {
    match Address::parse(&format!("x@{text}")) {
        Ok(address) if !address.domain().starts_with('[') => Ok(address.domain().to_owned()),
        _ => Err(format!("dkim: {text:?} is no domain; it is written [dkim.\"example.com\"]")),
    }
}

impl Config {
    /// The domains that sign.
    ///
    /// # Errors
    /// One lacks its selector or its key file, or the selector is no name.
    pub fn dkim(&self) -> Result<Vec<Dkim>, Fault> {
        let mut all = Vec::new();
        for (domain, values) in self.entries.domains() {
            let fail = |why: String| Fault::new(Kind::Config, format!("[dkim.\"{domain}\"] {why}"));
            let selector = match values.get("selector") {
                Some(Value::Text(text)) => text.clone(),
                _ => return Err(fail("needs selector".to_owned())),
            };
            if !is_selector(&selector) {
                return Err(fail(format!("selector = {selector:?} is no name in DNS")));
            }
            let key_file = match values.get("key_file") {
                Some(Value::Path(path)) => secret::in_credentials(path.clone()),
                _ => return Err(fail("needs key_file".to_owned())),
            };
            all.push(Dkim { domain: domain.clone(), selector, key_file });
        }
        Ok(all)
    }
}

/// RFC 6376, 3.1: sub-domains with dots between them.
fn is_selector(text: &str) -> bool {
    text.len() <= 200
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

#[cfg(test)]
mod tests {
    use super::super::keys::Entries;
    use super::super::{environment, file};
    use super::*;

    fn read(text: &str, variables: &[(&str, &str)]) -> Result<Vec<Dkim>, Fault> {
        let mut entries = Entries::default();
        file::parse(text, "c.toml", &mut entries)?;
        entries.rebase("/etc/mailq".as_ref());
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        environment::read(variables.collect(), &mut entries)?;
        let config = Config { file: None, database: "q.db".into(), entries };
        config.check()?;
        config.dkim()
    }

    fn dkim(domain: &str, selector: &str, key_file: &str) -> Dkim {
        Dkim { domain: domain.into(), selector: selector.into(), key_file: key_file.into() }
    }

    #[test]
    fn a_domain_is_named_in_any_way_that_toml_has() {
        for text in [
            "[dkim.'Example.com']\nselector = 'a.b'\nkey_file = 'k'\n",
            "[dkim.example.com]\nselector = 'a.b'\nkey_file = 'k'\n",
            "dkim.'example.com'.selector = 'a.b'\ndkim.'example.com'.key_file = '/etc/mailq/k'\n",
        ] {
            let expected = dkim("example.com", "a.b", "/etc/mailq/k");
            assert_eq!(read(text, &[]).unwrap(), [expected], "{text}");
        }
        let idn = "[dkim.'größe.example']\nselector = 's'\nkey_file = '/k'\n";
        assert_eq!(read(idn, &[]).unwrap(), [dkim("xn--gre-6ka8i.example", "s", "/k")]);
        let both = "[dkim.a.example]\nselector = 's'\nkey_file = '/a'\n\
                    [dkim.b.a.example]\nselector = 't'\nkey_file = '/b'\n";
        assert_eq!(
            read(both, &[]).unwrap(),
            [dkim("a.example", "s", "/a"), dkim("b.a.example", "t", "/b")]
        );
        assert_eq!(read("[dkim]\n", &[]).unwrap(), []);
    }

    #[test]
    fn the_environment_names_a_domain_with_underscores() {
        let file = "[dkim.'my-shop.example']\nselector = 's'\nkey_file = '/k'\n";
        let seen = read(
            file,
            &[
                ("MAILQ_DKIM__MY_SHOP_EXAMPLE__SELECTOR", "t"),
                ("MAILQ_DKIM__OTHER_EXAMPLE__SELECTOR", "o"),
                ("MAILQ_DKIM__OTHER_EXAMPLE__KEY_FILE", "/o"),
            ],
        );
        let expected = [dkim("my-shop.example", "t", "/k"), dkim("other.example", "o", "/o")];
        assert_eq!(seen.unwrap(), expected);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (text, told) in [
            ("[dkim.'a.example']\n", "[dkim.\"a.example\"] needs selector"),
            ("[dkim.'a.example']\nselector = 's'\n", "[dkim.\"a.example\"] needs key_file"),
            (
                "[dkim.'a.example']\nselector = 's; d=x'\nkey_file = 'k'\n",
                "[dkim.\"a.example\"] selector = \"s; d=x\" is no name in DNS",
            ),
            ("\n[dkim.'a b']\nselector = 's'\n", "c.toml:2: dkim: \"a b\" is no domain"),
            ("[dkim.'[192.0.2.1]']\n", "c.toml:1: dkim: \"[192.0.2.1]\" is no domain"),
            ("[dkim]\nselector = 's'\n", "c.toml:1: dkim: \"\" is no domain"),
            ("[dkim.'a.example']\nselctor = 's'\n", "c.toml:2: unknown key"),
            ("dkim = 3\n", "c.toml:1: unknown key"),
        ] {
            let fault = read(text, &[]).expect_err(text);
            assert_eq!(fault.kind(), Kind::Config);
            assert!(fault.to_string().starts_with(told), "{text:?}: {fault}");
        }
    }
}
