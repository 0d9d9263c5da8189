//! Parameters of a node, from text to the type of its kind.

use ron::{Error, error::SpannedError};
use serde::de::{self, DeserializeOwned, IntoDeserializer, value::StrDeserializer};

use super::{raw::options, spec::RawWith, syntax::sentence};
use crate::{
    codes,
    diagnostic::{Diagnostic, Diagnostics, Source, Span, Spanned, all_of, near_miss, one_of},
    kind::KindSpec,
};

/// Types the parameters of a node.
///
/// # Errors
/// Every parameter that the kind does not have, whose value does not fit, or that is missing; each with its place in the
/// file, what was expected, and what the kind's schema says of it.
pub fn params<T: DeserializeOwned>(with: &RawWith, kind: &KindSpec) -> Result<T, Diagnostics> {
    let typing = Typing { with, kind, known: names(kind) };
    let mut diagnostics = Diagnostics::new();
    let mut fields: Vec<&(Spanned<String>, Spanned<String>)> = Vec::with_capacity(with.fields.len());
    for field in &with.fields {
        if typing.known.contains(&field.0.as_str()) {
            fields.push(field);
        } else {
            diagnostics.push(typing.unknown(&field.0));
        }
    }
    for name in required(kind) {
        if with.fields.iter().all(|(field, _)| field.value != name) {
            diagnostics.push(typing.missing(name));
        }
    }
    // Typing stops at the first error. To tell them all, the field that failed is left out and the rest tried again.
    loop {
        let mut at = 0;
        match T::deserialize(Values { fields: &fields, at: &mut at }) {
            Ok(params) if diagnostics.is_empty() => return Ok(params),
            Ok(_) => return Err(diagnostics),
            Err(Failure::Value(error)) => {
                diagnostics.push(typing.value(fields[at], &error));
                fields.remove(at);
            }
            Err(Failure::Missing(name)) => {
                if diagnostics.is_empty() {
                    diagnostics.push(typing.missing(name));
                }
                return Err(diagnostics);
            }
            Err(Failure::Whole(message)) => {
                if diagnostics.is_empty() {
                    diagnostics
                        .push(typing.about(Diagnostic::new(&codes::BAD_PARAMETER, message).at(&with.span)));
                }
                return Err(diagnostics);
            }
        }
    }
}

/// The names of a kind's parameters, as its schema has them.
fn names(kind: &KindSpec) -> Vec<&str> {
    let properties = kind.params.get("properties").and_then(|properties| properties.as_object());
    properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The names of the parameters without a default.
fn required(kind: &KindSpec) -> impl Iterator<Item = &str> {
    let names = kind.params.get("required").and_then(|required| required.as_array());
    names.into_iter().flatten().filter_map(|name| name.as_str())
}

struct Typing<'a> {
    with: &'a RawWith,
    kind: &'a KindSpec,
    known: Vec<&'a str>,
}

