//! Work divided among the threads of rayon's pool, with the feature `rayon`. Without it, or if the
//! pool cannot start its threads, there is one thread, and the same results.
//!
//! The caller decides how much work is worth a separate task, in units of its work: elements,
//! bytes, products.

use std::sync::{Mutex, PoisonError};

#[cfg(feature = "rayon")]
mod pool {
    use std::error::Error as _;
    use std::sync::OnceLock;

    use rayon::iter::{IntoParallelIterator, ParallelIterator};

    /// `false` if rayon's pool cannot start its threads, as under a limit on processes. It is
    /// started here, as rayon panics when it cannot do so itself.
    fn is_there() -> bool {
        static GLOBAL: OnceLock<bool> = OnceLock::new();
        // An error without a source: the pool was started before.
        let start = || match rayon::ThreadPoolBuilder::new().build_global() {
            Ok(()) => true,
            Err(error) => error.source().is_none(),
        };
        rayon::current_thread_index().is_some() || *GLOBAL.get_or_init(start)
    }

    pub(super) fn current_num_threads() -> usize {
        if is_there() { rayon::current_num_threads() } else { 1 }
    }

    pub(super) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        if is_there() { rayon::join(a, b) } else { (a(), b()) }
    }

    pub(super) fn for_each_index(num: usize, run: &(dyn Fn(usize) + Sync)) {
        if is_there() {
            (0..num).into_par_iter().for_each(run);
        } else {
            (0..num).for_each(run);
        }
    }
}

#[cfg(not(feature = "rayon"))]
mod pool {
    pub(super) fn current_num_threads() -> usize {
        1
    }

    pub(super) fn join<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
        (a(), b())
    }

    pub(super) fn for_each_index(num: usize, run: &(dyn Fn(usize) + Sync)) {
        (0..num).for_each(run);
    }
}

/// The number of threads among which work is divided.
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
pub fn for_each<T: Send>(items: Vec<T>, f: impl Fn(T) + Sync) {
    if items.len() < 2 || num_threads() == 1 {
        return items.into_iter().for_each(f);
    }
    let items: Vec<_> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    // Not generic, so that rayon's code is compiled once.
    pool::for_each_index(items.len(), &|i| {
        let item = items[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.into_iter().for_each(&f);
    });
}

/// `f` of each item, in order, on all threads.
///
/// ```
/// assert_eq!(kaldera_base::par::map(vec![1, 2, 3], |x| x * x), [1, 4, 9]);
/// ```
pub fn map<T: Send, U: Send>(items: Vec<T>, f: impl Fn(T) -> U + Sync) -> Vec<U> {
    let mut results: Vec<_> = items.iter().map(|_| None).collect();
    for_each(items.into_iter().zip(&mut results).collect(), |(item, result)| *result = Some(f(item)));
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_taken_once_and_results_are_in_order_on_any_pool() {
        let check = || {
            for count in [0, 1, 2, 63, 1000] {
                let mut done = vec![0; count];
                for_each(done.iter_mut().collect(), |done| *done += 1);
                assert_eq!(done, vec![1; count]);
                assert!(map((0..count).collect(), |i| i * i).into_iter().eq((0..count).map(|i| i * i)));
            }
        };
        check();
        #[cfg(feature = "rayon")]
        for threads in 1..=3 {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(check);
        }
    }
}
