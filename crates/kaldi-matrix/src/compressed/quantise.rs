//! Numbers to integers and back, in Kaldi's order of single and double precision: another order, or
//! a fused multiply-add, gives other bytes.

use crate::error::Error;

/// Scale of the integers: 0 is `min`, the largest is `min + range`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scale {
    pub(crate) min: f32,
    pub(crate) range: f32,
}

impl Scale {
    /// Returns the scale from the lowest to the highest element; if they are equal, to a number
    /// that is certainly above.
    pub(super) fn between(lowest: f32, highest: f32) -> Result<Self, Error> {
        let highest =
            if highest == lowest { (f64::from(lowest) + (1.0 + f64::from(lowest.abs()))) as f32 } else { highest };
        let range = highest - lowest;
        if range.is_finite() {
            return Ok(Self { min: lowest, range });
        }
        let (operation, parameter, expected) = ("compress", "highest - lowest element", "a number of f32's range");
        Err(Error::OutOfDomain { operation, parameter, value: f64::from(highest) - f64::from(lowest), expected })
    }

    /// Returns the relative position of a number between the ends, from 0 to 1.
    fn position(self, value: f32) -> f32 {
        ((value - self.min) / self.range).clamp(0.0, 1.0)
    }

    pub(super) fn two_bytes(self, value: f32) -> u16 {
        // Not 0.5: Kaldi rounds with a little less.
        truncate(f64::from(self.position(value) * 65535.0) + 0.499).clamp(0, 65535) as u16
    }

    pub(super) fn one_byte(self, value: f32) -> u8 {
        truncate(f64::from(self.position(value) * 255.0) + 0.499).clamp(0, 255) as u8
    }

    /// Converts integers of two bytes to numbers.
    pub(super) fn of_two_bytes(self) -> impl Fn(u16) -> f32 {
        let step = (f64::from(self.range) * (1.0 / 65535.0)) as f32;
        move |integer| self.min + f32::from(integer) * step
    }

    /// Converts integers of one byte to numbers.
    pub(super) fn of_one_byte(self) -> impl Fn(u8) -> f32 {
        let step = (f64::from(self.range) * (1.0 / 255.0)) as f32;
        move |integer| self.min + f32::from(integer) * step
    }

    fn percentile(self, integer: u16) -> f32 {
        self.min + self.range * 1.525_902_2e-5 * f32::from(integer)
    }
}

/// Truncates as a cast in C does on x86-64: NaN and values outside of `i32` become `i32::MIN`.
fn truncate(x: f64) -> i32 {
    if x.abs() < 2_147_483_648.0 { x as i32 } else { i32::MIN }
}

/// The lowest value, the lower and upper quartile, and the highest value of a column, as integers
/// of the [`Scale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Percentiles(pub(crate) [u16; 4]);

impl Percentiles {
    /// Computes the percentiles of a column with at least one element, which is reordered. Each
    /// percentile is above the one before.
    pub(super) fn from_column(scale: Scale, column: &mut [f32]) -> Self {
        let integer = |value: f32| scale.two_bytes(value);
        let ranked: [Option<u16>; 4] = if column.len() >= 5 {
            let quarter = column.len() / 4;
            let (below, lower, above) = column.select_nth_unstable_by(quarter, f32::total_cmp);
            let (_, upper, rest) = above.select_nth_unstable_by(2 * quarter - 1, f32::total_cmp);
            let lowest = below.iter().copied().reduce(f32::min).unwrap_or(*lower);
            let highest = rest.iter().copied().reduce(f32::max).unwrap_or(*upper);
            [lowest, *lower, *upper, highest].map(|value| Some(integer(value)))
        } else {
            column.sort_unstable_by(f32::total_cmp);
            std::array::from_fn(|rank| column.get(rank).map(|&value| integer(value)))
        };
        // Leaves room above for the percentiles that must be higher.
        let first = ranked[0].unwrap_or(0).min(65532);
        let mut percentiles = [first; 4];
        for (rank, most) in [(1, 65533), (2, 65534), (3, 65535)] {
            let least = percentiles[rank - 1] + 1;
            percentiles[rank] = ranked[rank].map_or(least, |integer| integer.max(least).min(most));
        }
        Self(percentiles)
    }

    /// Returns the numbers of the percentiles.
    pub(super) fn knots(self, scale: Scale) -> Knots {
        Knots(self.0.map(|integer| scale.percentile(integer)))
    }
}

/// A scale of three linear parts: byte 0 at the first knot, 64 at the second, 192 at the third, 255
/// at the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knots([f32; 4]);

impl Knots {
    pub(super) fn byte(self, value: f32) -> u8 {
        let [lowest, lower, upper, highest] = self.0;
        let (from, to, first, last): (_, _, u8, u8) = if value < lower {
            (lowest, lower, 0, 64)
        } else if value < upper {
            (lower, upper, 64, 192)
        } else {
            (upper, highest, 192, 255)
        };
        let position = (value - from) / (to - from);
        let steps = truncate(f64::from(position * f32::from(last - first)) + 0.5);
        steps.saturating_add(first.into()).clamp(first.into(), last.into()) as u8
    }

    pub(super) fn value(self, byte: u8) -> f32 {
        let [lowest, lower, upper, highest] = self.0;
        let (from, to, steps, step) = match byte {
            0..=64 => (lowest, lower, byte, 1.0 / 64.0),
            65..=192 => (lower, upper, byte - 64, 1.0 / 128.0),
            _ => (upper, highest, byte - 192, 1.0 / 63.0),
        };
        (f64::from(from) + f64::from((to - from) * f32::from(steps)) * step) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_in_the_column_decides() {
        let scale = Scale { min: 0.0, range: 65535.0 };
        for (len, expected) in [
            (1, [0, 1, 2, 3]),
            (2, [0, 100, 101, 102]),
            (4, [0, 100, 200, 300]),
            (5, [0, 100, 300, 400]),
            (8, [0, 200, 600, 700]),
        ] {
            let mut column: Vec<f32> = (0..len).map(|i: u8| 100.0 * f32::from((i * 3 + 1) % len)).collect();
            if len % 3 == 0 {
                column = (0..len).map(|i| 100.0 * f32::from(i)).collect();
            }
            assert_eq!(Percentiles::from_column(scale, &mut column).0, expected, "{len}");
        }
    }

    #[test]
    fn percentiles_ascend_even_at_the_upper_end() {
        let scale = Scale { min: 0.0, range: 65535.0 };
        for len in 1..12 {
            assert_eq!(Percentiles::from_column(scale, &mut vec![65535.0; len]).0, [65532, 65533, 65534, 65535]);
        }
    }

    #[test]
    fn every_byte_comes_back() {
        let knots = Percentiles([0, 20_000, 21_000, 65_535]).knots(Scale { min: -3.0, range: 10.0 });
        for byte in 0..=255 {
            assert_eq!(knots.byte(knots.value(byte)), byte);
        }
    }

    #[test]
    fn numbers_beyond_i32_are_those_of_x86() {
        assert_eq!([1.9, -1.9, f64::NAN, 1e10, -1e10].map(truncate), [1, -1, i32::MIN, i32::MIN, i32::MIN]);
    }
}
