//! The loop of every operation that picks rows: runs of consecutive entries, followed down the
//! layers.

use std::sync::Arc;

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::{Run, collect};
use crate::row_splits::RowSplits;
use crate::shape::Layer;

impl Run {
    /// Returns a run of every entry of a source of this size.
    pub(crate) fn whole(source: usize, size: usize) -> Result<Self, Error> {
        Ok(Self { source: number_of(source)?, begin: 0, end: Error::fit("the number of rows", size)? })
    }
}

/// Returns the number of a source as it is stored in a [`Run`].
pub(crate) fn number_of(source: usize) -> Result<u32, Error> {
    u32::try_from(source).map_err(|_| Error::TooLarge { what: "the number of sources", size: source as u64 })
}

/// Gathers the rows that `runs` name, one after the other: returns their layers, and the runs of
/// their elements.
///
/// `sources` are the layers of each source from the axis of the runs down. O(runs x layers + copied
/// rows and elements).
pub(crate) fn gather(sources: &[&[Arc<Layer>]], mut runs: Vec<Run>) -> Result<(Vec<Arc<Layer>>, Vec<Run>), Error> {
    let num_layers = sources.first().map_or(0, |layers| layers.len());
    let mut made = Vec::with_capacity(num_layers);
    for depth in 0..num_layers {
        let rows = runs.iter().map(Run::len).sum();
        Error::fit("the number of rows", rows)?;
        let splits_of: Vec<&[i32]> = sources.iter().map(|layers| layers[depth].splits.as_ref()).collect();
        let mut splits = memory::with_capacity(rows + 1);
        splits.push(0);
        let mut end = 0;
        for run in &mut runs {
            let from = splits_of[run.source as usize];
            let (first, last) = (from[run.begin as usize], from[run.end as usize]);
            let shift = end - first;
            end = lengthened(end, last - first)?;
            splits.extend(from[run.begin as usize + 1..=run.end as usize].iter().map(|split| split + shift));
            (run.begin, run.end) = (first, last);
        }
        made.push(Layer::new(RowSplits::trusted(splits)));
    }
    Ok((made, runs))
}

/// Same as [`gather`], for single rows in any order: (source, row), where row -1 is an empty one.
///
/// Sources without layers have elements in the place of rows, of which none can be -1.
pub(crate) fn gather_rows(
    sources: &[&[Arc<Layer>]],
    rows: impl ExactSizeIterator<Item = (u32, i32)> + Clone,
) -> Result<(Vec<Arc<Layer>>, Vec<Run>), Error> {
    /// Number of rows between the prefetch of one and its use.
    const DISTANCE: usize = 256;
    if sources.iter().all(|layers| layers.is_empty()) {
        return Ok((Vec::new(), memory::collect(rows.map(|(source, row)| Run { source, begin: row, end: row + 1 }))));
    }
    Error::fit("the number of rows", rows.len())?;
    let tops: Vec<&[i32]> = sources.iter().map(|layers| layers[0].splits.as_ref()).collect();
    let mut splits: Vec<i32> = memory::zeros(rows.len() + 1);
    let mut runs: Vec<Run> = memory::zeros(rows.len());
    let mut upcoming = rows.clone();
    upcoming.nth(DISTANCE - 1);
    let mut total = 0_u64;
    for ((source, row), (split, run)) in rows.zip(splits[1..].iter_mut().zip(&mut runs)) {
        if let Some((source, row)) = upcoming.next() {
            memory::prefetch_l2(tops[source as usize], row.max(0) as usize);
        }
        let top = tops[source as usize];
        let (begin, end) = match usize::try_from(row) {
            Ok(row) => (top[row], top[row + 1]),
            Err(_) => (0, 0),
        };
        total += (end - begin) as u64;
        // If it does not fit, all of them are discarded.
        *split = total as i32;
        *run = Run { source, begin, end };
    }
    i32::try_from(total).map_err(|_| Error::TooLarge { what: "the number of elements", size: total })?;
    let mut made = vec![Layer::new(RowSplits::trusted(splits))];
    if sources[0].len() > 1 {
        let below: Vec<_> = sources.iter().map(|layers| &layers[1..]).collect();
        let rest;
        (rest, runs) = gather(&below, runs)?;
        made.extend(rest);
    }
    Ok((made, runs))
}

/// Returns the index of every entry of the runs.
pub(crate) fn indexes_of(runs: &[Run]) -> Vec<i32> {
    collect(Vec::new(), runs, Run::len, |runs, slot| {
        for run in runs {
            let begin = run.begin;
            slot.append_with(run.len(), |i| begin.wrapping_add(i as i32));
        }
    })
}

/// Returns the merge map of the runs: index times number of sources, plus source.
pub(crate) fn merge_map_of(runs: &[Run], num_sources: usize) -> Result<Vec<u32>, Error> {
    let step = number_of(num_sources)?;
    let mut map = memory::with_capacity(runs.iter().map(Run::len).sum());
    for run in runs.iter().filter(|run| run.len() > 0) {
        let last = (run.end - 1) as u64 * u64::from(step) + u64::from(run.source);
        u32::try_from(last).map_err(|_| Error::TooLarge { what: "a number of the merge map", size: last })?;
        map.extend((run.begin..run.end).map(|index| index as u32 * step + run.source));
    }
    Ok(map)
}

/// Returns the number of elements after `more` are added.
fn lengthened(elements: i32, more: i32) -> Result<i32, Error> {
    let size = elements as u64 + more as u64;
    elements.checked_add(more).ok_or(Error::TooLarge { what: "the number of elements", size })
}
