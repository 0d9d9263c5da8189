//! The CMU Pronouncing Dictionary, looked up in place.

use std::{fs, io, path::Path, path::PathBuf};

use thiserror::Error;

/// Why a dictionary could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LexiconError {
    /// The file could not be read.
    #[error("cannot read the dictionary {}: {source}; run `graphrun assets pull`, or give the path of cmudict.dict", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is not an entry.
    #[error(
        "line {line} of the dictionary is not `word PHONE PHONE ...`: give the file cmudict.dict of the CMU dictionary"
    )]
    NotAnEntry {
        /// The line, the first is 1.
        line: usize,
    },
    /// The file has no entry.
    #[error("the dictionary has no entry: give the file cmudict.dict of the CMU dictionary")]
    Empty,
}

/// Words and their sounds: the file's text and an index of its lines.
///
/// Of the pronunciations of a word only the first is used.
#[derive(Debug)]
pub struct Lexicon {
    text: String,
    /// An open hash table of where lines start; `FREE` where there is none. Its length is a power of two.
    slots: Box<[u32]>,
}

const FREE: u32 = u32::MAX;

impl Lexicon {
    /// Reads a dictionary file, `cmudict.dict`.
    ///
    /// # Errors
    /// When the file cannot be read or is no CMU dictionary.
    pub fn load(path: &Path) -> Result<Self, LexiconError> {
        let text = fs::read_to_string(path)
            .map_err(|source| LexiconError::Unreadable { path: path.into(), source })?;
        Lexicon::parse(text)
    }

    /// Takes the text of a dictionary: a line an entry, `word PHONE PHONE ...`; `#` begins a remark.
    ///
    /// # Errors
    /// When a line is not an entry, or none is.
    pub fn parse(text: String) -> Result<Self, LexiconError> {
        let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let mut lexicon = Lexicon { slots: vec![FREE; (2 * lines).next_power_of_two()].into(), text };
        let mut start = 0;
        let mut entries = 0;
        for line in 1..=lines {
            let rest = &lexicon.text[start..];
            let end = start + rest.find('\n').unwrap_or(rest.len());
            if let Some(word) = word(&lexicon.text[start..end]).ok_or(LexiconError::NotAnEntry { line })? {
                let slot = lexicon.slot(word);
                if lexicon.slots[slot] == FREE {
                    lexicon.slots[slot] =
                        u32::try_from(start).map_err(|_| LexiconError::NotAnEntry { line })?;
                    entries += 1;
                }
            }
            start = end + 1;
        }
        if entries == 0 { Err(LexiconError::Empty) } else { Ok(lexicon) }
    }

    /// The phones of a word in lower case, as the file writes them: `HH AH0 L OW1`.
    pub fn get(&self, word: &str) -> Option<&str> {
        let start = self.slots[self.slot(word)];
        let (_, line) = self.text.get(start as usize..)?.split_once(' ')?;
        let line = line.split('\n').next()?;
        Some(line.split('#').next().unwrap_or(line).trim_end())
    }

    /// Where the word is, or where it would be put.
    fn slot(&self, word: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(word) as usize & mask;
        while self.slots[slot] != FREE && !self.holds(slot, word) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn holds(&self, slot: usize, word: &str) -> bool {
        let line = &self.text.as_bytes()[self.slots[slot] as usize..];
        line.len() > word.len() && line[word.len()] == b' ' && line.starts_with(word.as_bytes())
    }
}

/// The word that a line is the first pronunciation of, if any; `None` when it is no line of a dictionary.
fn word(line: &str) -> Option<Option<&str>> {
    if line.is_empty() || line.starts_with('#') {
        return Some(None);
    }
    let (word, phones) = line.split_once(' ')?;
    if word.is_empty() || !phones.starts_with(|first: char| first.is_ascii_uppercase()) {
        return None;
    }
    Some((!word.ends_with(')')).then_some(word))
}

/// FNV-1a: words are short, and the table holds nothing a stranger chose.
fn hash(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexicon() -> Lexicon {
        Lexicon::parse("a AH0\na(2) EY1\naalborg AO1 L B # place, danish\nab AE1 B\n".into()).unwrap()
    }

    #[test]
    fn the_first_pronunciation_is_found_without_the_remark() {
        let lexicon = lexicon();
        assert_eq!(lexicon.get("a"), Some("AH0"));
        assert_eq!(lexicon.get("aalborg"), Some("AO1 L B"));
        assert_eq!(lexicon.get("ab"), Some("AE1 B"));
        for absent in ["", "b", "a(2)", "aal", "ab AE1", "zz"] {
            assert_eq!(lexicon.get(absent), None, "{absent}");
        }
    }

    #[test]
    fn another_kind_of_file_is_refused_with_the_line() {
        let error = Lexicon::parse("a AH0\n{\"audio\": {}}\n".into()).unwrap_err();
        assert!(matches!(error, LexiconError::NotAnEntry { line: 2 }), "{error}");
        assert!(matches!(Lexicon::parse("\n# nothing\n".into()), Err(LexiconError::Empty)));
    }

    #[test]
    fn a_missing_file_says_what_to_run() {
        let error = Lexicon::load(Path::new("/nowhere/cmudict.dict")).unwrap_err();
        assert!(error.to_string().contains("run `graphrun assets pull`"), "{error}");
    }
}
