//! Recordings of real and of scripted touchscreens, their contacts counted by a reader that shares no code with the parser.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeMap, fs, path::Path};

use graph_core::Nanos;
use graph_nodes::touch::{
    device::{Description, Protocol},
    engine::Told,
    evemu::{self, Recording},
    fusion::FusionParams,
    gesture::{Gesture, Progress},
    offline,
    parser::Tally,
    script,
};

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/touch").join(name);
    fs::read_to_string(path).unwrap()
}

/// A recording of a real finger, and the description of its device.
fn real_drag() -> Recording {
    let events = evemu::parse(&data("elan-cando-1-finger-drag.events")).unwrap().events;
    Recording { device: evemu::parse(&data("elan-cando.desc")).unwrap().device, events }
}

/// Contacts in a recording's text: lines whose fourth word is the tracking id's code, per slot. For recordings in which
/// every contact ends before its slot has another, as all here do.
fn count(text: &str) -> Tally {
    let (mut slot, mut tally, mut living) = (0_i64, Tally::default(), BTreeMap::new());
    for line in text.lines().filter(|line| line.starts_with("E:")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let value: i64 = words[4].parse().unwrap();
        match (words[2], words[3]) {
            ("0003", "002f") => slot = value,
            ("0003", "0039") if value < 0 => {
                assert!(living.remove(&slot).is_some());
                tally.ended += 1;
            }
            ("0003", "0039") => {
                assert_eq!(living.insert(slot, value), None);
                tally.begun += 1;
            }
            ("0000", "0000") => tally.most = tally.most.max(living.len()),
            _ => {}
        }
    }
    tally
}

/// What the parser counts, and the gestures.
fn fused(recording: &Recording) -> (Tally, Vec<Gesture>) {
    let mut gestures = Vec::new();
    let tally = offline::fuse(recording, &FusionParams::default(), |_, told| {
        if let Told::Gesture(gesture) = told {
            gestures.push(gesture);
        }
    });
    (tally.unwrap(), gestures)
}

#[test]
fn a_real_finger_that_drags_is_one_contact_and_one_drag() {
    let (tally, gestures) = fused(&real_drag());
    assert_eq!(tally, count(&data("elan-cando-1-finger-drag.events")));
    assert_eq!(tally, Tally { begun: 1, ended: 1, most: 1 });
    let of = |wanted| {
        gestures
            .iter()
            .filter(move |gesture| matches!(gesture, Gesture::Drag { progress, .. } if *progress == wanted))
    };
    // The finger begins on what would be the on-screen keyboard where it lies in the lower half.
    let keys = gestures.iter().filter(|gesture| matches!(gesture, Gesture::Key { .. })).count();
    assert_eq!(
        (of(Progress::Begin).count() + keys / 2, of(Progress::End).count() + keys / 2),
        (1, 1),
        "{gestures:?}"
    );
}

#[test]
fn ten_fingers_are_ten_contacts_at_a_time() {
    for recording in [script::demonstration(), script::ten_fingers(Nanos::from_millis(200))] {
        let (tally, _) = fused(&recording);
        assert_eq!(tally, count(&evemu::text(&recording)));
        assert_eq!(tally.most, 10);
        assert_eq!(tally.begun, tally.ended);
    }
}

#[test]
fn real_devices_are_known_for_what_they_are() {
    let device = |name: &str| -> Description { evemu::parse(&data(name)).unwrap().device.unwrap() };
    assert_eq!(device("elan-cando.desc").protocol(), Ok(Protocol::Slots(10)));
    let described = device("elan-touchscreen.desc");
    assert_eq!(described.protocol(), Ok(Protocol::Slots(10)), "{described:?}");
    assert!(described.axes[&0x35].resolution > 0, "{described:?}");
}

#[test]
fn what_is_read_is_written_and_read_again() {
    let recording = real_drag();
    assert_eq!(evemu::parse(&evemu::text(&recording)), Ok(recording));
}
