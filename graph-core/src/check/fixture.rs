//! Node kinds for tests, without nodes, and a file system in memory.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Plan, check as check_graph, floors};
use crate::{
    diagnostic::Diagnostics,
    file::{Files, GraphSpec, RawWith, load, params},
    floors::Floors,
    kind::{Arity, KindSpec, Kinds, PortRole, PortSpec, Trigger},
    payload::Payload,
    time::Nanos,
};

#[derive(Clone)]
pub(crate) struct Audio;
#[derive(Clone)]
pub(crate) struct Text;
#[derive(Clone)]
pub(crate) struct Datagram;
pub(crate) struct Token;
crate::payload!(Audio, "audio");
crate::payload!(Text, "text");
crate::payload!(Datagram, "datagram");
impl Payload for Token {
    const TYPE: &'static str = "token";
}

#[derive(Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct GainParams {
    /// How much louder, in decibels.
    #[serde(default)]
    pub(crate) gain_db: f32,
    /// How long a change takes.
    #[serde(default)]
    pub(crate) ramp: Nanos,
    /// What happens above full scale.
    #[serde(default)]
    pub(crate) over: Over,
    /// Where to write what was done.
    #[serde(default)]
    pub(crate) log: Option<String>,
    /// Bands of the equaliser.
    #[serde(default)]
    pub(crate) bands: Vec<Band>,
}

