//! What the stages of a voice pipeline hand to each other.

use std::{sync::Arc, time::Duration};

use graph_core::payload;

/// The VAD's account of speech, in order: `Start`, then `Audio` with any number of `Pause` and `Resume` between,
/// then `End`. Sound is mono at 16 kHz.
#[derive(Clone, Debug, PartialEq)]
pub enum Speech {
    /// Somebody began to speak. The pre-roll follows as the first `Audio`.
    Start,
    /// Sound of the utterance, hang-over included.
    Audio(Arc<[f32]>),
    /// Silence began inside the utterance; it may be its end. A reader can work ahead on what it has.
    Pause,
    /// The silence that `Pause` told of is over: speech goes on.
    Resume,
    /// The utterance is over: silence lasted for the hang-over, the stream ended, or the utterance was cut at its
    /// longest.
    End,
}
payload!(Speech, "speech");

/// What was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The words, as the recogniser writes them.
    pub text: Arc<str>,
    /// Leading words of the text that are not likely to change, since two runs over growing sound agreed on them; all
    /// of them in a final text.
    pub stable_words: usize,
    /// Whether the utterance is over and the text will not change.
    pub is_final: bool,
}
payload!(Transcript, "transcript");

/// What the speaker wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// The intent's name in the intents file; `None` when nothing scored above the threshold.
    pub name: Option<Arc<str>>,
    /// Cosine similarity with the nearest example, -1.0 to 1.0.
    pub score: f32,
    /// The words that were heard.
    pub text: Arc<str>,
}
payload!(Intent, "intent");

/// An answer as plain text or SSML.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Plain text, or markup whose root is `<speak>`.
    pub markup: Arc<str>,
    /// Whether the understanding behind it was uncertain: the tone node plays its "uncertain" tone first.
    pub uncertain: bool,
}
payload!(Reply, "reply");

/// An answer ready for synthesis: sentences and silences in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// In the order of speaking.
    pub parts: Arc<[SpokenPart]>,
}
payload!(Spoken, "spoken");

/// One piece of a [`Spoken`].
#[derive(Clone, Debug, PartialEq)]
pub enum SpokenPart {
    /// Words to say, one sentence or less.
    Text {
        /// Plain words and punctuation; say-as is already written out.
        text: Arc<str>,
        /// How to say them.
        prosody: Prosody,
    },
    /// Silence.
    Break(Duration),
}

/// How a text is spoken. The default changes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prosody {
    /// Speed; 2.0 is twice as fast.
    pub rate: f32,
    /// Gain in dB.
    pub volume_db: f32,
    /// Pitch shift in semitones. A voice that cannot shift its pitch ignores it.
    pub pitch_semitones: f32,
}

impl Default for Prosody {
    fn default() -> Self {
        Prosody { rate: 1.0, volume_db: 0.0, pitch_semitones: 0.0 }
    }
}

/// The TTS encoder's output: what the vocoder turns into sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Latent {
    /// `channels` rows of `frames` values, row by row.
    pub values: Arc<[f32]>,
    /// Rows; 192 in Piper's medium voices.
    pub channels: usize,
    /// Columns; one frame is `256` samples at 22,050 Hz in Piper's medium voices.
    pub frames: usize,
    /// Silence before this piece.
    pub lead: Duration,
    /// Gain in dB.
    pub volume_db: f32,
    /// Whether the answer ends with this piece.
    pub last: bool,
}
payload!(Latent, "latent");
