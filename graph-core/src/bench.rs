//! One node alone, with the sample that its kind declares, to be timed.
//!
//! The node runs on the calling thread under virtual time, so that its timers are due at once, and what is measured is
//! its work and the runtime's for one packet: taking it, the step, recording, emitting. What feeds the node, takes
//! from it, or happens outside for its sake is not measured.

use std::{path::PathBuf, sync::Arc};

use thiserror::Error;

use crate::{
    asset::{Assets, locate},
    diagnostic::Diagnostics,
    error::BuildError,
    file::RawWith,
    registry::Registry,
    sample::{NoSample, Sample, Script, Step},
    testing::{Alone, Turned},
    time::{Clock, Nanos},
};

/// Steps between two readings of the clock at most: what they cost is lost among so many, and as many datagrams fit
/// a socket's buffer.
const BATCH: u64 = 64;

/// Where a sample finds its files, and where it may write.
pub struct Place {
    /// A folder that is there for the bench alone, as long as it lives.
    pub dir: PathBuf,
    /// Where assets are, and what paths in a graph are relative to.
    pub assets: Arc<dyn Assets>,
}

/// Why a kind cannot be benched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotBenched {
    /// There is no such kind.
    #[error("there is no kind `{0}`; `graphrun nodes` lists them")]
    Unknown(String),
    /// The parameters that a graph gives.
    #[error("{0}")]
    Params(Diagnostics),
    /// It has no sample, or the sample or a node with it needs what is not on this machine.
    #[error("{0}")]
    NoSample(NoSample),
    /// The node could not be made.
    #[error("the node could not be made: {0}")]
    NotMade(BuildError),
    /// The node failed, with its own sample.
    #[error("the node failed: {0}")]
    Failed(String),
    /// What the node does with its sample is not what it is for.
    #[error("the sample does not fit the node: {0}")]
    Unfit(&'static str),
}

/// A node that can be timed.
pub struct Bench {
    make: Box<dyn Fn() -> Result<Alone, BuildError>>,
    /// `None` before it is made and after that failed.
    alone: Option<Alone>,
    script: Script,
    /// The step of the script that comes next.
    next: usize,
    /// Steps since the node was made.
    lived: u64,
    clock: Clock,
}

impl Bench {
    /// A node of that kind with its sample; with the parameters of a graph, where there are some. `clock` is what it
    /// is timed by.
    ///
    /// # Errors
    /// Why it cannot be benched.
    pub fn new(
        registry: &Registry,
        kind: &str,
        with: Option<&RawWith>,
        place: Place,
        clock: Clock,
    ) -> Result<Bench, NotBenched> {
        let entry = registry.entry(kind).ok_or_else(|| NotBenched::Unknown(kind.to_owned()))?;
        let given =
            with.map(|with| (entry.parse)(with, &entry.spec)).transpose().map_err(NotBenched::Params)?;
        let Place { dir, assets } = place;
        let mut sample = Sample::new(&dir, &*assets);
        let params = (entry.sample)(given, &mut sample).map_err(NotBenched::NoSample)?;
        let script = sample.script;
        for asset in (entry.assets)(&params) {
            locate(&*assets, &asset).map_err(|error| NotBenched::NoSample(error.into()))?;
        }
        let (ports, entry) = (entry.spec.ports.clone(), entry.clone());
        let make = move || {
            Alone::new(&ports, assets.clone(), |wiring, build| (entry.make)(params.clone(), wiring, build))
        };
        let mut bench = Bench { make: Box::new(make), alone: None, script, next: 0, lived: 0, clock };
        bench.renew()?;
        Ok(bench)
    }

    /// Steps in the sample: 1 for a source, each of whose packets is a step.
    pub fn steps(&self) -> u64 {
        self.script.steps.len().max(1) as u64
    }

    /// The time between two steps in a running graph, where the sample tells it.
    pub fn every(&self) -> Option<Nanos> {
        Some(self.script.every).filter(|every| *every > Nanos::ZERO)
    }

