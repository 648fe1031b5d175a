//! Signatures, checked with ring's verifier over a canonical form that these tests make themselves.

use super::*;
use crate::domain::fault::Kind;
use ring::signature::{ED25519, KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const RSA: &str = include_str!("tests/rsa.pem");

fn pem(kind: &str, der: &[u8]) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", STANDARD.encode(der))
}

/// A key as `openssl genpkey -algorithm ED25519` writes it: PKCS#8 without the public half. That of RFC 8463, A.2.
fn ed25519() -> String {
    let mut der = STANDARD.decode("MC4CAQAwBQYDK2VwBCIEIA==").unwrap();
    der.extend(STANDARD.decode("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=").unwrap());
    pem("PRIVATE KEY", &der)
}

fn signer(domain: &str, selector: &str, key: &str) -> Signer {
    let key = Key::parse(key.as_bytes()).map_err(|(why, _)| why).unwrap();
    Signer { domain: domain.to_owned(), selector: selector.to_owned(), key }
}

fn bytes(content: &dyn Content) -> String {
    let mut out = Vec::new();
    content.write_to(&mut out).unwrap();
    assert_eq!(out.len() as u64, content.size());
    String::from_utf8(out).unwrap()
}

fn signed(signer: Signer, sender: &str, message: &str) -> String {
    let content: Box<dyn Content> = Box::new(message.as_bytes().to_vec());
    let signers = Signers::new(vec![signer]);
    bytes(signers.sign(sender, content, 1_528_637_909_123).unwrap().as_ref())
}

/// The tags of the signature that the message begins with, if `key` made it.
fn verify(message: &str, key: &Key) -> Option<BTreeMap<String, String>> {
    let (header, body) = message.split_once("\r\n\r\n").unwrap();
    let header = header.replace("\r\n ", " ").replace("\r\n\t", " ");
    let relaxed = |text: &str| {
        text.split([' ', '\t']).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let fields: Vec<(String, String)> = header
        .split("\r\n")
        .map(|field| field.split_once(':').unwrap())
        .map(|(name, value)| (name.trim_end().to_lowercase(), relaxed(value)))
        .collect();
    let (name, own) = &fields[0];
    assert_eq!(name, "dkim-signature");
    let tags: BTreeMap<String, String> = own
        .split("; ")
        .map(|tag| tag.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.replace(' ', "")))
        .collect();
    let lines: Vec<String> = body
        .split("\r\n")
        .map(|line| {
            let lead = if line.starts_with([' ', '\t']) { " " } else { "" };
            format!("{lead}{}", relaxed(line)).trim_end().to_owned()
        })
        .collect();
    let body = lines.join("\r\n");
    let body = match body.trim_end_matches("\r\n") {
        "" => String::new(),
        text => format!("{text}\r\n"),
    };
    assert_eq!(tags["bh"], STANDARD.encode(Sha256::digest(&body)));
    let mut text = String::new();
    let mut rest = fields[1..].to_vec();
    for name in tags["h"].split(':').map(str::to_lowercase) {
        if let Some(at) = rest.iter().rposition(|(found, _)| *found == name) {
            let (name, value) = rest.remove(at);
            text += &format!("{name}:{value}\r\n");
        }
    }
    let (before, _) = own.split_once(" b=").unwrap();
    text += &format!("dkim-signature:{before} b=");
    let signature = STANDARD.decode(&tags["b"]).unwrap();
    match key {
        Key::Rsa(pair) => {
            UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref())
                .verify(text.as_bytes(), &signature)
        }
        Key::Ed25519(pair) => UnparsedPublicKey::new(&ED25519, pair.public_key().as_ref())
            .verify(&Sha256::digest(&text), &signature),
    }
    .ok()
    .map(|()| tags)
}

#[test]
fn the_example_of_rfc_8463_is_signed_as_there() {
    let own = " v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n d=football.example.com; \
        i=@football.example.com;\r\n q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n \
        subject : date : message-id : from : subject : date;\r\n \
        bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n b=";
    let message = "From: Joe SixPack <joe@football.example.com>\r\n\
        To: Suzie Q <suzie@shopping.example.net>\r\n\
        Subject: Is dinner ready?\r\n\
        Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)\r\n\
        Message-ID: <20030712040037.46341.5F8J@football.example.com>\r\n\
        \r\n\
        Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n";
    let mut intake = Intake::default();
    intake.write_all(message.as_bytes()).unwrap();
    let (header, body) = intake.finish();
    assert_eq!(STANDARD.encode(body), "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=");
    let mut text = Vec::new();
    for (name, value) in fields(&header) {
        push_field(&mut text, name, value);
        text.extend_from_slice(b"\r\n");
    }
    push_field(&mut text, b"DKIM-Signature", own.as_bytes());
    let signature = signer("football.example.com", "brisbane", &ed25519()).key.sign(&text).unwrap();
    assert_eq!(
        STANDARD.encode(signature),
        "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw=="
    );
}

