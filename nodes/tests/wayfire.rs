//! The compositor's stage against Wayfire itself, headless, and against a simulated one that says the same.
//!
//! `tools/wayfire` brings the real one. Where it cannot be had, that test says so and proves nothing; the simulated one
//! runs everywhere.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use graph_core::testing::{self, Alone};
use graph_nodes::{
    spatial::wayfire::{Wayfire, WayfireParams},
    types::{Event, Geometry, Refusal, Request, Response, View},
};

mod simulated_wayfire;

/// The stage alone. It runs under virtual time, which looks at no socket, so it is woken until there is an answer.
struct Stage(Alone);

impl Stage {
    fn new(socket: &Path) -> Stage {
        let socket = Some(socket.to_str().unwrap().to_owned());
        Stage(testing::node::<Wayfire>(WayfireParams { socket, ..WayfireParams::default() }).unwrap())
    }

    /// Wakes the node until `done` gives something.
    fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Alone) -> Option<T>) -> T {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            let turn = self.0.open_turn();
            self.0.cancel(turn);
            if let Some(done) = done(&mut self.0) {
                return done;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("no {what} within 20 s; told: {:?}", self.0.told());
    }

    fn ask(&mut self, request: Request) -> Response {
        let what = format!("{request:?}");
        self.0.feed("in", request);
        self.until(&what, |alone| alone.out::<Response>("out").pop())
    }

    fn view(&mut self) -> View {
        for _ in 0..1_000 {
            let Response::Views(views) = self.ask(Request::Views) else { panic!("views were asked for") };
            if let Some(terminal) = views.into_iter().find(|view| view.app_id == "foot") {
                return terminal;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("no terminal within 20 s");
    }
}

/// Lists, places, types and touches.
fn a_session_in(socket: &Path, dir: &Path) {
    let mut stage = Stage::new(socket);
    let Response::Outputs(outputs) = stage.ask(Request::Outputs) else { panic!("outputs were asked for") };
    let screen = Geometry { x: 0, y: 0, width: 1280, height: 720 };
    assert_eq!((outputs[0].name.as_str(), outputs[0].geometry), ("HEADLESS-1", screen));

    let before = stage.view();
    assert_eq!(stage.ask(Request::AssignZone { view: before.id, zone: 2 }), Response::Ok);
    let event = stage.until("event", |alone| {
        alone.out::<Event>("events").into_iter().find(|event| event.name == "view-geometry-changed")
    });
    assert_eq!(event.view.map(|view| view.id), Some(before.id));
    // A terminal's size is a whole number of letters, and it takes a while to redraw itself.
    let in_its_zone = |at: &Geometry| {
        (at.x, at.y) == (640, 0) && (600..=640).contains(&at.width) && (680..=720).contains(&at.height)
    };
    let mut after = stage.view().geometry;
    for waited in 1..=250 {
        if in_its_zone(&after) {
            break;
        }
        // One that is just coming up keeps its first size, and is asked again.
        if waited % 25 == 0 {
            assert_eq!(stage.ask(Request::AssignZone { view: before.id, zone: 2 }), Response::Ok);
        }
        thread::sleep(Duration::from_millis(20));
        after = stage.view().geometry;
    }
    assert!(in_its_zone(&after), "{after:?}");

    let refused = Response::Error(Refusal::Compositor { reason: "view not found".into() });
    assert_eq!(stage.ask(Request::AssignZone { view: 99_999, zone: 1 }), refused);

    for name in ["KEY_H", "KEY_I", "KEY_ENTER"] {
        for pressed in [true, false] {
            assert_eq!(stage.ask(Request::Key { key: name.into(), pressed }), Response::Ok);
        }
    }
    let typed = stage.until("line typed", |_| fs::read_to_string(dir.join("typed")).ok());
    assert_eq!(typed, "hi\n");

    assert_eq!(stage.ask(Request::Touch { finger: 0, x: 900.0, y: 300.0 }), Response::Ok);
    assert_eq!(stage.ask(Request::Touch { finger: 0, x: 950.0, y: 310.0 }), Response::Ok);
    assert_eq!(stage.ask(Request::Release { finger: 0 }), Response::Ok);
    stage.0.end("in");
    assert!(stage.0.has_ended() && stage.0.failures().is_empty());
}

#[test]
fn views_move_and_keys_are_typed_in_a_simulated_wayfire() {
    let dir = tempfile::tempdir().unwrap();
    let socket = simulated_wayfire::start(dir.path());
    a_session_in(&socket, dir.path());
}

/// The real one; it ends with its standard input.
struct Real {
    child: Child,
    dir: PathBuf,
    socket: PathBuf,
}

impl Real {
    /// `None` where it cannot be had.
    fn start() -> Option<Real> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/wayfire");
        let mut child = Command::new(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["ready", dir, socket] = words[..] {
            return Some(Real { child, dir: dir.into(), socket: socket.into() });
        }
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(77), "tools/wayfire says {line:?}");
        None
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "makes a system of Debian's unstable packages; `tools/test --devices` runs it"]
fn views_move_and_keys_are_typed_in_wayfire_itself() {
    match Real::start() {
        Some(real) => a_session_in(&real.socket, &real.dir),
        None => eprintln!("SKIPPED: Wayfire cannot be had here, so only the simulated one was tried"),
    }
}
