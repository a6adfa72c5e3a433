//! Streams: cut in chunks of any size, saved and restored anywhere, they give the bits that one
//! pass gives.

use std::sync::Arc;

use kaldera_base::random::Philox;
use kaldi_feat::{
    Audio, CmvnStats, DeltaFeatures, DeltaFeaturesOptions, Error, Extractor, Fbank, FbankOptions, FeatureStream,
    FrameExtractionOptions, Kind, LogMel, LogMelOptions, Mfcc, MfccOptions, OnlineCmvn, OnlineCmvnOptions, Plp,
    PlpOptions, RowChain, RowStream, RowWindow, ShiftedDeltaFeatures, ShiftedDeltaFeaturesOptions, SlidingWindowCmn,
    SlidingWindowCmnOptions, Spectrogram, SpectrogramOptions, Splice, VadEnergyOptions, VadStream, compute_vad_energy,
};
use kaldi_matrix::Matrix;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

pub(crate) fn noise(len: usize, seed: u64) -> Vec<i16> {
    let mut noise = vec![0.0; len];
    Philox::new(seed).add_gaussian(3000.0, 0, &mut noise);
    noise.iter().map(|&x| x as i16).collect()
}

/// What happens to a stream between two chunks.
#[derive(Debug, Clone)]
enum Between {
    Nothing,
    TakeRows,
    TakeComputedRows,
    SaveAndRestore,
}

/// Sizes of chunks, and what happens after each; they are gone through again and again.
fn cuts() -> impl Strategy<Value = Vec<(usize, Between)>> {
    let size = prop_oneof![0_usize..5, 1_usize..400, 100_usize..3000];
    let between = prop::sample::select(vec![
        Between::Nothing,
        Between::TakeRows,
        Between::TakeComputedRows,
        Between::SaveAndRestore,
    ]);
    prop::collection::vec((size, between), 1..12).prop_filter("chunks must get on", |cuts| cuts.iter().any(|c| c.0 > 0))
}

/// The largest memory, in samples and numbers, that a state may take.
const STATE: usize = 1 << 20;

fn check_audio<K: Kind>(
    extractor: Extractor<K>,
    samples: &[i16],
    samp_freq: f32,
    cuts: &[(usize, Between)],
    finish: impl Fn(&Extractor<K>, &mut Vec<f32>),
) -> TestCaseResult {
    let extractor = Arc::new(extractor);
    let whole = extractor.compute(&Audio::new(samples, samp_freq).with_key("key")).unwrap();
    let new = || FeatureStream::new(Arc::clone(&extractor)).with_key("key").with_sample_rate(samp_freq).unwrap();
    let (mut stream, mut rows, mut rest) = (new(), Vec::new(), samples);
    for (size, between) in cuts.iter().cycle() {
        let (chunk, behind) = rest.split_at(rest.len().min(*size));
        rest = behind;
        stream.accept(chunk).unwrap();
        match between {
            Between::Nothing => {}
            Between::TakeRows => {
                stream.take_rows(&mut rows);
            }
            Between::TakeComputedRows => {
                stream.take_computed_rows(&mut rows);
            }
            Between::SaveAndRestore => {
                let state = stream.save_state();
                prop_assert!(state.len() < STATE);
                stream = new();
                stream.restore_state(&state).unwrap();
            }
        }
        if rest.is_empty() {
            break;
        }
    }
    stream.finish();
    let frames = stream.num_frames_ready();
    prop_assert_eq!(frames, whole.num_rows());
    prop_assert!(frames == 0 || stream.is_last_frame(frames - 1));
    let taken = rows.len() / extractor.dim();
    for i in taken..frames {
        rows.extend_from_slice(stream.frame(i).unwrap());
    }
    prop_assert!(stream.frame(frames).is_none());
    prop_assert_eq!(stream.accept(samples), Err(Error::AfterEnd));
    finish(&extractor, &mut rows);
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    prop_assert_eq!(bits(&rows), bits(whole.data()));
    Ok(())
}

