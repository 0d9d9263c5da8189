//! RON values that know where they stand.
//!
//! RON has places for syntax errors only, so a file is read value by value as raw text: the text of a value is a piece
//! of the file's text, and where it starts tells its place.

use std::{fmt, marker::PhantomData, sync::Arc};

use ron::{extensions::Extensions, value::RawValue};
use serde::{
    Deserialize,
    de::{self, DeserializeOwned, Deserializer},
};

use super::syntax;
use crate::{
    codes,
    diagnostic::{Diagnostic, Source, Span, Spanned},
};

/// How the project reads RON: options may be written without `Some`.
pub(super) fn options() -> ron::Options {
    ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME)
}

/// A value of the file: valid RON, of a shape not known yet.
#[derive(Clone, Copy)]
pub(super) struct Item<'s> {
    source: &'s Arc<Source>,
    text: &'s str,
}

/// What was read, or why not.
pub(super) type Read<T> = Result<T, Box<Diagnostic>>;

/// Names or keys with their values, in the order of the file.
pub(super) type Pairs<'s> = Vec<(Spanned<String>, Item<'s>)>;

impl<'s> Item<'s> {
    /// The one value that a file consists of.
    pub(super) fn whole(source: &'s Arc<Source>) -> Read<Item<'s>> {
        match options().from_str::<&RawValue>(source.text()) {
            Ok(raw) => Ok(Item { source, text: raw.trim().get_ron() }),
            Err(error) => Err(Box::new(syntax::complaint(source, &error))),
        }
    }

    fn inner(&self, raw: &'s RawValue) -> Item<'s> {
        Item { source: self.source, text: raw.trim().get_ron() }
    }

    /// Where the value stands.
    pub(super) fn span(&self) -> Span {
        self.place(self.text)
    }

    /// Where `part` of this value's text stands.
    fn place(&self, part: &str) -> Span {
        let start = part.as_ptr().addr() - self.source.text().as_ptr().addr();
        Span::new(self.source, start..start + part.len())
    }

    /// The value as the file writes it.
    pub(super) fn ron(&self) -> &'s str {
        self.text
    }

    /// Whether it is text in quotes.
    pub(super) fn is_text(&self) -> bool {
        self.text.starts_with(['"', 'r']) && self.text.ends_with(['"', '#'])
    }

    /// Whether it starts with an opening parenthesis.
    pub(super) fn is_fields(&self) -> bool {
        self.text.starts_with('(')
    }

    /// Whether it is a number.
    pub(super) fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
    }

    /// What it is, for "found".
    pub(super) fn describe(&self) -> String {
        let (short, long) = match self.text.chars().next() {
            Some('(') => ("the fields", "fields in ( )"),
            Some('{') => ("the map", "a map in { }"),
            Some('[') => ("the list", "a list in [ ]"),
            _ if self.is_text() => ("the text", "a long text"),
            _ if self.is_number() => ("the number", "a long number"),
            _ => ("the word", "a long word"),
        };
        let brief = self.text.chars().count() <= 40 && !self.text.contains('\n');
        if brief { format!("{short} {}", self.text) } else { long.to_owned() }
    }

    /// A complaint that the value is of another shape than `expected`.
    pub(super) fn unlike(&self, expected: &str) -> Box<Diagnostic> {
        let diagnostic =
            Diagnostic::new(&codes::WRONG_SHAPE, format!("expected {expected}, found {}", self.describe()))
                .at(&self.span())
                .expected(expected)
                .found(self.describe());
        Box::new(diagnostic)
    }

