//! Fourier and cosine transforms, principal components.

use kaldera::base::Real;
use kaldera::matrix::dense::compute_dct_matrix;
use kaldera::matrix::fft::{
    SplitRadixComplexFft, SplitRadixRealFft, complex_fft, complex_ft, real_fft, real_fft_inefficient,
};
use kaldera::matrix::{Matrix, Vector};

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "ComplexFft" => complex,
        "RealFft" => real,
        "SplitRadixComplexFft" => split_radix_complex,
        "SplitRadixRealFft" => split_radix_real,
        "ComputeDctMatrix" => dct,
        #[cfg(any(feature = "openblas", feature = "pure"))]
        "ComputePca" => pca,
        _ => return None,
    })
}

/// The slow reference, which must agree as well, is compared under another name.
fn complex<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let x = record.given.vector("x")?;
    let size: usize = record.given.plain("N")?;
    let mut answer = Answer::new().must("x has N complex numbers", x.dim() == 2 * size);
    for (name, forward) in [("forward", true), ("backward", false)] {
        let (mut came, mut slow) = (x.clone(), Vector::zeros(x.dim()));
        complex_fft(&mut came, forward)?;
        complex_ft(&x, &mut slow, forward)?;
        answer = answer.near("ComplexFt", record.out.vector(name)?.data(), slow.data()).vector(name, &came);
    }
    Ok(answer)
}

fn real<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut slow = record.given.vector("x")?;
    real_fft_inefficient(&mut slow, true)?;
    let answer = Answer::new().near("RealFftInefficient", record.out.vector("forward")?.data(), slow.data());
    there_and_back(record, answer, |x, forward| Ok(real_fft(x, forward)?))
}

fn split_radix_real<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut plan = SplitRadixRealFft::new(record.given.vector("x")?.dim())?;
    there_and_back(record, Answer::new(), |x, forward| Ok(plan.compute(x, forward)?))
}

fn there_and_back<T: Real>(
    record: &Record<'_, T>,
    answer: Answer<T>,
    mut transform: impl FnMut(&mut Vector<T>, bool) -> Result<(), Stop>,
) -> Result<Answer<T>, Stop> {
    let mut x = record.given.vector("x")?;
    transform(&mut x, true)?;
    let answer = answer.vector("forward", &x);
    transform(&mut x, false)?;
    Ok(answer.vector("forward_then_backward", &x))
}

fn split_radix_complex<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let x = record.given.vector("x")?;
    let mut plan = SplitRadixComplexFft::new(x.dim() / 2)?;
    let mut answer = Answer::new();
    for (name, forward) in [("forward", true), ("backward", false)] {
        let mut came = x.clone();
        plan.compute(&mut came, forward)?;
        answer = answer.vector(name, &came);
    }
    Ok(answer)
}

fn dct<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let size = record.given.plain("N")?;
    let mut m = Matrix::zeros(size, size);
    compute_dct_matrix(&mut m);
    Ok(Answer::new().matrix("M", &m))
}

/// The signs of the directions are free: what x has along all of them together is not.
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
