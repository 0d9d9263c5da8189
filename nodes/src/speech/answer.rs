//! `speech/answer`: what to say to an intent.

use std::sync::Arc;

use graph_core::{AssetRef, Build, BuildError, Cx, Kind, NoSample, NodeError, Sample, Transform};
use schemars::JsonSchema;
use serde::Deserialize;
use thiserror::Error;

use super::intents::{self, Intention, Intents, Template};
use crate::types::{Intent, Reply};

/// An intent that the intents file does not have.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "there is no answer to the intent `{name}`: give `speech/nlu` and `speech/answer` the same intents file"
)]
pub struct NoAnswer {
    /// Its name.
    pub name: String,
}

/// The answers of an intents file; those of one intent take turns.
pub struct Answers {
    uncertain: Rota,
    intents: Vec<(Arc<str>, Rota)>,
}

struct Rota {
    templates: Vec<Template>,
    next: usize,
}

impl Rota {
    fn new(templates: &[Template]) -> Rota {
        Rota { templates: templates.into(), next: 0 }
    }

    fn next(&mut self) -> &Template {
        let now = self.next;
        self.next = (now + 1) % self.templates.len();
        &self.templates[now]
    }
}

impl Answers {
    /// The answers of the file.
    pub fn new(intents: &Intents) -> Answers {
        let answers = |intent: &Intention| (intent.name.clone(), Rota::new(&intent.answers));
        Answers {
            uncertain: Rota::new(&intents.uncertain),
            intents: intents.intents.iter().map(answers).collect(),
        }
    }

    /// What to say; uncertain when the sentence had no intent.
    ///
    /// # Errors
    /// When the intent comes from another file.
    pub fn answer(&mut self, intent: &Intent) -> Result<Reply, NoAnswer> {
        let Some(name) = &intent.name else {
            let markup = self.uncertain.next().fill(&intent.text).into();
            return Ok(Reply { markup, uncertain: true });
        };
        let rota = self.intents.iter_mut().find(|(other, _)| other == name);
        let (_, rota) = rota.ok_or_else(|| NoAnswer { name: name.to_string() })?;
        Ok(Reply { markup: rota.next().fill(&intent.text).into(), uncertain: false })
    }
}

/// Parameters of `speech/answer`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerParams {
    /// The intents file, the same as for `speech/nlu`.
    pub intents: AssetRef,
}

/// The node.
pub struct Answer(Answers);

impl Kind for Answer {
    const KIND: &'static str = "speech/answer";
    const ABOUT: &'static str = "Answers an intent by the templates of the intents file.";
    const ONE_TO_ONE: bool = true;
    type Params = AnswerParams;

    fn new(params: &AnswerParams, build: &mut Build<'_>) -> Result<Answer, BuildError> {
        Ok(Answer(Answers::new(&Intents::read(&build.asset(&params.intents)?)?)))
    }

    fn assets(params: &AnswerParams) -> Vec<AssetRef> {
        vec![params.intents.clone()]
    }

    fn sample(given: Option<AnswerParams>, sample: &mut Sample<'_>) -> Result<AnswerParams, NoSample> {
        let intents = match given {
            Some(params) => params.intents,
            None => intents::sample(sample)?,
        };
        let known = Intents::read(&sample.asset(&intents)?)?.intents;
        let name = known.first().map(|intent| intent.name.clone());
        sample.feed("in", Intent { name, score: 0.8, text: "Could you put the lamp on, please?".into() });
        Ok(AnswerParams { intents })
    }
}

impl Transform for Answer {
    type In = Intent;
    type Out = Reply;

    fn process(&mut self, intent: Intent, cx: &mut Cx<'_, '_, Reply>) -> Result<(), NodeError> {
        let reply = self.0.answer(&intent)?;
        if let Some(cause) = cx.cause() {
            cx.tell(cause.turn, "answer", &reply.markup);
        }
        cx.emit(reply);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use graph_core::testing;

    use super::*;

    const GREETING: &str = r#"(
        uncertain: ["Pardon?"],
        intents: [(name: "greeting", examples: ["hello"], answers: ["Hi.", "<speak>{text} to you.</speak>"])],
    )"#;

    fn answers() -> Answers {
        Answers::new(&Intents::parse(Path::new("greeting.ron"), GREETING).unwrap())
    }

    fn intent(name: Option<&str>) -> Intent {
        Intent { name: name.map(Into::into), score: 0.5, text: "Hello & good day.".into() }
    }

    #[test]
    fn answers_take_turns_and_escape_what_was_heard() {
        let mut answers = answers();
        let mut said = || answers.answer(&intent(Some("greeting"))).unwrap().markup;
        assert_eq!(&*said(), "Hi.");
        assert_eq!(&*said(), "<speak>Hello &amp; good day to you.</speak>");
        assert_eq!(&*said(), "Hi.");
    }

    #[test]
    fn without_an_intent_the_answer_is_uncertain() {
        let reply = answers().answer(&intent(None)).unwrap();
        assert_eq!(reply, Reply { markup: "Pardon?".into(), uncertain: true });
    }

    #[test]
    fn an_intent_of_another_file_is_told_by_name() {
        assert_eq!(answers().answer(&intent(Some("dance"))), Err(NoAnswer { name: "dance".into() }));
    }

    #[test]
    fn the_node_answers_and_a_bad_file_fails_when_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("intents.ron");
        let made = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let intents = AssetRef::new(path.to_string_lossy());
            testing::transform::<Answer>(AnswerParams { intents })
        };
        let mut answer = made(GREETING).unwrap();
        answer.feed("in", intent(Some("greeting")));
        assert_eq!(answer.out::<Reply>("out"), [Reply { markup: "Hi.".into(), uncertain: false }]);
        let error = made("(uncertain: [])").err().unwrap().to_string();
        assert!(
            error.ends_with("intents.ron:1:15: Unexpected missing field named `intents` in `Intents`"),
            "{error}"
        );
    }
}