    /// `(name: value, ..)`: named fields.
    pub(super) fn fields(&self, expected: &str) -> Read<Pairs<'s>> {
        if !self.is_fields() {
            return Err(self.unlike(expected));
        }
        self.read(Fields, &format!("{expected}, each with its name")).map(|pairs| {
            let named = |(name, value): (&'s str, &'s RawValue)| {
                (Spanned::new(name.to_owned(), self.place(name)), self.inner(value))
            };
            pairs.into_iter().map(named).collect()
        })
    }

    /// `{ "key": value, .. }`: a map with text as keys.
    pub(super) fn entries(&self, expected: &str) -> Read<Pairs<'s>> {
        if !self.text.starts_with('{') {
            return Err(self.unlike(expected));
        }
        let pairs = self.read(Entries, expected)?;
        pairs
            .into_iter()
            .map(|(key, value)| {
                let key = self.inner(key);
                Ok((Spanned::new(key.text("a name in quotes")?, key.span()), self.inner(value)))
            })
            .collect()
    }

    /// `[value, ..]`.
    pub(super) fn list(&self, expected: &str) -> Read<Vec<Item<'s>>> {
        if !self.text.starts_with('[') {
            return Err(self.unlike(expected));
        }
        self.read(PhantomData::<Vec<&RawValue>>, expected)
            .map(|items| items.into_iter().map(|raw| self.inner(raw)).collect())
    }

    /// Text in quotes.
    pub(super) fn text(&self, expected: &str) -> Read<String> {
        if self.is_text() { self.scalar(expected) } else { Err(self.unlike(expected)) }
    }

    /// `true`, `false`, a number.
    pub(super) fn scalar<T: DeserializeOwned>(&self, expected: &str) -> Read<T> {
        options().from_str(self.text).map_err(|_| self.unlike(expected))
    }

    /// `word` or `word(value)` or `word(name: value, ..)`: the word, and what is in the parentheses with them.
    pub(super) fn call(&self, expected: &str) -> Read<(Spanned<&'s str>, Option<Item<'s>>)> {
        let end = self.text.find('(').unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        let word = word.trim_end();
        if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') || self.is_text() {
            return Err(self.unlike(expected));
        }
        let rest = (!rest.is_empty()).then_some(Item { source: self.source, text: rest });
        Ok((Spanned::new(word, self.place(word)), rest))
    }

    /// `(value)`: the one value in parentheses.
    pub(super) fn single(&self, expected: &str) -> Read<Item<'s>> {
        self.read(Single, expected).map(|raw| self.inner(raw))
    }

    /// The file is valid RON, so a value that cannot be read is of another shape.
    fn read<S: de::DeserializeSeed<'s>>(&self, seed: S, expected: &str) -> Read<S::Value> {
        options().from_str_seed(self.text, seed).map_err(|_| self.unlike(expected))
    }
}

struct Fields;

impl<'de> de::DeserializeSeed<'de> for Fields {
    type Value = Vec<(&'de str, &'de RawValue)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_struct("", &[], self)
    }
}

impl<'de> de::Visitor<'de> for Fields {
    type Value = Vec<(&'de str, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("named fields")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            pairs.push((name, map.next_value()?));
        }
        Ok(pairs)
    }
}

/// The name of a field, as a piece of the file's text.
struct Name<'de>(&'de str);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a field")
            }

            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(name))
            }
        }

        deserializer.deserialize_identifier(Visitor)
    }
}

struct Entries;

impl<'de> de::DeserializeSeed<'de> for Entries {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> de::Visitor<'de> for Entries {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

struct Single;

impl<'de> de::DeserializeSeed<'de> for Single {
    type Value = &'de RawValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_tuple(1, self)
    }
}

impl<'de> de::Visitor<'de> for Single {
    type Value = &'de RawValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let value = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        match seq.next_element::<&RawValue>()? {
            None => Ok(value),
            Some(_) => Err(de::Error::invalid_length(2, &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_place_in_the_file() {
        let source = Source::new(
            "g.ron",
            "// ä\n(\n  a : /* x */ \"one\" /* y */ ,\n  b: { \"k\": [1, fifo(40)] },\n)",
        );
        let whole = Item::whole(&source).unwrap();
        let fields = whole.fields("").unwrap();
        assert_eq!((fields[0].0.span.text(), fields[0].1.span().text()), ("a", "\"one\""));
        let entries = fields[1].1.entries("").unwrap();
        assert_eq!((entries[0].0.as_str(), entries[0].0.span.text()), ("k", "\"k\""));
        let list = entries[0].1.list("").unwrap();
        assert_eq!((list[0].span().line(), list[0].span().column()), (4, 14));
        let (word, rest) = list[1].call("").unwrap();
        assert_eq!(
            (word.value, word.span.text(), rest.unwrap().single("").unwrap().ron()),
            ("fifo", "fifo", "40")
        );
    }

    #[test]
    fn what_was_found_is_described_in_words() {
        let found = |text: &str| Item::whole(&Source::new("g.ron", text)).unwrap().describe();
        assert_eq!(found("5"), "the number 5");
        assert_eq!(found("\"x\""), "the text \"x\"");
        assert_eq!(found("true"), "the word true");
        assert_eq!(found("(a: 1)"), "the fields (a: 1)");
        assert_eq!(found("[1, 2]"), "the list [1, 2]");
        assert_eq!(found("{}"), "the map {}");
    }

    #[test]
    fn an_attribute_of_ron_does_no_harm() {
        let source = Source::new("g.ron", "#![enable(implicit_some)]\n(a: 1)");
        assert_eq!(Item::whole(&source).unwrap().fields("").unwrap()[0].0.span.text(), "a");
    }
}
