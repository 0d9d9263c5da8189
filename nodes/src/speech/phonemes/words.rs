//! Text as it is written becomes words as they are said.

use crate::speech::numbers::{self, push};

/// What a text consists of for the ear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters and apostrophes only, as written: `OK`, `don't`.
    Word(String),
    /// A pause or the end of a sentence: one of `, ; : . ! ?`.
    Mark(char),
}

/// The text's words and marks. A mark stands only after a word.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let chunks: Vec<&str> = text.split_whitespace().collect();
    let mut reader = Reader { tokens: Vec::with_capacity(2 * chunks.len()), chunks: &chunks, at: 0 };
    while reader.at < chunks.len() {
        let chunk = chunks[reader.at];
        reader.at += 1;
        reader.chunk(chunk);
    }
    reader.tokens
}

/// Abbreviations with a full stop that is not the end of a sentence, and what they stand for.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("mr.", "mister"),
    ("mrs.", "missus"),
    ("ms.", "miz"),
    ("dr.", "doctor"),
    ("prof.", "professor"),
    ("st.", "saint"),
    ("mt.", "mount"),
    ("vs.", "versus"),
    ("e.g.", "for example"),
    ("i.e.", "that is"),
    ("approx.", "approximately"),
    ("dept.", "department"),
    ("gen.", "general"),
    ("capt.", "captain"),
    ("no.", "number"),
    ("jan.", "January"),
    ("feb.", "February"),
    ("aug.", "August"),
    ("sept.", "September"),
    ("oct.", "October"),
    ("nov.", "November"),
    ("dec.", "December"),
];
/// The same, where a sentence may well end with them.
const LAST_ABBREVIATIONS: &[(&str, &str)] = &[
    ("etc.", "et cetera"),
    ("jr.", "junior"),
    ("sr.", "senior"),
    ("inc.", "incorporated"),
    ("ltd.", "limited"),
    ("co.", "company"),
    ("ave.", "avenue"),
    ("rd.", "road"),
    ("blvd.", "boulevard"),
    ("a.m.", "ay em"),
    ("p.m.", "pee em"),
];

/// Units that follow a number: sign, one of it, many of it.
const UNITS: &[(&str, &str, &str)] = &[
    ("%", "percent", "percent"),
    ("°", "degree", "degrees"),
    ("°c", "degree Celsius", "degrees Celsius"),
    ("°f", "degree Fahrenheit", "degrees Fahrenheit"),
    ("km", "kilometer", "kilometers"),
    ("m", "meter", "meters"),
    ("cm", "centimeter", "centimeters"),
    ("mm", "millimeter", "millimeters"),
    ("mi", "mile", "miles"),
    ("ft", "foot", "feet"),
    ("km/h", "kilometer per hour", "kilometers per hour"),
    ("mph", "mile per hour", "miles per hour"),
    ("kg", "kilogram", "kilograms"),
    ("g", "gram", "grams"),
    ("mg", "milligram", "milligrams"),
    ("lb", "pound", "pounds"),
    ("lbs", "pound", "pounds"),
    ("oz", "ounce", "ounces"),
    ("l", "liter", "liters"),
    ("ml", "milliliter", "milliliters"),
    ("h", "hour", "hours"),
    ("hr", "hour", "hours"),
    ("hrs", "hour", "hours"),
    ("min", "minute", "minutes"),
    ("mins", "minute", "minutes"),
    ("s", "second", "seconds"),
    ("sec", "second", "seconds"),
    ("secs", "second", "seconds"),
    ("ms", "millisecond", "milliseconds"),
    ("us", "microsecond", "microseconds"),
    ("µs", "microsecond", "microseconds"),
    ("ns", "nanosecond", "nanoseconds"),
    ("hz", "hertz", "hertz"),
    ("khz", "kilohertz", "kilohertz"),
    ("mhz", "megahertz", "megahertz"),
    ("ghz", "gigahertz", "gigahertz"),
    ("kb", "kilobyte", "kilobytes"),
    ("mb", "megabyte", "megabytes"),
    ("gb", "gigabyte", "gigabytes"),
    ("tb", "terabyte", "terabytes"),
    ("w", "watt", "watts"),
    ("kw", "kilowatt", "kilowatts"),
    ("kwh", "kilowatt hour", "kilowatt hours"),
    ("v", "volt", "volts"),
    ("mah", "milliampere hour", "milliampere hours"),
    ("am", "ay em", "ay em"),
    ("pm", "pee em", "pee em"),
];