impl Typing<'_> {
    fn about(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.node(&self.with.node)
    }

    fn unknown(&self, name: &Spanned<String>) -> Diagnostic {
        let kind = self.kind.kind;
        let help = match near_miss(name, self.known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.known.is_empty() => "leave it out: this kind takes no parameters".to_owned(),
            None => format!("`{kind}` has {}; `graphrun nodes {kind}` describes them", all_of(&self.known)),
        };
        let diagnostic =
            Diagnostic::new(&codes::UNKNOWN_PARAMETER, format!("`{kind}` has no parameter `{}`", name.value));
        let diagnostic =
            if self.known.is_empty() { diagnostic } else { diagnostic.expected(one_of(&self.known)) };
        self.about(diagnostic.at(&name.span).found(format!("`{}`", name.value)).help(help))
    }

    fn missing(&self, name: &str) -> Diagnostic {
        let kind = self.kind.kind;
        let mut diagnostic =
            Diagnostic::new(&codes::MISSING_PARAMETER, format!("`{kind}` needs the parameter `{name}`"))
                .at(&self.with.span)
                .expected(format!("`{name}` in `with`"));
        diagnostic.help = Some(match self.description(name) {
            Some(about) => format!("add with: ({name}: ..): {about}"),
            None => format!("add with: ({name}: ..); `graphrun nodes {kind}` describes it"),
        });
        self.about(diagnostic)
    }

    fn value(&self, (name, value): &(Spanned<String>, Spanned<String>), error: &SpannedError) -> Diagnostic {
        // The text of the value is a piece of the file: RON's place in it is moved by where it starts.
        let part = Source::new("", value.value.as_str());
        let start = part.offset(error.span.start.line, error.span.start.col);
        let end = part.offset(error.span.end.line, error.span.end.col);
        // RON may have read a sign before it found the rest wrong.
        let start = start - usize::from(value.value[..start].ends_with(['-', '+']));
        let nested = start > 0 && start < end;
        let span = if nested {
            let from = value.span.range().start;
            Span::new(value.span.source(), from + start..from + end)
        } else {
            value.span.clone()
        };
        let found = if span.text().contains('\n') { None } else { Some(span.text().to_owned()) };
        let (expected, wrong) = explain(&error.code);
        let mut diagnostic =
            Diagnostic::new(&codes::BAD_PARAMETER, format!("the parameter `{}`: {wrong}", name.value))
                .at(&span);
        diagnostic.expected = expected;
        diagnostic.found = found;
        diagnostic.help = suggestion(&error.code)
            .or_else(|| self.description(&name.value).map(|about| format!("`{}`: {about}", name.value)));
        self.about(diagnostic)
    }

    /// What the kind's schema says of a parameter.
    fn description(&self, name: &str) -> Option<String> {
        let property = self.kind.params.get("properties")?.get(name)?;
        let about = property.get("description")?.as_str()?.replace('\n', " ");
        Some(match property.get("default") {
            Some(default) if !default.is_null() => format!("{about} (default: {default})"),
            _ => about,
        })
    }
}

/// What RON expected, and a message.
fn explain(error: &Error) -> (Option<String>, String) {
    let expected = match error {
        Error::ExpectedBoolean => "`true` or `false`",
        Error::ExpectedInteger => "a whole number",
        Error::ExpectedFloat => "a number",
        Error::ExpectedString => "text in quotes",
        Error::ExpectedChar => "a character in single quotes",
        Error::ExpectedArray => "a list in [ ]",
        Error::ExpectedMap => "a map in { }",
        Error::ExpectedStructLike | Error::ExpectedNamedStructLike(_) => "fields in ( )",
        Error::ExpectedIdentifier => "a word without quotes",
        Error::IntegerOutOfBounds => "a whole number that its type can hold",
        Error::InvalidValueForType { expected, .. } => expected,
        Error::NoSuchEnumVariant { expected, found, .. } => {
            return (Some(one_of(*expected)), format!("there is no `{found}`"));
        }
        Error::NoSuchStructField { expected, found, .. } => {
            return (Some(one_of(*expected)), format!("it has no field `{found}`"));
        }
        Error::MissingStructField { field, .. } => {
            return (Some(format!("`{field}`")), format!("its field `{field}` is missing"));
        }
        Error::Message(message) => return (None, message.clone()),
        other => return (None, sentence(other)),
    };
    (Some(expected.to_owned()), format!("expected {expected}"))
}

fn suggestion(error: &Error) -> Option<String> {
    match error {
        Error::NoSuchEnumVariant { expected, found, .. }
        | Error::NoSuchStructField { expected, found, .. } => {
            near_miss(found, expected.iter().copied()).map(|near| format!("did you mean `{near}`?"))
        }
        _ => None,
    }
}

