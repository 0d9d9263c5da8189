//! A request as a message.

use graph_core::{Build, BuildError, Cx, Kind, NoSample, NodeError, Sample, Transform};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    frame::{Codec, Frame, Scratch},
    message::Stamping,
};
use crate::types::Request;

/// How `spatial/encode` and `spatial/decode` write and read.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodecParams {
    /// `json`: a length and JSON. `packed`: a header of 20 bytes and postcard.
    pub codec: Codec,
}

/// Writes requests as messages.
pub struct Encode {
    codec: Codec,
    scratch: Scratch,
    sequence: u32,
}

impl Kind for Encode {
    const KIND: &'static str = "spatial/encode";
    const ABOUT: &'static str = "A request as the bytes of a message.";
    const ONE_TO_ONE: bool = true;
    type Params = CodecParams;

    fn new(params: &CodecParams, _: &mut Build<'_>) -> Result<Self, BuildError> {
        Ok(Encode { codec: params.codec, scratch: Scratch::default(), sequence: 0 })
    }

    fn sample(given: Option<CodecParams>, sample: &mut Sample<'_>) -> Result<CodecParams, NoSample> {
        sample.feed("in", Request::AssignZone { view: 42, zone: 3 });
        Ok(given.unwrap_or_default())
    }
}

impl Transform for Encode {
    type In = Request;
    type Out = Frame;

    #[inline]
    fn process(&mut self, request: Request, cx: &mut Cx<'_, '_, Frame>) -> Result<(), NodeError> {
        self.scratch.clear();
        let stamp = Stamping { sequence: self.sequence, timestamp: cx.now().0 };
        self.codec.write_request(&request, stamp, &mut self.scratch)?;
        self.sequence = self.sequence.wrapping_add(1);
        cx.emit(Frame::new(self.scratch.written()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;
    use crate::spatial::header::Header;

    #[test]
    fn each_packed_message_has_its_number_and_the_time() {
        let mut alone = testing::transform::<Encode>(CodecParams { codec: Codec::Packed }).unwrap();
        let now = alone.now();
        alone.feed("in", Request::Views);
        alone.feed("in", Request::Zones);
        let heads = alone.out::<Frame>("out").into_iter().map(|frame| {
            let header = Header::from_bytes(frame.bytes().first_chunk().unwrap()).unwrap();
            (
                header.sequence,
                header.timestamp,
                header.payload_size as usize + Header::LEN == frame.bytes().len(),
            )
        });
        assert_eq!(heads.collect::<Vec<_>>(), [(0, now.0, true), (1, now.0, true)]);
    }
}
