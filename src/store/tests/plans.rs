//! No hot statement may scan the table or sort what an index has in order.

use super::super::{claim, group, history, prune, rate, read, reap, record, stats, suppress};
use super::*;

#[test]
fn every_hot_statement_uses_its_index() {
    let bench = bench();
    let all = [
        claim::hot_statements(),
        record::hot_statements(),
        group::hot_statements(),
        history::hot_statements(),
        reap::hot_statements(),
        prune::hot_statements(),
        rate::hot_statements(),
        stats::hot_statements(),
        suppress::hot_statements(),
    ];
    for (name, sql) in all.concat() {
        let mut statement = bench.store.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let count = statement.parameter_count();
        let nothing = vec![rusqlite::types::Null; count];
        let rows = statement
            .query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))
            .unwrap();
        let plan: Vec<String> = rows.map(Result::unwrap).collect();
        for step in &plan {
            let is_short = step.contains("CONSTANT ROW") || step.contains("SCAN json_each");
            let scans = step.starts_with("SCAN") && !is_short;
            let sorts = step.contains("TEMP B-TREE FOR ORDER BY");
            assert!(!scans && !sorts, "{name}: {step}\n{sql}");
        }
    }
}

#[test]
fn scheduled_mails_cost_a_claim_nothing() {
    let bench = bench();
    bench.sql(&format!(
        "INSERT INTO email_messages (to_addrs, template, next_attempt_at) VALUES ('a@x.example', 't', {NOW})"
    ));
    let mut steps = Vec::new();
    for scheduled in [10, 200_000] {
        bench.sql(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {scheduled}) \
             INSERT INTO email_messages (to_addrs, template, next_attempt_at) SELECT 'a@x.example', 't', {NOW} + 1000 + i FROM n"
        ));
        let mut spent = 0;
        for (_, sql) in claim::hot_statements() {
            let mut statement = bench.store.conn.prepare(&sql).unwrap();
            for (name, value) in [(":now", NOW), (":limit", 100)] {
                if let Ok(Some(at)) = statement.parameter_index(name) {
                    statement.raw_bind_parameter(at, value).unwrap();
                }
            }
            for name in [":queue", ":holder", "?1"] {
                if let Ok(Some(at)) = statement.parameter_index(name) {
                    let text = if name == "?1" && sql.contains("queue >") { "" } else { "default" };
                    statement.raw_bind_parameter(at, text).unwrap();
                }
            }
            let mut rows = statement.raw_query();
            while rows.next().unwrap().is_some() {}
            drop(rows);
            spent += statement.get_status(rusqlite::StatementStatus::VmStep);
        }
        bench.sql("UPDATE email_messages SET status = 'PENDING', locked_at = NULL, locked_by = NULL WHERE status = 'SENDING'");
        steps.push(spent);
    }
    assert!(steps[0] > 50 && steps[1] <= steps[0] + 10, "{steps:?}");
}

/// How many steps of SQLite's machine the figures take.
fn steps(path: &Path) -> i64 {
    let store = Store::open(path, Access::Read).unwrap();
    store.stats(&[], NOW - 86_400_000, NOW).unwrap();
    let all = stats::hot_statements().into_iter().map(|(_, sql)| {
        let statement = store.conn.prepare_cached(&sql).unwrap();
        i64::from(statement.get_status(rusqlite::StatementStatus::VmStep))
    });
    all.sum()
}

#[test]
fn the_figures_ask_nothing_of_the_archive() {
    let bench = bench();
    let path = bench.dir.path().join("q.db");
    let archive = |count: usize, age: i64| {
        bench.sql(&format!(
            "INSERT INTO email_messages (to_addrs, template, status, failure, finished_at, send_ms, attempt_count)
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             SELECT 'a@x.example', 't', iif(i % 2, 'SENT', 'FAILED'), iif(i % 2, NULL, 'rejected'), {NOW} - {age} - i % 1000, 7, 1 FROM n"
        ));
    };
    // More than is ever looked at one by one.
    archive(12_000, 3_600_000);
    let before = steps(&path);
    archive(12_000, 3_600_000);
    archive(12_000, 7 * 86_400_000);
    let after = steps(&path);
    assert!(before > 10_000, "it measures: {before}");
    assert!(after - before < before / 100, "{before} steps became {after}");
}

#[test]
fn what_waits_is_listed_without_a_look_at_the_archive() {
    let bench = bench();
    for filter in [
        Filter { statuses: vec![Status::Pending, Status::Sending], ..Filter::default() },
        Filter { statuses: vec![Status::Failed], limit: Some(50), ..Filter::default() },
        Filter { keys: vec!["k".into()], ..Filter::default() },
        Filter { groups: vec!["g".into()], statuses: vec![Status::Pending], ..Filter::default() },
    ] {
        let sql = format!("EXPLAIN QUERY PLAN {}", read::statement(&filter));
        let mut statement = bench.store.conn.prepare(&sql).unwrap();
        let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
        let rows =
            statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3));
        let plan: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
        let of_all =
            |step: &String| step.starts_with("SCAN email_messages") && !step.contains("USING");
        assert!(!plan.iter().any(of_all), "{filter:?}: {plan:#?}");
    }
}
