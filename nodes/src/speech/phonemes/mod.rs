//! Text to phonemes for an American voice: IPA in the manner of espeak-ng's `en-us`, which Piper's voices learnt from.
//!
//! Words come from the CMU Pronouncing Dictionary. A word that it lacks is taken apart into words that it has, or read
//! letter by letter by rule; function words are reduced as speakers do. Nothing here is taken from espeak-ng, which is
//! GPL-3.

mod letters;
mod lexicon;
mod sounds;
mod weak;
pub(in crate::speech) mod words;

use std::path::Path;

pub use lexicon::{Lexicon, LexiconError};
use words::Token;

/// Reads English aloud, to paper.
#[derive(Debug)]
pub struct Phonemizer {
    lexicon: Lexicon,
}

impl Phonemizer {
    /// Reads the dictionary file, `cmudict.dict`, in some 20 ms.
    ///
    /// # Errors
    /// When the file cannot be read or is no CMU dictionary.
    pub fn load(dictionary: &Path) -> Result<Self, LexiconError> {
        Ok(Phonemizer::new(Lexicon::load(dictionary)?))
    }

    /// A phonemizer with this dictionary.
    pub fn new(lexicon: Lexicon) -> Self {
        Phonemizer { lexicon }
    }

    /// The IPA of a text: words with a space between them, marks `, ; : . ! ?` right after a word.
    ///
    /// A text without a last mark gets a full stop. A text without any word gives an empty string.
    ///
    /// ```
    /// # use graph_nodes::speech::phonemes::{Lexicon, Phonemizer};
    /// let dictionary = "light L AY1 T\nis IH1 Z\non AA1 N\nthe DH AH0\n";
    /// let phonemizer = Phonemizer::new(Lexicon::parse(dictionary.into())?);
    /// assert_eq!(phonemizer.phonemes("The light is on."), "ðə lˈaɪt ɪz ˈɔn.");
    /// # Ok::<(), graph_nodes::speech::phonemes::LexiconError>(())
    /// ```
    pub fn phonemes(&self, text: &str) -> String {
        let tokens = words::tokens(text);
        // From the last word back, since a word depends on how the next one begins.
        let mut sounds: Vec<String> = Vec::with_capacity(tokens.len());
        let mut next = Next::Pause;
        for token in tokens.iter().rev() {
            let sound = match token {
                Token::Mark(_) => String::new(),
                Token::Word(word) => self.word(word, next),
            };
            next = Next::of(&sound);
            sounds.push(sound);
        }
        let mut out = String::with_capacity(8 * tokens.len());
        let mut marked = true;
        for (token, sound) in tokens.iter().zip(sounds.iter().rev()) {
            match token {
                Token::Mark(mark) if !marked => {
                    out.push(*mark);
                    marked = true;
                }
                Token::Word(_) if !sound.is_empty() => {
                    if !out.is_empty() {
                        out.push(' ');
                    }
                    out.push_str(sound);
                    marked = false;
                }
                _ => {}
            }
        }
        if !marked {
            out.push('.');
        }
        out
    }

    fn word(&self, word: &str, next: Next) -> String {
        let lower = folded(word);
        let mut ipa = String::with_capacity(4 * lower.len());
        if let Some(reduced) = weak::form(&lower, next).filter(|_| !weak::is_initials(word)) {
            ipa.push_str(reduced);
        } else {
            for (nth, part) in self.parts(word, &lower).into_iter().enumerate() {
                if nth > 0 {
                    ipa.push(' ');
                }
                sounds::ipa(self.phones(&part), &part, &mut ipa);
            }
        }
        weak::link(&mut ipa, next);
        ipa
    }

    fn phones(&self, word: &str) -> Vec<sounds::Phone> {
        let preferred =
            PREFERRED.binary_search_by_key(&word, |&(word, _)| word).ok().map(|at| PREFERRED[at].1);
        let known = preferred.or_else(|| self.lexicon.get(word)).and_then(sounds::read);
        known.unwrap_or_else(|| letters::guess(word, &self.lexicon))
    }

