//! XML as far as SSML needs it, taken apart in place, whatever state it is in.

use std::borrow::Cow;

/// What comes next in a text with markup.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// Words. `true`: entities in it are to be read.
    Text(&'a str, bool),
    /// `<name attributes>`, or `<name attributes/>` with `empty`.
    Open { name: &'a str, attributes: &'a str, empty: bool },
    /// `</name>`
    Close { name: &'a str },
    /// A tag that does not end, or `<` alone.
    Broken,
}

/// Whether a `<` at the start of `rest` begins a tag, a comment and the like.
fn begins_tag(rest: &[u8]) -> bool {
    matches!(rest, [b'<', b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'!' | b'?' | b'_', ..])
}

/// Whether a text has markup at all.
pub(super) fn has_markup(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        if begins_tag(&rest.as_bytes()[at..]) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

/// Goes through a text with markup from left to right.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Scanner { text, at: 0 }
    }

    /// The byte offset of what comes next.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    fn take(&mut self, len: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + len];
        self.at += len;
        taken
    }

    /// Passes over everything up to the end of `mark`, or over all there is.
    fn take_through(&mut self, mark: &str) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let Some(len) = rest.find(mark) else {
            self.at = self.text.len();
            return None;
        };
        let inner = &rest[..len];
        self.at += len + mark.len();
        Some(inner)
    }

    /// What comes next; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return None;
            }
            if !rest.starts_with('<') {
                return Some(Event::Text(self.take(rest.find('<').unwrap_or(rest.len())), true));
            }
            if !begins_tag(rest.as_bytes()) {
                self.at += 1;
                return Some(Event::Broken);
            }
            let ended = if rest.starts_with("<!--") {
                self.take_through("-->").is_some()
            } else if rest.starts_with("<![CDATA[") {
                self.at += "<![CDATA[".len();
                match self.take_through("]]>") {
                    Some(text) => return Some(Event::Text(text, false)),
                    None => false,
                }
            } else if rest.starts_with("<?") {
                self.take_through("?>").is_some()
            } else if rest.starts_with("<!") {
                self.take_through(">").is_some()
            } else {
                return Some(self.tag(rest));
            };
            if !ended {
                return Some(Event::Broken);
            }
        }
    }

    fn tag(&mut self, rest: &'a str) -> Event<'a> {
        let Some(len) = tag_length(rest.as_bytes()) else {
            // The next tag, or else the end, ends this one.
            let len = rest[1..].find('<').map_or(rest.len(), |len| len + 1);
            self.take(len);
            return Event::Broken;
        };
        let tag = self.take(len);
        let inner = &tag[1..len - 1];
        if let Some(name) = inner.strip_prefix('/') {
            return Event::Close { name: name.trim_ascii() };
        }
        let (inner, empty) = match inner.strip_suffix('/') {
            Some(inner) => (inner, true),
            None => (inner, false),
        };
        let end = inner.find(|char: char| char.is_ascii_whitespace()).unwrap_or(inner.len());
        Event::Open { name: &inner[..end], attributes: &inner[end..], empty }
    }
}

/// How long the tag at the start is, to its `>`, which may stand inside quotes; `None` when another `<` comes first.
/// A quote that does not end within the tag is none.
fn tag_length(tag: &[u8]) -> Option<usize> {
    let mut quote = None;
    let mut in_quote = None;
    for (at, &byte) in tag.iter().enumerate().skip(1) {
        match (byte, quote) {
            (b'<', _) => return in_quote,
            (b'>', None) => return Some(at + 1),
            (b'>', Some(_)) => in_quote = in_quote.or(Some(at + 1)),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => {
                quote = None;
                in_quote = None;
            }
            _ => {}
        }
    }
    in_quote
}

/// The names and values of a tag's attributes, as far as they are well formed.
pub(super) struct Attributes<'a>(pub(super) &'a str);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.0.split_once('=')?;
        let rest = rest.trim_ascii_start();
        let quote = rest.chars().next().filter(|char| matches!(char, '"' | '\''))?;
        let (value, rest) = rest[1..].split_once(quote)?;
        self.0 = rest;
        Some((name.trim_ascii(), unescaped(value).0))
    }
}

/// A text with its entities read, and where the first one stands that is none.
pub(super) fn unescaped(text: &str) -> (Cow<'_, str>, Option<usize>) {
    let Some(first) = text.find('&') else { return (Cow::Borrowed(text), None) };
    let mut out = String::with_capacity(text.len());
    let mut bad = None;
    let (mut done, mut at) = (0, first);
    loop {
        out.push_str(&text[done..at]);
        let rest = &text[at..];
        match rest[1..].find(';').and_then(|len| Some((entity(&rest[1..=len])?, len + 2))) {
            Some((char, len)) => {
                out.push(char);
                done = at + len;
            }
            None => {
                bad = bad.or(Some(at));
                out.push('&');
                done = at + 1;
            }
        }
        match text[done..].find('&') {
            Some(next) => at = done + next,
            None => break,
        }
    }
    out.push_str(&text[done..]);
    (Cow::Owned(out), bad)
}

/// XML 1.0, section 4.6, and character references, section 4.1.
fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<Event<'_>> {
        let mut scanner = Scanner::new(text);
        std::iter::from_fn(|| scanner.next()).collect()
    }

    #[test]
    fn comments_declarations_and_the_like_pass_unheard() {
        let text = "<?xml version='1.0'?><!DOCTYPE speak><speak><!-- a > b -->a<![CDATA[<b> &amp;]]></speak>";
        assert_eq!(
            events(text),
            [
                Event::Open { name: "speak", attributes: "", empty: false },
                Event::Text("a", true),
                Event::Text("<b> &amp;", false),
                Event::Close { name: "speak" },
            ]
        );
    }

    #[test]
    fn attributes_may_hold_a_greater_sign_and_entities() {
        let [Event::Open { name: "sub", attributes, empty: true }] =
            events("<sub alias = 'a > b &amp; c' x=\"1\"/>")[..]
        else {
            panic!("not one tag")
        };
        let attributes: Vec<_> = Attributes(attributes).collect();
        assert_eq!(attributes, [("alias", "a > b & c".into()), ("x", "1".into())]);
    }

    #[test]
    fn a_quote_that_does_not_end_spoils_its_own_tag_only() {
        assert_eq!(
            events("<p a=\"1>hey</p>"),
            [
                Event::Open { name: "p", attributes: " a=\"1", empty: false },
                Event::Text("hey", true),
                Event::Close { name: "p" },
            ]
        );
        assert_eq!(events("<p a"), [Event::Broken]);
        assert_eq!(
            events("a<p <s>b"),
            [
                Event::Text("a", true),
                Event::Broken,
                Event::Open { name: "s", attributes: "", empty: false },
                Event::Text("b", true),
            ]
        );
    }

    #[test]
    fn entities_are_read_and_others_stay_as_they_are() {
        assert_eq!(unescaped("a &lt; b &#65;&#x42;"), ("a < b AB".into(), None));
        assert_eq!(unescaped("AT&T &nbsp; &amp;"), ("AT&T &nbsp; &".into(), Some(2)));
        assert_eq!(unescaped("&#xD800; &;&"), ("&#xD800; &;&".into(), Some(0)));
    }
}
