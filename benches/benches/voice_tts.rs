//! The micro-benchmarks of the voice pipeline: tones, SSML, resampling, PCM. Their budgets stand in `graphs/voice.ron`.
//!
//! `cargo bench -p graph-benches --features speech --bench voice_tts`. The resampler is the one that speech itself goes
//! through, a windowed sinc; the references were taken with a linear one.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use graph_nodes::{
    audio::tones::Tone,
    sound::{pcm::to_s16le, resample::Resampler},
    speech::ssml,
    types::Rate,
};

const COMPLEX: &str = r#"<speak>Your timer for <say-as interpret-as="cardinal">10</say-as> minutes is
<emphasis level="strong">over</emphasis>.<break time="300ms"/><prosody rate="slow" pitch="+2st">Shall I set another?</prosody></speak>"#;

fn tones(criterion: &mut Criterion) {
    for (name, tone) in [("query_tone", Tone::QUERY), ("uncertain_tone", Tone::UNCERTAIN)] {
        for rate in [Rate(16_000), Rate(22_050), Rate(48_000)] {
            criterion.bench_function(&format!("voice_tts/{name}/{}", rate.0), |bencher| {
                bencher.iter(|| black_box(tone).audio(black_box(rate)));
            });
        }
    }
}

fn markup(criterion: &mut Criterion) {
    let texts =
        [("plain", "The light is on."), ("simple", "<speak>The light is on.</speak>"), ("complex", COMPLEX)];
    for (name, text) in texts {
        criterion.bench_function(&format!("voice_tts/ssml/{name}"), |bencher| {
            bencher.iter(|| ssml::parse(black_box(text)));
        });
    }
}

fn sound(criterion: &mut Criterion) {
    for (name, samples) in [("20ms", 441), ("100ms", 2205)] {
        let input = vec![0.25; samples];
        let mut resampler = Resampler::new(Rate(22_050), Rate(48_000)).expect("usual rates");
        let mut out = Vec::with_capacity(3 * samples);
        criterion.bench_function(&format!("voice_tts/resample_22050_48000/{name}"), |bencher| {
            bencher.iter(|| {
                out.clear();
                resampler.process(black_box(&input), &mut out);
                black_box(out.len())
            });
        });
    }
    let samples = [0.25; 960];
    let mut bytes = [0; 1920];
    criterion.bench_function("voice_tts/f32_to_s16le/960", |bencher| {
        bencher.iter(|| to_s16le(black_box(&samples), black_box(&mut bytes)));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = tones, markup, sound
}
criterion_main!(benches);
