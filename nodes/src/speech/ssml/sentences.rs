//! Where a text can be cut so that its sound can begin before all of it is worked out.

use crate::speech::phonemes::words::is_abbreviation;

/// A sentence above this many bytes is cut at the borders of its clauses, some 5 s of speech.
const LONG: usize = 90;
/// No clause is cut off that is shorter, in bytes: a lone "Well," has no melody.
const SHORT: usize = 20;
/// Where there is no clause border, a text is cut between words before it has this many bytes: 15 s of speech. A word
/// of that length is cut too: the encoder's memory grows with the square of a piece.
const LONGEST: usize = 300;

/// The pieces of a text to be spoken one after the other: sentences, or clauses of long sentences.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    cuts(text, sentence_end)
        .flat_map(|sentence| cuts(sentence, clause_end))
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
}

fn cuts(text: &str, end: fn(&str) -> usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(end(rest));
        rest = after;
        Some(piece)
    })
}

/// How long the first sentence is, with the space behind it.
fn sentence_end(text: &str) -> usize {
    let mut start = 0;
    while let Some((chunk, after)) = next_chunk(text, start) {
        let gap = &text[start + chunk.len()..after];
        let is_paragraph = gap.len() > 1 && gap.matches('\n').count() > 1;
        // Most words end with a letter.
        let may_end = !chunk.ends_with(|last: char| last.is_ascii_alphanumeric());
        if is_paragraph || may_end && ends_sentence(chunk, &text[after..]) {
            return after;
        }
        start = after;
    }
    text.len()
}

fn ends_sentence(chunk: &str, next: &str) -> bool {
    let closed = chunk.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»']);
    let ends = closed.ends_with(['!', '?', '…']) || closed.ends_with('.') && !is_abbreviation(closed);
    let next = next.trim_start_matches(['"', '\'', '(', '[', '“', '‘', '«']).chars().next();
    ends && !next.is_some_and(char::is_lowercase)
}

/// How much of a sentence to speak at once.
fn clause_end(sentence: &str) -> usize {
    if sentence.len() <= LONG {
        return sentence.len();
    }
    let mut start = 0;
    while let Some((chunk, after)) = next_chunk(sentence, start) {
        let border = chunk.ends_with([',', ';', ':', '—', '–']);
        if border && after >= SHORT && sentence.len() - after >= SHORT {
            return after;
        }
        if after >= LONGEST {
            return if start > 0 { start } else { sentence.floor_char_boundary(LONGEST) };
        }
        start = after;
    }
    sentence.len()
}

/// The word at `start`, and where the next one starts; `None` at the end.
fn next_chunk(text: &str, start: usize) -> Option<(&str, usize)> {
    let rest = &text[start..];
    if rest.is_empty() {
        return None;
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let after = rest[end..].find(|char: char| !char.is_whitespace()).map_or(rest.len(), |gap| end + gap);
    Some((&rest[..end], start + after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<&str> {
        pieces(text).collect()
    }

    #[test]
    fn sentences_are_told_from_abbreviations_and_numbers() {
        assert_eq!(
            all("Dr. Miller called. It was 3.5 degrees, e.g. cold!  \"Really?\" he said. (Yes.) Ok"),
            ["Dr. Miller called.", "It was 3.5 degrees, e.g. cold!", "\"Really?\" he said.", "(Yes.)", "Ok"]
        );
        assert_eq!(all("a title\n\nand a text\nof lines"), ["a title", "and a text\nof lines"]);
        assert_eq!(all(" \n "), Vec::<&str>::new());
    }

    #[test]
    fn a_long_sentence_is_cut_at_its_clauses_and_a_short_one_is_not() {
        assert_eq!(all("Well, yes, it is."), ["Well, yes, it is."]);
        assert_eq!(
            all(
                "Well, I have set a timer for ten minutes, and it will ring at half past four this afternoon, in the bedroom."
            ),
            [
                "Well, I have set a timer for ten minutes,",
                "and it will ring at half past four this afternoon, in the bedroom."
            ]
        );
    }

    #[test]
    fn a_sentence_without_borders_is_cut_between_words() {
        let text = "word ".repeat(200);
        let pieces = all(&text);
        assert!(pieces.iter().all(|piece| piece.len() <= LONGEST && piece.ends_with("word")));
        assert_eq!(pieces.join(" "), text.trim());
        let word = "é".repeat(500);
        assert_eq!(all(&word).concat(), word);
        assert!(all(&word).iter().all(|piece| piece.len() <= LONGEST));
    }

    proptest::proptest! {
        #[test]
        fn cutting_loses_nothing_but_space(text in "[a-zé.,!? \n]{0,400}") {
            let kept: String = pieces(&text).flat_map(str::split_whitespace).collect();
            let all: String = text.split_whitespace().collect();
            proptest::prop_assert_eq!(kept, all);
        }
    }
}
