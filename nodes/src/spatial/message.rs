//! Requests and responses as messages on the wire, and back.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    frame::{Codec, LIMIT, Scratch},
    header::{Header, MessageType, NoHeader},
    homography::Homography,
};
use crate::types::{Request, Response};

/// What stands behind a header, as postcard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum IpcMessage<'a> {
    /// A request.
    Request(Cow<'a, Request>),
    /// The answer to one.
    Response(Cow<'a, Response>),
    /// How a view lies in the room.
    Homography {
        /// The view's number.
        view: u32,
        /// From the plane of the zones to pixels.
        matrix: Homography,
    },
}

impl IpcMessage<'_> {
    /// What the header calls it.
    pub fn message_type(&self) -> MessageType {
        match self {
            IpcMessage::Request(_) => MessageType::Request,
            IpcMessage::Response(_) => MessageType::Response,
            IpcMessage::Homography { .. } => MessageType::Homography,
        }
    }

    /// Writes header and payload behind what is written.
    ///
    /// # Errors
    ///
    /// When the message is longer than [`LIMIT`].
    #[inline]
    pub fn write(&self, stamp: Stamping, into: &mut Scratch) -> Result<(), MessageError> {
        let mut room = 128;
        let payload = loop {
            match postcard::to_slice(self, &mut into.spare(Header::LEN + room)[Header::LEN..]) {
                Ok(payload) => break payload.len(),
                Err(postcard::Error::SerializeBufferFull) if room <= LIMIT => room *= 4,
                Err(postcard::Error::SerializeBufferFull) => return Err(MessageError::TooLong),
                Err(error) => return Err(error.into()),
            }
        };
        if payload > LIMIT {
            return Err(MessageError::TooLong);
        }
        let header = Header {
            message_type: self.message_type(),
            payload_size: payload as u32,
            sequence: stamp.sequence,
            timestamp: stamp.timestamp,
        };
        into.spare(Header::LEN)[..Header::LEN].copy_from_slice(&header.to_bytes());
        into.wrote(Header::LEN + payload);
        Ok(())
    }

    /// Reads a whole message.
    ///
    /// # Errors
    ///
    /// When it is none, or not what its header calls it.
    #[inline]
    pub fn read(frame: &[u8]) -> Result<(Header, IpcMessage<'static>), MessageError> {
        let (head, payload) = frame.split_first_chunk().ok_or(MessageError::NoHead)?;
        let header = Header::from_bytes(head)?;
        let message: IpcMessage<'static> = postcard::from_bytes(payload)?;
        let found = message.message_type();
        if found != header.message_type {
            return Err(MessageError::WrongType { expected: header.message_type, found });
        }
        Ok((header, message))
    }
}

/// What a packed message's header tells of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamping {
    /// The message's number.
    pub sequence: u32,
    /// The sender's clock, in nanoseconds.
    pub timestamp: u64,
}

