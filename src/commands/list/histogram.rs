//! How many mails there are by age, as Postfix's qshape counts them.

use crate::commands::{Context, mail};
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::output::{Page, Table};
use crate::store::{Filter, Shape, Store};
use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;
use std::collections::BTreeMap;

/// What mails are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The recipients' domains; a mail counts once for each.
    Domain,
    Template,
    Queue,
}

/// The ages in minutes that a column ends at; the last column is without end.
const AGES: [i64; 9] = [5, 10, 20, 40, 80, 160, 320, 640, 1_280];

type Ages = [u64; AGES.len() + 1];

/// So many rows are shown to a person.
const ROWS: usize = 20;

/// Counts what `filter` finds; without a state in it, what waits.
pub fn run(by: By, mut filter: Filter, store: &Store, context: &Context) -> Result<u8> {
    if filter.statuses.is_empty() {
        filter.statuses = vec![Status::Pending, Status::Sending];
    }
    let now = host::now_ms();
    let (mut counted, mut total): (BTreeMap<String, Ages>, Ages) = Default::default();
    store.shapes(&filter, &mut |shape| {
        let minutes = now.saturating_sub(shape.created_at).max(0) / 60_000;
        let column = AGES.iter().position(|age| minutes < *age).unwrap_or(AGES.len());
        total[column] += 1;
        for name in names(by, shape) {
            counted.entry(name).or_default()[column] += 1;
        }
    })?;
    let mut rows: Vec<(String, Ages)> = counted.into_iter().collect();
    rows.sort_by_key(|(_, ages)| std::cmp::Reverse(ages.iter().sum::<u64>()));
    if context.json {
        for (name, ages) in &rows {
            let row = json!({ "name": name, "total": ages.iter().sum::<u64>(), "minutes": AGES, "mails": ages });
            context.output.json(&row)?;
        }
        return Ok(exit::DONE);
    }
    let mut titles = vec![String::new(), "T".to_owned()];
    titles.extend(AGES.map(|age| age.to_string()));
    titles.push(format!("{}+", AGES[AGES.len() - 1]));
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = Table::new(&titles);
    let left_out = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    for (name, ages) in std::iter::once(("TOTAL".to_owned(), total)).chain(rows) {
        let sum: u64 = ages.iter().sum();
        let cells = std::iter::once(sum).chain(ages).map(|count| count.to_string());
        table.row(std::iter::once(name).chain(cells));
    }
    let mut page = Page::default();
    page.table(table);
    if left_out > 0 {
        page.line([format!("({left_out} more; --json has them all)").into()]);
    }
    context.output.page(&page)?;
    Ok(exit::DONE)
}

fn names(by: By, shape: Shape) -> Vec<String> {
    match by {
        By::Template => vec![shape.template],
        By::Queue => vec![shape.queue],
        By::Domain => {
            let all = shape.recipients.iter().flat_map(|list| mail::addresses(list));
            let domain = |address: String| {
                let domain =
                    address.rsplit_once('@').map_or(address.as_str(), |(_, domain)| domain);
                domain.to_ascii_lowercase()
            };
            let mut domains: Vec<String> = all.map(domain).collect();
            domains.sort();
            domains.dedup();
            domains
        }
    }
}
