//! Devices for real, under Debian's kernel in a virtual machine: `tools/test --devices`.
//!
//! What is in `outside` runs on this machine and starts `tools/vm-run`, which runs one of `inside` in there: this same
//! program. So none of them runs by itself.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{path::PathBuf, time::Duration};

use graph_core::{
    Clock, NoAssets, Registry,
    run::{Outcome, Running, prepare},
    testing::plan,
};
use graph_nodes::touch;

mod outside {
    use std::{
        env,
        fs::{self, File},
        io::{BufRead, BufReader, Read, Write},
        os::unix::net::UnixStream,
        path::Path,
        process::{Child, Command, Stdio},
        thread::{self, sleep},
    };

    use super::*;

    /// Runs a test of `inside` in the virtual machine. Its words are moved in, so that its result is not taken for this one's.
    fn start(arguments: &[&str], test: &str) -> Child {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/vm-run");
        let mut machine = Command::new(script)
            .args(arguments)
            .arg("--")
            .arg(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", test])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let words = BufReader::new(machine.stdout.take().unwrap()).lines().map_while(Result::ok);
        thread::spawn(move || words.for_each(|line| println!("    {line}")));
        machine
    }

    #[test]
    #[ignore = "wants a virtual machine: tools/test --devices"]
    fn touches_of_a_device_become_keys_of_another() {
        assert!(start(&["-c", "1"], "inside::touches").wait().unwrap().success());
    }

    #[test]
    #[ignore = "wants a virtual machine: tools/test --devices"]
    fn lost_events_and_devices_that_come_and_go_leave_no_key_pressed() {
        assert!(start(&["-c", "2"], "inside::faults").wait().unwrap().success());
    }

    #[test]
    #[ignore = "wants a virtual machine: tools/test --devices"]
    fn the_keyboard_is_shown_on_a_display() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let qmp = at("qmp");
        let display = format!("-device virtio-gpu-pci -qmp unix:{},server=on,wait=off", qmp.display());
        let share = folder.path().to_str().unwrap();
        let mut machine = start(&["-m", "virtio-gpu", "-q", &display, "-o", share], "inside::display");
        while !at("pressed").exists() {
            assert!(machine.try_wait().unwrap().is_none(), "the machine ended before the keyboard was shown");
            sleep(Duration::from_millis(50));
        }
        let screen = screendump(&qmp, &at("screen.ppm"));
        fs::write(at("seen"), "").unwrap();
        assert!(machine.wait().unwrap().success());

        let keyboard = touch::keyboard::Keyboard::new(&touch::keyboard::KeyboardParams::default()).unwrap();
        let color_of = |color: embedded_graphics::pixelcolor::Rgb888| {
            use embedded_graphics::pixelcolor::RgbColor;
            [color.r(), color.g(), color.b()]
        };
        for key in keyboard.keys() {
            // A place on the key, and beside its label.
            let place = key.from + (key.to - key.from).times(0.15);
            let wanted = if key.code == evdev::KeyCode::KEY_E.0 {
                touch::picture::PRESSED
            } else {
                touch::picture::RESTING
            };
            assert_eq!(screen.at(place.x, place.y), color_of(wanted), "{:?}", evdev::KeyCode(key.code));
        }
        assert_eq!(screen.at(0.5, 0.25), [0; 3], "above the keyboard");
    }

    struct Picture {
        width: usize,
        height: usize,
        pixels: Vec<u8>,
    }

    impl Picture {
        /// The colour at a place, the picture being 1 by 1.
        fn at(&self, x: f32, y: f32) -> [u8; 3] {
            let (x, y) = ((x * self.width as f32) as usize, (y * self.height as f32) as usize);
            self.pixels[(y * self.width + x) * 3..][..3].try_into().unwrap()
        }
    }

