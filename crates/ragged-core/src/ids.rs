//! Row splits to row ids and back, at the speed of memory.

use std::ops::Range;

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::Error;
use crate::kernels::{current_num_threads, join};

/// Elements that are written at once at the start of each row.
///
/// Short rows cost what the processor guesses wrong about their lengths, so no row of up to this many elements has a
/// branch of its own: it writes too many, and the next row writes over them.
const AHEAD: usize = 32;

/// The row of each element.
pub(crate) fn from_splits(splits: &[i32]) -> Vec<i32> {
    let mut ids = memory::zeros(splits[splits.len() - 1] as usize);
    write_from_splits(splits, &mut ids);
    ids
}

/// The row of each element, into memory of the right size.
pub(crate) fn write_from_splits(splits: &[i32], ids: &mut [i32]) {
    fill_parts(splits, 0, ids);
}

/// [`fill`] by as many threads as there are, each with rows of its own.
#[cfg(feature = "rayon")]
fn fill_parts(splits: &[i32], first_row: i32, ids: &mut [i32]) {
    /// Rows and elements together that are worth a task of their own.
    const TASK: usize = 1 << 17;
    let rows = splits.len() - 1;
    let work_before = |row: usize| (splits[row] - splits[0]) as usize + row;
    let work = work_before(rows);
    if work < 2 * TASK || rows < 2 || rayon::current_num_threads() == 1 {
        return fill(splits, first_row, ids);
    }
    // Where half of the work is done, so that neither a long row nor many empty ones leave a thread without any.
    let (mut row, mut high) = (1, rows - 1);
    while row < high {
        let middle = row.midpoint(high);
        if work_before(middle) < work / 2 { row = middle + 1 } else { high = middle }
    }
    let (left, right) = ids.split_at_mut((splits[row] - splits[0]) as usize);
    rayon::join(
        || fill_parts(&splits[..=row], first_row, left),
        || fill_parts(&splits[row..], first_row + row as i32, right),
    );
}

#[cfg(not(feature = "rayon"))]
use fill as fill_parts;

/// Writes the ids of the rows between `splits`, the first of which is number `first_row`; `ids` are their elements.
fn fill(splits: &[i32], first_row: i32, ids: &mut [i32]) {
    let offset = splits[0];
    for (id, ends) in (first_row..).zip(splits.windows(2)) {
        let (begin, end) = ((ends[0] - offset) as usize, (ends[1] - offset) as usize);
        match ids.get_mut(begin..begin + AHEAD) {
            Some(head) => {
                head.fill(id);
                if end > begin + AHEAD {
                    ids[begin + AHEAD..end].fill(id);
                }
            }
            None => ids[begin..end].fill(id),
        }
    }
}

/// Where each of `num_rows` rows begins and ends.
pub(crate) fn to_splits(ids: &[i32], num_rows: usize) -> Result<Vec<i32>, Error> {
    Error::fit("the number of rows", num_rows)?;
    Error::fit("the number of elements", ids.len())?;
    // The rows before that of the first element end where they begin.
    let mut splits = memory::zeros(num_rows + 1);
    if let (Some(&first), Some(&last)) = (ids.first(), ids.last()) {
        if first < 0 {
            return Err(outside(ids, 0, num_rows));
        }
        write_ends(ids, 0..ids.len() - 1, num_rows, 0, &mut splits)?;
        let ends = splits[1..].get_mut(last as usize..).filter(|ends| !ends.is_empty());
        ends.ok_or_else(|| outside(ids, ids.len() - 1, num_rows))?.fill(ids.len() as i32);
    }
    Ok(splits)
}

fn outside(ids: &[i32], position: usize, num_rows: usize) -> Error {
    Error::Index { axis: 0, position, found: ids[position].into(), size: num_rows }
}

/// [`Ends`] by as many threads as there are, each with splits of its own.
fn write_ends(
    ids: &[i32],
    elements: Range<usize>,
    num_rows: usize,
    first_split: usize,
    splits: &mut [i32],
) -> Result<(), Error> {
    /// Elements that are worth a task of their own.
    const TASK: usize = 1 << 18;
    if elements.len() < 2 * TASK || current_num_threads() == 1 {
        return dispatch(Ends { ids, elements, num_rows, first_split, splits });
    }
    let middle = elements.start.midpoint(elements.end);
    // What ends before the middle ends a row below that of the middle, if the ids do not fall.
    let cut = usize::try_from(ids[middle]).unwrap_or(0) + 1;
    let (left, right) = splits.split_at_mut(cut.saturating_sub(first_split).min(splits.len()));
    let second_split = first_split + left.len();
    let (left, right) = join(
        || write_ends(ids, elements.start..middle, num_rows, first_split, left),
        || write_ends(ids, middle..elements.end, num_rows, second_split, right),
    );
    left.and(right)
}

