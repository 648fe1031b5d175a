//! The helpers that write values as people read them: dates, amounts of money, plurals, parts of a URL, short texts.
//!
//! An amount is never a floating-point number: its digits are rounded as digits.

use super::strict::{other, text_of};
use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use chrono_tz::Tz;
use handlebars::{Context, Handlebars, Helper, HelperDef, RenderContext, RenderError, ScopedJson};
use num_format::{Grouping, Locale};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::fmt::Write;

/// What RFC 3986 lets stand as it is in every part of a URL.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

type Formatter = fn(&Call<'_>) -> Result<String, String>;

/// Makes the formatting helpers known to a registry, for a mail in `locale`.
pub(super) fn register(registry: &mut Handlebars<'_>, locale: Option<&str>) {
    let all: [(&'static str, Formatter); 5] = [
        ("date", date),
        ("money", money),
        ("plural", plural),
        ("urlencode", urlencode),
        ("truncate", truncate),
    ];
    for (name, write) in all {
        let locale = locale.unwrap_or("en").to_owned();
        registry.register_helper(name, Box::new(Format { name, write, locale }));
    }
}

struct Format {
    name: &'static str,
    write: Formatter,
    locale: String,
}

/// One call of a formatter: the values it was given, all of them there.
struct Call<'a> {
    values: Vec<&'a Value>,
    helper: &'a Helper<'a>,
    locale: &'a str,
}

impl Call<'_> {
    fn text(&self, index: usize) -> Result<String, String> {
        let value = self.values.get(index).copied().unwrap_or(&Value::Null);
        text_of(value).map_err(|why| format!("the value {why}"))
    }

    fn key(&self, name: &str) -> Option<String> {
        let value = self.helper.hash_get(name)?.value();
        text_of(value).ok().filter(|text| !text.is_empty())
    }
}

impl HelperDef for Format {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let call = Call {
            values: h.params().iter().map(|param| param.value()).collect(),
            helper: h,
            locale: &self.locale,
        };
        (self.write)(&call)
            .map(|text| ScopedJson::Derived(Value::String(text)))
            .map_err(|why| other(format!("`{}`: {why}", self.name)))
    }
}

/// `date VALUE "pattern" tz="Europe/Berlin"`.
fn date(call: &Call<'_>) -> Result<String, String> {
    let text = call.text(0)?;
    let pattern = match call.values.len() {
        1 => "%Y-%m-%d".to_owned(),
        _ => call.text(1)?,
    };
    let zone = match call.key("tz") {
        Some(name) => name
            .parse::<Tz>()
            .map_err(|_| format!("{name:?} is no time zone such as \"Europe/Berlin\""))?,
        None => Tz::UTC,
    };
    if text.is_empty() {
        return Ok(String::new());
    }
    let mut written = String::new();
    let done = if let Ok(day) = NaiveDate::parse_from_str(&text, "%Y-%m-%d") {
        write!(written, "{}", day.format(&pattern))
    } else {
        let at = instant(&text)
            .ok_or_else(|| format!("{text:?} is no RFC 3339 time, date or milliseconds"))?;
        write!(written, "{}", at.with_timezone(&zone).format(&pattern))
    };
    done.map_err(|_| format!("the pattern {pattern:?} does not fit {text:?}"))?;
    Ok(written)
}

fn instant(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(ms) = text.parse::<i64>() {
        return Utc.timestamp_millis_opt(ms).single();
    }
    let spaced = text.replacen(' ', "T", 1);
    let at = DateTime::parse_from_rfc3339(&spaced).ok()?;
    Some(at.with_timezone(&Utc))
}

/// `money VALUE currency="EUR" locale="de"`.
fn money(call: &Call<'_>) -> Result<String, String> {
    let text = call.text(0)?;
    if text.is_empty() {
        return Ok(String::new());
    }
    let currency = call.key("currency").unwrap_or_default();
    let name = call.key("locale").unwrap_or_else(|| call.locale.to_owned());
    let locale = locale(&name).ok_or_else(|| format!("{name:?} is no locale such as \"de\""))?;
    let (negative, whole, cents) = amount(&text, minor_digits(&currency))
        .ok_or_else(|| format!("{text:?} is no decimal number"))?;
    let mut number = grouped(&whole, locale);
    if !cents.is_empty() {
        number.push_str(locale.decimal());
        number.push_str(&cents);
    }
    let symbol = symbol(&currency);
    let sign = if negative { "-" } else { "" };
    Ok(match (symbol.is_empty(), leads(&name)) {
        (true, _) => format!("{sign}{number}"),
        (false, true) if symbol.len() == 3 && symbol == currency => {
            format!("{sign}{symbol}\u{a0}{number}")
        }
        (false, true) if spaced(&name) => format!("{sign}{symbol}\u{a0}{number}"),
        (false, true) => format!("{sign}{symbol}{number}"),
        (false, false) => format!("{sign}{number}\u{a0}{symbol}"),
    })
}

