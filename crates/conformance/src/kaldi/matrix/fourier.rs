//! Fourier transforms.

use kaldera::base::Real;
use kaldera::matrix::Vector;
use kaldera::matrix::fft::{
    SplitRadixComplexFft, SplitRadixRealFft, complex_fft, complex_ft, real_fft, real_fft_inefficient,
};

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "ComplexFft" => complex,
        "RealFft" => real,
        "SplitRadixComplexFft" => split_radix_complex,
        "SplitRadixRealFft" => split_radix_real,
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
