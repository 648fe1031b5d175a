//! The files that go with a mail: `--attach` and `--inline`.

use super::EnqueueArgs;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::Attachment;
use crate::spool::{self, Spool};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A file that was asked for.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    /// What `cid:` in the HTML calls it; `None` for an ordinary attachment.
    pub(super) cid: Option<String>,
}

/// The files that the options name, in their order. Nothing is opened yet.
pub(super) fn wanted(args: &EnqueueArgs) -> Result<Vec<Wanted>, Fault> {
    let attached = args.attach.iter().map(|path| Ok(Wanted { path: path.clone(), cid: None }));
    let inline = args.inline.iter().map(|pair| inline(pair));
    let all: Vec<Wanted> = attached.chain(inline).collect::<Result<_, Fault>>()?;
    let mut cids: Vec<&str> = all.iter().filter_map(|one| one.cid.as_deref()).collect();
    cids.sort_unstable();
    if let Some(twice) = cids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Fault::new(Kind::Usage, format!("--inline {} is given twice", twice[0]))
            .hint("each CID names one file"));
    }
    Ok(all)
}

fn inline(pair: &OsStr) -> Result<Wanted, Fault> {
    let bytes = pair.as_bytes();
    let wrong = || {
        Fault::new(Kind::Usage, format!("--inline {:?} is no CID=PATH", pair.to_string_lossy()))
            .hint("write --inline logo=logo.png, and <img src=\"cid:logo\"> in the HTML")
    };
    let at = bytes.iter().position(|b| *b == b'=').ok_or_else(wrong)?;
    let cid = std::str::from_utf8(&bytes[..at]).map_err(|_| wrong())?;
    let is_sound =
        !cid.is_empty() && cid.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b));
    if !is_sound {
        return Err(wrong());
    }
    let path = PathBuf::from(OsString::from_vec(bytes[at + 1..].to_vec()));
    Ok(Wanted { path, cid: Some(cid.to_owned()) })
}

/// What this command has taken in already: a file that many mails want is copied once.
pub(super) type Taken = HashMap<PathBuf, Attachment>;

/// Copies the files into `spool`, or only looks at them where there is none. All must fit into one message of `limit`
/// bytes.
pub(super) fn take(
    wanted: Vec<Wanted>,
    spool: Option<&Spool>,
    limit: u64,
    known: &mut Taken,
) -> Result<Vec<Attachment>, Fault> {
    let mut left = limit;
    let mut all = Vec::new();
    for Wanted { path, cid } in wanted {
        let taken = match (known.get(&path), spool) {
            (Some(taken), _) if taken.size.is_some_and(|size| size <= left) => taken.clone(),
            (_, Some(spool)) => spool.take_in(&path, None, left)?,
            (_, None) => spool::look_at(&path, left)?,
        };
        known.entry(path).or_insert_with(|| taken.clone());
        // base64 makes four bytes of three.
        left = left.saturating_sub(taken.size.unwrap_or_default().saturating_mul(4) / 3);
        all.push(Attachment { cid, ..taken });
    }
    Ok(all)
}

/// What does not fit together between the HTML, if there is one, and the images for it.
pub(super) fn mismatches(wanted: &[Wanted], html: Option<&str>) -> Vec<String> {
    let given: Vec<&str> = wanted.iter().filter_map(|one| one.cid.as_deref()).collect();
    let used = html.map(cids).unwrap_or_default();
    let mut told = Vec::new();
    for cid in &given {
        if html.is_none() {
            told.push(format!("--inline {cid}: the mail has no HTML to show it in"));
        } else if !used.iter().any(|one| one == cid) {
            told.push(format!("--inline {cid}: the HTML does not mention cid:{cid}"));
        }
    }
    for cid in used.iter().filter(|cid| !given.contains(&cid.as_str())) {
        told.push(format!("the HTML shows cid:{cid}, and no --inline {cid}=PATH gives it"));
    }
    told
}

/// What the attributes of `html` refer to by `cid:`, each once.
fn cids(html: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (at, _) in html.match_indices("cid:") {
        let quote = html[..at].chars().next_back();
        if !matches!(quote, Some('"' | '\'' | '(' | '=')) {
            continue;
        }
        let rest = &html[at + "cid:".len()..];
        let end = rest.find(|c: char| c.is_whitespace() || "\"'()<>".contains(c));
        let cid = rest[..end.unwrap_or(rest.len())].to_owned();
        if !cid.is_empty() && !all.contains(&cid) {
            all.push(cid);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_are_cids() {
        let html = r#"<img src="cid:a"><p style='background:url(cid:b@x)'>cid: no acid:x "cid:"</p><img src=cid:a>"#;
        assert_eq!(cids(html), ["a", "b@x"]);
        assert_eq!(cids("cid:start"), Vec::<String>::new());
    }

    #[test]
    fn images_and_html_must_fit_together() {
        let wanted = [
            Wanted { path: "l.png".into(), cid: Some("logo".into()) },
            Wanted { path: "a".into(), cid: None },
        ];
        assert!(mismatches(&wanted, Some("<img src=\"cid:logo\">")).is_empty());
        assert_eq!(mismatches(&wanted, None).len(), 1);
        assert_eq!(mismatches(&wanted, Some("<img src=\"cid:Logo\">")).len(), 2);
        assert_eq!(mismatches(&[], Some("<img src='cid:x'>")).len(), 1);
    }
}