/// Writes the ends of the rows whose last element is among `elements`, none of which is the last of all, and of the rows without
/// elements behind them.
struct Ends<'a> {
    ids: &'a [i32],
    elements: Range<usize>,
    num_rows: usize,
    /// The number of the first of `splits`.
    first_split: usize,
    splits: &'a mut [i32],
}

/// Elements whose ids are compared with the next ones before any is used.
const BLOCK: usize = 256;

/// The elements of a block behind which a row ends, and room for a whole vector where fewer of its lanes count.
struct Places([i32; BLOCK + 16]);

impl Places {
    /// Adds those among the first vector of `ids`, which begin with that of element `first`, to the `count` that are there, and tells
    /// where the ids fall. `next_ids` are as many, one element on.
    #[inline(always)]
    fn add<S: Simd>(&mut self, s: S, first: usize, ids: &[i32], next_ids: &[i32], count: &mut usize) -> u32 {
        let nothing = s.splat_u32(0);
        let (a, b) = (s.load_partial_i32(ids, nothing), s.load_partial_i32(next_ids, nothing));
        let ends = s.not_equal_u32(a, b);
        let places = s.add_u32(s.lane_indexes(), s.splat_u32(first as u32));
        s.store_partial_i32(s.compress_u32(places, ends), &mut self.0[*count..][..S::LANES]);
        *count += ends.count_ones() as usize;
        s.not_equal_u32(s.max_i32(a, b), b)
    }
}

impl Kernel for Ends<'_> {
    type Output = Result<(), Error>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Result<(), Error> {
        let Self { ids, elements, num_rows, first_split, splits } = self;
        let (first, past_last) = (first_split as i32, (first_split + splits.len()) as i32);
        let mut places = Places([0; _]);
        for start in elements.clone().step_by(BLOCK) {
            let block = &ids[start..elements.end.min(start + BLOCK)];
            let next = &ids[start + 1..][..block.len()];
            let (mut falls, mut count) = (0, 0);
            match (block.first_chunk::<BLOCK>(), next.first_chunk::<BLOCK>()) {
                (Some(block), Some(next)) => {
                    for at in (0..BLOCK).step_by(S::LANES) {
                        let lanes = at..at + S::LANES;
                        falls |= places.add(s, at, &block[lanes.clone()], &next[lanes], &mut count);
                    }
                }
                _ => {
                    for at in (0..block.len()).step_by(S::LANES) {
                        falls |= places.add(s, at, &block[at..], &next[at..], &mut count);
                    }
                }
            }
            if falls != 0 {
                let position = start + block.iter().zip(next).take_while(|(a, b)| a <= b).count();
                return match ids[position] as usize >= num_rows {
                    true => Err(outside(ids, first_outside(ids, start, num_rows), num_rows)),
                    false => Err(Error::RowIdsFall {
                        position: position + 1,
                        before: ids[position],
                        found: ids[position + 1],
                    }),
                };
            }
            if block[block.len() - 1] as usize >= num_rows {
                return Err(outside(ids, first_outside(ids, start, num_rows), num_rows));
            }
            for &place in &places.0[..count] {
                let (row, next_row) = (block[place as usize], next[place as usize]);
                let end = (start + place as usize + 1) as i32;
                // Elsewhere only if the ids fall where another thread sees it, or the next row is one that there is not.
                let mut write = |row: i32| {
                    if let Some(split) = splits.get_mut((row as usize).wrapping_sub(first_split)) {
                        *split = end;
                    }
                };
                write(row + 1);
                write(next_row);
                ((row + 2).max(first)..next_row.min(past_last)).for_each(write);
            }
        }
        Ok(())
    }
}

