//! The nesting of a template, bounded before it is parsed.
//!
//! The parser and the renderer of handlebars call themselves once a level, and a stack that overflows ends the process.
//! So no source reaches them whose blocks, brackets or `else if` chains are deeper than a hand would write.

/// The deepest nesting of blocks in one file. An `else if` counts as a level, for it is one to the renderer.
pub(super) const DEEPEST_BLOCKS: usize = 40;
/// The deepest nesting of brackets within one tag.
const DEEPEST_BRACKETS: usize = 12;

/// Why a source is refused, and on which line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooDeep {
    pub(super) line: usize,
    pub(super) what: &'static str,
    pub(super) limit: usize,
}

/// Refuses a source that nests too deep.
pub(super) fn nesting(source: &str) -> Result<(), TooDeep> {
    let mut rest = source;
    // The levels that each open block adds: one, and one for each `else if` in it.
    let mut open: Vec<usize> = Vec::new();
    let mut depth = 0;
    while let Some(at) = rest.find("{{") {
        let escaped = rest[..at].ends_with('\\') && !rest[..at].ends_with("\\\\");
        let tag = &rest[at + 2..];
        let line = || 1 + source[..source.len() - tag.len()].matches('\n').count();
        if escaped {
            rest = tag;
            continue;
        }
        if tag.starts_with("{{") {
            rest = tag.split_once("{{{{/").map_or("", |(_, after)| after);
            continue;
        }
        if let Some(comment) = tag.strip_prefix('!') {
            rest = after_comment(comment);
            continue;
        }
        let (length, brackets) = tag_extent(tag);
        if brackets > DEEPEST_BRACKETS {
            return Err(TooDeep { line: line(), what: "brackets", limit: DEEPEST_BRACKETS });
        }
        let inner = tag[..length].trim_start_matches(|c: char| c.is_whitespace() || c == '~');
        if inner.starts_with('#') {
            open.push(1);
            depth += 1;
        } else if inner.starts_with('/') {
            depth -= open.pop().unwrap_or(0);
        } else if (inner.starts_with("else") || inner.starts_with('^'))
            && let Some(levels) = open.last_mut()
        {
            *levels += 1;
            depth += 1;
        }
        if depth > DEEPEST_BLOCKS {
            return Err(TooDeep { line: line(), what: "blocks", limit: DEEPEST_BLOCKS });
        }
        rest = &tag[length..];
    }
    Ok(())
}

/// What follows a comment, whose text is given from after its `!`.
fn after_comment(comment: &str) -> &str {
    let long = comment.strip_prefix("--").and_then(|text| text.split_once("--}}"));
    long.or_else(|| comment.split_once("}}")).map_or("", |(_, after)| after)
}

/// The length of a tag up to its `}}`, and its deepest nesting of brackets outside quotes.
fn tag_extent(tag: &str) -> (usize, usize) {
    let mut quote = None;
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let mut previous = ' ';
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c && previous != '\\' => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (None, '}') if tag[at..].starts_with("}}") && depth <= 1 => return (at, deepest),
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        previous = c;
    }
    (tag.len(), deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_blocks_brackets_and_chains_are_refused() {
        let blocks = format!("a\n{}", "{{#if x}}".repeat(2000));
        let told = nesting(&blocks).unwrap_err();
        assert_eq!((told.line, told.what), (2, "blocks"));
        let closed = format!("{}{}", "{{~ # if x}}".repeat(2000), "{{/if}}".repeat(2000));
        assert!(nesting(&closed).is_err());
        let brackets =
            format!("{{{{#if {}x{}}}}}{{{{/if}}}}", "(not ".repeat(2000), ")".repeat(2000));
        assert_eq!(nesting(&brackets).unwrap_err().what, "brackets");
        assert!(nesting(&format!("{{{{x {}1{}}}}}", "[".repeat(200), "]".repeat(200))).is_err());
        let chain = format!("{{{{#if a}}}}{}{{{{/if}}}}", "{{else if b}}".repeat(2000));
        assert!(nesting(&chain).is_err());
        assert!(nesting(&"{{#a}}{{!-- {{/a}} --}}".repeat(100)).is_err());
        assert!(nesting(&"{{#a}}\\{{/a}}".repeat(100)).is_err());
        assert!(nesting(&"{{#a \"}}{{/a}}\"}}".repeat(100)).is_err());
    }

    #[test]
    fn a_long_flat_template_passes() {
        let flat =
            "{{#if a}}{{x \"}}\" (b)}}{{else}}{{{y}}}{{/if}}{{!-- {{#if}} --}}\n".repeat(500);
        assert_eq!(nesting(&flat), Ok(()));
        assert_eq!(nesting(&"\\{{#if}} {{{{raw}}}} {{#if}} {{{{/raw}}}}".repeat(100)), Ok(()));
    }
}
