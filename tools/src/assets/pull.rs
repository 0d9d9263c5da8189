//! Brings assets into the cache.
//!
//! Everything is fetched and unpacked in a staging directory inside the cache, so that an asset gets its name by one
//! rename, whole and verified. What an interrupted pull left there goes with the next pull.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read},
    path::{Path, PathBuf},
};

use zip::{ZipArchive, result::ZipError};

use super::{
    AssetError, Store,
    catalogue::{Asset, Bundle, Part, Source},
    store::{State, copy_hashed},
};

const LOCK: &str = ".lock";
const STAGING: &str = ".staging-";

/// What a pull tells while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Another process pulls; this one waits until it has done.
    Waiting,
    /// A bundle is being fetched or made.
    Started {
        /// The package, or the code that makes the bundle.
        name: &'a str,
        /// Its version, or the asset that it is made from.
        version: &'a str,
        /// Bytes to fetch; zero for what is made.
        bytes: u64,
    },
    /// So many bytes of it have arrived.
    Arrived(u64),
    /// It is here, and is being unpacked and verified.
    Unpacking,
    /// An asset stands in its place, ready for use.
    Ready(&'a str),
}

impl Store {
    /// The paths of assets, after fetching those that are not here yet.
    ///
    /// # Errors
    /// Any [`AssetError`]; what was fetched before the error stays.
    pub fn ensure(
        &self,
        names: &[&str],
        told: &mut dyn FnMut(Event<'_>),
    ) -> Result<Vec<PathBuf>, AssetError> {
        for name in names {
            if self.state(self.catalogue.find(name)?.1) != State::Present {
                self.pull(names, told)?;
                break;
            }
        }
        self.resolve(names)
    }

    fn pull(&self, names: &[&str], told: &mut dyn FnMut(Event<'_>)) -> Result<(), AssetError> {
        fs::create_dir_all(&self.root).map_err(AssetError::write(&self.root))?;
        let _lock = self.lock(told)?;
        self.clear_staging()?;
        let mut wanted: Vec<&str> = Vec::new();
        for name in names {
            let (bundle, asset) = self.catalogue.find(name)?;
            if self.is_good(asset) {
                continue;
            }
            wanted.push(&asset.name);
            if let Source::Derived { from, .. } = &bundle.source
                && !self.is_good(self.catalogue.find(from)?.1)
            {
                wanted.push(from);
            }
        }
        for bundle in &self.catalogue.bundles {
            let assets: Vec<_> =
                bundle.assets.iter().filter(|asset| wanted.contains(&asset.name.as_str())).collect();
            if !assets.is_empty() {
                self.fetch(bundle, &assets, told)?;
            }
        }
        Ok(())
    }

    /// Whether an asset is here; one that is here unverified is read to find out.
    fn is_good(&self, asset: &Asset) -> bool {
        match self.state(asset) {
            State::Present => true,
            State::Unverified => self.verify(asset).and_then(|()| self.note_verified(asset)).is_ok(),
            State::Absent => false,
        }
    }

    fn lock(&self, told: &mut dyn FnMut(Event<'_>)) -> Result<File, AssetError> {
        let path = self.root.join(LOCK);
        let file = File::create(&path).map_err(AssetError::write(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                told(Event::Waiting);
                file.lock().map_err(AssetError::io("lock", &path))?;
            }
            Err(TryLockError::Error(error)) => return Err(AssetError::io("lock", &path)(error)),
        }
        Ok(file)
    }

    fn clear_staging(&self) -> Result<(), AssetError> {
        let entries = fs::read_dir(&self.root).map_err(AssetError::io("read", &self.root))?;
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(STAGING.as_bytes()) {
                fs::remove_dir_all(entry.path()).map_err(AssetError::write(entry.path()))?;
            }
        }
        Ok(())
    }

    fn fetch(
        &self,
        bundle: &Bundle,
        wanted: &[&Asset],
        told: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), AssetError> {
        let (name, version) = (bundle.source.name(), bundle.source.version());
        told(Event::Started { name, version, bytes: bundle.download });
        let staging = tempfile::Builder::new()
            .prefix(STAGING)
            .tempdir_in(&self.root)
            .map_err(AssetError::write(&self.root))?;
        let mut arrived = |bytes| told(Event::Arrived(bytes));
        let mut unpacked = match &bundle.source {
            Source::Pypi { platform, .. } => {
                let wheel =
                    self.clients.wheel((name, version), platform.as_deref(), staging.path(), &mut arrived)?;
                Unpacked::wheel(&wheel)?
            }
            Source::Debian { .. } => {
                Unpacked::Tree(self.clients.debian((name, version), staging.path(), &mut arrived)?)
            }
            Source::Derived { from, by } => {
                let tree = staging.path().join("tree");
                fs::create_dir(&tree).map_err(AssetError::write(&tree))?;
                self.derive(wanted, from, by, &tree)?;
                Unpacked::Tree(tree)
            }
        };
        told(Event::Unpacking);
        for asset in wanted {
            self.install(asset, name, &mut unpacked, staging.path())?;
            told(Event::Ready(&asset.name));
        }
        Ok(())
    }

    fn derive(&self, wanted: &[&Asset], from: &str, by: &str, into: &Path) -> Result<(), AssetError> {
        let deriver = self.derivers.iter().find(|deriver| deriver.name == by).ok_or_else(|| {
            let feature = by.split('/').next().unwrap_or(by).to_owned();
            AssetError::NoDeriver { name: wanted[0].name.clone(), by: by.into(), feature }
        })?;
        (deriver.make)(&self.path(from), into).map_err(|reason| AssetError::Derive {
            by: by.into(),
            from: from.into(),
            reason,
        })
    }

    fn install(
        &self,
        asset: &Asset,
        package: &str,
        unpacked: &mut Unpacked,
        staging: &Path,
    ) -> Result<(), AssetError> {
        let whole = staging.join("whole").join(&asset.name);
        for part in asset.content.parts() {
            let path = if part.to.is_empty() { whole.clone() } else { whole.join(part.to) };
            let parent = path.parent().expect("the path is below the staging directory");
            fs::create_dir_all(parent).map_err(AssetError::write(parent))?;
            unpacked.take(&part, package, asset, &path)?;
        }
        let place = self.path(&asset.name);
        if place.exists() {
            // A directory cannot be renamed over another: the old one goes with the staging directory.
            let old = staging.join("old").join(&asset.name);
            fs::create_dir_all(staging.join("old")).map_err(AssetError::write(staging))?;
            fs::rename(&place, &old).map_err(AssetError::write(&place))?;
        }
        fs::rename(&whole, &place).map_err(AssetError::write(&place))?;
        self.note_verified(asset)
    }
}

/// The files that a bundle brought.
enum Unpacked {
    Wheel(Box<ZipArchive<File>>),
    Tree(PathBuf),
}

impl Unpacked {
    fn wheel(path: &Path) -> Result<Self, AssetError> {
        let file = File::open(path).map_err(AssetError::io("read", path))?;
        let archive = ZipArchive::new(file).map_err(|error| AssetError::io("unpack", path)(error.into()))?;
        Ok(Self::Wheel(Box::new(archive)))
    }

    /// Copies one file out, verified and on the disk.
    fn take(&mut self, part: &Part<'_>, package: &str, asset: &Asset, to: &Path) -> Result<(), AssetError> {
        let missing = || AssetError::FileMissing { package: package.into(), path: part.from.clone() };
        let mut from: Box<dyn Read + '_> = match self {
            Self::Wheel(archive) => match archive.by_name(&part.from) {
                Ok(file) => Box::new(file),
                Err(ZipError::FileNotFound) => return Err(missing()),
                Err(error) => return Err(AssetError::io("unpack", &part.from)(error.into())),
            },
            Self::Tree(root) => match File::open(root.join(&part.from)) {
                Ok(file) => Box::new(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
                Err(error) => return Err(AssetError::io("read", &part.from)(error)),
            },
        };
        let mut copy = || {
            let mut file = File::create(to)?;
            let found = copy_hashed(&mut from, part, &mut file)?;
            file.sync_all()?;
            Ok(found)
        };
        copy().map_err(AssetError::write_while("unpack", to))?.must_be(part, asset)
    }
}
