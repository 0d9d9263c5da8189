//! The two ends of an edge, whichever way it goes, and how they are made before their types are known.

use std::{any::Any, rc::Rc, sync::Arc};

use super::{CrossRx, CrossTx, EdgeState, Local, cross::cross};
use crate::{lane::Marks, packet::Packet, time::Stamp};

/// The producer's end of an edge.
pub(crate) enum Tx<T> {
    Local(Rc<Local<T>>),
    Cross(CrossTx<T>),
}

/// The consumer's end of an edge.
pub(crate) enum Rx<T> {
    Local(Rc<Local<T>>),
    Cross(CrossRx<T>),
}

impl<T> Tx<T> {
    pub(crate) fn state(&self) -> &Arc<EdgeState> {
        match self {
            Tx::Local(edge) => &edge.state,
            Tx::Cross(edge) => &edge.state,
        }
    }

    #[inline]
    pub(crate) fn has_room(&mut self, burst: usize, now: Stamp) -> bool {
        match self {
            Tx::Local(edge) => edge.has_room(burst, now),
            Tx::Cross(edge) => edge.has_room(burst, now),
        }
    }

    /// Tries to hand over all that is still here. Returns whether it is.
    pub(crate) fn flush(&mut self) -> bool {
        match self {
            Tx::Local(_) => true,
            Tx::Cross(edge) => edge.flush(),
        }
    }

    pub(crate) fn close(&mut self) {
        match self {
            Tx::Local(edge) => edge.close(),
            Tx::Cross(edge) => edge.state.close(),
        }
    }

    #[inline]
    pub(crate) fn commit(&self, now: Stamp) {
        if let Tx::Local(edge) = self {
            edge.commit(now);
        }
    }
}

impl<T> Rx<T> {
    pub(crate) fn state(&self) -> &Arc<EdgeState> {
        match self {
            Rx::Local(edge) => &edge.state,
            Rx::Cross(edge) => &edge.state,
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet<T>> {
        match self {
            Rx::Local(edge) => edge.pop(),
            Rx::Cross(edge) => edge.pop(),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Rx::Local(edge) => edge.is_empty(),
            Rx::Cross(edge) => edge.is_empty(),
        }
    }

    /// Whether no packet will come any more.
    pub(crate) fn is_ended(&self) -> bool {
        // In this order: the last push is before the close.
        self.state().is_closed() && self.is_empty()
    }
}

/// Makes both ends of an edge inside a lane: a `Tx<T>` and an `Rx<T>`.
pub(crate) fn link_local<T: 'static>(
    state: Arc<EdgeState>,
    marks: Rc<Marks>,
    producer: usize,
    consumer: usize,
) -> (Box<dyn Any>, Box<dyn Any>) {
    let edge = Rc::new(Local::<T>::new(state, marks, producer, consumer));
    (Box::new(Tx::Local(edge.clone())), Box::new(Rx::Local(edge)))
}

/// Makes both ends of an edge between lanes: a `CrossTx<T>` and a `CrossRx<T>`.
pub(crate) fn link_cross<T: Send + 'static>(
    state: Arc<EdgeState>,
) -> (Box<dyn Any + Send>, Box<dyn Any + Send>) {
    let (tx, rx) = cross::<T>(state);
    (Box::new(tx), Box::new(rx))
}

/// Takes all that is queued at an `Rx<T>` and throws it away. Returns how many packets that were.
pub(crate) fn drain<T: 'static>(rx: &mut dyn Any) -> usize {
    let rx = rx.downcast_mut::<Rx<T>>().expect("the end of the port's own type");
    std::iter::from_fn(|| rx.pop()).count()
}