/// The first element from `start` on whose row there is not.
fn first_outside(ids: &[i32], start: usize, num_rows: usize) -> usize {
    start + ids[start..].iter().take_while(|&&id| (id as usize) < num_rows).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wrong_ids_are_refused_with_their_numbers() {
        assert_eq!(to_splits(&[0, 2, 1], 3), Err(Error::RowIdsFall { position: 2, before: 2, found: 1 }));
        assert_eq!(to_splits(&[-1, 2], 3), Err(Error::Index { axis: 0, position: 0, found: -1, size: 3 }));
        assert_eq!(to_splits(&[0, 3], 3), Err(Error::Index { axis: 0, position: 1, found: 3, size: 3 }));
        assert_eq!(
            to_splits(&[i32::MAX], 3),
            Err(Error::Index { axis: 0, position: 0, found: i32::MAX.into(), size: 3 })
        );
        let mut long: Vec<i32> = (0..3000).collect();
        long[2048] = 5;
        assert_eq!(to_splits(&long, 3000), Err(Error::RowIdsFall { position: 2048, before: 2047, found: 5 }));
    }

    #[test]
    fn threads_write_what_one_writes() {
        let lengths = (0..100_000).map(|i| if i % 40_000 == 9 { 200_000 } else { i % 4 });
        let mut splits = vec![0];
        splits.extend(lengths.scan(0, |end, len| {
            *end += len;
            Some(*end)
        }));
        let mut alone = vec![0; splits[splits.len() - 1] as usize];
        fill(&splits, 0, &mut alone);
        assert!(from_splits(&splits) == alone && to_splits(&alone, 100_000).unwrap() == splits);
        assert!(from_splits(&vec![0; 1_000_000]).is_empty());
    }

    #[test]
    fn nothing_has_no_ids() {
        assert_eq!(from_splits(&[0]), [0; 0]);
        assert_eq!(from_splits(&[0, 0, 0]), [0; 0]);
        assert_eq!(to_splits(&[], 0), Ok(vec![0]));
        assert_eq!(to_splits(&[], 2), Ok(vec![0, 0, 0]));
    }

    /// The first id that is outside or lower than the one before it.
    fn first_wrong(ids: &[i32], num_rows: usize) -> Option<Error> {
        (0..ids.len()).find_map(|position| match position.checked_sub(1).map(|before| ids[before]) {
            Some(before) if before > ids[position] => {
                Some(Error::RowIdsFall { position, before, found: ids[position] })
            }
            _ => (ids[position] < 0 || ids[position] as usize >= num_rows).then(|| outside(ids, position, num_rows)),
        })
    }

    #[test]
    fn the_first_wrong_id_is_named_whichever_thread_sees_it() {
        let good: Vec<i32> = (0..2_000_000).map(|i| i / 3).collect();
        let num_rows = 666_667;
        assert!(to_splits(&good, num_rows).is_ok());
        for wrong in [[1_200_000, 5, 1_900_000, 7], [999_999, 0, 3, 600_000], [1_999_999, 666_667, 1_000_000, 666_666]]
        {
            let mut ids = good.clone();
            wrong.chunks(2).for_each(|at| ids[at[0] as usize] = at[1]);
            assert_eq!(to_splits(&ids, num_rows).err(), first_wrong(&ids, num_rows));
        }
    }

    proptest! {
        #[test]
        fn any_ids_are_taken_or_the_first_wrong_one_is_named(
            mut ids in prop::collection::vec(-1..90_i32, 0..3000),
            sorted in any::<bool>(),
            num_rows in 80..95_usize,
        ) {
            if sorted {
                ids.sort_unstable();
            }
            prop_assert_eq!(to_splits(&ids, num_rows).err(), first_wrong(&ids, num_rows));
        }

        #[test]
        fn ids_and_splits_are_the_same_thing(
            lengths in prop::collection::vec(prop_oneof![Just(0_i32), 0..6_i32, 0..70_i32], 0..400),
        ) {
            let mut splits = vec![0];
            splits.extend(lengths.iter().scan(0, |end, len| { *end += len; Some(*end) }));
            let ids: Vec<i32> =
                (0..).zip(&lengths).flat_map(|(row, &len)| std::iter::repeat_n(row, len as usize)).collect();
            prop_assert_eq!(from_splits(&splits), ids.clone());
            prop_assert_eq!(to_splits(&ids, lengths.len()), Ok(splits));
        }
    }
}
