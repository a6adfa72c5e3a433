//! Extraction against the definition written out in double precision, a frame and a sum at a time,
//! on random audio and random options.

use std::f64::consts::PI;

use kaldi_feat::options::OptionValue;
use kaldi_feat::{
    Audio, Fbank, FbankOptions, FrameExtractionOptions, Mfcc, MfccOptions, Plp, PlpOptions, Spectrogram,
    SpectrogramOptions, WindowType, Workspace,
};
use proptest::prelude::*;

use crate::streams::noise;

/// One frame as it goes into the Fourier transform, and Σ x² before preemphasis and after the
/// window.
fn frame(options: &FrameExtractionOptions, samples: &[i16], f: usize) -> (Vec<f64>, f64, f64) {
    let size = (f64::from(options.samp_freq) * 0.001 * f64::from(options.frame_length_ms)) as usize;
    let shift = (f64::from(options.samp_freq) * 0.001 * f64::from(options.frame_shift_ms)) as usize;
    let n = samples.len() as i64;
    let start = (f * shift) as i64 + if options.snip_edges { 0 } else { shift as i64 / 2 - size as i64 / 2 };
    let mut x: Vec<f64> = (start..start + size as i64)
        .map(|mut at| {
            while at < 0 || at >= n {
                at = if at < 0 { -at - 1 } else { 2 * n - 1 - at };
            }
            f64::from(samples[at as usize])
        })
        .collect();
    if options.remove_dc_offset {
        let mean = x.iter().sum::<f64>() / size as f64;
        x.iter_mut().for_each(|x| *x -= mean);
    }
    let raw = x.iter().map(|x| x * x).sum();
    let a = 2.0 * PI / (size as f64 - 1.0);
    let windowed: Vec<f64> = (0..size)
        .map(|i| {
            let t = i as f64;
            let window = match options.window_type {
                WindowType::Hamming => 0.54 - 0.46 * (a * t).cos(),
                WindowType::Hanning => 0.5 - 0.5 * (a * t).cos(),
                WindowType::Povey => (0.5 - 0.5 * (a * t).cos()).powf(0.85),
                WindowType::Rectangular => 1.0,
                WindowType::Sine => (0.5 * a * t).sin(),
                WindowType::Blackman => 0.42 - 0.5 * (a * t).cos() + 0.08 * (2.0 * a * t).cos(),
            };
            window * (x[i] - f64::from(options.preemph_coeff) * x[i.saturating_sub(1)])
        })
        .collect();
    let energy = windowed.iter().map(|x| x * x).sum();
    (windowed, raw, energy)
}

fn power_spectrum(frame: &[f64], size: usize) -> Vec<f64> {
    let turns: Vec<(f64, f64)> = (0..size).map(|i| (2.0 * PI * i as f64 / size as f64).sin_cos()).collect();
    (0..size / 2)
        .map(|k| {
            let (mut re, mut im) = (0.0, 0.0);
            for (i, x) in frame.iter().enumerate() {
                let (sin, cos) = turns[i * k % size];
                re += x * cos;
                im -= x * sin;
            }
            re * re + im * im
        })
        .collect()
}

/// The weight of each frequency in each filter, without VTLN.
fn triangles(options: &FbankOptions, size: usize) -> Vec<Vec<f64>> {
    let mel = |hz: f64| 1127.0 * (1.0 + hz / 700.0).ln();
    let rate = f64::from(options.frame.samp_freq);
    let high = f64::from(options.mel.high_freq);
    let high = if high > 0.0 { high } else { rate / 2.0 + high };
    let (low, high) = (mel(f64::from(options.mel.low_freq)), mel(high));
    let step = (high - low) / f64::from(options.mel.num_bins + 1);
    (0..options.mel.num_bins)
        .map(|bin| {
            let left = low + f64::from(bin) * step;
            let weight = |i| {
                let t = (mel(i as f64 * rate / size as f64) - left) / step;
                t.min(2.0 - t).max(0.0)
            };
            (0..size / 2).map(weight).collect()
        })
        .collect()
}

