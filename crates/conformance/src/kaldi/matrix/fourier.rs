//! Fourier transforms.

use kaldera::base::Real;
use kaldera::matrix::Vector;
use kaldera::matrix::fft::{
    SplitRadixComplexFft, SplitRadixRealFft, complex_fft, complex_ft, real_fft, real_fft_inefficient,
};

use super::answer::Answer;
use super::record::{Record, tried};
use crate::Stop;

pub(super) fn run<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    match r.op {
        "ComplexFft" => complex(r),
        "RealFft" => real(r),
        "SplitRadixComplexFft" => split_radix_complex(r),
        "SplitRadixRealFft" => split_radix_real(r),
        _ => Err(Stop::NotRun),
    }
}

/// The slow reference, which must agree as well, is compared under another name.
fn complex<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let x = r.vector("x")?;
    let mut answer = Answer::new().must("x has N complex numbers", x.dim() == 2 * r.plain::<usize>("N")?);
    for (name, forward) in [("forward", true), ("backward", false)] {
        let slow = tried(&Vector::zeros(x.dim()), |slow| complex_ft(&x, slow, forward))?;
        answer = answer.near("ComplexFt", r.out.vector(name)?.data(), slow.data());
        answer = answer.vector(name, &tried(&x, |x| complex_fft(x, forward))?);
    }
    Ok(answer)
}

fn real<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let mut slow = r.vector("x")?;
    real_fft_inefficient(&mut slow, true)?;
    let answer = Answer::new().near("RealFftInefficient", r.out.vector("forward")?.data(), slow.data());
    there_and_back(r, answer, |x, forward| Ok(real_fft(x, forward)?))
}

fn split_radix_real<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let mut plan = SplitRadixRealFft::new(r.vector("x")?.dim())?;
    there_and_back(r, Answer::new(), |x, forward| Ok(plan.compute(x, forward)?))
}

fn there_and_back<T: Real>(
    r: &Record<'_, T>,
    answer: Answer,
    mut transform: impl FnMut(&mut Vector<T>, bool) -> Result<(), Stop>,
) -> Result<Answer, Stop> {
    let mut x = r.vector("x")?;
    transform(&mut x, true)?;
    let answer = answer.vector("forward", &x);
    transform(&mut x, false)?;
    Ok(answer.vector("forward_then_backward", &x))
}

fn split_radix_complex<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let x = r.vector("x")?;
    let mut plan = SplitRadixComplexFft::new(x.dim() / 2)?;
    let answer = Answer::new().vector("forward", &tried(&x, |x| plan.compute(x, true))?);
    Ok(answer.vector("backward", &tried(&x, |x| plan.compute(x, false))?))
}
