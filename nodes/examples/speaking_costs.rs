//! What speaking costs on this machine: the figures of ADR 3.
//!
//! `GRAPHRUN_ASSETS=... cargo run --release -p graph-nodes --features speech --example speaking_costs`

use std::{
    env,
    error::Error,
    path::PathBuf,
    time::{Duration, Instant},
};

use graph_nodes::{
    speech::{
        phonemes::Phonemizer,
        ssml,
        tts_decoder::{Chunks, Decoder},
        tts_encoder::Encoder,
    },
    types::{Latent, SpokenPart},
};
use rustix::time::{ClockId, clock_gettime};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const RUNS: usize = 21;
const TEXTS: [&str; 4] = [
    "Okay.",
    "The kitchen light is on.",
    "The kitchen light is on, and it is green.",
    "I have set a timer for ten minutes, and it will ring at half past four this afternoon, when the sun goes down.",
];

fn main() -> Result {
    text()?;
    for (first, threads) in [(8, 1), (8, 2), (4, 1), (16, 1)] {
        voice(first, threads)?;
    }
    Ok(())
}

fn asset(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("GRAPHRUN_ASSETS").unwrap_or_default()).join(name)
}

/// Wall and CPU time in ms.
#[derive(Default)]
struct Costs {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Costs {
    fn of<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (start, cpu_start) = (Instant::now(), cpu());
        let result = work();
        self.cpu.push((cpu() - cpu_start) * 1e3);
        self.wall.push(start.elapsed().as_secs_f64() * 1e3);
        result
    }

    fn show(&mut self) -> String {
        self.wall.sort_by(f64::total_cmp);
        self.cpu.sort_by(f64::total_cmp);
        let middle = self.wall.len() / 2;
        format!("{:.1}/{:.1}/{:.1}", self.wall[0], self.wall[middle], self.cpu[middle])
    }
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn text() -> Result {
    let mut load = Costs::default();
    let phonemizer = load.of(|| Phonemizer::load(&asset("cmudict")))?;
    println!("dictionary: {} ms (least/median wall, median CPU)", load.show());
    for text in TEXTS {
        let mut costs = Costs::default();
        for _ in 0..RUNS {
            costs.of(|| (0..1_000).for_each(|_| drop(phonemizer.phonemes(text))));
        }
        println!("phonemes: {} us, {text}", costs.show());
    }
    Ok(())
}

fn voice(first: usize, threads: usize) -> Result {
    let library = asset("onnxruntime");
    let mut load = Costs::default();
    let (mut encoder, mut decoder) = load.of(|| -> Result<_> {
        let (json, dictionary) = (asset("piper-joe-json"), asset("cmudict"));
        let encoder =
            Encoder::open(&library, &asset("piper-joe-encoder"), &json, &dictionary, threads, false)?;
        let (rate, chunks) = (encoder.voice().rate, Chunks { first, ..Chunks::default() });
        Ok((encoder, Decoder::open(&library, &asset("piper-joe-decoder"), rate, chunks, threads)?))
    })?;
    println!("\nfirst chunk of {first} frames, {threads} threads: loaded in {} ms", load.show());
    for text in TEXTS {
        let spoken = ssml::parse(text).spoken();
        let Some(SpokenPart::Text { text: piece, .. }) = spoken.parts.first() else { continue };
        let (mut encoding, mut decoding, mut rest) = (Costs::default(), Costs::default(), Costs::default());
        let mut seconds = 0.0;
        for _ in 0..RUNS {
            let Some(frames) = encoding.of(|| encoder.encode(piece, 1.0))? else { continue };
            seconds = frames.frames as f64 * 256.0 / f64::from(encoder.voice().rate.0);
            decoder.begin(Latent {
                values: frames.values.into(),
                channels: frames.channels,
                frames: frames.frames,
                lead: Duration::ZERO,
                volume_db: 0.0,
                last: true,
            })?;
            decoding.of(|| decoder.next_chunk())?;
            rest.of(|| -> Result {
                while decoder.next_chunk()?.is_some() {}
                Ok(())
            })?;
        }
        let (encoding, decoding, rest) = (encoding.show(), decoding.show(), rest.show());
        println!(
            "{seconds:.1} s: encoder {encoding}, first chunk {decoding}, other chunks {rest} ms: {piece}"
        );
    }
    Ok(())
}
