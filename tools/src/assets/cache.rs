//! Assets as the nodes of a graph look for them.

use std::path::{Path, PathBuf};

use graph_core::{Assets, BuildError};

use super::Store;

/// Assets in the user's cache, and files beside the graph.
pub struct Cache {
    /// The folder of the graph's file.
    pub base: PathBuf,
}

impl Assets for Cache {
    fn path(&self, name: &str) -> Result<PathBuf, BuildError> {
        let store = Store::shipped()?;
        store.catalogue().find(name)?;
        Ok(store.path(name))
    }

    fn base(&self) -> &Path {
        &self.base
    }
}
