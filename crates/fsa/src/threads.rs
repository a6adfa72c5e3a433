//! Work on several FSAs, or on parts of one, by several threads where it pays.
//!
//! Who is ready takes the next job, the calling thread, too: to wake another takes as long as many a batch (some 50 µs, more if the processor sleeps).
//! What comes out does not depend on who did it.

use std::ops::Range;
#[cfg(feature = "rayon")]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "rayon")]
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::arc::index;
use crate::view::FsaView;
use crate::{Error, FsaVec};

/// Below this number of arcs, threads cost more than they bring.
const ARCS_FOR_THREADS: usize = 1 << 14;

/// So many pieces of rows are made for each thread.
const PIECES: usize = 16;

/// So many times each thread comes for jobs, about.
#[cfg(feature = "rayon")]
const TURNS: usize = 32;

/// So often a thread that has no more jobs looks whether the others have finished theirs, before it sleeps until they have.
#[cfg(feature = "rayon")]
const LOOKS: usize = 256;

pub(crate) fn num_threads() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    1
}

/// Whether it pays to use several threads for this many arcs, and there are such.
pub(crate) fn worth(num_arcs: usize) -> bool {
    num_arcs >= ARCS_FOR_THREADS && num_threads() > 1
}

/// Runs both, the first by another thread meanwhile if `parallel` and one comes.
pub(crate) fn join<A: Send, B>(parallel: bool, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B) -> (A, B) {
    #[cfg(feature = "rayon")]
    if parallel && num_threads() > 1 {
        let (first, made) = (Mutex::new(Some(a)), Mutex::new(None));
        let make = || {
            let first = lock(&first).take();
            if let Some(first) = first {
                *lock(&made) = Some(first());
            }
        };
        let second = with_help(1, make, || {
            let second = b();
            make();
            second
        });
        return (made.into_inner().ok().flatten().expect("somebody took it"), second);
    }
    let _ = parallel;
    (a(), b())
}

#[cfg(feature = "rayon")]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So many more are called than are to help. A thread that wakes may come to the processor that the caller works on, and wait there until the caller has
/// done all, though another processor is idle: in virtual machines Linux does not take one that sleeps for idle. Whoever comes first helps then. A
/// caller that belongs to the pool leaves one thread less to call.
#[cfg(feature = "rayon")]
pub(crate) fn spare_calls() -> usize {
    usize::from(rayon::current_thread_index().is_none())
}

/// Does `work` here, and `help` meanwhile on so many threads more as come.
#[cfg(feature = "rayon")]
fn with_help<R>(others: usize, help: impl Fn() + Sync, work: impl FnOnce() -> R) -> R {
    let called = others + spare_calls();
    let (came, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
    rayon::in_place_scope(|scope| {
        for _ in 0..called {
            scope.spawn(|_| {
                if came.fetch_add(1, Ordering::Relaxed) < others {
                    help();
                }
                left.fetch_add(1, Ordering::Release);
            });
        }
        let result = work();
        look(|| left.load(Ordering::Acquire) == called);
        result
    })
}

/// Looks for a while whether others are ready, where the next thing would be to sleep until they are. A thread of the pool looks for itself.
#[cfg(feature = "rayon")]
pub(crate) fn look(ready: impl Fn() -> bool) {
    let looks = if rayon::current_thread_index().is_none() { LOOKS } else { 0 };
    for _ in 0..looks {
        if ready() {
            break;
        }
        std::thread::yield_now();
    }
}

/// Counts one less when it goes, also if that is by a panic.
#[cfg(feature = "rayon")]
pub(crate) struct OneLess<'a>(pub(crate) &'a AtomicUsize);

#[cfg(feature = "rayon")]
impl Drop for OneLess<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Jobs that threads come for.
#[cfg(feature = "rayon")]
struct Jobs<J> {
    left: Mutex<std::vec::IntoIter<J>>,
    /// How many a thread takes when it comes.
    at_once: usize,
}

/// Where a thread takes jobs: the caller takes the first ones, who helps the last ones. So a processor has mostly the same part of the work, whose input
/// and output the operation before has left in its caches.
#[cfg(feature = "rayon")]
#[derive(Debug, Clone, Copy)]
enum End {
    First,
    Last,
}

