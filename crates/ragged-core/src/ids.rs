//! Row splits to row ids and back, at the speed of memory.

use std::ops::Range;

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, MAX_LANES, PastCaches, Simd, dispatch, past_caches};

use crate::Error;
use crate::kernels::{Room, collect_rows_by, current_num_threads, join, over_values_by, rows_of};

/// Ids of this many bytes go past the caches: they would fill them, and nothing of them would be left there for who reads them next.
const LARGE: usize = 16 << 20;

/// Rows and elements together that are worth a task of their own.
const TASK: usize = 1 << 17;

/// The row of each element.
pub(crate) fn from_splits(splits: &[i32]) -> Vec<i32> {
    // Through the caches: of pages that the system has just cleared, what is still in a cache would have to go first.
    collect_rows_by(TASK, splits, |first_row, splits, room| fill(splits, first_row as i32, room))
}

/// The row of each element, into memory of the right size.
pub(crate) fn write_from_splits(splits: &[i32], ids: &mut [i32]) {
    if size_of_val(ids) < LARGE {
        let room = Room::over(ids);
        return over_values_by(TASK, splits, room, |first_row, splits, mut room| {
            fill(splits, first_row as i32, &mut room);
        });
    }
    over_values_by(TASK, splits, ids, |first_row, splits, ids| fill_past_caches(splits, first_row as i32, ids));
}

/// Writes the ids of the rows between `splits`, the first of which is number `first_row`.
fn fill(splits: &[i32], first_row: i32, ids: &mut Room<'_, i32>) {
    /// Elements from which on it is worth going block by block.
    const BLOCKS: usize = 4 * BLOCK;
    let blocks = Blocks::new(splits, first_row);
    if blocks.left < BLOCKS {
        (first_row..).zip(rows_of(splits)).for_each(|(id, row)| ids.append_with(row.len(), |_| id));
    } else {
        dispatch(WriteBlocks { blocks, until_line: 0, out: ids });
    }
}

/// As [`fill`], past the caches.
fn fill_past_caches(splits: &[i32], first_row: i32, ids: &mut [i32]) {
    let blocks = Blocks::new(splits, first_row);
    past_caches(ids, |out| dispatch(WriteBlocks { blocks, until_line: out.until_line(), out }));
}

/// The ids of rows, block by block.
///
/// Rows of any length, and empty ones, come without a branch for each: how many rows start at each element is counted, and the id of
/// an element is the number of all that start up to there.
///
/// ```text
///   rows        [ a b ] [ ] [ c d e ] [ f ]       splits  0 2 2 5 6
///   starts        . . 2 . . 1                     of row 1 and all that follow
///   ids           0 0 2 2 2 3
/// ```
struct Blocks<'a> {
    splits: &'a [i32],
    first_row: i32,
    /// The first row that starts behind what is done.
    row: usize,
    /// Elements whose ids are written, and how many are not.
    done: usize,
    left: usize,
}

/// Where ids go, one behind the other.
trait Out {
    fn append(&mut self, ids: &[i32]);
    fn append_vectors<S: Simd>(&mut self, s: S, ids: impl ExactSizeIterator<Item = S::U32>);
}

impl Out for Room<'_, i32> {
    #[inline(always)]
    fn append(&mut self, ids: &[i32]) {
        self.append(ids, ids.len());
    }
    #[inline(always)]
    fn append_vectors<S: Simd>(&mut self, s: S, ids: impl ExactSizeIterator<Item = S::U32>) {
        self.append_vectors(s, ids);
    }
}

impl Out for PastCaches<'_> {
    #[inline(always)]
    fn append(&mut self, ids: &[i32]) {
        self.append(ids);
    }
    #[inline(always)]
    fn append_vectors<S: Simd>(&mut self, s: S, ids: impl ExactSizeIterator<Item = S::U32>) {
        self.append_vectors(s, ids);
    }
}

/// Elements of which the starts are summed up at once.
const SUM: usize = 16;

impl<'a> Blocks<'a> {
    fn new(splits: &'a [i32], first_row: i32) -> Self {
        let left = (splits[splits.len() - 1] - splits[0]) as usize;
        Self { splits, first_row, row: 1, done: 0, left }
    }

