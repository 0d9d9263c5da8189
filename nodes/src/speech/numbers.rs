//! Numbers, times and dates as American English says them.

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: [(u64, &str); 6] = [
    (1_000_000_000_000_000_000, "quintillion"),
    (1_000_000_000_000_000, "quadrillion"),
    (1_000_000_000_000, "trillion"),
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1_000, "thousand"),
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Adds a word, with a space between it and what is there.
pub(super) fn push(out: &mut String, word: &str) {
    if !out.is_empty() && !out.ends_with(' ') && !word.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

/// `1234` -> "one thousand two hundred thirty four".
pub(super) fn cardinal(mut number: u64, out: &mut String) {
    if number == 0 {
        return push(out, ONES[0]);
    }
    for (scale, name) in SCALES {
        if number >= scale {
            below_thousand(number / scale, out);
            push(out, name);
            number %= scale;
        }
    }
    below_thousand(number, out);
}

fn below_thousand(mut number: u64, out: &mut String) {
    if number >= 100 {
        push(out, ONES[(number / 100) as usize]);
        push(out, "hundred");
        number %= 100;
    }
    if number >= 20 {
        push(out, TENS[(number / 10) as usize]);
        number %= 10;
    }
    if number > 0 {
        push(out, ONES[number as usize]);
    }
}

/// `23` -> "twenty third".
pub(super) fn ordinal(number: u64, out: &mut String) {
    cardinal(number, out);
    let last = out.rfind(' ').map_or(0, |space| space + 1);
    let ordinal = match &out[last..] {
        "one" => "first",
        "two" => "second",
        "three" => "third",
        "five" => "fifth",
        "eight" => "eighth",
        "nine" => "ninth",
        "twelve" => "twelfth",
        word if word.ends_with('y') => {
            out.pop();
            return out.push_str("ieth");
        }
        _ => return out.push_str("th"),
    };
    out.truncate(last);
    out.push_str(ordinal);
}

/// Each digit on its own; other characters are left out.
pub(super) fn digits(text: &str, out: &mut String) {
    for digit in text.bytes().filter(u8::is_ascii_digit) {
        push(out, ONES[usize::from(digit - b'0')]);
    }
}

/// A number as written, in full: `-1,234.50` -> "minus one thousand two hundred thirty four point five zero".
///
/// A whole part that begins with a needless zero, or is too long to have a name, is said digit by digit. `None` when
/// the text is no number.
pub(super) fn number(text: &str, out: &mut String) -> Option<()> {
    let (minus, text) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_fraction = text.len() > whole.len();
    if !is_digits(fraction) || has_fraction == fraction.is_empty() || whole.is_empty() && !has_fraction {
        return None;
    }
    let whole = ungrouped(whole)?;
    if minus {
        push(out, "minus");
    }
    match whole.parse() {
        _ if whole.is_empty() => push(out, ONES[0]),
        Ok(number) if !whole.starts_with('0') || whole.len() == 1 => cardinal(number, out),
        _ => digits(&whole, out),
    }
    if has_fraction {
        push(out, "point");
        digits(fraction, out);
    }
    Some(())
}

/// Digits without the commas between groups of three; `None` when there is anything else.
fn ungrouped(text: &str) -> Option<String> {
    let grouped = text.contains(',');
    let mut groups = text.split(',');
    let first = groups.next()?;
    let fits = !grouped || (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    let digits: String = text.chars().filter(|&char| char != ',').collect();
    (fits && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// `1984` -> "nineteen eighty four", `2005` -> "two thousand five", `1900` -> "nineteen hundred".
pub(super) fn year(year: u64, out: &mut String) {
    let (century, rest) = (year / 100, year % 100);
    if !(1100..=2099).contains(&year) || century == 20 && rest < 10 {
        return cardinal(year, out);
    }
    cardinal(century, out);
    match rest {
        0 => push(out, "hundred"),
        1..=9 => {
            push(out, "oh");
            cardinal(rest, out);
        }
        _ => cardinal(rest, out),
    }
}

/// A time of day: `(7, 5)` -> "seven oh five", `(7, 0)` -> "seven o'clock", `(0, 30)` -> "zero thirty".
///
/// `None` when there is no such time. With `bare`, a full hour stands alone, as before "a m".
pub(super) fn time(hour: u64, minute: u64, bare: bool, out: &mut String) -> Option<()> {
    if hour > 24 || minute > 59 {
        return None;
    }
    cardinal(hour, out);
    match minute {
        0 if bare => {}
        0 if (1..=12).contains(&hour) => push(out, "o'clock"),
        0 => push(out, "hundred"),
        1..=9 => {
            push(out, "oh");
            cardinal(minute, out);
        }
        _ => cardinal(minute, out),
    }
    Some(())
}

/// "May third, twenty twenty six", as far as the parts are known; `None` when there is no such month or day.
pub(super) fn date(
    year_of: Option<u64>,
    month: Option<u64>,
    day: Option<u64>,
    out: &mut String,
) -> Option<()> {
    let name = match month {
        Some(month) => MONTHS[usize::try_from(month).ok()?.checked_sub(1).filter(|&month| month < 12)?],
        None => "",
    };
    if day.is_some_and(|day| !(1..=31).contains(&day)) {
        return None;
    }
    push(out, name);
    if let Some(day) = day {
        ordinal(day, out);
    }
    if let Some(number) = year_of {
        if day.is_some() {
            out.push(',');
        }
        year(number, out);
    }
    Some(())
}

/// The name of a letter or digit, spelt as a word; `None` for other characters.
pub(super) fn letter(char: char) -> Option<&'static str> {
    const NAMES: [&str; 26] = [
        "ay",
        "bee",
        "see",
        "dee",
        "ee",
        "eff",
        "gee",
        "aitch",
        "eye",
        "jay",
        "kay",
        "el",
        "em",
        "en",
        "oh",
        "pee",
        "cue",
        "ar",
        "ess",
        "tee",
        "you",
        "vee",
        "double you",
        "ex",
        "why",
        "zee",
    ];
    match char.to_ascii_lowercase() {
        lower @ 'a'..='z' => Some(NAMES[lower as usize - 'a' as usize]),
        digit @ '0'..='9' => Some(ONES[digit as usize - '0' as usize]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(say: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        say(&mut out);
        out
    }

    #[test]
    fn cardinals_to_the_largest() {
        for (number, words) in [
            (0, "zero"),
            (13, "thirteen"),
            (40, "forty"),
            (101, "one hundred one"),
            (1_234, "one thousand two hundred thirty four"),
            (2_000_001, "two million one"),
        ] {
            assert_eq!(said(|out| cardinal(number, out)), words);
        }
        assert!(
            said(|out| cardinal(u64::MAX, out)).starts_with("eighteen quintillion four hundred forty six")
        );
    }

    #[test]
    fn ordinals_change_the_last_word() {
        for (number, words) in [
            (1, "first"),
            (12, "twelfth"),
            (20, "twentieth"),
            (23, "twenty third"),
            (100, "one hundredth"),
            (1_008, "one thousand eighth"),
        ] {
            assert_eq!(said(|out| ordinal(number, out)), words);
        }
    }

    #[test]
    fn numbers_as_written() {
        for (text, words) in [
            ("1,234.50", "one thousand two hundred thirty four point five zero"),
            ("-5", "minus five"),
            (".5", "zero point five"),
            ("007", "zero zero seven"),
            (
                "12345678901234567890123",
                "one two three four five six seven eight nine zero one two three four five six seven eight nine zero one two three",
            ),
        ] {
            let mut out = String::new();
            assert_eq!(number(text, &mut out), Some(()), "{text}");
            assert_eq!(out, words);
        }
        for text in ["", "-", ".", "1.", "1.2.3", "12,34", "1,2345", "ten", "1e5"] {
            assert_eq!(number(text, &mut String::new()), None, "{text}");
        }
    }

    #[test]
    fn years_go_by_hundreds() {
        for (number, words) in [
            (1984, "nineteen eighty four"),
            (1900, "nineteen hundred"),
            (1805, "eighteen oh five"),
            (2000, "two thousand"),
            (2005, "two thousand five"),
            (2026, "twenty twenty six"),
            (476, "four hundred seventy six"),
        ] {
            assert_eq!(said(|out| year(number, out)), words);
        }
    }

    #[test]
    fn times_and_dates_that_do_not_exist_are_not_said() {
        let mut out = String::new();
        assert_eq!(time(25, 0, false, &mut out), None);
        assert_eq!(date(None, Some(13), Some(1), &mut out), None);
        assert_eq!(date(None, Some(0), None, &mut out), None);
        assert_eq!(date(None, None, Some(32), &mut out), None);
        assert_eq!(out, "");
    }

    #[test]
    fn times_and_dates() {
        for ((hour, minute), words) in [
            ((7, 5), "seven oh five"),
            ((7, 0), "seven o'clock"),
            ((16, 30), "sixteen thirty"),
            ((0, 0), "zero hundred"),
        ] {
            let mut out = String::new();
            time(hour, minute, false, &mut out);
            assert_eq!(out, words);
        }
        let mut out = String::new();
        date(Some(2026), Some(5), Some(3), &mut out);
        assert_eq!(out, "May third, twenty twenty six");
    }
}
