//! `say-as`: text whose kind is told is written out in words.
//!
//! The kinds are those of the W3C note "SSML 1.0 say-as attribute values" and the names that products added.

use crate::speech::{
    numbers::{self, push},
    phonemes::words,
};

/// The words of `text` as `interpret-as` and `format` ask; `None` when it cannot be read that way.
pub(super) fn words(kind: &str, format: &str, text: &str) -> Option<String> {
    let text = text.trim();
    let mut out = String::new();
    match kind {
        "cardinal" | "number" => numbers::number(text, &mut out)?,
        "ordinal" => {
            let digits =
                ["st", "nd", "rd", "th"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
            numbers::ordinal(digits.replace(',', "").parse().ok()?, &mut out);
        }
        "characters" | "spell-out" | "letters" | "verbatim" => characters(text, &mut out),
        "digits" => numbers::digits(text, &mut out),
        "date" => date(format, text, &mut out)?,
        "time" => time(text, &mut out)?,
        "telephone" => telephone(text, &mut out),
        _ => return None,
    }
    (!out.is_empty()).then_some(out)
}

fn characters(text: &str, out: &mut String) {
    for char in text.chars() {
        let mut whole = [0; 4];
        let name = match char {
            '-' => "dash",
            '.' => "dot",
            '@' => "at",
            '_' => "underscore",
            '/' => "slash",
            '#' => "hash",
            '+' => "plus",
            '&' => "and",
            char if !char.is_alphanumeric() => continue,
            char => numbers::letter(char).unwrap_or(char.encode_utf8(&mut whole)),
        };
        push(out, name);
    }
}

/// Figures in the order that `format` names by letters: `mdy`, `dmy`, `ymd`, `md`, `y` and so on. Without one, a
/// year in front means `ymd`, else `mdy`. Eight figures in a row are `ymd`.
fn date(format: &str, text: &str, out: &mut String) -> Option<()> {
    let split: Vec<&str> =
        text.split(|char: char| !char.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    let parts = match split[..] {
        [whole] if whole.len() == 8 => vec![&whole[..4], &whole[4..6], &whole[6..]],
        _ => split,
    };
    let format = match (format, &parts[..]) {
        ("", [year, ..]) if year.len() == 4 => "ymd",
        ("", _) => "mdy",
        (_, [year, _, _]) if year.len() == 4 && text.len() == 8 => "ymd",
        _ => format,
    };
    if parts.len() != format.len() || text.contains(char::is_alphabetic) {
        return None;
    }
    let (mut year, mut month, mut day) = (None, None, None);
    for (letter, part) in format.chars().zip(parts) {
        let slot = match letter {
            'y' => &mut year,
            'm' => &mut month,
            'd' => &mut day,
            _ => return None,
        };
        *slot = Some(part.parse().ok()?);
    }
    numbers::date(year, month, day, out)
}

/// A time of day, `9:30pm`, or a span, `4'30"`.
fn time(text: &str, out: &mut String) -> Option<()> {
    let Some((minutes, rest)) = text.split_once('\'') else { return words::clock(text, false, out) };
    let seconds = rest.trim().trim_end_matches('"');
    numbers::number(minutes.trim(), out)?;
    push(out, if minutes.trim() == "1" { "minute" } else { "minutes" });
    if !seconds.is_empty() {
        numbers::number(seconds, out)?;
        push(out, if seconds == "1" { "second" } else { "seconds" });
    }
    Some(())
}

/// Digit by digit, with a pause between the groups as written.
fn telephone(text: &str, out: &mut String) {
    if text.starts_with('+') {
        push(out, "plus");
    }
    let mut pause = false;
    for char in text.chars() {
        match char {
            '0'..='9' => {
                if std::mem::take(&mut pause) {
                    out.push(',');
                }
                push(out, numbers::letter(char).unwrap_or_default());
            }
            'x' | 'X' => {
                if std::mem::take(&mut pause) {
                    out.push(',');
                }
                push(out, "extension");
            }
            '#' => push(out, "pound"),
            '*' => push(out, "star"),
            _ => pause = out.contains(' ') || out.len() > "plus".len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_written_out() {
        for (kind, format, text, expected) in [
            ("cardinal", "", " 1,024 ", "one thousand twenty four"),
            ("number", "", "-2.5", "minus two point five"),
            ("ordinal", "", "3", "third"),
            ("ordinal", "", "21st", "twenty first"),
            ("characters", "", "aB-3", "ay bee dash three"),
            ("spell-out", "", "WiFi", "double you eye eff eye"),
            ("digits", "", "4711", "four seven one one"),
            ("date", "mdy", "5/3/2026", "May third, twenty twenty six"),
            ("date", "dmy", "5.3.2026", "March fifth, twenty twenty six"),
            ("date", "", "2026-05-03", "May third, twenty twenty six"),
            ("date", "ymd", "20260503", "May third, twenty twenty six"),
            ("date", "md", "12/24", "December twenty fourth"),
            ("date", "y", "1984", "nineteen eighty four"),
            ("time", "hms12", "9:05", "nine oh five"),
            ("time", "hms12", "2:30pm", "two thirty pee em"),
            ("time", "", "1'30\"", "one minute thirty seconds"),
            ("telephone", "", "555-1234", "five five five, one two three four"),
            ("telephone", "", "+1 (30) 45 x6", "plus one, three zero, four five, extension six"),
        ] {
            assert_eq!(words(kind, format, text).as_deref(), Some(expected), "{kind} {format} {text}");
        }
    }

    #[test]
    fn what_is_not_of_its_kind_stays_as_it_is() {
        for (kind, format, text) in [
            ("cardinal", "", "many"),
            ("ordinal", "", "last"),
            ("date", "mdy", "13/32/2026"),
            ("date", "mdy", "tomorrow"),
            ("date", "mxy", "1/2/3"),
            ("time", "", "25:99"),
            ("characters", "", " "),
            ("poem", "", "roses"),
        ] {
            assert_eq!(words(kind, format, text), None, "{kind} {text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_of_any_kind_is_read_without_a_panic(kind in 0..6_usize, format in "[mdyx]{0,4}", text in ".{0,24}") {
            let kind = ["cardinal", "ordinal", "characters", "date", "time", "telephone"][kind];
            let _ = words(kind, &format, &text);
        }
    }
}
