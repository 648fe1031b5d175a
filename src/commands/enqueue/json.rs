//! JSON that somebody typed: a key that stands twice in an object, at whatever depth, is a mistake.
//!
//! `serde_json` keeps the last of the values and loses the others in silence.

use crate::templates::nearest;
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;

/// Reads `text`.
///
/// # Errors
/// `text` is not JSON, is not of the wanted form, or names a key twice, which is told with its place.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str::<Unrepeated>(text)?;
    serde_json::from_str(text)
}

/// What is wrong with a line of JSON, without the words of a programmer.
pub(super) fn words(e: &serde_json::Error) -> String {
    let words = e.to_string().replace(" at line 1 column ", ", at column ");
    let Some(unknown) = words.strip_prefix("unknown field `") else { return words };
    let mut quoted = unknown.split('`');
    let key = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.skip(1).step_by(2).collect();
    let place = words.rsplit_once(", at ").map(|(_, at)| format!(", at {at}")).unwrap_or_default();
    match nearest(key, known.iter().copied()) {
        Some(like) => format!("unknown key `{key}`{place}: did you mean `{like}`?"),
        None => format!("unknown key `{key}`{place}: the keys are {}", known.join(", ")),
    }
}

/// Any JSON in which no object names a key twice. It keeps nothing of it: whether `serde_json` hands a long number on
/// as a map of its own is no matter here.
struct Unrepeated;

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Unrepeated)
    }
}

impl<'de> Visitor<'de> for Unrepeated {
    type Value = Unrepeated;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unrepeated, A::Error> {
        while items.next_element::<Unrepeated>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Unrepeated, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format!("the key {key:?} is there twice")));
            }
            entries.next_value::<Unrepeated>()?;
            keys.insert(key);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_key_that_stands_twice_is_told_at_every_depth() {
        for text in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"x": {"a": 1, "a": 1}}"#,
            r#"[{"x": [1, {"y": {"a": null, "b": 1, "a": {}}}]}]"#,
            "{\"a\": 1, \"\\u0061\": 2}",
        ] {
            let told = read::<Value>(text).unwrap_err().to_string();
            assert!(told.starts_with("the key \"a\" is there twice at line 1 column"), "{told}");
        }
    }

    #[test]
    fn everything_else_comes_through_as_it_was_written() {
        let text = r#"{"a":{"a":[1,-2,0.10,1e400,12345678901234567890.10]},"b":[true,null,"a","a"],"":{}}"#;
        assert_eq!(read::<Value>(text).unwrap().to_string(), text.replace("1e400", "1e+400"));
        assert!(read::<Value>("{").is_err());
        assert!(read::<Value>(&"[".repeat(100_000)).is_err(), "and no stack ends");
    }
}
