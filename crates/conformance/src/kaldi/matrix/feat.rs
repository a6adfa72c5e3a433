//! The parts of Kaldi's features: frames, windows, mel filters, linear prediction, resampling.
//! Features have single precision, in records of any type.

use std::sync::Arc;

use kaldera::base::Real;
use kaldera::feat::options::OptionValue;
use kaldera::feat::{
    FrameExtractionOptions, LinearResample, MelBanks, MelBanksOptions, ResampleStream, compute_lpc, equal_loudness,
    idft_bases, lifter_coefficients, lpc_to_cepstrum,
};
use serde::Deserialize;

use super::answer::Answer;
use super::record::Record;
use crate::Stop;

pub(super) fn run<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    match r.op {
        "feat.NumFrames" => {
            let num_samples: Vec<usize> = r.plain("num_samples")?;
            let snip = FrameExtractionOptions::default();
            let whole = FrameExtractionOptions::default().with_snip_edges(false);
            let of_each = |count: &dyn Fn(usize) -> usize| num_samples.iter().map(|&n| count(n)).collect::<Vec<_>>();
            let first: Vec<_> = (0..4).map(|f| whole.first_sample_of_frame(f)).collect();
            Ok(Answer::new()
                .exact("snip", of_each(&|n| snip.num_frames(n)))
                .exact("nosnip_flush", of_each(&|n| whole.num_frames(n)))
                .exact("nosnip_noflush", of_each(&|n| whole.num_frames_ready(n)))
                .exact("nosnip_first_sample_frames0_3", first))
        }
        "feat.WindowSize" => window_size(r),
        "feat.window" => {
            // At 1000 samples a second, a millisecond is a sample.
            let mut options = FrameExtractionOptions::default().with_sample_frequency(1000.0);
            options.frame_length_ms = f32::from(r.plain::<u16>("length")?);
            options.window_type.set(&r.plain::<String>("type")?)?;
            Ok(Answer::new().numbers("w", &options.window_function()))
        }
        "feat.MelBanks" => mel_banks(r),
        "feat.ComputeLifterCoeffs" => {
            Ok(Answer::new().numbers("coeffs", &lifter_coefficients(r.plain("Q")?, r.plain("dim")?)))
        }
        "feat.InitIdftBases" => Ok(Answer::new().matrix("M", &idft_bases(r.plain("n_bases")?, r.plain("dimension")?))),
        "feat.ComputeLpc/Lpc2Cepstrum" => {
            let (log_energy, a) = compute_lpc(&r.plain::<Vec<f32>>("autocorr")?);
            let answer = Answer::new().number("ret", log_energy).numbers("lpc", &a);
            Ok(answer.numbers("cepstrum", &lpc_to_cepstrum(&a)))
        }
        "feat.LinearResample" => resample(r),
        _ => Err(Stop::NotRun),
    }
}

/// The arguments of this operation are in the answer, next to the result.
fn window_size<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    #[derive(Deserialize)]
    struct Case {
        samp_freq: f32,
        len_ms: f32,
        shift_ms: f32,
        size: usize,
        shift: usize,
        padded: usize,
    }
    let holds = r.out.plain::<Vec<Case>>("cases")?.iter().all(|case| {
        let options = FrameExtractionOptions::default()
            .with_sample_frequency(case.samp_freq)
            .with_frame_length(case.len_ms)
            .with_frame_shift(case.shift_ms);
        let came = (options.window_size(), options.window_shift(), options.padded_window_size());
        came == (case.size, case.shift, case.padded)
    });
    Ok(Answer::new().free("cases").must("all sizes are Kaldi's", holds))
}

fn mel_banks<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    #[derive(Deserialize)]
    struct Bin {
        first: usize,
        w: Vec<f32>,
    }
    let frame = FrameExtractionOptions::default()
        .with_sample_frequency(r.plain("samp_freq")?)
        .with_round_to_power_of_two(r.plain("round_to_power_of_two")?);
    let options = MelBanksOptions::default()
        .with_num_mel_bins(r.plain("num_bins")?)
        .with_low_freq(r.plain("low_freq")?)
        .with_high_freq(r.plain("high_freq")?);
    let banks = MelBanks::new(&options, &frame, r.plain("vtln_warp")?)?;
    let expected: Vec<Bin> = r.out.plain("bins")?;
    let loudness: Vec<f32> = banks.center_freqs().iter().map(|&hz| equal_loudness(hz)).collect();
    let extents = expected.iter().map(|bin| (bin.first, bin.w.len()));
    let same_extents = extents.eq(banks.bins().iter().map(|bin| (bin.first, bin.weights.len())));
    let known: Vec<f32> = expected.iter().flat_map(|bin| &bin.w).copied().collect();
    let came: Vec<f32> = banks.bins().iter().flat_map(|bin| &bin.weights).copied().collect();
    Ok(Answer::new()
        .free("bins")
        .must("filters begin and end where Kaldi's do", same_extents)
        .near("weights", &known, &came)
        .numbers("center_freqs", banks.center_freqs())
        .numbers("equal_loudness", &loudness))
}

/// The whole signal at once, and in three chunks.
fn resample<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let [rate_in, rate_out] = [r.plain("rate_in")?, r.plain("rate_out")?];
    let plan = Arc::new(LinearResample::new(rate_in, rate_out, r.plain("cutoff")?, r.plain("num_zeros")?)?);
    let x: Vec<f32> = r.plain("x")?;
    let mut answer = Answer::new().numbers("one_shot_flush", &plan.resample(&x));
    let mut stream = ResampleStream::new(plan);
    for (name, from, to) in [("chunk_0_70", 0, 70), ("chunk_70_131", 70, 131), ("chunk_131_200_flush", 131, 200)] {
        let chunk = x.get(from..to).ok_or_else(|| Stop::Damaged(format!("x: fewer than {to} samples")))?;
        let mut out = Vec::new();
        stream.accept(chunk, &mut out);
        if to == x.len() {
            stream.finish(&mut out);
        }
        answer = answer.numbers(name, &out);
    }
    Ok(answer)
}
