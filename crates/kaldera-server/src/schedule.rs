//! Threads that compute, and the order of their work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use kaldera::base::panics;
use rayon::ThreadPoolBuilder;
use tokio::sync::oneshot;

/// The place of work in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// A chunk of live speech, which arrived at this time: before any file, the oldest chunk first.
    Live(Instant),
    /// A part of a file, after this number of its parts: a short file does not wait for the end of
    /// a long one.
    File(usize),
}

/// Threads that compute. All threads but one may work on files at the same time, so that live
/// speech finds a thread.
#[derive(Clone)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    max_files: usize,
}

#[derive(Default)]
struct Queue {
    live: BinaryHeap<Reverse<Work>>,
    files: BinaryHeap<Reverse<Work>>,
    running_files: usize,
    /// Number of works so far.
    count: u64,
    closed: bool,
}

struct Work {
    turn: Turn,
    number: u64,
    run: Box<dyn FnOnce() + Send>,
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Work {}

impl PartialOrd for Work {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Work {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.turn, self.number).cmp(&(other.turn, other.number))
    }
}

impl Pool {
    /// Starts this number of threads, or as many as the system allows. Each is rayon's only thread
    /// for its work: in rayon's common pool the order would be lost.
    ///
    /// # Errors
    /// The system's error if there is no thread at all.
    pub(crate) fn new(jobs: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            max_files: jobs.saturating_sub(1).max(1),
        });
        for job in 0..jobs.max(1) {
            let own = Arc::clone(&shared);
            let spawned = thread::Builder::new().name(format!("compute-{job}")).spawn(move || {
                let _pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
                own.work();
            });
            if let Err(error) = spawned {
                if job == 0 {
                    return Err(error);
                }
                tracing::warn!("only {job} of {jobs} threads could be started: {error}");
                break;
            }
        }
        Ok(Self { shared })
    }

    /// Runs work on a thread of the pool and returns its result. Work whose caller is gone is not
    /// run.
    ///
    /// # Errors
    /// [`Panicked`] if the work panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        turn: Turn,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (tell, told) = oneshot::channel();
        let run = Box::new(move || {
            if !tell.is_closed() {
                let _ = tell.send(panics::catch(work).map_err(Panicked));
            }
        });
        self.shared.push(turn, run);
        told.await.unwrap_or_else(|_| Err(Panicked("the server is ending".to_owned())))
    }

    /// Returns the number of chunks and parts that wait for a thread.
    pub(crate) fn num_waiting(&self) -> usize {
        let queue = self.shared.lock();
        queue.live.len() + queue.files.len()
    }

    /// Ends the threads when their work is done; work that waits is dropped.
    pub(crate) fn close(&self) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        queue.live.clear();
        queue.files.clear();
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("max_files", &self.shared.max_files).finish_non_exhaustive()
    }
}

/// The message of a panic in a library.
#[derive(Debug, thiserror::Error)]
#[error("the recogniser failed: {0}")]
pub(crate) struct Panicked(String);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, turn: Turn, run: Box<dyn FnOnce() + Send>) {
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        queue.count += 1;
        let work = Reverse(Work { turn, number: queue.count, run });
        match turn {
            Turn::Live(_) => queue.live.push(work),
            Turn::File(_) => queue.files.push(work),
        }
        self.changed.notify_one();
    }

    /// Does work until the pool is closed.
    fn work(&self) {
        let mut queue = self.lock();
        while !queue.closed {
            let next = match queue.live.pop() {
                None if queue.running_files < self.max_files => queue.files.pop(),
                next => next,
            };
            let Some(Reverse(Work { turn, run, .. })) = next else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let is_file = usize::from(matches!(turn, Turn::File(_)));
            queue.running_files += is_file;
            drop(queue);
            run();
            queue = self.lock();
            queue.running_files -= is_file;
            // Another thread may have left a file because of this one.
            if is_file > 0 && !queue.files.is_empty() {
                self.changed.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn live_speech_goes_first_and_short_files_overtake_long_ones() {
        let pool = Pool::new(1).unwrap();
        let (release, wait) = mpsc::channel::<()>();
        pool.shared.push(Turn::File(0), Box::new(move || wait.recv().unwrap()));
        while pool.num_waiting() > 0 {
            thread::yield_now();
        }
        let now = Instant::now();
        let later = now + Duration::from_millis(1);
        let turns = [Turn::File(2), Turn::Live(later), Turn::File(0), Turn::Live(now), Turn::File(0)];
        let (done, order) = mpsc::channel();
        for (number, turn) in turns.into_iter().enumerate() {
            let done = done.clone();
            pool.shared.push(turn, Box::new(move || done.send(number).unwrap()));
        }
        release.send(()).unwrap();
        let order: Vec<usize> = order.iter().take(turns.len()).collect();
        assert_eq!(order, [3, 1, 2, 4, 0]);
        pool.close();
    }

    #[test]
    fn a_thread_is_left_for_live_speech() {
        let pool = Pool::new(2).unwrap();
        let (release, wait) = mpsc::channel::<()>();
        pool.shared.push(Turn::File(0), Box::new(move || wait.recv().unwrap()));
        let (done, order) = mpsc::channel();
        for turn in [Turn::File(1), Turn::Live(Instant::now())] {
            let done = done.clone();
            pool.shared.push(turn, Box::new(move || done.send(turn).unwrap()));
        }
        assert!(matches!(order.recv().unwrap(), Turn::Live(_)));
        assert!(order.recv_timeout(Duration::from_millis(20)).is_err());
        release.send(()).unwrap();
        assert_eq!(order.recv().unwrap(), Turn::File(1));
        pool.close();
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_thread_lives_on() {
        let pool = Pool::new(1).unwrap();
        let error = pool.run(Turn::File(0), || -> u8 { panic!("no rows") }).await.unwrap_err();
        assert_eq!(error.to_string(), "the recogniser failed: no rows");
        assert_eq!(pool.run(Turn::File(0), || 7).await.unwrap(), 7);
        pool.close();
        assert!(pool.run(Turn::File(0), || 7).await.is_err());
    }
}