    /// Does the next so many steps. Returns what they took.
    ///
    /// # Errors
    /// When the node fails, or its sample does not make it work.
    pub fn run(&mut self, steps: u64) -> Result<Nanos, NotBenched> {
        let life = self.script.life.unwrap_or(u64::MAX);
        let mut spent = Nanos::ZERO;
        let mut left = steps;
        while left > 0 {
            if self.lived >= life {
                self.renew()?;
            }
            let batch = left.min(BATCH).min(life - self.lived);
            let done = if self.script.steps.is_empty() {
                self.give(batch, &mut spent)?
            } else {
                self.feed(batch, &mut spent)?;
                batch
            };
            left -= done;
        }
        Ok(spent)
    }

    /// The sample's next steps, all at once, and the time that they stand for.
    fn feed(&mut self, steps: u64, spent: &mut Nanos) -> Result<(), NotBenched> {
        let Bench { alone: Some(alone), script, next, lived, clock, .. } = self else { return Err(GONE) };
        for _ in 0..steps {
            match &mut script.steps[*next] {
                Step::Feed(feed) => feed(alone),
                Step::Outside(happens) => {
                    happens().map_err(|error| NotBenched::Failed(error.to_string()))?;
                    alone.wake();
                }
            }
            *next = (*next + 1) % script.steps.len();
        }
        *spent += timed(clock, || {
            alone.settle();
            alone.advance(Nanos(script.every.0.saturating_mul(steps)));
        });
        // A full output kept the node from going on.
        while alone.drain() > 0 {
            *spent += timed(clock, || alone.settle());
        }
        *lived += steps;
        check(alone)?;
        if alone.has_ended() {
            return Err(NotBenched::Unfit("the node ends before its sample does"));
        }
        if alone.untaken() > 0 {
            return Err(NotBenched::Unfit("the node leaves packets of it untaken"));
        }
        Ok(())
    }

    /// Lets a source give so many packets, fewer where it ends; it is made anew then. Returns how many.
    fn give(&mut self, packets: u64, spent: &mut Nanos) -> Result<u64, NotBenched> {
        let Bench { alone: Some(alone), lived, clock, .. } = self else { return Err(GONE) };
        let effects = alone.done().counts().sent;
        let mut turned = Turned::On;
        let given = |alone: &Alone| alone.emitted() as u64 + alone.done().counts().sent - effects;
        *spent += timed(clock, || {
            while turned == Turned::On && given(alone) < packets {
                turned = alone.turn();
            }
        });
        let given = given(alone);
        *lived += given;
        alone.drain();
        check(alone)?;
        match turned {
            Turned::On => {}
            Turned::Stuck => return Err(NotBenched::Unfit("the source waits for something from outside")),
            Turned::Ended if *lived == 0 => {
                return Err(NotBenched::Unfit("the source gives nothing"));
            }
            Turned::Ended => self.renew()?,
        }
        Ok(given.min(packets))
    }

    fn renew(&mut self) -> Result<(), NotBenched> {
        // The old one first: it holds files and sockets that the new one wants.
        self.alone = None;
        let alone = self.alone.insert((self.make)().map_err(NotBenched::NotMade)?);
        // A source's first step is one of those that are measured.
        if !self.script.steps.is_empty() {
            alone.settle();
        }
        self.lived = 0;
        Ok(())
    }
}

const GONE: NotBenched = NotBenched::Unfit("the node could not be made anew");

fn check(alone: &Alone) -> Result<(), NotBenched> {
    match alone.failures().into_iter().next() {
        Some(failure) => Err(NotBenched::Failed(failure.message)),
        None => Ok(()),
    }
}

