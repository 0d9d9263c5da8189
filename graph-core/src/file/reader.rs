//! Reading named fields while collecting every complaint.

use super::{
    raw::{Item, Pairs, Read},
    units::UnitError,
};
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, Span, Spanned, all_of, near_miss, one_of},
};

/// What reading a file has to say, and whose fields are read at the moment.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) diagnostics: Diagnostics,
    /// The node that complaints concern.
    pub(super) node: Option<String>,
}

/// The fields of one thing: known ones only, each once.
pub(super) struct Fields<'s> {
    pairs: Pairs<'s>,
    pub(super) span: Span,
    /// Whether it has fields at all, so that a missing one may be complained of.
    readable: bool,
}

impl<'s> Fields<'s> {
    /// The value of a field. `Some(x)` is the same as `x`, and `None` as no field.
    pub(super) fn get(&self, name: &str) -> Option<Item<'s>> {
        let (_, item) = self.pairs.iter().find(|(field, _)| field.value == name)?;
        match item.ron() {
            "None" => None,
            text if text.starts_with("Some") => {
                Some(item.call("").ok().and_then(|(_, inner)| inner?.single("").ok()).unwrap_or(*item))
            }
            _ => Some(*item),
        }
    }

    /// Names and values in the order of the file.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Spanned<String>, Item<'s>)> {
        self.pairs.iter().filter_map(|(name, _)| Some((name, self.get(name)?)))
    }
}

impl Reader {
    /// Adds a complaint.
    pub(super) fn complain(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.node = diagnostic.node.or_else(|| self.node.clone());
        self.diagnostics.push(diagnostic);
    }

    /// The value, or its complaint added.
    pub(super) fn keep<T>(&mut self, result: Read<T>) -> Option<T> {
        result.map_err(|diagnostic| self.complain(*diagnostic)).ok()
    }

    /// The fields of `item`, which is to be `owner` ("an edge"); unknown and doubled ones are complained of.
    pub(super) fn fields<'s>(&mut self, item: Item<'s>, owner: &str, known: &[&str]) -> Fields<'s> {
        let expected = format!("the fields of {owner} in ( )");
        let pairs = self.keep(item.fields(&expected));
        let readable = pairs.is_some();
        let pairs = pairs.unwrap_or_default();
        let mut kept: Pairs<'s> = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            if !known.contains(&name.as_str()) {
                let help = match near_miss(&name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("{owner} has {}", all_of(known)),
                };
                let diagnostic =
                    Diagnostic::new(&codes::UNKNOWN_FIELD, format!("{owner} has no field `{}`", name.value))
                        .at(&name.span)
                        .expected(one_of(known))
                        .found(format!("`{}`", name.value))
                        .help(help);
                self.complain(diagnostic);
            } else if let Some((first, _)) = kept.iter().find(|(field, _)| field.value == name.value) {
                let diagnostic =
                    Diagnostic::new(&codes::DUPLICATE, format!("the field `{}` is stated twice", name.value))
                        .at(&name.span)
                        .help("keep one of the two")
                        .related(&first.span, "stated here first");
                self.complain(diagnostic);
            } else {
                kept.push((name, value));
            }
        }
        Fields { pairs: kept, span: item.span(), readable }
    }

    /// A field read by `read`, with its place.
    pub(super) fn field<'s, T>(
        &mut self,
        fields: &Fields<'s>,
        name: &str,
        read: impl FnOnce(&mut Reader, Item<'s>) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let item = fields.get(name)?;
        read(self, item).map(|value| Spanned::new(value, item.span()))
    }

    /// A field with text.
    pub(super) fn text(&mut self, fields: &Fields<'_>, name: &str) -> Option<Spanned<String>> {
        self.field(fields, name, |reader, item| reader.keep(item.text("text in quotes")))
    }

    /// A field with `true` or `false`.
    pub(super) fn flag(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        self.field(fields, name, |reader, item| reader.keep(item.scalar("`true` or `false`")))
            .map(|flag| flag.value)
    }

    /// A field that must be there.
    pub(super) fn required<'s>(
        &mut self,
        fields: &Fields<'s>,
        owner: &str,
        name: &str,
        example: &str,
    ) -> Option<Item<'s>> {
        let item = fields.get(name);
        if item.is_none() && fields.readable {
            let diagnostic = Diagnostic::new(&codes::MISSING_FIELD, format!("{owner} has no `{name}`"))
                .at(&fields.span)
                .expected(format!("`{name}`"))
                .help(format!("add {example}"));
            self.complain(diagnostic);
        }
        item
    }

    /// A number with a unit, as text; `what` with its article is for the complaint.
    pub(super) fn quantity<T>(
        &mut self,
        item: Item<'_>,
        what: &str,
        unit: &str,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Option<T> {
        if item.is_number() {
            let diagnostic = Diagnostic::new(
                &codes::BARE_NUMBER,
                format!("{what} is text with a unit, not a bare number"),
            )
            .at(&item.span())
            .expected(format!("{what} with its unit, in quotes"))
            .found(item.describe())
            .help(format!("write \"{} {unit}\", if that is the unit meant", item.ron()));
            self.complain(diagnostic);
            return None;
        }
        let text = self.keep(item.text(&format!("{what} such as \"5 {unit}\"")))?;
        parse(&text)
            .map_err(|error| {
                let diagnostic = Diagnostic::new(&codes::BAD_QUANTITY, error.to_string());
                self.complain(diagnostic.at(&item.span()).expected(what).found(item.describe()));
            })
            .ok()
    }

    /// A whole number within `range`.
    pub(super) fn whole(
        &mut self,
        item: Item<'_>,
        what: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<u64> {
        let expected = format!("{what} from {} to {}", range.start(), range.end());
        let number = if item.is_number() { item.scalar(&expected) } else { Err(item.unlike(&expected)) };
        let number = self.keep(number)?;
        if range.contains(&number) {
            return Some(number);
        }
        let diagnostic = Diagnostic::new(&codes::BAD_QUANTITY, format!("{number} is not {expected}"))
            .at(&item.span())
            .expected(expected)
            .found(item.describe());
        self.complain(diagnostic);
        None
    }

    /// A complaint that `word` is none of `words`.
    pub(super) fn unknown_word(&mut self, item: Item<'_>, what: &str, words: &[&str]) {
        let word = item.ron().split('(').next().unwrap_or_default().trim();
        let bare = word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !item.is_text();
        let found = if bare { format!("`{word}`") } else { item.describe() };
        let word = word.trim_matches('"');
        let help = match near_miss(word, words.iter().copied()) {
            Some(near) if near == word && item.is_text() => format!("write {near} without quotes"),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write one of {}", one_of(words)),
        };
        let diagnostic = Diagnostic::new(&codes::UNKNOWN_WORD, format!("{found} is no {what}"))
            .at(&item.span())
            .expected(one_of(words))
            .found(found)
            .help(help);
        self.complain(diagnostic);
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&mut self, item: Item<'_>, what: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == item.ron()) {
            return Some(*value);
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.unknown_word(item, what, &names);
        None
    }
}
