//! The helpers that make a template strict, and the budget that makes every render end.
//!
//! A value is printed as it was written: numbers digit by digit, a list of plain values joined by `, `; null prints
//! nothing. An object has no text, so printing one is an error rather than `[object]`.

use super::syntax::{LIST, NEED, PRINT, STEP};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, PathAndJson, RenderContext,
    RenderError, RenderErrorReason, Renderable, ScopedJson,
};
use serde_json::Value;
use std::cell::Cell;

/// What a render may spend: roughly the bytes it handles, repeated ones included.
const BUDGET: u64 = 64 << 20;
/// What a step costs beyond the bytes it handles.
const STEP_COST: u64 = 256;

thread_local! {
    // Helpers are shared by all senders, and handlebars gives them no place of their own for one render. A render stays
    // on its thread and none begins within another.
    static LEFT: Cell<u64> = const { Cell::new(BUDGET) };
}

/// Fills the budget of this thread for one render.
pub(super) fn refill() {
    LEFT.set(BUDGET);
}

fn spend(amount: u64) -> Result<(), RenderError> {
    let left = LEFT.get().checked_sub(amount).ok_or_else(|| {
        other("the template does too much: it repeats itself beyond what a mail can hold")
    })?;
    LEFT.set(left);
    Ok(())
}

/// An error of a helper, in words for the author.
pub(super) fn other(message: impl Into<String>) -> RenderError {
    RenderErrorReason::Other(message.into()).into()
}

/// Makes the helpers of this room known to a registry.
pub(super) fn register(registry: &mut Handlebars<'_>) {
    registry.set_strict_mode(true);
    registry.register_helper(PRINT, Box::new(Print));
    registry.register_helper(NEED, Box::new(Need));
    registry.register_helper(LIST, Box::new(List));
    registry.register_helper(STEP, Box::new(Step));
    registry.register_helper("optional", Box::new(Fallback));
    registry.register_helper("default", Box::new(Fallback));
    registry.register_helper("eq", Box::new(Same { wanted: true }));
    registry.register_helper("ne", Box::new(Same { wanted: false }));
    registry.register_helper("len", Box::new(Len));
}

/// The text of a value, or why it has none.
pub(super) fn text_of(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::Null => Ok(String::new()),
        Value::Bool(truth) => Ok(truth.to_string()),
        // The reader of JSON writes a `+` into every exponent.
        Value::Number(number) => Ok(number.to_string().replacen("e+", "e", 1)),
        Value::String(text) => Ok(text.clone()),
        Value::Array(list) => {
            let mut joined = String::new();
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    joined.push_str(", ");
                }
                match item {
                    Value::Array(_) | Value::Object(_) => {
                        return Err("is a list of lists or objects; print it with {{#each}}");
                    }
                    plain => joined.push_str(&text_of(plain)?),
                }
            }
            Ok(joined)
        }
        Value::Object(_) => Err("is an object; print its members"),
    }
}

/// The size of a value, roughly in bytes.
fn weight(value: &Value) -> u64 {
    16 + match value {
        Value::String(text) => text.len() as u64,
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(k, v)| k.len() as u64 + weight(v)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The first argument; missing is an error that names it.
fn first<'a>(h: &'a Helper<'_>) -> Result<&'a PathAndJson<'a>, RenderError> {
    let param = h.param(0).ok_or_else(|| other("an argument is missing"))?;
    if param.is_value_missing() {
        return Err(RenderError::strict_error(param.relative_path()));
    }
    Ok(param)
}

/// The value at `path` below the parameters, borrowed for the whole render.
fn borrowed<'rc>(context: &'rc Context, path: &[String]) -> Option<&'rc Value> {
    path.iter().try_fold(context.data(), |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        Value::Object(map) => map.get(key),
        _ => None,
    })
}

/// `param` handed on: borrowed where it is part of the parameters, else a copy that is paid for.
fn hand_on<'rc>(
    param: &PathAndJson<'_>,
    context: &'rc Context,
) -> Result<ScopedJson<'rc>, RenderError> {
    if let Some(path) = param.context_path()
        && let Some(value) = borrowed(context, path)
    {
        return Ok(ScopedJson::Context(value, path.clone()));
    }
    spend(weight(param.value()))?;
    Ok(ScopedJson::Derived(param.value().clone()))
}

