//! A stream cut at any place gives the same messages, and the same error, as the stream in one piece.
#![no_main]

use graph_nodes::spatial::frame::{Codec, FrameError, Framer};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1_000;

fn messages(
    codec: Codec,
    mut stream: &[u8],
    mut piece: impl FnMut() -> usize,
) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let (mut framer, mut messages) = (Framer::new(codec, LIMIT), Vec::new());
    loop {
        loop {
            match framer.message() {
                Ok(Some(message)) => messages.push(message.to_vec()),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
        if stream.is_empty() {
            return (messages, framer.finish().err());
        }
        let space = framer.space();
        let count = piece().clamp(1, stream.len()).min(space.len());
        space[..count].copy_from_slice(&stream[..count]);
        framer.filled(count);
        stream = &stream[count..];
    }
}

fuzz_target!(|input: (bool, Vec<u8>, Vec<u8>)| {
    let (packed, stream, sizes) = input;
    let codec = if packed { Codec::Packed } else { Codec::Json };
    let whole = messages(codec, &stream, || usize::MAX);
    let mut sizes = sizes.iter().cycle();
    let pieces = messages(codec, &stream, || sizes.next().map_or(1, |size| usize::from(*size)));
    assert_eq!(whole, pieces);
    assert!(whole.0.iter().all(|message| message.len() <= codec.head() + LIMIT));
});
