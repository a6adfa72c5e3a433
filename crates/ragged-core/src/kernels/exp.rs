//! Sums of exponentials of rows.
//!
//! For `f32`, a block of rows that fits the first-level cache is copied to flat memory, with the
//! highest value of its row subtracted from each value. Then come exponentials of whole vectors,
//! whatever rows they touch, the sums of the rows, and logarithms of whole vectors of sums. Blocks
//! of long rows do without the flat memory. `f64` goes through the platform's `exp` and `ln`.

use kaldera_base::Real;
use kaldera_base::math;
use kaldera_base::simd::{Kernel, Lines, Simd, dispatch};

use crate::kernels::collect::{AHEAD, FEW, Slot};
use crate::kernels::reduce::{max_of_row, sum_of_row};
use crate::kernels::rows::rows_of;

/// The output of [`ExpKernels::normalize_rows`] for a value x, in a row whose exponentials have the
/// sum s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normal {
    /// x - ln s
    Log,
    /// e^x / s
    Probability,
}

/// Operations with exponentials for one type of number.
pub trait ExpKernels: Sized {
    /// Computes ln(e^`initial` + the sum of e^x of each row).
    fn logsumexp_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [Self]);
    /// Normalizes each value of each row; a row of only -inf gets -inf or 0.
    fn normalize_rows(splits: &[i32], values: &[Self], normal: Normal, slot: &mut Slot<'_, Self>);
    /// Computes x = e^x.
    fn exp_in_place(x: &mut [Self]);
}

/// Returns the value to subtract before the exponential: the highest value, if that is finite.
fn shift_of<T: Real>(highest: T) -> T {
    if highest.is_finite() { highest } else { T::ZERO }
}

impl ExpKernels for f64 {
    fn logsumexp_rows(splits: &[i32], values: &[f64], initial: f64, out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(rows_of(splits)) {
            let row = &values[row];
            let shift = shift_of(row.iter().fold(initial, |a, &x| a.max(x)));
            let sum = row.iter().fold((initial - shift).exp(), |a, &x| a + (x - shift).exp());
            *out = shift + sum.ln();
        }
    }

    fn normalize_rows(splits: &[i32], values: &[f64], normal: Normal, slot: &mut Slot<'_, f64>) {
        let mut exponentials = Vec::new();
        for range in rows_of(splits) {
            let row = &values[range.clone()];
            let shift = shift_of(row.iter().fold(f64::NEG_INFINITY, |a, &x| a.max(x)));
            exponentials.clear();
            exponentials.extend(row.iter().map(|&x| (x - shift).exp()));
            let sum = match exponentials.iter().sum::<f64>() {
                0.0 => 1.0,
                sum => sum,
            };
            match normal {
                Normal::Log => {
                    let log_sum = sum.ln();
                    slot.append_map::<FEW, f64>(&values[range.start..], row.len(), |&x| x - shift - log_sum);
                }
                Normal::Probability => slot.append_map::<FEW, f64>(&exponentials, row.len(), |&y| y / sum),
            }
        }
    }

    fn exp_in_place(x: &mut [f64]) {
        x.iter_mut().for_each(|x| *x = x.exp());
    }
}

impl ExpKernels for f32 {
    fn logsumexp_rows(splits: &[i32], values: &[f32], initial: f32, out: &mut [f32]) {
        dispatch(LogSumExp { splits, values, initial, out });
    }
    fn normalize_rows(splits: &[i32], values: &[f32], normal: Normal, slot: &mut Slot<'_, f32>) {
        dispatch(Normalize { splits, values, normal, slot });
    }
    fn exp_in_place(x: &mut [f32]) {
        math::exp_in_place(x);
    }
}

/// Number of values in a block: 16 kB.
const BLOCK: i32 = 4096;
/// Largest number of rows in a block, in case they are empty.
const BLOCK_ROWS: usize = 1024;

/// Returns the splits of blocks of rows: a row that is longer than a block has its own block.
pub(crate) fn blocks(mut splits: &[i32]) -> impl Iterator<Item = &[i32]> {
    std::iter::from_fn(move || {
        let &[first, _, ref ends @ ..] = splits else { return None };
        let more = ends.iter().take(BLOCK_ROWS - 1).take_while(|&&end| end - first <= BLOCK).count();
        let block = &splits[..more + 2];
        splits = &splits[more + 1..];
        Some(block)
    })
}

/// Exponentials of a block of rows.
///
/// All memory is allocated before a loop over rows. With a call in the loop, such as an
/// allocator's, vectors would go over the stack in each turn, which takes some processors 30 cycles
/// if a vector there crosses a line.
#[derive(Default)]
struct Exponentials {
    /// Row after row: e^(initial - shift) if there is an initial value, then e^(x - shift).
    flat: Lines,
    /// The subtracted value of each row.
    shifts: Lines,
    /// The sum of each row.
    sums: Lines,
}

