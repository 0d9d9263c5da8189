//! What threads share without a lock is made of these: the standard library's, or a model checker's under `cfg(loom)`.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p graph-core --lib interleavings::` runs every interleaving, within bounds, and every
//! value that the memory model lets a load see. Plain counts, which order nothing, stay the standard library's.

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic,
    thread::{Thread, current},
};
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic,
    thread::{Thread, current},
};

/// How many of something there are: few to a model checker, so that they come round and are soon explored.
pub(crate) const fn or_modelled(many: usize, modelled: usize) -> usize {
    if cfg!(loom) { modelled } else { many }
}

/// Between two sequentially consistent accesses of different places: what the language orders by itself, and loom, which takes
/// them for acquire and release, only with a fence.
#[inline(always)]
pub(crate) fn in_one_order() {
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}

/// Checks `model` in every interleaving with at most so many preemptions.
#[cfg(all(test, loom))]
pub(crate) fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound.get_or_insert(preemptions);
    let model = std::sync::Arc::new(model);
    checker.check(move || {
        let model = model.clone();
        spawn(move || model()).join().unwrap();
    });
}

/// A thread of a model, with a stack that holds a meter.
///
/// Whoever sleeps on a bell has a thread of its own and waits for no other: loom takes a wake-up that comes too late to find
/// the sleeper for the end of the thread that is waited for.
#[cfg(all(test, loom))]
pub(crate) fn spawn<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> loom::thread::JoinHandle<T> {
    loom::thread::Builder::new().stack_size(1 << 17).spawn(run).unwrap()
}
