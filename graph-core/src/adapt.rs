//! The small traits as general nodes, and any node as something a lane can step.

use std::{any::Any, sync::Arc};

use crate::{
    AssetRef,
    build::Build,
    context::{Ctx, Cx, SinkCx},
    error::{BuildError, NodeError},
    node::{Fault, Flow, Kind, Node, Sink, Source, Transform},
    port::{Done, In, Out},
    sample::{NoSample, Sample},
    time::Nanos,
    wiring::{Mode, Ports, Wiring},
};

/// A node and its ports as a lane sees them.
///
/// A step that fails leaves [the reason](crate::lane::LaneCore::fail) with its lane and returns `None`, so that what every
/// step returns fits a register.
pub(crate) trait Stepper {
    fn step(&mut self, ctx: &mut Ctx<'_>) -> Option<Flow>;
    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Option<Flow>;
    /// Makes the node anew, with the ports it has.
    fn remake(&mut self, build: &mut Build<'_>) -> Result<(), BuildError>;
}

struct Stepped<N: Node> {
    /// `None` only between a failure and the restart.
    node: Option<N>,
    ports: N::Ports,
    params: Arc<N::Params>,
}

/// Parameters whose type only the kind knows.
pub(crate) type AnyParams = Arc<dyn Any + Send + Sync>;

pub(crate) fn make<N: Node>(
    params: AnyParams,
    wiring: &mut Wiring,
    build: &mut Build<'_>,
) -> Result<Box<dyn Stepper>, BuildError> {
    let params = params.downcast::<N::Params>().expect("parameters are parsed by the same registry entry");
    let node = N::new(&params, build)?;
    let ports = N::ports(&mut Ports { mode: Mode::Bind(wiring) });
    Ok(Box::new(Stepped { node: Some(node), ports, params }))
}

impl<N: Node> Stepper for Stepped<N> {
    fn step(&mut self, ctx: &mut Ctx<'_>) -> Option<Flow> {
        let Some(node) = &mut self.node else { return ctx.told(Err(gone())) };
        let result = node.step(&mut self.ports, ctx);
        ctx.told(result)
    }

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Option<Flow> {
        let Some(node) = &mut self.node else { return ctx.told(Err(gone())) };
        let result = node.finish(&mut self.ports, ctx);
        ctx.told(result)
    }

    fn remake(&mut self, build: &mut Build<'_>) -> Result<(), BuildError> {
        // The old one first: it holds files and sockets that the new one wants.
        self.node = None;
        self.node = Some(N::new(&self.params, build)?);
        Ok(())
    }
}

#[cold]
fn gone() -> NodeError {
    NodeError::new("the node failed before and was not made anew")
}

macro_rules! same_kind {
    ($wrapper:ident, $trait:ident, $one_to_one:expr) => {
        impl<T: $trait> Kind for $wrapper<T> {
            const KIND: &'static str = T::KIND;
            const ABOUT: &'static str = T::ABOUT;
            const HEAVY: bool = T::HEAVY;
            const ONE_TO_ONE: bool = $one_to_one;
            type Params = T::Params;

            fn new(params: &T::Params, build: &mut Build<'_>) -> Result<Self, BuildError> {
                T::new(params, build).map($wrapper)
            }

            fn check(params: &T::Params) -> Vec<Fault> {
                T::check(params)
            }

            fn assets(params: &T::Params) -> Vec<AssetRef> {
                T::assets(params)
            }

            fn sample(given: Option<T::Params>, sample: &mut Sample<'_>) -> Result<T::Params, NoSample> {
                T::sample(given, sample)
            }
        }
    };
}

/// A [`Source`] as a general node.
pub(crate) struct AsSource<T>(T);
/// A [`Transform`] as a general node.
pub(crate) struct AsTransform<T>(T);
/// A [`Sink`] as a general node.
pub(crate) struct AsSink<T>(T);

same_kind!(AsSource, Source, T::ONE_TO_ONE);
same_kind!(AsTransform, Transform, T::ONE_TO_ONE);
same_kind!(AsSink, Sink, true);

impl<T: Source> Node for AsSource<T> {
    type Ports = Out<T::Out>;

    fn ports(ports: &mut Ports<'_>) -> Self::Ports {
        ports.output("out", "What the source gives.")
    }

    fn step(&mut self, out: &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let now = ctx.now();
        self.0.poll(now, &mut Cx { ctx, out })
    }
}

/// The most outputs that a transform's step is expected to emit; more wait beside the queue.
const TRANSFORM_BURST: usize = 1;

impl<T: Transform> AsTransform<T> {
    /// Apart from the plain way, so that a payload goes by that without being moved on the way.
    #[inline(never)]
    fn step_with_care(
        &mut self,
        input: &mut In<T::In>,
        out: &mut Out<T::Out>,
        ctx: &mut Ctx<'_>,
    ) -> Result<(), NodeError> {
        let taken = input.take(ctx);
        input.settle(ctx);
        match taken {
            Some(taken) => self.0.process(taken.payload, &mut Cx { ctx, out }),
            None => Ok(()),
        }
    }
}

impl<T: Transform> Node for AsTransform<T> {
    type Ports = (In<T::In>, Out<T::Out>);

    fn ports(ports: &mut Ports<'_>) -> Self::Ports {
        let input = ports.input("in", "What is transformed.");
        let output = if T::MANY {
            ports.many("out", "What became of it; several for one input.", TRANSFORM_BURST)
        } else {
            ports.output("out", "What became of it.")
        };
        (input, output)
    }

    #[inline]
    fn step(&mut self, (input, out): &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        out.prefetch();
        let plainly =
            input.take_plainly(ctx, |ctx, payload, _| self.0.process(payload, &mut Cx { ctx, out }));
        match plainly {
            Some(done) => done?,
            None => self.step_with_care(input, out, ctx)?,
        }
        Ok(Flow::Idle)
    }

    fn finish(&mut self, (_, out): &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        self.0.finish(&mut Cx { ctx, out })?;
        Ok(Flow::Done)
    }
}

impl<T: Sink> Node for AsSink<T> {
    type Ports = (In<T::In>, Done);

    fn ports(ports: &mut Ports<'_>) -> Self::Ports {
        (ports.input("in", "What the sink takes."), ports.done())
    }

    #[inline]
    fn step(&mut self, (input, done): &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        let taken = match input.take_plainly(ctx, |_, payload, cause| (payload, cause)) {
            None => {
                let taken = input.take(ctx);
                input.settle(ctx);
                taken.map(|taken| (taken.payload, taken.cause))
            }
            plainly => plainly,
        };
        if let Some((payload, cause)) = taken {
            self.0.consume(payload, &mut SinkCx { ctx })?;
            done.mark(ctx, cause, Nanos::ZERO);
        }
        Ok(Flow::Idle)
    }

    fn finish(&mut self, _: &mut Self::Ports, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        self.0.finish(&mut SinkCx { ctx })?;
        Ok(Flow::Done)
    }
}
