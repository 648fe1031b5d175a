//! Rows become messages, signed ones, and whatever a row holds, nothing worse than a refusal.

use super::*;
use crate::dkim::Signer;
use crate::domain::address::parse_list;
use crate::domain::message::MailId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const SIZE: u64 = 300 * 1024;

/// A mail with a file that is too large to be held.
fn mail(dir: &Path) -> Mail {
    if !dir.join("large").exists() {
        fs::write(dir.join("large"), vec![b'x'; SIZE as usize]).unwrap();
    }
    Mail {
        id: MailId(1),
        queue: "default".into(),
        from: None,
        reply_to: None,
        to: "you@example.net".into(),
        cc: String::new(),
        bcc: String::new(),
        template: "message".into(),
        locale: None,
        parameters: r#"{"subject":"s","body":"b"}"#.into(),
        attachments: r#"[{"filename":"large","storage_ref":"large"}]"#.into(),
        headers: "{}".into(),
        attempt_count: 0,
        reap_count: 0,
        max_attempts: None,
        created_at: 0,
        next_attempt_at: 0,
        expires_at: None,
        message_id: "token".into(),
        delivered: vec![],
        refused: BTreeMap::new(),
    }
}

fn workshop(dir: &Path, signing: Option<&str>) -> Workshop {
    let key = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dkim/tests/rsa.pem");
    let signers = signing.map(|domain| Signer::read(domain, "s", &key).unwrap());
    Workshop {
        templates: Templates::new(None),
        spool: Spool::new(dir.join("spool"), vec![dir.to_owned()]),
        defaults: Defaults { from: parse_list("me@x.example").unwrap().pop(), reply_to: vec![] },
        own_defaults: HashMap::new(),
        signers: Signers::new(signers.into_iter().collect()),
        max_message_size: 2 * SIZE,
    }
}

fn bytes(outgoing: &Outgoing) -> String {
    let mut out = Vec::new();
    outgoing.content.write_to(&mut out).unwrap();
    assert_eq!(out.len() as u64, outgoing.content.size());
    String::from_utf8(out).unwrap()
}

#[test]
fn a_mail_is_signed_for_its_senders_domain_only() {
    let dir = tempfile::tempdir().unwrap();
    let mail = mail(dir.path());
    let made = |signing| workshop(dir.path(), signing).prepare(&mail, 0).map(|o| bytes(&o));
    let bare = made(None).unwrap();
    assert!(bare.starts_with("Date:"), "{bare:.100}");
    assert_eq!(made(Some("y.example")).unwrap(), bare);
    let signed = made(Some("x.example")).unwrap();
    assert!(signed.starts_with("DKIM-Signature: v=1; a=rsa-sha256;"), "{signed:.100}");
    assert!(signed.ends_with(&bare));
}

#[test]
fn a_file_that_changed_fails_its_mail_whoever_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut mail = mail(dir.path());
    let digest = "0".repeat(64);
    mail.attachments = mail.attachments.replace("}]", &format!(r#","sha256":"{digest}"}}]"#));
    let made = workshop(dir.path(), Some("x.example")).prepare(&mail, 0);
    let (defect, words) = made.err().expect("its bytes are others");
    assert_eq!(defect, Defect::Attachment);
    assert!(words.contains("large"), "{words}");
}

/// What another program may have written into a column: near to what belongs there, or far from it.
fn column(good: &'static [&'static str]) -> impl Strategy<Value = String> {
    let near = prop::sample::select(good).prop_flat_map(|good| {
        let cut = 0..=good.chars().count();
        (Just(good), cut, any::<String>()).prop_map(|(good, cut, odd)| {
            let head: String = good.chars().take(cut).collect();
            let tail: String = good.chars().skip(cut).collect();
            format!("{head}{odd}{tail}")
        })
    });
    prop_oneof![20 => prop::sample::select(good).prop_map(str::to_owned), 2 => near, 1 => any::<String>()]
}

