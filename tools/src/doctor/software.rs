//! The programs that fetch and build, and the assets.

use std::{ffi::OsStr, path::Path, process::Command};

use indicatif::DecimalBytes;
use nix::sys::statvfs::statvfs;

use super::{Finding, Level};
use crate::{
    assets::{Source, State, Store},
    programs,
};

pub(super) fn look(store: &Store, search_path: &OsStr) -> Vec<Finding> {
    let need = Need::of(store);
    vec![
        python(search_path, need.wheels),
        program("apt-get", search_path, need.debian),
        program("dpkg-deb", search_path, need.debian),
        compiler(search_path),
        space(need.bytes, free_below(store.root()), store.root()),
        assets(&need),
    ]
}

/// What is still to be fetched.
struct Need {
    assets: usize,
    present: usize,
    wheels: bool,
    debian: bool,
    /// What the absent assets take, with the largest package beside them while it is unpacked.
    bytes: u64,
}

impl Need {
    fn of(store: &Store) -> Self {
        let mut need = Self { assets: 0, present: 0, wheels: false, debian: false, bytes: 0 };
        let mut largest = 0;
        for (bundle, asset) in store.catalogue().assets() {
            need.assets += 1;
            if store.state(asset) == State::Present {
                need.present += 1;
                continue;
            }
            match bundle.source {
                Source::Pypi { .. } => need.wheels = true,
                Source::Debian { .. } => need.debian = true,
                Source::Derived { .. } => {}
            }
            need.bytes += asset.content.bytes();
            largest = largest.max(bundle.download);
        }
        // The client may write the package twice: where it downloads, and where it was told to put it.
        need.bytes += 2 * largest;
        need
    }
}

fn python(search_path: &OsStr, needed: bool) -> Finding {
    let what = "python3 with pip";
    let absent = |found: &str| unless_needed(needed, what, found, "apt-get install python3-pip");
    let Some(python) = programs::find("python3", search_path) else { return absent("no python3 in PATH") };
    match Command::new(python).args(["-m", "pip", "--version"]).output() {
        Ok(said) if said.status.success() => {
            let version = String::from_utf8_lossy(&said.stdout);
            Finding::ok(what, version.split(" from ").next().unwrap_or_default().trim())
        }
        _ => absent("python3 is here, but without pip"),
    }
}

fn program(name: &'static str, search_path: &OsStr, needed: bool) -> Finding {
    match programs::find(name, search_path) {
        Some(path) => Finding::ok(name, path.display().to_string()),
        None => {
            let mend = "some assets are Debian packages: pull them on Debian or a system derived from it";
            unless_needed(needed, name, "not in PATH", mend)
        }
    }
}

/// The absence of something that only fetching assets needs.
fn unless_needed(needed: bool, what: &'static str, found: &str, mend: &str) -> Finding {
    if needed {
        Finding::missing(what, found, mend)
    } else {
        Finding::ok(what, format!("{found}; not needed any more"))
    }
}

fn compiler(search_path: &OsStr) -> Finding {
    match ["cc", "gcc", "clang"].iter().find_map(|name| programs::find(name, search_path)) {
        Some(path) => Finding::ok("C compiler", path.display().to_string()),
        None => Finding::missing(
            "C compiler",
            "no cc in PATH; building links with it",
            "apt-get install gcc libc6-dev",
        ),
    }
}

fn space(needed: u64, free: Option<u64>, root: &Path) -> Finding {
    let what = "disk space";
    let place = root.display();
    match free {
        _ if needed == 0 => Finding::ok(what, format!("nothing more is needed in {place}")),
        None => Finding::warn(
            what,
            format!("cannot tell how much is free in {place}"),
            "see that it can be written",
        ),
        Some(free) => {
            let found = format!(
                "{} free in {place}, {} needed for all assets",
                DecimalBytes(free),
                DecimalBytes(needed)
            );
            if free >= needed {
                Finding::ok(what, found)
            } else {
                Finding::missing(
                    what,
                    found,
                    "free some, or set GRAPHRUN_ASSETS to a directory on another disk",
                )
            }
        }
    }
}

/// Bytes free to this user where `path` is or would be made.
fn free_below(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let found = statvfs(existing).ok()?;
    Some(found.blocks_available().saturating_mul(found.fragment_size()))
}

fn assets(need: &Need) -> Finding {
    let found = format!("{} of {} here", need.present, need.assets);
    if need.present == need.assets {
        Finding::ok("assets", found)
    } else {
        let mend = "a graph fetches what it needs when it first runs; for use without a network: graphrun assets pull";
        Finding { what: "assets", level: Level::Warn, found, mend: Some(mend.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::{Catalogue, Clients};

    fn levels(findings: &[Finding]) -> Vec<Level> {
        findings.iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn a_bare_machine_misses_what_fetches_and_builds_and_is_told_what_to_install() {
        let empty = tempfile::tempdir().unwrap();
        let clients = Clients::in_path(empty.path());
        let store = Store::new(Catalogue::shipped().clone(), empty.path().join("cache"), clients, &[]);
        let findings = look(&store, empty.path().as_os_str());
        assert_eq!(levels(&findings[..4]), [Level::Missing; 4]);
        assert!(findings[0].mend.as_ref().unwrap().contains("python3-pip"));
        assert!(findings.iter().all(|finding| finding.level == Level::Ok || finding.mend.is_some()));
    }

    #[test]
    fn with_every_asset_here_nothing_that_fetches_is_missed() {
        let empty = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::parse("(bundles: [])", "x86_64").unwrap();
        let store = Store::new(catalogue, empty.path().join("cache"), Clients::in_path(""), &[]);
        let findings = look(&store, empty.path().as_os_str());
        let missing: Vec<_> = findings.iter().filter(|f| f.level == Level::Missing).map(|f| f.what).collect();
        assert_eq!(missing, ["C compiler"]);
    }

    #[test]
    fn too_little_space_is_missing_and_says_where_to_go() {
        let root = Path::new("/cache");
        assert_eq!(space(100, Some(100), root).level, Level::Ok);
        let finding = space(100_000_000, Some(99_999_999), root);
        assert_eq!(finding.level, Level::Missing);
        assert!(finding.mend.unwrap().contains("GRAPHRUN_ASSETS"));
        assert!(free_below(Path::new("/no/such/directory")).unwrap() > 0);
    }
}