    /// Writes the ids of the next `len` elements, a whole block or less.
    #[inline(always)]
    fn write<S: Simd>(&mut self, s: S, len: usize, out: &mut impl Out) {
        let begin = self.splits[0] + self.done as i32;
        let end = begin + len as i32;
        let rows = &self.splits[self.row..self.splits.len() - 1];
        let id = self.first_row + self.row as i32 - 1;
        let crowded = rows.get(usize::from(u8::MAX)).is_some_and(|&start| start < end);
        self.row += if crowded {
            let mut ids = [0; BLOCK];
            let count = write_rows(rows, begin, id, &mut ids[..len]);
            out.append(&ids[..len]);
            count
        } else {
            let mut starts = Starts([0; BLOCK]);
            let count = starts.count(rows, begin, end);
            let before = starts.sum_up(id);
            match len {
                BLOCK => out.append_vectors(s, starts.ids(s, &before)),
                _ => {
                    let mut ids = [0; BLOCK];
                    Room::over(&mut ids).append_vectors(s, starts.ids(s, &before));
                    out.append(&ids[..len]);
                }
            }
            count
        };
        self.done += len;
        self.left -= len;
    }
}

/// How many rows start at each element of a block, then up to each since the last multiple of [`SUM`]; 255 in all at most.
struct Starts([u8; BLOCK]);

impl Starts {
    /// Counts those before `end`, in a block that begins at `begin`. How many there are.
    #[inline(always)]
    fn count(&mut self, rows: &[i32], begin: i32, end: i32) -> usize {
        /// Rows that are counted without asking after each whether it is the last.
        const TOGETHER: usize = 4;
        let mut add = |start: i32| self.0[(start - begin) as usize % BLOCK] += 1;
        let mut count = 0;
        while let Some(starts) = rows[count..].first_chunk::<TOGETHER>().filter(|starts| starts[TOGETHER - 1] < end) {
            starts.iter().for_each(|&start| add(start));
            count += TOGETHER;
        }
        for &start in rows[count..].iter().take_while(|&&start| start < end) {
            add(start);
            count += 1;
        }
        count
    }

    /// Turns the counts into sums. For each group of them, the id before it.
    #[inline(always)]
    fn sum_up(&mut self, id: i32) -> [u32; BLOCK / SUM] {
        /// A number of eight bytes times this is one of their sums up to each.
        const UP_TO: u64 = 0x0101_0101_0101_0101;
        let mut sum = id as u32;
        let mut before = [0; _];
        for (starts, before) in self.0.as_chunks_mut::<SUM>().0.iter_mut().zip(&mut before) {
            let (low, high) = starts.split_at_mut(SUM / 2);
            let eight = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let first = eight(low).wrapping_mul(UP_TO);
            let second = (eight(high) + (first >> 56)).wrapping_mul(UP_TO);
            low.copy_from_slice(&first.to_le_bytes());
            high.copy_from_slice(&second.to_le_bytes());
            *before = sum;
            sum += (second >> 56) as u32;
        }
        before
    }

    /// The ids, a vector at a time.
    #[inline(always)]
    fn ids<S: Simd>(&self, s: S, before: &[u32; BLOCK / SUM]) -> impl ExactSizeIterator<Item = S::U32> {
        (0..BLOCK / S::LANES).map(move |i| {
            let at = i * S::LANES;
            s.add_u32(s.load_u8(&self.0[at..at + S::LANES]), s.splat_u32(before[at / SUM]))
        })
    }
}

/// Writes the ids of a block row by row, for any number of them, which are short then: it begins at `begin` with row `id`, and `rows`
/// start in it. How many do.
fn write_rows(rows: &[i32], begin: i32, mut id: i32, ids: &mut [i32]) -> usize {
    /// Elements that are written without a branch of their own: too many, and the next row writes over them.
    const FEW: usize = 8;
    let (mut at, mut count) = (0, 0);
    while at < ids.len() {
        let start = rows.get(count).map_or(ids.len(), |&start| ids.len().min((start - begin) as usize));
        match ids.get_mut(at..at + FEW) {
            Some(few) => {
                few.fill(id);
                if start > at + FEW {
                    ids[at + FEW..start].fill(id);
                }
            }
            None => ids[at..start].fill(id),
        }
        if start < ids.len() {
            count += 1;
            id += 1;
        }
        at = start;
    }
    count
}

/// Writes all blocks: a shorter one first, so that the others begin with a line of the cache.
struct WriteBlocks<'a, 'o, O> {
    blocks: Blocks<'a>,
    until_line: usize,
    out: &'o mut O,
}