fn frame_options() -> impl Strategy<Value = FrameExtractionOptions> {
    (
        prop::sample::select(vec![8000.0_f32, 11025.0, 16000.0, 22050.0]),
        (8.0_f32..40.0, 2.0_f32..30.0),
        0.0_f32..=1.0,
        prop::sample::select(vec!["hamming", "hanning", "povey", "rectangular", "sine", "blackman"]),
        any::<(bool, bool, bool)>(),
    )
        .prop_map(|(samp_freq, (frame_length_ms, frame_shift_ms), preemph_coeff, window, flags)| {
            let mut window_type = WindowType::default();
            window_type.set(window).expect("a window's name");
            let mut options = FrameExtractionOptions::default()
                .with_sample_frequency(samp_freq)
                .with_frame_length(frame_length_ms)
                .with_frame_shift(frame_shift_ms)
                .with_dither(0.0)
                .with_preemphasis_coefficient(preemph_coeff)
                .with_window_type(window_type)
                .with_remove_dc_offset(flags.0)
                .with_snip_edges(flags.1)
                .with_round_to_power_of_two(flags.2);
            options.round_to_power_of_two |= options.window_size() % 2 == 1;
            options
        })
}

fn num_frames(options: &FrameExtractionOptions, n: usize) -> usize {
    let size = (f64::from(options.samp_freq) * 0.001 * f64::from(options.frame_length_ms)) as usize;
    let shift = (f64::from(options.samp_freq) * 0.001 * f64::from(options.frame_shift_ms)) as usize;
    if options.snip_edges { (0..).take_while(|f| f * shift + size <= n).count() } else { (n + shift / 2) / shift }
}

/// Energies are sums of `f32` products: some tens of roundings of the largest term of the frame.
const RELATIVE: f64 = 64.0 * f32::EPSILON as f64;

