//! Sorting within rows.
//!
//! Numbers are sorted as unsigned keys in their order (of floats: -NaN, -inf ... -0, 0 ... inf,
//! NaN, as [`f32::total_cmp`]). Rows of `i32` and `f32` that fit a vector are sorted together, as
//! many as it has lanes. A transposition lays them across the vectors, and they pass Batcher's
//! odd-even merging network, which has no branches to mispredict.

use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::kernels::rows::rows_of;

/// Sorting of rows for one type of number.
pub trait SortKernels: Sized + Copy {
    /// Returns an unsigned number of the same order.
    fn key(self) -> u64;
    /// Returns the number that has this key.
    fn of_key(key: u64) -> Self;
    /// Sorts each row. `values` starts at the first of these rows.
    fn sort_rows(splits: &[i32], values: &mut [Self], descending: bool) {
        let mut keys = Vec::new();
        let first = splits[0] as usize;
        for row in rows_of(splits) {
            sort_row(&mut values[row.start - first..row.end - first], descending, &mut keys);
        }
    }
}

fn sort_row<T: SortKernels>(row: &mut [T], descending: bool, keys: &mut Vec<u64>) {
    let flip = if descending { u64::MAX } else { 0 };
    keys.clear();
    keys.extend(row.iter().map(|x| x.key() ^ flip));
    keys.sort_unstable();
    row.iter_mut().zip(keys).for_each(|(x, key)| *x = T::of_key(*key ^ flip));
}

/// Sorts each row, and writes the previous position among all values of each value to `new2old`;
/// equal values keep their order. `values` and `new2old` start at the first of these rows.
pub(crate) fn sort_rows_with_map<T: SortKernels>(
    splits: &[i32],
    values: &mut [T],
    new2old: &mut [i32],
    descending: bool,
) {
    let first = splits[0] as usize;
    let flip = if descending { u64::MAX } else { 0 };
    // Positions in the low bits keep the order of equal keys, and come out as the map.
    let mut narrow: Vec<u64> = Vec::new();
    let mut wide: Vec<(u64, u32)> = Vec::new();
    for row in rows_of(splits) {
        let start = row.start as i32;
        let row = row.start - first..row.end - first;
        let (row, map) = (&mut values[row.clone()], &mut new2old[row]);
        let keys = row.iter().map(|x| x.key() ^ flip).zip(0_u32..);
        if size_of::<T>() <= 4 {
            narrow.clear();
            narrow.extend(keys.map(|(key, position)| key << 32 | u64::from(position)));
            narrow.sort_unstable();
            for ((x, map), &packed) in row.iter_mut().zip(map).zip(&narrow) {
                // The bits of a flipped key that the shift above lost are all ones.
                *x = T::of_key(((packed >> 32) ^ flip) & 0xFFFF_FFFF);
                *map = start + (packed & 0xFFFF_FFFF) as i32;
            }
        } else {
            wide.clear();
            wide.extend(keys);
            wide.sort_unstable();
            for ((x, map), &(key, position)) in row.iter_mut().zip(map).zip(&wide) {
                *x = T::of_key(key ^ flip);
                *map = start + position as i32;
            }
        }
    }
}

impl SortKernels for u8 {
    fn key(self) -> u64 {
        self.into()
    }
    fn of_key(key: u64) -> Self {
        key as Self
    }
}

impl SortKernels for i32 {
    #[inline]
    fn key(self) -> u64 {
        (self.cast_unsigned() ^ 1 << 31).into()
    }
    #[inline]
    fn of_key(key: u64) -> Self {
        (key as u32 ^ 1 << 31).cast_signed()
    }
    fn sort_rows(splits: &[i32], values: &mut [Self], descending: bool) {
        dispatch(SortRows { splits, values, descending });
    }
}

impl SortKernels for i64 {
    #[inline]
    fn key(self) -> u64 {
        self.cast_unsigned() ^ 1 << 63
    }
    #[inline]
    fn of_key(key: u64) -> Self {
        (key ^ 1 << 63).cast_signed()
    }
}

