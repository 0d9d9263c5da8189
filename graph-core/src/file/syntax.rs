//! Words for what is wrong with a file that is not RON.
//!
//! RON says what it missed at which place. What people did is most often a bracket or a quote somewhere before it, so the
//! text up to that place is read again for what is still open there.

use std::sync::Arc;

use ron::{Error, error::SpannedError};

use crate::{
    codes,
    diagnostic::{Diagnostic, Source, Span},
};

/// The complaint of a file that is not RON.
pub(super) fn complaint(source: &Arc<Source>, error: &SpannedError) -> Diagnostic {
    let start = source.offset(error.span.start.line, error.span.start.col);
    let end = source.offset(error.span.end.line, error.span.end.col);
    let text = source.text();
    let place = |at: usize, length: usize| Span::new(source, at..at + length);
    let before = Open::before(text, start);
    let next = text[start..].chars().next();
    let ended = text[end..].trim().is_empty() && !matches!(error.code, Error::TrailingCharacters);
    let say =
        |message: String| Diagnostic::new(&codes::SYNTAX, message).at(&place(start, (end - start).max(1)));

    let mut diagnostic = match (&error.code, next, before.brackets.last()) {
        (_, Some(found @ (')' | ']' | '}')), Some(&(at, bracket))) if found != closing(bracket) => {
            say(format!("`{found}` does not close the `{bracket}` before it"))
                .help(format!(
                    "write `{}`: fields are in ( ), named entries in {{ }}, lists in [ ]",
                    closing(bracket)
                ))
                .related(&place(at, 1), "opened here")
        }
        (Error::Eof, _, None) => say("the file holds no graph".to_owned())
            .help("the least graph is (nodes: { .. }, edges: [ .. ]); `graphrun new graph` writes one"),
        (Error::Eof | Error::ExpectedComma, _, Some(&(at, bracket))) if ended => {
            Diagnostic::new(&codes::SYNTAX, format!("this `{bracket}` is never closed"))
                .at(&place(at, 1))
                .help(format!("add `{}`, or remove a bracket that closes too soon", closing(bracket)))
        }
        (Error::ExpectedComma, Some(':'), _) => say("there is a `:` where a comma is expected".to_owned())
            .help("entries with a name in quotes are in { }, as in nodes: { \"vad\": (..) }"),
        (Error::ExpectedComma | Error::ExpectedMapColon, Some('='), _) => {
            say("there is a `=` where none is expected".to_owned()).help("write `name: value`")
        }
        (Error::ExpectedComma, Some(_), _) => say("a comma is missing before this".to_owned())
            .help("fields and entries are separated by commas"),
        (Error::ExpectedMapColon, ..) => {
            say("a `:` is missing before this".to_owned()).help("write `name: value`")
        }
        (Error::ExpectedStringEnd, ..) => {
            say("the text that starts here is not closed".to_owned()).help("add a `\"` at its end")
        }
        (Error::ExpectedChar, Some('\''), _) => {
            say("single quotes hold one character only".to_owned()).help("write text in double quotes")
        }
        (Error::TrailingCharacters, ..) if !text.trim_start().starts_with('(') => {
            say("the graph is not in parentheses".to_owned())
                .help("a file is one graph in one pair of them: (nodes: { .. }, edges: [ .. ])")
        }
        (Error::TrailingCharacters, ..) => say("there is more text behind the end of the graph".to_owned())
            .help("a file is one graph in one pair of parentheses; is a bracket closed too soon?"),
        (Error::ExpectedIdentifier | Error::SuggestRawIdentifier(_) | Error::InvalidIdentifier(_), ..) => {
            say("the name of a field is expected here".to_owned())
                .help("write `name: value`, the name without quotes")
        }
        (other, ..) => say(sentence(other)),
    };
    if let Some(at) = before.long_text {
        let message = "this text goes on into the next line: is its closing quote missing?";
        diagnostic = diagnostic.related(&place(at, 1), message);
    }
    diagnostic
}

/// RON's words for an error, as a fragment that follows a colon.
pub(super) fn sentence(error: &Error) -> String {
    match error {
        Error::Eof => "the text ends too soon".to_owned(),
        Error::ExceededRecursionLimit => "brackets are nested too deep".to_owned(),
        Error::TrailingCharacters => "there is more text behind the end of the value".to_owned(),
        other => {
            let text = other.to_string();
            let mut letters = text.chars();
            letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
        }
    }
}