#[cfg(feature = "rayon")]
impl<J> Jobs<J> {
    fn new(jobs: impl ExactSizeIterator<Item = J>) -> Self {
        let at_once = (jobs.len() / (TURNS * num_threads())).max(1);
        Self { left: Mutex::new(jobs.collect::<Vec<_>>().into_iter()), at_once }
    }

    /// The next jobs from this end, if there are any.
    fn next(&self, end: End) -> Option<Vec<J>> {
        let mut left = lock(&self.left);
        let jobs: Vec<J> = match end {
            End::First => left.by_ref().take(self.at_once).collect(),
            End::Last => left.by_ref().rev().take(self.at_once).collect(),
        };
        (!jobs.is_empty()).then_some(jobs)
    }
}

/// Does all jobs, on several threads if `parallel`.
pub(crate) fn share<J: Send>(parallel: bool, jobs: impl ExactSizeIterator<Item = J> + Send, run: impl Fn(J) + Sync) {
    #[cfg(feature = "rayon")]
    if parallel && jobs.len() > 1 {
        let jobs = Jobs::new(jobs);
        let work = |end| {
            while let Some(mine) = jobs.next(end) {
                mine.into_iter().for_each(&run);
            }
        };
        with_help(num_threads() - 1, || work(End::Last), || work(End::First));
        return;
    }
    let _ = parallel;
    jobs.for_each(run);
}

/// `run` on each of `jobs` and its number, on several threads where `num_arcs` to go through are worth it; the results are in the order of the jobs.
///
/// # Errors
/// That of the first job that has one.
pub(crate) fn for_each_job<J: Send, T: Send>(
    num_arcs: usize,
    jobs: impl ExactSizeIterator<Item = J> + Send,
    run: impl Fn(usize, J) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if jobs.len() < 2 || !worth(num_arcs) {
        return jobs.enumerate().map(|(i, job)| run(i, job)).collect();
    }
    let mut results: Vec<_> = std::iter::repeat_with(|| None).take(jobs.len()).collect();
    let all = jobs.zip(&mut results).enumerate();
    share(true, all, |(i, (job, result))| *result = Some(run(i, job)));
    results.into_iter().flatten().collect()
}

/// `run` on each of `jobs` and its number; then `between` makes a second job of what came of each, alone, and `then` does these. On several threads, who
/// has done a job does the second one that came of it, too, if they are there in time.
///
/// # Errors
/// That of `between`.
pub(crate) fn share_twice<J: Send, T: Send, P: Send>(
    jobs: impl ExactSizeIterator<Item = J> + Send,
    run: impl Fn(usize, J) -> T + Sync,
    between: impl FnOnce(Vec<T>) -> Result<Vec<P>, Error>,
    then: impl Fn(P) + Sync,
) -> Result<(), Error> {
    #[cfg(feature = "rayon")]
    if jobs.len() > 1 && num_threads() > 1 {
        let (num_jobs, jobs) = (jobs.len(), Jobs::new(jobs.enumerate()));
        return Twice { num_jobs, jobs, run, then, made: Mutex::default(), second: OnceLock::new() }.share(between);
    }
    let made = jobs.enumerate().map(|(i, job)| run(i, job)).collect();
    between(made)?.into_iter().for_each(then);
    Ok(())
}

/// What threads that [`share_twice`] have in common.
#[cfg(feature = "rayon")]
struct Twice<J, T, P, R, S> {
    num_jobs: usize,
    jobs: Jobs<(usize, J)>,
    run: R,
    then: S,
    /// What came of jobs, with their numbers, from threads that found no more to do.
    made: Mutex<Vec<(usize, T)>>,
    /// The second jobs that nobody has begun. There are none if there was an error.
    second: OnceLock<Vec<Mutex<Option<P>>>>,
}

