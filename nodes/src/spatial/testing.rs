//! What the tests of this domain share.

use std::sync::atomic::{AtomicU32, Ordering};

/// A socket that no other test of this run or of another one uses.
pub(crate) fn address(test: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("@graphrun-{test}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
