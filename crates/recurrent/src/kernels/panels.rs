//! Packed weights for products with few rows: the states of a recurrence's step.

use std::marker::PhantomData;
use std::ops::Range;

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

use crate::kernels::aligned::Aligned;

/// Maximum number of rows that are multiplied at once: with 4 vectors of sums each they fill the 32
/// registers of AVX-512.
pub(crate) const MAX_ROWS: usize = 6;

/// Number of lanes that [`dispatch`] chooses for a type.
struct LanesOf<T>(PhantomData<T>);

impl<T: Real> Kernel for LanesOf<T> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        T::Lanes::<S>::LANES
    }
}

/// Returns the number of rows that are multiplied at once with the registers of `S`.
const fn rows_at_once<S: Simd>() -> usize {
    if S::LANES == 16 { MAX_ROWS } else { 3 }
}

/// The sums of one block: for each row, up to 4 vectors.
pub(crate) type Sums<T, S> = [[Vector<T, S>; 4]; MAX_ROWS];

/// A matrix of `depth` rows whose columns are packed in panels of `VECTORS` vectors, each panel row
/// after row.
///
/// ```text
///   columns   gate 0: a b c d e f   gate 1: A B C D E F       two vectors of four lanes
///   panel 0   a b c d A B C D    (row 0)
///             a b c d A B C D    (row 1) ...
///   panel 1   e f 0 0 E F 0 0
/// ```
///
/// A panel has the same units of each gate, so its sums are complete for these units. With fewer
/// gates than vectors, each gate has several vectors. A sum adds in the order of the rows,
/// independent of the number of rows that are multiplied at once.
#[derive(Debug)]
pub(crate) struct Panels<T, const VECTORS: usize> {
    data: Aligned<T>,
    depth: usize,
    units: usize,
    lanes: usize,
    /// Vectors of each gate in a panel.
    per_gate: usize,
}

impl<T: Real, const VECTORS: usize> Panels<T, VECTORS> {
    /// Allocates zeros, for the lanes that [`dispatch`] chooses.
    pub(crate) fn zeros(depth: usize, gates: usize, units: usize) -> Self {
        let (lanes, per_gate) = (dispatch(LanesOf(PhantomData::<T>)), VECTORS / gates);
        let count = units.div_ceil(per_gate * lanes);
        Self { data: Aligned::zeros(count * depth * VECTORS * lanes), depth, units, lanes, per_gate }
    }

    /// Packs the transpose of `weights`, which has `depth` columns, and for each gate a row for
    /// each unit.
    pub(crate) fn transposed(weights: &[T], depth: usize, gates: usize) -> Self {
        let units = weights.len() / (depth * gates).max(1);
        let mut panels = Self::zeros(depth, gates, units);
        let step = VECTORS * panels.lanes;
        for (column, row) in weights.chunks_exact(depth.max(1)).enumerate() {
            let start = panels.offset(column / units, column % units);
            let values = panels.data.as_mut_slice()[start..].iter_mut().step_by(step);
            values.zip(row).for_each(|(value, &weight)| *value = weight);
        }
        panels
    }

    /// Packs `weights` as they are: `depth` rows, and a column for each unit of a single gate.
    pub(crate) fn plain(weights: &[T], depth: usize) -> Self {
        let units = weights.len() / depth.max(1);
        let mut panels = Self::zeros(depth, 1, units);
        let step = VECTORS * panels.lanes;
        for (k, row) in weights.chunks_exact(units.max(1)).enumerate() {
            for (p, part) in row.chunks(step).enumerate() {
                panels.data.as_mut_slice()[(p * depth + k) * step..][..part.len()].copy_from_slice(part);
            }
        }
        panels
    }

    /// Returns the offset of the column of a unit of a gate.
    fn offset(&self, gate: usize, unit: usize) -> usize {
        let per_panel = self.per_gate * self.lanes;
        let (panel, within) = (unit / per_panel, unit % per_panel);
        panel * self.depth * VECTORS * self.lanes + gate * per_panel + within
    }

    /// Returns the units of vector `vector` of a gate in panel `panel`.
    #[inline(always)]
    pub(crate) fn units_of(&self, panel: usize, vector: usize) -> Range<usize> {
        let begin = (panel * self.per_gate + vector) * self.lanes;
        begin.min(self.units)..(begin + self.lanes).min(self.units)
    }

