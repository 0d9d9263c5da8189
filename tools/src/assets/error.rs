use std::{io, path::PathBuf};

/// Why an asset cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// No asset has that name on this machine's architecture.
    #[error("there is no asset `{name}`{}", match .near {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; `graphrun assets list` names them all".into(),
    })]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The name that may have been meant.
        near: Option<String>,
    },

    /// The asset was only looked up, and is not in the cache.
    #[error("the asset `{name}` is not on this machine: run `graphrun assets pull {name}`")]
    Absent {
        /// The asset.
        name: String,
    },

    /// The environment names no place for a cache.
    #[error("no place for the assets: set GRAPHRUN_ASSETS to a directory (HOME is not set)")]
    NoCache,

    /// A package manager's client is not installed.
    #[error("`{client}` is missing, which fetches `{package}`: {mend}")]
    ClientMissing {
        /// The program.
        client: &'static str,
        /// The package that it was to fetch.
        package: String,
        /// What to do about it.
        mend: &'static str,
    },

    /// The client could not reach its registry.
    #[error(
        "cannot reach the registry of `{package}`: see to the network, then pull again; {client} said:{said}"
    )]
    Unreachable {
        /// The program.
        client: &'static str,
        /// The package.
        package: String,
        /// The client's last lines, each on a line of its own.
        said: String,
    },

    /// The registry does not have the package in that version.
    #[error("the registry has no `{package}` {version}{hint}; {client} said:{said}")]
    Gone {
        /// The program.
        client: &'static str,
        /// The package.
        package: String,
        /// The version that was asked for.
        version: String,
        /// What may help, with its own separator; empty where nothing does.
        hint: &'static str,
        /// The client's last lines.
        said: String,
    },

    /// The client failed for another reason.
    #[error("{client} failed to fetch `{package}` ({status}); it said:{said}")]
    ClientFailed {
        /// The program.
        client: &'static str,
        /// The package.
        package: String,
        /// How it ended.
        status: String,
        /// The client's last lines.
        said: String,
    },

    /// The package came without the file.
    #[error("`{package}` has no file `{path}`: it is not the package that assets.ron describes")]
    FileMissing {
        /// The package.
        package: String,
        /// The file in it.
        path: String,
    },

    /// A file is not what assets.ron says.
    #[error(
        "`{file}` of the asset `{name}` is damaged or another version: expected {expected}, found {found}; it was not \
         kept"
    )]
    Mismatch {
        /// The asset.
        name: String,
        /// The file.
        file: String,
        /// Size and SHA-256 in assets.ron.
        expected: String,
        /// Size and SHA-256 of the file, or that it is longer.
        found: String,
    },

    /// The disk of the cache is full.
    #[error("no space left for `{}`: free some, or set GRAPHRUN_ASSETS to a directory on another disk", .path.display())]
    DiskFull {
        /// What could not be written.
        path: PathBuf,
    },

    /// The cache cannot be written.
    #[error("`{}` cannot be written: set GRAPHRUN_ASSETS to a directory that can", .path.display())]
    ReadOnly {
        /// What could not be written.
        path: PathBuf,
    },

    /// The asset is made by code that this build does not have.
    #[error("`{name}` is made by `{by}`, which this build leaves out: build with the feature `{feature}`")]
    NoDeriver {
        /// The asset.
        name: String,
        /// The code.
        by: String,
        /// The cargo feature that brings it.
        feature: String,
    },

    /// Making the asset failed.
    #[error("`{by}` could not make its assets from `{from}`: {reason}")]
    Derive {
        /// The code.
        by: String,
        /// The asset that it read.
        from: String,
        /// What it said.
        reason: String,
    },

    /// Any other fault of a file.
    #[error("cannot {doing} `{}`: {source}", .path.display())]
    Io {
        /// What was being done, as a verb.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl AssetError {
    /// What a failed file operation is, when no better is known.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// What a failed attempt to write is: a full disk and a read-only cache are told apart.
    pub(super) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        Self::write_while("write", path)
    }

    /// As [`write`](Self::write), where reading in the same operation may have failed instead.
    pub(super) fn write_while(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Self::ReadOnly { path },
            _ => Self::Io { doing, path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_the_way_out() {
        let error = std::fs::write("/dev/full", "x").map_err(AssetError::write("/dev/full")).unwrap_err();
        assert!(matches!(error, AssetError::DiskFull { .. }), "{error:?}");
        assert!(error.to_string().contains("GRAPHRUN_ASSETS"));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_with_the_way_out() {
        let path = "/sys/kernel/graphrun";
        let error = std::fs::create_dir(path).map_err(AssetError::write(path)).unwrap_err();
        assert!(matches!(error, AssetError::ReadOnly { .. }), "{error:?}");
        assert!(error.to_string().contains("GRAPHRUN_ASSETS"));
    }
}