const SYMBOLS: &[(char, &str)] = &[
    ('&', "and"),
    ('+', "plus"),
    ('=', "equals"),
    ('%', "percent"),
    ('@', "at"),
    ('#', "number"),
    ('<', "less than"),
    ('>', "greater than"),
    ('~', "about"),
    ('×', "times"),
    ('÷', "divided by"),
    ('°', "degrees"),
    ('€', "euros"),
    ('$', "dollars"),
    ('£', "pounds"),
];

const SCALES: [&str; 4] = ["hundred", "thousand", "million", "billion"];

/// Whether a full stop after this chunk of text is part of it and no sentence ends there: `Dr.`, `e.g.`, `J.`.
pub(in crate::speech) fn is_abbreviation(chunk: &str) -> bool {
    let chunk = chunk.trim_start_matches(|char: char| !char.is_alphanumeric());
    let mut letters = chunk.chars();
    let initial = letters.next().is_some_and(char::is_uppercase) && letters.as_str() == ".";
    // "I." ends a sentence more often than it names somebody.
    initial && chunk != "I." || look_up(ABBREVIATIONS, chunk).is_some()
}

fn look_up<'a>(table: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    table.iter().find(|(short, _)| short.eq_ignore_ascii_case(key)).map(|&(_, words)| words)
}

struct Reader<'a> {
    tokens: Vec<Token>,
    chunks: &'a [&'a str],
    at: usize,
}

