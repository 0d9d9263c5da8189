//! Recordings of input devices as text: the form of `evemu-record` and `evemu-describe`.
//!
//! A line is `N:` the name, `I:` bus, vendor, product and version, `P:` property bits, `B:` a type and bits of its codes,
//! `A:` an axis with minimum, maximum, fuzz, flat and resolution, or `E:` an event: `seconds.microseconds type code value`.
//! Type, code and bits are hexadecimal, the rest decimal; `#` begins a comment.

use std::io::{self, Write};

use graph_core::Nanos;

use super::{
    device::{Axis, Description},
    event::{Event, codes},
};

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The device, where the text describes one.
    pub device: Option<Description>,
    /// Its events, each with the time since the first.
    pub events: Vec<(Nanos, Event)>,
}

/// What is wrong with a text, and in which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct EvemuError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It does not begin as a line of this form does.
    #[error("\"{0}\" is no line of an evemu recording: they begin with N:, I:, P:, B:, A:, E:, L:, S: or #")]
    Unknown(String),
    /// Something is missing at its end.
    #[error("{missing} is missing; the line is `{form}`")]
    Short {
        /// What should have come next.
        missing: &'static str,
        /// How such a line is written.
        form: &'static str,
    },
    /// A number cannot be read, or is too large.
    #[error("{what} is \"{found}\", and should be {wanted}")]
    Number {
        /// What it is.
        what: &'static str,
        /// What stands there.
        found: String,
        /// What may stand there.
        wanted: &'static str,
    },
    /// An event is before the one before it.
    #[error("time goes back by {0} here: sort the events, or cut the recording in two")]
    Backwards(Nanos),
}

/// Words of a line, each with what it is.
struct Words<'a> {
    words: std::str::SplitAsciiWhitespace<'a>,
    form: &'static str,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &'static str) -> Result<&'a str, Fault> {
        self.words.next().ok_or(Fault::Short { missing: what, form: self.form })
    }

    fn hex(&mut self, what: &'static str) -> Result<u16, Fault> {
        let word = self.next(what)?;
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let wanted = "hexadecimal, at most ffff";
        u16::from_str_radix(digits, 16).map_err(|_| Fault::Number { what, found: word.to_owned(), wanted })
    }

    fn int(&mut self, what: &'static str) -> Result<i32, Fault> {
        let word = self.next(what)?;
        word.parse().map_err(|_| Fault::Number {
            what,
            found: word.to_owned(),
            wanted: "a whole number of 32 bits",
        })
    }

    fn time(&mut self) -> Result<Nanos, Fault> {
        let word = self.next("the time")?;
        let time = word.split_once('.').and_then(|(seconds, micros)| {
            let is_whole = micros.len() == 6 && micros.bytes().all(|byte| byte.is_ascii_digit());
            let micros = is_whole.then(|| micros.parse::<u64>().ok())??;
            let nanos = seconds
                .parse::<u64>()
                .ok()?
                .checked_mul(1_000_000)?
                .checked_add(micros)?
                .checked_mul(1_000)?;
            Some(Nanos(nanos))
        });
        let wanted = "seconds with six decimals, such as 12.000345";
        time.ok_or(Fault::Number { what: "the time", found: word.to_owned(), wanted })
    }
}

/// Reads a recording, a description, or both in one.
///
/// # Errors
/// The first line that is wrong.
pub fn parse(text: &str) -> Result<Recording, EvemuError> {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        reader.line(line).map_err(|fault| EvemuError { line: number + 1, fault })?;
    }
    Ok(reader.recording)
}

