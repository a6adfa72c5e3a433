//! The random numbers of the GNU C library, from which Kaldi makes its own. Results that depend on
//! them can be repeated to the bit.

use std::f32::consts::TAU;

/// `rand` after `srand(seed)`: an additive feedback generator over 31 words (D. E. Knuth, *The Art
/// of Computer Programming*, volume 2, section 3.2.2).
#[derive(Debug, Clone)]
pub(super) struct CRandom {
    words: [u32; 31],
    next: usize,
}

/// Number of values that are discarded at first.
const WARM_UP: usize = 310;

impl CRandom {
    pub(super) fn new(seed: u32) -> Self {
        // The words begin as a multiplicative congruential sequence modulo 2^31 - 1.
        let mut word = i64::from(seed.max(1));
        let mut words = [0; 31];
        for to in &mut words {
            *to = word as u32;
            word = word * 16807 % 2_147_483_647;
        }
        let mut random = Self { words, next: 3 };
        for _ in 0..WARM_UP {
            random.rand();
        }
        random
    }

    /// Returns a number of 31 bits.
    fn rand(&mut self) -> u32 {
        let sum = self.words[self.next].wrapping_add(self.words[(self.next + 28) % 31]);
        self.words[self.next] = sum;
        self.next = (self.next + 1) % 31;
        sum >> 1
    }

    /// Returns a number between 0 and 1, as in Kaldi.
    pub(super) fn uniform(&mut self) -> f32 {
        uniform(self.rand())
    }

    /// Returns normally distributed numbers, as Kaldi fills a vector with them: from a generator of
    /// their own, seeded by this one.
    pub(super) fn normals(&mut self, count: usize) -> Vec<f32> {
        let mut own = Small(self.rand().wrapping_add(27437));
        let mut numbers = Vec::with_capacity(count + 1);
        while numbers.len() < count {
            let (u1, u2) = (uniform(own.rand()), uniform(own.rand()));
            let (radius, angle) = ((-2.0 * u1.ln()).sqrt(), TAU * u2);
            numbers.extend([radius * angle.cos(), radius * angle.sin()]);
        }
        numbers.truncate(count);
        numbers
    }
}

fn uniform(random: u32) -> f32 {
    ((f64::from(random) + 1.0) / (f64::from(i32::MAX) + 2.0)) as f32
}

/// `rand_r`: three steps of a linear congruential generator for 31 bits.
struct Small(u32);

impl Small {
    fn rand(&mut self) -> u32 {
        let mut bits = |count: u32| {
            self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (self.0 >> 16) % count
        };
        let high = bits(2048);
        let middle = bits(1024);
        (high << 10 ^ middle) << 10 ^ bits(1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_values_equal_the_c_librarys() {
        let mut random = CRandom::new(1);
        let first: Vec<u32> = (0..4).map(|_| random.rand()).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915]);
    }

    #[test]
    fn values_are_normally_distributed() {
        let mut random = CRandom::new(1);
        let numbers: Vec<f32> = (0..1000).flat_map(|_| random.normals(7)).collect();
        let moment = |p: i32| numbers.iter().map(|x| x.powi(p)).sum::<f32>() / 7000.0;
        assert!(moment(1).abs() < 0.05 && (moment(2) - 1.0).abs() < 0.05 && moment(3).abs() < 0.15);
    }
}