impl Reader<'_> {
    fn chunk(&mut self, chunk: &str) {
        let body = chunk.trim_start_matches(['"', '\'', '(', '[', '{', '“', '‘', '«', '*', '_', '`']);
        if chunk[..chunk.len() - body.len()].contains(['(', '[', '{']) {
            self.mark(',');
        }
        let abbreviation = body.trim_end_matches([',', ';', ':', ')', '?', '!']);
        if let Some(words) = self.abbreviation(abbreviation) {
            self.words(&words);
            return self.end(&body[abbreviation.len()..]);
        }
        let end = body.trim_end_matches([
            '.', ',', ';', ':', '!', '?', '…', ')', ']', '}', '"', '\'', '”', '’', '»', '*', '_', '`',
        ]);
        match end {
            "" if body.chars().all(|char| matches!(char, '-' | '–' | '—')) => {}
            "-" | "–" | "—" => self.mark(','),
            end => self.body(end),
        }
        self.end(&body[end.len()..]);
    }

    fn abbreviation(&self, chunk: &str) -> Option<String> {
        let next_is_number =
            self.peek().is_some_and(|next| next.starts_with(|char: char| char.is_ascii_digit()));
        if chunk.eq_ignore_ascii_case("no.") && !next_is_number {
            return None;
        }
        if let Some(words) = look_up(ABBREVIATIONS, chunk).or_else(|| look_up(LAST_ABBREVIATIONS, chunk)) {
            return Some(words.into());
        }
        // Initials: U.S., J.
        let pairs = chunk.as_bytes().chunks(2);
        let initials = chunk.len() >= 2 && chunk != "I." && pairs.len() * 2 == chunk.len();
        let initials = initials && pairs.clone().all(|pair| pair[0].is_ascii_uppercase() && pair[1] == b'.');
        initials.then(|| spelled(chunk))
    }

    fn peek(&self) -> Option<&str> {
        self.chunks.get(self.at).copied()
    }

    /// The marks that close a chunk: the first that is heard counts.
    fn end(&mut self, marks: &str) {
        let heard = marks.chars().find_map(|char| match char {
            '.' | ',' | ';' | ':' | '!' | '?' => Some(char),
            '…' => Some('.'),
            ')' | ']' | '}' => Some(','),
            _ => None,
        });
        if let Some(mark) = heard {
            self.mark(mark);
        }
    }

    fn mark(&mut self, mark: char) {
        match self.tokens.last_mut() {
            // A pause gives way to the end of the sentence.
            Some(Token::Mark(last)) if *last == ',' => *last = mark,
            Some(Token::Word(_)) => self.tokens.push(Token::Mark(mark)),
            _ => {}
        }
    }

    fn words(&mut self, words: &str) {
        for word in words.split_whitespace() {
            match word.strip_suffix(',') {
                Some(word) => {
                    self.tokens.push(Token::Word(word.into()));
                    self.mark(',');
                }
                None => self.tokens.push(Token::Word(word.into())),
            }
        }
    }

    fn body(&mut self, body: &str) {
        if body.chars().all(|char| char.is_alphabetic() || matches!(char, '\'' | '’')) {
            if !body.is_empty() {
                self.tokens.push(Token::Word(body.replace('’', "'")));
            }
        } else if body.contains(|char: char| char.is_ascii_digit()) {
            self.with_digits(body);
        } else {
            self.with_symbols(body);
        }
    }

    /// Letters and symbols: `and/or`, `well-known`, `a@b.org`, `R&D`.
    fn with_symbols(&mut self, body: &str) {
        let dotted = body.split('.').all(|part| part.chars().next().is_some_and(char::is_alphanumeric));
        let mut word = String::new();
        for char in body.chars() {
            if char.is_alphabetic() || matches!(char, '\'' | '’') {
                word.push(if char == '’' { '\'' } else { char });
                continue;
            }
            if !word.is_empty() {
                self.tokens.push(Token::Word(std::mem::take(&mut word)));
            }
            match SYMBOLS.iter().find(|(symbol, _)| *symbol == char) {
                Some((_, words)) => self.words(words),
                None if char == '.' && dotted => self.words("dot"),
                None if matches!(char, '—' | '–' | ':' | ';' | ',') => self.mark(','),
                None => {}
            }
        }
        if !word.is_empty() {
            self.tokens.push(Token::Word(word));
        }
    }

    fn with_digits(&mut self, body: &str) {
        let mut out = String::new();
        if clock(
            body,
            self.peek().is_some_and(|next| is_half(next.trim_end_matches(['.', ',', '?', '!']))),
            &mut out,
        )
        .is_some()
        {
            self.unit_apart("", &mut out);
            return self.words(&out);
        }
        if self.money(body, &mut out).is_some()
            || calendar(body, &mut out).is_some()
            || range(body, &mut out).is_some()
            || fraction(body, &mut out).is_some()
            || self.amount(body, &mut out).is_some()
        {
            return self.words(&out);
        }
        // What is left is taken apart: B12, MP3, 4x4, 10/100.
        let mut rest = body;
        while let Some(first) = rest.chars().next() {
            let digit = first.is_ascii_digit();
            let len = rest.find(|char: char| char.is_ascii_digit() != digit).unwrap_or(rest.len());
            let (part, after) = rest.split_at(len);
            if digit {
                let mut out = String::new();
                let _ = numbers::number(part, &mut out);
                self.words(&out);
            } else if part.chars().all(|char| char.is_alphabetic()) {
                let name =
                    part.len() <= 3 && part.chars().all(char::is_uppercase) || part.chars().count() == 1;
                self.words(&if name { spelled(part) } else { part.into() });
            } else {
                self.with_symbols(part);
            }
            rest = after;
        }
    }

    /// `$5.50`, `€3`, `$2 million`.
    fn money(&mut self, body: &str, out: &mut String) -> Option<()> {
        let (sign, amount) = body.split_at_checked(body.chars().next()?.len_utf8())?;
        let (one, many, cents) = match sign {
            "$" => ("dollar", "dollars", "cents"),
            "€" => ("euro", "euros", "cents"),
            "£" => ("pound", "pounds", "pence"),
            _ => return None,
        };
        let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
        let scale = self.peek().map(|next| next.trim_end_matches(['.', ',', '?', '!']).to_owned());
        if let Some(scale) = scale.filter(|scale| SCALES.contains(&scale.as_str())) {
            numbers::number(amount, out)?;
            push(out, &scale);
            push(out, many);
            let end = self.peek()?[scale.len()..].to_owned();
            self.at += 1;
            self.words(&std::mem::take(out));
            self.end(&end);
            return Some(());
        }
        numbers::number(if fraction.len() == 2 { whole } else { amount }, out)?;
        push(out, if amount == "1" || fraction.len() == 2 && whole == "1" { one } else { many });
        if fraction.len() == 2 && fraction != "00" {
            push(out, "and");
            numbers::cardinal(fraction.parse().ok()?, out);
            push(out, cents);
        }
        Some(())
    }

    /// A number with what belongs to it: `3rd`, `1990s`, `20°C`, `5 km`, `#1`, `2026`.
    fn amount(&mut self, body: &str, out: &mut String) -> Option<()> {
        let body = match body.strip_prefix('#') {
            Some(body) => {
                push(out, "number");
                body
            }
            None => body,
        };
        let len = body
            .find(|char: char| !matches!(char, '0'..='9' | ',' | '.' | '-' | '+' | '\u{2212}'))
            .unwrap_or(body.len());
        let (figure, unit) = body.split_at(len);
        let value = figure.parse::<u64>().ok();
        match (unit, value) {
            ("st" | "nd" | "rd" | "th", Some(value)) => numbers::ordinal(value, out),
            ("s" | "'s", Some(value)) if (1100..=2100).contains(&value) && value % 10 == 0 => {
                numbers::year(value, out);
                if out.ends_with('y') {
                    out.pop();
                    out.push_str("ies");
                } else {
                    out.push('s');
                }
            }
            ("", Some(value)) if figure.len() == 4 && (1900..=2099).contains(&value) => {
                numbers::year(value, out)
            }
            ("", _) => numbers::number(figure, out)?,
            _ => {
                let unit = unit_words(unit, figure)?;
                numbers::number(figure, out)?;
                push(out, unit);
            }
        }
        if unit.is_empty() {
            self.unit_apart(figure, out);
        }
        Some(())
    }

    /// The unit that stands behind a space: `5 km`.
    fn unit_apart(&mut self, figure: &str, out: &mut String) {
        let Some(next) = self.peek() else { return };
        let sign = next.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        // Between other words these are words: "5 am I".
        if let Some(words) = unit_words(sign, figure) {
            push(out, words);
            let end = next[sign.len()..].to_owned();
            self.at += 1;
            self.words(&std::mem::take(out));
            self.end(&end);
        }
    }
}

