//! Addresses and address lists (RFC 5322), checked once and then trusted.

use super::fault::{Fault, Kind};
use std::fmt;

/// One mailbox's address. The domain is in lower case, as A-labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    local: String,
    domain: String,
}

impl Address {
    /// Reads `local@domain` and nothing else.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let (local, domain) = text
            .rsplit_once('@')
            .ok_or_else(|| Fault::new(Kind::Data, format!("{text:?} is no address")))?;
        Ok(Address {
            local: local.to_owned(),
            domain: domain.to_lowercase(),
        })
    }

    /// The part before the `@`, quoted where it must be.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// The part after the `@`: lower case, A-labels.
    pub fn domain(&self) -> &str {
        &self.domain
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.local, self.domain)
    }
}

/// An address with the name that is shown for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    pub name: Option<String>,
    pub address: Address,
}

/// Reads an RFC 5322 address list (`Ada <ada@example.com>, bob@example.com`). An empty text is an empty list.
pub fn parse_list(text: &str) -> Result<Vec<Mailbox>, Fault> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            Ok(Mailbox {
                name: None,
                address: Address::parse(part)?,
            })
        })
        .collect()
}
