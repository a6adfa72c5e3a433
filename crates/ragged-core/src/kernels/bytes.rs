//! Where rows of bytes have their best ones.

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Pairs, Simd};

use super::integers::{MANY, better, last_of_best, select_good};
use super::reduce::{SOON, rows_of};

/// Places that fit a byte.
const PLACES: usize = 256;

/// 0, 1 .. 255 and 255, 254 .. 0.
const UP_AND_DOWN: [[u8; PLACES]; 2] = {
    let mut places = [[0; PLACES]; 2];
    let mut i = 0;
    while i < PLACES {
        places[0][i] = i as u8;
        places[1][PLACES - 1 - i] = i as u8;
        i += 1;
    }
    places
};

/// The place among all values of the last of the highest bytes of each row, or of the `LOWEST`; -1 where `initial` is beyond it.
///
/// A row of one or two vectors takes longer to fold than to read. So each byte gets its place in the row as a lower half, which makes the best
/// one of a row its last one too, and as many rows are folded into one vector as that has room for numbers. What places do not reach of a few
/// longer rows among them is looked at by itself, as are all rows where many are longer.
pub(super) struct BestBytes<'a, const LOWEST: bool> {
    pub(super) splits: &'a [i32],
    pub(super) values: &'a [u8],
    pub(super) initial: u8,
    pub(super) out: &'a mut [i32],
}

impl<const LOWEST: bool> Kernel for BestBytes<'_, LOWEST> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        best_bytes::<_, LOWEST>(s.integers(), self);
    }
}

#[inline(always)]
fn best_bytes<L: Pairs, const LOWEST: bool>(s: L, work: BestBytes<'_, LOWEST>) {
    let BestBytes { splits, values, initial, out } = work;
    let at_once = L::LANES / 2;
    let square = &mut [s.splat(0); 32][..at_once];
    for (i, out) in out.chunks_mut(at_once).enumerate() {
        let splits = &splits[i * at_once..][..=out.len()];
        let longest = rows_of(splits).fold(0, |longest, row| longest.max(row.len()));
        let long_rows = rows_of(splits).filter(|row| row.len() > PLACES).count();
        if long_rows > at_once / 8 {
            for (out, row) in out.iter_mut().zip(rows_of(splits)) {
                let place = last_of_best::<u8, _, MANY, LOWEST>(s, &values[row.clone()], initial);
                *out = place.map_or(-1, |place| (row.start + place) as i32);
            }
            continue;
        }
        match longest.min(PLACES).div_ceil(L::LANES) {
            0..=1 => best_pairs::<_, 1, LOWEST>(s, splits, values, square),
            2 => best_pairs::<_, 2, LOWEST>(s, splits, values, square),
            3 => best_pairs::<_, 3, LOWEST>(s, splits, values, square),
            4 => best_pairs::<_, 4, LOWEST>(s, splits, values, square),
            _ => best_pairs::<_, 8, LOWEST>(s, splits, values, square),
        }
        let best = s.fold_each(square, |a, b| better_pairs::<_, LOWEST>(s, a, b));
        for ((out, ends), &best) in out.iter_mut().zip(splits.windows(2)).zip(best.as_ref()) {
            let [byte, place] = best.to_be_bytes();
            let (good, place) = if LOWEST { (byte <= initial, u8::MAX - place) } else { (byte >= initial, place) };
            // A place behind the end has the worst byte of all, and so have all before it then.
            *out = if good && ends[0] < ends[1] { (ends[0] + i32::from(place)).min(ends[1] - 1) } else { -1 };
        }
        if long_rows > 0 {
            for (out, row) in out.iter_mut().zip(rows_of(splits)).filter(|(_, row)| row.len() > PLACES) {
                let best = usize::try_from(*out).map_or(initial, |place| values[place]);
                let rest = row.start + PLACES;
                if let Some(place) = last_of_best::<u8, _, MANY, LOWEST>(s, &values[rest..row.end], best) {
                    *out = (rest + place) as i32;
                }
            }
        }
    }
}

#[inline(always)]
fn better_pairs<L: Pairs, const LOWEST: bool>(s: L, a: L::Vector, b: L::Vector) -> L::Vector {
    if LOWEST { s.min_pairs(a, b) } else { s.max_pairs(a, b) }
}

