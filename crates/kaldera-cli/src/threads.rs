//! The pool of threads, where it may not be possible to start any.

/// Starts the pool that algorithms use. Where its threads cannot be started, as under a limit on processes or on memory, this thread
/// does all the work.
///
/// The pool would start itself when it is first used, and panic where it cannot.
#[cfg(feature = "rayon")]
pub(crate) fn start() {
    let all = || rayon::ThreadPoolBuilder::new();
    if let Err(error) = all().build_global() {
        // A pool that is there already is as good.
        if let Err(_again) = all().num_threads(1).use_current_thread().build_global() {
            tracing::debug!("there is a pool of threads already: {error}");
        }
    }
}

/// Without the feature `rayon` there is one thread.
#[cfg(not(feature = "rayon"))]
pub(crate) fn start() {}
