//! Answers: what to say to an intent.

use thiserror::Error;

use super::intents::{Intents, Template};
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
    intents: Vec<(std::sync::Arc<str>, Rota)>,
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
        let answers = |intent: &super::intents::Intention| (intent.name.clone(), Rota::new(&intent.answers));
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

#[cfg(test)]
mod tests {
    use std::path::Path;

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
}
