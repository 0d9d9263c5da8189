//! Any text as a recording: it is read or refused, what is read is written and read again, and its contacts balance.
#![no_main]

use graph_nodes::touch::{evemu, fusion::FusionParams, offline};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(recording) = evemu::parse(text) else { return };
    let written = evemu::text(&recording);
    let again = evemu::parse(&written).expect("what the writer writes is read");
    assert_eq!(again.events, recording.events);
    assert_eq!(evemu::text(&again), written);
    if let Ok(tally) = offline::fuse(&recording, &FusionParams::default(), |_, _| ()) {
        assert_eq!(tally.begun, tally.ended);
    }
});
