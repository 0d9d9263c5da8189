//! What the first call of a process sees; one test, since the library stays loaded.
#![cfg(feature = "speech")]

use std::fs;

use graph_nodes::speech::runtime::{RuntimeError, session};

#[path = "../src/speech/fixtures.rs"]
#[allow(dead_code)]
mod fixtures;
use fixtures::asset;

#[test]
fn a_file_that_is_no_library_is_refused_and_the_right_one_loads_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    fs::write(&text, "not a library").unwrap();
    let error = session(&text, &asset("silero-vad"), 1).unwrap_err();
    assert!(matches!(error, RuntimeError::NotALibrary { .. }), "{error}");

    session(&asset("onnxruntime"), &asset("silero-vad"), 1).unwrap();
    let error = session(&text, &asset("silero-vad"), 1).unwrap_err();
    assert!(matches!(error, RuntimeError::AnotherLibrary { .. }), "{error}");
}