    /// What the display shows, as QEMU sees it.
    fn screendump(qmp: &Path, file: &Path) -> Picture {
        let mut socket = UnixStream::connect(qmp).unwrap();
        let mut answers = BufReader::new(socket.try_clone().unwrap()).lines();
        let greeting = answers.next().unwrap().unwrap();
        assert!(greeting.contains("QMP"), "{greeting}");
        let dump = format!(r#"{{"execute": "screendump", "arguments": {{"filename": {file:?}}}}}"#);
        for command in [r#"{"execute": "qmp_capabilities"}"#, &dump] {
            writeln!(socket, "{command}").unwrap();
            let answer =
                answers.by_ref().map(|line| line.unwrap()).find(|line| !line.contains("\"event\"")).unwrap();
            assert!(answer.contains("return"), "{answer}");
        }
        // "P6", width, height and the largest value, each on a line or behind a space, then three bytes a pixel.
        let mut reader = BufReader::new(File::open(file).unwrap());
        let mut words: Vec<String> = Vec::new();
        while words.len() < 4 {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            words.extend(line.split_whitespace().map(str::to_owned));
        }
        let mut pixels = Vec::new();
        reader.read_to_end(&mut pixels).unwrap();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        let picture = Picture { width: number(1), height: number(2), pixels };
        assert_eq!(picture.pixels.len(), picture.width * picture.height * 3);
        picture
    }
}

mod inside {
    use std::{
        fs,
        sync::mpsc::{self, Receiver},
        thread,
        time::{Instant, SystemTime},
    };

    use evdev::{
        AbsInfo, AbsoluteAxisCode, AttributeSet, InputEvent, KeyCode, PropType, UinputAbsSetup,
        raw_stream::RawDevice, uinput::VirtualDevice,
    };
    use graph_core::Nanos;
    use touch::{
        device::Description,
        evemu,
        event::codes,
        frame::Point,
        script::{Finger, Script},
    };

    use super::*;

    const ROUNDS: usize = 300;
    /// The middle of the key E on a surface of 200 by 120 mm, in its units, and another place on the key.
    const ON_E: [i32; 2] = [500, 675];

    fn start(graph: &str) -> Running {
        assert!(std::env::var_os("RUNS_IN_VM").is_some(), "only in the virtual machine");
        let mut registry = Registry::new();
        touch::register(&mut registry);
        let plan = plan(graph, &registry);
        let prepared = prepare(&plan, &registry, std::sync::Arc::new(NoAssets), Clock::monotonic());
        prepared.unwrap().start().unwrap()
    }

    fn end(running: Running) -> Outcome {
        running.stopper().stop();
        let outcome = running.wait();
        assert_eq!(outcome.failures, []);
        outcome
    }

    fn touchscreen(name: &str) -> VirtualDevice {
        let about = Description::touchscreen(name, 200, 120, 10);
        let mut builder = VirtualDevice::builder().unwrap().name(name);
        for (code, axis) in &about.axes {
            let range = AbsInfo::new(0, axis.min, axis.max, axis.fuzz, axis.flat, axis.resolution);
            builder =
                builder.with_absolute_axis(&UinputAbsSetup::new(AbsoluteAxisCode(*code), range)).unwrap();
        }
        let keys: AttributeSet<KeyCode> = [KeyCode::BTN_TOUCH].into_iter().collect();
        let properties: AttributeSet<PropType> = [PropType::DIRECT].into_iter().collect();
        builder.with_keys(&keys).unwrap().with_properties(&properties).unwrap().build().unwrap()
    }

