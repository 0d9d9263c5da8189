//! The sounds of American English, and how the voice was taught to read them.
//!
//! The dictionary writes ARPAbet. Piper's voices learnt from IPA as espeak-ng writes it for `en-us`: a stress mark
//! stands right before its vowel, `t` is a tap between vowels, and some unstressed vowels have signs of their own.

/// A sound of ARPAbet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sound {
    Aa,
    Ae,
    Ah,
    Ao,
    Aw,
    Ay,
    B,
    Ch,
    D,
    Dh,
    Eh,
    Er,
    Ey,
    F,
    G,
    Hh,
    Ih,
    Iy,
    Jh,
    K,
    L,
    M,
    N,
    Ng,
    Ow,
    Oy,
    P,
    R,
    S,
    Sh,
    T,
    Th,
    Uh,
    Uw,
    V,
    W,
    Y,
    Z,
    Zh,
}
use Sound::*;

impl Sound {
    /// Reads the ARPAbet sign, without a stress digit.
    fn read(sign: &str) -> Option<Self> {
        Some(match sign {
            "AA" => Aa,
            "AE" => Ae,
            "AH" => Ah,
            "AO" => Ao,
            "AW" => Aw,
            "AY" => Ay,
            "B" => B,
            "CH" => Ch,
            "D" => D,
            "DH" => Dh,
            "EH" => Eh,
            "ER" => Er,
            "EY" => Ey,
            "F" => F,
            "G" => G,
            "HH" => Hh,
            "IH" => Ih,
            "IY" => Iy,
            "JH" => Jh,
            "K" => K,
            "L" => L,
            "M" => M,
            "N" => N,
            "NG" => Ng,
            "OW" => Ow,
            "OY" => Oy,
            "P" => P,
            "R" => R,
            "S" => S,
            "SH" => Sh,
            "T" => T,
            "TH" => Th,
            "UH" => Uh,
            "UW" => Uw,
            "V" => V,
            "W" => W,
            "Y" => Y,
            "Z" => Z,
            "ZH" => Zh,
            _ => return None,
        })
    }

    pub(super) fn is_vowel(self) -> bool {
        matches!(self, Aa | Ae | Ah | Ao | Aw | Ay | Eh | Er | Ey | Ih | Iy | Ow | Oy | Uh | Uw)
    }

    /// S, Z and their kin: an ending `s` after them is a syllable of its own.
    pub(super) fn hisses(self) -> bool {
        matches!(self, S | Z | Sh | Zh | Ch | Jh)
    }

    pub(super) fn is_voiced(self) -> bool {
        !matches!(self, Ch | F | Hh | K | P | S | Sh | T | Th)
    }
}

/// How much weight a vowel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stress {
    None,
    Primary,
    Secondary,
}

/// A sound within a word. Consonants have no stress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phone {
    pub(super) sound: Sound,
    pub(super) stress: Stress,
}

impl Phone {
    /// Reads a phone as the dictionary writes it, such as `OW1`.
    fn read(text: &str) -> Option<Self> {
        let sign = text.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let stress = match &text[sign.len()..] {
            "" | "0" => Stress::None,
            "1" => Stress::Primary,
            "2" => Stress::Secondary,
            _ => return None,
        };
        Some(Phone { sound: Sound::read(sign)?, stress })
    }

    fn is_vowel(self) -> bool {
        self.sound.is_vowel()
    }
}

/// Reads an entry's phones; `None` when one is not ARPAbet.
pub(super) fn read(phones: &str) -> Option<Vec<Phone>> {
    phones.split_ascii_whitespace().map(Phone::read).collect()
}

/// Appends the IPA of a word. The spelling decides where English does, and ARPAbet does not say.
pub(super) fn ipa(mut phones: Vec<Phone>, spelling: &str, out: &mut String) {
    let vowels: Vec<usize> = (0..phones.len()).filter(|&at| phones[at].is_vowel()).collect();
    // Some entries stress the ending -y.
    if let [.., _, last] = vowels[..]
        && phones[last] == (Phone { sound: Iy, stress: Stress::Secondary })
        && ["y", "ies", "ied"].iter().any(|end| spelling.ends_with(end))
    {
        phones[last].stress = Stress::None;
    }
    let marks = marks(&phones, &vowels);
    let letters = vowel_letters(spelling, vowels.len());
    let mut skip = 0;
    for (at, &phone) in phones.iter().enumerate() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        if is_swallowed(&phones[..at], &phones[at..]) {
            out.push_str("ʔn̩");
            skip = 2;
            continue;
        }
        match marks[at] {
            Stress::Primary => out.push('ˈ'),
            Stress::Secondary => out.push('ˌ'),
            Stress::None => {}
        }
        let nth = vowels.iter().position(|&vowel| vowel == at);
        let place = Place {
            before: at.checked_sub(1).map(|before| phones[before]),
            after: phones.get(at + 1).copied(),
            beyond: phones.get(at + 2).copied(),
            is_first_vowel: nth == Some(0),
            is_last_vowel: nth.is_some_and(|nth| nth + 1 == vowels.len()),
            letters: nth.and_then(|nth| letters.get(nth)).copied().unwrap_or_default(),
            spelling,
        };
        out.push_str(place.sign(phone));
    }
}

