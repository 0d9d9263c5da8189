//! The script `tools/graphrun`, with `support/fake-program` in place of cargo and the installers.

#![allow(clippy::unwrap_used, reason = "the helpers of a test may unwrap like the test itself")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use graphrun::programs;

/// What the script calls that every system has.
const SYSTEM: [&str; 17] = [
    "awk", "bash", "cat", "comm", "dirname", "env", "grep", "head", "mkdir", "mktemp", "readlink", "rm",
    "sed", "sort", "tee", "tr", "xargs",
];
const BUILDS: &str = r#"
if [ "$1" = --version ]; then echo "cargo 1.95.0"; exit; fi
echo "   Compiling something v1.0.0" >&2
mkdir -p "$CARGO_TARGET_DIR/release"
/bin/ln -sf /bin/echo "$CARGO_TARGET_DIR/release/graphrun""#;

struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    /// A machine with Rust and a C compiler, whose user is root.
    fn new() -> Self {
        let machine = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(machine.path("bin")).unwrap();
        let search_path = std::env::var_os("PATH").unwrap();
        for name in SYSTEM {
            symlink(programs::find(name, &search_path).unwrap(), machine.path("bin").join(name)).unwrap();
        }
        for (name, does) in
            [("cargo", BUILDS), ("cc", ""), ("python3", ""), ("apt-get", ""), ("id", "echo 0")]
        {
            machine.program(name, does);
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn program(&self, name: &str, does: &str) {
        let link = self.path("bin").join(name);
        if !link.exists() {
            symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/fake-program"), link).unwrap();
        }
        fs::write(self.path("bin").join(format!("{name}.does")), does).unwrap();
    }

    fn without(self, name: &str) -> Self {
        fs::remove_file(self.path("bin").join(name)).unwrap();
        self
    }

    fn graph(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs the script in the machine's directory.
    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(self.path("bin/bash"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("graphrun"))
            .args(arguments)
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .output()
            .unwrap()
    }

    fn calls(&self, of: &str) -> Vec<String> {
        let calls = fs::read_to_string(self.path("bin/calls")).unwrap_or_default();
        calls.lines().filter(|call| call.starts_with(of)).map(str::to_owned).collect()
    }

    /// The features of the last build.
    fn features(&self) -> String {
        let builds = self.calls("cargo build");
        builds.last().unwrap().split("--features ").nth(1).unwrap().to_owned()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_features_are_those_of_the_kinds_in_the_file_its_includes_and_its_overlays() {
    let machine = Machine::new();
    machine.graph("a.ron", r#"(include: ["parts/b.ron", "gone.ron"], nodes: { "x": (kind: "tpyo/wav") })"#);
    machine.graph(
        "parts/b.ron",
        "(include: [\"../a.ron\"],\n// kind: \"net/off\"\nnodes: { \"y\": (kind:\n\"audio/wav\") })",
    );
    machine.graph("over.ron", r#"(nodes: { "z": (kind: "speech/vad") })"#);
    let output = machine.run(&["a.ron", "--for", "3 s"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(machine.features(), "audio");
    machine.run(&["check", "a.ron", "--with=over.ron"]);
    assert_eq!(machine.features(), "audio speech");
    machine.run(&["bench", "net/udp-audio"]);
    assert_eq!(machine.features(), "audio net speech");
}

#[test]
fn the_arguments_reach_graphrun_as_they_are() {
    let machine = Machine::new();
    let output = machine.run(&["explain", "a b", ""]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "explain a b \n");
}

#[test]
fn what_was_built_before_is_built_along_so_that_nothing_is_built_twice() {
    let machine = Machine::new();
    machine.graph("a.ron", r#"(nodes: { "x": (kind: "speech/vad") })"#);
    machine.graph("b.ron", r#"(nodes: { "x": (kind: "net/udp") })"#);
    machine.run(&["a.ron"]);
    assert_eq!(machine.features(), "speech");
    machine.run(&["b.ron"]);
    assert_eq!(machine.features(), "net speech");
    machine.run(&["doctor"]);
    assert_eq!(machine.features(), "net speech");
}

#[test]
fn without_a_graph_the_default_features_do() {
    let machine = Machine::new();
    machine.run(&["doctor"]);
    assert_eq!(machine.features(), "audio net");
    machine.run(&["assets", "pull"]);
    assert_eq!(machine.features(), "audio net speech", "some assets are made by code of the domain speech");
}

#[test]
fn a_build_that_fails_shows_what_cargo_said() {
    let machine = Machine::new();
    machine.program(
        "cargo",
        "[ \"$1\" = --version ] && echo 'cargo 1.95.0' && exit; echo 'error: boom' >&2; exit 101",
    );
    let output = machine.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("error: boom"), "{}", said(&output));
}

#[test]
fn without_rust_or_with_an_old_one_the_user_is_told_what_to_do() {
    let output = Machine::new().without("cargo").run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("Rust is missing: install it with rustup"), "{}", said(&output));

    let machine = Machine::new();
    machine.program("cargo", "echo 'cargo 1.63.0'");
    let output = machine.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("Rust 1.63.0 is too old"), "{}", said(&output));
}

#[test]
fn root_gets_the_compiler_installed() {
    let machine = Machine::new().without("cc");
    let output = machine.run(&["doctor"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("installing gcc libc6-dev"), "{}", said(&output));
    assert_eq!(
        machine.calls("apt-get install"),
        ["apt-get install -qq -y --no-install-recommends gcc libc6-dev"]
    );
}

#[test]
fn a_user_without_sudo_is_told_the_command_and_one_with_it_is_served() {
    let machine = Machine::new().without("cc");
    machine.program("id", "echo 1000");
    let output = machine.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let command = "apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev";
    assert!(said(&output).contains(command), "{}", said(&output));
    assert!(machine.calls("cargo build").is_empty());

    machine.program("sudo", r#"[ "$1" = -n ] && exit; "$@""#);
    let output = machine.run(&["doctor"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(machine.calls("apt-get install").len(), 1);
}

#[test]
fn pip_is_installed_for_a_graph_with_models_where_that_can_be_done_and_is_no_reason_to_stop() {
    let machine = Machine::new();
    machine.program("python3", "exit 1");
    machine.graph("a.ron", r#"(nodes: { "x": (kind: "audio/wav") })"#);
    machine.graph("b.ron", r#"(nodes: { "x": (kind: "speech/vad") })"#);
    machine.run(&["a.ron"]);
    assert!(machine.calls("apt-get install").is_empty());
    machine.run(&["b.ron"]);
    assert_eq!(
        machine.calls("apt-get install"),
        ["apt-get install -qq -y --no-install-recommends python3 python3-pip"]
    );
    machine.program("id", "echo 1000");
    assert!(machine.run(&["b.ron"]).status.success());
}
