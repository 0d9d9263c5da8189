//! Files that nodes need: models, tokenizers, libraries.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::BuildError;

/// A file named in a graph: `asset:NAME`, fetched and checked before the run, `asset:NAME/PATH` where the asset is a
/// directory, or a path of the user's own, relative to the graph file.
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
        Some(self.parts()?.0)
    }

    /// The asset's name and the path inside it, which is empty where the asset is meant as a whole.
    pub(crate) fn parts(&self) -> Option<(&str, &str)> {
        let asset = self.0.strip_prefix("asset:")?;
        Some(asset.split_once('/').unwrap_or((asset, "")))
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

    /// The directory that paths in the graph are relative to.
    fn base(&self) -> &Path {
        Path::new("")
    }
}

/// Where a file named in a graph is; the error says how to get one that is not there.
pub(crate) fn locate(assets: &dyn Assets, asset: &AssetRef) -> Result<PathBuf, BuildError> {
    let path = match asset.parts() {
        Some((name, "")) => assets.path(name)?,
        Some((name, inside)) => assets.path(name)?.join(inside),
        None => assets.base().join(asset.as_str()),
    };
    match path.try_exists() {
        Ok(true) => Ok(path),
        Ok(false) => Err(BuildError::new(format!(
            "{} is not there: {}",
            path.display(),
            match asset.name() {
                Some(name) => format!("`graphrun assets pull {name}` fetches it"),
                None => "give the path of a file, or `asset:NAME`".to_owned(),
            }
        ))),
        Err(error) => Err(BuildError::new(format!("cannot look at {}: {error}", path.display()))),
    }
}

/// Where a user's assets are kept: `$GRAPHRUN_ASSETS`, else `$XDG_CACHE_HOME/graphrun/assets`, else
/// `~/.cache/graphrun/assets`; `None` where the environment names none of these. `variable` looks one up.
pub fn asset_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("GRAPHRUN_ASSETS").or_else(|| Some(cache()?.join("graphrun/assets")))
}

/// Assets that lie in a folder, each under its own name; nobody has looked whether they are what they should be.
#[derive(Clone, Debug)]
pub struct AssetsIn(pub PathBuf);

impl Assets for AssetsIn {
    fn path(&self, name: &str) -> Result<PathBuf, BuildError> {
        Ok(self.0.join(name))
    }

    fn base(&self) -> &Path {
        &self.0
    }
}

/// No assets: only paths can be named.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAssets;

impl Assets for NoAssets {
    fn path(&self, name: &str) -> Result<PathBuf, BuildError> {
        Err(BuildError::new(format!("asset:{name} is not known here; give the path of a file")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_may_be_meant_as_a_whole_or_a_file_in_it() {
        assert_eq!(AssetRef::new("asset:vad").parts(), Some(("vad", "")));
        assert_eq!(AssetRef::new("asset:cards/de/1.wav").parts(), Some(("cards", "de/1.wav")));
        assert_eq!(AssetRef::new("models/vad.onnx").name(), None);
    }

    fn folder_of(variables: &[(&str, &str)]) -> Option<PathBuf> {
        asset_folder(|name| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_cache_is_where_the_most_particular_variable_says() {
        let all = [("GRAPHRUN_ASSETS", "/a"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(folder_of(&all), Some("/a".into()));
        assert_eq!(folder_of(&all[1..]), Some("/x/graphrun/assets".into()));
        assert_eq!(folder_of(&all[2..]), Some("/h/.cache/graphrun/assets".into()));
        assert_eq!(
            folder_of(&[("GRAPHRUN_ASSETS", ""), ("HOME", "/h")]),
            Some("/h/.cache/graphrun/assets".into())
        );
        assert_eq!(folder_of(&[]), None);
    }
}
