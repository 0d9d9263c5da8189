//! A message as a response.

use graph_core::{Build, BuildError, Counter, Cx, Kind, NoSample, NodeError, Sample, Transform};

use super::{
    encode::CodecParams,
    frame::{Codec, Frame, Scratch},
    message::Stamping,
};
use crate::types::Response;

/// Reads responses out of messages. What is none is counted and told; the stream goes on, since its messages are whole.
pub struct Decode {
    codec: Codec,
    garbage: Counter,
}

impl Kind for Decode {
    const KIND: &'static str = "spatial/decode";
    const ABOUT: &'static str = "The bytes of a message as a response.";
    type Params = CodecParams;

    fn new(params: &CodecParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Decode {
            codec: params.codec,
            garbage: build.counter("garbage", "Messages that were no response."),
        })
    }

    fn sample(given: Option<CodecParams>, sample: &mut Sample<'_>) -> Result<CodecParams, NoSample> {
        let params = given.unwrap_or_default();
        let mut scratch = Scratch::default();
        params.codec.write_response(&Response::Ok, Stamping::default(), &mut scratch)?;
        sample.feed("in", Frame::new(scratch.written()));
        Ok(params)
    }
}

impl Transform for Decode {
    type In = Frame;
    type Out = Response;

    #[inline]
    fn process(&mut self, frame: Frame, cx: &mut Cx<'_, '_, Response>) -> Result<(), NodeError> {
        match self.codec.read_response(frame.bytes()) {
            Ok((_, response)) => cx.emit(response),
            Err(error) => {
                self.garbage.add(1);
                let turn = cx.cause().map(|cause| cause.turn).unwrap_or_default();
                cx.tell(turn, "garbage", &error.to_string());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;

    #[test]
    fn garbage_is_counted_and_told_and_the_next_response_comes_through() {
        let mut alone = testing::transform::<Decode>(CodecParams::default()).unwrap();
        for message in [&b"\x02\0\0\0{]"[..], b"\x04\0\0\0\"Ok\""] {
            alone.feed("in", Frame::new(message));
        }
        assert_eq!(alone.out::<Response>("out"), [Response::Ok]);
        assert_eq!(alone.notes()[0].value, 1);
        let (label, text) = &alone.told()[0];
        assert_eq!(*label, "garbage");
        assert!(text.starts_with("not the JSON expected: "), "{text}");
        assert!(alone.failures().is_empty());
    }
}
