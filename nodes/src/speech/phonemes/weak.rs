//! Words that speakers reduce, and how words run into each other.

use super::Next;

/// Function words: within a phrase, and before a pause.
const WEAK: &[(&str, &str, &str)] = &[
    ("about", "ɐbˌaʊt", "ɐbˈaʊt"),
    ("am", "æm", "ˈæm"),
    ("an", "æn", "æn"),
    ("and", "ænd", "ænd"),
    ("any", "ˌɛni", "ˌɛni"),
    ("are", "ɑːɹ", "ɑːɹ"),
    ("as", "æz", "æz"),
    ("at", "æt", "æt"),
    ("be", "biː", "bˈiː"),
    ("because", "bɪkˈʌz", "bɪkˈʌz"),
    ("been", "bˌɪn", "bˌɪn"),
    ("before", "bᵻfˌoːɹ", "bᵻfˈoːɹ"),
    ("between", "bᵻtwˌiːn", "bᵻtwˈiːn"),
    ("but", "bˌʌt", "bˌʌt"),
    ("by", "baɪ", "bˈaɪ"),
    ("can", "kæn", "kˈæn"),
    ("could", "kʊd", "kˈʊd"),
    ("down", "dˌaʊn", "dˈaʊn"),
    ("every", "ˈɛvɹi", "ˈɛvɹi"),
    ("for", "fɔːɹ", "fˈɔːɹ"),
    ("from", "fɹʌm", "fɹˈʌm"),
    ("had", "hæd", "hˌæd"),
    ("has", "hɐz", "hˈæz"),
    ("have", "hæv", "hˈæv"),
    ("he", "hiː", "hiː"),
    ("her", "hɜː", "hɜː"),
    ("him", "hˌɪm", "hˌɪm"),
    ("his", "hɪz", "hˈɪz"),
    ("how", "hˌaʊ", "hˈaʊ"),
    ("hundred", "hˈʌndɹɪd", "hˈʌndɹɪd"),
    ("i", "aɪ", "ˈaɪ"),
    ("i'd", "aɪd", "aɪd"),
    ("i'll", "aɪl", "aɪl"),
    ("i'm", "aɪm", "aɪm"),
    ("i've", "aɪv", "aɪv"),
    ("if", "ɪf", "ɪf"),
    ("in", "ɪn", "ˈɪn"),
    ("into", "ˌɪntʊ", "ˌɪntʊ"),
    ("is", "ɪz", "ɪz"),
    ("isn't", "ˌɪzənt", "ˈɪzənt"),
    ("it", "ɪt", "ɪt"),
    ("it'll", "ˌɪɾəl", "ˌɪɾəl"),
    ("it's", "ɪts", "ɪts"),
    ("its", "ɪts", "ɪts"),
    ("me", "mˌiː", "mˌiː"),
    ("might", "mˌaɪt", "mˈaɪt"),
    ("my", "maɪ", "mˈaɪ"),
    ("not", "nˌɑːt", "nˈɑːt"),
    ("of", "ʌv", "ʌv"),
    ("on", "ˌɔn", "ˈɔn"),
    ("or", "ɔːɹ", "ɔːɹ"),
    ("our", "ˌaʊɚ", "ˌaʊɚ"),
    ("over", "ˌoʊvɚ", "ˈoʊvɚ"),
    ("she", "ʃiː", "ʃiː"),
    ("should", "ʃˌʊd", "ʃˈʊd"),
    ("so", "sˌoʊ", "sˈoʊ"),
    ("some", "sˌʌm", "sˌʌm"),
    ("than", "ðɐn", "ðɐn"),
    ("that", "ðæt", "ðˈæt"),
    ("that's", "ðæts", "ðˈæts"),
    ("their", "ðɛɹ", "ðɛɹ"),
    ("them", "ðˌɛm", "ðˌɛm"),
    ("there", "ðɛɹ", "ðˈɛɹ"),
    ("there's", "ðɛɹz", "ðɛɹz"),
    ("these", "ðiːz", "ðˈiːz"),
    ("they", "ðeɪ", "ðeɪ"),
    ("they're", "ðɛɹ", "ðɛɹ"),
    ("this", "ðɪs", "ðˈɪs"),
    ("those", "ðoʊz", "ðˈoʊz"),
    ("through", "θɹuː", "θɹˈuː"),
    ("today", "tədˈeɪ", "tədˈeɪ"),
    ("under", "ˌʌndɚ", "ˈʌndɚ"),
    ("until", "ʌntˈɪl", "ʌntˈɪl"),
    ("up", "ˌʌp", "ˈʌp"),
    ("us", "ˌʌs", "ˌʌs"),
    ("was", "wʌz", "wʌz"),
    ("we", "wiː", "wiː"),
    ("we'll", "wiːl", "wiːl"),
    ("we're", "wɪɹ", "wɪɹ"),
    ("were", "wɜː", "wɜː"),
    ("what", "wʌt", "wˈʌt"),
    ("when", "wɛn", "wˈɛn"),
    ("where", "wˌɛɹ", "wˈɛɹ"),
    ("which", "wˌɪtʃ", "wˈɪtʃ"),
    ("while", "wˌaɪl", "wˈaɪl"),
    ("who", "hˌuː", "hˈuː"),
    ("why", "wˌaɪ", "wˈaɪ"),
    ("will", "wɪl", "wˈɪl"),
    ("with", "wɪð", "wɪð"),
    ("won't", "woʊnt", "wˈoʊnt"),
    ("would", "wʊd", "wˈʊd"),
    ("you", "juː", "juː"),
    ("you'll", "juːl", "juːl"),
    ("you're", "jʊɹ", "jʊɹ"),
    ("you've", "juːv", "juːv"),
    ("your", "jʊɹ", "jʊɹ"),
];