impl<O: Out> Kernel for WriteBlocks<'_, '_, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { mut blocks, until_line, out } = self;
        let first = (until_line % BLOCK).min(blocks.left);
        if first > 0 {
            blocks.write(s, first, out);
        }
        while blocks.left > 0 {
            blocks.write(s, BLOCK.min(blocks.left), out);
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

/// Elements whose ids are compared with the next ones, or counted, before any is used.
const BLOCK: usize = 512;

/// Elements ahead of those that are compared which are asked for: the processor itself looks no further than a page of 4 KiB.
const SOON: usize = 2048;

/// Splits that are written at once behind a row.
///
/// As many empty rows, less one, may follow it without a branch: too many splits are written, and the next row writes over them.
/// A power of two.
const SPLITS_AHEAD: usize = 8;

/// The elements of a block behind which a row ends, and room for a whole vector where fewer of its lanes count.
struct Places {
    /// The element with which the block starts.
    start: usize,
    count: usize,
    places: [i32; BLOCK + MAX_LANES],
}

impl Places {
    const fn none() -> Self {
        Self { start: 0, count: 0, places: [0; _] }
    }

    /// Whether these have addresses that a processor confuses with those of a block at the beginning of `ids`, and of every other block: it takes a
    /// load for one of what was just stored until it has looked at more than the place in a page of 4 KiB, which takes half of the time.
    fn is_in_the_way_of(&self, ids: *const i32) -> bool {
        const PAGE: usize = 4 << 10;
        let distance = self.places.as_ptr().addr().wrapping_sub(ids.addr());
        distance % PAGE < size_of::<[i32; BLOCK]>()
    }

    /// Those of the block `ids` that starts at element `start`. `next_ids` are as many, one element on. Gives back all bits that are
    /// set in the difference of any two ids.
    #[inline(always)]
    fn find<S: Simd>(&mut self, s: S, start: usize, ids: &[i32], next_ids: &[i32], soon: &[i32]) -> u32 {
        (self.start, self.count) = (start, 0);
        let nothing = s.splat_u32(0);
        let mut steps = nothing;
        for (at, (a, b)) in ids.chunks(S::LANES).zip(next_ids.chunks(S::LANES)).enumerate() {
            memory::prefetch(soon, at * S::LANES);
            let (a, b) = (s.load_partial_i32(a, nothing), s.load_partial_i32(b, nothing));
            steps = s.or_u32(steps, s.sub_u32(b, a));
            let ends = s.not_equal_u32(a, b);
            let places = s.add_u32(s.lane_indexes(), s.splat_u32((at * S::LANES) as u32));
            s.store_partial_i32(s.compress_u32(places, ends), &mut self.places[self.count..][..S::LANES]);
            self.count += ends.count_ones() as usize;
        }
        let mut lanes = [0; MAX_LANES];
        s.store_partial_i32(steps, &mut lanes);
        lanes.iter().fold(0, |bits, lane| bits | lane.cast_unsigned())
    }

    /// Writes the splits behind these places, of which the first is number `first_split`. With `GAPS`, any number of empty rows may
    /// follow each; without, fewer than [`SPLITS_AHEAD`].
    #[inline(always)]
    fn write<const GAPS: bool>(&self, ids: &[i32], first_split: usize, splits: &mut [i32]) {
        let Some(ids) = ids.get(self.start..) else { return };
        for &place in &self.places[..self.count] {
            let (row, end) = (ids[place as usize], (self.start + place as usize + 1) as i32);
            // Elsewhere only if the ids fall where another thread sees it, or the next row is one that there is not.
            let at = (row as usize).wrapping_add(1).wrapping_sub(first_split);
            let Some(behind) = splits.get_mut(at..) else { continue };
            match behind.first_chunk_mut::<SPLITS_AHEAD>() {
                Some(behind) => *behind = [end; _],
                None => behind.fill(end),
            }
            if GAPS {
                let gap = ids[place as usize + 1].wrapping_sub(row) as usize;
                let gap = gap.min(behind.len());
                if gap > SPLITS_AHEAD {
                    behind[SPLITS_AHEAD..gap].fill(end);
                }
            }
        }
    }
}

impl Kernel for Ends<'_> {
    type Output = Result<(), Error>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Result<(), Error> {
        let Self { ids, elements, num_rows, first_split, splits } = self;
        let mut start = elements.start;
        // A vector that begins with a line of the cache touches no other one.
        let line = start + ids[start..].as_ptr().align_offset(64) % BLOCK;
        // While the places of one block are used, those of the next one are on their way to memory.
        let mut both = [Places::none(), Places::none()];
        let [even, odd] = &mut both;
        let (mut before, mut places) = match even.is_in_the_way_of(ids.as_ptr().wrapping_add(line)) == (start < line) {
            true => (odd, even),
            false => (even, odd),
        };
        while start < elements.end {
            let end = if start < line { line } else { start + BLOCK };
            let block = &ids[start..elements.end.min(end)];
            let next = &ids[start + 1..][..block.len()];
            let soon = ids.get(start + SOON..).unwrap_or_default();
            let steps = match (block.first_chunk::<BLOCK>(), next.first_chunk::<BLOCK>()) {
                (Some(block), Some(next)) => places.find(s, start, block, next, soon),
                _ => places.find(s, start, block, next, soon),
            };
            let far = steps as usize >= SPLITS_AHEAD;
            if far {
                let falls = block.iter().zip(next).fold(false, |falls, (a, b)| falls | (a > b));
                if falls {
                    return Err(fall(ids, start, block.len(), num_rows));
                }
            }
            if block[block.len() - 1] as usize >= num_rows {
                return Err(outside(ids, first_outside(ids, start, num_rows), num_rows));
            }
            before.write::<false>(ids, first_split, splits);
            if far {
                places.write::<true>(ids, first_split, splits);
                places.count = 0;
            }
            std::mem::swap(&mut before, &mut places);
            start += block.len();
        }
        before.write::<false>(ids, first_split, splits);
        Ok(())
    }
}

