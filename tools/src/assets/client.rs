//! Calls the package managers' own clients, and tells from what they say why they failed.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use super::AssetError;
use crate::programs;

const PIP: &str = "pip";
const APT_GET: &str = "apt-get";
const DPKG_DEB: &str = "dpkg-deb";

const INSTALL_PYTHON: &str = "run `apt-get install python3-pip` as root, or install Python 3 with pip";
const DEBIAN_ONLY: &str = "it comes from a Debian package, so this needs Debian or a system derived from it";
const UPDATE_LISTS: &str = " (with old or empty package lists, run `apt-get update` as root first)";

/// How often the size of what has arrived is looked at, for the progress bar.
const LOOK: Duration = Duration::from_millis(100);
/// How many of a client's last lines an error repeats.
const LINES_SHOWN: usize = 6;

/// The clients on this machine.
#[derive(Clone, Debug)]
pub struct Clients {
    search_path: OsString,
}

impl Clients {
    /// Clients that are looked for in `search_path`, written like `PATH`.
    pub fn in_path(search_path: impl Into<OsString>) -> Self {
        Self { search_path: search_path.into() }
    }

    /// Downloads the wheel into `into` and returns its path. `arrived` is told the bytes so far.
    ///
    /// The wheel is taken for Python 3.11 whatever the user's is: only data files and native libraries are read from
    /// it.
    pub(super) fn wheel(
        &self,
        (package, version): (&str, &str),
        platform: Option<&str>,
        into: &Path,
        arrived: &mut dyn FnMut(u64),
    ) -> Result<PathBuf, AssetError> {
        let python = programs::find("python3", &self.search_path)
            .ok_or_else(|| missing(PIP, package, INSTALL_PYTHON))?;
        let mut pip = Command::new(python);
        pip.args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--no-cache-dir",
            "--no-input",
        ])
        .args(["--disable-pip-version-check", "--progress-bar", "off"])
        .args(["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"])
        .args(["--platform", platform.unwrap_or("any"), "--dest"])
        .arg(into)
        .arg(format!("{package}=={version}"))
        // The unfinished file grows where its size can be seen, and goes when the staging directory does.
        .env("TMPDIR", into);
        let ended = self.run(pip, into, arrived).map_err(AssetError::io("run", "python3 -m pip"))?;
        if !ended.status.success() {
            return Err(pip_failure(package, version, into, &ended));
        }
        downloaded(into, "whl").ok_or_else(|| ended.failure(PIP, package))
    }

    /// Downloads the Debian package and unpacks it into a directory below `into`, whose path it returns.
    pub(super) fn debian(
        &self,
        (package, version): (&str, &str),
        into: &Path,
        arrived: &mut dyn FnMut(u64),
    ) -> Result<PathBuf, AssetError> {
        let program = |client| {
            programs::find(client, &self.search_path).ok_or_else(|| missing(client, package, DEBIAN_ONLY))
        };
        let (apt_get, dpkg_deb) = (program(APT_GET)?, program(DPKG_DEB)?);

        let mut apt = Command::new(apt_get);
        // As root, apt would hand the download to a user who may not enter the cache.
        apt.args(["-q", "-o", "APT::Sandbox::User=root", "download", package]).current_dir(into);
        let ended = self.run(apt, into, arrived).map_err(AssetError::io("run", APT_GET))?;
        if !ended.status.success() {
            return Err(apt_failure(package, version, into, &ended));
        }
        let deb = downloaded(into, "deb").ok_or_else(|| ended.failure(APT_GET, package))?;

        let tree = into.join("tree");
        let mut dpkg = Command::new(dpkg_deb);
        dpkg.arg("-x").arg(&deb).arg(&tree);
        let ended = self.run(dpkg, into, &mut |_| {}).map_err(AssetError::io("run", DPKG_DEB))?;
        if !ended.status.success() {
            return Err(ended.disk_full(into).unwrap_or_else(|| ended.failure(DPKG_DEB, package)));
        }
        Ok(tree)
    }

    fn run(
        &self,
        mut command: Command,
        watched: &Path,
        arrived: &mut dyn FnMut(u64),
    ) -> std::io::Result<Ended> {
        command.env("PATH", &self.search_path).env("LC_ALL", "C");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().expect("stderr is piped just above");
        let (sender, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                // The receiver outlives this thread's pipe.
                let _ = sender.send(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
        });
        let mut said = Vec::new();
        loop {
            match lines.recv_timeout(LOOK) {
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Timeout) => arrived(bytes_below(watched)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = child.wait()?;
        reader.join().expect("the reader only reads and sends");
        Ok(Ended { status, said })
    }
}

struct Ended {
    status: ExitStatus,
    said: Vec<String>,
}

impl Ended {
    fn says(&self, signs: &[&str]) -> bool {
        self.said.iter().any(|line| signs.iter().any(|sign| line.contains(sign)))
    }

    fn last_lines(&self) -> String {
        let from = self.said.len().saturating_sub(LINES_SHOWN);
        self.said[from..].iter().map(|line| format!("\n    {line}")).collect()
    }

    fn disk_full(&self, into: &Path) -> Option<AssetError> {
        self.says(&["No space left on device", "Disk quota exceeded", "enough free space"])
            .then(|| AssetError::DiskFull { path: into.into() })
    }

    fn failure(&self, client: &'static str, package: &str) -> AssetError {
        let (package, status) = (package.into(), self.status.to_string());
        AssetError::ClientFailed { client, package, status, said: self.last_lines() }
    }
}

fn missing(client: &'static str, package: &str, mend: &'static str) -> AssetError {
    AssetError::ClientMissing { client, package: package.into(), mend }
}

fn pip_failure(package: &str, version: &str, into: &Path, ended: &Ended) -> AssetError {
    const NETWORK: [&str; 7] = [
        "connection broken by",
        "Failed to establish a new connection",
        "Temporary failure in name resolution",
        "Max retries exceeded",
        "Read timed out",
        "Could not fetch URL",
        "Connection aborted",
    ];
    if ended.says(&["No module named pip"]) {
        return missing(PIP, package, INSTALL_PYTHON);
    }
    if let Some(full) = ended.disk_full(into) {
        return full;
    }
    // Without a network pip also claims that no version exists, so this question comes first.
    if ended.says(&NETWORK) {
        return AssetError::Unreachable { client: PIP, package: package.into(), said: ended.last_lines() };
    }
    if ended.says(&["No matching distribution found"]) {
        let (package, version) = (package.into(), version.into());
        return AssetError::Gone { client: PIP, package, version, hint: "", said: ended.last_lines() };
    }
    ended.failure(PIP, package)
}

fn apt_failure(package: &str, version: &str, into: &Path, ended: &Ended) -> AssetError {
    if let Some(full) = ended.disk_full(into) {
        return full;
    }
    if ended.says(&["Unable to locate package", "No packages found", "404  Not Found"]) {
        let (package, version) = (package.into(), version.into());
        return AssetError::Gone {
            client: APT_GET,
            package,
            version,
            hint: UPDATE_LISTS,
            said: ended.last_lines(),
        };
    }
    if ended.says(&["Could not connect", "Could not resolve", "Temporary failure", "Failed to fetch"]) {
        return AssetError::Unreachable {
            client: APT_GET,
            package: package.into(),
            said: ended.last_lines(),
        };
    }
    ended.failure(APT_GET, package)
}

fn downloaded(into: &Path, extension: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(into).ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|found| found == extension))
}

