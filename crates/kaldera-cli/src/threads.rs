//! The pool of threads, where it may not be possible to start any.

/// Starts the pool that algorithms use. Where its threads cannot be started, as under a limit on processes or on memory, this thread
/// does all the work.
///
/// The pool would start itself when it is first used, and panic where it cannot. It can be tried only once, so another one is tried first.
#[cfg(feature = "rayon")]
pub(crate) fn start() {
    let pool = || rayon::ThreadPoolBuilder::new();
    let started = match pool().build() {
        Ok(_) => pool().build_global(),
        Err(_) => pool().num_threads(1).use_current_thread().build_global(),
    };
    if let Err(error) = started {
        tracing::debug!("there is a pool of threads already: {error}");
    }
}

/// Without the feature `rayon` there is one thread.
#[cfg(not(feature = "rayon"))]
pub(crate) fn start() {}
