//! What a node is benched with; see [`Kind::sample`](crate::Kind::sample).

use std::{
    any::Any,
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

use crate::{
    asset::{AssetRef, Assets, locate},
    error::BuildError,
    packet::Cause,
    payload::Payload,
    testing::Alone,
    time::Nanos,
};

/// What a node is benched with: packets, in the order in which they come, or something that happens outside of the
/// graph. The bench goes through it again and again; a source needs none of it.
pub struct Sample<'a> {
    dir: &'a Path,
    assets: &'a dyn Assets,
    pub(crate) script: Script,
}

/// What a bench keeps of a sample.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    pub(crate) every: Nanos,
    pub(crate) life: Option<u64>,
    kept: Vec<Box<dyn Any>>,
}

/// One step of a sample.
pub(crate) enum Step {
    Feed(Box<dyn Fn(&mut Alone)>),
    Outside(Box<dyn FnMut() -> io::Result<()>>),
}

impl<'a> Sample<'a> {
    pub(crate) fn new(dir: &'a Path, assets: &'a dyn Assets) -> Sample<'a> {
        Sample { dir, assets, script: Script::default() }
    }

    /// A step: the input `port` gets this packet.
    ///
    /// A bench of a node without such an input, or of one that takes another payload, panics.
    pub fn feed<T: Payload + Clone>(&mut self, port: &'static str, payload: T) {
        let feed = move |alone: &mut Alone| {
            let cause = Cause::from_origin(alone.now());
            alone.push(port, cause, payload.clone());
        };
        self.script.steps.push(Step::Feed(Box::new(feed)));
    }

    /// A step: something happens outside of the graph, such as a datagram that a peer sends. The node is woken; what
    /// the outside takes for it is not measured.
    pub fn outside(&mut self, happens: impl FnMut() -> io::Result<()> + 'static) {
        self.script.steps.push(Step::Outside(Box::new(happens)));
    }

    /// In a running graph one step follows the other after this time, such as the length of a frame of sound: the
    /// node's timers see it pass, and how much faster than real time the node is follows from it.
    pub fn every(&mut self, time: Nanos) {
        self.script.every = time;
    }

    /// The node is made anew after so many steps, which is not measured: for one that writes a file, which must not
    /// grow as long as the bench goes on.
    pub fn life(&mut self, steps: u64) {
        self.script.life = Some(steps.max(1));
    }

    /// Keeps a value as long as the bench lives, such as a socket that the node sends to.
    pub fn keep(&mut self, value: impl Any) {
        self.script.kept.push(Box::new(value));
    }

    /// A folder for the files that the sample needs; it goes with the bench.
    pub fn dir(&self) -> &Path {
        self.dir
    }

    /// Where a file is that the sample is made of.
    ///
    /// # Errors
    /// That it is not on this machine; a bench fetches nothing.
    pub fn asset(&self, asset: &AssetRef) -> Result<PathBuf, NoSample> {
        Ok(locate(self.assets, asset)?)
    }
}

/// Why a kind has no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSample {
    /// It declares none.
    Undeclared,
    /// What its sample needs is not on this machine: what it is, and where to get it.
    Absent(String),
}

impl fmt::Display for NoSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSample::Undeclared => f.write_str("no sample is declared: write `sample` of its `Kind`"),
            NoSample::Absent(what) => f.write_str(what),
        }
    }
}

// Not an `Error` itself, so that every error converts into it.
impl<E: Error + Send + Sync + 'static> From<E> for NoSample {
    fn from(error: E) -> NoSample {
        BuildError::from(error).into()
    }
}

impl From<BuildError> for NoSample {
    fn from(error: BuildError) -> NoSample {
        NoSample::Absent(error.to_string())
    }
}