fn frame_options() -> impl Strategy<Value = (FrameExtractionOptions, f32)> {
    (
        prop::sample::select(vec![8000.0_f32, 16000.0]),
        (8.0_f32..40.0, 2.0_f32..60.0),
        prop_oneof![Just(0.0_f32), Just(1.0)],
        any::<(bool, bool)>(),
        prop::sample::select(vec![1.0_f32, 32768.0]),
        prop::sample::select(vec![None, Some(11025.0_f32), Some(16000.0), Some(24000.0)]),
    )
        .prop_map(|(samp_freq, (frame_length_ms, frame_shift_ms), dither, flags, full_scale, rate)| {
            let mut options = FrameExtractionOptions::default()
                .with_sample_frequency(samp_freq)
                .with_frame_length(frame_length_ms)
                .with_frame_shift(frame_shift_ms)
                .with_dither(dither)
                .with_snip_edges(flags.0)
                .with_round_to_power_of_two(flags.1)
                .with_full_scale(full_scale)
                .with_allow_downsample(true)
                .with_allow_upsample(true);
            options.round_to_power_of_two |= options.window_size() % 2 == 1;
            (options, rate.unwrap_or(samp_freq))
        })
}

fn log_mel_options() -> impl Strategy<Value = LogMelOptions> {
    let lengths = prop_oneof![
        Just([0; 3]),
        (1_i32..6000).prop_map(|pad_to| [pad_to, 0, 0]),
        (1_i32..6000).prop_map(|least| [0, least, 0]),
        (1_i32..6000, 0_i32..3000).prop_map(|(least, more)| [0, least, least + more]),
    ];
    (any::<(bool, bool)>(), lengths, prop::sample::select(vec![(400, 160), (64, 10), (50, 100), (512, 128)])).prop_map(
        |((reflect, last_frame), [pad_to, min_samples, max_samples], (fft_size, hop))| {
            LogMelOptions::whisper(80)
                .with_reflect(reflect)
                .with_last_frame(last_frame)
                .with_pad_to(pad_to)
                .with_min_samples(min_samples)
                .with_max_samples(max_samples)
                .with_fft_size(fft_size)
                .with_hop(hop)
                .with_num_mel_bins(10)
        },
    )
}

fn nothing<K: Kind>(_: &Extractor<K>, _: &mut Vec<f32>) {}

/// Each case is a whole recording; `PROPTEST_CASES` still says how many there are to be.
fn fewer_cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases * 3 / 8, ..default }
}

proptest! {
    #![proptest_config(fewer_cases())]

    #[test]
    fn fbank_stream_equals_whole((frame, rate) in frame_options(), use_energy: bool, (len, seed) in (0_usize..6000, any::<u64>()), cuts in cuts()) {
        let mut options = FbankOptions::default().with_frame(frame).with_use_energy(use_energy);
        options.mel.num_bins = 7;
        check_audio(Fbank::new(options).unwrap(), &noise(len, seed), rate, &cuts, nothing)?;
    }

    #[test]
    fn mfcc_stream_equals_whole((frame, rate) in frame_options(), (len, seed) in (0_usize..6000, any::<u64>()), cuts in cuts()) {
        let mut options = MfccOptions::default().with_frame(frame).with_num_ceps(7);
        options.mel.num_bins = 7;
        check_audio(Mfcc::new(options).unwrap(), &noise(len, seed), rate, &cuts, nothing)?;
    }

    #[test]
    fn plp_stream_equals_whole((frame, rate) in frame_options(), (len, seed) in (0_usize..6000, any::<u64>()), cuts in cuts()) {
        let mut options = PlpOptions::default().with_frame(frame).with_lpc_order(6).with_num_ceps(7);
        options.mel.num_bins = 7;
        check_audio(Plp::new(options).unwrap(), &noise(len, seed), rate, &cuts, nothing)?;
    }

    #[test]
    fn spectrogram_stream_equals_whole(
        (frame, rate) in frame_options(),
        return_raw_fft: bool,
        (len, seed) in (0_usize..6000, any::<u64>()),
        cuts in cuts(),
    ) {
        let options = SpectrogramOptions::default().with_frame(frame).with_return_raw_fft(return_raw_fft);
        check_audio(Spectrogram::new(options).unwrap(), &noise(len, seed), rate, &cuts, nothing)?;
    }

    #[test]
    fn log_mel_stream_equals_whole(options in log_mel_options(), (len, seed) in (0_usize..6000, any::<u64>()), cuts in cuts()) {
        check_audio(LogMel::new(options).unwrap(), &noise(len, seed), 16000.0, &cuts, |mel, rows| mel.finish_rows(rows))?;
    }
}

