//! `speech/nlu`: which intent a sentence has, by its nearest example.

use std::{collections::HashSet, sync::Arc};

use graph_core::{AssetRef, Build, BuildError, Cx, Kind, NoSample, NodeError, Sample, Transform};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    intents::{self, Intents},
    minilm::MiniLm,
    runtime,
};
use crate::types::{Intent, Transcript};

/// The examples of an intents file with their embeddings.
pub struct Understanding {
    threshold: f32,
    opposites: Vec<(String, String)>,
    examples: Vec<Example>,
}

struct Example {
    intent: Arc<str>,
    embedding: Vec<f32>,
    words: HashSet<String>,
}

impl Understanding {
    /// Learns the examples; `embed` gives vectors of length 1.0.
    ///
    /// # Errors
    /// What `embed` said.
    pub fn new<E>(
        intents: &Intents,
        mut embed: impl FnMut(&str) -> Result<Vec<f32>, E>,
    ) -> Result<Understanding, E> {
        let mut examples = Vec::new();
        for intent in &intents.intents {
            for sentence in &intent.examples {
                let embedding = embed(sentence)?;
                examples.push(Example { intent: intent.name.clone(), embedding, words: words(sentence) });
            }
        }
        Ok(Understanding { threshold: intents.threshold, opposites: intents.opposites.clone(), examples })
    }

    /// The intent of the nearest example that does not say the opposite, if it is near enough.
    pub fn intent(&self, text: &str, embedding: &[f32]) -> Intent {
        let words = words(text);
        let scores =
            self.examples.iter().filter(|example| !self.is_opposite(&words, &example.words)).map(|example| {
                let score = example.embedding.iter().zip(embedding).map(|(a, b)| a * b).sum::<f32>();
                (example, score)
            });
        let best = scores.max_by(|a, b| a.1.total_cmp(&b.1));
        let (nearest, score) = best.map_or((None, -1.0), |(example, score)| (Some(example), score));
        let name = nearest.filter(|_| score >= self.threshold).map(|example| example.intent.clone());
        Intent { name, score, text: text.into() }
    }

    fn is_opposite(&self, said: &HashSet<String>, example: &HashSet<String>) -> bool {
        let only =
            |words: &HashSet<String>, this: &str, that: &str| words.contains(this) && !words.contains(that);
        self.opposites.iter().any(|(a, b)| {
            (only(said, a, b) && only(example, b, a)) || (only(said, b, a) && only(example, a, b))
        })
    }
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Parameters of `speech/nlu`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NluParams {
    /// The intents file.
    pub intents: AssetRef,
    /// Threads of a run of the model.
    #[serde(default = "one")]
    pub threads: usize,
    /// ONNX Runtime.
    #[serde(default = "runtime::library")]
    pub library: AssetRef,
    /// MiniLM, or a model with the same inputs and outputs.
    #[serde(default = "model")]
    pub model: AssetRef,
    /// Its tokenizer.
    #[serde(default = "tokenizer")]
    pub tokenizer: AssetRef,
}

fn one() -> usize {
    1
}

fn model() -> AssetRef {
    AssetRef::new("asset:minilm")
}

fn tokenizer() -> AssetRef {
    AssetRef::new("asset:minilm-tokenizer")
}

/// The node.
pub struct Nlu {
    understanding: Understanding,
    model: MiniLm,
}

impl Kind for Nlu {
    const KIND: &'static str = "speech/nlu";
    const ABOUT: &'static str = "Finds the intent of a sentence by its nearest example.";
    const ONE_TO_ONE: bool = true;
    const HEAVY: bool = true;
    type Params = NluParams;

    fn new(params: &NluParams, build: &mut Build<'_>) -> Result<Nlu, BuildError> {
        let intents = Intents::read(&build.asset(&params.intents)?)?;
        let mut model = MiniLm::open(
            &build.asset(&params.library)?,
            &build.asset(&params.model)?,
            &build.asset(&params.tokenizer)?,
            params.threads.max(1),
        )?;
        let understanding = Understanding::new(&intents, |sentence| model.embed(sentence))?;
        Ok(Nlu { understanding, model })
    }

    fn assets(params: &NluParams) -> Vec<AssetRef> {
        [&params.intents, &params.library, &params.model, &params.tokenizer].map(AssetRef::clone).into()
    }

    fn sample(given: Option<NluParams>, sample: &mut Sample<'_>) -> Result<NluParams, NoSample> {
        let text = "Could you put the lamp on, please?";
        sample.feed("in", Transcript { text: text.into(), stable_words: 7, is_final: true });
        match given {
            Some(params) => Ok(params),
            None => Ok(NluParams {
                intents: intents::sample(sample)?,
                threads: one(),
                library: runtime::library(),
                model: model(),
                tokenizer: tokenizer(),
            }),
        }
    }
}

impl Transform for Nlu {
    type In = Transcript;
    type Out = Intent;

