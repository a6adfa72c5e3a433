//! Work on several threads, results in order, memory bounded.
//!
//! Threads take the next index, work on it, and leave the result in a short queue that starts at
//! the first result not yet committed. The thread that completes the front of the queue commits
//! it and all results that are ready behind it, while the others go on working. There is no
//! thread for writing, and no lock is held during work or commit.
//!
//! ```text
//!   index     0 1 2 3 | 4      5     6      7      | 8 9 ...
//!             committed | working ready working ready | next
//!                         ^ first: whoever completes 4 commits 4 and 5
//! ```
//!
//! Recordings may be seconds or hours long. So the results waiting behind the front are limited
//! by their size first, and then by their number. A thread that would run further ahead waits.
//! Results are recycled.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most results, per thread, that the work may run ahead of the first that is not committed.
const WINDOW_PER_JOB: usize = 64;

/// The size in bytes of waiting results above which no more work is begun.
const MAX_WAITING_BYTES: usize = 8 << 20;

/// A result that knows how much memory it keeps.
pub(crate) trait Weighed: Default + Send {
    /// In bytes.
    fn bytes(&self) -> usize;
}

/// Calls `work(state, index, result)` for each index below `count`, on `jobs` threads with a state
/// each, and `commit(index, result)` for one index after the other. `result` is a used one or a
/// default one.
///
/// # Errors
/// The first error of `commit`; nothing is committed after it.
pub(crate) fn run<S, T, E>(
    jobs: usize,
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, &mut T) + Sync,
    commit: impl FnMut(usize, &mut T) -> Result<(), E> + Send,
) -> Result<(), E>
where
    T: Weighed,
    E: Send,
{
    // One thread runs the same code, so that tests of one job also test the build without
    // threads.
    let jobs = if cfg!(feature = "rayon") { jobs.min(count).max(1) } else { 1 };
    let run = Run {
        count,
        jobs,
        state,
        work,
        queue: Mutex::new(Queue {
            next: 0,
            first: 0,
            done: VecDeque::new(),
            waiting: 0,
            spare: Vec::new(),
            commit: Some(commit),
            stopped: false,
            outcome: Ok(()),
        }),
        moved: Condvar::new(),
    };
    on_threads(jobs, || run.worker());
    run.queue.into_inner().unwrap_or_else(PoisonError::into_inner).outcome
}

