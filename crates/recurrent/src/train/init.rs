//! Initial parameters: random numbers that depend on a seed and the parameter's name.

use kaldera_base::Real;
use kaldera_base::random::Philox;
use kaldi_matrix::{Matrix, RandomState};

use crate::error::Error;
use crate::parameters::{Named, Parameters};

/// Fills all tensors with uniform random numbers between `-bound` and `bound`.
///
/// PyTorch's default bound is `1 / √hidden_size` for recurrent layers and `1 / √inputs` for linear
/// ones, for weights and biases. The values of a tensor depend only on its name and on the seed,
/// not on the other tensors of the model.
///
/// ```
/// use recurrent::Parameters;
/// use recurrent::train::{Linear, uniform};
///
/// let mut layer = Linear::<f32>::zeros(16, 4);
/// uniform(&mut layer, 1.0 / 16.0_f64.sqrt(), 7);
/// assert!(
///     layer.named().iter().all(|tensor| tensor.values.iter().all(|x| (-0.25..0.25).contains(x)))
/// );
/// ```
#[doc(alias = "reset_parameters")]
pub fn uniform<T: Real>(parameters: &mut (impl Parameters<T> + ?Sized), bound: f64, seed: u64) {
    for mut tensor in parameters.named_mut() {
        tensor.fill_uniform(bound, seed);
    }
}

impl<T: Real> Named<&mut [T]> {
    /// Fills the tensor with uniform random numbers between `-bound` and `bound`, a function of the
    /// seed and the name.
    pub fn fill_uniform(&mut self, bound: f64, seed: u64) {
        let mut random = self.random(seed);
        self.values.iter_mut().for_each(|x| *x = T::from_f64(bound * (2.0 * random.uniform() - 1.0)));
    }

    /// Fills the tensor with normally distributed numbers with mean 0, a function of the seed and
    /// the name.
    pub fn fill_normal(&mut self, standard_deviation: f64, seed: u64) {
        let mut random = self.random(seed);
        self.values.iter_mut().for_each(|x| *x = T::from_f64(standard_deviation * random.gauss()));
    }

    /// Fills the tensor with uniform random numbers between -b and b, with
    /// `b = gain √(6 / (rows + columns))`, which keeps the variance from layer to layer (X. Glorot,
    /// Y. Bengio, *Understanding the difficulty of training deep feedforward neural networks*,
    /// AISTATS 2010).
    ///
    /// # Errors
    /// [`Error::NoMatrix`] for a tensor that does not have two axes.
    #[doc(alias = "xavier_uniform_")]
    #[doc(alias = "glorot_uniform")]
    pub fn fill_xavier_uniform(&mut self, gain: f64, seed: u64) -> Result<(), Error> {
        let [rows, cols] = self.matrix()?;
        self.fill_uniform(gain * (6.0 / (rows + cols).max(1) as f64).sqrt(), seed);
        Ok(())
    }

    /// Fills the tensor with normally distributed numbers with mean 0 and standard deviation
    /// `gain √(2 / (rows + columns))`; see [`fill_xavier_uniform`](Self::fill_xavier_uniform).
    ///
    /// # Errors
    /// [`Error::NoMatrix`] for a tensor that does not have two axes.
    #[doc(alias = "xavier_normal_")]
    #[doc(alias = "glorot_normal")]
    pub fn fill_xavier_normal(&mut self, gain: f64, seed: u64) -> Result<(), Error> {
        let [rows, cols] = self.matrix()?;
        self.fill_normal(gain * (2.0 / (rows + cols).max(1) as f64).sqrt(), seed);
        Ok(())
    }

    /// Fills the tensor with a random matrix whose rows, or columns if they are fewer, are
    /// orthogonal and of length `gain`. Repeated multiplication by it neither grows nor shrinks a
    /// vector (A. Saxe, J. McClelland, S. Ganguli, *Exact solutions to the nonlinear dynamics of
    /// learning in deep linear neural networks*, ICLR 2014). The matrix is cut into `blocks` blocks
    /// of rows, each orthogonal: for a recurrent layer give the number of its gates. 1 takes the
    /// matrix as a whole, like PyTorch.
    ///
    /// # Errors
    /// [`Error::NoMatrix`] for a tensor that does not have two axes; [`Error::Count`] if the number
    /// of rows is not a multiple of `blocks`.
    #[doc(alias = "orthogonal_")]
    pub fn fill_orthogonal(&mut self, gain: f64, blocks: usize, seed: u64) -> Result<(), Error> {
        let [rows, cols] = self.matrix()?;
        let block = rows / blocks.max(1);
        if block * blocks != rows {
            return Err(Error::Count {
                what: "the number of rows of the blocks",
                expected: rows,
                found: block * blocks,
            });
        }
        if block == 0 || cols == 0 {
            return Ok(());
        }
        let mut random = self.random(seed);
        for values in self.values.chunks_exact_mut(block * cols) {
            // Random directions, orthogonalized one after the other, are evenly distributed over
            // all orthogonal matrices.
            let mut directions = Matrix::<f64>::zeros(block.min(cols), block.max(cols));
            directions.set_randn(&mut random);
            directions.orthogonalize_rows()?;
            for (i, x) in values.iter_mut().enumerate() {
                let (row, col) = (i / cols, i % cols);
                *x = T::from_f64(gain * directions[if block <= cols { (row, col) } else { (col, row) }]);
            }
        }
        Ok(())
    }