const LISTS: &[&str] = &[
    "",
    "a@x.example",
    "Ada <a@x.example>, \"B, c\" <b@größe.example>",
    "\"quoted local\"@x.example",
    "größe@x.example",
    "a@[192.0.2.1]",
    "g: a@x.example;",
];
const PARAMETERS: &[&str] = &[
    r#"{"subject":"s","body":"b"}"#,
    r#"{"subject":"é\r\nBcc: x","body":"\u0000\r.\r\n","html":"<p>&amp;</p>"}"#,
    r#"{"subject":1e400,"body":[[[]]]}"#,
    "[]",
];
const ATTACHMENTS: &[&str] = &[
    "[]",
    r#"[{"filename":"a\"\r\nX: y","storage_ref":"small","content_type":"text/plain; a=b"}]"#,
    r#"[{"filename":"../é","storage_ref":"small","cid":"c"},{"filename":"","storage_ref":"/etc/passwd"}]"#,
];
const HEADERS: &[&str] =
    &["{}", r#"{"X-A":"é\r\nBcc: x"}"#, r#"{"List-Unsubscribe":"https://x.example/"}"#, "[1]"];

fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(500), failure_persistence: None, ..usual }
}

/// What no message may have: a line that is too long or has no CRLF, a NUL, a byte that is no ASCII.
fn faults(message: &[u8], is_utf8: bool) -> Option<String> {
    let text = String::from_utf8_lossy(message);
    let long = text.split("\r\n").find(|line| line.len() > 998);
    let bare = text.replace("\r\n", "").contains(['\r', '\n', '\0']);
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    let names: Vec<&str> = head
        .split("\r\n")
        .filter(|line| !line.starts_with([' ', '\t']))
        .map(|line| line.split(':').next().unwrap_or_default())
        .collect();
    let hidden = names.iter().any(|name| name.eq_ignore_ascii_case("Bcc"));
    let twice = names
        .iter()
        .enumerate()
        .any(|(at, name)| names[..at].iter().any(|before| before.eq_ignore_ascii_case(name)));
    let is_bad = long.is_some() || bare || hidden || twice || (!is_utf8 && !text.is_ascii());
    is_bad.then(|| text.into_owned())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_row_is_built_or_refused_in_one_line(
        from in prop::option::of(column(LISTS)),
        to in column(LISTS),
        cc in column(LISTS),
        bcc in column(LISTS),
        (template, locale) in (column(&["message", "welcome", "../message"]), prop::option::of(column(&["tr", "pt-BR"]))),
        parameters in column(PARAMETERS),
        attachments in column(ATTACHMENTS),
        headers in column(HEADERS),
        message_id in column(&["0123456789abcdef"]),
        now in any::<i64>(),
    ) {
        // One workshop for all cases: what a case leaves behind must not matter to the next.
        static SHOP: std::sync::LazyLock<(tempfile::TempDir, Workshop)> = std::sync::LazyLock::new(|| {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("small"), "small").unwrap();
            let shop = workshop(dir.path(), Some("x.example"));
            (dir, shop)
        });
        let (dir, shop) = &*SHOP;
        let row = Mail {
            from, to, cc, bcc, template, locale, parameters, attachments, headers, message_id,
            ..mail(dir.path())
        };
        match shop.prepare(&row, now) {
            Ok(outgoing) => {
                let envelope = &outgoing.envelope;
                let is_utf8 = std::iter::once(&envelope.sender)
                    .chain(&envelope.recipients)
                    .any(|address| address.needs_smtputf8());
                let message = bytes(&outgoing);
                prop_assert_eq!(faults(message.as_bytes(), is_utf8), None);
            }
            Err((_, words)) => {
                prop_assert!(!words.contains("has a bug"), "{:?}", row);
                prop_assert!(!words.contains(char::is_control) && words.len() < 2_000, "{:?}", words);
            }
        }
    }
}
