//! How good hearing is: word error rate, and a detector's precision and recall.

use thiserror::Error;

use super::numbers;

/// A stretch of time in seconds from the start of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Where it begins.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
}

/// Words compared with what was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordErrors {
    /// Words wrong, missing or too many.
    pub errors: usize,
    /// Words that were said.
    pub words: usize,
}

impl WordErrors {
    /// Compares after [`normalise`]; the fewest edits count.
    pub fn of(said: &str, heard: &str) -> WordErrors {
        let (said, heard) = (normalise(said), normalise(heard));
        let mut row: Vec<usize> = (0..=heard.len()).collect();
        for (i, word) in said.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, other) in heard.iter().enumerate() {
                let replaced = diagonal + usize::from(word != other);
                diagonal = row[j + 1];
                row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
            }
        }
        WordErrors { errors: row[heard.len()], words: said.len() }
    }

    /// Both texts together.
    pub fn and(self, other: WordErrors) -> WordErrors {
        WordErrors { errors: self.errors + other.errors, words: self.words + other.words }
    }

    /// Errors a word that was said: 0.0 is perfect; above 1.0 when words were made up.
    pub fn rate(self) -> f64 {
        self.errors as f64 / self.words as f64
    }
}

/// The words of a text as they are spoken: lower case, without punctuation, numbers up to 999,999 and common
/// abbreviations written out, hyphenated words apart.
pub fn normalise(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for token in text.to_lowercase().split(|c: char| c.is_whitespace() || c == '-' || c == '\u{2014}') {
        let token = token.replace('\u{2019}', "'");
        let word: String = token.chars().filter(|c| c.is_alphanumeric() || *c == '\'').collect();
        let word = word.trim_matches('\'');
        match word.parse::<u32>() {
            Ok(number) if number < 1_000_000 => push_number(&mut words, number),
            _ if word.is_empty() => {}
            _ => words.push(full_form(word).to_owned()),
        }
    }
    words
}

fn full_form(word: &str) -> &str {
    match word {
        "mr" => "mister",
        "mrs" => "missus",
        "dr" => "doctor",
        "st" => "saint",
        "ok" => "okay",
        other => other,
    }
}

fn push_number(words: &mut Vec<String>, number: u32) {
    let mut text = String::new();
    numbers::cardinal(number.into(), &mut text);
    words.extend(text.split(' ').map(str::to_owned));
}

/// A detector judged on frames of 10 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Share of what was found that is right.
    pub precision: f64,
    /// Share of what is there that was found.
    pub recall: f64,
}

impl Detection {
    /// Compares spans of one recording; spans may overlap.
    pub fn of(there: &[Span], found: &[Span]) -> Detection {
        let end = there.iter().chain(found).fold(0.0, |end: f64, span| end.max(span.end));
        let frames = (end * 100.0).ceil() as usize;
        let within = |spans: &[Span], frame: usize| {
            let middle = (frame as f64 + 0.5) / 100.0;
            spans.iter().any(|span| (span.start..span.end).contains(&middle))
        };
        let (mut both, mut truth, mut claim) = (0.0, 0.0, 0.0);
        for frame in 0..frames {
            let (is, said) = (within(there, frame), within(found, frame));
            truth += f64::from(u8::from(is));
            claim += f64::from(u8::from(said));
            both += f64::from(u8::from(is && said));
        }
        Detection { precision: both / claim, recall: both / truth }
    }
}

/// A line of an RTTM file that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}: expected `SPEAKER file channel start duration ...` in seconds, found `{found}`")]
pub struct RttmError {
    /// Counted from 1.
    pub line: usize,
    /// The whole line.
    pub found: String,
}

/// The speech in a file of NIST's Rich Transcription Time Marked format.
///
/// # Errors
/// The first line that is no SPEAKER line.
pub fn parse_rttm(text: &str) -> Result<Vec<Span>, RttmError> {
    let mut spans = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let span = match fields[..] {
            ["SPEAKER", _, _, start, duration, ..] => start.parse().ok().zip(duration.parse::<f64>().ok()),
            _ => None,
        };
        let (start, duration): (f64, f64) =
            span.ok_or_else(|| RttmError { line: number + 1, found: line.to_owned() })?;
        spans.push(Span { start, end: start + duration });
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_as_they_are_spoken() {
        for (said, heard) in [
            ("ten of clubs", "10 of clubs."),
            ("mister john dashwood", "Mr. John Dashwood"),
            ("an ill disposed man", "An ill-disposed man!"),
            ("two thousand three hundred forty five", "2,345"),
            ("nineteen hundred", "nineteen hundred"),
            ("i didn't know", "I didn\u{2019}t know"),
            ("one hundred thousand", "100000"),
        ] {
            assert_eq!(WordErrors::of(said, heard).errors, 0, "{said} / {heard}");
        }
    }

    #[test]
    fn wrong_missing_and_added_words_each_count_once() {
        for (heard, errors) in
            [("a b c d", 0), ("a x c d", 1), ("a c d", 1), ("a b b c d", 1), ("", 4), ("b a d c", 3)]
        {
            assert_eq!(WordErrors::of("a b c d", heard), WordErrors { errors, words: 4 }, "{heard}");
        }
    }

    #[test]
    fn rates_of_several_texts_weigh_by_their_words() {
        let all = WordErrors::of("a", "b").and(WordErrors::of("a b c", "a b c"));
        assert_eq!(all.rate(), 0.25);
    }

    #[test]
    fn precision_and_recall_count_frames_of_10_ms() {
        let span = |start, end| Span { start, end };
        let judged = Detection::of(&[span(1.0, 2.0), span(1.5, 2.0)], &[span(1.5, 2.5)]);
        assert_eq!(judged, Detection { precision: 0.5, recall: 0.5 });
    }

    #[test]
    fn an_rttm_line_gives_a_span_and_a_bad_one_its_number() {
        let good = "SPEAKER sample 1 6.690 0.430 <NA> <NA> speaker90 <NA> <NA>\n";
        let spans = parse_rttm(good).unwrap();
        assert!((spans[0].start - 6.69).abs() < 1e-9 && (spans[0].end - 7.12).abs() < 1e-9);
        let error = parse_rttm(&format!("{good}\nSPEAKER sample 1 soon 0.4")).unwrap_err();
        assert_eq!(error.line, 3);
    }
}
