//! No hot statement may scan the table or sort what an index has in order.

use super::super::{claim, history, prune, rate, reap, record, stats, suppress};
use super::*;

#[test]
fn every_hot_statement_uses_its_index() {
    let bench = bench();
    let all = [
        claim::hot_statements(),
        record::hot_statements(),
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
            let scans = step.starts_with("SCAN") && !step.contains("CONSTANT ROW");
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
