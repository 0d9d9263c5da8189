//! What hearing costs on this machine: the figures of ADR 2.
//!
//! `GRAPHRUN_ASSETS=... cargo run --release -p graph-nodes --features speech --example hearing_costs`

use std::{env, error::Error, path::PathBuf, time::Duration};

use graph_nodes::{
    speech::{
        corpus::{self, Recording},
        denoise::{Denoiser, FRAME},
        dictation::Dictation,
        endpoint::{CHUNK, Endpointing},
        minilm::MiniLm,
        moonshine::Moonshine,
        quality::WordErrors,
        silero::Silero,
        stt::{Progress, SpeechToText},
        trial,
    },
    types::Speech,
};
use rustix::time::{ClockId, clock_gettime};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const SAMPLES_PER_MS: f64 = 16.0;

fn main() -> Result {
    let mut recordings = corpus::librivox(&asset("speech-librivox"))?;
    let novel: Vec<f32> = recordings.iter().flat_map(|recording| recording.samples.clone()).collect();
    recordings.extend(corpus::cards(&asset("speech-cards"))?);
    chunks(&novel)?;
    quanta(&novel)?;
    sentences()?;
    for hang_over in [480, 320, 192] {
        for is_eager in [true, false] {
            endpointing(&recordings, hang_over, is_eager)?;
        }
    }
    Ok(())
}

fn asset(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("GRAPHRUN_ASSETS").unwrap_or_default()).join(name)
}

fn moonshine(threads: usize) -> Result<Moonshine> {
    let [library, encoder, decoder, vocabulary] =
        ["onnxruntime", "moonshine-encoder", "moonshine-decoder", "moonshine-tokenizer"].map(asset);
    Ok(Moonshine::open(&library, &encoder, &decoder, &vocabulary, threads)?)
}

/// CPU time of the whole process, in ms.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = cpu();
    let result = work();
    (cpu() - start, result)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn chunks(sound: &[f32]) -> Result {
    let mut silero = Silero::open(&asset("onnxruntime"), &asset("silero-vad"))?;
    let (chunks, _) = sound.as_chunks::<CHUNK>();
    let times = chunks.iter().map(|chunk| timed(|| silero.probability(chunk)).0).collect();
    println!("VAD, a chunk of 32 ms: {:.3} ms", median(times));
    let (mut denoiser, mut out) = (Denoiser::new(), Vec::new());
    let times = sound.chunks(FRAME).map(|frame| timed(|| denoiser.push(frame, &mut out)).0).collect();
    println!("RNNoise, a frame of 10 ms: {:.3} ms", median(times));
    Ok(())
}

fn quanta(sound: &[f32]) -> Result {
    for threads in [1, 2] {
        let mut engine = moonshine(threads)?;
        for seconds in [1, 3, 6, 9, 12] {
            let (mut encoder, mut tokens) = (Vec::new(), Vec::new());
            for _ in 0..5 {
                engine.begin(&sound[..seconds * 16_000]);
                encoder.push(timed(|| engine.step()).0);
                loop {
                    let (time, progress) = timed(|| engine.step());
                    tokens.push(time);
                    if let Progress::Done(_) = progress? {
                        break;
                    }
                }
            }
            let (encoder, token) = (median(encoder), median(tokens));
            println!("STT, {threads} threads, {seconds:2} s: encoder {encoder:.0} ms, a token {token:.1} ms");
        }
    }
    Ok(())
}

fn sentences() -> Result {
    let mut model = MiniLm::open(&asset("onnxruntime"), &asset("minilm"), &asset("minilm-tokenizer"), 1)?;
    for words in [5, 22] {
        let sentence = "light ".repeat(words);
        let times = (0..50).map(|_| timed(|| model.embed(&sentence)).0).collect();
        println!("NLU, {words} words: {:.1} ms", median(times));
    }
    Ok(())
}

/// Plays the recordings event by event in real time, where a quantum takes its CPU time.
fn endpointing(recordings: &[Recording], hang_over: u64, is_eager: bool) -> Result {
    let config = Endpointing { hang_over: Duration::from_millis(hang_over), ..Endpointing::default() };
    let mut silero = Silero::open(&asset("onnxruntime"), &asset("silero-vad"))?;
    let (mut after, mut longest_wait, mut errors) = (Vec::new(), 0.0f64, WordErrors::default());
    for recording in recordings {
        let mut sound = recording.samples.clone();
        sound.extend([0.0; 16_000]);
        let mut due = 0.0;
        let mut events = Vec::new();
        for (_, event) in trial::utterances(&mut silero, &config, &sound)? {
            if let Speech::Audio(samples) = &event {
                due += samples.len() as f64 / SAMPLES_PER_MS;
            }
            events.push((due, event));
        }
        let mut dictation =
            Dictation::new(Box::new(moonshine(1)?), Some(Duration::from_millis(500)), is_eager);
        let mut events = events.into_iter().peekable();
        let (mut now, mut end, mut text) = (0.0, 0.0, String::new());
        loop {
            while let Some((due, event)) = events.next_if(|(due, _)| *due <= now) {
                longest_wait = longest_wait.max(now - due);
                end = due;
                dictation.hear(event, ());
            }
            if dictation.is_busy() {
                let (time, written) = timed(|| dictation.work());
                now += time;
                if let Some(written) = written?.filter(|written| written.transcript.is_final) {
                    after.push(now - end);
                    text.push_str(&written.transcript.text);
                }
            } else if let Some((due, _)) = events.peek() {
                now = *due;
            } else {
                break;
            }
        }
        errors = errors.and(WordErrors::of(&recording.words, &text));
    }
    let longest = after.iter().fold(0.0f64, |longest, time| longest.max(*time));
    println!(
        "hang-over {hang_over} ms, eager {is_eager}: final text {:.0} ms after the end, at most {longest:.0} ms; an event \
         waits {longest_wait:.0} ms at most; word error rate {:.3}",
        median(after),
        errors.rate()
    );
    Ok(())
}
