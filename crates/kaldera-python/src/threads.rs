//! Work on several threads, without Python's lock.
//!
//! A process that was forked has none of its parent's threads, so that a pool of them would wait
//! forever. Pools are therefore known by the process that made them. The mutex is only locked while
//! Python's lock is held, which `os.fork` holds too: a child never finds it locked.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::arguments::Count;
use crate::errors::{exception, value_error};
use crate::warnings;

/// The pools of one process by their numbers of threads: that for 0, and the last one of another
/// number. A pool that gives way ends with its work.
struct Pools {
    process: u32,
    pools: Vec<(usize, Arc<ThreadPool>)>,
}

static POOLS: Mutex<Pools> = Mutex::new(Pools { process: 0, pools: Vec::new() });

/// The pool of `threads` threads, at most one per processor. None and 0 mean one per processor,
/// or as many as `RAYON_NUM_THREADS` says.
fn pool(threads: Option<Count>) -> PyResult<Arc<ThreadPool>> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.map_or(0, |Count(threads)| threads.min(processors));
    let mut known = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if known.process != process {
        // Their threads do not exist here, and must not be waited for.
        std::mem::forget(std::mem::take(&mut known.pools));
        known.process = process;
    }
    if let Some((_, pool)) = known.pools.iter().find(|(number, _)| *number == threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(exception)?;
    let pool = Arc::new(pool);
    known.pools.retain(|(number, _)| (*number == 0) != (threads == 0));
    known.pools.push((threads, Arc::clone(&pool)));
    Ok(pool)
}

/// Runs `work` on this thread without Python's lock, then issues its warnings.
pub(crate) fn detach<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let (made, told) = py.detach(|| warnings::kept(work));
    warnings::tell(py, told)?;
    Ok(made)
}

/// Runs `work` in a pool of `threads` threads (none: one per processor), without Python's lock.
pub(crate) fn run<R: Send>(py: Python<'_>, threads: Option<Count>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let pool = pool(threads)?;
    detach(py, || pool.install(work))
}

/// Runs `work` with the value of `mutex`, in the pool of all processors, without Python's lock.
/// The mutex is locked outside of the pool: its threads may take other work while they wait for
/// parts of their own, and would wait for themselves.
pub(crate) fn run_locked<T: Send, R: Send>(
    py: Python<'_>,
    mutex: &Mutex<T>,
    work: impl FnOnce(&mut T) -> R + Send,
) -> PyResult<R> {
    let pool = pool(None)?;
    detach(py, || {
        let mut held = mutex.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        pool.install(|| work(held))
    })
}

/// The longest time that a signal waits.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

/// As [`run`], for long work: at Ctrl-C the flag passed to `work` becomes true, and its result is
/// dropped.
pub(crate) fn run_long<R: Send>(
    py: Python<'_>,
    threads: Option<Count>,
    work: impl FnOnce(&AtomicBool) -> R + Send,
) -> PyResult<R> {
    let pool = pool(threads)?;
    let stop = &AtomicBool::new(false);
    let wait = || {
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || {
                // Its receiver waits.
                let _ = sender.send(pool.install(|| work(stop)));
            });
            let mut interrupted = Ok(());
            loop {
                match receiver.recv_timeout(BETWEEN_SIGNALS) {
                    Ok(result) => return interrupted.map(|()| result),
                    Err(RecvTimeoutError::Timeout) if interrupted.is_ok() => {
                        interrupted = Python::attach(|py| py.check_signals());
                        stop.store(interrupted.is_err(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(value_error("the work ended without a result")),
                }
            }
        })
    };
    detach(py, wait)?
}
