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