fn check_rows(
    new: impl Fn() -> Box<dyn RowStream>,
    features: &Matrix<f32>,
    whole: &[f32],
    saves: &[usize],
) -> TestCaseResult {
    let (mut stream, mut out) = (new(), Vec::new());
    for (t, row) in features.rows().enumerate() {
        if saves.contains(&t) {
            let state = stream.save_state();
            stream = new();
            stream.restore_state(&state).unwrap();
            prop_assert!(stream.restore_state(&state[..state.len() - 1]).is_err());
        }
        stream.accept(row, &mut out).unwrap();
    }
    stream.finish(&mut out);
    prop_assert_eq!(&out[..], whole);
    // After the end it is as new.
    out.clear();
    for row in features.rows() {
        stream.accept(row, &mut out).unwrap();
    }
    stream.finish(&mut out);
    prop_assert_eq!(&out[..], whole);
    Ok(())
}

fn features() -> impl Strategy<Value = Matrix<f32>> {
    (0_usize..90, 1_usize..4, any::<u64>()).prop_map(|(rows, cols, seed)| {
        let mut values = vec![0.0; rows * cols];
        Philox::new(seed).add_gaussian(5.0, 0, &mut values);
        let cols = if rows == 0 { 0 } else { cols };
        Matrix::from_vec(rows, cols, values).unwrap()
    })
}

fn saves() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..90, 0..6)
}