    /// Returns the number of panels.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.units.div_ceil(self.per_gate * self.lanes)
    }

    /// Computes the sums of panel `panel` for `rows`, at most [`MAX_ROWS`].
    #[inline(always)]
    pub(crate) fn multiply<S: Simd>(&self, s: S, panel: usize, rows: &[&[T]], sums: &mut Sums<T, S>) {
        let size = self.depth * VECTORS * self.lanes;
        let panel = &self.data.as_slice()[panel * size..][..size];
        let s = T::lanes(s);
        match *rows {
            [a] => multiply::<T, S, VECTORS, 1>(s, panel, [a, a, a, a, a, a], sums),
            [a, b] => multiply::<T, S, VECTORS, 2>(s, panel, [a, b, a, a, a, a], sums),
            [a, b, c] => multiply::<T, S, VECTORS, 3>(s, panel, [a, b, c, a, a, a], sums),
            [a, b, c, d] if S::LANES == 16 => multiply::<T, S, VECTORS, 4>(s, panel, [a, b, c, d, a, a], sums),
            [a, b, c, d, e] if S::LANES == 16 => multiply::<T, S, VECTORS, 5>(s, panel, [a, b, c, d, e, a], sums),
            [a, b, c, d, e, f] if S::LANES == 16 => multiply::<T, S, VECTORS, 6>(s, panel, [a, b, c, d, e, f], sums),
            _ => unreachable!("{} rows at once", rows.len()),
        }
    }
}

/// Multiplies the first `ROWS` of `rows` by a panel of `VECTORS` vectors, at most 4.
///
/// All indexes of sums are written out: the compiler keeps only a part of an array in registers if
/// a loop indexes it.
#[inline(always)]
fn multiply<T: Real, S: Simd, const VECTORS: usize, const ROWS: usize>(
    s: T::Lanes<S>,
    panel: &[T],
    rows: [&[T]; MAX_ROWS],
    sums: &mut Sums<T, S>,
) {
    let lanes = T::Lanes::<S>::LANES;
    let step = VECTORS * lanes;
    let depth = panel.len() / step;
    let [a, b, c, d, e, f] = rows;
    let (a, b, c, d, e, f) = (&a[..depth], &b[..depth], &c[..depth], &d[..depth], &e[..depth], &f[..depth]);
    let zero = s.splat(T::ZERO);
    let row = [zero, zero, zero, zero];
    let mut block = [row, row, row, row, row, row];
    for (k, panel) in panel.chunks_exact(step).enumerate() {
        let mut weights = row;
        macro_rules! load {
            ($($v:literal)+) => {$(
                if $v < VECTORS {
                    weights[$v] = s.load(&panel[$v * lanes..]);
                }
            )+};
        }
        load!(0 1 2 3);
        macro_rules! add {
            ($($row:ident $r:literal)+) => {$(
                if $r < ROWS {
                    let x = s.splat($row[k]);
                    block[$r][0] = s.mul_add(x, weights[0], block[$r][0]);
                    if VECTORS > 1 {
                        block[$r][1] = s.mul_add(x, weights[1], block[$r][1]);
                    }
                    if VECTORS > 2 {
                        block[$r][2] = s.mul_add(x, weights[2], block[$r][2]);
                    }
                    if VECTORS > 3 {
                        block[$r][3] = s.mul_add(x, weights[3], block[$r][3]);
                    }
                }
            )+};
        }
        add!(a 0 b 1 c 2 d 3 e 4 f 5);
    }
    macro_rules! keep {
        ($($r:literal)+) => {$(
            if $r < ROWS {
                sums[$r] = block[$r];
            }
        )+};
    }
    keep!(0 1 2 3 4 5);
}

/// Cuts `rows` rows into blocks of nearly equal size. The registers of `S` hold a block at once.
#[inline(always)]
pub(crate) fn blocks<S: Simd>(_: S, rows: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let count = rows.div_ceil(rows_at_once::<S>());
    (0..count).map(move |i| i * rows / count..(i + 1) * rows / count)
}
