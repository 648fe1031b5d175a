//! The headers that a user may set, and those that are `mailq`'s own.
//!
//! A header that passes `check_header` can be written without becoming a second one.

use super::fault::{Fault, Kind};

/// Names that `mailq` or a server writes itself, and where their value comes from instead.
const OWNED: [(&str, &str); 19] = [
    ("Date", "mailq sets it when the mail is sent"),
    ("From", "use --from, the column from_addr"),
    ("Sender", "mailq sends for one author"),
    ("Reply-To", "use --reply-to, the column reply_to"),
    ("To", "use --to, the column to_addrs"),
    ("Cc", "use --cc, the column cc_addrs"),
    ("Bcc", "use --bcc, the column bcc_addrs"),
    ("Subject", "use --subject, or the template's subject"),
    ("Message-ID", "mailq derives it from the column message_id"),
    ("MIME-Version", "mailq sets it"),
    ("Received", "servers add it"),
    ("Return-Path", "servers add it"),
    ("Delivered-To", "servers add it"),
    ("Apparently-To", "use --to, the column to_addrs"),
    ("DKIM-Signature", "mailq or the smarthost signs"),
    ("DomainKey-Signature", "mailq or the smarthost signs"),
    ("Authentication-Results", "servers add it"),
    ("Received-SPF", "servers add it"),
    ("X-Original-To", "servers add it"),
];

/// Families of such names.
const OWNED_PREFIXES: [(&str, &str); 3] = [
    ("Content-", "mailq sets it for what the mail holds"),
    ("Resent-", "mailq does not resend"),
    ("ARC-", "servers add it"),
];

/// Headers whose value has a syntax that an encoded-word would break.
const STRUCTURED: [&str; 19] = [
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "List-Subscribe",
    "List-Help",
    "List-Post",
    "List-Owner",
    "List-Archive",
    "List-Id",
    "In-Reply-To",
    "References",
    "Auto-Submitted",
    "Precedence",
    "Importance",
    "Priority",
    "X-Priority",
    "Disposition-Notification-To",
    "Errors-To",
    "Mail-Followup-To",
    "Mail-Reply-To",
];

/// So that a value still fits on the first line.
const LONGEST_NAME: usize = 64;
/// A line is at most 998 bytes (RFC 5322, 2.1.1) and a structured value is folded at white space only.
const LONGEST_WORD: usize = 900;
/// In bytes: more is no header but a mistake.
const LONGEST_VALUE: usize = 65_536;

/// Whether `name` is a header whose value must be written as it is.
pub fn is_structured(name: &str) -> bool {
    STRUCTURED.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Refuses a header that `mailq` owns, that is no header, or that would be more than one.
pub fn check_header(name: &str, value: &str) -> Result<(), Fault> {
    check_name(name)?;
    let refuse = |what: String| Fault::new(Kind::Data, format!("header {name}: {what}"));
    if value.trim().is_empty() {
        return Err(refuse("it has no value".to_owned()));
    }
    if let Some(c) = value.chars().find(|c| is_control(*c)) {
        let code = u32::from(c);
        return Err(refuse(format!("its value holds the control character U+{code:04X}")));
    }
    if value.len() > LONGEST_VALUE {
        let length = value.len();
        return Err(refuse(format!("its value has {length} bytes; {LONGEST_VALUE} are allowed")));
    }
    if is_structured(name) {
        if !value.is_ascii() {
            return Err(refuse(format!("its value {value:?} is not ASCII"))
                .hint("write a URL with percent signs (%C3%BC) and a domain with xn--"));
        }
        if value.split(' ').any(|word| word.len() > LONGEST_WORD) {
            return Err(refuse(format!(
                "its value has more than {LONGEST_WORD} characters without a space"
            )));
        }
    }
    Ok(())
}

/// Whether `c` may stand in no header: every control character but the tab.
pub fn is_control(c: char) -> bool {
    (c.is_control() && c != '\t') || c == '\u{2028}' || c == '\u{2029}'
}

fn check_name(name: &str) -> Result<(), Fault> {
    let is_ftext = |b: u8| (33..=126).contains(&b) && b != b':';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_ftext) {
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        return Err(Fault::new(Kind::Data, format!("{shown:?} is no header name")).hint(format!(
            "a name has 1 to {LONGEST_NAME} printable ASCII characters, no space and no colon"
        )));
    }
    let owner = OWNED.iter().find(|(owned, _)| owned.eq_ignore_ascii_case(name)).or_else(|| {
        OWNED_PREFIXES.iter().find(|(prefix, _)| {
            name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        })
    });
    match owner {
        None => Ok(()),
        Some((_, instead)) => Err(Fault::new(
            Kind::Data,
            format!("header {name}: it cannot be set as an extra header"),
        )
        .hint(*instead)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_the_users_own_passes() {
        for (name, value) in [
            ("X-Shop", "Ünïcode is fine, a\ttab too"),
            ("List-Unsubscribe", "<https://example.com/u?x=1>, <mailto:u@example.com>"),
            ("auto-submitted", "no"),
            ("Organization", "Example"),
        ] {
            assert!(check_header(name, value).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_mailq_owns_is_refused_whatever_its_case() {
        for name in
            ["Date", "FROM", "bcc", "message-id", "Content-Type", "content-foo", "Resent-To"]
        {
            let fault = check_header(name, "x").unwrap_err();
            assert_eq!(fault.kind(), Kind::Data);
            assert!(fault.to_string().contains(name), "{fault}");
            assert!(fault.next_step().is_some());
        }
    }

    #[test]
    fn names_and_values_that_would_break_the_message_are_refused() {
        for name in ["", "a b", "a:", "é", "a\r\nb", &"x".repeat(65)] {
            assert!(check_header(name, "x").is_err(), "{name:?}");
        }
        for value in ["", "  ", "a\r\nBcc: x", "a\nb", "a\rb", "a\0b", "a\u{1b}b", "a\u{85}b"] {
            let fault = check_header("X-A", value).unwrap_err();
            assert!(!fault.to_string().contains('\n'));
        }
        assert!(check_header("List-Unsubscribe", "<https://bücher.example>").is_err());
        let long = format!("<https://example.com/{}>", "x".repeat(1000));
        assert!(check_header("List-Unsubscribe", &long).is_err());
        assert!(check_header("X-Long", &long).is_ok());
    }
}