proptest! {
    #[test]
    fn deltas_stream_equals_whole(features in features(), order in 0_i32..4, window in 1_i32..5, saves in saves()) {
        let deltas = DeltaFeatures::new(DeltaFeaturesOptions::default().with_delta_order(order).with_delta_window(window)).unwrap();
        let whole = deltas.compute(features.view()).unwrap();
        let dim = features.num_cols();
        check_rows(|| Box::new(deltas.stream(dim)), &features, whole.data(), &saves)?;
    }

    #[test]
    fn shifted_deltas_stream_equals_whole(
        features in features(),
        window in 1_i32..4,
        num_blocks in 1_i32..5,
        block_shift in 1_i32..5,
        saves in saves(),
    ) {
        let options = ShiftedDeltaFeaturesOptions::default().with_delta_window(window).with_num_blocks(num_blocks).with_block_shift(block_shift);
        let deltas = ShiftedDeltaFeatures::new(options).unwrap();
        let whole = deltas.compute(features.view()).unwrap();
        let dim = features.num_cols();
        check_rows(|| Box::new(deltas.stream(dim)), &features, whole.data(), &saves)?;
    }

    #[test]
    fn splice_stream_equals_whole(features in features(), left in 0_i32..9, right in 0_i32..9, saves in saves()) {
        let splice = Splice::new(left, right).unwrap();
        let whole = splice.compute(features.view()).unwrap();
        let dim = features.num_cols();
        check_rows(|| Box::new(splice.stream(dim)), &features, whole.data(), &saves)?;
    }

    #[test]
    fn sliding_cmn_stream_equals_whole(
        features in features(),
        cmn_window in 1_i32..40,
        min_window in 1_i32..60,
        (normalize_variance, center) in any::<(bool, bool)>(),
        saves in saves(),
    ) {
        let options = SlidingWindowCmnOptions::default().with_cmn_window(cmn_window).with_min_cmn_window(min_window).with_norm_vars(normalize_variance).with_center(center);
        let cmn = SlidingWindowCmn::new(options).unwrap();
        let whole = cmn.compute(&features).unwrap();
        let dim = features.num_cols();
        check_rows(|| Box::new(cmn.stream(dim)), &features, whole.data(), &saves)?;
    }

    #[test]
    fn vad_stream_equals_whole(
        features in features(),
        scale in prop::sample::select(vec![0.0_f32, 0.5]),
        vad_frames_context in 0_i32..9,
        vad_proportion_threshold in 0.1_f32..0.9,
        saves in saves(),
    ) {
        prop_assume!(features.num_rows() > 0);
        let options = VadEnergyOptions::default().with_vad_energy_threshold(1.0).with_vad_energy_mean_scale(scale).with_vad_frames_context(vad_frames_context).with_vad_proportion_threshold(vad_proportion_threshold);
        let whole = compute_vad_energy(&options, &features).unwrap();
        let dim = features.num_cols();
        check_rows(|| Box::new(VadStream::new(options.clone(), dim).unwrap()), &features, &whole, &saves)?;
    }

    #[test]
    fn online_cmvn_stream_equals_whole(
        features in features(),
        cmn_window in 1_i32..40,
        normalize_variance: bool,
        cmn_min_energy in prop::option::of(-1.0_f32..1.0),
        saves in saves(),
    ) {
        prop_assume!(features.num_rows() > 0);
        let dim = features.num_cols();
        let mut global = CmvnStats::new(dim);
        global.accumulate(&Matrix::from_fn(20, dim, |t, d| ((t * 7 + d) % 11) as f32)).unwrap();
        let options = OnlineCmvnOptions::default().with_cmn_window(cmn_window).with_speaker_frames(7).with_global_frames(5).with_norm_vars(normalize_variance).with_cmn_min_energy(cmn_min_energy);
        let new = || {
            let mut cmvn = OnlineCmvn::new(options.clone(), global.clone()).unwrap();
            cmvn.set_speaker(Some(global.clone())).unwrap();
            cmvn
        };
        let (mut stream, mut out) = (new(), Vec::new());
        for row in features.rows() {
            stream.accept(row, &mut out).unwrap();
        }
        // By the definition: the last rows, or with a quiet row the sums before it; then of the
        // speaker, then of the world, up to so many frames.
        let mut sums = vec![(0.0, 0.0, 0.0); dim];
        for t in 0..features.num_rows() {
            let is_loud = cmn_min_energy.is_none_or(|least| features[(t, 0)] > least);
            for d in 0..dim {
                let rows = (t + 1).saturating_sub(cmn_window as usize)..t + 1;
                let (mut count, mut sum, mut squares) = if is_loud { (rows.len() as f64, 0.0, 0.0) } else { sums[d] };
                for row in rows.filter(|_| is_loud) {
                    let x = f64::from(features[(row, d)]);
                    (sum, squares) = (sum + x, squares + x * x);
                }
                for most in [7.0, 5.0_f64] {
                    let frames = most.min(f64::from(cmn_window) - count).max(0.0);
                    count += frames;
                    sum += frames / 20.0 * global.matrix()[(0, d)];
                    squares += frames / 20.0 * global.matrix()[(1, d)];
                }
                sums[d] = (count, sum, squares);
                let mean = sum / count;
                let variance = squares / count - mean * mean;
                let mut expected = f64::from(features[(t, d)]) - mean;
                if normalize_variance {
                    // What is left of the difference of two sums is nothing but rounding where it
                    // is small.
                    if variance < 1e-2 {
                        continue;
                    }
                    expected /= variance.sqrt();
                }
                let found = f64::from(out[t * dim + d]);
                prop_assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{found} for {expected}");
            }
        }
        check_rows(|| Box::new(new()), &features, &out, &saves)?;
    }

    #[test]
    fn chained_streams_equal_whole(features in features(), saves in saves()) {
        prop_assume!(features.num_rows() > 0);
        let dim = features.num_cols();
        let cmn = SlidingWindowCmn::new(SlidingWindowCmnOptions::default().with_cmn_window(20).with_min_cmn_window(5)).unwrap();
        let deltas = DeltaFeatures::new(DeltaFeaturesOptions::default()).unwrap();
        let splice = Splice::new(3, 1).unwrap();
        let normalised = cmn.compute(&features).unwrap();
        let whole = splice.compute(deltas.compute(normalised.view()).unwrap().view()).unwrap();
        let new = || {
            let mut chain = RowChain::new(dim);
            chain.push(cmn.stream(dim)).unwrap();
            chain.push(deltas.stream(dim)).unwrap();
            chain.push(splice.stream(3 * dim)).unwrap();
            prop_assert!(chain.push(cmn.stream(dim)).is_err());
            Ok(chain)
        };
        new()?;
        check_rows(|| Box::new(new().unwrap()), &features, whole.data(), &saves)?;
    }
}