/// For each row, of up to `VECTORS` vectors, pairs of which the best one has its last best byte and, below that, its place.
///
/// Of the lowest, the higher place counts as the lower one.
#[inline(always)]
fn best_pairs<L: Pairs, const VECTORS: usize, const LOWEST: bool>(
    s: L,
    splits: &[i32],
    values: &[u8],
    square: &mut [L::Vector],
) {
    let worst = s.splat(if LOWEST { u8::MAX } else { 0 });
    let mut places = [worst; VECTORS];
    for (places, bytes) in places.iter_mut().zip(UP_AND_DOWN[usize::from(LOWEST)].chunks_exact(L::LANES)) {
        *places = s.load(bytes);
    }
    for (best, row) in square.iter_mut().zip(rows_of(splits)) {
        let mut rest = &values[row];
        let soon = rest.as_ptr().wrapping_byte_add(SOON);
        let (mut byte, mut place) = (worst, places[0]);
        for (i, &here) in places.iter().enumerate() {
            memory::prefetch_at(soon.wrapping_add(i * L::LANES));
            let part;
            (part, rest) = rest.split_at(L::LANES.min(rest.len()));
            let bytes = s.load_partial(part, worst);
            place = select_good::<u8, _, LOWEST>(s, [bytes, byte], here, place);
            byte = better::<u8, _, LOWEST>(s, bytes, byte);
        }
        let [a, b] = s.pairs(byte, place);
        *best = better_pairs::<_, LOWEST>(s, a, b);
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{available, dispatch_at};
    use proptest::prelude::*;

    use super::*;

    /// What a loop finds in each row.
    fn naive(splits: &[i32], values: &[u8], initial: u8, good: impl Fn(u8, u8) -> bool) -> Vec<i32> {
        let last = |row: std::ops::Range<usize>| {
            let take =
                |(best, place), i: usize| if good(values[i], best) { (values[i], i as i32) } else { (best, place) };
            row.fold((initial, -1), take).1
        };
        rows_of(splits).map(last).collect()
    }

    fn check(splits: &[i32], values: &[u8], initial: u8) {
        for level in available() {
            let out = &mut vec![7; splits.len() - 1];
            dispatch_at(level, BestBytes::<false> { splits, values, initial, out });
            assert_eq!(*out, naive(splits, values, initial, |x, best| x >= best), "{level} {initial}");
            dispatch_at(level, BestBytes::<true> { splits, values, initial, out });
            assert_eq!(*out, naive(splits, values, initial, |x, best| x <= best), "lowest, {level} {initial}");
        }
    }

    #[test]
    fn rows_of_any_length_have_their_last_best_byte() {
        for lengths in [
            &[0, 1, 255, 256][..],
            &[64; 32],
            &[64; 33],
            &[257, 3, 0, 20_000],
            &[300, 3, 0, 16_320, 1000],
            &[1000; 32],
            &[31, 32, 33, 63, 65, 128, 129, 192, 193],
        ] {
            for first in [0, 5] {
                let ends = lengths.iter().cycle().take(100).scan(first, |end, len| {
                    *end += len;
                    Some(*end)
                });
                let splits: Vec<i32> = std::iter::once(first).chain(ends).collect();
                for number in [
                    |_| 0,
                    |_| u8::MAX,
                    |i: i32| i.wrapping_mul(0x9E37_79B9_u32.cast_signed()).to_be_bytes()[0],
                    |i| i as u8 % 3,
                ] {
                    let values: Vec<u8> = (0..splits[100]).map(number).collect();
                    [0, 1, 2, 100, u8::MAX].iter().for_each(|&initial| check(&splits, &values, initial));
                }
            }
        }
        check(&[0], &[], 0);
        check(&[2, 2, 2], &[1, 2], 0);
    }

    proptest! {
        #[test]
        fn ties_and_ends_are_those_of_a_loop(
            lengths in prop::collection::vec(prop_oneof![0_i32..20, 0_i32..300], 1..80),
            few in prop::collection::vec(any::<u8>(), 1..5),
            initial in any::<u8>(),
            seed in any::<u64>(),
        ) {
            let ends = lengths.iter().scan(0, |end, len| {
                *end += len;
                Some(*end)
            });
            let splits: Vec<i32> = std::iter::once(0).chain(ends).collect();
            let number = |i: u64| few[((i ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % few.len()];
            let values: Vec<u8> = (0..splits[lengths.len()] as u64).map(number).collect();
            for initial in [initial, few[0], 0, u8::MAX] {
                check(&splits, &values, initial);
            }
        }
    }
}
