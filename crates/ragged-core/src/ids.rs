//! Row splits to row ids and back, at the speed of memory.

use crate::Error;

/// Elements that are written at once at the start of each row.
///
/// Short rows cost what the processor guesses wrong about their lengths, so no row of up to this many elements has a
/// branch of its own: it writes too many, and the next row writes over them.
const AHEAD: usize = 32;

/// The row of each element.
pub(crate) fn from_splits(splits: &[i32]) -> Vec<i32> {
    let mut ids = vec![0; splits[splits.len() - 1] as usize];
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
    /// Elements that are checked together.
    const BLOCK: usize = 1024;
    /// Elements that are done at once if they are of one row.
    const PIECE: usize = 32;
    Error::fit("the number of rows", num_rows)?;
    Error::fit("the number of elements", ids.len())?;
    let outside = |position: usize| Error::Index { axis: 0, position, found: ids[position].into(), size: num_rows };
    if ids.first().is_some_and(|&id| id < 0) {
        return Err(outside(0));
    }
    let mut splits = vec![0; num_rows + 1];
    let mut before = 0;
    for (start, block) in (0..).step_by(BLOCK).zip(ids.chunks(BLOCK)) {
        let falls = block.iter().zip(&block[1..]).fold(block[0] < before, |falls, (a, b)| falls | (a > b));
        if falls {
            let fall = |&i: &usize| ids[i - 1] > ids[i];
            let position = (start.max(1)..start + block.len()).find(fall).unwrap_or(start);
            return Err(Error::RowIdsFall { position, before: ids[position - 1], found: ids[position] });
        }
        before = block[block.len() - 1];
        if before as usize >= num_rows {
            return Err(outside(start + block.partition_point(|&id| (id as usize) < num_rows)));
        }
        for (start, piece) in (start..).step_by(PIECE).zip(block.chunks(PIECE)) {
            let last = piece[piece.len() - 1];
            if piece[0] != last {
                // Every element says that its row ends after it; the last one of a row is right.
                for (end, &id) in (start as i32 + 1..).zip(piece) {
                    splits[id as usize + 1] = end;
                }
            } else {
                splits[last as usize + 1] = (start + piece.len()) as i32;
            }
        }
    }
    // Rows without elements end where the one before them does.
    let mut end = 0;
    for split in &mut splits {
        end = end.max(*split);
        *split = end;
    }
    Ok(splits)
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

    proptest! {
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