struct Print;

impl HelperDef for Print {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let param = first(h)?;
        let text = text_of(param.value()).map_err(|why| {
            let name = param.relative_path().map_or("the value", String::as_str);
            other(format!("`{name}` {why}"))
        })?;
        spend(STEP_COST + text.len() as u64)?;
        Ok(ScopedJson::Derived(Value::String(text)))
    }
}

struct Need;

impl HelperDef for Need {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        spend(STEP_COST)?;
        hand_on(first(h)?, context)
    }
}

struct List;

impl HelperDef for List {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let param = first(h)?;
        match param.value() {
            Value::Null => Ok(ScopedJson::Derived(Value::Array(Vec::new()))),
            Value::Array(_) | Value::Object(_) => hand_on(param, context),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err(other("{{#each}} wants a list or an object, not a plain value"))
            }
        }
    }
}

struct Step;

impl HelperDef for Step {
    fn call<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        rc: &mut RenderContext<'reg, 'rc>,
        _: &mut dyn Output,
    ) -> HelperResult {
        let bytes = h.param(0).and_then(|cost| cost.value().as_u64());
        // A partial and a loop over derived values copy what they show.
        let copied = rc.block().and_then(|block| block.base_value()).map(weight);
        spend(STEP_COST + bytes.unwrap_or(0) + copied.unwrap_or(0))
    }
}

/// `optional x` and `default x y`: the one way to say that a parameter may be missing.
struct Fallback;

impl HelperDef for Fallback {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let nothing = |value: &Value| value.is_null() || value.as_str() == Some("");
        let wanted = h.param(0).filter(|param| !param.is_value_missing());
        // `default` also stands in for an empty text, which is what a form that was not filled in gives.
        let chosen = match (wanted, h.param(1)) {
            (Some(param), Some(other)) if nothing(param.value()) => Some(other),
            (Some(param), _) => Some(param),
            (None, other) => other,
        };
        match chosen {
            Some(param) => hand_on(param, context),
            None => Ok(ScopedJson::Derived(Value::Null)),
        }
    }
}

/// `eq` and `ne`: plain values are the same if they print the same, since every `--param` is a text.
struct Same {
    wanted: bool,
}

impl HelperDef for Same {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let value = |index| h.param(index).map_or(&Value::Null, |param| param.value());
        let (a, b) = (value(0), value(1));
        let plain = |v: &Value| matches!(v, Value::Bool(_) | Value::Number(_) | Value::String(_));
        let same = a == b || (plain(a) && plain(b) && text_of(a) == text_of(b));
        Ok(ScopedJson::Derived(Value::Bool(same == self.wanted)))
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rc: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let holds = self.call_inner(h, registry, context, rc)?.as_json() == &Value::Bool(true);
        let body = match (h.is_block(), holds) {
            (false, _) => return Ok(out.write(if holds { "true" } else { "false" })?),
            (true, true) => h.template(),
            (true, false) => h.inverse(),
        };
        match body {
            Some(body) => body.render(registry, context, rc, out),
            None => Ok(()),
        }
    }
}

/// `len x`: the entries of a list or an object, the characters of a text.
struct Len;

impl HelperDef for Len {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let length = match first(h)?.value() {
            Value::Array(list) => list.len(),
            Value::Object(map) => map.len(),
            plain => text_of(plain).unwrap_or_default().chars().count(),
        };
        Ok(ScopedJson::Derived(Value::from(length as u64)))
    }
}

/// Collects what a template writes, up to a limit.
pub(super) struct Bounded {
    text: String,
    limit: usize,
}

impl Bounded {
    /// Room for `limit` bytes.
    pub(super) fn new(limit: usize) -> Bounded {
        Bounded { text: String::new(), limit }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl Output for Bounded {
    fn write(&mut self, text: &str) -> Result<(), std::io::Error> {
        if self.text.len() + text.len() > self.limit {
            return Err(std::io::Error::other(format!(
                "the result is larger than {} bytes",
                self.limit
            )));
        }
        self.text.push_str(text);
        Ok(())
    }
}