impl Exponentials {
    /// Computes only the shifts and the sums: of short rows by way of the exponentials, of long
    /// ones at once.
    #[inline(always)]
    fn take_sums<S: Simd>(&mut self, s: S, splits: &[i32], values: &[f32], initial: f32) {
        /// Mean number of elements in a row from which on the exponentials need not wait for other
        /// rows.
        const LONG: usize = 48;
        let rows = splits.len() - 1;
        if ((splits[rows] - splits[0]) as usize) < LONG * rows {
            return self.take(s, splits, values, initial);
        }
        let shifts = self.shifts.floats(rows);
        for ((row, shift), sum) in rows_of(splits).zip(shifts).zip(self.sums.floats(rows)) {
            let row = &values[row];
            *shift = shift_of(max_of_row(f32::lanes(s), row, initial));
            let first = if initial == f32::NEG_INFINITY { 0.0 } else { (initial - *shift).exp() };
            *sum = first + sum_of_exponentials(s, row, *shift);
        }
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, s: S, splits: &[i32], values: &[f32], initial: f32) {
        let rows = splits.len() - 1;
        let extra = usize::from(initial != f32::NEG_INFINITY);
        let len = (splits[rows] - splits[0]) as usize + rows * extra;
        // Stores reach beyond the end of their row, and the last ones beyond the end of all.
        let all = self.flat.floats(len + 2 * S::LANES);
        let mut at = 0;
        for (row, shift) in rows_of(splits).zip(self.shifts.floats(rows)) {
            let row = &values[row];
            *shift = shift_of(max_of_row(f32::lanes(s), row, initial));
            if extra == 1 {
                all[at] = initial - *shift;
                at += 1;
            }
            let flat = &mut all[at..];
            let shift = s.splat(*shift);
            let shifted = |part: &[f32]| s.sub(s.load_partial(part, shift), shift);
            let (first, rest) = row.split_at(S::LANES.min(row.len()));
            let (second, rest) = rest.split_at(S::LANES.min(rest.len()));
            s.store(shifted(first), flat);
            s.store(shifted(second), &mut flat[S::LANES..]);
            for (part, flat) in rest.chunks(S::LANES).zip(flat[2 * S::LANES..].chunks_mut(S::LANES)) {
                match flat.len() >= S::LANES {
                    true => s.store(shifted(part), flat),
                    false => s.store_partial(shifted(part), flat),
                }
            }
            at += row.len();
        }
        for x in self.flat.vectors(s, len.div_ceil(S::LANES)) {
            *x = math::exp(s, *x);
        }
        let flat = &self.flat.as_floats()[..len];
        let mut at = 0;
        for (row, sum) in rows_of(splits).zip(self.sums.floats(rows)) {
            let end = at + row.len() + extra;
            *sum = sum_of_row(f32::lanes(s), &flat[at..end]);
            at = end;
        }
    }

    /// Computes the logarithms of the sums of `rows`, in place.
    #[inline(always)]
    fn log_sums<S: Simd>(&mut self, s: S, rows: usize) {
        for sums in self.sums.vectors(s, rows.div_ceil(S::LANES)) {
            *sums = math::ln(s, *sums);
        }
    }
}

/// Computes the sum of e^(x - shift) of a row.
#[inline(always)]
fn sum_of_exponentials<S: Simd>(s: S, row: &[f32], shift: f32) -> f32 {
    let shift = s.splat(shift);
    let exponential = |x| math::exp(s, s.sub(x, shift));
    let (mut a, mut b) = (s.splat(0.0), s.splat(0.0));
    let mut pairs = row.chunks_exact(2 * S::LANES);
    for pair in &mut pairs {
        a = s.add(exponential(s.load(pair)), a);
        b = s.add(exponential(s.load(&pair[S::LANES..])), b);
    }
    for part in pairs.remainder().chunks(S::LANES) {
        a = s.add(exponential(s.load_partial(part, s.splat(f32::NEG_INFINITY))), a);
    }
    s.sum(s.add(a, b))
}

struct LogSumExp<'a> {
    splits: &'a [i32],
    values: &'a [f32],
    initial: f32,
    out: &'a mut [f32],
}

impl Kernel for LogSumExp<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut exponentials = Exponentials::default();
        let mut out = self.out.iter_mut();
        for splits in blocks(self.splits) {
            let rows = splits.len() - 1;
            exponentials.take_sums(s, splits, self.values, self.initial);
            exponentials.log_sums(s, rows);
            for ((sum, shift), out) in
                exponentials.sums.floats(rows).iter().zip(exponentials.shifts.as_floats()).zip(&mut out)
            {
                *out = shift + sum;
            }
        }
    }
}

