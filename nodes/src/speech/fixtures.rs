//! Where tests find the models and the recordings.

use std::{env, path::PathBuf};

use graph_core::{AssetRef, asset_folder};

/// The path of an asset, in the folder that `GRAPHRUN_ASSETS` names or in the user's cache.
///
/// # Panics
/// When it is absent: a test that needs a model does not pass without it.
pub(crate) fn asset(name: &str) -> PathBuf {
    let folder = asset_folder(|name| env::var_os(name));
    let path = folder.expect("one of GRAPHRUN_ASSETS, XDG_CACHE_HOME and HOME is set").join(name);
    assert!(path.exists(), "{} is missing: run graphrun assets pull", path.display());
    path
}

/// The same as a parameter.
pub(crate) fn asset_ref(name: &str) -> AssetRef {
    AssetRef::new(asset(name).to_string_lossy())
}
