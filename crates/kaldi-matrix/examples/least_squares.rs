//! Fits a parabola to noisy points: normal equations, Cholesky's factor and two triangular systems.
//! No BLAS is needed.
//!
//! ```sh
//! cargo run --release -p kaldi-matrix --no-default-features --example least_squares
//! ```

use kaldi_matrix::{Error, Matrix, RandomState, SpMatrix, Trans, Vector};

fn main() -> Result<(), Error> {
    // y = 1 - 2 x + 3 x² and noise, at 200 points from -1 to 1. A row of `a` is 1, x, x².
    let x: Vector<f64> = (0..200).map(|i| f64::from(i) / 99.5 - 1.0).collect();
    let a = Matrix::from_fn(x.dim(), 3, |point, power| [1.0, x[point], x[point] * x[point]][power]);
    let truth = Vector::from([1.0, -2.0, 3.0]);
    let mut y = Vector::zeros(x.dim());
    y.set_randn(&mut RandomState::new(7));
    y.scale(0.1);
    y.add_mat_vec(1.0, &a, Trans::No, &truth, 1.0)?;

    // aᵀ a w = aᵀ y
    let mut normal = SpMatrix::zeros(3);
    normal.add_mat2(1.0, &a, Trans::Yes, 0.0)?;
    let mut w = Vector::zeros(3);
    w.add_mat_vec(1.0, &a, Trans::Yes, &y, 0.0)?;
    let factor = normal.cholesky()?; // normal = L Lᵀ
    w.solve(&factor, Trans::No)?;
    w.solve(&factor, Trans::Yes)?;

    let mut residual = y.clone();
    residual.add_mat_vec(-1.0, &a, Trans::No, &w, 1.0)?;
    println!("{} points, design matrix {a:?}", x.dim());
    println!("weights {w:.3}, true ones {truth}");
    println!("standard deviation of what is left: {:.3}", residual.norm(2.0)? / (x.dim() as f64).sqrt());
    Ok(())
}