fn unit_words(sign: &str, figure: &str) -> Option<&'static str> {
    let &(_, one, many) = UNITS.iter().find(|(unit, _, _)| unit.eq_ignore_ascii_case(sign))?;
    Some(if figure == "1" { one } else { many })
}

/// `7:05`, `16:30:10`, `9:30pm`; `half_follows`: "am" or "pm" is the next word.
pub(in crate::speech) fn clock(body: &str, half_follows: bool, out: &mut String) -> Option<()> {
    let (hour, rest) = body.split_once(':')?;
    let (minute, rest) = rest.split_at_checked(2)?;
    let (second, half) = match rest.strip_prefix(':') {
        Some(rest) => {
            let (second, rest) = rest.split_at_checked(2)?;
            (Some(second), rest)
        }
        None => (None, rest),
    };
    let half = half.trim_start();
    if !half.is_empty() && !is_half(half) {
        return None;
    }
    let mut said = String::new();
    let bare = half_follows || !half.is_empty() || second.is_some();
    numbers::time(hour.parse().ok()?, minute.parse().ok()?, bare, &mut said)?;
    if let Some(second) = second {
        push(&mut said, "and");
        numbers::cardinal(second.parse().ok()?, &mut said);
        push(&mut said, "seconds");
    }
    push(&mut said, unit_words(&half.replace('.', ""), "").unwrap_or_default());
    push(out, &said);
    Some(())
}

fn is_half(text: &str) -> bool {
    ["am", "pm", "a.m", "p.m", "a.m.", "p.m."].iter().any(|half| text.eq_ignore_ascii_case(half))
}

/// `2026-11-30`, `11/30/2026`.
fn calendar(body: &str, out: &mut String) -> Option<()> {
    let parts = |sign| -> Option<[&str; 3]> { body.split(sign).collect::<Vec<_>>().try_into().ok() };
    let (year, month, day) = match (parts('-'), parts('/')) {
        (Some([year, month, day]), _) if year.len() == 4 => (year, month, day),
        (_, Some([month, day, year])) if year.len() == 4 => (year, month, day),
        _ => return None,
    };
    numbers::date(year.parse().ok(), Some(month.parse().ok()?), Some(day.parse().ok()?), out)
}