/// What is wrong with ids that fall among the `len` from `start` on: so, or before that, one is outside.
#[cold]
fn fall(ids: &[i32], start: usize, len: usize, num_rows: usize) -> Error {
    let position = start + ids[start..].windows(2).take(len).take_while(|pair| pair[0] <= pair[1]).count();
    match ids[position] as usize >= num_rows {
        true => outside(ids, first_outside(ids, start, num_rows), num_rows),
        false => Error::RowIdsFall { position: position + 1, before: ids[position], found: ids[position + 1] },
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
    fn threads_write_what_one_writes() {
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
    fn a_block_may_be_crowded_or_hardly_begun() {
        let crowds: [fn(i32) -> i32; 6] =
            [|_| 1, |i| i % 2, |i| (i % 300 == 299).into(), |i| if i % 400 == 0 { 700 } else { 0 }, |i| i % 4, |_| 3];
        for length_of in crowds {
            let mut splits = vec![0];
            (0..6000).for_each(|i| splits.push(splits[splits.len() - 1] + length_of(i)));
            let len = splits[splits.len() - 1] as usize;
            let expected = naive(&splits);
            assert_eq!(to_splits(&expected, 6000).as_ref(), Ok(&splits));
            // One row cut off at the front, as for the second of two threads, and memory that begins anywhere.
            let cut = splits[1] as usize;
            for (large, at) in [(false, 0), (false, 3), (true, 0), (true, 1), (true, 15), (true, 16)] {
                let mut ids = vec![-1; at + len - cut];
                match large {
                    false => fill(&splits[1..], 1, &mut Room::over(&mut ids[at..])),
                    true => fill_past_caches(&splits[1..], 1, &mut ids[at..]),
                }
                assert!(ids[..at].iter().all(|&id| id == -1) && ids[at..] == expected[cut..], "{large} {at}");
            }
        }
    }

    #[test]
    fn large_ids_go_past_the_caches() {
        let splits: Vec<i32> = (0..=500_000).map(|row| row / 5 * 48 + row % 5 * 3).collect();
        let ids = from_splits(&splits);
        assert!(size_of_val(&ids[..]) >= LARGE);
        assert!(ids == naive(&splits) && to_splits(&ids, 500_000).unwrap() == splits);
    }

    #[test]
    fn nothing_has_no_ids() {
        assert_eq!(from_splits(&[0]), [0; 0]);
        assert_eq!(from_splits(&[0, 0, 0]), [0; 0]);
        fill_past_caches(&[0], 0, &mut []);
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
            let mut room = vec![-1; begin + ids.len()];
            fill_past_caches(&splits, 0, &mut room[begin..]);
            prop_assert_eq!(&room[begin..], &ids[..]);
            // From memory that begins elsewhere, where it is cut elsewhere.
            room.copy_within(begin.., 0);
            prop_assert_eq!(to_splits(&room[..ids.len()], lengths.len()), Ok(splits));
        }
    }
}
