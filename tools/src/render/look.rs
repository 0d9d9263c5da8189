//! How text may look: how wide, in colour or not, with block characters or plain ones.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

/// What the reader's terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Whether colours are welcome. They only ever repeat what the words say.
    pub colour: bool,
    /// Whether characters beyond ASCII can be shown.
    pub unicode: bool,
}

/// Whether the locale's character set is UTF-8, from the first of these variables that is set (POSIX, XBD 8.2).
pub fn is_utf8_locale(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

const NO_BREAK: &str = "\u{a0}";

/// A time or another quantity, whose unit is not to be left behind on another line.
pub(crate) fn whole(quantity: impl ToString) -> String {
    quantity.to_string().replace(' ', NO_BREAK)
}

/// `1 packet`, `2 packets`.
pub(crate) fn plural(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// What a piece of text is, for those who see colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Doubtful,
}

/// The characters that are drawn with.
pub(crate) struct Glyphs {
    pub(crate) arrow: &'static str,
    pub(crate) ellipsis: &'static str,
    pub(crate) branch: &'static str,
    pub(crate) work: char,
    pub(crate) held: char,
    pub(crate) wait: char,
    /// Something, but less than a cell of it.
    pub(crate) trace: char,
    pub(crate) axis: char,
}

const UNICODE: Glyphs = Glyphs {
    arrow: "→",
    ellipsis: "…",
    branch: "└ ",
    work: '█',
    held: '░',
    wait: '▒',
    trace: '▏',
    axis: '─',
};
const ASCII: Glyphs = Glyphs {
    arrow: "->",
    ellipsis: "..",
    branch: "`- ",
    work: '#',
    held: '.',
    wait: '~',
    trace: '|',
    axis: '-',
};

impl Look {
    pub(crate) fn glyphs(&self) -> &'static Glyphs {
        if self.unicode { &UNICODE } else { &ASCII }
    }

    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        let style = match tone {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().bold(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
            Tone::Doubtful => AnsiColor::Yellow.on_default(),
        };
        if self.colour && !text.trim().is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// The text in exactly so many columns, cut with an ellipsis where it is longer.
    pub(crate) fn fit(&self, text: &str, columns: usize, left: bool) -> String {
        let text = self.cut(text, columns);
        let fill = " ".repeat(columns - text.width().min(columns));
        if left { text + &fill } else { fill + &text }
    }

    /// The text in at most so many columns.
    pub fn cut(&self, text: &str, columns: usize) -> String {
        if text.width() <= columns {
            return text.to_owned();
        }
        let ellipsis = self.glyphs().ellipsis;
        let room = columns.saturating_sub(ellipsis.width());
        let mut cut = String::new();
        for c in text.chars() {
            if cut.width() + c.to_string().width() > room {
                break;
            }
            cut.push(c);
        }
        self.fit_bare(cut + ellipsis, columns)
    }

    fn fit_bare(&self, text: String, columns: usize) -> String {
        if text.width() <= columns { text } else { ".".repeat(columns) }
    }

    /// The words in lines of at most the whole width, each after the first behind an indent as wide as `lead`. A
    /// no-break space stays within its line.
    pub(crate) fn wrap(&self, lead: &str, text: &str) -> Vec<String> {
        let indent = lead.width();
        let room = self.width.saturating_sub(indent).max(8);
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut lines: Vec<String> = vec![String::new()];
        for word in clean.split(' ').filter(|word| !word.is_empty()) {
            let word = self.cut(word, room);
            let line = lines.last_mut().expect("starts with one line");
            if line.is_empty() {
                *line = word;
            } else if line.width() + 1 + word.width() <= room {
                line.push(' ');
                line.push_str(&word);
            } else {
                lines.push(word);
            }
        }
        let lead = |first: bool| if first { lead.to_owned() } else { " ".repeat(indent) };
        lines
            .iter()
            .enumerate()
            .map(|(place, line)| lead(place == 0) + &line.replace(NO_BREAK, " "))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(width: usize) -> Look {
        Look { width, colour: false, unicode: true }
    }

    #[test]
    fn the_locale_tells_whether_block_characters_can_be_shown() {
        let locale = |variables: &'static [(&str, &str)]| {
            is_utf8_locale(|name| {
                variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(locale(&[("LANG", "C.UTF-8")]));
        assert!(locale(&[("LC_ALL", ""), ("LC_CTYPE", "de_DE.utf8"), ("LANG", "C")]));
        assert!(!locale(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
        assert!(!locale(&[]));
    }

    #[test]
    fn text_is_cut_and_padded_to_its_columns() {
        let look = plain(80);
        assert_eq!(look.fit("abc", 5, true), "abc  ");
        assert_eq!(look.fit("abc", 5, false), "  abc");
        assert_eq!(look.fit("abcdef", 5, true), "abcd…");
        assert_eq!(look.fit("日本語", 5, true), "日本…");
        assert_eq!(look.fit("abcdef", 0, true), "");
    }

    #[test]
    fn words_wrap_behind_a_hanging_indent_and_carry_no_control_characters() {
        assert_eq!(
            plain(20).wrap("  > ", "one two three\nfour \u{1b}[31mfive"),
            ["  > one two three", "    four [31mfive",]
        );
    }

    #[test]
    fn a_quantity_stays_on_one_line() {
        assert_eq!(plain(14).wrap("", &format!("it took {}", whole("5.25 ms"))), ["it took", "5.25 ms"]);
    }

    #[test]
    fn colour_is_added_only_where_it_is_welcome() {
        let coloured = Look { colour: true, ..plain(80) };
        assert_eq!(plain(80).paint("fail", Tone::Bad), "fail");
        assert_eq!(without_colour(&coloured.paint("fail", Tone::Bad)), "fail");
        assert_ne!(coloured.paint("fail", Tone::Bad), "fail");
    }

    fn without_colour(text: &str) -> String {
        let mut parts = text.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
    }
}
