//! Conversion of row splits to row ids and back.

use std::ops::Range;

use kaldera_base::simd::{Int as _, Integers, Kernel, Simd, dispatch};
use kaldera_base::{memory, par};

use crate::error::Error;
use crate::kernels::{over_values_by, rows_of};

/// Returns the row of each element.
pub(crate) fn from_splits(splits: &[i32]) -> Vec<i32> {
    let mut ids = memory::zeros((splits[splits.len() - 1] - splits[0]) as usize);
    write_from_splits(splits, &mut ids);
    ids
}

/// Writes the row of each element to memory of the right size.
pub(crate) fn write_from_splits(splits: &[i32], ids: &mut [i32]) {
    /// Number of rows and elements together that are worth their own task.
    const TASK: usize = 1 << 17;
    over_values_by(TASK, splits, ids, |first_row, splits, ids| {
        dispatch(WriteIds { splits, first_row: first_row as i32, ids });
    });
}

/// Writes the ids of the rows between `splits`, the first of which is number `first_row`.
struct WriteIds<'a> {
    splits: &'a [i32],
    first_row: i32,
    ids: &'a mut [i32],
}

impl Kernel for WriteIds<'_> {
    type Output = ();

    /// Keeps the instruction set as it is: the compiler vectorizes the rows.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        /// Number of ids that are written without a branch on the length of the row: the next row
        /// overwrites the ids beyond its end.
        const AT_ONCE: usize = 32;
        let Self { splits, first_row, ids } = self;
        let mut rest = ids;
        for (id, row) in (first_row..).zip(rows_of(splits)) {
            match rest.first_chunk_mut::<AT_ONCE>() {
                Some(few) => {
                    *few = [id; AT_ONCE];
                    if row.len() > AT_ONCE {
                        rest[AT_ONCE..row.len()].fill(id);
                    }
                }
                None => rest[..row.len()].fill(id),
            }
            rest = &mut rest[row.len()..];
        }
    }
}

/// Returns the splits of `num_rows` rows.
pub(crate) fn to_splits(ids: &[i32], num_rows: usize) -> Result<Vec<i32>, Error> {
    Error::fit("the number of rows", num_rows)?;
    Error::fit("the number of elements", ids.len())?;
    let mut splits = memory::zeros(num_rows + 1);
    let names_row = |id: Option<&i32>| id.is_none_or(|&id| usize::try_from(id).is_ok_and(|id| id < num_rows));
    // If they do not fall, all are between the first one and the last one.
    if !names_row(ids.first()) || !names_row(ids.last()) || !write_ends(ids, 0..ids.len(), 0, &mut splits) {
        return Err(first_wrong(ids, num_rows));
    }
    // A row without elements ends where the row before it ends.
    let mut end = 0;
    for split in &mut splits {
        end = end.max(*split);
        *split = end;
    }
    Ok(splits)
}

/// Runs [`WriteEnds`] on all threads, each with its own splits.
fn write_ends(ids: &[i32], elements: Range<usize>, first_split: usize, splits: &mut [i32]) -> bool {
    /// Number of elements that are worth their own task.
    const TASK: usize = 1 << 18;
    if par::num_parts(elements.len(), TASK) == 1 {
        return dispatch(WriteEnds { ids, elements, first_split, splits });
    }
    let middle = elements.start.midpoint(elements.end);
    // Rows that end before the middle are below the row of the middle, if the ids do not fall.
    let cut = usize::try_from(ids[middle]).unwrap_or(0) + 1;
    let (left, right) = splits.split_at_mut(cut.saturating_sub(first_split).min(splits.len()));
    let second_split = first_split + left.len();
    let (left, right) = par::join(
        || write_ends(ids, elements.start..middle, first_split, left),
        || write_ends(ids, middle..elements.end, second_split, right),
    );
    left && right
}

/// Writes the end of each row that has its last element among `elements`. Returns `true` if no id
/// is below the one before it.
struct WriteEnds<'a> {
    ids: &'a [i32],
    elements: Range<usize>,
    /// The number of the first of `splits`.
    first_split: usize,
    splits: &'a mut [i32],
}

impl Kernel for WriteEnds<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> bool {
        self.run_lanes(i32::lanes(s))
    }
}

impl WriteEnds<'_> {
    #[inline(always)]
    fn run_lanes<L: Integers<i32>>(self, s: L) -> bool {
        /// Number of elements that are compared with the next ones before they are used: as many as
        /// a mask has bits.
        const BLOCK: usize = u64::BITS as usize;
        let Self { ids, elements, first_split, splits } = self;
        let mut write_end = |at: usize| {
            // If ids fall, some name rows of other threads, or no row.
            if let Some(split) = splits.get_mut((ids[at] as usize).wrapping_add(1).wrapping_sub(first_split)) {
                *split = at as i32 + 1;
            }
        };
        let mut start = elements.start;
        while start + BLOCK <= elements.end && start + BLOCK < ids.len() {
            let (block, next) = (&ids[start..start + BLOCK], &ids[start + 1..=start + BLOCK]);
            let (mut same, mut rises) = (0, 0);
            for at in (0..BLOCK).step_by(L::LANES) {
                let (id, next) = (s.load(&block[at..]), s.load(&next[at..]));
                same |= s.equal(id, next) << at;
                rises |= s.equal(s.max(id, next), next) << at;
            }
            if rises != u64::MAX {
                return false;
            }
            let mut ends = !same;
            if ends.count_ones() > u64::BITS / 2 {
                // Each element writes the end that its row would have if it were the last one.
                (start..start + BLOCK).for_each(&mut write_end);
                ends = 0;
            }
            while ends != 0 {
                write_end(start + ends.trailing_zeros() as usize);
                ends &= ends - 1;
            }
            start += BLOCK;
        }
        (start..elements.end).all(|at| {
            let next = ids.get(at + 1);
            if next != Some(&ids[at]) {
                write_end(at);
            }
            next.is_none_or(|&next| next >= ids[at])
        })
    }
}

