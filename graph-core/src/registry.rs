//! The node kinds that a program knows.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    adapt::{AnyParams, AsSink, AsSource, AsTransform, Stepper, make},
    asset::AssetRef,
    build::Build,
    diagnostic::Diagnostics,
    error::BuildError,
    file::{RawWith, params},
    kind::{KindSpec, Kinds, PortRole, PortSpec},
    model::{self, Token},
    node::{Fault, Kind, Node, Sink, Source, Transform},
    sample::{NoSample, Sample},
    wiring::{Mode, Ports, Wiring},
};

/// The node kinds that a program knows, by name.
#[derive(Default)]
pub struct Registry {
    kinds: BTreeMap<&'static str, Entry>,
    absent: Vec<&'static str>,
}

/// Makes a node and takes its ends of edges.
type Make = fn(AnyParams, &mut Wiring, &mut Build<'_>) -> Result<Box<dyn Stepper>, BuildError>;

/// Declares a kind's sample for the parameters given, and gives those to make the node with.
pub(crate) type Declare = fn(Option<AnyParams>, &mut Sample<'_>) -> Result<AnyParams, NoSample>;

/// What the registry keeps of a kind.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) spec: KindSpec,
    pub(crate) parse: fn(&RawWith, &KindSpec) -> Result<AnyParams, Diagnostics>,
    pub(crate) check: fn(&AnyParams) -> Vec<Fault>,
    pub(crate) assets: fn(&AnyParams) -> Vec<AssetRef>,
    pub(crate) sample: Declare,
    pub(crate) make: Make,
}

impl Registry {
    /// No kinds.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a general node.
    pub fn node<N: Node>(&mut self) -> &mut Self {
        let mut ports = Vec::new();
        N::ports(&mut Ports { mode: Mode::Describe(&mut ports) });
        let spec = KindSpec {
            kind: N::KIND,
            about: N::ABOUT,
            ports,
            params: schemars::schema_for!(N::Params),
            heavy: N::HEAVY,
            one_to_one: N::ONE_TO_ONE,
        };
        let entry = Entry {
            spec,
            parse: parse::<N>,
            check: check::<N>,
            assets: assets::<N>,
            sample: sample::<N>,
            make: make::<N>,
        };
        self.kinds.insert(N::KIND, entry);
        self
    }

    /// Adds a source.
    pub fn source<S: Source>(&mut self) -> &mut Self {
        self.node::<AsSource<S>>()
    }

    /// Adds a transform.
    pub fn transform<T: Transform>(&mut self) -> &mut Self {
        self.node::<AsTransform<T>>()
    }

    /// Adds a sink.
    pub fn sink<S: Sink>(&mut self) -> &mut Self {
        self.node::<AsSink<S>>()
    }

    /// Says that the kinds of `domain` exist, but not in this build: the cargo feature of that name is off.
    pub fn absent(&mut self, domain: &'static str) -> &mut Self {
        self.absent.push(domain);
        self
    }

    /// All kinds, by name.
    pub fn kinds(&self) -> impl Iterator<Item = &KindSpec> {
        self.kinds.values().map(|entry| &entry.spec)
    }

    /// The files that a node needs whose parameters are `with`.
    ///
    /// # Errors
    /// What is wrong with the parameters.
    pub fn assets(&self, kind: &str, with: &RawWith) -> Result<Vec<AssetRef>, Diagnostics> {
        let Some(entry) = self.entry(kind) else { return Ok(Vec::new()) };
        Ok((entry.assets)(&(entry.parse)(with, &entry.spec)?))
    }

    /// The same kinds with the same ports, of which models are made and whose edges carry tokens.
    pub(crate) fn modelled(&self) -> Registry {
        let link = PortSpec::new::<Token>("", "", PortRole::Done).link;
        let mut kinds = self.kinds.clone();
        for entry in kinds.values_mut() {
            entry.make = model::make;
            entry.spec.ports.iter_mut().for_each(|port| port.link = link);
        }
        Registry { kinds, absent: self.absent.clone() }
    }

    pub(crate) fn entry(&self, kind: &str) -> Option<&Entry> {
        self.kinds.get(kind)
    }
}

fn parse<N: Node>(with: &RawWith, spec: &KindSpec) -> Result<AnyParams, Diagnostics> {
    Ok(Arc::new(params::<N::Params>(with, spec)?))
}

fn check<N: Kind>(any: &AnyParams) -> Vec<Fault> {
    any.downcast_ref::<N::Params>().map(N::check).unwrap_or_default()
}

fn assets<N: Kind>(any: &AnyParams) -> Vec<AssetRef> {
    any.downcast_ref::<N::Params>().map(N::assets).unwrap_or_default()
}

fn sample<N: Kind>(given: Option<AnyParams>, sample: &mut Sample<'_>) -> Result<AnyParams, NoSample> {
    let given = given.and_then(|any| Arc::into_inner(any.downcast::<N::Params>().ok()?));
    Ok(Arc::new(N::sample(given, sample)?))
}

impl Kinds for Registry {
    fn get(&self, kind: &str) -> Option<&KindSpec> {
        self.entry(kind).map(|entry| &entry.spec)
    }

    fn names(&self) -> Vec<&str> {
        self.kinds.keys().copied().collect()
    }

    fn check_params(&self, kind: &str, with: &RawWith) -> Diagnostics {
        let Some(entry) = self.entry(kind) else { return Diagnostics::new() };
        match (entry.parse)(with, &entry.spec) {
            Ok(params) => (entry.check)(&params).into_iter().map(|fault| with.fault(&fault)).collect(),
            Err(diagnostics) => diagnostics,
        }
    }

    fn missing_feature(&self, kind: &str) -> Option<String> {
        let (domain, _) = kind.split_once('/')?;
        self.absent.iter().find(|absent| **absent == domain).map(|absent| (*absent).to_owned())
    }
}
