//! Random numbers, the same in every run.

/// SplitMix64, which begins with this number.
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// Evenly from 0 up to 1, without 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Evenly between 0 and 1, never 0, so that it has a logarithm.
    pub fn positive(&mut self) -> f64 {
        self.uniform() + f64::EPSILON / 4.0
    }

    /// Evenly from `low` up to `high`, without `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.uniform() * (high - low) as f64) as usize
    }

    /// Any order is as likely as any other.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.between(0, i + 1));
        }
    }
}