/// `5-10`, `2020–2024`, and the phone number `555-1234`.
fn range(body: &str, out: &mut String) -> Option<()> {
    let groups: Vec<&str> = body.split(['-', '–']).collect();
    let is_digits = |group: &&str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    if groups.len() < 2 || !groups.iter().all(is_digits) {
        return None;
    }
    if groups[0].len() == 3 && groups[groups.len() - 1].len() == 4 {
        for (nth, group) in groups.into_iter().enumerate() {
            if nth > 0 {
                out.push(',');
            }
            numbers::digits(group, out);
        }
        return Some(());
    }
    let [from, to] = groups[..] else { return None };
    for (word, figure) in [("", from), ("to", to)] {
        push(out, word);
        match figure.parse() {
            Ok(year) if figure.len() == 4 => numbers::year(year, out),
            _ => numbers::number(figure, out)?,
        }
    }
    Some(())
}

/// `1/2`, `3/4`, `5/8`.
fn fraction(body: &str, out: &mut String) -> Option<()> {
    let (over, under) = body.split_once('/')?;
    let (over, under): (u64, u64) = (over.parse().ok()?, under.parse().ok()?);
    if over >= under || under > 20 {
        return None;
    }
    numbers::cardinal(over, out);
    match under {
        2 => push(out, "half"),
        4 => push(out, "quarter"),
        under => numbers::ordinal(under, out),
    }
    if over > 1 {
        out.push('s');
    }
    Some(())
}

/// The names of the letters and digits of a text.
pub(in crate::speech) fn spelled(text: &str) -> String {
    let mut out = String::new();
    for name in text.chars().filter_map(numbers::letter) {
        push(&mut out, name);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let mut out = String::new();
        for token in tokens(text) {
            match token {
                Token::Word(word) => push(&mut out, &word),
                Token::Mark(mark) => out.push(mark),
            }
        }
        out
    }

    #[test]
    fn numbers_are_said_as_what_they_are() {
        for (text, words) in [
            ("It is 7:05 pm.", "It is seven oh five pee em."),
            ("At 10:30, 5 p.m. or 8am?", "At ten thirty, five pee em or eight ay em?"),
            ("The 3rd of May 1984", "The third of May nineteen eighty four"),
            ("on 2026-11-30", "on November thirtieth, twenty twenty six"),
            (
                "20°C or 68 °F, 1 km.",
                "twenty degrees Celsius or sixty eight degrees Fahrenheit, one kilometer.",
            ),
            ("1,234 of 5.5 % (all)", "one thousand two hundred thirty four of five point five percent, all,"),
            (
                "$5.50, $1 and $2 million.",
                "five dollars and fifty cents, one dollar and two million dollars.",
            ),
            ("5-10 of 1/2 and 3/4", "five to ten of one half and three quarters"),
            ("call 555-1234", "call five five five, one two three four"),
            ("in the 1990s", "in the nineteen nineties"),
            ("-5 and #1", "minus five and number one"),
            ("B12, MP3 and 4x4", "bee twelve, em pee three and four ex four"),
        ] {
            assert_eq!(said(text), words, "{text}");
        }
    }

    #[test]
    fn abbreviations_and_symbols_are_said_in_full() {
        for (text, words) in [
            ("Dr. Smith vs. Mrs. Jones, etc.", "doctor Smith versus missus Jones, et cetera"),
            ("R&D at a@b.org", "R and D at a at b dot org"),
            ("No. 5, no. Yes.", "number five, no. Yes."),
            ("the U.S. team", "the you ess team"),
            ("well-known — and/or", "well known, and or"),
            ("Wait… what?! “Yes.”", "Wait. what? Yes."),
            ("*bold* `code` (aside) end", "bold code, aside, end"),
            ("don’t", "don't"),
        ] {
            assert_eq!(said(text), words, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_silent() {
        for text in ["", "   ", "...", "— -", "🎉", "()", "\u{0}"] {
            assert_eq!(said(text), "", "{text}");
        }
    }

    #[test]
    fn a_full_stop_of_an_abbreviation_is_told_from_the_end_of_a_sentence() {
        for chunk in ["Dr.", "e.g.", "(Mr.", "J.", "vs."] {
            assert!(is_abbreviation(chunk), "{chunk}");
        }
        for chunk in ["light.", "I.", "etc.", "5.", "."] {
            assert!(!is_abbreviation(chunk), "{chunk}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,60}", figures in "[-0-9:/.,$€%°#a-z ]{0,24}") {
            for token in tokens(&text).into_iter().chain(tokens(&figures)) {
                if let Token::Word(word) = token {
                    proptest::prop_assert!(word.chars().all(|char| char.is_alphabetic() || char == '\''), "{}", word);
                }
            }
        }
    }
}
