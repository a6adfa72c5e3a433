//! Cosine transforms, principal components.

use kaldera::base::Real;
use kaldera::matrix::Matrix;
use kaldera::matrix::dense::compute_dct_matrix;

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "ComputeDctMatrix" => dct,
        #[cfg(any(feature = "openblas", feature = "pure"))]
        "ComputePca" => pca,
        _ => return None,
    })
}

fn dct<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let size = record.given.plain("N")?;
    let mut m = Matrix::zeros(size, size);
    compute_dct_matrix(&mut m);
    Ok(Answer::new().matrix("M", &m))
}

/// The signs of the directions are free, but the part of x along all of them together is not.
#[cfg(any(feature = "openblas", feature = "pure"))]
fn pca<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    use kaldera::matrix::decompositions::compute_pca;
    use kaldera::matrix::{SubMatrix, Trans};

    let x = record.given.matrix("X")?;
    let dim = record.given.plain("dim")?;
    let (mut u, mut a) = (Matrix::zeros(dim, x.num_cols()), Matrix::zeros(x.num_rows(), dim));
    compute_pca(&x, &mut u, Some(a.view_mut()))?;
    let product = |a: SubMatrix<'_, T>, b: SubMatrix<'_, T>, trans| {
        let cols = if trans == Trans::No { b.num_cols() } else { b.num_rows() };
        let mut product = Matrix::zeros(a.num_rows(), cols);
        product.add_mat_mat(T::ONE, &a, Trans::No, &b, trans, T::ZERO)?;
        Ok::<_, Stop>(product)
    };
    let (known_u, known_a) = (record.out.matrix("U")?, record.out.matrix("A")?);
    let along = |a: &Matrix<T>, u: &Matrix<T>| product(a.view(), u.view(), Trans::No);
    let unit = Matrix::from_fn(dim, dim, |r, c| if r == c { T::ONE } else { T::ZERO });
    let mut answer = Answer::new()
        .free("U")
        .free("A")
        .near("U U'", unit.data(), product(u.view(), u.view(), Trans::Yes)?.data())
        .near("A", a.data(), product(x.view(), u.view(), Trans::Yes)?.data())
        .near("A U", along(&known_a, &known_u)?.data(), along(&a, &u)?.data());
    // Each direction by itself, with the known answer's sign.
    for (came, known) in u.rows().zip(known_u.rows()) {
        let agrees = came.iter().zip(known).map(|(&a, &b)| a * b).sum::<T>() > T::ZERO;
        let came: Vec<T> = came.iter().map(|&x| if agrees { x } else { -x }).collect();
        answer = answer.near("a row of U, but for its sign", known, &came);
    }
    Ok(answer)
}
