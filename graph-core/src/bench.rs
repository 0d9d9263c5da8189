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
            self.lived += done;
        }
        Ok(spent)
    }

    /// The sample's next steps, all at once, and the time that they stand for.
    fn feed(&mut self, steps: u64, spent: &mut Nanos) -> Result<(), NotBenched> {
        let Bench { alone: Some(alone), script, next, clock, .. } = self else { return Err(GONE) };
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
        let Bench { alone: Some(alone), clock, .. } = self else { return Err(GONE) };
        let before = alone.given();
        let mut turned = Turned::On;
        *spent += timed(clock, || {
            while turned == Turned::On && alone.given() < before + packets {
                turned = alone.turn();
            }
        });
        let given = alone.given() - before;
        alone.drain();
        check(alone)?;
        match turned {
            Turned::On => {}
            Turned::Stuck => return Err(NotBenched::Unfit("the source waits for something from outside")),
            Turned::Ended if before + given == 0 => {
                return Err(NotBenched::Unfit("the source gives nothing"));
            }
            Turned::Ended => self.renew()?,
        }
        Ok(given.min(packets))
    }

    fn renew(&mut self) -> Result<(), NotBenched> {
        // The old one first: it holds files and sockets that the new one wants.
        self.alone = None;
        self.alone = Some((self.make)().map_err(NotBenched::NotMade)?);
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
    let began = clock.now();
    work();
    clock.now().since(began).unwrap_or(Nanos::ZERO)
}
