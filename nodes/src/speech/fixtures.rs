//! Where tests find the models and the recordings.

use std::{env, path::PathBuf};

use graph_core::AssetRef;

/// The path of an asset, in the folder that `GRAPHRUN_ASSETS` names or in the user's cache.
///
/// # Panics
/// When it is absent: a test that needs a model does not pass without it.
pub(crate) fn asset(name: &str) -> PathBuf {
    let path = folder().join(name);
    assert!(path.exists(), "{} is missing: run graphrun assets pull", path.display());
    path
}

fn folder() -> PathBuf {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("GRAPHRUN_ASSETS")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("graphrun/assets")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/graphrun/assets")))
        .expect("one of GRAPHRUN_ASSETS, XDG_CACHE_HOME and HOME is set")
}

/// The same as a parameter.
pub(crate) fn asset_ref(name: &str) -> AssetRef {
    AssetRef::new(asset(name).to_string_lossy())
}
