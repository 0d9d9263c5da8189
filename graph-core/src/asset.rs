//! Files that nodes need: models, tokenizers, libraries.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::BuildError;

/// A file named in a graph: `asset:NAME`, fetched and checked before the run, or a path of the user's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema, serde::Serialize)]
#[serde(transparent)]
pub struct AssetRef(String);

impl AssetRef {
    /// A reference as it stands in a graph file.
    pub fn new(text: impl Into<String>) -> AssetRef {
        AssetRef(text.into())
    }

    /// The asset's name, where it is one.
    pub fn name(&self) -> Option<&str> {
        self.0.strip_prefix("asset:")
    }

    /// The text as it stands in a graph file.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Finds assets that have been fetched.
pub trait Assets: Send + Sync {
    /// The path of the asset `name`.
    fn path(&self, name: &str) -> Result<PathBuf, BuildError>;
}

/// No assets: only paths can be named.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAssets;

impl Assets for NoAssets {
    fn path(&self, name: &str) -> Result<PathBuf, BuildError> {
        Err(BuildError::new(format!("asset:{name} is not known here; give the path of a file")))
    }
}
