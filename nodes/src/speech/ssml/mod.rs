//! SSML 1.1 to sentences, or plain text to sentences.
//!
//! Read are `speak`, `p`, `s`, `prosody` (rate, pitch, volume), `break`, `emphasis`, `say-as` and `sub`; what stands
//! in other elements is spoken as it is. Bad markup is told, and its text spoken all the same.

mod markup;
mod say_as;
mod scan;
mod sentences;
mod spoken;
mod values;

use graph_core::{Build, BuildError, Counter, Cx, Kind, NoSample, NodeError, Sample, Transform};
pub use markup::{Fault, Parsed, Problem, Segment, parse};
use schemars::JsonSchema;
use serde::Deserialize;
pub use values::LONGEST_BREAK;

use crate::types::{Reply, Spoken};

/// Parameters of `speech/ssml`: none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsmlParams {}

/// The node.
pub struct Ssml {
    faulty: Counter,
}

impl Kind for Ssml {
    const KIND: &'static str = "speech/ssml";
    const ABOUT: &'static str = "Cuts an answer, plain or SSML, into sentences and silences.";
    type Params = SsmlParams;

    fn new(_: &SsmlParams, build: &mut Build<'_>) -> Result<Ssml, BuildError> {
        Ok(Ssml { faulty: build.counter("faulty", "answers with bad markup, spoken all the same") })
    }

    fn sample(given: Option<SsmlParams>, sample: &mut Sample<'_>) -> Result<SsmlParams, NoSample> {
        let markup = "<speak>Your timer for <say-as interpret-as=\"cardinal\">10</say-as> minutes is over.\
                      <break time=\"300ms\"/><prosody rate=\"slow\">Shall I set another?</prosody></speak>";
        sample.feed("in", Reply { markup: markup.into(), uncertain: false });
        Ok(given.unwrap_or_default())
    }
}

impl Transform for Ssml {
    type In = Reply;
    type Out = Spoken;

