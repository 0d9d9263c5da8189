//! Asking for memory before it is needed.

/// The most cache lines that are asked for; of anything larger the front is enough to begin with.
const LINES: usize = 4;

/// Asks for the cache lines of `value` without waiting for them.
#[inline(always)]
pub(crate) fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = std::ptr::from_ref(value).cast();
        for line in 0..size_of_val(value).div_ceil(64).min(LINES) {
            // SAFETY: the address is inside of a live value; the instruction reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(line * 64)) };
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = value;
}
