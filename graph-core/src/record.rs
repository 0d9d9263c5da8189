//! What happens when a packet has crossed an edge: the edge's meter, its lineage's trail, the paths that end here.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use crate::{
    file::WarmUp,
    measure::{self, EdgeMeter, Hop, MEASURED, PathMeter, Sample, Side},
    packet::{Cause, Header},
    run::RunCore,
    time::Stamp,
    trail::{Lineage, TrailRef},
};

/// The consumer's side of an edge's account.
pub(crate) struct Recorder {
    pub(crate) meter: Arc<EdgeMeter>,
    run: Arc<RunCore>,
    /// The edge's place among the tracked ones, where a path crosses it.
    tracked: Option<usize>,
    /// The paths whose last edge this is.
    ends: RefCell<Vec<PathEnd>>,
    /// Hops written to trails.
    hops: Cell<u64>,
    /// Packets that still belong to the warm-up, where that is counted in packets.
    warming: Cell<u64>,
    /// A packet that was taken and is not recorded yet, and the hop it came by.
    unsettled: Cell<Option<(Sample, TrailRef)>>,
}

/// A path, where it ends.
#[derive(Clone)]
pub(crate) struct PathEnd {
    /// The path's edges by their place among the tracked ones.
    pub(crate) edges: Vec<usize>,
    pub(crate) meter: Arc<PathMeter>,
    pub(crate) hops: Vec<Hop>,
}

impl Recorder {
    pub(crate) fn new(
        meter: Arc<EdgeMeter>,
        run: Arc<RunCore>,
        tracked: Option<usize>,
        ends: Vec<PathEnd>,
    ) -> Recorder {
        let warming = match run.warm_up {
            WarmUp::Packets(packets) => packets,
            WarmUp::None | WarmUp::Time(_) => 0,
        };
        Recorder {
            meter,
            run,
            tracked,
            ends: RefCell::new(ends),
            hops: Cell::new(0),
            warming: Cell::new(warming),
            unsettled: Cell::new(None),
        }
    }

    /// The packet behind `header` was taken at `taken`. Returns what it is a cause of.
    #[inline]
    pub(crate) fn taken(&self, header: &Header, taken: Stamp) -> Cause {
        let cause = self.taken_unsettled(header, taken);
        self.settle();
        cause
    }

    /// As [`Recorder::taken`], but the packet waits for [`Recorder::settle`] to be recorded, so that the node has it first.
    #[inline]
    pub(crate) fn taken_unsettled(&self, header: &Header, taken: Stamp) -> Cause {
        self.settle();
        let mut cause = header.cause(taken);
        if !MEASURED {
            self.meter.taken(&Sample::default());
            return cause;
        }
        if let Some(edge) = self.tracked {
            let hop = Hop { began: header.began, sent: header.sent, taken, held: header.held };
            let count = self.hops.replace(self.hops.get() + 1);
            cause.trail = self.run.trails.write(edge, count, header.trail, &hop);
        }
        let sample = Sample {
            seq: header.seq,
            turn: header.turn.number().unwrap_or(0),
            trail: header.trail.index(),
            warm_up: self.is_warming_up(taken),
            origin: header.origin,
            began: header.began,
            sent: header.sent,
            taken,
            held: header.held,
        };
        self.unsettled.set(Some((sample, cause.trail)));
        cause
    }

    /// Records what waits for it.
    #[inline]
    pub(crate) fn settle(&self) {
        if let Some((sample, trail)) = self.unsettled.take() {
            self.meter.taken(&sample);
            if self.tracked.is_some() {
                self.end_paths(&sample, trail);
            }
        }
    }

    /// Whether a packet that is taken from `now` on and belongs to no path is told to the meter and that is all.
    pub(crate) fn is_plain(&self, now: Stamp) -> bool {
        self.tracked.is_none()
            && self.meter.is_plain()
            && self.warming.get() == 0
            && !self.run.is_warming_up(now)
    }

    /// A packet was dropped instead of taken at `now`.
    pub(crate) fn dropped(&self, now: Stamp) {
        self.meter.dropped(Side::Consumer, self.is_warming_up(now));
    }

    #[inline]
    fn is_warming_up(&self, now: Stamp) -> bool {
        let left = self.warming.get();
        if left > 0 {
            self.warming.set(left - 1);
        }
        left > 0 || self.run.is_warming_up(now)
    }

    fn end_paths(&self, sample: &Sample, trail: TrailRef) {
        for path in self.ends.borrow_mut().iter_mut() {
            match self.run.trails.read(trail, &path.edges, &mut path.hops) {
                Lineage::Whole => path.meter.completed(&measure::Lineage {
                    seq: sample.seq,
                    turn: sample.turn,
                    warm_up: sample.warm_up,
                    origin: sample.origin,
                    hops: &path.hops,
                }),
                Lineage::Broken => path.meter.left(1),
                Lineage::Elsewhere => {}
            }
        }
    }
}
