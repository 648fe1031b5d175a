//! A line of the log: `key=value` for people and for `grep`, or a JSON object for programs.

use super::{Level, to_json};
use serde_json::{Map, Value, json};

/// `key=value key="two words"`; what there is no value of is `-`.
pub(super) fn text(pairs: &[(&str, Value)]) -> String {
    let mut line = String::new();
    for (key, value) in pairs {
        let gap = if line.is_empty() { "" } else { " " };
        line.extend([gap, key, "="]);
        match value {
            Value::Null => line.push('-'),
            Value::String(text) if is_bare(text) => line.push_str(text),
            value => line.push_str(&to_json(value)),
        }
    }
    line
}

/// Whether a text needs no quotes to be told from what stands beside it.
fn is_bare(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"\"\\=".contains(c))
}

/// The pairs as an object that names its level.
pub(super) fn json(level: Level, pairs: &[(&str, Value)]) -> String {
    let word = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Notice => "info",
        Level::Detail => "debug",
    };
    let first = ("level".to_owned(), json!(word));
    let rest = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    to_json(&[first].into_iter().chain(rest).collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_taken_apart_again() {
        let pairs = [
            ("id", json!(17)),
            ("to", json!("ada@example.com")),
            ("code", Value::Null),
            ("message", json!("550 \"no\"\nsuch user")),
            ("empty", json!("")),
        ];
        assert_eq!(
            text(&pairs),
            r#"id=17 to=ada@example.com code=- message="550 \"no\"\nsuch user" empty="""#
        );
        let line = json(Level::Warning, &pairs);
        let back: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["level"], "warning");
        assert_eq!(back["message"], "550 \"no\"\nsuch user");
    }
}