/// The `t` before a weak `n` that ends a word, as in button: the vowel between them is not heard.
fn is_swallowed(before: &[Phone], rest: &[Phone]) -> bool {
    let after_vowel = before.last().is_some_and(|last| last.is_vowel() || last.sound == R);
    let [t, vowel, n, end @ ..] = rest else { return false };
    after_vowel
        && t.sound == T
        && matches!(vowel.sound, Ah | Ih)
        && vowel.stress == Stress::None
        && n.sound == N
        && end.iter().all(|phone| matches!(phone.sound, D | Z))
}

/// The stress marks to write: one primary, and no secondary one in the syllable beside it.
fn marks(phones: &[Phone], vowels: &[usize]) -> Vec<Stress> {
    let mut marks: Vec<Stress> = phones.iter().map(|phone| phone.stress).collect();
    if let Some(main) = vowels.iter().position(|&at| marks[at] == Stress::Primary) {
        for (nth, &at) in vowels.iter().enumerate().filter(|&(nth, _)| nth != main) {
            if nth.abs_diff(main) == 1 {
                marks[at] = Stress::None;
            } else if marks[at] == Stress::Primary {
                marks[at] = Stress::Secondary;
            }
        }
    }
    marks
}

/// The letters of each vowel; empty when letters and sounds do not pair off.
fn vowel_letters(spelling: &str, vowels: usize) -> Vec<&str> {
    let bytes = spelling.as_bytes();
    let is_vowel = |at: usize| match bytes[at] {
        b'a' | b'e' | b'i' | b'o' => true,
        b'u' => at == 0 || bytes[at - 1] != b'q',
        b'y' => at > 0,
        _ => false,
    };
    let mut groups = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let end = (start..bytes.len()).find(|&at| !is_vowel(at)).unwrap_or(bytes.len());
        if end > start {
            groups.push(&spelling[start..end]);
        }
        start = end + 1;
    }
    let silent =
        groups.len() == vowels + 1 && ["e", "ed", "es", "e's"].iter().any(|end| spelling.ends_with(end));
    if silent {
        groups.pop();
    }
    if groups.len() != vowels {
        groups.clear();
    }
    groups
}

/// A phone's neighbourhood in its word.
struct Place<'a> {
    before: Option<Phone>,
    after: Option<Phone>,
    beyond: Option<Phone>,
    is_first_vowel: bool,
    is_last_vowel: bool,
    /// The letters of a vowel, where they are known.
    letters: &'a str,
    spelling: &'a str,
}