/// Returns the error of the first id that is below the one before it, or names no row; there is
/// one.
#[cold]
fn first_wrong(ids: &[i32], num_rows: usize) -> Error {
    let mut before = i32::MIN;
    for (position, &found) in ids.iter().enumerate() {
        if before > found {
            return Error::RowIdsFall { position, before, found };
        }
        if usize::try_from(found).map_or(true, |found| found >= num_rows) {
            return Error::Index { axis: 0, position, found: found.into(), size: num_rows };
        }
        before = found;
    }
    unreachable!("one id is wrong")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(splits: &[i32]) -> Vec<i32> {
        (0..).zip(rows_of(splits)).flat_map(|(row, elements)| elements.map(move |_| row)).collect()
    }

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
    fn parallel_fill_equals_serial() {
        let lengths = (0..100_000).map(|i| if i % 40_000 == 9 { 200_000 } else { i % 4 });
        let mut splits = vec![0];
        splits.extend(lengths.scan(0, |end, len| {
            *end += len;
            Some(*end)
        }));
        let alone = naive(&splits);
        assert!(from_splits(&splits) == alone && to_splits(&alone, 100_000).unwrap() == splits);
        assert!(from_splits(&vec![0; 1_000_000]).is_empty());
    }

    #[test]
    fn ids_of_some_of_the_rows_are_written_anywhere() {
        let lengths: [fn(i32) -> i32; 6] =
            [|_| 1, |i| i % 2, |i| (i % 300 == 299).into(), |i| if i % 400 == 0 { 700 } else { 0 }, |i| i % 4, |_| 3];
        for length_of in lengths {
            let mut splits = vec![0];
            (0..6000).for_each(|i| splits.push(splits[splits.len() - 1] + length_of(i)));
            let expected = naive(&splits);
            assert_eq!(to_splits(&expected, 6000).as_ref(), Ok(&splits));
            // One row cut off at the front, as for the second of two threads.
            let expected = &expected[splits[1] as usize..];
            for begin in [0, 1, 3, 15, 16] {
                let mut ids = vec![-1; begin + expected.len()];
                dispatch(WriteIds { splits: &splits[1..], first_row: 1, ids: &mut ids[begin..] });
                assert!(ids[..begin].iter().all(|&id| id == -1) && ids[begin..] == *expected, "{begin}");
            }
        }
    }

    #[test]
    fn no_rows_have_no_ids() {
        assert_eq!(from_splits(&[0]), [0; 0]);
        assert_eq!(from_splits(&[0, 0, 0]), [0; 0]);
        write_from_splits(&[0], &mut []);
        assert_eq!(to_splits(&[], 0), Ok(vec![0]));
        assert_eq!(to_splits(&[], 2), Ok(vec![0, 0, 0]));
    }

    /// Returns the error of the first id that is outside or lower than the one before it.
    fn naive_error(ids: &[i32], num_rows: usize) -> Option<Error> {
        (0..ids.len()).find_map(|position| match position.checked_sub(1).map(|before| ids[before]) {
            Some(before) if before > ids[position] => {
                Some(Error::RowIdsFall { position, before, found: ids[position] })
            }
            _ => (ids[position] < 0 || ids[position] as usize >= num_rows).then(|| Error::Index {
                axis: 0,
                position,
                found: ids[position].into(),
                size: num_rows,
            }),
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
            assert_eq!(to_splits(&ids, num_rows).err(), naive_error(&ids, num_rows));
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
            prop_assert_eq!(to_splits(&ids, num_rows).err(), naive_error(&ids, num_rows));
        }

        #[test]
        fn ids_and_splits_are_the_same_thing(
            lengths in prop_oneof![
                prop::collection::vec(prop_oneof![Just(0_i32), 0..6_i32, 0..70_i32], 0..400),
                prop::collection::vec(prop_oneof![19 => Just(0_i32), 1 => 0..70_i32], 0..3000),
                prop::collection::vec(0..3_i32, 0..5000),
                prop::collection::vec(0..2000_i32, 0..9),
            ],
            begin in 0..17_usize,
        ) {
            let mut splits = vec![0];
            splits.extend(lengths.iter().scan(0, |end, len| { *end += len; Some(*end) }));
            let ids: Vec<i32> =
                (0..).zip(&lengths).flat_map(|(row, &len)| std::iter::repeat_n(row, len as usize)).collect();
            prop_assert_eq!(from_splits(&splits), ids.clone());
            prop_assert_eq!(to_splits(&ids, lengths.len()), Ok(splits.clone()));
            let mut memory = vec![-1; begin + ids.len()];
            write_from_splits(&splits, &mut memory[begin..]);
            prop_assert_eq!(&memory[begin..], &ids[..]);
            // From memory that begins elsewhere, and so is cut elsewhere.
            memory.copy_within(begin.., 0);
            prop_assert_eq!(to_splits(&memory[..ids.len()], lengths.len()), Ok(splits));
        }
    }
}
