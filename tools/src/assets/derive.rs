//! The code that makes assets on this machine.

use std::path::Path;

/// Makes the assets of one bundle from another asset.
#[derive(Clone, Copy, Debug)]
pub struct Deriver {
    /// What `by` in assets.ron calls it: the cargo feature that brings it, a slash, its name.
    pub name: &'static str,
    /// Reads the first file and writes its results into the directory, under the paths that assets.ron gives them.
    /// Says in a line why it cannot.
    pub make: fn(&Path, &Path) -> Result<(), String>,
}

/// What this build can make.
pub const DERIVERS: &[Deriver] = &[
    #[cfg(feature = "speech")]
    Deriver { name: "speech/piper-split", make: split_piper },
];

#[cfg(feature = "speech")]
fn split_piper(voice: &Path, into: &Path) -> Result<(), String> {
    let split = || -> Result<(), Box<dyn std::error::Error>> {
        let halves = graph_nodes::speech::onnx_split::split(&std::fs::read(voice)?)?;
        std::fs::write(into.join("encoder.onnx"), halves.encoder)?;
        std::fs::write(into.join("decoder.onnx"), halves.decoder)?;
        Ok(())
    };
    split().map_err(|error| error.to_string())
}

#[cfg(all(test, feature = "speech"))]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::assets::{Source, Store, store::copy_hashed};

    #[test]
    fn the_halves_of_the_voice_are_those_that_the_catalogue_states() {
        let store = Store::shipped().unwrap();
        let voice = store.resolve(&["piper-joe"]).unwrap().remove(0);
        let made = tempfile::tempdir().unwrap();
        split_piper(&voice, made.path()).unwrap();
        let by = |source: &Source| matches!(source, Source::Derived { by, .. } if by == "speech/piper-split");
        let halves: Vec<_> = store.catalogue().assets().filter(|(bundle, _)| by(&bundle.source)).collect();
        assert_eq!(halves.len(), 2);
        for (_, asset) in halves {
            for part in asset.content.parts() {
                let file = File::open(made.path().join(&part.from)).unwrap();
                copy_hashed(file, &part, &mut std::io::sink()).unwrap().must_be(&part, asset).unwrap();
            }
        }
    }
}
