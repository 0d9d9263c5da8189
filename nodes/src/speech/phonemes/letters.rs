//! How a word sounds that no dictionary has: its parts if they are words, else its letters by rule.

use super::{
    lexicon::Lexicon,
    sounds::{self, Phone, Sound, Stress},
};

/// The sounds of a word in lower case that the dictionary does not have.
pub(super) fn guess(word: &str, lexicon: &Lexicon) -> Vec<Phone> {
    inflected(word, lexicon).or_else(|| compound(word, lexicon)).unwrap_or_else(|| by_rule(word))
}

fn look_up(word: &str, lexicon: &Lexicon) -> Option<Vec<Phone>> {
    lexicon.get(word).and_then(sounds::read)
}

/// A known word with an ending: `smartwatches`, `rebooted`, `googling`.
fn inflected(word: &str, lexicon: &Lexicon) -> Option<Vec<Phone>> {
    type Sounds = fn(Sound) -> &'static str;
    const ENDINGS: [(&str, Sounds); 9] = [
        ("'s", plural),
        ("es", plural),
        ("s", plural),
        ("ed", past),
        ("ing", |_| "IH NG"),
        ("er", |_| "ER"),
        ("ly", |_| "L IY"),
        ("ness", |_| "N AH S"),
        ("less", |_| "L AH S"),
    ];
    ENDINGS.iter().find_map(|(ending, sounds)| {
        let stem = word.strip_suffix(ending).filter(|stem| stem.len() >= 3)?;
        let mut phones = stem_phones(stem, ending, lexicon)?;
        let last = phones.last()?.sound;
        phones.extend(sounds::read(sounds(last))?);
        Some(phones)
    })
}

/// The stem as it stands, with the `e` it lost, or without the letter it doubled.
fn stem_phones(stem: &str, ending: &str, lexicon: &Lexicon) -> Option<Vec<Phone>> {
    let word = |stem: &str| look_up(stem, lexicon).or_else(|| compound(stem, lexicon));
    if let Some(phones) = word(stem) {
        return Some(phones);
    }
    let by_vowel = ending.starts_with(['e', 'i']);
    let bytes = stem.as_bytes();
    if by_vowel && let Some(phones) = word(&format!("{stem}e")) {
        return Some(phones);
    }
    let doubled = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
    (by_vowel && doubled).then(|| word(&stem[..stem.len() - 1])).flatten()
}

fn plural(last: Sound) -> &'static str {
    match last {
        last if last.hisses() => "IH Z",
        last if last.is_voiced() => "Z",
        _ => "S",
    }
}

fn past(last: Sound) -> &'static str {
    match last {
        Sound::T | Sound::D => "IH D",
        last if last.is_voiced() => "D",
        _ => "T",
    }
}

/// Two known words written as one: `touchscreen`. The second keeps a lesser stress.
fn compound(word: &str, lexicon: &Lexicon) -> Option<Vec<Phone>> {
    let splits = (3..word.len().saturating_sub(2)).rev().filter(|&at| word.is_char_boundary(at));
    splits.filter_map(|at| Some((look_up(&word[..at], lexicon)?, look_up(&word[at..], lexicon)?))).next().map(
        |(mut first, second)| {
            first.extend(second.into_iter().map(|phone| match phone.stress {
                Stress::Primary => Phone { stress: Stress::Secondary, ..phone },
                _ => phone,
            }));
            first
        },
    )
}