    /// The word itself, or the names of its letters when it is an abbreviation nobody pronounces.
    fn parts(&self, word: &str, lower: &str) -> Vec<String> {
        let capitals = word.len() > 1 && word.chars().all(|char| char.is_ascii_uppercase());
        let mute = !lower.contains(['a', 'e', 'i', 'o', 'u', 'y', '\'']);
        let unknown = self.lexicon.get(lower).is_none();
        if weak::is_initials(word) || unknown && (mute || capitals && word.len() <= 4) {
            let names = words::spelled(lower);
            return names.split(' ').map(String::from).collect();
        }
        vec![lower.into()]
    }
}

/// Words whose first entry in the dictionary is not the one to expect: verbs where the noun is more common, for
/// instance, or a slip.
const PREFERRED: &[(&str, &str)] = &[
    ("actual", "AE1 K CH UW0 AH0 L"),
    ("actually", "AE1 K CH UW0 AH0 L IY0"),
    ("cannot", "K AE0 N AA1 T"),
    ("cost", "K AO1 S T"),
    ("costs", "K AO1 S T S"),
    ("decade", "D EH1 K EY0 D"),
    ("decades", "D EH1 K EY0 D Z"),
    ("finance", "F AY1 N AE0 N S"),
    ("impact", "IH1 M P AE0 K T"),
    ("increase", "IH1 N K R IY0 S"),
    ("kilometer", "K AH0 L AA1 M IH0 T ER0"),
    ("kilometers", "K AH0 L AA1 M IH0 T ER0 Z"),
    ("lead", "L IY1 D"),
    ("minute", "M IH1 N IH0 T"),
    ("minutes", "M IH1 N IH0 T S"),
    ("outside", "AW0 T S AY1 D"),
    ("perfect", "P ER1 F EH0 K T"),
    ("poor", "P UH1 R"),
    ("president", "P R EH1 Z IH0 D AH0 N T"),
    ("read", "R IY1 D"),
    ("record", "R EH1 K ER0 D"),
    ("records", "R EH1 K ER0 D Z"),
    ("sometimes", "S AH1 M T AY0 M Z"),
    ("subject", "S AH1 B JH EH0 K T"),
    ("survey", "S ER1 V EY0"),
    ("temperature", "T EH1 M P R IH0 CH ER0"),
    ("temperatures", "T EH1 M P R IH0 CH ER0 Z"),
    ("thirty", "TH ER1 T IY0"),
    ("transport", "T R AE1 N S P AO0 R T"),
    ("usual", "Y UW1 ZH UW0 AH0 L"),
    ("usually", "Y UW1 ZH UW0 AH0 L IY0"),
    ("visual", "V IH1 ZH UW0 AH0 L"),
];

/// What a word's sound is followed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Pause,
    Vowel,
    Consonant,
}

impl Next {
    fn of(ipa: &str) -> Self {
        match ipa.chars().find(|char| !matches!(char, 'ˈ' | 'ˌ')) {
            None => Next::Pause,
            Some(
                'a' | 'e' | 'i' | 'o' | 'u' | 'æ' | 'ɐ' | 'ɑ' | 'ɔ' | 'ə' | 'ɚ' | 'ɛ' | 'ɜ' | 'ɪ' | 'ʊ' | 'ʌ'
                | 'ᵻ',
            ) => Next::Vowel,
            Some(_) => Next::Consonant,
        }
    }
}

