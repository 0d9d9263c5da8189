//! Diagnostics as plain text: the line, a caret under it, and what to do.

use std::fmt::{self, Display, Write};

use unicode_width::UnicodeWidthChar;

use super::{Diagnostic, Diagnostics, Severity, Span};

/// Columns of a terminal whose width nobody knows.
const WIDTH: usize = 100;

impl Diagnostics {
    /// All of them for a screen of `width` columns, with a closing line that counts them.
    pub fn render(&self, width: usize) -> String {
        let mut text = String::new();
        for diagnostic in self.iter() {
            text.push_str(&diagnostic.render(width));
            text.push('\n');
        }
        let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
            .into_iter()
            .filter_map(|severity| match self.count(severity) {
                0 => None,
                1 => Some(format!("1 {severity}")),
                n => Some(format!("{n} {severity}s")),
            })
            .collect();
        if !counts.is_empty() {
            text.push_str(&counts.join(", "));
            text.push('\n');
        }
        text
    }
}

impl Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(WIDTH))
    }
}

impl Diagnostic {
    /// It for a screen of `width` columns, ended by a line break.
    pub fn render(&self, width: usize) -> String {
        let mut text = String::new();
        if let Some(span) = &self.span {
            _ = write!(text, "{span}: ");
        }
        _ = writeln!(text, "{}[{}]: {}", self.severity(), self.code.id, self.message);
        let gutter = self.span.as_ref().map_or(1, |span| span.line().to_string().len());
        if let Some(span) = &self.span {
            let (line, caret) = excerpt(span, width.saturating_sub(gutter + 4).max(20));
            _ = writeln!(text, " {} | {line}", span.line());
            _ = writeln!(text, " {:gutter$} | {caret}", "");
        }
        let mut say = |word: &str, what: &str| {
            let lead = format!(" {:gutter$} = {word}: ", "");
            let indent = lead.chars().count();
            for (at, line) in wrap(what, width.saturating_sub(indent)).into_iter().enumerate() {
                let lead = if at == 0 { lead.as_str() } else { "" };
                _ = writeln!(text, "{lead:indent$}{line}");
            }
        };
        // What the message or the help says in the same words is for programs, and not told twice.
        let told = |what: &&String| {
            self.message.contains(*what) || self.help.as_ref().is_some_and(|help| help.contains(*what))
        };
        let expected = self.expected.as_ref().filter(|what| !told(what));
        let found = self.found.as_ref().filter(|what| !told(what));
        for (word, what) in [
            ("node", self.node.as_ref()),
            ("expected", expected),
            ("found", found),
            ("help", self.help.as_ref()),
        ] {
            if let Some(what) = what {
                say(word, what);
            }
        }
        for (span, message) in &self.related {
            say(&span.to_string(), message);
        }
        text
    }
}

impl Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(WIDTH))
    }
}

/// The line of the span, cut around it to `width` columns, and the carets under it.
fn excerpt(span: &Span, width: usize) -> (String, String) {
    let text = span.source().text();
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.start..].find('\n').map_or(text.len(), |at| span.start + at);
    let printable = |part: &str| -> String {
        let part = part.trim_end_matches('\r').replace('\t', "    ");
        part.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
    };
    let before = printable(&text[start..span.start]);
    let marked = printable(&text[span.start..span.end.clamp(span.start, end)]);
    let after = printable(&text[span.end.clamp(span.start, end)..end]);

    let carets = columns(&marked).clamp(1, width);
    let room = width - carets;
    let hidden = columns(&before).saturating_sub(if columns(&before) > room { room / 2 } else { room });
    let (before, cut) = if hidden == 0 { (before, 0) } else { (skip(&before, hidden + 3), 3) };
    let line = format!("{}{before}{marked}{after}", &"..."[..cut]);
    let caret = format!("{:indent$}{:^<carets$}", "", "", indent = cut + columns(&before));
    (fit(&line, width), caret)
}

fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// What is left of `text` behind its first `width` columns.
fn skip(text: &str, width: usize) -> String {
    let mut passed = 0;
    let rest = text.chars().skip_while(|c| {
        let skip = passed < width;
        passed += c.width().unwrap_or(0);
        skip
    });
    rest.collect()
}

/// `text`, or its first columns and an ellipsis.
fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut used = 3;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= width
    });
    kept.chain("...".chars()).collect()
}

/// Lines of at most `width` columns, broken at spaces; a longer word has a line of its own.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, word) in text.split(' ').enumerate() {
        let line = lines.last_mut().expect("there is always a line");
        if at > 0 && columns(line) + 1 + columns(word) > width {
            lines.push(word.to_owned());
        } else {
            line.push_str(if at > 0 { " " } else { "" });
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codes, diagnostic::Source};

    fn at(text: &str, word: &str) -> Diagnostic {
        let source = Source::new("g.ron", text);
        let start = text.find(word).unwrap();
        Diagnostic::new(&codes::UNKNOWN_FIELD, "what is wrong")
            .at(&Span::new(&source, start..start + word.len()))
    }

    #[test]
    fn the_caret_stands_under_the_word() {
        let text = at("(\n    nods: {},\n)", "nods").node("vad").help("did you mean `nodes`?").render(80);
        assert_eq!(
            text,
            "g.ron:2:5: error[GR0103]: what is wrong\n 2 |     nods: {},\n   |     ^^^^\n   = node: vad\n   = help: did \
             you mean `nodes`?\n"
        );
    }

    #[test]
    fn wide_characters_and_tabs_move_the_caret_by_their_width() {
        let text = at("\t\"語\", nods", "nods").render(80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], " 1 |     \"語\", nods");
        assert_eq!(lines[2], "   |           ^^^^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_word() {
        let text = at(&format!("{}nods{}", "x, ".repeat(200), ", y".repeat(200)), "nods").render(60);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].len() <= 60 && lines[1].contains("nods"), "{text}");
        assert_eq!(lines[1].find("nods"), lines[2].find('^'), "{text}");
    }

    #[test]
    fn long_advice_is_wrapped_under_its_start() {
        let text = at("nods", "nods").help("one two three four five six seven eight nine ten").render(40);
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert!(
            text.ends_with("= help: one two three four five six\n           seven eight nine ten\n"),
            "{text}"
        );
    }

    #[test]
    fn the_end_of_the_text_can_be_marked() {
        let source = Source::new("g.ron", "(");
        let text =
            Diagnostic::new(&codes::SYNTAX, "it ends too soon").at(&Span::new(&source, 1..1)).render(80);
        assert!(text.ends_with(" 1 | (\n   |  ^\n"), "{text}");
    }

    #[test]
    fn a_closing_line_counts_by_severity() {
        let mut all = Diagnostics::from(at("a", "a"));
        all.push(at("b", "b"));
        all.push(Diagnostic::new(&codes::OVER_ALLOCATED, "too much"));
        assert!(all.to_string().ends_with("\n2 errors, 1 warning\n"), "{all}");
    }
}