    fn matrix(&self) -> Result<[usize; 2], Error> {
        let shape = <[usize; 2]>::try_from(&self.shape[..]);
        shape.map_err(|_| Error::NoMatrix { tensor: self.name.clone(), found: self.shape.clone() })
    }

    fn random(&self, seed: u64) -> RandomState {
        let [a, b, ..] = Philox::for_name(seed, &self.name).block([0; 4]);
        RandomState::new(u64::from(a) << 32 | u64::from(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(rows: usize, cols: usize, fill: impl FnOnce(&mut Named<&mut [f64]>)) -> Vec<f64> {
        let mut values = vec![f64::NAN; rows * cols];
        fill(&mut Named::new("weight", [rows, cols], &mut values[..]));
        values
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        (values.iter().sum::<f64>() / n, values.iter().map(|x| x * x).sum::<f64>() / n)
    }

    /// Means and variances equal the values of the distributions, within five standard deviations
    /// of 60,000 numbers, and bounds hold.
    #[test]
    fn numbers_are_distributed_as_documented() {
        let bound = (6.0_f64 / 500.0).sqrt();
        let xavier = filled(200, 300, |tensor| tensor.fill_xavier_uniform(1.0, 1).unwrap());
        let (mean, square) = moments(&xavier);
        assert!(xavier.iter().all(|x| x.abs() <= bound) && mean.abs() < 5.0 * bound / (3.0 * 6e4_f64).sqrt());
        assert!((square / (bound * bound / 3.0) - 1.0).abs() < 0.02);
        let normal = filled(200, 300, |tensor| tensor.fill_xavier_normal(2.0, 1).unwrap());
        let (mean, square) = moments(&normal);
        assert!((square / (4.0 * 2.0 / 500.0) - 1.0).abs() < 0.03 && mean.abs() < 5.0 * (square / 6e4).sqrt());
    }

    #[test]
    fn seeds_and_names_make_the_numbers() {
        let numbers = |name: &str, seed| {
            let mut values = [0.0_f32; 8];
            Named::new(name, [8], &mut values[..]).fill_uniform(1.0, seed);
            values
        };
        assert_eq!(numbers("a", 1), numbers("a", 1));
        assert_ne!(numbers("a", 1), numbers("b", 1));
        assert_ne!(numbers("a", 1), numbers("a", 2));
    }

    #[test]
    fn orthogonal_is_orthogonal() {
        for (rows, cols, blocks) in [(3, 5, 1), (5, 3, 1), (8, 2, 4), (4, 8, 2), (1, 1, 1)] {
            let values = filled(rows, cols, |tensor| tensor.fill_orthogonal(2.0, blocks, 9).unwrap());
            let block = rows / blocks;
            for values in values.chunks_exact(block * cols) {
                let at = |long: usize, i: usize| {
                    if block <= cols { values[i * cols + long] } else { values[long * cols + i] }
                };
                for i in 0..block.min(cols) {
                    for j in 0..=i {
                        let product: f64 = (0..block.max(cols)).map(|long| at(long, i) * at(long, j)).sum();
                        assert!((product - if i == j { 4.0 } else { 0.0 }).abs() < 1e-12, "{rows} {cols} {product}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let mut values = [0.0_f32; 6];
        let mut tensor = Named::new("bias", [6], &mut values[..]);
        let error = Error::NoMatrix { tensor: "bias".into(), found: vec![6] };
        assert_eq!(tensor.fill_xavier_uniform(1.0, 0), Err(error.clone()));
        assert_eq!(tensor.fill_xavier_normal(1.0, 0), Err(error.clone()));
        assert_eq!(tensor.fill_orthogonal(1.0, 1, 0), Err(error));
        let mut tensor = Named::new("weight", [3, 2], &mut values[..]);
        assert!(matches!(tensor.fill_orthogonal(1.0, 2, 0), Err(Error::Count { .. })));
        assert!(tensor.fill_orthogonal(1.0, 0, 0).is_err());
        assert!(Named::new("weight", [0, 2], &mut [0.0_f32; 0][..]).fill_orthogonal(1.0, 1, 0).is_ok());
    }
}