fn timed(clock: &Clock, work: impl FnOnce()) -> Nanos {
    let began = clock.now_ordered();
    work();
    clock.now_ordered().since(began).unwrap_or(Nanos::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Build, Ctx, Cx, Done, Flow, In, Kind, NoAssets, Node, NodeError, Ports, Source, Stamp, Transform,
        payload,
    };

    #[derive(Clone)]
    struct Word(u64);
    payload!(Word, "word");

    /// What the nodes below do.
    #[derive(Clone, Default, serde::Deserialize, schemars::JsonSchema)]
    #[serde(default)]
    struct Params {
        /// The words of a source; the word at which another node fails.
        words: u64,
    }

    struct Count(u64, Params);

    impl Kind for Count {
        const KIND: &'static str = "test/count";
        const ABOUT: &'static str = "Gives words, 10 ms apart, and ends.";
        type Params = Params;
        fn new(params: &Params, _: &mut Build<'_>) -> Result<Self, BuildError> {
            Ok(Count(0, params.clone()))
        }
        fn sample(given: Option<Params>, sample: &mut Sample<'_>) -> Result<Params, NoSample> {
            sample.every(Nanos::from_millis(10));
            Ok(given.unwrap_or(Params { words: 5 }))
        }
    }

    impl Source for Count {
        type Out = Word;
        fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Word>) -> Result<Flow, NodeError> {
            if self.0 == self.1.words {
                return Ok(Flow::Done);
            }
            self.0 += 1;
            cx.emit_from(now, Word(self.0));
            cx.wake_at(now + Nanos::from_millis(10));
            Ok(Flow::Idle)
        }
    }

    /// Gives five words as fast as they are taken, and ends.
    struct Burst(u64);

    impl Kind for Burst {
        const KIND: &'static str = "test/burst";
        const ABOUT: &'static str = "Gives words at once, and ends.";
        type Params = Params;
        fn new(_: &Params, _: &mut Build<'_>) -> Result<Self, BuildError> {
            Ok(Burst(0))
        }
        fn sample(given: Option<Params>, _: &mut Sample<'_>) -> Result<Params, NoSample> {
            Ok(given.unwrap_or_default())
        }
    }

    impl Source for Burst {
        type Out = Word;
        fn poll(&mut self, now: Stamp, cx: &mut Cx<'_, '_, Word>) -> Result<Flow, NodeError> {
            self.0 += 1;
            cx.emit_from(now, Word(self.0));
            Ok(if self.0 < 5 { Flow::Again } else { Flow::Done })
        }
    }

    struct Fail(Params);

    impl Kind for Fail {
        const KIND: &'static str = "test/fail";
        const ABOUT: &'static str = "Hands words on until one is too much for it.";
        type Params = Params;
        fn new(params: &Params, _: &mut Build<'_>) -> Result<Self, BuildError> {
            Ok(Fail(params.clone()))
        }
        fn sample(given: Option<Params>, sample: &mut Sample<'_>) -> Result<Params, NoSample> {
            sample.feed("in", Word(1));
            sample.feed("in", Word(2));
            Ok(given.unwrap_or_default())
        }
    }

    impl Transform for Fail {
        type In = Word;
        type Out = Word;
        fn process(&mut self, word: Word, cx: &mut Cx<'_, '_, Word>) -> Result<(), NodeError> {
            if word.0 == self.0.words {
                return Err(NodeError::new("too much"));
            }
            cx.emit(word);
            Ok(())
        }
    }

    /// Does not take what comes at its second port.
    struct Deaf;

    impl Kind for Deaf {
        const KIND: &'static str = "test/deaf";
        const ABOUT: &'static str = "Takes words at one of two ports.";
        type Params = Params;
        fn new(_: &Params, _: &mut Build<'_>) -> Result<Self, BuildError> {
            Ok(Deaf)
        }
        fn sample(_: Option<Params>, sample: &mut Sample<'_>) -> Result<Params, NoSample> {
            sample.feed("one", Word(1));
            sample.feed("two", Word(2));
            Ok(Params::default())
        }
    }

    impl Node for Deaf {
        type Ports = (In<Word>, In<Word>, Done);
        fn ports(ports: &mut Ports<'_>) -> Self::Ports {
            (ports.input("one", "Words."), ports.input("two", "Words."), ports.done())
        }
        fn step(&mut self, (one, _, done): &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
            while let Some(taken) = one.take(ctx) {
                done.mark(ctx, taken.cause, Nanos::ZERO);
            }
            Ok(Flow::Busy)
        }
    }

    /// Declares nothing.
    struct Mute;

    impl Kind for Mute {
        const KIND: &'static str = "test/mute";
        const ABOUT: &'static str = "Hands words on.";
        type Params = Params;
        fn new(_: &Params, _: &mut Build<'_>) -> Result<Self, BuildError> {
            Ok(Mute)
        }
    }

    impl Transform for Mute {
        type In = Word;
        type Out = Word;
        fn process(&mut self, word: Word, cx: &mut Cx<'_, '_, Word>) -> Result<(), NodeError> {
            cx.emit(word);
            Ok(())
        }
    }

    fn bench(kind: &str) -> Result<Bench, NotBenched> {
        let mut registry = Registry::new();
        registry.source::<Count>().source::<Burst>().transform::<Fail>().transform::<Mute>().node::<Deaf>();
        let place = Place { dir: PathBuf::new(), assets: Arc::new(NoAssets) };
        Bench::new(&registry, kind, None, place, Clock::monotonic())
    }

    #[test]
    fn a_source_that_ends_is_made_anew_and_goes_on() {
        let mut count = bench("test/count").unwrap();
        assert_eq!((count.steps(), count.every()), (1, Some(Nanos::from_millis(10))));
        let took = count.run(1_003).unwrap();
        assert!(took > Nanos::ZERO && took < Nanos::from_secs(5), "time is virtual to it: {took}");
        assert_eq!(count.lived, 3, "after 200 lives of five words");
    }

    #[test]
    fn every_packet_of_a_source_that_waits_for_nothing_is_measured() {
        let mut burst = bench("test/burst").unwrap();
        for lived in [1, 2, 3, 4] {
            assert!(burst.run(1).unwrap() > Nanos::ZERO);
            assert_eq!(burst.lived, lived);
        }
    }

    #[test]
    fn the_steps_of_a_sample_come_in_order_and_again_and_again() {
        let mut whole = bench("test/fail").unwrap();
        assert_eq!((whole.steps(), whole.every()), (2, None));
        whole.run(201).unwrap();
        assert_eq!((whole.next, whole.lived), (1, 201));
    }

    #[test]
    fn a_node_that_fails_or_does_not_take_its_sample_is_told() {
        let mut registry = Registry::new();
        registry.transform::<Fail>();
        let graph = r#"(
            nodes: { "a": (kind: "test/count"), "b": (kind: "test/fail", with: (words: 2)), "c": (kind: "test/deaf") },
            edges: [(from: "a", to: "b"), (from: "b", to: "c.one"), (from: "a", to: "c.two")],
        )"#;
        let mut all = Registry::new();
        all.source::<Count>().transform::<Fail>().node::<Deaf>();
        let plan = crate::testing::plan(graph, &all);
        let place = Place { dir: PathBuf::new(), assets: Arc::new(NoAssets) };
        let with = Some(&plan.nodes[1].with);
        let mut failing = Bench::new(&registry, "test/fail", with, place, Clock::monotonic()).unwrap();
        assert_eq!(failing.run(2).unwrap_err().to_string(), "the node failed: too much");

        let deaf = bench("test/deaf").unwrap().run(2).unwrap_err();
        assert_eq!(
            deaf.to_string(),
            "the sample does not fit the node: the node leaves packets of it untaken"
        );
    }

    #[test]
    fn a_kind_without_a_sample_says_so() {
        let told = |kind| bench(kind).err().unwrap();
        assert!(matches!(told("test/mute"), NotBenched::NoSample(NoSample::Undeclared)));
        assert_eq!(
            told("test/nothing").to_string(),
            "there is no kind `test/nothing`; `graphrun nodes` lists them"
        );
    }
}
