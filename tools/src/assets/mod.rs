//! Models and recordings that graphs name as `asset:NAME`.
//!
//! They are fetched by the package managers' own clients into the user's cache, verified, and usable offline from then
//! on. What there is stands in `assets.ron`.
//!
//! The cache is `$GRAPHRUN_ASSETS`, else `$XDG_CACHE_HOME/graphrun/assets`, else `~/.cache/graphrun/assets`. In it
//! each asset is the file or directory of its own name.

mod cache;
mod catalogue;
mod client;
mod derive;
mod error;
mod progress;
mod pull;
mod store;

use std::path::PathBuf;

pub use cache::Cache;
pub use catalogue::{Asset, Bundle, Catalogue, Content, DirectoryFile, Source};
pub use client::Clients;
pub use derive::{DERIVERS, Deriver};
pub use error::AssetError;
pub use progress::Progress;
pub use pull::Event;
pub use store::{State, Store};

/// The paths of assets that are already here.
///
/// # Errors
/// [`AssetError::Absent`] for the first that is not.
pub fn resolve(names: &[&str]) -> Result<Vec<PathBuf>, AssetError> {
    Store::shipped()?.resolve(names)
}

/// The paths of assets, after fetching those that are not here yet. `told` hears how it goes.
///
/// With all of them here it reads a few small files and writes nothing.
///
/// # Errors
/// As [`Store::ensure`].
pub fn ensure(names: &[&str], told: &mut dyn FnMut(Event<'_>)) -> Result<Vec<PathBuf>, AssetError> {
    Store::shipped()?.ensure(names, told)
}