#[cfg(feature = "rayon")]
impl<J: Send, T: Send, P: Send, R: Fn(usize, J) -> T + Sync, S: Fn(P) + Sync> Twice<J, T, P, R, S> {
    fn share(&self, between: impl FnOnce(Vec<T>) -> Result<Vec<P>, Error>) -> Result<(), Error> {
        let helping = AtomicUsize::new(0);
        let help = || {
            helping.fetch_add(1, Ordering::SeqCst);
            let _one_less = OneLess(&helping);
            let mine = self.do_first(End::Last);
            // To sleep until the second jobs are there would take longer than these.
            let mut looks = 0;
            while self.second.get().is_none() && looks < LOOKS {
                looks += 1;
                std::thread::yield_now();
            }
            self.do_second(mine.into_iter());
        };
        with_help(num_threads() - 1, help, || {
            let mine = self.do_first(End::First);
            // What is missing when nobody helps any more never comes: a helper panicked, which the scope passes on.
            while lock(&self.made).len() < self.num_jobs && helping.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
            let mut made = std::mem::take(&mut *lock(&self.made));
            if made.len() < self.num_jobs {
                return Ok(());
            }
            made.sort_unstable_by_key(|&(i, _)| i);
            let second = between(made.into_iter().map(|(_, made)| made).collect());
            let (second, result) = match second {
                Ok(second) => (second, Ok(())),
                Err(error) => (vec![], Err(error)),
            };
            let all = 0..second.len();
            self.second.get_or_init(|| second.into_iter().map(|job| Mutex::new(Some(job))).collect());
            self.do_second(mine.into_iter());
            // What others have made and not come back for.
            self.do_second(all.rev());
            result
        })
    }

    /// Does jobs from this end as long as there are, and says which.
    fn do_first(&self, end: End) -> Vec<usize> {
        let mut made = vec![];
        while let Some(next) = self.jobs.next(end) {
            made.extend(next.into_iter().map(|(i, job)| (i, (self.run)(i, job))));
        }
        let mine = made.iter().map(|&(i, _)| i).collect();
        lock(&self.made).append(&mut made);
        mine
    }

    /// Does those of these second jobs that are there and not begun.
    fn do_second(&self, jobs: impl Iterator<Item = usize>) {
        let Some(second) = self.second.get() else { return };
        for job in jobs.filter_map(|job| second.get(job)) {
            let job = lock(job).take();
            job.into_iter().for_each(&self.then);
        }
    }
}

/// `run` on each FSA, on several threads where it pays; the results are in the order of the FSAs.
///
/// # Errors
/// That of the first FSA that has one.
pub(crate) fn for_each<T: Send>(
    fsas: &FsaVec,
    run: impl Fn(usize, FsaView<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    for_each_job(fsas.num_arcs(), fsas.iter(), run)
}

/// [`for_each`] where each FSA has something of its own to write to, such as a part of the output.
///
/// # Errors
/// That of the first FSA that has one.
pub(crate) fn for_each_with<P: Send, T: Send>(
    fsas: &FsaVec,
    own: Vec<P>,
    run: impl Fn(usize, FsaView<'_>, P) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    debug_assert_eq!(own.len(), fsas.num_fsas());
    for_each_job(fsas.num_arcs(), fsas.iter().zip(own), |i, (fsa, own)| run(i, fsa, own))
}

/// One entry for each state, as the parts of the FSAs.
pub(crate) fn by_states<'a, T>(fsas: &FsaVec, entries: &'a mut [T]) -> Vec<&'a mut [T]> {
    split(entries, fsas.iter().map(|fsa| fsa.num_states()))
}

/// One entry for each arc, as the parts of the FSAs.
pub(crate) fn by_arcs<'a, T>(fsas: &FsaVec, entries: &'a mut [T]) -> Vec<&'a mut [T]> {
    split(entries, fsas.iter().map(|fsa| fsa.arcs().len()))
}

fn split<T>(mut entries: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let each = sizes.map(|size| {
        let (part, rest) = std::mem::take(&mut entries).split_at_mut(size);
        entries = rest;
        part
    });
    each.collect()
}

/// Rows cut in pieces of about as many values each, several for each thread if `parallel`; `splits` counts the values of the rows.
pub(crate) fn pieces(parallel: bool, splits: &[i32]) -> Vec<Range<usize>> {
    let num_rows = splits.len() - 1;
    let num_pieces = if parallel { PIECES * num_threads() } else { 1 };
    let values = index(splits[num_rows] - splits[0]).div_ceil(num_pieces);
    let (mut pieces, mut row) = (Vec::with_capacity(num_pieces + 1), 0);
    while row < num_rows {
        let until = index(splits[row]) + values;
        let end = splits.partition_point(|&split| index(split) < until).clamp(row + 1, num_rows);
        pieces.push(row..end);
        row = end;
    }
    pieces
}