impl Place<'_> {
    fn before_is(&self, sounds: &[Sound]) -> bool {
        self.before.is_some_and(|before| sounds.contains(&before.sound))
    }

    fn after_is(&self, sounds: &[Sound]) -> bool {
        self.after.is_some_and(|after| sounds.contains(&after.sound))
    }

    fn before_vowel(&self) -> bool {
        self.after.is_some_and(Phone::is_vowel)
    }

    fn sign(&self, phone: Phone) -> &'static str {
        let unstressed = phone.stress == Stress::None;
        match phone.sound {
            Aa if matches!(self.letters, "au" | "aw" | "ou" | "augh") => "ɔː",
            Aa if self.letters == "a" && self.before_is(&[W]) && self.after_is(&[L, N]) => "ɔ",
            Aa => "ɑː",
            Ae => "æ",
            Ah if unstressed => self.schwa(),
            Ah => "ʌ",
            Ao => self.open_o(),
            Aw => "aʊ",
            Ay => "aɪ",
            B => "b",
            Ch => "tʃ",
            D => "d",
            Dh => "ð",
            Eh => "ɛ",
            Er => match (unstressed, self.before_vowel()) {
                (true, true) => "ɚɹ",
                (true, false) => "ɚ",
                (false, true) => "ɜːɹ",
                (false, false) => "ɜː",
            },
            Ey => "eɪ",
            F => "f",
            G => "ɡ",
            Hh => "h",
            Ih if unstressed => self.weak_i(),
            Ih => "ɪ",
            Iy if unstressed && self.letters == "ay" => "eɪ",
            Iy if self.after_is(&[R]) => "ɪ",
            Iy if unstressed && self.is_prefix() => "ᵻ",
            Iy if unstressed || self.letters == "y" || self.after_is(&[Ah]) => "i",
            Iy => "iː",
            Jh => "dʒ",
            K => "k",
            L => "l",
            M => "m",
            N if self.after_is(&[G, K]) => "ŋ",
            N => "n",
            Ng => "ŋ",
            Ow => "oʊ",
            Oy => "ɔɪ",
            P => "p",
            R if self.before_is(&[Uh]) && self.before_vowel() => "ɹɹ",
            R => "ɹ",
            S => "s",
            Sh => "ʃ",
            T => self.t(),
            Th => "θ",
            Uh => "ʊ",
            Uw => "uː",
            V => "v",
            W => "w",
            Y if self.before_is(&[L, N]) && self.after_is(&[Ah]) => "i",
            Y => "j",
            Z => "z",
            Zh => "ʒ",
        }
    }

    /// The `e` of be-, de-, re- and the like.
    fn is_prefix(&self) -> bool {
        self.is_first_vowel && !self.is_last_vowel && self.letters == "e" && self.before.is_some()
    }

    /// The `e` of -ed and -es, the `i` of -ity.
    fn is_ending(&self) -> bool {
        let last = self.is_last_vowel && self.beyond.is_none();
        last && self.spelling.ends_with("ed") && self.after_is(&[D])
            || last && self.spelling.ends_with("es") && self.after_is(&[Z])
            || self.letters == "i"
                && self.after_is(&[T])
                && self.beyond.is_some_and(|beyond| beyond.sound == Iy)
    }

    fn weak_i(&self) -> &'static str {
        if self.is_first_vowel && self.spelling.starts_with("ex") {
            "ɛ"
        } else if self.is_prefix() && !self.after_is(&[V, Z]) || self.is_ending() {
            "ᵻ"
        } else {
            "ɪ"
        }
    }

    fn schwa(&self) -> &'static str {
        let starts = |prefix| self.is_first_vowel && self.spelling.starts_with(prefix);
        match self.letters {
            _ if self.before.is_none() && starts("a") => "ɐ",
            _ if starts("un") || starts("up") => "ʌ",
            _ if self.is_prefix() || self.is_ending() => "ᵻ",
            "i" | "y" => "ɪ",
            "a" if self.after_is(&[Jh]) => "ɪ",
            "e" if self.is_last_vowel && (self.after_is(&[T]) || self.spelling.ends_with("est")) => "ɪ",
            "u" if self.before_is(&[Y]) && self.after_is(&[L]) => "ʊ",
            "u" if self.before_is(&[Y]) => "uː",
            "u" if self.after_is(&[M, N, P]) => "ʌ",
            _ => "ə",
        }
    }

    /// ARPAbet has one sign for the vowels of north, force, lost and thought.
    fn open_o(&self) -> &'static str {
        if self.after_is(&[R]) {
            let force = ["oor", "oar", "our", "ory"].iter().any(|&letters| self.spelling.contains(letters))
                || ["ore", "ores", "ored"].iter().any(|&end| self.spelling.ends_with(end));
            return if force || self.before_is(&[K, P]) { "oː" } else { "ɔː" };
        }
        match self.letters {
            "o" if self.after_is(&[G]) => "ɑː",
            "o" if self.after_is(&[F, S, Th, Ng, N]) => "ɔ",
            _ => "ɔː",
        }
    }

    /// `t` is a tap between a vowel or `r` and an unstressed vowel.
    fn t(&self) -> &'static str {
        let after_vowel = self.before.is_some_and(|before| before.is_vowel() || before.sound == R);
        let before_n = self.beyond.is_some_and(|beyond| beyond.sound == N);
        let taps = |after: Phone| {
            after.is_vowel()
                && !(after.sound == Ah && before_n)
                && (after.stress == Stress::None || after.sound == Ow && after.stress == Stress::Secondary)
        };
        if after_vowel && self.after.is_some_and(taps) { "ɾ" } else { "t" }
    }
}