#[derive(Debug, Default, Deserialize, JsonSchema, PartialEq)]
pub(crate) enum Over {
    #[default]
    Clip,
    Wrap,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Band {
    pub(crate) hertz: u32,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct CutParams {
    /// How much is let through.
    pub(crate) after: Nanos,
    /// How long the fade at the end is.
    #[serde(default)]
    pub(crate) fade: Nanos,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileParams {
    /// Where to write.
    #[serde(default, rename = "file")]
    _file: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResampleParams {
    /// The rate that is expected.
    #[serde(default, rename = "from")]
    _from: Option<u32>,
    /// The rate to convert to.
    #[serde(default, rename = "to")]
    _to: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct NoParams {}

/// The kinds of the examples.
pub(crate) struct TestKinds(Vec<KindSpec>);

impl TestKinds {
    pub(crate) fn new() -> TestKinds {
        let light = |kind, ports| KindSpec {
            kind,
            about: "",
            ports,
            params: schemars::schema_for!(NoParams),
            heavy: false,
            one_to_one: matches!(kind, "audio/gain" | "audio/wav-sink" | "text/sink"),
        };
        let heavy = |kind, ports| KindSpec { heavy: true, ..light(kind, ports) };
        TestKinds(vec![
            light("audio/wav-source", vec![output::<Audio>("out", Arity::One)]),
            KindSpec {
                params: schemars::schema_for!(FileParams),
                ..light("audio/wav-sink", vec![input::<Audio>("in"), done()])
            },
            KindSpec {
                params: schemars::schema_for!(ResampleParams),
                ..light("audio/resample", vec![input::<Audio>("in"), output::<Audio>("out", Arity::One)])
            },
            light("speech/denoise", vec![input::<Audio>("in"), output::<Audio>("out", Arity::One)]),
            KindSpec {
                params: schemars::schema_for!(GainParams),
                ..light("audio/gain", vec![input::<Audio>("in"), output::<Audio>("out", Arity::One)])
            },
            KindSpec {
                params: schemars::schema_for!(CutParams),
                ..light("audio/cut", vec![input::<Audio>("in"), output::<Audio>("out", Arity::One)])
            },
            light(
                "audio/mix",
                vec![input::<Audio>("a"), input::<Audio>("b"), output::<Audio>("out", Arity::One)],
            ),
            light("net/udp-audio", vec![wire(open_input("socket")), output::<Audio>("audio", Arity::One)]),
            light(
                "net/rtp-audio-out",
                vec![input::<Audio>("audio"), wire(output::<Datagram>("socket", Arity::Many)), done()],
            ),
            heavy("speech/stt", vec![input::<Audio>("audio"), output::<Text>("text", Arity::One)]),
            heavy("speech/nlu", vec![input::<Text>("text"), output::<Text>("intent", Arity::One)]),
            heavy("speech/tts", vec![input::<Text>("text"), output::<Audio>("audio", Arity::Many)]),
            light("text/source", vec![output::<Text>("text", Arity::One)]),
            light("text/answer", vec![input::<Text>("intent"), output::<Text>("text", Arity::One)]),
            light("text/sink", vec![input::<Text>("text"), done()]),
            light("llm/tokens", vec![output::<Token>("token", Arity::Many)]),
            heavy("llm/prompt", vec![input::<Text>("text"), output::<Token>("token", Arity::Many)]),
            light("llm/token-sink", vec![input::<Token>("token"), done()]),
        ])
    }
}

impl Kinds for TestKinds {
    fn get(&self, kind: &str) -> Option<&KindSpec> {
        self.0.iter().find(|spec| spec.kind == kind)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|spec| spec.kind).collect()
    }

    fn missing_feature(&self, kind: &str) -> Option<String> {
        (kind == "touch/evdev").then(|| "touch".to_owned())
    }

    fn check_params(&self, kind: &str, with: &RawWith) -> Diagnostics {
        let spec = self.get(kind).unwrap();
        let typed = match kind {
            "audio/gain" => params::<GainParams>(with, spec).map(drop),
            "audio/wav-sink" => params::<FileParams>(with, spec).map(drop),
            "audio/resample" => params::<ResampleParams>(with, spec).map(drop),
            "audio/cut" => params::<CutParams>(with, spec).map(drop),
            _ => params::<NoParams>(with, spec).map(drop),
        };
        typed.err().unwrap_or_default()
    }
}

fn input<T: Payload>(name: &'static str) -> PortSpec {
    PortSpec::new::<T>(name, "", PortRole::Input { trigger: Trigger::Trigger, required: true })
}

fn open_input(name: &'static str) -> PortSpec {
    PortSpec::new::<Datagram>(name, "", PortRole::Input { trigger: Trigger::Trigger, required: false })
}

fn output<T: Payload>(name: &'static str, arity: Arity) -> PortSpec {
    PortSpec::new::<T>(name, "", PortRole::Output { arity })
}

fn done() -> PortSpec {
    PortSpec::new::<Audio>("done", "", PortRole::Done)
}

fn wire(port: PortSpec) -> PortSpec {
    PortSpec { wire: true, ..port }
}

/// Files in memory.
pub(crate) struct Memory(pub(crate) BTreeMap<PathBuf, Vec<u8>>);

impl Memory {
    pub(crate) fn new<const N: usize>(files: [(&str, &str); N]) -> Memory {
        Memory(files.map(|(path, text)| (path.into(), text.into())).into())
    }
}

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Loads `graph.ron` of these files, with overlays.
pub(crate) fn load_files<const N: usize>(
    files: [(&str, &str); N],
    overlays: &[&str],
) -> (Option<GraphSpec>, Diagnostics) {
    let overlays: Vec<PathBuf> = overlays.iter().map(PathBuf::from).collect();
    load(&Memory::new(files), Path::new("graph.ron"), &overlays, &TestKinds::new())
}

/// A machine for tests.
const FLOORS: Floors = Floors {
    local: Nanos(25),
    spin: Nanos(150),
    futex: Nanos(2_000),
    epoll: Nanos(2_500),
    timer: Nanos(60_000),
};

/// Loads and checks one file.
pub(crate) fn check(text: &str) -> (Option<Plan>, Diagnostics) {
    let (graph, mut diagnostics) = load_files([("graph.ron", text)], &[]);
    let plan = graph.and_then(|graph| {
        let (plan, found) = check_graph(&graph, &TestKinds::new());
        diagnostics.extend(found);
        diagnostics.extend(plan.as_ref().map(|plan| floors(&graph, plan, &FLOORS)).unwrap_or_default());
        plan
    });
    diagnostics.sort();
    (plan, diagnostics)
}

/// The plan of a file without errors.
pub(crate) fn plan(text: &str) -> Plan {
    let (plan, diagnostics) = check(text);
    plan.unwrap_or_else(|| panic!("{diagnostics}"))
}

/// The codes that a file gives, in order.
pub(crate) fn codes(text: &str) -> Vec<&'static str> {
    check(text).1.iter().map(|diagnostic| diagnostic.code.id).collect()
}