/// Calls `worker` on this thread and on `jobs` - 1 others. Each recording is processed by one
/// thread, so a thread pool would have no advantage.
fn on_threads(jobs: usize, worker: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        let start = |job| match std::thread::Builder::new().spawn_scoped(scope, &worker) {
            Ok(thread) => Some(thread),
            Err(error) => {
                tracing::warn!("cannot start {jobs} threads ({error}); going on with {job}");
                None
            }
        };
        let others: Vec<_> = (1..jobs).map_while(start).collect();
        worker();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

struct Run<N, W, T, C, E> {
    count: usize,
    jobs: usize,
    state: N,
    work: W,
    queue: Mutex<Queue<T, C, E>>,
    moved: Condvar,
}

struct Queue<T, C, E> {
    /// The first index that no thread has taken.
    next: usize,
    /// The index of `done[0]`.
    first: usize,
    done: VecDeque<Option<T>>,
    /// Bytes in `done`.
    waiting: usize,
    spare: Vec<T>,
    /// Away while a thread commits.
    commit: Option<C>,
    stopped: bool,
    outcome: Result<(), E>,
}

impl<S, N, W, T, C, E> Run<N, W, T, C, E>
where
    N: Fn() -> S,
    W: Fn(&mut S, usize, &mut T),
    T: Weighed,
    C: FnMut(usize, &mut T) -> Result<(), E>,
{
    fn worker(&self) {
        let _unblock = StopOnPanic(self);
        let mut state = (self.state)();
        let mut queue = self.lock();
        loop {
            while !queue.stopped && queue.next < self.count && self.is_far_ahead(&queue) {
                queue = self.moved.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.stopped || queue.next == self.count {
                return;
            }
            let index = queue.next;
            queue.next += 1;
            let mut result = queue.spare.pop().unwrap_or_default();
            drop(queue);

            (self.work)(&mut state, index, &mut result);

            queue = self.lock();
            queue.put(index, result);
            queue = self.commit_ready(queue);
        }
    }

    /// Commits the results that are ready at the front, unless another thread is committing: that
    /// thread will see them.
    fn commit_ready<'a>(&'a self, mut queue: MutexGuard<'a, Queue<T, C, E>>) -> MutexGuard<'a, Queue<T, C, E>> {
        let Some(mut commit) = queue.commit.take() else { return queue };
        while let Some((index, mut result)) = queue.take_first() {
            self.moved.notify_all();
            drop(queue);
            let outcome = commit(index, &mut result);
            queue = self.lock();
            // Results beyond one per job, left from a long queue, are dropped.
            if queue.spare.len() < self.jobs {
                queue.spare.push(result);
            }
            if outcome.is_err() {
                queue.outcome = outcome;
                self.stop(&mut queue);
            }
        }
        queue.commit = Some(commit);
        queue
    }
}

impl<N, W, T, C, E> Run<N, W, T, C, E> {
    fn lock(&self) -> MutexGuard<'_, Queue<T, C, E>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some thread works on the front, or it would be committed: waiting for it comes to an end.
    fn is_far_ahead(&self, queue: &Queue<T, C, E>) -> bool {
        queue.next - queue.first >= WINDOW_PER_JOB * self.jobs || queue.waiting >= MAX_WAITING_BYTES
    }

    fn stop(&self, queue: &mut Queue<T, C, E>) {
        queue.stopped = true;
        self.moved.notify_all();
    }
}

impl<T: Weighed, C, E> Queue<T, C, E> {
    fn put(&mut self, index: usize, result: T) {
        let place = index - self.first;
        if self.done.len() <= place {
            self.done.resize_with(place + 1, || None);
        }
        self.waiting += result.bytes();
        self.done[place] = Some(result);
    }

    fn take_first(&mut self) -> Option<(usize, T)> {
        if self.stopped {
            return None;
        }
        let result = self.done.front_mut()?.take()?;
        self.done.pop_front();
        self.first += 1;
        self.waiting -= result.bytes();
        Some((self.first - 1, result))
    }
}

/// Stops the other threads if this one panics, because the result that they wait for will not
/// come.
struct StopOnPanic<'a, N, W, T, C, E>(&'a Run<N, W, T, C, E>);

impl<N, W, T, C, E> Drop for StopOnPanic<'_, N, W, T, C, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(&mut self.0.lock());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    impl Weighed for usize {
        fn bytes(&self) -> usize {
            size_of::<Self>()
        }
    }

    impl Weighed for () {
        fn bytes(&self) -> usize {
            0
        }
    }

    /// Work of uneven length, so that results complete out of order.
    fn squares(jobs: usize, count: usize) -> Vec<(usize, usize)> {
        let mut committed = Vec::new();
        run(
            jobs,
            count,
            || (),
            |(), index, result: &mut usize| {
                std::thread::sleep(Duration::from_micros((index as u64 * 7919) % 300));
                *result = index * index;
            },
            |index, result| {
                committed.push((index, *result));
                Ok::<_, ()>(())
            },
        )
        .unwrap();
        committed
    }

    #[test]
    fn results_are_committed_in_order_whatever_the_number_of_threads() {
        for count in [0, 1, 2, 100] {
            let expected: Vec<_> = (0..count).map(|index| (index, index * index)).collect();
            for jobs in [0, 1, 2, 4, 7] {
                assert_eq!(squares(jobs, count), expected, "{jobs} jobs");
            }
        }
    }

    #[test]
    fn results_are_recycled_and_work_does_not_run_away() {
        struct Large;
        static MADE: AtomicUsize = AtomicUsize::new(0);
        impl Default for Large {
            fn default() -> Self {
                MADE.fetch_add(1, Ordering::Relaxed);
                Self
            }
        }
        impl Weighed for Large {
            fn bytes(&self) -> usize {
                MAX_WAITING_BYTES / 3
            }
        }
        let ahead = AtomicUsize::new(0);
        let slow_commit = |index, _: &mut Large| {
            ahead.fetch_max(MADE.load(Ordering::Relaxed).saturating_sub(index), Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(100));
            Ok::<_, ()>(())
        };
        run(2, 300, || (), |(), _, _| (), slow_commit).unwrap();
        // Three that wait, one with each thread, and one that is committed.
        assert!(ahead.load(Ordering::Relaxed) <= 6, "{} results at once", ahead.load(Ordering::Relaxed));
    }

    #[test]
    fn the_first_error_of_a_commit_ends_the_run() {
        for jobs in [1, 4] {
            let mut committed = 0;
            let outcome = run(
                jobs,
                1000,
                || (),
                |(), _, _: &mut ()| (),
                |index, ()| {
                    if index == 5 {
                        return Err(index);
                    }
                    committed += 1;
                    Ok(())
                },
            );
            assert_eq!((outcome, committed), (Err(5), 5));
        }
    }

    #[test]
    #[should_panic(expected = "bad work")]
    fn a_panic_of_one_thread_does_not_leave_the_others_waiting() {
        let work = |(): &mut (), index: usize, (): &mut ()| assert!(index != 3, "bad work");
        let _ = run(4, 10_000, || (), work, |_, ()| Ok::<_, ()>(()));
    }
}
