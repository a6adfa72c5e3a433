//! The pool of threads, where it may not be possible to start any.

/// Runs `work` in the pool that algorithms use. Where its threads cannot be started, as under a
/// limit on processes or on memory, this thread does all of it.
///
/// rayon's own pool would start when it is first used, panic where it cannot, and not be tried a
/// second time.
#[cfg(feature = "rayon")]
pub(crate) fn with_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match rayon::ThreadPoolBuilder::new().build() {
        Ok(pool) => pool.install(work),
        Err(error) => {
            tracing::debug!("cannot start a pool of threads: {error}");
            // It starts no thread; one that is there already is as good.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
            work()
        }
    }
}

/// Without the feature `rayon` there is one thread.
#[cfg(not(feature = "rayon"))]
pub(crate) fn with_pool<R>(work: impl FnOnce() -> R) -> R {
    work()
}
