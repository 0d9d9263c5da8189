//! A simulated Wayfire: says on its socket, byte for byte in form, what Wayfire 0.10 says to the methods that are used
//! here, with one output and one view that is a terminal.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    thread,
};

use serde_json::{Value, json};

/// What Wayfire takes at most.
const LIMIT: usize = (1 << 20) - 4;

/// Listens in `dir` until the process ends, and returns its socket.
pub(crate) fn start(dir: &Path) -> PathBuf {
    let socket = dir.join("wayfire-wayland-1-.socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let dir = dir.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that is dropped is no matter.
            let _ = serve(&stream.unwrap(), &dir);
        }
    });
    socket
}

struct Desk {
    geometry: Value,
    watched: Vec<String>,
    typed: String,
}

fn serve(mut stream: &UnixStream, dir: &Path) -> io::Result<()> {
    let geometry = json!({ "x": 100, "y": 100, "width": 696, "height": 494 });
    let mut desk = Desk { geometry, watched: Vec::new(), typed: String::new() };
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LIMIT {
            return Ok(());
        }
        let mut message = vec![0; length];
        stream.read_exact(&mut message)?;
        let Ok(message) = serde_json::from_slice::<Value>(&message) else { return Ok(()) };
        let Some(method) = message["method"].as_str() else {
            say(stream, &json!({ "error": "Missing \"method\"" }))?;
            return Ok(());
        };
        let (answer, event) = desk.call(method, &message["data"], dir);
        // Wayfire tells what a method has caused before it answers.
        if let Some(event) =
            event.filter(|event| desk.watched.iter().any(|watched| event["event"] == watched.as_str()))
        {
            say(stream, &event)?;
        }
        say(stream, &answer)?;
    }
}

fn say(mut stream: &UnixStream, value: &Value) -> io::Result<()> {
    let text = value.to_string();
    stream.write_all(&(text.len() as u32).to_le_bytes())?;
    stream.write_all(text.as_bytes())
}

fn ok() -> Value {
    json!({ "result": "ok" })
}

impl Desk {
    fn view(&self) -> Value {
        json!({
            "id": 3, "pid": 6, "title": "foot", "app-id": "foot", "base-geometry": self.geometry, "parent": -1,
            "geometry": self.geometry, "bbox": self.geometry, "output-id": 1, "output-name": "HEADLESS-1",
            "last-focus-timestamp": 14_894_568_480_128_u64, "role": "toplevel", "mapped": true, "layer": "workspace",
            "tiled-edges": 0, "fullscreen": false, "minimized": false, "activated": true, "sticky": false,
            "wset-index": 1, "min-size": { "width": 6, "height": 13 }, "max-size": { "width": 0, "height": 0 },
            "focusable": true, "type": "toplevel",
        })
    }

    fn call(&mut self, method: &str, data: &Value, dir: &Path) -> (Value, Option<Value>) {
        match method {
            "window-rules/events/watch" => {
                let names = data["events"].as_array().into_iter().flatten();
                self.watched = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
                (ok(), None)
            }
            "window-rules/list-views" => (json!([self.view()]), None),
            "window-rules/list-outputs" => {
                let all = json!({ "x": 0, "y": 0, "width": 1280, "height": 720 });
                let workspace = json!({ "x": 0, "y": 0, "grid_width": 3, "grid_height": 3 });
                let output = json!({
                    "id": 1, "name": "HEADLESS-1", "geometry": all, "workarea": all, "wset-index": 1,
                    "workspace": workspace,
                });
                (json!([output]), None)
            }
            "window-rules/configure-view" if data["id"] != 3 => (json!({ "error": "view not found" }), None),
            "window-rules/configure-view" => {
                let old = std::mem::replace(&mut self.geometry, data["geometry"].clone());
                let event =
                    json!({ "event": "view-geometry-changed", "old-geometry": old, "view": self.view() });
                (ok(), Some(event))
            }
            "stipc/touch" | "stipc/touch_release" => (ok(), None),
            "stipc/feed_key" => (self.key(data, dir), None),
            _ => (json!({ "error": "No such method found!" }), None),
        }
    }

    fn key(&mut self, data: &Value, dir: &Path) -> Value {
        let key = data["key"].as_str().unwrap_or_default();
        let Some(name) = key.strip_prefix("KEY_") else {
            return json!({ "error": format!("Failed to parse evdev key \"{key}\"") });
        };
        match (data["state"] == true, name) {
            (true, "ENTER") => fs::write(dir.join("typed"), format!("{}\n", self.typed)).unwrap(),
            (true, letter) => self.typed += &letter.to_lowercase(),
            (false, _) => {}
        }
        ok()
    }
}
