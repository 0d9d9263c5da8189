//! Bytes as from an input device, through parser and engine: whatever they are, contacts balance and keys are released.
#![no_main]

use std::collections::BTreeSet;

use graph_core::Nanos;
use graph_nodes::touch::{
    actions::{Action, Effect},
    device::Description,
    engine::Told,
    event::events,
    evemu::Recording,
    fusion::FusionParams,
    offline,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let events = events(bytes).map(|(at, event)| (Nanos(at.0), event)).collect();
    let recording = Recording { device: Some(Description::touchscreen("panel", 200, 120, 10)), events };
    let mut down = BTreeSet::new();
    let tally = offline::fuse(&recording, &FusionParams::default(), |_, told| {
        if let Told::Effect(Effect::Act(Action::Key { code, pressed })) = told {
            assert!(if pressed { down.insert(code) } else { down.remove(&code) }, "{code} twice");
        }
    });
    let tally = tally.expect("it is a touchscreen");
    assert_eq!(tally.begun, tally.ended);
    assert!(down.is_empty(), "{down:?} still pressed");
});