    fn process(&mut self, reply: Reply, cx: &mut Cx<'_, '_, Spoken>) -> Result<(), NodeError> {
        let parsed = parse(&reply.markup);
        if let Some(problem) = parsed.problem() {
            self.faulty.add(1);
            tracing::warn!(markup = &*reply.markup, "{problem}");
            if let Some(cause) = cx.cause() {
                cx.tell(cause.turn, "bad markup", &problem.to_string());
            }
        }
        cx.emit(parsed.spoken());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use graph_core::testing;
    use proptest::prelude::*;

    use super::*;
    use crate::types::{Prosody, SpokenPart};

    const USUAL: Prosody = Prosody { rate: 1.0, volume_db: 0.0, pitch_semitones: 0.0 };

    fn text(text: &str) -> SpokenPart {
        SpokenPart::Text { text: text.into(), prosody: USUAL }
    }

    fn pause(milliseconds: u64) -> SpokenPart {
        SpokenPart::Break(Duration::from_millis(milliseconds))
    }

    fn spoken(markup: &str) -> Vec<SpokenPart> {
        let parsed = parse(markup);
        assert_eq!(parsed.problem(), None, "{markup}");
        parsed.spoken().parts.to_vec()
    }

    #[test]
    fn plain_text_passes_untouched() {
        for plain in ["Hello.", "5 < 6 & 7 > 3", "a <3 b", "&amp; stays", ""] {
            assert_eq!(parse(plain), Parsed::Plain(plain));
        }
        assert_eq!(spoken("Yes. It is on."), [text("Yes."), text("It is on.")]);
        assert_eq!(spoken(" ... "), []);
    }

    #[test]
    fn a_simple_speak_is_its_text() {
        assert_eq!(spoken("<speak>Hello &amp; good\n  morning.</speak>"), [text("Hello & good morning.")]);
        assert_eq!(
            spoken(
                "<?xml version=\"1.0\"?><speak version=\"1.1\" xml:lang=\"en-US\"><p>One</p><p><s>Two</s><s>Three</s></p></speak>"
            ),
            [text("One"), pause(400), text("Two"), text("Three")]
        );
    }

    #[test]
    fn prosody_nests_and_ends_with_its_element() {
        let part = |text: &str, rate, volume_db, pitch_semitones| SpokenPart::Text {
            text: text.into(),
            prosody: Prosody { rate, volume_db, pitch_semitones },
        };
        assert_eq!(
            spoken(
                "<speak>One <prosody rate='slow' volume='+6dB'>two <prosody rate='200%' pitch='+2st'>three</prosody> \
                 four</prosody>. Five <emphasis>six</emphasis>!</speak>"
            ),
            [
                part("One,", 1.0, 0.0, 0.0),
                part("two,", 0.8, 6.0, 0.0),
                part("three,", 2.0, 6.0, 2.0),
                part("four.", 0.8, 6.0, 0.0),
                part("Five,", 1.0, 0.0, 0.0),
                part("six!", 0.9, 2.0, 0.0),
            ]
        );
    }

    #[test]
    fn breaks_are_silences_where_they_stand() {
        assert_eq!(
            spoken(
                "<speak><break time='1s'/>Wait<break/>for<break strength='none'/> it.<break time='250ms'/></speak>"
            ),
            [pause(1_000), text("Wait,"), pause(400), text("for it."), pause(250)]
        );
    }

    #[test]
    fn say_as_and_sub_are_written_out_within_their_sentence() {
        assert_eq!(
            spoken(
                "<speak>On <say-as interpret-as='date' format='mdy'>5/3/2026</say-as> the \
                 <sub alias='World Wide Web Consortium'>W3C</sub> met <say-as interpret-as=\"cardinal\">12</say-as> \
                 <say-as interpret-as='mood'>times</say-as>.</speak>"
            ),
            [text("On May third, twenty twenty six the World Wide Web Consortium met twelve times.")]
        );
    }

    #[test]
    fn faults_are_told_with_their_place_and_the_text_is_spoken() {
        for (markup, message, said) in [
            ("<speak>a < b</speak>", "byte 9 of the markup: a `<` that opens nothing", "a b"),
            ("<speak>AT&T</speak>", "byte 9 of the markup: an `&` that is no entity", "AT&T"),
            (
                "Hello <break/>you",
                "byte 0 of the markup: the text has markup but does not begin with `<speak>`",
                "Hello, you",
            ),
            (
                "<speak><b>bold</b> text</speak>",
                "byte 7 of the markup: there is no element `b` in SSML",
                "bold text",
            ),
            ("<speak>a</p> b</speak>", "byte 8 of the markup: `</p>` closes nothing: `speak` is open", "a b"),
            (
                "<speak><emphasis>a</speak>",
                "byte 18 of the markup: `</speak>` closes nothing: `emphasis` is open",
                "a",
            ),
            ("<speak>a", "byte 0 of the markup: `<speak>` is not closed", "a"),
            (
                "<speak><prosody rate='quick'>a</prosody></speak>",
                "byte 7 of the markup: `quick` is no value for `rate` of `prosody`",
                "a",
            ),
            ("<speak>a<prosody rate=\"slow", "byte 8 of the markup: a `<` that opens nothing, or a tag", "a"),
        ] {
            let parsed = parse(markup);
            let problem = parsed.problem().unwrap().to_string();
            assert!(problem.starts_with(message), "{problem}");
            assert_eq!(words(&parsed), said, "{markup}");
        }
    }

    #[test]
    fn the_node_speaks_bad_markup_and_tells_of_it() {
        let mut ssml = testing::transform::<Ssml>(SsmlParams {}).unwrap();
        for markup in ["It is on.", "<speak>It is <b>on</b>."] {
            ssml.feed("in", Reply { markup: markup.into(), uncertain: false });
        }
        let expected = Spoken { parts: [text("It is on.")].into() };
        assert_eq!(ssml.out::<Spoken>("out"), [expected.clone(), expected]);
        let told = ssml.told();
        assert_eq!(
            told,
            [("bad markup", "byte 13 of the markup: there is no element `b` in SSML".to_owned())]
        );
        assert!(format!("{:?}", ssml.notes()).contains("faulty"));
    }

    fn words(parsed: &Parsed<'_>) -> String {
        let texts = parsed
            .spoken()
            .parts
            .iter()
            .filter_map(|part| match part {
                SpokenPart::Text { text, .. } => Some(text.to_string()),
                SpokenPart::Break(_) => None,
            })
            .collect::<Vec<_>>();
        texts.join(" ")
    }

    /// Pieces of markup whose every tag, attribute and value has a capital letter, and whose text has none.
    fn markup() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "hello ",
            "one. ",
            "two",
            "&amp;",
            "&X;",
            "<X>",
            "</X>",
            "<speak>",
            "</speak>",
            "<p X='X'>",
            "</p>",
            "<X ",
            "<prosody rate=\"X\">",
            "<prosody rate='X",
            "</prosody>",
            "<break time=\"X\"/>",
            "<!-- X -->",
            "<?X?>",
            "<X/>",
            "<say-as interpret-as='X'>",
            "</say-as>",
            "<X a=\"<X>\">",
            "<X a='>X'>",
            " ",
            "5",
        ]);
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_string_is_parsed_without_a_panic(text in any::<String>(), marked in "[<>/a-z='\" &;!?-]{0,80}") {
            for text in [&text, &marked] {
                let _ = parse(text).spoken();
                let _ = parse(&format!("<speak>{text}</speak>")).spoken();
            }
        }

        #[test]
        fn no_tag_is_ever_spoken(markup in markup()) {
            let said = words(&parse(&format!("<speak>{markup}</speak>"))).replace("&X;", "");
            prop_assert!(!said.contains(char::is_uppercase), "{markup}: {said}");
            prop_assert!(!said.contains("speak") && !said.contains("prosody"), "{markup}: {said}");
        }
    }
}