/// Lower case, without accents: the dictionary has `cafe` only.
fn folded(word: &str) -> String {
    word.chars()
        .flat_map(char::to_lowercase)
        .filter_map(|char| match char {
            'a'..='z' | '\'' => Some(char),
            'à'..='å' | 'ā' | 'ă' => Some('a'),
            'ç' | 'ć' | 'č' => Some('c'),
            'è'..='ë' | 'ē' | 'ę' | 'ě' => Some('e'),
            'ì'..='ï' | 'ī' => Some('i'),
            'ñ' | 'ń' => Some('n'),
            'ò'..='ö' | 'ø' | 'ō' => Some('o'),
            'ß' | 'ś' | 'š' => Some('s'),
            'ù'..='ü' | 'ū' => Some('u'),
            'ý' | 'ÿ' => Some('y'),
            'ž' | 'ź' | 'ż' => Some('z'),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speech::fixtures::asset;

    fn phonemizer() -> Phonemizer {
        Phonemizer::load(&asset("cmudict")).unwrap()
    }

    /// What espeak-ng 1.51 says to the same text, as the voice was taught, but for its habit of writing some pairs of
    /// function words as one word.
    #[test]
    fn sentences_sound_as_the_voice_has_learnt_them() {
        let phonemizer = phonemizer();
        for (text, ipa) in [
            ("Okay, the kitchen light is on.", "oʊkˈeɪ, ðə kˈɪtʃən lˈaɪt ɪz ˈɔn."),
            (
                "He said that he would bring it over after the party.",
                "hiː sˈɛd ðæt hiː wʊd bɹˈɪŋ ɪɾ ˌoʊvɚɹ ˈæftɚ ðə pˈɑːɹɾi.",
            ),
            ("Would you like to call your mother back?", "wʊd juː lˈaɪk tə kˈɔːl jʊɹ mˈʌðɚ bˈæk?"),
            ("Your alarm is set for six o'clock.", "jʊɹ ɐlˈɑːɹm ɪz sˈɛt fɔːɹ sˈɪks əklˈɑːk."),
            ("I understand: the third!", "aɪ ˌʌndɚstˈænd: ðə θˈɜːd!"),
            ("They wanted a button for the other apple", "ðeɪ wˈɔːntᵻd ɐ bˈʌʔn̩ fɔːɹ ðɪ ˈʌðɚɹ ˈæpəl."),
        ] {
            assert_eq!(phonemizer.phonemes(text), ipa, "{text}");
        }
    }

    #[test]
    fn words_that_no_dictionary_has_are_spoken_all_the_same() {
        let phonemizer = phonemizer();
        for (text, ipa) in [
            ("smartwatches", "smˈɑːɹtwɑːtʃᵻz."),
            ("touchscreen", "tˈʌtʃskɹiːn."),
            ("rebooting", "ɹᵻbˈuːɾɪŋ."),
            ("blorft", "blˈɔːɹft."),
            ("naïve café", "naɪˈiːv kəfˈeɪ."),
            ("XKCD", "ˈɛks kˈeɪ sˈiː dˈiː."),
            ("the US", "ðə jˈuː ˈɛs."),
        ] {
            assert_eq!(phonemizer.phonemes(text), ipa, "{text}");
        }
    }

    #[test]
    fn a_text_without_words_is_silent() {
        let phonemizer = phonemizer();
        for text in ["", " ", "...", "🎉", "漢字.", "漢, 字"] {
            assert_eq!(phonemizer.phonemes(text), "", "{text}");
        }
    }

    #[test]
    fn the_table_of_preferred_entries_is_sorted_and_arpabet() {
        assert!(PREFERRED.is_sorted_by_key(|&(word, _)| word));
        for (word, phones) in PREFERRED {
            assert!(sounds::read(phones).is_some(), "{word}");
        }
    }

    #[test]
    fn every_sound_that_can_come_out_has_an_id_in_the_voice() {
        let phonemizer = phonemizer();
        let voice = crate::speech::piper::Voice::load(&asset("piper-joe-json")).unwrap();
        let dictionary = std::fs::read_to_string(asset("cmudict")).unwrap();
        for word in dictionary.lines().step_by(7).filter_map(|line| line.split([' ', '(']).next()) {
            for char in phonemizer.phonemes(word).chars() {
                assert!(voice.has(char), "{char} of {word}");
            }
        }
    }
}