/// What letters sound like between what stands left and right of them; the first rule that fits is taken.
///
/// In the contexts `_` is the word's border, `^` a consonant, `*` a vowel letter, `+` one of e, i and y, `%` a
/// consonant and a last `e` or an ending that took its place, by which the vowel before is long. The sounds `s`, `es` and `ed` are the endings, which
/// depend on the sound before them.
const RULES: &[(&str, &str, &str, &str)] = &[
    // a
    ("", "augh", "", "AO"),
    ("", "aught", "", "AO T"),
    ("", "air", "", "EH R"),
    ("", "are", "_", "EH R"),
    ("^^", "ar", "_", "ER"),
    ("", "ar", "_", "AA R"),
    ("", "ar", "^", "AA R"),
    ("", "ai", "", "EY"),
    ("", "ay", "", "EY"),
    ("", "au", "", "AO"),
    ("", "aw", "", "AO"),
    ("", "alk", "", "AO K"),
    ("", "all", "_", "AO L"),
    ("", "able", "_", "AH B AH L"),
    ("^", "age", "_", "IH JH"),
    ("", "a", "_", "AH"),
    ("w", "a", "^", "AA"),
    ("", "a", "%", "EY"),
    ("", "a", "tion", "EY"),
    ("", "a", "ting_", "EY"),
    ("", "a", "", "AE"),
    // b
    ("m", "b", "_", ""),
    ("", "bb", "", "B"),
    ("", "b", "", "B"),
    // c
    ("", "cch", "", "K"),
    ("_", "chr", "", "K R"),
    ("", "ch", "", "CH"),
    ("", "cial", "", "SH AH L"),
    ("", "cian", "", "SH AH N"),
    ("", "cious", "", "SH AH S"),
    ("", "ck", "", "K"),
    ("", "cc", "+", "K S"),
    ("", "cc", "", "K"),
    ("s", "c", "+", ""),
    ("", "c", "+", "S"),
    ("", "c", "", "K"),
    // d
    ("", "dge", "", "JH"),
    ("", "dd", "", "D"),
    ("", "d", "", "D"),
    // e
    ("", "eau", "", "OW"),
    ("", "eigh", "", "EY"),
    ("", "eer", "", "IH R"),
    ("", "ear", "_", "IH R"),
    ("", "ee", "", "IY"),
    ("", "ea", "d_", "EH"),
    ("", "ea", "", "IY"),
    ("", "ei", "", "IY"),
    ("", "ey", "_", "IY"),
    ("", "ew", "", "UW"),
    ("", "eu", "", "Y UW"),
    ("", "ere", "_", "IH R"),
    ("", "er", "", "ER"),
    ("^", "ed", "_", "ed"),
    ("^", "es", "_", "es"),
    ("*^", "e", "_", ""),
    ("^^", "e", "_", ""),
    ("_^", "e", "_", "IY"),
    ("*", "e", "_", ""),
    ("", "e", "_", "IY"),
    ("^", "e", "ly_", ""),
    ("_d", "e", "^", "IH"),
    ("_r", "e", "^", "IH"),
    ("_b", "e", "^*", "IH"),
    ("_", "ex", "*", "IH G Z"),
    ("", "e", "%", "IY"),
    ("", "e", "", "EH"),
    // f
    ("", "ff", "", "F"),
    ("", "f", "", "F"),
    // g
    ("_", "gn", "", "N"),
    ("", "gn", "_", "N"),
    ("", "gn", "s_", "N"),
    ("", "gn", "ed_", "N"),
    ("", "ght", "", "T"),
    ("_", "gh", "", "G"),
    ("", "gh", "", ""),
    ("", "gg", "", "G"),
    ("", "gu", "+", "G"),
    ("_", "g", "i", "G"),
    ("_", "g", "et", "G"),
    ("n", "g", "_", ""),
    ("", "g", "+", "JH"),
    ("", "g", "", "G"),
    // h
    ("*", "h", "_", ""),
    ("*", "h", "^", ""),
    ("", "h", "", "HH"),
    // i
    ("", "igh", "", "AY"),
    ("", "ique", "_", "IY K"),
    ("", "ier", "_", "IY ER"),
    ("", "ies", "_", "IY Z"),
    ("", "ied", "_", "IY D"),
    ("", "ie", "_", "IY"),
    ("", "ie", "", "IY"),
    ("", "ire", "_", "AY ER"),
    ("", "ir", "^", "ER"),
    ("", "ir", "_", "ER"),
    ("*^", "ive", "", "IH V"),
    ("*^", "ice", "_", "IH S"),
    ("", "i", "gn_", "AY"),
    ("", "i", "nd_", "AY"),
    ("", "i", "ld_", "AY"),
    ("", "ion", "_", "Y AH N"),
    ("", "i", "_", "IY"),
    ("", "i", "a", "IY"),
    ("", "i", "o", "IY"),
    ("", "i", "%", "AY"),
    ("", "i", "", "IH"),
    // j, k
    ("", "j", "", "JH"),
    ("_", "kn", "", "N"),
    ("", "kk", "", "K"),
    ("", "k", "", "K"),
    // l
    ("^", "le", "_", "AH L"),
    ("^", "les", "_", "AH L Z"),
    ("^", "led", "_", "AH L D"),
    ("", "ll", "", "L"),
    ("", "l", "", "L"),
    // m
    ("", "mm", "", "M"),
    ("", "m", "", "M"),
    // n
    ("", "ng", "_", "NG"),
    ("", "ng", "s_", "NG"),
    ("", "ng", "^", "NG G"),
    ("", "n", "k", "NG"),
    ("", "nn", "", "N"),
    ("m", "n", "_", ""),
    ("", "n", "", "N"),
    // o
    ("", "ough", "t", "AO"),
    ("", "ough", "", "OW"),
    ("", "ould", "", "UH D"),
    ("", "our", "_", "AO R"),
    ("", "ous", "_", "AH S"),
    ("", "oor", "", "AO R"),
    ("", "oar", "", "AO R"),
    ("", "oo", "k", "UH"),
    ("", "oo", "", "UW"),
    ("", "ou", "", "AW"),
    ("", "ow", "_", "OW"),
    ("", "ow", "n_", "AW"),
    ("", "ow", "", "OW"),
    ("", "oy", "", "OY"),
    ("", "oi", "", "OY"),
    ("", "oa", "", "OW"),
    ("", "oe", "_", "OW"),
    ("", "ore", "_", "AO R"),
    ("w", "or", "^", "ER"),
    ("^", "or", "_", "ER"),
    ("*^", "or", "s_", "ER"),
    ("", "or", "", "AO R"),
    ("_c", "o", "n", "AH"),
    ("_c", "o", "m", "AH"),
    ("_s", "o", "me", "AH"),
    ("", "o", "_", "OW"),
    ("", "o", "ld", "OW"),
    ("", "o", "lt", "OW"),
    ("", "o", "%", "OW"),
    ("", "o", "^^", "AA"),
    ("", "o", "^*", "OW"),
    ("", "o", "", "AA"),
    // p
    ("", "ph", "", "F"),
    ("_", "ps", "", "S"),
    ("_", "pn", "", "N"),
    ("", "pp", "", "P"),
    ("", "p", "", "P"),
    // q
    ("", "que", "_", "K"),
    ("", "qu", "", "K W"),
    ("", "q", "", "K"),
    // r
    ("_", "rh", "", "R"),
    ("", "rr", "", "R"),
    ("", "r", "", "R"),
    // s
    ("", "sch", "", "S K"),
    ("", "ssion", "", "SH AH N"),
    ("*", "sion", "", "ZH AH N"),
    ("", "sion", "", "SH AH N"),
    ("", "sh", "", "SH"),
    ("*", "sm", "_", "Z AH M"),
    ("*", "sure", "_", "ZH ER"),
    ("", "ss", "", "S"),
    ("ou", "s", "_", "S"),
    ("u", "s", "_", "S"),
    ("i", "s", "_", "S"),
    ("*", "s", "_", "Z"),
    ("*", "s", "e_", "Z"),
    ("", "s", "_", "s"),
    ("", "s", "", "S"),
    // t
    ("", "tion", "", "SH AH N"),
    ("", "tial", "", "SH AH L"),
    ("", "tious", "", "SH AH S"),
    ("", "ture", "_", "CH ER"),
    ("", "tch", "", "CH"),
    ("_", "the", "", "DH EH"),
    ("", "ther", "", "DH ER"),
    ("", "th", "", "TH"),
    ("s", "t", "le_", ""),
    ("", "tt", "", "T"),
    ("", "t", "", "T"),
    // u
    ("", "ur", "^", "ER"),
    ("", "ur", "_", "ER"),
    ("", "ure", "_", "Y ER"),
    ("", "ue", "_", "UW"),
    ("", "ui", "", "UW"),
    ("", "u", "_", "UW"),
    ("_", "u", "ni", "Y UW"),
    ("", "u", "%", "UW"),
    ("^", "u", "^^", "AH"),
    ("m", "u", "^*", "Y UW"),
    ("c", "u", "^*", "Y UW"),
    ("b", "u", "^*", "Y UW"),
    ("", "u", "^*", "UW"),
    ("", "u", "", "AH"),
    // v, w
    ("", "v", "", "V"),
    ("_", "wh", "o", "HH"),
    ("", "wh", "", "W"),
    ("_", "wr", "", "R"),
    ("", "w", "", "W"),
    // x, y, z
    ("_", "x", "", "Z"),
    ("", "x", "", "K S"),
    ("_", "y", "", "Y"),
    ("_^", "y", "_", "AY"),
    ("_^^", "y", "_", "AY"),
    ("", "y", "_", "IY"),
    ("", "y", "%", "AY"),
    ("", "y", "", "IH"),
    ("", "zz", "", "Z"),
    ("", "z", "", "Z"),
];

