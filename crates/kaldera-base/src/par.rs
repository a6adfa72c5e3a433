//! Work divided among the threads of rayon's pool, with the feature `rayon`; without it there is
//! one thread, and the same results.
//!
//! What is worth a task of its own is the caller's to say, in units of its work: elements, bytes,
//! products.

#[cfg(feature = "rayon")]
mod pool {
    pub(super) use rayon::{current_num_threads, join};
}

#[cfg(not(feature = "rayon"))]
mod pool {
    pub(super) fn current_num_threads() -> usize {
        1
    }

    pub(super) fn join<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
        (a(), b())
    }
}

/// How many threads there are to divide work among.
pub fn num_threads() -> usize {
    pool::current_num_threads()
}

/// In how many parts to divide `work`, of which `task` is worth a thread: one for each thread at
/// most.
///
/// ```
/// use kaldera_base::par;
///
/// assert_eq!(par::num_parts(999, 1000), 1);
/// assert_eq!(par::num_parts(usize::MAX, 1), par::num_threads());
/// ```
pub fn num_parts(work: usize, task: usize) -> usize {
    // Small work does not start the pool.
    match work / task {
        0 | 1 => 1,
        parts => parts.min(num_threads()),
    }
}

/// Both calls, on two threads if there are two.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    pool::join(a, b)
}

/// Calls `f` with each item, on all threads.
///
/// ```
/// let mut values = vec![1; 100];
/// kaldera_base::par::for_each(values.chunks_mut(30).collect(), |part| part.fill(part.len()));
/// assert_eq!((values[0], values[99]), (30, 10));
/// ```
pub fn for_each<T: Send>(items: Vec<T>, f: impl Fn(T) + Send + Sync) {
    #[cfg(feature = "rayon")]
    if items.len() > 1 {
        use rayon::prelude::*;
        return items.into_par_iter().for_each(f);
    }
    items.into_iter().for_each(f);
}

/// `f` of each item, in order, on all threads.
///
/// ```
/// assert_eq!(kaldera_base::par::map(vec![1, 2, 3], |x| x * x), [1, 4, 9]);
/// ```
pub fn map<T: Send, U: Send>(items: Vec<T>, f: impl Fn(T) -> U + Send + Sync) -> Vec<U> {
    #[cfg(feature = "rayon")]
    if items.len() > 1 {
        use rayon::prelude::*;
        return items.into_par_iter().map(f).collect();
    }
    items.into_iter().map(f).collect()
}