/// Capitals that are read letter by letter although the dictionary has a word of these letters.
const INITIALS: &[&str] = &["AI", "ID", "IP", "OS", "TV", "US", "USA"];

/// How a function word in lower case sounds in its place; `None` for other words.
pub(super) fn form(word: &str, next: Next) -> Option<&'static str> {
    match (word, next) {
        ("a", Next::Pause) => return Some("ˈeɪ"),
        ("a", _) => return Some("ɐ"),
        ("the", Next::Vowel) => return Some("ðɪ"),
        ("the", _) => return Some("ðə"),
        ("to", Next::Vowel) => return Some("tʊ"),
        ("to", Next::Consonant) => return Some("tə"),
        ("to", Next::Pause) => return Some("tuː"),
        _ => {}
    }
    let at = WEAK.binary_search_by_key(&word, |&(weak, _, _)| weak).ok()?;
    let (_, within, last) = WEAK[at];
    Some(if next == Next::Pause { last } else { within })
}

pub(super) fn is_initials(word: &str) -> bool {
    INITIALS.contains(&word)
}

/// Before a vowel a last `r` is heard again, and the `t` of it, at, but and not is a tap.
pub(super) fn link(ipa: &mut String, next: Next) {
    if next != Next::Vowel {
        return;
    }
    if ipa.ends_with('ɚ') || ipa.ends_with("ɜː") {
        ipa.push('ɹ');
    } else if matches!(ipa.as_str(), "ɪt" | "æt" | "bˌʌt" | "nˌɑːt") {
        ipa.pop();
        ipa.push('ɾ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_its_search() {
        assert!(WEAK.is_sorted_by_key(|&(word, _, _)| word));
    }

    #[test]
    fn articles_go_by_the_next_sound() {
        assert_eq!(form("the", Next::Vowel), Some("ðɪ"));
        assert_eq!(form("the", Next::Consonant), Some("ðə"));
        assert_eq!(form("a", Next::Pause), Some("ˈeɪ"));
        assert_eq!(form("light", Next::Pause), None);
    }

    #[test]
    fn words_run_into_the_vowel_that_follows() {
        for (word, linked) in [("ˈʌðɚ", "ˈʌðɚɹ"), ("wɜː", "wɜːɹ"), ("ɪt", "ɪɾ"), ("lˈaɪt", "lˈaɪt")]
        {
            let mut ipa = String::from(word);
            link(&mut ipa, Next::Vowel);
            assert_eq!(ipa, linked);
            let mut ipa = String::from(word);
            link(&mut ipa, Next::Consonant);
            assert_eq!(ipa, word);
        }
    }
}