fn by_rule(word: &str) -> Vec<Phone> {
    let letters: Vec<u8> = word.bytes().filter(u8::is_ascii_lowercase).collect();
    let mut phones: Vec<Phone> = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let Some((_, group, _, sounds)) = RULES.iter().find(|rule| fits(rule, &letters, at)) else {
            at += 1;
            continue;
        };
        let sounds = match (*sounds, phones.last().map(|last| last.sound)) {
            ("ed", Some(last)) => past(last),
            ("s" | "es", Some(last)) => plural(last),
            (sounds, _) => sounds,
        };
        phones.extend(sounds::read(sounds).unwrap_or_default());
        at += group.len();
    }
    stress(&mut phones, word);
    phones
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

fn fits(&(left, group, right, _): &(&str, &str, &str, &str), letters: &[u8], at: usize) -> bool {
    letters[at..].starts_with(group.as_bytes())
        && left
            .bytes()
            .rev()
            .enumerate()
            .all(|(back, sign)| is(sign, at.checked_sub(back + 1).map(|at| letters[at])))
        && follows(right.as_bytes(), &letters[at + group.len()..])
}

fn follows(signs: &[u8], letters: &[u8]) -> bool {
    match signs {
        [] => true,
        [b'%', ..] => {
            matches!(letters, [consonant, end @ ..]
                if !is_vowel(*consonant) && matches!(end, b"e" | b"es" | b"ed" | b"er" | b"ely" | b"ing"))
        }
        [sign, signs @ ..] => {
            is(*sign, letters.first().copied()) && follows(signs, letters.get(1..).unwrap_or_default())
        }
    }
}