#[derive(Default)]
struct Reader {
    recording: Recording,
    first: Option<Nanos>,
    property_bytes: u16,
    key_bytes: u16,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), Fault> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let Some((kind, rest)) = line.split_once(':') else {
            return Err(Fault::Unknown(line.chars().take(40).collect()));
        };
        // A name may hold any character.
        let uncommented = rest.split('#').next().unwrap_or_default();
        let words = |form| Words { words: uncommented.split_ascii_whitespace(), form };
        match kind {
            "N" => self.device().name = rest.trim().to_owned(),
            "I" => {
                let mut words = words("I: bus vendor product version");
                for (at, what) in
                    ["the bus", "the vendor", "the product", "the version"].into_iter().enumerate()
                {
                    self.device().ids[at] = words.hex(what)?;
                }
            }
            "P" => {
                let base = &mut self.property_bytes;
                let found = bits(words("P: byte.."), base)?;
                self.device().properties.extend(found);
            }
            "B" => {
                let mut words = words("B: type byte..");
                if words.hex("the type")? == codes::KEY {
                    let found = bits(words, &mut self.key_bytes)?;
                    self.device().keys.extend(found);
                }
            }
            "A" => {
                let mut words = words("A: axis minimum maximum fuzz flat resolution");
                let code = words.hex("the axis")?;
                let (min, max) = (words.int("the minimum")?, words.int("the maximum")?);
                let (fuzz, flat) = (words.int("the fuzz")?, words.int("the flat")?);
                // Version 1.0 had no resolution.
                let resolution = words.int("the resolution").or_else(|fault| match fault {
                    Fault::Short { .. } => Ok(0),
                    fault => Err(fault),
                })?;
                self.device().axes.insert(code, Axis { min, max, fuzz, flat, resolution });
            }
            "E" => {
                let mut words = words("E: seconds.microseconds type code value");
                let time = words.time()?;
                let (kind, code) = (words.hex("the type")?, words.hex("the code")?);
                let value = words.int("the value")?;
                let begun = *self.first.get_or_insert(time);
                let last = self.recording.events.last().map_or(begun, |(last, _)| begun + *last);
                if time < last {
                    return Err(Fault::Backwards(last.saturating_sub(time)));
                }
                self.recording.events.push((time.saturating_sub(begun), Event { kind, code, value }));
            }
            // Lights and switches.
            "L" | "S" => {}
            _ => return Err(Fault::Unknown(line.chars().take(40).collect())),
        }
        Ok(())
    }

    fn device(&mut self) -> &mut Description {
        self.recording.device.get_or_insert_default()
    }
}

/// Numbers of the bits that are set, eight in a word, from `base` bytes on.
fn bits(mut words: Words<'_>, base: &mut u16) -> Result<Vec<u16>, Fault> {
    let mut found = Vec::new();
    while let Ok(byte) = words.next("a byte") {
        let wanted = "a byte in hexadecimal";
        let wrong = || Fault::Number { what: "a byte", found: byte.to_owned(), wanted };
        let value = u8::from_str_radix(byte, 16).map_err(|_| wrong())?;
        // No kind of code has more than 768.
        let first = base.checked_mul(8).filter(|first| *first < 4096).ok_or_else(wrong)?;
        found.extend((0..8).filter(|bit| value & 1 << bit != 0).map(|bit| first + bit));
        *base += 1;
    }
    Ok(found)
}

/// Writes a recording as text.
#[derive(Debug)]
pub struct Writer<W>(W);

impl<W: Write> Writer<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub fn new(mut to: W) -> io::Result<Writer<W>> {
        writeln!(to, "# EVEMU 1.2")?;
        Ok(Writer(to))
    }

    /// Describes the device that the events come from.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn device(&mut self, device: &Description) -> io::Result<()> {
        let [bus, vendor, product, version] = device.ids;
        // A line break would begin a line of another kind.
        let name: String = device.name.chars().filter(|c| !c.is_control()).collect();
        writeln!(self.0, "N: {}", name.trim())?;
        writeln!(self.0, "I: {bus:04x} {vendor:04x} {product:04x} {version:04x}")?;
        self.bits("P:", device.properties.iter().copied())?;
        let types = [(codes::KEY, device.keys.is_empty()), (codes::ABS, device.axes.is_empty())];
        let types = types.into_iter().filter(|(_, empty)| !empty).map(|(kind, _)| kind);
        self.bits("B: 00", [codes::SYN].into_iter().chain(types))?;
        self.bits("B: 01", device.keys.iter().copied())?;
        self.bits("B: 03", device.axes.keys().copied())?;
        for (code, axis) in &device.axes {
            let Axis { min, max, fuzz, flat, resolution } = axis;
            writeln!(self.0, "A: {code:02x} {min} {max} {fuzz} {flat} {resolution}")?;
        }
        Ok(())
    }

    fn bits(&mut self, label: &str, set: impl Iterator<Item = u16>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for bit in set {
            let at = usize::from(bit / 8);
            bytes.resize(bytes.len().max((at / 8 + 1) * 8), 0_u8);
            bytes[at] |= 1 << (bit % 8);
        }
        for line in bytes.chunks(8) {
            write!(self.0, "{label}")?;
            line.iter().try_for_each(|byte| write!(self.0, " {byte:02x}"))?;
            writeln!(self.0)?;
        }
        Ok(())
    }

    /// Writes an event that happened at `time`, whatever that counts from; to the microsecond.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn event(&mut self, time: Nanos, event: Event) -> io::Result<()> {
        let (seconds, micros) = (time.0 / 1_000_000_000, time.0 / 1_000 % 1_000_000);
        let Event { kind, code, value } = event;
        writeln!(self.0, "E: {seconds}.{micros:06} {kind:04x} {code:04x} {value}")
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.0
    }
}

