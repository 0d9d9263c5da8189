//! Sound: files, rates, tones.

use graph_core::Registry;

/// Adds the kinds of this domain.
pub fn register(registry: &mut Registry) {
    let _ = registry;
}