/// Converts the bits of a float to a number of its order and back: negative numbers have their
/// other bits turned.
fn turned(bits: i32) -> i32 {
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

impl SortKernels for f32 {
    #[inline]
    fn key(self) -> u64 {
        turned(self.to_bits().cast_signed()).key()
    }
    #[inline]
    fn of_key(key: u64) -> Self {
        Self::from_bits(turned(i32::of_key(key)).cast_unsigned())
    }
    fn sort_rows(splits: &[i32], values: &mut [Self], descending: bool) {
        dispatch(SortRows { splits, values, descending });
    }
}

impl SortKernels for f64 {
    #[inline]
    fn key(self) -> u64 {
        let bits = self.to_bits().cast_signed();
        (bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()).key()
    }
    #[inline]
    fn of_key(key: u64) -> Self {
        let bits = i64::of_key(key);
        Self::from_bits((bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()).cast_unsigned())
    }
}

/// A number whose order is the order of an `i32` in a lane.
trait LaneKey: SortKernels {
    fn load<S: Simd>(s: S, row: &[Self], descending: bool) -> S::U32;
    fn store<S: Simd>(s: S, keys: S::U32, descending: bool, row: &mut [Self]);
}

/// Reverses the order if `descending`.
#[inline(always)]
fn flipped<S: Simd>(s: S, keys: S::U32, descending: bool) -> S::U32 {
    if descending { s.xor_u32(keys, s.splat_u32(u32::MAX)) } else { keys }
}

impl LaneKey for i32 {
    #[inline(always)]
    fn load<S: Simd>(s: S, row: &[i32], descending: bool) -> S::U32 {
        // Lanes after the end of the row come last.
        let last = if descending { i32::MIN } else { i32::MAX };
        flipped(s, s.load_partial_i32(row, s.splat_u32(last.cast_unsigned())), descending)
    }
    #[inline(always)]
    fn store<S: Simd>(s: S, keys: S::U32, descending: bool, row: &mut [i32]) {
        s.store_partial_i32(flipped(s, keys, descending), row);
    }
}

/// Same as [`turned`], for lanes.
#[inline(always)]
fn turned_lanes<S: Simd>(s: S, bits: S::U32) -> S::U32 {
    s.xor_u32(bits, s.shr_u32::<1>(s.sar_u32::<31>(bits)))
}

impl LaneKey for f32 {
    #[inline(always)]
    fn load<S: Simd>(s: S, row: &[f32], descending: bool) -> S::U32 {
        // A NaN of all ones, of either sign: the last of all.
        let last = s.of_bits(s.splat_u32(if descending { u32::MAX } else { u32::MAX >> 1 }));
        flipped(s, turned_lanes(s, s.bits_of(s.load_partial(row, last))), descending)
    }
    #[inline(always)]
    fn store<S: Simd>(s: S, keys: S::U32, descending: bool, row: &mut [f32]) {
        s.store_partial(s.of_bits(turned_lanes(s, flipped(s, keys, descending))), row);
    }
}

/// Returns Batcher's network for `n` numbers, a power of 2: the pairs to put in order, one after
/// another.
const fn network<const PAIRS: usize>(n: usize) -> [(u8, u8); PAIRS] {
    let mut pairs = [(0, 0); PAIRS];
    let mut count = 0;
    let mut sorted = 1;
    while sorted < n {
        let mut distance = sorted;
        while distance > 0 {
            let mut low = distance % sorted;
            while low + distance < n {
                let mut i = low;
                while i < low + distance && i + distance < n {
                    if i / (2 * sorted) == (i + distance) / (2 * sorted) {
                        pairs[count] = (i as u8, (i + distance) as u8);
                        count += 1;
                    }
                    i += 1;
                }
                low += 2 * distance;
            }
            distance /= 2;
        }
        sorted *= 2;
    }
    assert!(count == PAIRS);
    pairs
}

static OF_8: [(u8, u8); 19] = network(8);
static OF_16: [(u8, u8); 63] = network(16);

struct SortRows<'a, T> {
    splits: &'a [i32],
    values: &'a mut [T],
    descending: bool,
}