proptest! {
    #[test]
    fn filterbank_energies_are_those_of_the_definition(
        frame_options in frame_options(),
        (num_bins, low, high) in (3_i32..12, 0.0_f32..200.0, -300.0_f32..=0.0),
        (use_energy, raw_energy, htk_compat, use_power) in any::<(bool, bool, bool, bool)>(),
        (len, seed) in (0_usize..4000, any::<u64>()),
    ) {
        let mut options = FbankOptions::default().with_frame(frame_options).with_use_energy(use_energy).with_raw_energy(raw_energy).with_htk_compat(htk_compat).with_use_power(use_power).with_use_log_fbank(false);
        options.mel.num_bins = num_bins;
        options.mel.low_freq = low;
        options.mel.high_freq = high;
        let Ok(fbank) = Fbank::new(options.clone()) else { return Err(TestCaseError::reject("no such filters")) };
        let samples = noise(len, seed);
        let features = fbank.compute(&Audio::new(&samples, options.frame.samp_freq)).unwrap();
        prop_assert_eq!(features.num_rows(), num_frames(&options.frame, len));
        let size = options.frame.padded_window_size();
        let triangles = triangles(&options, size);
        for f in 0..features.num_rows() {
            let (windowed, raw, energy) = frame(&options.frame, &samples, f);
            let mut spectrum = power_spectrum(&windowed, size);
            if !use_power {
                spectrum.iter_mut().for_each(|x| *x = x.sqrt());
            }
            let mut expected: Vec<f64> = triangles.iter().map(|w| w.iter().zip(&spectrum).map(|(w, x)| w * x).sum()).collect();
            let largest = expected.iter().copied().fold(1e-3, f64::max);
            let row = features.row(f);
            let mut row = row.data().to_vec();
            if use_energy {
                let found = if htk_compat { row.pop().unwrap() } else { row.remove(0) };
                let log_energy = (if raw_energy { raw } else { energy }).max(f64::from(f32::EPSILON)).ln();
                prop_assert!((f64::from(found) - log_energy).abs() < 1e-4, "energy {} for {}", found, log_energy);
            }
            prop_assert_eq!(row.len(), expected.len());
            for (found, expected) in row.iter().zip(expected.drain(..)) {
                prop_assert!((f64::from(*found) - expected).abs() < RELATIVE * largest, "{} for {}", found, expected);
            }
        }
    }

    #[test]
    fn cepstra_are_the_cosine_transform_of_the_log_energies(
        frame_options in frame_options(),
        (num_bins, num_ceps, lifter) in (3_i32..12, 1_i32..12, prop_oneof![Just(0.0_f32), 5.0_f32..30.0]),
        (use_energy, htk_compat) in any::<(bool, bool)>(),
        (len, seed) in (0_usize..3000, any::<u64>()),
    ) {
        let num_ceps = num_ceps.min(num_bins);
        let mut options = MfccOptions::default().with_frame(frame_options).with_num_ceps(num_ceps).with_cepstral_lifter(lifter).with_use_energy(use_energy).with_htk_compat(htk_compat);
        options.mel.num_bins = num_bins;
        let mut fbank_options = FbankOptions::default().with_frame(options.frame.clone()).with_mel(options.mel.clone()).with_use_energy(true);
        fbank_options.htk_compat = false;
        let (Ok(mfcc), Ok(fbank)) = (Mfcc::new(options.clone()), Fbank::new(fbank_options)) else { return Err(TestCaseError::reject("no such filters")) };
        let samples = noise(len, seed);
        let audio = Audio::new(&samples, options.frame.samp_freq);
        let (cepstra, logs) = (mfcc.compute(&audio).unwrap(), fbank.compute(&audio).unwrap());
        prop_assert_eq!(cepstra.num_rows(), logs.num_rows());
        for f in 0..cepstra.num_rows() {
            let logs = logs.row(f);
            let (energy, logs) = logs.data().split_first().unwrap();
            let n = f64::from(num_bins);
            let mut expected: Vec<f64> = (0..num_ceps).map(f64::from).map(|k| {
                let norm = if k == 0.0 { (1.0 / n).sqrt() } else { (2.0 / n).sqrt() };
                let q = f64::from(lifter);
                let lift = if q == 0.0 { 1.0 } else { 1.0 + q / 2.0 * (PI * k / q).sin() };
                let terms = logs.iter().enumerate().map(|(i, x)| f64::from(*x) * (PI / n * (i as f64 + 0.5) * k).cos());
                lift * norm * terms.sum::<f64>()
            }).collect();
            if use_energy {
                expected[0] = f64::from(*energy);
            }
            if htk_compat {
                let first = expected.remove(0);
                expected.push(if use_energy { first } else { first * 2_f64.sqrt() });
            }
            for (found, expected) in cepstra.row(f).data().iter().zip(expected) {
                // Up to 12 logs of up to 30, lifted by up to 16.
                prop_assert!((f64::from(*found) - expected).abs() < 1e-3, "{} for {}", found, expected);
            }
        }
    }

    #[test]
    fn spectrograms_are_powers_of_the_transform(
        frame_options in frame_options(),
        (raw_energy, return_raw_fft) in any::<(bool, bool)>(),
        (len, seed) in (0_usize..1200, any::<u64>()),
    ) {
        let options = SpectrogramOptions::default().with_frame(frame_options).with_raw_energy(raw_energy).with_return_raw_fft(return_raw_fft);
        let samples = noise(len, seed);
        let audio = Audio::new(&samples, options.frame.samp_freq);
        let rows = Spectrogram::new(options.clone()).unwrap().compute(&audio).unwrap();
        prop_assert_eq!(rows.num_rows(), num_frames(&options.frame, len));
        let size = options.frame.padded_window_size();
        for f in 0..rows.num_rows() {
            let (windowed, raw, energy) = frame(&options.frame, &samples, f);
            let transform = |k: usize| {
                let turn = 2.0 * PI * k as f64 / size as f64;
                windowed.iter().enumerate().fold((0.0, 0.0), |(re, im), (i, x)| {
                    let angle = turn * (i % size) as f64;
                    (re + x * angle.cos(), im - x * angle.sin())
                })
            };
            let row = rows.row(f);
            let row = row.data();
            let exact: Vec<_> = (0..=size / 2).map(transform).collect();
            let largest = exact.iter().map(|(re, im)| re.hypot(*im)).fold(1e-3, f64::max);
            if return_raw_fft {
                prop_assert_eq!(row.len(), size);
                for (k, &(re, im)) in exact.iter().enumerate() {
                    let (found_re, found_im) = match k {
                        0 => (row[0], 0.0),
                        k if k == size / 2 => (row[1], 0.0),
                        k => (row[2 * k], row[2 * k + 1]),
                    };
                    let error = (f64::from(found_re) - re).hypot(f64::from(found_im) - im);
                    prop_assert!(error < RELATIVE * largest, "{} {} for {} {}", found_re, found_im, re, im);
                }
            } else {
                prop_assert_eq!(row.len(), size / 2 + 1);
                let log_energy = (if raw_energy { raw } else { energy }).max(f64::from(f32::EPSILON)).ln();
                prop_assert!((f64::from(row[0]) - log_energy).abs() < 1e-4);
                for (&found, (re, im)) in row.iter().zip(&exact).skip(1) {
                    // Magnitudes, so that the noise of the transform is the same for all.
                    let error = (f64::from(found) / 2.0).exp() - re.hypot(*im).max(f64::from(f32::EPSILON).sqrt());
                    prop_assert!(error.abs() < RELATIVE * largest, "{} for {}", found, re.hypot(*im));
                }
            }
        }
    }

    #[test]
    fn plp_is_the_linear_prediction_of_compressed_loudness(
        (use_energy, htk_compat, snip_edges) in any::<(bool, bool, bool)>(),
        (lpc_order, cepstral_lifter) in (2_i32..13, prop_oneof![Just(0), 5_i32..30]),
        (len, seed) in (400_usize..2000, any::<u64>()),
    ) {
        let frame = FrameExtractionOptions::default().with_dither(0.0).with_snip_edges(snip_edges);
        let options = PlpOptions::default().with_frame(frame.clone()).with_lpc_order(lpc_order).with_num_ceps(lpc_order + 1).with_use_energy(use_energy).with_htk_compat(htk_compat).with_cepstral_lifter(cepstral_lifter).with_cepstral_scale(0.5);
        // The filters' energies, which have a test of their own, and their centres.
        let mut fbank_options = FbankOptions::default().with_frame(frame).with_use_energy(true);
        fbank_options.use_log_fbank = false;
        let banks = kaldi_feat::MelBanks::new(&options.mel, &options.frame, 1.0).unwrap();
        let samples = noise(len, seed);
        let audio = Audio::new(&samples, 16000.0);
        let energies = Fbank::new(fbank_options).unwrap().compute(&audio).unwrap();
        let rows = Plp::new(options).unwrap().compute(&audio).unwrap();
        prop_assert_eq!(rows.num_rows(), energies.num_rows());
        let order = lpc_order as usize;
        for (found, energies) in rows.rows().zip(energies.rows()) {
            let mut loudness: Vec<f64> = energies[1..].iter().zip(banks.center_freqs()).map(|(e, hz)| {
                let square = f64::from(*hz).powi(2);
                let heard = (square / (square + 1.6e5)).powi(2) * (square + 1.44e6) / (square + 9.61e6);
                (f64::from(*e) * heard).powf(0.33333)
            }).collect();
            loudness.insert(0, loudness[0]);
            loudness.push(loudness[loudness.len() - 1]);
            // As a symmetric spectrum of twice the size less two, back in time.
            let n = loudness.len() - 1;
            let r: Vec<f64> = (0..=order).map(|lag| {
                let sum: f64 = (0..2 * n).map(|i| loudness[i.min(2 * n - i)] * (PI * (i * lag) as f64 / n as f64).cos()).sum();
                sum / (2 * n) as f64
            }).collect();
            // The normal equations, by elimination.
            let mut m: Vec<Vec<f64>> =
                (0..order).map(|i| (0..order).map(|j| r[i.abs_diff(j)]).chain([-r[i + 1]]).collect()).collect();
            for i in 0..order {
                let pivot = m[i].clone();
                for row in m.iter_mut().skip(i + 1) {
                    let factor = row[i] / pivot[i];
                    row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
                }
            }
            let mut a = vec![0.0; order];
            for i in (0..order).rev() {
                let known: f64 = (i + 1..order).map(|j| m[i][j] * a[j]).sum();
                a[i] = (m[i][order] - known) / m[i][i];
            }
            let error = r[0] + a.iter().zip(&r[1..]).map(|(a, r)| a * r).sum::<f64>();
            let mut c = vec![0.0; order + 1];
            for i in 1..=order {
                let earlier: f64 = (1..i).map(|k| (i - k) as f64 * a[k - 1] * c[i - k]).sum();
                c[i] = -a[i - 1] - earlier / i as f64;
            }
            c[0] = error.ln().max(0.0);
            for (k, c) in c.iter_mut().enumerate() {
                let q = f64::from(cepstral_lifter);
                *c *= 0.5 * if q == 0.0 { 1.0 } else { 1.0 + q / 2.0 * (PI * k as f64 / q).sin() };
            }
            if use_energy {
                c[0] = f64::from(energies[0]);
            }
            if htk_compat {
                c.rotate_left(1);
            }
            for (found, expected) in found.iter().zip(c) {
                // Energies to 7 digits, in a prediction of a spectrum without deep notches, lifted
                // by up to 8.
                prop_assert!((f64::from(*found) - expected).abs() < 1e-3, "{} for {}", found, expected);
            }
        }
    }

    #[test]
    fn dither_depends_on_seed_and_key_and_on_nothing_else(len in 400_usize..6000, seed in any::<u64>()) {
        let options = |dither_seed| {
            FbankOptions::default().with_dither(1.0).with_dither_seed(dither_seed)
        };
        let fbank = Fbank::new(options(seed)).unwrap();
        let samples = noise(len, 1);
        let audio = |key| Audio::new(&samples, 16000.0).with_key(key);
        let one = fbank.compute(&audio("a")).unwrap();
        let (mut workspace, mut rows) = (Workspace::default(), Vec::new());
        fbank.compute_into(&mut workspace, &audio("b"), &mut rows).unwrap();
        prop_assert_ne!(&rows[..], one.data());
        fbank.compute_into(&mut workspace, &audio("a"), &mut rows).unwrap();
        prop_assert_eq!(&rows[..], one.data());
        let batch = fbank.compute_batch(&[audio("b"), audio("a")]).unwrap();
        let second = batch.utterance(1);
        prop_assert_eq!(second.data(), one.data());
        let other = Fbank::new(options(seed ^ 1)).unwrap();
        let other = other.compute(&audio("a")).unwrap();
        prop_assert_ne!(other.data(), one.data());
    }
}

#[test]
fn floats_and_integers_give_the_same_bits() {
    let samples = noise(5000, 4);
    let floats: Vec<f32> = samples.iter().map(|&x| f32::from(x)).collect();
    let fbank = Fbank::new(FbankOptions::default()).unwrap();
    let of_integers = fbank.compute(&Audio::new(&samples, 16000.0)).unwrap();
    let of_floats = fbank.compute(&Audio::new(&floats, 16000.0)).unwrap();
    assert_eq!(of_integers.data(), of_floats.data());
}

#[test]
fn empty_and_tiny_audio_give_few_or_no_rows() {
    for snip_edges in [true, false] {
        let mut options = FbankOptions::default();
        options.frame.snip_edges = snip_edges;
        let fbank = Fbank::new(options).unwrap();
        for n in [0_usize, 1, 79, 80, 399, 400] {
            let features = fbank.compute(&Audio::new(&vec![7_i16; n], 16000.0)).unwrap();
            let rows = if snip_edges { usize::from(n == 400) } else { (n + 80) / 160 };
            assert_eq!((features.num_rows(), features.num_cols()), (rows, if rows == 0 { 0 } else { 23 }));
            assert!(features.data().iter().all(|x| x.is_finite()));
        }
    }
}
