//! The cache: which assets are here, and whether they are what assets.ron says.
//!
//! Beside the assets stands `.verified/NAME`, the sums that an asset had when it was last verified, in the format of
//! sha256sum. An asset counts as present when that file says what assets.ron says and the sizes are right: cheap
//! enough for every run, and an asset of an earlier graphrun does not pass for the present one.

use std::{
    env,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use graph_core::asset_folder;
use sha2::{Digest, Sha256};

use super::{
    AssetError, Clients, DERIVERS, Deriver,
    catalogue::{Asset, Catalogue, Part},
};

const VERIFIED: &str = ".verified";

/// The assets of one cache directory.
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) catalogue: Catalogue,
    pub(super) root: PathBuf,
    pub(super) clients: Clients,
    pub(super) derivers: &'static [Deriver],
}

/// Whether an asset can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is here and was verified.
    Present,
    /// Something is here under its name: another version, a damaged one, or a file put there by hand. A pull verifies
    /// it and keeps it if it is right.
    Unverified,
    /// It is not here.
    Absent,
}

impl Store {
    /// The shipped assets in the user's cache, fetched by the clients in `PATH`.
    ///
    /// # Errors
    /// [`AssetError::NoCache`] when the environment names no place.
    pub fn shipped() -> Result<Self, AssetError> {
        let root = asset_folder(|name| env::var_os(name)).ok_or(AssetError::NoCache)?;
        let clients = Clients::in_path(env::var_os("PATH").unwrap_or_default());
        Ok(Self::new(Catalogue::shipped().clone(), root, clients, DERIVERS))
    }

    /// A store of its own; for tests, and for programs with assets of their own.
    pub fn new(catalogue: Catalogue, root: PathBuf, clients: Clients, derivers: &'static [Deriver]) -> Self {
        Self { catalogue, root, clients, derivers }
    }

    /// What assets there are.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The directory of the cache; it need not exist.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where an asset is, or would be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Whether an asset is here.
    pub fn state(&self, asset: &Asset) -> State {
        let sized = |part: &Part<'_>| {
            fs::metadata(self.part_path(asset, part))
                .is_ok_and(|found| found.is_file() && found.len() == part.bytes)
        };
        match fs::read_to_string(self.stamp(asset)) {
            Ok(text) if text == sums(asset) && asset.content.parts().iter().all(sized) => State::Present,
            _ if self.path(&asset.name).exists() => State::Unverified,
            _ => State::Absent,
        }
    }

    /// The paths of assets that are here.
    ///
    /// # Errors
    /// [`AssetError::Absent`] for the first that is not, [`AssetError::Unknown`] for a name that is none.
    pub fn resolve(&self, names: &[&str]) -> Result<Vec<PathBuf>, AssetError> {
        names
            .iter()
            .map(|name| match self.state(self.catalogue.find(name)?.1) {
                State::Present => Ok(self.path(name)),
                State::Unverified | State::Absent => Err(AssetError::Absent { name: (*name).into() }),
            })
            .collect()
    }

    /// Reads an asset again and compares it with assets.ron.
    ///
    /// A damaged one no longer counts as present, so the next pull replaces it.
    ///
    /// # Errors
    /// [`AssetError::Mismatch`] for the first file that differs, [`AssetError::Absent`] without the asset.
    pub fn verify(&self, asset: &Asset) -> Result<(), AssetError> {
        if self.state(asset) == State::Absent {
            return Err(AssetError::Absent { name: asset.name.clone() });
        }
        let checked = asset.content.parts().iter().try_for_each(|part| {
            let path = self.part_path(asset, part);
            let found = match File::open(&path) {
                Ok(file) => copy_hashed(file, part, &mut io::sink()).map_err(AssetError::io("read", path))?,
                Err(_) => {
                    let [name, file] = [&asset.name, &part.from].map(String::clone);
                    return Err(AssetError::Mismatch {
                        name,
                        file,
                        expected: "a file".into(),
                        found: "none".into(),
                    });
                }
            };
            found.must_be(part, asset)
        });
        if matches!(checked, Err(AssetError::Mismatch { .. })) && self.stamp(asset).exists() {
            fs::remove_file(self.stamp(asset)).map_err(AssetError::write(self.stamp(asset)))?;
        }
        checked
    }

    pub(super) fn part_path(&self, asset: &Asset, part: &Part<'_>) -> PathBuf {
        // Joining an empty path would add a slash, which a file's path must not have.
        if part.to.is_empty() { self.path(&asset.name) } else { self.path(&asset.name).join(part.to) }
    }

    fn stamp(&self, asset: &Asset) -> PathBuf {
        self.root.join(VERIFIED).join(&asset.name)
    }

    /// Notes that an asset which stands in its place has been verified.
    pub(super) fn note_verified(&self, asset: &Asset) -> Result<(), AssetError> {
        let directory = self.root.join(VERIFIED);
        let note = || {
            fs::create_dir_all(&directory)?;
            let mut file = tempfile::NamedTempFile::new_in(&directory)?;
            file.write_all(sums(asset).as_bytes())?;
            file.persist(self.stamp(asset)).map_err(|failed| failed.error)
        };
        note().map(drop).map_err(AssetError::write(self.stamp(asset)))
    }
}

/// What a file turned out to be.
pub(super) struct Found {
    bytes: u64,
    sha256: String,
}

impl Found {
    pub(super) fn must_be(self, part: &Part<'_>, asset: &Asset) -> Result<(), AssetError> {
        if self.bytes == part.bytes && self.sha256 == part.sha256 {
            return Ok(());
        }
        let described = |bytes, sha256: &str| format!("{bytes} bytes with sha256 {sha256}");
        Err(AssetError::Mismatch {
            name: asset.name.clone(),
            file: part.from.clone(),
            expected: described(part.bytes, part.sha256),
            found: if self.bytes > part.bytes {
                "more bytes".into()
            } else {
                described(self.bytes, &self.sha256)
            },
        })
    }
}

/// Copies at most one byte more than a part may have.
pub(super) fn copy_hashed(from: impl Read, part: &Part<'_>, to: &mut impl Write) -> io::Result<Found> {
    let mut from = from.take(part.bytes + 1);
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Found { bytes, sha256 })
}

fn sums(asset: &Asset) -> String {
    let line = |part: &Part<'_>| match part.to {
        "" => format!("{}  {}\n", part.sha256, asset.name),
        file => format!("{}  {}/{file}\n", part.sha256, asset.name),
    };
    asset.content.parts().iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_of_a_file_than_shows_that_it_is_too_long() {
        let part = Part { from: "long".into(), to: "", bytes: 10, sha256: "" };
        let found = copy_hashed(io::repeat(7), &part, &mut io::sink()).unwrap();
        assert_eq!(found.bytes, 11);
    }
}