struct Normalize<'a, 's> {
    splits: &'a [i32],
    values: &'a [f32],
    normal: Normal,
    slot: &'a mut Slot<'s, f32>,
}

impl Kernel for Normalize<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { splits, values, normal, slot } = self;
        let mut exponentials = Exponentials::default();
        for splits in blocks(splits) {
            match normal {
                Normal::Log => {
                    exponentials.take_sums(s, splits, values, f32::NEG_INFINITY);
                    exponentials.log_sums(s, splits.len() - 1);
                }
                Normal::Probability => exponentials.take(s, splits, values, f32::NEG_INFINITY),
            }
            let first = splits[0] as usize;
            let (sums, shifts) = (exponentials.sums.as_floats(), exponentials.shifts.as_floats());
            for ((row, &sum), &shift) in rows_of(splits).zip(sums).zip(shifts) {
                match normal {
                    Normal::Log => {
                        let log_sum = if sum == f32::NEG_INFINITY { 0.0 } else { sum };
                        slot.append_map::<AHEAD, f32>(&values[row.start..], row.len(), |&x| x - shift - log_sum);
                    }
                    Normal::Probability => {
                        let sum = if sum == 0.0 { 1.0 } else { sum };
                        let flat = &exponentials.flat.as_floats()[row.start - first..];
                        slot.append_map::<FEW, f32>(flat, row.len(), |&x| x / sum);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{available, dispatch_at};

    use super::*;
    use crate::kernels::collect::collect_rows;

    /// Returns rows around the sizes of vectors and blocks, some of them of infinities.
    fn rows() -> (Vec<i32>, Vec<f32>) {
        let mut splits = vec![0];
        for row in 0..200 {
            splits.push(splits[row] + [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 4096, 5000][row * 7 % 15]);
        }
        splits.extend([splits[200]; 3000]);
        let number = |i: i32| (i.wrapping_mul(0x9E37_79B9_u32.cast_signed()) >> 20) as f32 / 100.0;
        let mut values: Vec<f32> = (0..splits[200]).map(number).collect();
        values[splits[20] as usize..splits[60] as usize].fill(f32::NEG_INFINITY);
        (splits, values)
    }

    #[test]
    fn every_instruction_set_agrees_with_double_precision() {
        let (splits, values) = rows();
        let wide: Vec<f64> = values.iter().map(|&x| x.into()).collect();
        let near = |a: f32, b: f64| f64::from(a) == b || (f64::from(a) - b).abs() <= 1e-6 * b.abs().max(1.0);
        for level in available() {
            for initial in [f32::NEG_INFINITY, -3.0, 50.0] {
                let mut expected = vec![0.0; splits.len() - 1];
                f64::logsumexp_rows(&splits, &wide, initial.into(), &mut expected);
                let mut out = vec![7.0; splits.len() - 1];
                dispatch_at(level, LogSumExp { splits: &splits, values: &values, initial, out: &mut out });
                for (i, (&a, &b)) in out.iter().zip(&expected).enumerate() {
                    assert!(near(a, b), "row {i} of {level}: {a} for {b}");
                }
            }
            for normal in [Normal::Log, Normal::Probability] {
                let expected =
                    collect_rows(&splits, |_, splits, slot| f64::normalize_rows(splits, &wide, normal, slot));
                let out = collect_rows(&splits, |_, splits, slot| {
                    dispatch_at(level, Normalize { splits, values: &values, normal, slot });
                });
                for (i, (&a, &b)) in out.iter().zip(&expected).enumerate() {
                    assert!(near(a, b), "{normal:?} {i} of {level}: {a} for {b}");
                }
            }
        }
    }

    #[test]
    fn infinities_and_nan_are_what_they_are_in_the_formula() {
        let inf = f32::INFINITY;
        let cases: [(&[f32], f32); 5] =
            [(&[-inf, -inf], -inf), (&[inf, 1.0], inf), (&[-inf, 3.0], 3.0), (&[], -inf), (&[200.0; 1], 200.0)];
        for (row, expected) in cases {
            let out = &mut [0.0];
            f32::logsumexp_rows(&[0, row.len() as i32], row, -inf, out);
            assert_eq!(*out, [expected], "{row:?}");
        }
        let out = &mut [0.0];
        f32::logsumexp_rows(&[0, 2], &[f32::NAN, 1.0], -inf, out);
        assert!(out[0].is_nan());
    }
}
