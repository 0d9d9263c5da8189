//! The two ends of an edge, whichever way it goes, and how they are made before their types are known.

use std::{any::Any, rc::Rc, sync::Arc};

use super::{
    EdgeState, Ends, Local,
    cross::{CrossIn, CrossOut, CrossRx, CrossTx, cross},
};
use crate::{
    record::Recorder,
    wiring::{InputView, OutputView},
};

/// The producer's end of an edge.
pub(crate) enum Tx<T> {
    Local(Rc<Local<T>>),
    Cross(Rc<CrossOut<T>>),
}

/// The consumer's end of an edge.
pub(crate) enum Rx<T> {
    Local(Rc<Local<T>>),
    Cross(Rc<CrossIn<T>>),
}

impl<T: 'static> Tx<T> {
    /// The end that `made` holds, for a producer that emits at most `burst` packets in a step.
    pub(crate) fn bind(made: TxEnd, burst: usize) -> Tx<T> {
        match made {
            TxEnd::Local(edge) => {
                let edge = edge.downcast::<Local<T>>().expect(SAME_TYPE);
                edge.expect_bursts(burst);
                Tx::Local(edge)
            }
            TxEnd::Cross(tx) => {
                let tx = tx.downcast::<CrossTx<T>>().expect(SAME_TYPE);
                Tx::Cross(Rc::new(CrossOut::new(*tx, burst)))
            }
        }
    }

    /// The producer gives other edges the same packets.
    pub(crate) fn shares(&self) {
        if let Tx::Local(edge) = self {
            edge.shares();
        }
    }

    pub(crate) fn view(&self) -> Rc<dyn OutputView> {
        match self {
            Tx::Local(edge) => edge.clone(),
            Tx::Cross(edge) => edge.clone(),
        }
    }
}

impl<T: 'static> Rx<T> {
    /// The end that `made` holds.
    pub(crate) fn bind(made: RxEnd) -> Rx<T> {
        match made {
            RxEnd::Local(edge) => Rx::Local(edge.downcast::<Local<T>>().expect(SAME_TYPE)),
            RxEnd::Cross(rx, recorder) => {
                let rx = rx.downcast::<CrossRx<T>>().expect(SAME_TYPE);
                Rx::Cross(Rc::new(CrossIn::new(*rx, recorder)))
            }
        }
    }

    pub(crate) fn view(&self) -> Rc<dyn InputView> {
        match self {
            Rx::Local(edge) => edge.clone(),
            Rx::Cross(edge) => edge.clone(),
        }
    }
}

const SAME_TYPE: &str = "the check compared the types of both ports";

/// A producer's end before its type is known: a `Local<T>` or a `CrossTx<T>`.
pub(crate) enum TxEnd {
    Local(Rc<dyn Any>),
    Cross(Box<dyn Any + Send>),
}

/// A consumer's end before its type is known: a `Local<T>` or a `CrossRx<T>`.
pub(crate) enum RxEnd {
    Local(Rc<dyn Any>),
    Cross(Box<dyn Any + Send>, Recorder),
}

/// Makes an edge inside a lane: a `Local<T>`.
pub(crate) fn link_local<T: 'static>(state: Arc<EdgeState>, ends: Ends, recorder: Recorder) -> Rc<dyn Any> {
    Rc::new(Local::<T>::new(state, ends, recorder))
}

/// Makes both ends of an edge between lanes: a `CrossTx<T>` and a `CrossRx<T>`.
pub(crate) fn link_cross<T: Send + 'static>(
    state: Arc<EdgeState>,
) -> (Box<dyn Any + Send>, Box<dyn Any + Send>) {
    let (tx, rx) = cross::<T>(state);
    (Box::new(tx), Box::new(rx))
}

/// An edge inside a lane, to one who does not know its type.
pub(crate) trait LocalView {
    /// How many packets are queued.
    fn queued(&self) -> usize;
    /// Takes them all and throws them away. Returns how many they were.
    fn drain(&self) -> usize;
}

impl<T> LocalView for Local<T> {
    fn queued(&self) -> usize {
        self.len()
    }

    fn drain(&self) -> usize {
        std::iter::from_fn(|| self.pop()).count()
    }
}

/// A `Local<T>` as one that is asked without its type.
pub(crate) fn local_view<T: 'static>(edge: Rc<dyn Any>) -> Rc<dyn LocalView> {
    edge.downcast::<Local<T>>().expect(SAME_TYPE)
}