/// A message as the builder makes them: encoded, folded, with all fields that are signed.
fn full() -> String {
    let subject = "=?utf-8?q?=C3=A9=C3=A9=C3=A9=C3=A9=C3=A9=C3=A9?=\r\n ".repeat(40);
    format!(
        "Date: Wed, 29 Nov 2023 10:00:00 +0000\r\nFrom: =?utf-8?q?Gr=C3=B6=C3=9Fe?=\r\n \
         <me@sub.example.com>\r\nReply-To: r@example.com\r\nTo: you@example.net\r\n\
         Cc: c@example.net\r\nSubject: {subject}x\r\nMessage-ID: <t@sub.example.com>\r\n\
         MIME-Version: 1.0\r\nList-Unsubscribe: <https://example.com/u>\r\n\
         List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\nAuto-Submitted: auto-generated\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n\
         a  b\r\n .\r\n\r\nc\r\n\r\n"
    )
}

#[test]
fn the_nearest_domain_signs_all_that_matters() {
    for key in [RSA, &ed25519()] {
        let signers = Signers::new(vec![
            signer("net", "no", key),
            signer("example.com", "mail.2026", key),
            signer("com", "far", key),
        ]);
        let content = Box::new(full().into_bytes());
        let content = signers.sign("sub.example.com", content, 1_700_000_000_999).unwrap();
        let message = bytes(content.as_ref());
        let tags = verify(&message, &signer("x", "s", key).key).unwrap();
        assert_eq!((tags["d"].as_str(), tags["s"].as_str()), ("example.com", "mail.2026"));
        assert_eq!(tags["t"], "1700000000");
        assert_eq!(
            tags["h"],
            "From:From:Reply-To:To:Cc:Subject:Date:Message-ID:MIME-Version:Content-Type:\
             List-Unsubscribe:List-Unsubscribe-Post"
        );
        for line in message.split("\r\n").take_while(|line| !line.starts_with("Date:")) {
            assert!(line.len() <= LINE && !line.trim().is_empty(), "{line:?}");
        }
    }
}

#[test]
fn any_message_is_signed_and_a_changed_one_is_not() {
    let own = signer("x.example", "s", RSA);
    for message in [
        "From: a@x.example\r\n\r\n",
        "From: a@x.example\r\n\r\n\r\n\r\n",
        "From: a@x.example\r\nSubject:\r\n\r\n b \t c \r\n\r\n",
        "from : a@x.example\r\nSubject: a\r\n  b\r\nsubject: c\r\n\r\nno end",
    ] {
        let message = signed(signer("x.example", "s", RSA), "x.example", message);
        assert!(verify(&message, &own.key).is_some(), "{message}");
        for (from, to) in [("a@x", "b@x"), ("v=1;", "v=1; q=z;")] {
            let changed = message.replacen(from, to, 1);
            assert_eq!(verify(&changed, &own.key), None, "{changed}");
        }
        let second = message.replacen("\r\n\r\n", "\r\nFrom: evil@y.example\r\n\r\n", 1);
        assert_eq!(verify(&second, &own.key), None, "{second}");
    }
}

#[test]
fn who_has_no_key_is_not_signed_for() {
    let message = "From: a@b.example\r\n\r\nx\r\n";
    for sender in ["notx.example", "example", "y.example", "x.example.net", "[192.0.2.1]", ""] {
        assert_eq!(signed(signer("x.example", "s", &ed25519()), sender, message), message);
    }
    let long = format!("{}.example", ["a".repeat(60).as_str(); 3].join("."));
    let message = signed(signer(&long, "s", &ed25519()), &long, message);
    assert!(verify(&message, &signer("x", "s", &ed25519()).key).is_some());
}

#[test]
fn a_key_is_read_in_each_form_or_refused_with_its_reason() {
    let pkcs8 = PrivatePkcs8KeyDer::from_pem_slice(RSA.as_bytes()).unwrap();
    // The same key without its PKCS#8 envelope.
    let pkcs1 = pem("RSA PRIVATE KEY", &pkcs8.secret_pkcs8_der()[26..]);
    let good = "From: a@x.example\r\n\r\nx\r\n";
    let one = signed(signer("x.example", "s", RSA), "x.example", good);
    assert_eq!(signed(signer("x.example", "s", &pkcs1), "x.example", good), one);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key.pem");
    let told = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        let fault = Signer::read("x.example", "s", &path).err().expect("it is refused");
        assert_eq!(fault.kind(), Kind::Config);
        assert!(fault.next_step().is_some());
        let told = fault.to_string();
        let begin = format!("dkim x.example: the key file {} ", path.display());
        told.strip_prefix(&begin).expect("it names domain and file").to_owned()
    };
    let damaged = pem("PRIVATE KEY", &pkcs8.secret_pkcs8_der()[..900]);
    let public = RSA.replace("PRIVATE", "PUBLIC");
    for (text, why) in [
        (b"".as_slice(), "holds no private key"),
        (b"\xff\0not PEM", "holds no private key"),
        (public.as_bytes(), "holds no private key"),
        (include_bytes!("tests/short.pem"), "has an RSA key of less than 2048 bits"),
        (include_bytes!("tests/curve.pem"), "is for neither RSA nor Ed25519"),
        (b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "is encrypted with a passphrase"),
        (damaged.as_bytes(), "holds a key that is damaged"),
    ] {
        let told = told(text);
        assert!(told.starts_with(why), "{told}");
    }
    std::fs::remove_file(&path).unwrap();
    let missing = Signer::read("x.example", "s", &path).err().unwrap();
    assert!(missing.to_string().contains("cannot be read: "), "{missing}");
    let folder = Signer::read("x.example", "s", dir.path()).err().unwrap();
    assert!(folder.to_string().contains("no regular file"), "{folder}");
}
