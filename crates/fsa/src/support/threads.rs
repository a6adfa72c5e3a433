//! Work on several FSAs, or on parts of one, by several threads if there is enough of it. Results
//! do not depend on the number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera_base::par;

use crate::error::Error;
use crate::support::ids::index;

/// Number of arcs below which threads cost more than they gain.
const ARCS_FOR_THREADS: usize = 1 << 14;

/// Number of pieces of rows for each thread.
const PIECES: usize = 16;

/// Returns `true` if several threads are available and worth using for this many arcs.
pub(crate) fn worth(num_arcs: usize) -> bool {
    num_arcs >= ARCS_FOR_THREADS && par::num_threads() > 1
}

/// Does all jobs, on several threads if `parallel`.
pub(crate) fn share<J: Send>(parallel: bool, jobs: impl Iterator<Item = J>, run: impl Fn(J) + Sync) {
    if parallel { par::for_each(jobs.collect(), run) } else { jobs.for_each(run) }
}

/// Runs `run` on each of `jobs` and its number, on several threads if `num_arcs` to go through are
/// worth it; the results are in the order of the jobs.
///
/// # Errors
/// The error of the first job that has one.
pub(crate) fn for_each_job<J: Send, T: Send>(
    num_arcs: usize,
    jobs: impl ExactSizeIterator<Item = J>,
    run: impl Fn(usize, J) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if jobs.len() < 2 || !worth(num_arcs) {
        return jobs.enumerate().map(|(i, job)| run(i, job)).collect();
    }
    par::map(jobs.enumerate().collect(), |(i, job)| run(i, job)).into_iter().collect()
}

/// Returns the parts of these sizes, one after another.
pub(crate) fn split<T>(mut entries: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let each = sizes.map(|size| {
        let (part, rest) = std::mem::take(&mut entries).split_at_mut(size);
        entries = rest;
        part
    });
    each.collect()
}

/// Cuts rows into pieces of about as many values each, several for each thread if `parallel`;
/// `splits` counts the values of the rows.
pub(crate) fn pieces(parallel: bool, splits: &[i32]) -> Vec<Range<usize>> {
    let num_rows = splits.len() - 1;
    let num_pieces = if parallel { PIECES * par::num_threads() } else { 1 };
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

/// Returns `true` if `test` holds for all rows. Tests pieces of them, on several threads if there
/// are enough arcs.
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
    fn results_and_errors_are_those_of_one_thread() {
        on_pools(|| {
            let squares = for_each_job(usize::MAX, 0..500, |i, job| Ok((i, job * job))).unwrap();
            assert!(squares.into_iter().enumerate().all(|(i, square)| square == (i, i * i)));
            let odd = |i: usize, _| if i % 2 == 1 { Err(Error::SingleState { fsa: i }) } else { Ok(()) };
            assert_eq!(for_each_job(usize::MAX, 0..500, odd), Err(Error::SingleState { fsa: 1 }));
        });
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
