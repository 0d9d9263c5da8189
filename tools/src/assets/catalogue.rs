//! What assets there are: `assets.ron`, compiled in.

use std::sync::LazyLock;

use serde::Deserialize;

use super::AssetError;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::parse(include_str!("../../assets.ron"), std::env::consts::ARCH)
        .expect("the tests parse the assets.ron that is compiled in")
});

/// Every asset that this machine can use, and where each comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The sources with what each gives, every derived bundle after the one that it is made from.
    pub bundles: Vec<Bundle>,
}

/// Assets that come together from one source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// Where they come from.
    pub source: Source,
    /// The machine that the files run on, as `std::env::consts::ARCH` names it; `None` where any can read them.
    pub arch: Option<String>,
    /// Bytes to fetch; zero for what is made here.
    #[serde(default)]
    pub download: u64,
    /// The licence that the source states, as an SPDX expression.
    pub licence: String,
    /// What else to know before using it.
    pub note: Option<String>,
    /// The assets.
    pub assets: Vec<Asset>,
}

/// Where a bundle comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// A wheel, fetched by pip.
    Pypi {
        /// Name of the project.
        name: String,
        /// The one version that carries the files.
        version: String,
        /// The platform tag of the wheel; `None` for one that suits every machine.
        platform: Option<String>,
    },
    /// A Debian package, fetched by apt-get.
    Debian {
        /// Name of the binary package.
        name: String,
        /// The version that the hashes were taken from; apt-get gives the one of the user's release.
        version: String,
    },
    /// No package: made on this machine.
    Derived {
        /// Name of the asset that it is made from.
        from: String,
        /// Name of the code that makes it; see [`Deriver`](super::Deriver).
        by: String,
    },
}

impl Source {
    /// The package, or the code that makes the bundle.
    pub fn name(&self) -> &str {
        match self {
            Self::Pypi { name, .. } | Self::Debian { name, .. } => name,
            Self::Derived { by, .. } => by,
        }
    }

    /// Version of the package; of what is made here, the asset that it is made from.
    pub fn version(&self) -> &str {
        match self {
            Self::Pypi { version, .. } | Self::Debian { version, .. } => version,
            Self::Derived { from, .. } => from,
        }
    }
}

/// One file or directory that graphs name as `asset:NAME`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asset {
    /// The name; also its path in the cache.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// The files that it is made of.
    pub content: Content,
}

/// The files of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// The asset is one file.
    File {
        /// Where the file is in its bundle.
        path: String,
        /// Its size.
        bytes: u64,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
    },
    /// The asset is a directory.
    Directory {
        /// The directory in the bundle.
        under: String,
        /// The files taken from it.
        files: Vec<DirectoryFile>,
    },
}

/// One file of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryFile {
    /// Its name, in the bundle's directory and in the asset's.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// One file of an asset: where it is in the bundle, where it goes, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub from: String,
    /// Path below the asset's own; empty when the asset is the file.
    pub to: &'a str,
    pub bytes: u64,
    pub sha256: &'a str,
}

impl Content {
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        match self {
            Self::File { path, bytes, sha256 } => {
                vec![Part { from: path.clone(), to: "", bytes: *bytes, sha256 }]
            }
            Self::Directory { under, files } => files
                .iter()
                .map(|file| Part {
                    from: format!("{under}/{}", file.name),
                    to: &file.name,
                    bytes: file.bytes,
                    sha256: &file.sha256,
                })
                .collect(),
        }
    }

    /// Size of all files together.
    pub fn bytes(&self) -> u64 {
        self.parts().iter().map(|part| part.bytes).sum()
    }
}

impl Catalogue {
    /// The assets that ship with graphrun, as far as they suit this machine.
    pub fn shipped() -> &'static Self {
        &CATALOGUE
    }

    /// Reads a catalogue and keeps what suits machines of `arch`.
    pub fn parse(text: &str, arch: &str) -> Result<Self, ron::error::SpannedError> {
        let options =
            ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let mut catalogue: Self = options.from_str(text)?;
        catalogue.bundles.retain(|bundle| bundle.arch.as_deref().is_none_or(|of| of == arch));
        Ok(catalogue)
    }

    /// Every asset with its bundle, in the order of the file.
    pub fn assets(&self) -> impl Iterator<Item = (&Bundle, &Asset)> {
        self.bundles.iter().flat_map(|bundle| bundle.assets.iter().map(move |asset| (bundle, asset)))
    }

    /// The asset of that name, with its bundle.
    ///
    /// # Errors
    /// [`AssetError::Unknown`], with the name that may have been meant.
    pub fn find(&self, name: &str) -> Result<(&Bundle, &Asset), AssetError> {
        self.assets().find(|(_, asset)| asset.name == name).ok_or_else(|| {
            let near = self
                .assets()
                .map(|(_, asset)| (strsim::jaro_winkler(name, &asset.name), &asset.name))
                .filter(|(likeness, _)| *likeness > 0.8)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            AssetError::Unknown { name: name.into(), near: near.map(|(_, name)| name.clone()) }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn shipped_for(arch: &str) -> Catalogue {
        Catalogue::parse(include_str!("../../assets.ron"), arch).unwrap()
    }

    #[test]
    fn the_shipped_catalogue_names_each_asset_once_on_every_machine() {
        for arch in ["x86_64", "aarch64", "riscv64"] {
            let catalogue = shipped_for(arch);
            let mut seen = HashSet::new();
            for (_, asset) in catalogue.assets() {
                assert!(seen.insert(asset.name.clone()), "{} twice on {arch}", asset.name);
            }
        }
    }

    #[test]
    fn every_shipped_file_has_a_plain_name_a_size_and_a_whole_hash() {
        let plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        for (_, asset) in shipped_for("x86_64").assets() {
            assert!(plain(&asset.name));
            for part in asset.content.parts() {
                assert!(part.to.is_empty() || plain(part.to), "{}", asset.name);
                assert!(part.bytes > 0, "{}", asset.name);
                let hexadecimal =
                    part.sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                assert!(part.sha256.len() == 64 && hexadecimal, "{}", asset.name);
            }
        }
    }

    #[test]
    fn what_is_derived_stands_after_the_packaged_file_that_it_is_made_from() {
        let mut packaged = HashSet::new();
        for bundle in shipped_for("x86_64").bundles {
            match &bundle.source {
                Source::Derived { from, by } => assert!(packaged.contains(from), "{by}"),
                _ => packaged.extend(
                    bundle
                        .assets
                        .iter()
                        .filter(|asset| matches!(asset.content, Content::File { .. }))
                        .map(|asset| asset.name.clone()),
                ),
            }
        }
    }

    #[test]
    fn a_machine_gets_the_build_of_its_own_architecture() {
        let platform = |arch| match &shipped_for(arch).find("onnxruntime").unwrap().0.source {
            Source::Pypi { platform, .. } => platform.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(platform("x86_64").as_deref(), Some("manylinux_2_28_x86_64"));
        assert_eq!(platform("aarch64").as_deref(), Some("manylinux_2_28_aarch64"));
        assert!(shipped_for("riscv64").find("onnxruntime").is_err());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_one() {
        let error = shipped_for("x86_64").find("silero-vda").unwrap_err();
        assert_eq!(error.to_string(), "there is no asset `silero-vda`; did you mean `silero-vad`?");
        let error = shipped_for("x86_64").find("zebra").unwrap_err();
        assert_eq!(error.to_string(), "there is no asset `zebra`; `graphrun assets list` names them all");
    }
}