impl<T: LaneKey> Kernel for SortRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { splits, values, descending } = self;
        let first = splits[0] as usize;
        let pairs = if S::LANES == 16 { &OF_16[..] } else { &OF_8[..] };
        let mut long = Vec::new();
        let mut columns = [s.splat(0.0); kaldera_base::simd::MAX_LANES];
        let columns = &mut columns[..S::LANES];
        let mut start = 0;
        while start + 1 < splits.len() {
            let rows = &splits[start..(start + S::LANES + 1).min(splits.len())];
            for (column, row) in columns.iter_mut().zip(rows_of(rows)) {
                let row = &mut values[row.start - first..row.end - first];
                if row.len() > S::LANES {
                    sort_row(row, descending, &mut long);
                } else {
                    *column = s.of_bits(T::load(s, row, descending));
                }
            }
            s.transpose(columns);
            for &(i, j) in pairs {
                let (i, j) = (usize::from(i), usize::from(j));
                let (a, b) = (s.bits_of(columns[i]), s.bits_of(columns[j]));
                columns[i] = s.of_bits(s.min_i32(a, b));
                columns[j] = s.of_bits(s.max_i32(a, b));
            }
            s.transpose(columns);
            for (column, row) in columns.iter().zip(rows_of(rows)) {
                let row = &mut values[row.start - first..row.end - first];
                if row.len() <= S::LANES {
                    T::store(s, s.bits_of(*column), descending, row);
                }
            }
            start += S::LANES;
        }
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{available, dispatch_at};

    use super::*;

    fn hash(i: u32) -> u32 {
        (i.wrapping_mul(0x9E37_79B9) ^ 0x5bd1_e995).wrapping_mul(0x85EB_CA6B)
    }

    fn splits() -> Vec<i32> {
        let mut splits = vec![0];
        for row in 0..700 {
            splits.push(splits[row] + [0, 1, 2, 7, 8, 9, 15, 16, 17, 40][row * 7 % 10]);
        }
        splits
    }

    #[test]
    fn every_instruction_set_sorts_bits_as_the_standard_library() {
        let splits = splits();
        // All bit patterns: infinities, NaN of both signs, both zeros, and many that are equal.
        let special = [0, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0000, u32::MAX, u32::MAX >> 1];
        let bits = |i: u32| if hash(i).is_multiple_of(3) { special[hash(i) as usize / 3 % 8] } else { hash(i) };
        let bits: Vec<u32> = (0..splits[700].cast_unsigned()).map(bits).collect();
        for level in available() {
            for descending in [false, true] {
                let mut ints: Vec<i32> = bits.iter().map(|b| b.cast_signed()).collect();
                let mut floats: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b)).collect();
                let (mut sorted_ints, mut sorted_floats) = (ints.clone(), floats.clone());
                for row in rows_of(&splits) {
                    sorted_ints[row.clone()].sort();
                    sorted_floats[row.clone()].sort_by(f32::total_cmp);
                    if descending {
                        sorted_ints[row.clone()].reverse();
                        sorted_floats[row].reverse();
                    }
                }
                dispatch_at(level, SortRows { splits: &splits, values: &mut ints, descending });
                dispatch_at(level, SortRows { splits: &splits, values: &mut floats, descending });
                assert_eq!(ints, sorted_ints, "{level} {descending}");
                let to_bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(to_bits(&floats), to_bits(&sorted_floats), "{level} {descending}");
            }
        }
    }

    #[test]
    fn keys_come_back_and_keep_the_order() {
        let floats = [f64::NEG_INFINITY, -1e300, -1.0, -0.0, 0.0, 1e-310, 1.0, f64::INFINITY, f64::NAN];
        assert!(floats.windows(2).all(|x| x[0].key() < x[1].key()));
        assert!(floats.iter().all(|x| f64::of_key(x.key()).to_bits() == x.to_bits()));
        let ints = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(ints.windows(2).all(|x| x[0].key() < x[1].key()));
        assert!(ints.iter().all(|&x| i64::of_key(x.key()) == x));
        assert!((0..=255_u8).all(|x| u8::of_key(x.key()) == x));
    }

    #[test]
    fn the_map_is_stable_both_ways() {
        let mut values = [3_i32, 1, 3, 1, 2, 5, 5];
        let mut map = [0; 7];
        sort_rows_with_map(&[0, 5, 7], &mut values, &mut map, true);
        assert_eq!((values, map), ([3, 3, 2, 1, 1, 5, 5], [0, 2, 4, 1, 3, 5, 6]));
        let mut values = [1.0_f64, -1.0, 1.0];
        let mut map = [0; 3];
        sort_rows_with_map(&[4, 7], &mut values, &mut map, false);
        assert_eq!((values, map), ([-1.0, 1.0, 1.0], [5, 4, 6]));
    }
}