/// Rows that a stream gives one at a time, beside those of the whole recording. Where one is NaN
/// the other is, whatever its bits.
fn check_rows_at_once<K: Kind>(extractor: Extractor<K>, samples: &[f32], kind: &str) {
    let extractor = Arc::new(extractor);
    let whole = extractor.compute(&Audio::new(samples, 16000.0)).unwrap();
    let mut stream = FeatureStream::new(Arc::clone(&extractor));
    let mut rows = Vec::new();
    for chunk in samples.chunks(160) {
        stream.accept(chunk).unwrap();
        stream.take_rows(&mut rows);
    }
    stream.finish();
    stream.take_rows(&mut rows);
    let bits = |x: f32| if x.is_nan() { u32::MAX } else { x.to_bits() };
    assert_eq!(rows.len(), whole.data().len());
    for (i, (&one, &all)) in rows.iter().zip(whole.data()).enumerate() {
        let (row, column) = (i / extractor.dim(), i % extractor.dim());
        assert_eq!(bits(one), bits(all), "{kind}: {one} and {all} in row {row}, column {column}");
    }
}

/// A frame by itself multiplies powers beside a filter with 0, which must make no difference where
/// they are infinite.
#[test]
fn rows_at_once_are_those_of_the_whole_recording_where_powers_overflow() {
    for amplitude in [1e15, 1e17, 3e17, 1e18, 1e19, 1e25, 1e38] {
        // A tone, whose powers overflow first, on noise that is much softer.
        let mut samples: Vec<f32> = (0..4000).map(|i| amplitude * (i as f32 * 0.7).sin()).collect();
        Philox::new(3).add_gaussian(amplitude * 1e-3, 0, &mut samples);
        let frame = FrameExtractionOptions::default().with_dither(0.0);
        let mut fbank = FbankOptions::default().with_frame(frame.clone());
        fbank.mel.num_bins = 80;
        let mfcc = MfccOptions::default().with_frame(frame.clone());
        let plp = PlpOptions::default().with_frame(frame.clone());
        let spectrogram = SpectrogramOptions::default().with_frame(frame);
        check_rows_at_once(Fbank::new(fbank).unwrap(), &samples, "fbank");
        check_rows_at_once(Mfcc::new(mfcc).unwrap(), &samples, "MFCC");
        check_rows_at_once(Plp::new(plp).unwrap(), &samples, "PLP");
        check_rows_at_once(Spectrogram::new(spectrogram).unwrap(), &samples, "spectrogram");
        // Whisper's loudest number of all is not known to a stream.
        let whisper = LogMelOptions::whisper(80).with_range(0.0).with_whisper_scale(false);
        check_rows_at_once(LogMel::new(whisper).unwrap(), &samples, "Whisper");
    }
}

#[test]
fn memory_does_not_grow_with_the_stream() {
    let mut options = FbankOptions::default();
    options.frame.max_feature_vectors = 100;
    options.frame.snip_edges = false;
    let mut stream = FeatureStream::new(Fbank::new(options).unwrap()).with_key("long");
    let chunk = noise(160, 1);
    let mut largest = 0;
    for i in 0..20_000 {
        stream.accept(&chunk[..]).unwrap();
        if i % 1000 == 999 {
            largest = largest.max(stream.save_state().len());
        }
    }
    // 100 rows of 23 numbers, and the samples of at most 17 frames.
    assert!(largest < 4 * (100 * 23 + 17 * 160 + 400) + 200, "{largest}");
    assert!(stream.frame(19_000).is_none() && stream.frame(19_990).is_some());

    let cmn = SlidingWindowCmn::new(SlidingWindowCmnOptions::default()).unwrap();
    let mut stream = cmn.stream(3);
    let mut out = Vec::new();
    for i in 0..20_000 {
        stream.accept(&[i as f32, 1.0, 2.0], &mut out).unwrap();
        out.clear();
    }
    assert!(stream.save_state().len() < 4 * 3 * 610 + 200);
}