/// The locale of that name, or of its language.
fn locale(name: &str) -> Option<Locale> {
    let name = name.replace('_', "-");
    let language = name.split('-').next().unwrap_or_default();
    let known = |name: &str| Locale::from_name(name).ok();
    known(&name).or_else(|| known(language))
}

/// The sign, the digits before and the `places` digits after the point, rounded half away from zero.
fn amount(text: &str, places: usize) -> Option<(bool, String, String)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 60 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut kept: Vec<u8> = whole.bytes().chain(fraction.bytes().take(places)).collect();
    kept.resize(whole.len() + places, b'0');
    if fraction.as_bytes().get(places).is_some_and(|next| *next >= b'5') {
        let mut carried = true;
        for digit in kept.iter_mut().rev() {
            if *digit == b'9' {
                *digit = b'0';
            } else {
                *digit += 1;
                carried = false;
                break;
            }
        }
        if carried {
            kept.insert(0, b'1');
        }
    }
    let cents = kept.split_off(kept.len() - places);
    let written = |digits: Vec<u8>| digits.into_iter().map(char::from).collect::<String>();
    let (whole, cents) = (written(kept), written(cents));
    let whole = match whole.trim_start_matches('0') {
        "" => "0".to_owned(),
        trimmed => trimmed.to_owned(),
    };
    let zero = whole == "0" && cents.bytes().all(|b| b == b'0');
    Some((negative && !zero, whole, cents))
}

/// `digits` with the separators of `locale` between its groups.
fn grouped(digits: &str, locale: Locale) -> String {
    let further = match locale.grouping() {
        Grouping::Standard => 3,
        Grouping::Indian => 2,
        Grouping::Posix => return digits.to_owned(),
    };
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        let left = digits.len() - index;
        if index > 0 && (left == 3 || (left > 3 && (left - 3).is_multiple_of(further))) {
            out.push_str(locale.separator());
        }
        out.push(digit);
    }
    out
}

/// The digits after the point, after ISO 4217.
fn minor_digits(currency: &str) -> usize {
    match currency {
        "CLP" | "ISK" | "JPY" | "KRW" | "PYG" | "UGX" | "VND" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

fn symbol(currency: &str) -> &str {
    match currency {
        "EUR" => "€",
        "USD" => "$",
        "GBP" => "£",
        "JPY" => "¥",
        "INR" => "₹",
        "TRY" => "₺",
        "KRW" => "₩",
        "PLN" => "zł",
        "UAH" => "₴",
        "ILS" => "₪",
        "BRL" => "R$",
        other => other,
    }
}

/// Whether a currency stands before the number, after Unicode's CLDR.
fn leads(locale: &str) -> bool {
    let language = locale.split(['-', '_']).next().unwrap_or_default();
    matches!(language, "en" | "ja" | "zh" | "ko" | "hi" | "tr" | "nl" | "th" | "ms" | "mt")
        || matches!(locale, "pt" | "pt-BR" | "pt_BR" | "de-CH" | "de-AT" | "es-MX")
}

/// Whether a space parts a leading symbol from the number.
fn spaced(locale: &str) -> bool {
    locale.starts_with("nl") || locale.starts_with("pt") || locale.starts_with("de")
}

/// `plural n "item" "items"`: the word only.
fn plural(call: &Call<'_>) -> Result<String, String> {
    let count = call.text(0)?;
    let (_, whole, rest) = amount(&count, 6).ok_or_else(|| format!("{count:?} is no number"))?;
    let one = whole == "1" && rest.bytes().all(|b| b == b'0');
    call.text(if one { 1 } else { 2 })
}

/// `urlencode VALUE`: fit for a query or a path segment.
fn urlencode(call: &Call<'_>) -> Result<String, String> {
    Ok(utf8_percent_encode(&call.text(0)?, ESCAPED).to_string())
}

/// `truncate VALUE n`: at most n characters, the last of them `…` where something was cut.
fn truncate(call: &Call<'_>) -> Result<String, String> {
    let text = call.text(0)?;
    let limit = call.text(1)?;
    let limit: usize =
        limit.parse().map_err(|_| format!("{limit:?} is no number of characters"))?;
    if text.chars().count() <= limit {
        return Ok(text);
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    Ok(if limit == 0 { String::new() } else { format!("{}…", kept.trim_end()) })
}
