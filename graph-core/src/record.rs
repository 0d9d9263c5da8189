//! What happens when a packet has crossed an edge: the edge's meter, its lineage's trail, the paths that end here.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use crate::{
    file::WarmUp,
    measure::{self, EdgeMeter, Hop, PathMeter, Sample, Side},
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
        }
    }

    /// The packet behind `header` was taken at `taken`. Returns what it is a cause of.
    #[inline]
    pub(crate) fn taken(&self, header: &Header, taken: Stamp) -> Cause {
        let warm_up = self.is_warming_up(taken);
        self.meter.taken(&Sample {
            seq: header.seq,
            turn: header.turn.number().unwrap_or(0),
            trail: header.trail.index(),
            warm_up,
            origin: header.origin,
            began: header.began,
            sent: header.sent,
            taken,
            held: header.held,
        });
        let mut cause = header.cause(taken);
        if let Some(edge) = self.tracked {
            let hop = Hop { began: header.began, sent: header.sent, taken, held: header.held };
            let count = self.hops.replace(self.hops.get() + 1);
            cause.trail = self.run.trails.write(edge, count, header.trail, &hop);
            self.end_paths(header, cause.trail, warm_up);
        }
        cause
    }

    /// Whether a packet that is taken now and belongs to no path is told to the meter and that is all.
    pub(crate) fn is_plain(&self) -> bool {
        self.tracked.is_none()
            && self.meter.is_plain()
            && self.warming.get() == 0
            && !self.run.is_warming_up(self.run.clock.now())
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

    fn end_paths(&self, header: &Header, trail: TrailRef, warm_up: bool) {
        for path in self.ends.borrow_mut().iter_mut() {
            match self.run.trails.read(trail, &path.edges, &mut path.hops) {
                Lineage::Whole => path.meter.completed(&measure::Lineage {
                    seq: header.seq,
                    turn: header.turn.number().unwrap_or(0),
                    warm_up,
                    origin: header.origin,
                    hops: &path.hops,
                }),
                Lineage::Broken => path.meter.left(1),
                Lineage::Elsewhere => {}
            }
        }
    }
}