/// A message cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Not the JSON that is wanted.
    #[error("not the JSON expected: {0}")]
    Json(#[from] serde_json::Error),
    /// Not the postcard that is wanted.
    #[error("not the packed message expected: {0}")]
    Packed(#[from] postcard::Error),
    /// The header is none.
    #[error(transparent)]
    NoHeader(#[from] NoHeader),
    /// Not even a head.
    #[error("the message is shorter than its head")]
    NoHead,
    /// Longer than any peer takes.
    #[error("the message is longer than {LIMIT} bytes, which no peer takes")]
    TooLong,
    /// Not what was to come.
    #[error("a {found:?} came where a {expected:?} was to")]
    WrongType {
        /// What was to come.
        expected: MessageType,
        /// What came.
        found: MessageType,
    },
}

impl Codec {
    /// Writes a request behind what is written.
    ///
    /// # Errors
    ///
    /// When it is longer than [`LIMIT`].
    #[inline]
    pub fn write_request(
        self,
        request: &Request,
        stamp: Stamping,
        into: &mut Scratch,
    ) -> Result<(), MessageError> {
        match self {
            Codec::Json => write_json(request, into),
            Codec::Packed => IpcMessage::Request(Cow::Borrowed(request)).write(stamp, into),
        }
    }

    /// Writes a response behind what is written.
    ///
    /// # Errors
    ///
    /// When it is longer than [`LIMIT`].
    #[inline]
    pub fn write_response(
        self,
        response: &Response,
        stamp: Stamping,
        into: &mut Scratch,
    ) -> Result<(), MessageError> {
        match self {
            Codec::Json => write_json(response, into),
            Codec::Packed => IpcMessage::Response(Cow::Borrowed(response)).write(stamp, into),
        }
    }

    /// Reads a request, and its number where it has one.
    ///
    /// # Errors
    ///
    /// When it is none.
    #[inline]
    pub fn read_request(self, frame: &[u8]) -> Result<(u32, Request), MessageError> {
        match self {
            Codec::Json => Ok((0, read_json(frame)?)),
            Codec::Packed => match IpcMessage::read(frame)? {
                (header, IpcMessage::Request(request)) => Ok((header.sequence, request.into_owned())),
                (_, other) => Err(wrong(MessageType::Request, &other)),
            },
        }
    }

    /// Reads a response, and its number where it has one.
    ///
    /// # Errors
    ///
    /// When it is none.
    #[inline]
    pub fn read_response(self, frame: &[u8]) -> Result<(u32, Response), MessageError> {
        match self {
            Codec::Json => Ok((0, read_json(frame)?)),
            Codec::Packed => match IpcMessage::read(frame)? {
                (header, IpcMessage::Response(response)) => Ok((header.sequence, response.into_owned())),
                (_, other) => Err(wrong(MessageType::Response, &other)),
            },
        }
    }
}

#[cold]
fn wrong(expected: MessageType, found: &IpcMessage<'_>) -> MessageError {
    MessageError::WrongType { expected, found: found.message_type() }
}

/// Writes a length and JSON behind what is written.
///
/// # Errors
///
/// When it is longer than [`LIMIT`], or no JSON.
#[inline]
pub fn write_json(value: &impl Serialize, into: &mut Scratch) -> Result<(), MessageError> {
    const HEAD: usize = Codec::Json.head();
    let at = into.written().len();
    into.spare(HEAD);
    into.wrote(HEAD);
    serde_json::to_writer(&mut *into, value)?;
    let length = into.written().len() - at - HEAD;
    if length > LIMIT {
        return Err(MessageError::TooLong);
    }
    into.written_mut()[at..at + HEAD].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}

/// Reads the JSON behind a length.
///
/// # Errors
///
/// When it is not what is wanted.
#[inline]
pub fn read_json<T: DeserializeOwned>(frame: &[u8]) -> Result<T, MessageError> {
    let payload = frame.get(Codec::Json.head()..).ok_or(MessageError::NoHead)?;
    Ok(serde_json::from_slice(payload)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::{Geometry, Output, Refusal, View, Zone};

    const BOTH: [Codec; 2] = [Codec::Json, Codec::Packed];

    fn requests() -> impl Strategy<Value = Request> {
        prop_oneof![
            (any::<u32>(), any::<u32>()).prop_map(|(view, zone)| Request::AssignZone { view, zone }),
            Just(Request::Zones),
            Just(Request::Views),
            Just(Request::Outputs),
            (any::<u32>(), any::<[i32; 2]>()).prop_map(|(finger, at)| {
                // What JSON readers agree on: not more digits than a screen has.
                let [x, y] = at.map(|sixteenths| f64::from(sixteenths) / 16.0);
                Request::Touch { finger, x, y }
            }),
            any::<u32>().prop_map(|finger| Request::Release { finger }),
            (".*", any::<bool>()).prop_map(|(key, pressed)| Request::Key { key, pressed }),
        ]
    }

    fn responses() -> impl Strategy<Value = Response> {
        let geometry =
            || any::<[i32; 4]>().prop_map(|[x, y, width, height]| Geometry { x, y, width, height });
        let zone = (any::<u32>(), prop::array::uniform4(-1e6_f32..1e6))
            .prop_map(|(id, [x, y, width, height])| Zone { id, x, y, width, height });
        let view = (any::<u32>(), ".*", ".*", geometry()).prop_map(|(id, app_id, title, geometry)| View {
            id,
            app_id,
            title,
            geometry,
        });
        let output =
            (any::<u32>(), ".*", geometry()).prop_map(|(id, name, geometry)| Output { id, name, geometry });
        prop_oneof![
            Just(Response::Ok),
            prop::collection::vec(zone, 0..5).prop_map(Response::Zones),
            prop::collection::vec(view, 0..5).prop_map(Response::Views),
            prop::collection::vec(output, 0..5).prop_map(Response::Outputs),
            ".*".prop_map(|reason| Response::Error(Refusal::Malformed { reason })),
            any::<u32>().prop_map(|view| Response::Error(Refusal::NoSuchView { view })),
        ]
    }

    #[test]
    fn the_json_on_the_wire_is_what_a_peer_in_any_language_writes() {
        let mut scratch = Scratch::default();
        let request = Request::AssignZone { view: 42, zone: 3 };
        Codec::Json.write_request(&request, Stamping::default(), &mut scratch).unwrap();
        assert_eq!(scratch.written(), b"\x23\0\0\0{\"AssignZone\":{\"view\":42,\"zone\":3}}");
        let spaced = b"\x2b\0\0\0 { \"AssignZone\" : {\"zone\": 3, \"view\" :42} } ";
        assert_eq!(Codec::Json.read_request(spaced).unwrap().1, request);
        assert_eq!(Codec::Json.read_response(b"\x04\0\0\0\"Ok\"").unwrap().1, Response::Ok);
    }

    #[test]
    fn a_message_that_is_none_says_why() {
        let says = |codec: Codec, frame: &[u8]| codec.read_request(frame).unwrap_err().to_string();
        assert_eq!(
            says(Codec::Json, b"\x0b\0\0\0{\"Move\":{}}"),
            "not the JSON expected: unknown variant `Move`, expected one of `AssignZone`, `Zones`, `Views`, `Outputs`, \
             `Touch`, `Release`, `Key` at line 1 column 7"
        );
        assert_eq!(says(Codec::Json, b"\x01"), "the message is shorter than its head");
        let mut scratch = Scratch::default();
        Codec::Packed.write_response(&Response::Ok, Stamping::default(), &mut scratch).unwrap();
        assert_eq!(says(Codec::Packed, scratch.written()), "a Response came where a Request was to");
        let mut lies = scratch.written().to_vec();
        lies[0] = 1;
        assert_eq!(says(Codec::Packed, &lies), "a Response came where a Request was to");
    }

    #[test]
    fn a_homography_comes_back_bit_by_bit() {
        let matrix = Homography([1.0, 0.1, 20.0, -0.2, 1.1, 30.0, 1e-4, f32::MIN_POSITIVE, 1.0]);
        let message = IpcMessage::Homography { view: 7, matrix };
        let mut scratch = Scratch::default();
        message.write(Stamping { sequence: 5, timestamp: 6 }, &mut scratch).unwrap();
        assert_eq!(scratch.written().len(), Header::LEN + 2 + 36);
        let (header, read) = IpcMessage::read(scratch.written()).unwrap();
        assert_eq!((header.sequence, header.timestamp, read), (5, 6, message));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_by_either_codec(request in requests(), response in responses(), sequence: u32) {
            for codec in BOTH {
                let mut scratch = Scratch::default();
                let stamp = Stamping { sequence, timestamp: 1 };
                codec.write_request(&request, stamp, &mut scratch).unwrap();
                let (number, read) = codec.read_request(scratch.written()).unwrap();
                prop_assert_eq!(&read, &request);
                prop_assert!(codec == Codec::Json || number == sequence);
                scratch.clear();
                codec.write_response(&response, stamp, &mut scratch).unwrap();
                prop_assert_eq!(codec.read_response(scratch.written()).unwrap().1, response.clone());
            }
        }

        #[test]
        fn garbage_is_an_error_and_no_panic(frame in prop::collection::vec(any::<u8>(), 0..200)) {
            for codec in BOTH {
                let _ = codec.read_request(&frame);
                let _ = codec.read_response(&frame);
            }
        }
    }
}
