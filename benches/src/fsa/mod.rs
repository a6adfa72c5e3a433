//! Inputs for `fsa`, the same in every run: batches of FSAs shaped as those of k2's figures, and a language (a lexicon and an n-gram model) as
//! large as that of OpenFst's.

mod batches;
mod cases;
mod language;

pub use batches::{lattice, symbols, top_sorted, unsorted, with_epsilons, word_trie};
pub use cases::{Case, case, write_inputs};
pub use language::{Language, LanguageFiles};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// Evenly from 0 up to 1, without 1.
    fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Evenly from `low` up to `high`, without `high`.
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.uniform() * (high - low) as f64) as usize
    }

    /// A score that is better than few.
    fn score(&mut self) -> f32 {
        (self.uniform() * -5.0) as f32
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.between(0, i + 1));
        }
    }
}
