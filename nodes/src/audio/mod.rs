//! Sound: files, rates, tones.
