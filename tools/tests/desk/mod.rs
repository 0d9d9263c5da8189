//! Runs the command in a folder of its own, and keeps what it said.

#![allow(clippy::unwrap_used, reason = "the helpers of a test may unwrap like the test itself")]

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

/// Longer than any of these runs takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of its own, and the command run in it.
pub(super) struct Desk(tempfile::TempDir);

impl Desk {
    /// A new folder.
    pub(super) fn new() -> Desk {
        Desk(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// Where a file of the folder is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The folder with one more file.
    pub(super) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Desk {
        fs::write(self.path(name), content).unwrap();
        self
    }

    /// The command, to be started in the folder.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graphrun"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Seen {
        Seen::of(self.start(arguments))
    }

    /// Starts the command.
    pub(super) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// What a run left behind.
pub(super) struct Seen {
    /// The exit status; none when a signal ended it.
    pub(super) status: Option<i32>,
    /// What it said.
    pub(super) stdout: String,
    /// What it said meanwhile.
    pub(super) stderr: String,
}

impl Seen {
    /// What a run left behind that ends by itself.
    pub(super) fn of(mut child: Child) -> Seen {
        end(&mut child);
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Seen { status: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Checks the exit status, and that stderr says all these words and tells of no panic.
    #[track_caller]
    pub(super) fn refused(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, Some(status), "{}{}", self.stderr, self.stdout);
        for words in words {
            assert!(self.stderr.contains(words), "{words:?} is not said in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

/// Waits for the end of a run that is to end by itself; what these runs write fits into a pipe.
#[track_caller]
fn end(child: &mut Child) -> ExitStatus {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if since.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the run hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