/// Why typing failed.
#[derive(Debug)]
enum Failure {
    /// The value of the field at hand does not fit.
    Value(SpannedError),
    /// A field without a default is missing.
    Missing(&'static str),
    /// The parameters as a whole are refused.
    Whole(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<M: std::fmt::Display>(message: M) -> Failure {
        Failure::Whole(message.to_string())
    }

    fn missing_field(field: &'static str) -> Failure {
        Failure::Missing(field)
    }
}

/// The fields as serde wants them; each value is read by RON. `at` is the field at hand.
struct Values<'a, 'de> {
    fields: &'a [&'de (Spanned<String>, Spanned<String>)],
    at: &'a mut usize,
}

impl<'de> de::Deserializer<'de> for Values<'_, 'de> {
    type Error = Failure;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_map(Pairs { values: self, next: 0 })
    }

    fn deserialize_unit_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_unit<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

struct Pairs<'a, 'de> {
    values: Values<'a, 'de>,
    next: usize,
}

impl<'de> de::MapAccess<'de> for Pairs<'_, 'de> {
    type Error = Failure;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        let Some((name, _)) = self.values.fields.get(self.next) else { return Ok(None) };
        *self.values.at = self.next;
        self.next += 1;
        let name: StrDeserializer<'_, Failure> = name.value.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let (_, value) = self.values.fields[*self.values.at];
        let mut text =
            ron::Deserializer::from_str_with_options(&value.value, &options()).map_err(Failure::Value)?;
        let typed = seed.deserialize(&mut text).map_err(|error| Failure::Value(text.span_error(error)))?;
        text.end().map_err(|error| Failure::Value(text.span_error(error)))?;
        Ok(typed)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        check::fixture::{Band, GainParams, Over, TestKinds, load_files},
        diagnostic::Diagnostics,
        kind::Kinds,
        time::Nanos,
    };

    fn gain(with: &str) -> Result<GainParams, Diagnostics> {
        let text = format!("(nodes: {{\n  \"louder\": (kind: \"audio/gain\", with: {with}),\n}})");
        let (graph, diagnostics) = load_files([("graph.ron", &text)], &[]);
        let graph = graph.unwrap_or_else(|| panic!("{diagnostics}"));
        super::params(&graph.nodes[0].with, TestKinds::new().get("audio/gain").unwrap())
    }

    #[test]
    fn parameters_have_the_types_of_their_kind() {
        let params =
            gain(r#"(gain_db: 6, ramp: "5 ms", over: Wrap, log: "gain.log", bands: [(hertz: 440)])"#);
        let expected = GainParams {
            gain_db: 6.0,
            ramp: Nanos::from_millis(5),
            over: Over::Wrap,
            log: Some("gain.log".to_owned()),
            bands: vec![Band { hertz: 440 }],
        };
        assert_eq!(params, Ok(expected));
        assert_eq!(gain("()"), Ok(GainParams::default()));
    }

    #[test]
    fn every_wrong_parameter_is_told_at_once_with_its_place() {
        let errors =
            gain(r#"(gain_db: "loud", ramp: 5, over: Clipp, bands: [(hertz: 1), (hertz: -1)], gian_db: 1)"#);
        let errors = errors.unwrap_err();
        let told: Vec<(&str, String)> = errors
            .iter()
            .map(|d| {
                (
                    d.span.as_ref().unwrap().text(),
                    format!("{} {}", d.message, d.help.as_deref().unwrap_or("-")),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("gian_db", "`audio/gain` has no parameter `gian_db` did you mean `gain_db`?".to_owned()),
                (
                    "\"loud\"",
                    "the parameter `gain_db`: expected a number `gain_db`: How much louder, in decibels. (default: \
                     0.0)"
                        .to_owned()
                ),
                (
                    "5",
                    "the parameter `ramp`: \"5\" has no unit; write \"5 ms\" `ramp`: How long a change takes. (default: \
                     \"0 ns\")"
                        .to_owned()
                ),
                ("Clipp", "the parameter `over`: there is no `Clipp` did you mean `Clip`?".to_owned()),
                (
                    "-1",
                    "the parameter `bands`: expected a whole number that its type can hold `bands`: Bands of the \
                     equaliser."
                        .to_owned()
                ),
            ]
        );
        assert!(errors.iter().all(|d| d.node.as_deref() == Some("louder")));
    }
}
