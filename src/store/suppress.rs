//! Who is to get no mail: looked up when mails are claimed.

use super::claim::Claimed;
use super::{Store, row};
use crate::domain::address::{self, Address};
use crate::domain::fault::Fault;
use crate::domain::message::{Mail, SUPPRESSED};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// An address that gets no mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// In lower case.
    pub address: String,
    /// In milliseconds since 1970.
    pub since: i64,
    pub reason: Option<String>,
}

const LOOK_UP: &str = "SELECT reason FROM mailq_suppressed WHERE address = ?1";

impl Store {
    /// Suppresses all of `addresses`, each with its reason, or none. Returns how many were not suppressed before; one
    /// that was keeps its date, and its reason unless there is a new one.
    pub fn suppress(
        &mut self,
        addresses: &[(Address, Option<String>)],
        now: i64,
    ) -> Result<u64, Fault> {
        self.write(|tx| {
            let mut update = tx.prepare(
                "UPDATE mailq_suppressed SET reason = coalesce(?2, reason) WHERE address = ?1",
            )?;
            let mut insert = tx.prepare(
                "INSERT INTO mailq_suppressed (address, since, reason) VALUES (?1, ?2, ?3)",
            )?;
            let mut new = 0;
            for (address, reason) in addresses {
                let address = address.folded();
                if update.execute(params![address, reason])? == 0 {
                    insert.execute(params![address, now, reason])?;
                    new += 1;
                }
            }
            Ok(new)
        })
    }

    /// Lets mails go to `addresses` again. Returns those that were not suppressed.
    pub fn unsuppress(&mut self, addresses: &[Address]) -> Result<Vec<Address>, Fault> {
        self.write(|tx| {
            let mut delete = tx.prepare("DELETE FROM mailq_suppressed WHERE address = ?1")?;
            let mut missing = Vec::new();
            for address in addresses {
                if delete.execute([address.folded()])? == 0 {
                    missing.push(address.clone());
                }
            }
            Ok(missing)
        })
    }

    /// Those who are still to get `mail` and are suppressed.
    pub fn suppressed_of(&self, mail: &Mail) -> Result<Vec<Address>, Fault> {
        self.read(|conn| {
            let mut look_up = conn.prepare_cached(LOOK_UP)?;
            let mut found = Vec::new();
            for one in waiting(mail) {
                if look_up.exists([one.folded()])? {
                    found.push(one);
                }
            }
            Ok(found)
        })
    }

    /// Shows `look` all that are suppressed, in order, one by one.
    pub fn suppressed(
        &self,
        look: &mut dyn FnMut(Suppressed) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut stopped = None;
        self.read(|conn| {
            let mut statement = conn
                .prepare("SELECT address, since, reason FROM mailq_suppressed ORDER BY address")?;
            let mut rows = statement.query([])?;
            while let Some(found) = rows.next()? {
                let one = Suppressed {
                    address: row::lossy(found, 0)?.unwrap_or_default(),
                    since: found.get_ref(1)?.as_i64().unwrap_or_default(),
                    reason: row::lossy(found, 2)?,
                };
                if let Err(fault) = look(one) {
                    stopped = Some(fault);
                    break;
                }
            }
            Ok(())
        })?;
        stopped.map_or(Ok(()), Err)
    }
}

/// Leaves the suppressed recipients of claimed mails out; `refused` says so.
pub(super) fn leave_out(
    tx: &Transaction<'_>,
    claimed: &mut [Claimed],
) -> Result<(), rusqlite::Error> {
    if claimed.is_empty() || !is_anybody(tx)? {
        return Ok(());
    }
    let mut look_up = tx.prepare_cached(LOOK_UP)?;
    for one in claimed {
        let Ok(mail) = &mut one.mail else { continue };
        let (mut out, mut left) = (Vec::new(), 0);
        for recipient in waiting(mail) {
            let reason =
                look_up.query_row([recipient.folded()], |found| row::lossy(found, 0)).optional()?;
            match reason {
                Some(reason) => out.push((recipient.to_string(), words(reason))),
                None => left += 1,
            }
        }
        one.is_suppressed = left == 0 && !out.is_empty();
        mail.refused.extend(out);
    }
    Ok(())
}

/// The recipients who are still to get `mail`. What cannot be read is told when the mail is built.
fn waiting(mail: &Mail) -> Vec<Address> {
    let lists = [&mail.to, &mail.cc, &mail.bcc].map(|list| address::parse_list(list));
    let all = lists.into_iter().flatten().flatten().map(|mailbox| mailbox.address);
    all.filter(|one| {
        let one = one.to_string();
        !mail.delivered.contains(&one) && !mail.refused.contains_key(&one)
    })
    .collect()
}

fn words(reason: Option<String>) -> String {
    match reason {
        Some(reason) => format!("{SUPPRESSED}: {reason}"),
        None => SUPPRESSED.to_owned(),
    }
}

fn is_anybody(conn: &Connection) -> Result<bool, rusqlite::Error> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM mailq_suppressed)")?
        .query_row([], |row| row.get(0))
}

#[cfg(test)]
pub(super) fn hot_statements() -> Vec<(&'static str, String)> {
    vec![("look up", LOOK_UP.to_owned())]
}
