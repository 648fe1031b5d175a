//! What a template certainly needs, what it mentions, and which partials it includes.
//!
//! "Certainly" means: whatever the values are. So a parameter that is missing here would fail every render, and `enqueue`
//! can say so without rendering.

use super::trouble::Place;
use handlebars::template::Parameter;
use handlebars::{Path, PathSeg};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Where in a template the reader stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Whether this is rendered every time, with the parameters themselves as context.
    pub(super) certain: bool,
    /// How many blocks are open.
    pub(super) depth: usize,
}

impl Scope {
    pub(super) fn top() -> Scope {
        Scope { certain: true, depth: 0 }
    }

    /// The scope in a block that is not always rendered, or not with the same context.
    pub(super) fn within(self) -> Scope {
        Scope { certain: false, depth: self.depth + 1 }
    }

    /// The scope in a block that is always rendered.
    pub(super) fn deeper(self) -> Scope {
        Scope { depth: self.depth + 1, ..self }
    }
}

/// A parameter without which no render succeeds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Required {
    /// The keys from the parameters down to the value.
    pub(super) keys: Vec<String>,
    /// The same as the template writes it.
    pub(super) written: String,
    pub(super) place: Place,
}

/// One `{{> partial}}`.
#[derive(Debug, Clone)]
pub(super) struct Include {
    pub(super) partial: String,
    pub(super) place: Place,
    pub(super) depth: usize,
    /// Whether the partial always sees the parameters themselves.
    pub(super) certain: bool,
    /// The names that the tag gives it.
    pub(super) bound: Vec<String>,
}

/// What one file, or one part with its partials, uses.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) required: Vec<Required>,
    /// Every key that is named anywhere.
    pub(super) mentioned: BTreeSet<String>,
    /// The fields of the items of lists, as `articles[].title`, and whether each item needs it.
    pub(super) items: BTreeMap<String, bool>,
    /// Whether it reaches for the parameters as a whole, so that no key can be called unused.
    pub(super) whole: bool,
    pub(super) includes: Vec<Include>,
    /// The deepest block.
    pub(super) depth: usize,
}

impl Facts {
    pub(super) fn mention(&mut self, path: &Path) {
        if let Path::Relative((segs, _)) = path {
            let names = segs.iter().filter_map(|seg| match seg {
                PathSeg::Named(name) => Some(name.clone()),
                _ => None,
            });
            let mut any = false;
            for name in names {
                any = true;
                self.mentioned.insert(name);
            }
            self.whole |= !any;
        }
    }

    /// A name that a block gives is no parameter, but a key of the same name counts as used.
    pub(super) fn bind(&mut self, name: &Parameter) {
        if let Some(name) = name.as_name() {
            self.mentioned.insert(name.to_owned());
        }
    }

    pub(super) fn require(&mut self, keys: Vec<String>, written: String, place: Place) {
        if !self.required.iter().any(|known| known.keys == keys) {
            self.required.push(Required { keys, written, place });
        }
    }

    /// A field of the items of a list.
    pub(super) fn item(&mut self, field: String, needed: bool) {
        *self.items.entry(field).or_default() |= needed;
    }

    /// Takes in what an included partial uses.
    pub(super) fn absorb(&mut self, include: &Include, partial: &Facts) {
        self.mentioned.extend(partial.mentioned.iter().cloned());
        for (field, needed) in &partial.items {
            self.item(field.clone(), *needed);
        }
        self.whole |= partial.whole;
        self.depth = self.depth.max(include.depth + 1 + partial.depth);
        if include.certain {
            for need in &partial.required {
                if !include.bound.contains(&need.keys[0]) {
                    self.require(need.keys.clone(), need.written.clone(), need.place.clone());
                }
            }
        }
    }

    /// Takes in another part of the same template.
    pub(super) fn join(&mut self, other: Facts) {
        for need in other.required {
            self.require(need.keys, need.written, need.place);
        }
        self.mentioned.extend(other.mentioned);
        for (field, needed) in other.items {
            self.item(field, needed);
        }
        self.whole |= other.whole;
        self.depth = self.depth.max(other.depth);
    }

    /// The required parameters that are not there.
    pub(super) fn missing<'a>(&'a self, parameters: &Value) -> Vec<&'a Required> {
        self.required.iter().filter(|need| !is_there(parameters, &need.keys)).collect()
    }
}

fn is_there(parameters: &Value, keys: &[String]) -> bool {
    let mut value = parameters;
    for key in keys {
        let next = match value {
            Value::Object(map) => map.get(key),
            Value::Array(list) => key.parse::<usize>().ok().and_then(|at| list.get(at)),
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => return false,
        }
    }
    true
}
