//! What several tests share: random numbers, batches and weights.

use kaldera_base::Real;
use kaldera_base::random::Philox;
use lod::{Lod, LodTensor};
use recurrent::{Parameters, State};

/// Numbers from a seed, in -1..1.
pub(crate) struct Numbers(Philox, u32);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Philox::new(seed), 0)
    }

    pub(crate) fn next<T: Real>(&mut self) -> T {
        self.1 += 1;
        T::from_f64(f64::from(self.0.block([self.1, 0, 0, 0])[0]) / f64::from(1_u32 << 31) - 1.0)
    }

    pub(crate) fn vec<T: Real>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| self.next()).collect()
    }

    /// Rows without sequences.
    pub(crate) fn rows<T: Real>(&mut self, rows: usize, width: usize) -> LodTensor<T> {
        LodTensor::from_vec([rows, width], self.vec(rows * width), Lod::none()).unwrap()
    }

    pub(crate) fn tensor<T: Real>(&mut self, lengths: &[usize], width: usize) -> LodTensor<T> {
        let rows = lengths.iter().sum();
        LodTensor::from_vec([rows, width], self.vec(rows * width), Lod::from_lengths(&[lengths]).unwrap()).unwrap()
    }

    pub(crate) fn like<T: Real>(&mut self, tensor: &LodTensor<T>) -> LodTensor<T> {
        LodTensor::from_vec(tensor.shape(), self.vec(tensor.values().len()), tensor.lod().clone()).unwrap()
    }

    pub(crate) fn state<T: Real>(&mut self, sequences: usize, outputs: usize, cells: usize) -> State<T> {
        State { h: self.rows(sequences, outputs), c: self.rows(sequences, cells) }
    }

    /// Fills all weights with numbers that keep a network with `units` units lively.
    pub(crate) fn fill<T: Real>(&mut self, weights: &mut impl Parameters<T>, units: usize) {
        let scale = T::from_f64(2.0 / (units as f64).sqrt());
        weights.visit_mut(&mut |_, _, values| values.iter_mut().for_each(|x| *x = self.next::<T>() * scale));
    }
}

/// The sum of the products.
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(&a, &b)| a * b).sum()
}