#[test]
fn streams_that_are_computed_together_do_not_see_each_other() {
    let extractor = |num_bins| {
        let mut options = FbankOptions::default();
        options.mel.num_bins = num_bins;
        Arc::new(Fbank::new(options).unwrap())
    };
    let (some, others) = (extractor(23), extractor(30));
    let cases: Vec<(Arc<Fbank>, String, f32, Vec<i16>)> = (0..40_u16)
        .map(|i| {
            let of = if i % 7 == 3 { &others } else { &some };
            let warp = if i % 5 == 0 { 0.9 } else { 1.0 };
            (Arc::clone(of), i.to_string(), warp, noise(400 + 37 * usize::from(i), u64::from(i)))
        })
        .collect();
    let new = |(of, key, warp, _): &(Arc<Fbank>, String, f32, Vec<i16>)| {
        FeatureStream::new(Arc::clone(of)).with_key(key).with_vtln_warp(*warp).unwrap()
    };
    let mut streams: Vec<_> = cases.iter().map(new).collect();
    for chunk in 0..12 {
        for (stream, (.., samples)) in streams.iter_mut().zip(&cases) {
            match samples.chunks(160).nth(chunk) {
                Some(chunk) => stream.accept(chunk).unwrap(),
                None => stream.finish(),
            }
        }
        FeatureStream::compute_together(streams.iter_mut());
    }
    FeatureStream::compute_together(std::iter::empty::<&mut FeatureStream<kaldi_feat::FbankKind>>());
    for (mut stream, (of, key, warp, samples)) in streams.into_iter().zip(&cases) {
        let whole = of.compute(&Audio::new(samples, 16000.0).with_key(key).with_vtln_warp(*warp)).unwrap();
        let mut rows = Vec::new();
        stream.take_computed_rows(&mut rows);
        assert_eq!(rows, whole.data(), "{key}");
    }
}

#[test]
fn states_of_other_streams_are_refused() {
    let stream = |num_bins, key, warp| {
        let mut options = FbankOptions::default();
        options.mel.num_bins = num_bins;
        FeatureStream::new(Fbank::new(options).unwrap()).with_key(key).with_vtln_warp(warp).unwrap()
    };
    let mut one = stream(23, "a", 1.0);
    one.accept(&noise(1000, 1)[..]).unwrap();
    let state = one.save_state();
    stream(23, "a", 1.0).restore_state(&state).unwrap();
    for mut other in [stream(24, "a", 1.0), stream(23, "b", 1.0), stream(23, "a", 0.9)] {
        assert!(matches!(other.restore_state(&state), Err(Error::BadState { .. })));
    }
    for len in 0..state.len() {
        assert!(one.restore_state(&state[..len]).is_err());
    }
    let splice = Splice::new(1, 1).unwrap();
    assert!(splice.stream(2).restore_state(&splice.stream(3).save_state()).is_err());
}

#[test]
fn a_least_energy_needs_statistics_to_begin_with() {
    let mut global = CmvnStats::new(2);
    global.accumulate(&Matrix::from_fn(3, 2, |t, d| (t + d) as f32)).unwrap();
    let refused = |options: OnlineCmvnOptions| OnlineCmvn::new(options, global.clone()).is_err();
    let options = OnlineCmvnOptions::default().with_cmn_min_energy(Some(50.0));
    assert!(!refused(options.clone()));
    assert!(refused(options.clone().with_global_frames(0)));
    assert!(refused(options.with_cmn_min_energy(Some(f32::NAN))));
}