/// Size of the files below a directory that another process writes to; what vanishes meanwhile counts as nothing.
fn bytes_below(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_below(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn ended(said: &str) -> Ended {
        Ended { status: ExitStatus::from_raw(1 << 8), said: said.lines().map(str::to_owned).collect() }
    }

    fn pip(said: &str) -> AssetError {
        pip_failure("silero-vad", "6.2.3", Path::new("/cache"), &ended(said))
    }

    fn apt(said: &str) -> AssetError {
        apt_failure("pocketsphinx-testdata", "1", Path::new("/cache"), &ended(said))
    }

    #[test]
    fn without_a_network_pip_says_no_version_exists_and_is_not_believed() {
        let error = pip(
            "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection \
             broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f>: Failed to \
             establish a new connection: [Errno 111] Connection refused')': /simple/silero-vad/\n\
             ERROR: Could not find a version that satisfies the requirement silero-vad==6.2.3 (from versions: none)\n\
             ERROR: No matching distribution found for silero-vad==6.2.3",
        );
        assert!(matches!(error, AssetError::Unreachable { .. }), "{error:?}");
        assert!(
            error.to_string().ends_with("No matching distribution found for silero-vad==6.2.3"),
            "{error}"
        );
    }

    #[test]
    fn a_version_that_left_the_registry_is_gone() {
        let error = pip(
            "ERROR: Could not find a version that satisfies the requirement silero-vad==6.2.3 (from versions: 5.1)\n\
             ERROR: No matching distribution found for silero-vad==6.2.3",
        );
        assert!(matches!(error, AssetError::Gone { .. }), "{error:?}");
        assert!(
            error.to_string().starts_with("the registry has no `silero-vad` 6.2.3; pip said:\n"),
            "{error}"
        );
    }

    #[test]
    fn a_python_without_pip_is_told_with_the_command_that_installs_it() {
        let error = pip("/usr/bin/python3: No module named pip");
        assert!(matches!(error, AssetError::ClientMissing { .. }), "{error:?}");
        assert!(error.to_string().contains("apt-get install python3-pip"), "{error}");
    }

    #[test]
    fn a_full_disk_under_a_client_is_a_full_disk() {
        let error =
            pip("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device");
        assert!(matches!(error, AssetError::DiskFull { .. }), "{error:?}");
        let error = apt("E: You don't have enough free space in /cache/.");
        assert!(matches!(error, AssetError::DiskFull { .. }), "{error:?}");
    }

    #[test]
    fn empty_package_lists_are_mended_by_an_update() {
        let error = apt("E: Unable to locate package pocketsphinx-testdata");
        assert!(matches!(error, AssetError::Gone { .. }), "{error:?}");
        assert!(error.to_string().contains("apt-get update"), "{error}");
    }

    #[test]
    fn apt_without_a_network_is_unreachable() {
        let error = apt(
            "E: Failed to fetch pool/main/p.deb  Could not connect to 127.0.0.1:9 (111: Connection refused)",
        );
        assert!(matches!(error, AssetError::Unreachable { .. }), "{error:?}");
    }

    #[test]
    fn an_error_repeats_only_the_last_lines_of_a_client() {
        let error = pip(&(0..100).map(|n| format!("line {n}\n")).collect::<String>());
        let text = error.to_string();
        assert!(text.contains("line 99") && text.contains("line 94") && !text.contains("line 93"), "{text}");
    }
}