/// Whether `test` holds for all rows, asked of pieces of them, on several threads where it pays.
pub(crate) fn all_rows(splits: &[i32], test: impl Fn(Range<usize>) -> bool + Sync) -> bool {
    let parallel = worth(index(splits[splits.len() - 1] - splits[0]));
    let all = AtomicBool::new(true);
    share(parallel, pieces(parallel, splits).into_iter(), |rows| {
        if all.load(Ordering::Relaxed) && !test(rows) {
            all.store(false, Ordering::Relaxed);
        }
    });
    all.into_inner()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// On pools of one, two and three threads, and from outside of any.
    fn on_pools(test: impl Fn() + Sync) {
        test();
        #[cfg(feature = "rayon")]
        for threads in 1..=3 {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&test);
        }
    }

    #[test]
    fn each_job_is_done_once() {
        on_pools(|| {
            for count in [0, 1, 2, 63, 1000] {
                let mut done = vec![0; count];
                share(true, done.iter_mut(), |done| *done += 1);
                assert_eq!(done, vec![1; count]);
            }
        });
    }

    #[test]
    fn no_more_threads_work_at_once_than_there_are() {
        on_pools(|| {
            let (working, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            share(true, 0..500, |_| {
                most.fetch_max(1 + working.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
                std::thread::yield_now();
                working.fetch_sub(1, Ordering::SeqCst);
            });
            assert!((1..=num_threads()).contains(&most.into_inner()));
        });
    }

    #[test]
    fn results_and_errors_are_those_of_one_thread() {
        on_pools(|| {
            let squares = for_each_job(usize::MAX, 0..500, |i, job| Ok((i, job * job))).unwrap();
            assert!(squares.into_iter().enumerate().all(|(i, square)| square == (i, i * i)));
            let odd = |i: usize, _| if i % 2 == 1 { Err(Error::SingleState { fsa: i }) } else { Ok(()) };
            assert_eq!(for_each_job(usize::MAX, 0..500, odd), Err(Error::SingleState { fsa: 1 }));
        });
    }

    #[test]
    fn what_came_of_jobs_is_done_once_and_in_order() {
        on_pools(|| {
            for count in [0, 1, 2, 63, 1000] {
                let mut done = vec![0; count];
                let twice = |i: usize, job: usize| i + job;
                let all = &mut done;
                let numbered = |made: Vec<usize>| Ok(made.into_iter().zip(all).collect());
                share_twice(0..count, twice, numbered, |(made, done)| *done += made).unwrap();
                assert_eq!(done, (0..count).map(|i| 2 * i).collect::<Vec<_>>());
                let refuse = |_| Err::<Vec<()>, _>(Error::SingleState { fsa: count });
                let refused = share_twice(0..count, twice, refuse, |()| panic!("there are no second jobs"));
                assert_eq!(refused, Err(Error::SingleState { fsa: count }));
            }
        });
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn a_panic_is_passed_on() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for panics_at in [0, 1, 99, 199] {
            let fail = |i: usize, job: usize| assert!(i != panics_at, "{job} as it is meant to");
            let run = || share_twice(0..200, fail, Ok, |()| ());
            let run = std::panic::AssertUnwindSafe(|| pool.install(run));
            assert!(std::panic::catch_unwind(run).is_err());
            let fail = |job: usize| assert!(job != panics_at, "as it is meant to");
            let run = || share_twice(0..200, |i, _| i, Ok, fail);
            let run = std::panic::AssertUnwindSafe(|| pool.install(run));
            assert!(std::panic::catch_unwind(run).is_err());
        }
    }

    #[test]
    fn pieces_are_all_rows() {
        let splits: Vec<i32> = (0..=1000).map(|row| if row > 500 { 40_000 + row } else { row / 7 }).collect();
        on_pools(|| {
            for parallel in [false, true] {
                let pieces = pieces(parallel, &splits);
                assert!(pieces.iter().all(|rows| rows.start < rows.end));
                assert_eq!(pieces.into_iter().flatten().collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
            }
            for wrong in [0, 499, 999] {
                assert!(!all_rows(&splits, |mut rows| rows.all(|row| row != wrong)));
            }
            assert!(all_rows(&splits, |_| true));
        });
        assert_eq!(pieces(true, &[0]), []);
    }
}
