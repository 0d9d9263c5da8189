//! Whatever is read as a packed message is written and read again as the same.
#![no_main]

use graph_nodes::spatial::{
    frame::Scratch,
    header::Header,
    message::{IpcMessage, Stamping},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|frame: &[u8]| {
    let Ok((header, message)) = IpcMessage::read(frame) else { return };
    assert_eq!(header.to_bytes(), frame[..Header::LEN]);
    let mut scratch = Scratch::default();
    let stamp = Stamping { sequence: header.sequence, timestamp: header.timestamp };
    message.write(stamp, &mut scratch).expect("it was short");
    let (_, again) = IpcMessage::read(scratch.written()).expect("our own bytes");
    // By its words: a number that is none is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{message:?}"));
});