fn closing(bracket: char) -> char {
    match bracket {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// What is open at a place of a text.
#[derive(Default)]
struct Open {
    /// Brackets that are not closed yet, the innermost last.
    brackets: Vec<(usize, char)>,
    /// Where the last text starts that goes over the end of a line.
    long_text: Option<usize>,
}

impl Open {
    fn before(text: &str, end: usize) -> Open {
        let mut open = Open::default();
        let mut at = 0;
        while at < end {
            let rest = &text[at..];
            let next = rest.chars().next().unwrap_or_default();
            if let Some(length) = comment(rest) {
                at += length;
            } else if let Some(length) = quoted(rest) {
                if rest[..length].contains('\n') {
                    open.long_text = Some(at);
                }
                at += length;
            } else {
                match next {
                    '(' | '[' | '{' => open.brackets.push((at, next)),
                    ')' | ']' | '}' => drop(open.brackets.pop()),
                    _ => {}
                }
                at += next.len_utf8();
            }
        }
        open
    }
}

/// Length of the comment that `text` starts with. Those between /* and */ nest.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let step = if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth -= 1;
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        if depth == 0 && at == 0 {
            return None;
        }
        at += step;
        if depth == 0 {
            return Some(at);
        }
    }
    (depth > 0).then_some(text.len())
}

/// Length of the quoted text or character that `text` starts with; all of it where the quote is not closed.
fn quoted(text: &str) -> Option<usize> {
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let inner = raw[hashes..].strip_prefix('"')?;
        return Some(inner.find(&end).map_or(text.len(), |at| 1 + hashes + 1 + at + end.len()));
    }
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // A single quote that no other follows at once is a slip and opens nothing.
            '\n' if quote == '\'' => return None,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    (quote == '"').then_some(text.len())
}

#[cfg(test)]
mod tests {
    use crate::check::fixture;

    /// Line and column, message and what belongs to it.
    fn told(text: &str) -> (usize, usize, String, Vec<String>) {
        let (_, diagnostics) = fixture::check(text);
        assert_eq!(diagnostics.len(), 1, "{diagnostics}");
        let only = &diagnostics[0];
        assert_eq!(only.code.id, "GR0101", "{diagnostics}");
        let span = only.span.as_ref().unwrap();
        let related =
            only.related.iter().map(|(span, message)| format!("{} {message}", span.line())).collect();
        (span.line(), span.column(), only.message.clone(), related)
    }

    #[test]
    fn the_slips_that_people_make_are_told_in_words() {
        for (text, line, column, message) in [
            ("", 1, 1, "the file holds no graph"),
            ("  // nothing (\n", 1, 15, "the file holds no graph"),
            ("(nodes: {\n  \"a\": (kind: \"x\"),\n", 1, 9, "this `{` is never closed"),
            (
                "(nodes: {\n  \"a\": (kind: \"x,\n}, edges: [])",
                2,
                15,
                "the text that starts here is not closed",
            ),
            ("(nodes: {\n  \"a\" (kind: \"x\"),\n})", 2, 6, "a `:` is missing before this"),
            ("(nodes: {\n  \"a\": (kind: \"x\"]),\n})", 2, 18, "`]` does not close the `(` before it"),
            ("(nodes: {\n  \"a\": (kind: \"x\"\n})", 3, 1, "`}` does not close the `(` before it"),
            ("(nodes: (\n  \"a\": (kind: \"x\"),\n))", 2, 6, "there is a `:` where a comma is expected"),
            ("(nodes: {\n  \"a\": (kind: 'x/y'),\n})", 2, 15, "single quotes hold one character only"),
            ("(nodes = {})", 1, 8, "there is a `=` where none is expected"),
            ("(name: \"a\"\n about: \"b\")", 2, 2, "a comma is missing before this"),
            ("(nodes: {})) // (", 1, 12, "there is more text behind the end of the graph"),
            ("nodes: {}\nedges: []", 1, 6, "the graph is not in parentheses"),
            ("(\"name\": \"x\")", 1, 8, "there is a `:` where a comma is expected"),
            ("(name: \"a\\q\")", 1, 9, "unknown escape character"),
        ] {
            let (found_line, found_column, found, _) = told(text);
            assert_eq!((found_line, found_column, found.as_str()), (line, column, message), "{text}");
        }
    }

    #[test]
    fn a_quote_that_swallowed_the_next_line_is_named() {
        let (line, _, _, related) = told("(nodes: {\n  \"a\": (kind: \"x),\n  \"b\": (kind: \"y\"),\n})");
        assert_eq!(line, 3);
        assert_eq!(related, ["2 this text goes on into the next line: is its closing quote missing?"]);
    }

    #[test]
    fn brackets_in_comments_and_quotes_do_not_count() {
        let (_, column, message, _) =
            told("( // (((\n name: \"((\\\"(\", about: r#\"\"(\"#, /* ( /* ( */ */ class: \"x\"");
        assert_eq!((column, message.as_str()), (1, "this `(` is never closed"));
    }
}