    fn process(&mut self, input: Transcript, cx: &mut Cx<'_, '_, Intent>) -> Result<(), NodeError> {
        let embedding = self.model.embed(&input.text)?;
        let intent = self.understanding.intent(&input.text, &embedding);
        if let Some(cause) = cx.cause() {
            cx.tell(cause.turn, "intent", intent.name.as_deref().unwrap_or("none"));
        }
        cx.emit(intent);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, path::Path};

    use graph_core::testing;

    use super::*;
    use crate::speech::fixtures::{asset, asset_ref};

    const HOUSE: &str = r#"(
        uncertain: ["what?"],
        opposites: [("on", "off"), ("up", "down")],
        intents: [
            (name: "on", examples: ["light on"], answers: ["a"]),
            (name: "off", examples: ["light off"], answers: ["a"]),
        ],
    )"#;

    /// Two numbers: whether it is about light, and whether it is not.
    fn embed(text: &str) -> Result<Vec<f32>, Infallible> {
        Ok(if text.to_lowercase().contains("light") { vec![1.0, 0.0] } else { vec![0.2, 0.98] })
    }

    fn house(text: &str) -> Intent {
        let intents = Intents::parse(Path::new("house.ron"), HOUSE).unwrap();
        let understanding = Understanding::new(&intents, embed).unwrap();
        understanding.intent(text, &embed(text).unwrap())
    }

    #[test]
    fn opposites_are_told_apart_by_their_words() {
        assert_eq!(house("Light ON!").name.as_deref(), Some("on"));
        assert_eq!(house("switch the light off").name.as_deref(), Some("off"));
    }

    #[test]
    fn a_sentence_with_both_words_or_none_is_left_to_the_model() {
        assert!(house("light on or off?").name.is_some());
        assert!(house("light").name.is_some());
    }

    #[test]
    fn below_the_threshold_there_is_no_intent_but_a_score() {
        let intent = house("Bananas");
        assert_eq!((intent.name, intent.score, &*intent.text), (None, 0.2, "Bananas"));
    }

    fn shipped() -> (Understanding, MiniLm) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs/intents.ron");
        let intents = Intents::read(&path).unwrap();
        let mut model =
            MiniLm::open(&asset("onnxruntime"), &asset("minilm"), &asset("minilm-tokenizer"), 1).unwrap();
        let understanding = Understanding::new(&intents, |sentence| model.embed(sentence)).unwrap();
        (understanding, model)
    }

    #[test]
    fn the_intents_that_ship_are_found_in_other_words_than_their_examples() {
        let (understanding, mut model) = shipped();
        for (text, expected) in [
            ("Could you put the lamp on, please?", Some("lights_on")),
            ("Put the lamp off now.", Some("lights_off")),
            ("Please make the music a bit louder.", Some("volume_up")),
            ("That is too loud, turn it down.", Some("volume_down")),
            ("Shoot a photo of this.", Some("take_picture")),
            ("How do I get back to my house?", Some("navigate_home")),
            ("Are there any new messages for me?", Some("read_messages")),
            ("Be quiet.", Some("stop")),
            ("Hi there, good morning!", Some("greeting")),
            ("Will it rain tomorrow?", Some("weather")),
            ("What are you able to do?", Some("help")),
            ("The king of diamonds.", Some("play_card")),
            ("The derivative of a polynomial is a polynomial.", None),
            ("My cousin repairs old tractors.", None),
        ] {
            let intent = understanding.intent(text, &model.embed(text).unwrap());
            assert_eq!(intent.name.as_deref(), expected, "{text} {}", intent.score);
        }
    }

    #[test]
    fn the_node_gives_and_tells_the_intent() {
        let params = NluParams {
            intents: AssetRef::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../graphs/intents.ron")),
            threads: 1,
            library: asset_ref("onnxruntime"),
            model: asset_ref("minilm"),
            tokenizer: asset_ref("minilm-tokenizer"),
        };
        let mut nlu = testing::transform::<Nlu>(params).unwrap();
        nlu.feed("in", Transcript { text: "Lights on!".into(), stable_words: 2, is_final: true });
        let intents = nlu.out::<Intent>("out");
        assert_eq!((intents.len(), intents[0].name.as_deref()), (1, Some("lights_on")));
        assert_eq!(nlu.told(), [("intent", "lights_on".to_owned())]);
    }
}