/// A whole recording as text.
pub fn text(recording: &Recording) -> String {
    let write = || -> io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new())?;
        if let Some(device) = &recording.device {
            writer.device(device)?;
        }
        for (time, event) in &recording.events {
            writer.event(*time, *event)?;
        }
        Ok(writer.into_inner())
    };
    let bytes = write().expect("memory can be written to");
    String::from_utf8(bytes).expect("the writer writes text")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_recording_of_either_age_is_read() {
        let text = "# EVEMU 1.2\nN: A panel # 2\nI: 0003 04f3 0732 0110\nP: 02 00\nB: 01 00 00 00 00 00 00 00 00\n\
                    B: 01 04\nA: 35 0 3008 0 0\nA: 36 -5 1856 1 2 12\nL: 00 0\n\n\
                    E: 1352020794.138597 0003 0039 0\t# EV_ABS / ABS_MT_TRACKING_ID 0\nE: 1352020794.147455 0000 0000 -1\n";
        let recording = parse(text).unwrap();
        let device = recording.device.unwrap();
        assert_eq!((device.name.as_str(), device.ids), ("A panel # 2", [3, 0x4f3, 0x732, 0x110]));
        assert_eq!(device.properties, [1].into());
        assert_eq!(device.keys, [66].into());
        assert_eq!(device.axes[&0x36], Axis { min: -5, max: 1856, fuzz: 1, flat: 2, resolution: 12 });
        assert_eq!(recording.events.len(), 2);
        assert_eq!(recording.events[1], (Nanos::from_micros(8_858), Event { value: -1, ..Event::REPORT }));
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_the_cure() {
        for (text, words) in [
            ("hello", "line 1: \"hello\" is no line of an evemu recording"),
            ("\nX: 1", "line 2: \"X: 1\" is no line"),
            (
                "E: 1.000000 0003 0039",
                "the value is missing; the line is `E: seconds.microseconds type code value`",
            ),
            ("E: 1.5 0003 0039 0", "the time is \"1.5\", and should be seconds with six decimals"),
            ("E: 99999999999999.000000 0 0 0", "the time is \"99999999999999.000000\""),
            ("E: 1.000000 3 10000 0", "the code is \"10000\", and should be hexadecimal, at most ffff"),
            ("E: 1.000000 3 0 1e3", "the value is \"1e3\", and should be a whole number of 32 bits"),
            ("E: 1.000000 0 0 0\nE: 0.999000 0 0 0", "line 2: time goes back by 1 ms here"),
            ("P: 1g", "a byte is \"1g\""),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    fn some_axis() -> impl Strategy<Value = Axis> {
        let part = any::<i32>;
        (part(), part(), part(), part(), part()).prop_map(|(min, max, fuzz, flat, resolution)| Axis {
            min,
            max,
            fuzz,
            flat,
            resolution,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            name in "[a-zA-Z][ -~]{0,20}[a-z]",
            ids: [u16; 4],
            properties in proptest::collection::btree_set(0_u16..32, 0..4),
            keys in proptest::collection::btree_set(0_u16..768, 0..9),
            axes in proptest::collection::btree_map(0_u16..64, some_axis(), 0..9),
            steps in proptest::collection::vec((0_u64..5_000_000, any::<(u16, u16, i32)>()), 0..50),
        ) {
            let device = Some(Description { name, ids, properties, keys, axes });
            let mut at = 0;
            let events = steps.into_iter().enumerate().map(|(n, (step, (kind, code, value)))| {
                at += if n == 0 { 0 } else { step };
                (Nanos::from_micros(at), Event { kind, code, value })
            });
            let recording = Recording { device, events: events.collect() };
            prop_assert_eq!(parse(&text(&recording)), Ok(recording));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "([NIPBAELS]: ?[0-9a-fx. -]{0,30}\n?){0,9}|\\PC{0,80}") {
            let _ = parse(&text);
        }
    }
}
