//! The parts of Kaldi's features: frames, windows, mel filters, linear prediction, resampling.

use std::sync::Arc;

use kaldera::base::Real;
use kaldera::feat::options::{OptionError, OptionValue};
use kaldera::feat::{
    FrameExtractionOptions, LinearResample, MelBanks, MelBanksOptions, ResampleStream, compute_lpc, equal_loudness,
    idft_bases, lifter_coefficients, lpc_to_cepstrum,
};
use kaldera::matrix::Matrix;
use serde::Deserialize;

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "feat.NumFrames" => num_frames,
        "feat.WindowSize" => window_size,
        "feat.window" => window,
        "feat.MelBanks" => mel_banks,
        "feat.ComputeLifterCoeffs" => lifter,
        "feat.InitIdftBases" => idft,
        "feat.ComputeLpc/Lpc2Cepstrum" => lpc,
        "feat.LinearResample" => resample,
        _ => return None,
    })
}

impl From<OptionError> for Stop {
    fn from(error: OptionError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Features have single precision, in records of any type.
fn as_given<T: Real>(numbers: &[f32]) -> Vec<T> {
    numbers.iter().map(|&x| T::from_f64(f64::from(x))).collect()
}

fn num_frames<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let num_samples: Vec<usize> = record.given.plain("num_samples")?;
    let snip = FrameExtractionOptions::default();
    let whole = FrameExtractionOptions { snip_edges: false, ..Default::default() };
    let of_each = |count: &dyn Fn(usize) -> usize| num_samples.iter().map(|&n| count(n)).collect::<Vec<_>>();
    Ok(Answer::new()
        .exact("snip", of_each(&|n| snip.num_frames(n)))
        .exact("nosnip_flush", of_each(&|n| whole.num_frames(n)))
        .exact("nosnip_noflush", of_each(&|n| whole.num_frames_ready(n)))
        .exact("nosnip_first_sample_frames0_3", (0..4).map(|f| whole.first_sample_of_frame(f)).collect::<Vec<_>>()))
}

/// The arguments of this operation are in the answer, next to the result.
fn window_size<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    #[derive(Deserialize)]
    struct Case {
        samp_freq: f32,
        len_ms: f32,
        shift_ms: f32,
        size: usize,
        shift: usize,
        padded: usize,
    }
    let cases: Vec<Case> = record.out.plain("cases")?;
    let holds = cases.iter().all(|case| {
        let options = FrameExtractionOptions {
            samp_freq: case.samp_freq,
            frame_length_ms: case.len_ms,
            frame_shift_ms: case.shift_ms,
            ..Default::default()
        };
        (options.window_size(), options.window_shift(), options.padded_window_size())
            == (case.size, case.shift, case.padded)
    });
    Ok(Answer::new().free("cases").must("all sizes are Kaldi's", holds))
}

fn window<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    // At 1000 samples a second, a millisecond is a sample.
    let length: u16 = record.given.plain("length")?;
    let mut options = FrameExtractionOptions { samp_freq: 1000.0, ..Default::default() };
    options.frame_length_ms = f32::from(length);
    options.window_type.set(&record.given.plain::<String>("type")?)?;
    Ok(Answer::new().numbers("w", &as_given(&options.window_function())))
}

fn mel_banks<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    #[derive(Deserialize)]
    struct Bin {
        first: usize,
        w: Vec<f32>,
    }
    let frame = FrameExtractionOptions {
        samp_freq: record.given.plain("samp_freq")?,
        round_to_power_of_two: record.given.plain("round_to_power_of_two")?,
        ..Default::default()
    };
    let options = MelBanksOptions {
        num_bins: record.given.plain("num_bins")?,
        low_freq: record.given.plain("low_freq")?,
        high_freq: record.given.plain("high_freq")?,
        ..Default::default()
    };
    let banks = MelBanks::new(&options, &frame, record.given.plain("vtln_warp")?)?;
    let expected: Vec<Bin> = record.out.plain("bins")?;
    let loudness: Vec<f32> = banks.center_freqs().iter().map(|&hz| equal_loudness(hz)).collect();
    let extent = |first: usize, weights: &[f32]| (first, weights.len());
    let same_extent = expected.len() == banks.bins().len()
        && expected.iter().zip(banks.bins()).all(|(b, a)| extent(b.first, &b.w) == extent(a.first, &a.weights));
    let weights = |bins: &mut dyn Iterator<Item = &Vec<f32>>| as_given(&bins.flatten().copied().collect::<Vec<_>>());
    Ok(Answer::new()
        .free("bins")
        .must("filters begin and end where Kaldi's do", same_extent)
        .near(
            "weights",
            &weights(&mut expected.iter().map(|bin| &bin.w)),
            &weights(&mut banks.bins().iter().map(|bin| &bin.weights)),
        )
        .numbers("center_freqs", &as_given(banks.center_freqs()))
        .numbers("equal_loudness", &as_given(&loudness)))
}

fn lifter<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let coefficients = lifter_coefficients(record.given.plain("Q")?, record.given.plain("dim")?);
    Ok(Answer::new().numbers("coeffs", &as_given(&coefficients)))
}

fn idft<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let bases = idft_bases(record.given.plain("n_bases")?, record.given.plain("dimension")?);
    let (rows, cols) = (bases.num_rows(), bases.num_cols());
    Ok(Answer::new().matrix("M", &Matrix::from_vec(rows, cols, as_given(bases.data()))?))
}

fn lpc<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let (log_energy, a) = compute_lpc(&record.given.plain::<Vec<f32>>("autocorr")?);
    Ok(Answer::new()
        .number("ret", T::from_f64(f64::from(log_energy)))
        .numbers("lpc", &as_given(&a))
        .numbers("cepstrum", &as_given(&lpc_to_cepstrum(&a))))
}

/// The whole signal at once, and in three chunks.
fn resample<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let plan = Arc::new(LinearResample::new(
        given.plain("rate_in")?,
        given.plain("rate_out")?,
        given.plain("cutoff")?,
        given.plain("num_zeros")?,
    )?);
    let x: Vec<f32> = given.plain("x")?;
    let mut answer = Answer::new().numbers("one_shot_flush", &as_given(&plan.resample(&x)));
    let mut stream = ResampleStream::new(Arc::clone(&plan));
    for (name, from, to) in [("chunk_0_70", 0, 70), ("chunk_70_131", 70, 131), ("chunk_131_200_flush", 131, 200)] {
        let chunk = x.get(from..to).ok_or_else(|| Stop::Damaged(format!("x: fewer than {to} samples")))?;
        let mut out = Vec::new();
        stream.accept(chunk, &mut out);
        if to == x.len() {
            stream.finish(&mut out);
        }
        answer = answer.numbers(name, &as_given(&out));
    }
    Ok(answer)
}
