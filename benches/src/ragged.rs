//! Ragged tensors of k2's figures: 5 M values in 500 k rows of geometric lengths, a tenth of them
//! empty, and longer rows beside them.

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::random::Random;

/// 1, 2, .. with falling probability.
fn geometric(random: &mut Random, mean: f64) -> usize {
    1 + (random.positive().ln() / (1.0 - 1.0 / mean).ln()) as usize
}

/// A tenth of the rows is empty, the mean length is 10.
pub fn short_rows(rows: usize) -> RowSplits {
    let mut random = Random(20_260_101);
    let lengths = (0..rows).map(|_| if random.uniform() < 0.1 { 0 } else { geometric(&mut random, 10.0 / 0.9) });
    RowSplits::from_lengths(lengths).unwrap()
}

/// 64 elements and more, 128 in the mean.
pub fn long_rows(rows: usize) -> RowSplits {
    let mut random = Random(20_260_102);
    RowSplits::from_lengths((0..rows).map(|_| 63 + geometric(&mut random, 65.0))).unwrap()
}

/// Values between -10 and 10 in such rows.
pub fn floats(splits: RowSplits) -> Ragged<f32> {
    let mut random = Random(20_260_103);
    let values: Vec<f32> = (0..splits.num_elements()).map(|_| (random.uniform() * 20.0 - 10.0) as f32).collect();
    // Of the crate's own making, so that it lies where its results do: in huge pages.
    Ragged::new(RaggedShape::new([splits]).unwrap(), values).unwrap().map(|&x| x)
}

/// All rows in a random order.
pub fn permutation(rows: usize) -> Vec<i32> {
    let mut random = Random(20_260_104);
    let mut order: Vec<i32> = (0..).take(rows).collect();
    random.shuffle(&mut order);
    order
}

/// Integers between -500 and 500: in short rows, hardly two lists are the same.
pub fn integers(floats: &Ragged<f32>) -> Ragged<i32> {
    floats.map(|x| (x * 50.0) as i32)
}

/// Ten thousand lists, again and again.
pub fn repeated(lists: &Ragged<i32>) -> Ragged<i32> {
    let order: Vec<i32> = permutation(lists.num_rows()).into_iter().map(|row| row % 10_000).collect();
    lists.select(0, &order).unwrap()
}

/// The lists in four tensors, one after the other.
pub fn quarters(all: &Ragged<f32>) -> Vec<Ragged<f32>> {
    let rows = all.num_rows();
    (0..4).map(|i| all.arange(0, i * rows / 4, (i + 1) * rows / 4).unwrap()).collect()
}