fn is(sign: u8, letter: Option<u8>) -> bool {
    match sign {
        b'_' => letter.is_none(),
        b'^' => letter.is_some_and(|letter| !is_vowel(letter)),
        b'*' => letter.is_some_and(is_vowel),
        b'+' => letter.is_some_and(|letter| matches!(letter, b'e' | b'i' | b'y')),
        literal => letter == Some(literal),
    }
}

/// Puts the stress where such words mostly have it, and weakens short vowels elsewhere.
fn stress(phones: &mut [Phone], word: &str) {
    let vowels: Vec<usize> = (0..phones.len()).filter(|&at| phones[at].sound.is_vowel()).collect();
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| word.starts_with(prefix));
    let main = match vowels.len() {
        0 => return,
        1 => 0,
        count if ends(&["ee", "eer", "ese", "ette", "oon", "ique"]) => count - 1,
        count if ends(&["tion", "sion", "ic", "ics", "ian", "ious", "cial", "tial"]) => count - 2,
        count if ends(&["ity", "ities", "ical", "logy", "graphy"]) => count.saturating_sub(3),
        2 if starts(&["be", "de", "re", "un", "con", "ex", "com", "dis", "en", "in"]) => 1,
        2 => 0,
        count => count - 3,
    };
    for (nth, &at) in vowels.iter().enumerate() {
        if nth == main {
            phones[at].stress = Stress::Primary;
        } else if nth > 0 && matches!(phones[at].sound, Sound::Ae | Sound::Aa | Sound::Eh) {
            phones[at].sound = Sound::Ah;
        }
    }
}