    /// Waits for a device of that name.
    fn open(name: &str) -> RawDevice {
        let begun = SystemTime::now();
        loop {
            let found = evdev::raw_stream::enumerate()
                .map(|(_, device)| device)
                .find(|device| device.name() == Some(name));
            if let Some(device) = found {
                return device;
            }
            assert!(begun.elapsed().unwrap() < Duration::from_secs(20), "{name} does not come");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The next key: its code, and whether it was pressed; `None` when the device is gone.
    fn next_key(device: &mut RawDevice) -> Option<(KeyCode, bool)> {
        loop {
            let events: Vec<InputEvent> = device.fetch_events().ok()?.collect();
            let mut keys = events.iter().filter(|event| event.event_type().0 == codes::KEY);
            if let Some(key) = keys.next() {
                assert!(keys.next().is_none(), "one key at a time: {events:?}");
                return Some((KeyCode(key.code()), key.value() == 1));
            }
        }
    }

    fn abs(code: u16, value: i32) -> InputEvent {
        InputEvent::new(codes::ABS, code, value)
    }

    fn down(device: &mut VirtualDevice, tracking: i32, [x, y]: [i32; 2]) {
        let events = [
            abs(codes::ABS_MT_TRACKING_ID, tracking),
            abs(codes::ABS_MT_POSITION_X, x),
            abs(codes::ABS_MT_POSITION_Y, y),
        ];
        device.emit(&events).unwrap();
    }

    fn up(device: &mut VirtualDevice) {
        device.emit(&[abs(codes::ABS_MT_TRACKING_ID, -1)]).unwrap();
    }

    /// The median and the 99th percentile.
    fn quantiles(mut times: Vec<Duration>) -> (Duration, Duration) {
        times.sort_unstable();
        (times[times.len() / 2], times[times.len() * 99 / 100])
    }

    /// Somebody who waits for keys, as any program does, and when they came.
    fn reader(mut device: RawDevice) -> Receiver<(KeyCode, bool, Instant)> {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            while let Some((key, pressed)) = next_key(&mut device) {
                if sender.send((key, pressed, Instant::now())).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    fn expect(keys: &Receiver<(KeyCode, bool, Instant)>, key: KeyCode, pressed: bool) -> Instant {
        let (found, down, at) = keys.recv_timeout(Duration::from_secs(20)).expect("a key comes");
        assert_eq!((found, down), (key, pressed));
        at
    }

    /// A key of a virtual keyboard, from its write to its read.
    fn bare() -> (Duration, Duration) {
        let keys: AttributeSet<KeyCode> = [KeyCode::KEY_E].into_iter().collect();
        let builder = VirtualDevice::builder().unwrap().name("bare keyboard").with_keys(&keys).unwrap();
        let mut keyboard = builder.build().unwrap();
        let reader = reader(open("bare keyboard"));
        let times = (0..2 * ROUNDS).map(|n| {
            let begun = Instant::now();
            keyboard.emit(&[InputEvent::new(codes::KEY, KeyCode::KEY_E.0, i32::from(n % 2 == 0))]).unwrap();
            expect(&reader, KeyCode::KEY_E, n % 2 == 0) - begun
        });
        quantiles(times.step_by(2).collect())
    }

    /// From touchscreens whose name begins so to a virtual keyboard and a recording.
    const GRAPH: &str = r#"(
        name: "devices",
        lanes: { "touch": (priority: fifo(40)), "notes": () },
        nodes: {
            "touchscreen": (kind: "touch/evdev", lane: "touch", with: (devices: ["test touchscreen"], grab: true)),
            "parse": (kind: "touch/parse", lane: "touch"),
            "fusion": (kind: "touch/fusion", lane: "touch"),
            "virtual": (kind: "touch/uinput", lane: "touch", with: (name: "test virtual")),
            "record": (kind: "touch/record", lane: "notes", with: (file: "/tmp/mine.events")),
        },
        edges: [
            (from: "touchscreen", to: "parse"),
            (from: "touchscreen", to: "record", queue: (capacity: 1000, full: drop_newest)),
            (from: "parse", to: "fusion"),
            (from: "fusion.actions", to: "virtual"),
        ],
        paths: [(name: "touch to action", from: "touchscreen", to: "virtual.done", budget: (max: "1 s"))],
    )"#;

    /// Starts the graph on a touchscreen that a finger rests on already, which is told of by the state that the source
    /// asks for; then lifts it.
    fn start_touched(screen: &mut VirtualDevice) -> (Running, Receiver<(KeyCode, bool, Instant)>) {
        down(screen, 1, ON_E);
        let running = start(GRAPH);
        let keyboard = reader(open("test virtual keyboard"));
        up(screen);
        // The press may have come before the keyboard was open.
        let (key, pressed, _) = keyboard.recv().unwrap();
        assert_eq!(key, KeyCode::KEY_E);
        if pressed {
            expect(&keyboard, KeyCode::KEY_E, false);
        }
        (running, keyboard)
    }

    #[test]
    #[ignore = "runs in the virtual machine"]
    fn touches() {
        let mut screen = touchscreen("test touchscreen");
        let bare = bare();
        let (running, keyboard) = start_touched(&mut screen);
        let times = (0..ROUNDS as i32).map(|round| {
            let begun = Instant::now();
            down(&mut screen, 2 + round, [ON_E[0] + round % 2, ON_E[1]]);
            let came = expect(&keyboard, KeyCode::KEY_E, true);
            up(&mut screen);
            expect(&keyboard, KeyCode::KEY_E, false);
            came - begun
        });
        let through = quantiles(times.collect());
        let outcome = end(running);
        let inside = outcome.paths[0].snapshot(graph_core::budget::Measure::Latency).unwrap();
        println!(
            "kernel's stamp to action: p50 {}, max {}",
            inside.at_rank(inside.n() / 2).unwrap(),
            inside.max().unwrap()
        );
        println!("bare uinput write to read: p50 {:?}, p99 {:?}", bare.0, bare.1);
        println!("touch write to key read: p50 {:?}, p99 {:?}", through.0, through.1);
        let times = through.0.as_secs_f64() / bare.0.as_secs_f64();
        println!("{times:.2} times the bare p50");
        // Two devices, and every instruction emulated: what would show is a sleep or a poll where a wake should be.
        assert!(through.0 < Duration::from_millis(20), "{through:?} against {bare:?}");

        let recorded = evemu::parse(&fs::read_to_string("/tmp/mine.events").unwrap()).unwrap();
        assert_eq!(recorded.device.unwrap().name, "test touchscreen");
        let begins = recorded
            .events
            .iter()
            .filter(|(_, event)| event.code == codes::ABS_MT_TRACKING_ID && event.value >= 0);
        assert!(begins.count() > ROUNDS);
    }

    #[test]
    #[ignore = "runs in the virtual machine"]
    fn faults() {
        let mut screen = touchscreen("test touchscreen");
        let (running, keyboard) = start_touched(&mut screen);

        // More at once than the kernel keeps: the finger is still the same one afterwards.
        down(&mut screen, 1000, ON_E);
        expect(&keyboard, KeyCode::KEY_E, true);
        let step =
            |n: i32| [abs(codes::ABS_MT_POSITION_X, ON_E[0] + n % 50), InputEvent::new(codes::SYN, 0, 0)];
        screen.emit(&(0..40_000).flat_map(step).collect::<Vec<_>>()).unwrap();
        up(&mut screen);
        expect(&keyboard, KeyCode::KEY_E, false);

        // Another one comes, and goes while a finger is on it.
        let mut second = touchscreen("test touchscreen, the second");
        down(&mut second, 1, [1000, 1125]);
        expect(&keyboard, KeyCode::KEY_SPACE, true);
        drop(second);
        expect(&keyboard, KeyCode::KEY_SPACE, false);

        let outcome = end(running);
        let dropped = outcome.notes.iter().find(|note| note.name == "dropped by the kernel").unwrap().value;
        println!("events dropped by the kernel {dropped} times");
        assert!(dropped > 0, "the flood was read in time, and shows nothing");
    }

    #[test]
    #[ignore = "runs in the virtual machine"]
    fn display() {
        let at = Point::new(50.0, 67.5);
        let finger = Finger::resting(Nanos::ZERO, Nanos::from_secs(120), at);
        fs::write("/tmp/held.events", evemu::text(&Script::new().scene(&[finger], Nanos::ZERO).recording()))
            .unwrap();
        let running = start(
            r#"(
                name: "display",
                nodes: {
                    "play": (kind: "touch/replay", with: (file: "/tmp/held.events")),
                    "parse": (kind: "touch/parse"),
                    "fusion": (kind: "touch/fusion"),
                    "overlay": (kind: "touch/overlay", with: (card: "/dev/dri/card0")),
                },
                edges: [
                    (from: "play", to: "parse"),
                    (from: "parse", to: "fusion"),
                    (from: "fusion.pressed", to: "overlay"),
                    (from: "overlay.done", budget: (max: "1 s")),
                ],
            )"#,
        );
        let shared = PathBuf::from("/mnt");
        let flips = || running.edges().last().unwrap().counts().taken;
        while flips() == 0 {
            assert!(!running.is_finished(), "the graph ended");
            thread::sleep(Duration::from_millis(10));
        }
        fs::write(shared.join("pressed"), "").unwrap();
        while !shared.join("seen").exists() {
            thread::sleep(Duration::from_millis(50));
        }
        let outcome = end(running);
        let done = outcome.edges.last().unwrap();
        println!("flips completed: {}", done.counts().taken);
        assert!(done.counts().taken >= 2, "pressed and released");
    }
}
