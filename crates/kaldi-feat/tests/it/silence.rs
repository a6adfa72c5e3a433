//! Audio with nothing to hear: rows are finite in all kinds of features.

use kaldi_feat::{
    Audio, DeltaFeaturesOptions, Extractor, Fbank, FbankOptions, Kind, LogMel, LogMelOptions, Matrix, Mfcc,
    MfccOptions, PitchExtractionOptions, Plp, PlpOptions, ProcessPitchOptions, SlidingWindowCmnOptions, Spectrogram,
    SpectrogramOptions, VadEnergyOptions, compute_deltas, compute_kaldi_pitch, compute_vad_energy, process_pitch,
    sliding_window_cmn,
};

/// Silence, a constant, one sample of 1 in silence, and a tone between two stretches of silence.
fn quiet_signals() -> [Vec<i16>; 4] {
    let tone = |i: usize| if (8000..12_000).contains(&i) { (3000.0 * (i as f32 * 0.3).sin()) as i16 } else { 0 };
    [
        vec![0; 8000],
        vec![1234; 8000],
        (0..8000).map(|i| i16::from(i == 4000)).collect(),
        (0..20_000).map(tone).collect(),
    ]
}

fn assert_finite(rows: &Matrix<f32>, what: &str) {
    let bad = rows.rows().position(|row| row.iter().any(|x| !x.is_finite()));
    assert_eq!(bad, None, "{what}: {:?}", bad.map(|row| rows.row_data(row)));
}

fn assert_kind_is_finite<K: Kind>(extractor: &Extractor<K>, rate: f32, what: &str) {
    for samples in quiet_signals() {
        let rows = extractor.compute(&Audio::new(&samples, rate)).unwrap();
        assert!(!rows.is_empty());
        assert_finite(&rows, what);
        assert_finite(&compute_deltas(&DeltaFeaturesOptions::default(), &rows).unwrap(), what);
        for normalize_variance in [false, true] {
            let options = SlidingWindowCmnOptions::default().with_norm_vars(normalize_variance);
            assert_finite(&sliding_window_cmn(&options, &rows).unwrap(), what);
        }
        assert!(compute_vad_energy(&VadEnergyOptions::default(), &rows).unwrap().iter().all(|x| x.is_finite()));
    }
}

#[test]
fn silence_gives_finite_rows() {
    for use_energy in [false, true] {
        let mut fbank = FbankOptions::default().with_dither(0.0).with_use_energy(use_energy);
        let mut mfcc = MfccOptions::default().with_dither(0.0).with_use_energy(use_energy);
        let mut plp = PlpOptions::default().with_dither(0.0).with_use_energy(use_energy);
        for raw_energy in [false, true] {
            (fbank.raw_energy, mfcc.raw_energy, plp.raw_energy) = (raw_energy, raw_energy, raw_energy);
            assert_kind_is_finite(&Fbank::new(fbank.clone()).unwrap(), 16_000.0, "fbank");
            assert_kind_is_finite(&Mfcc::new(mfcc.clone()).unwrap(), 16_000.0, "mfcc");
            assert_kind_is_finite(&Plp::new(plp.clone()).unwrap(), 16_000.0, "plp");
        }
    }
    let spectrogram = SpectrogramOptions::default().with_dither(0.0);
    assert_kind_is_finite(&Spectrogram::new(spectrogram).unwrap(), 16_000.0, "spectrogram");
    assert_kind_is_finite(&LogMel::new(LogMelOptions::whisper(80)).unwrap(), 16_000.0, "whisper");
    assert_kind_is_finite(&LogMel::new(LogMelOptions::librosa(16_000.0)).unwrap(), 16_000.0, "librosa");
}

#[test]
fn resampled_and_warped_silence_gives_finite_rows() {
    let options = PlpOptions::default().with_dither(0.0).with_allow_downsample(true);
    let plp = Plp::new(options).unwrap();
    for samples in quiet_signals() {
        let audio = Audio::new(&samples, 44_100.0).with_vtln_warp(0.9);
        assert_finite(&plp.compute(&audio).unwrap(), "warped");
    }
}

#[test]
fn pitch_of_silence_is_finite() {
    for samples in quiet_signals() {
        let audio = Audio::new(&samples, 16_000.0);
        let pitch = compute_kaldi_pitch(&PitchExtractionOptions::default(), &audio).unwrap();
        assert_finite(&pitch, "pitch");
        let options = ProcessPitchOptions::default().with_delta_pitch_noise_stddev(0.0);
        assert_finite(&process_pitch(&options, &pitch, "key").unwrap(), "processed pitch");
    }
}

/// Kaldi divides 0 by 0: its program writes NaN for silence, and the same numbers as with a floor
/// for all else.
#[test]
fn without_a_floor_plp_of_silence_is_kaldis() {
    let [silence, .., with_tone] = quiet_signals();
    let [floored, kaldis] = [f32::EPSILON, 0.0]
        .map(|floor| Plp::new(PlpOptions::default().with_dither(0.0).with_autocorrelation_floor(floor)).unwrap());
    let rows = |plp: &Plp, samples: &[i16]| plp.compute(&Audio::new(samples, 16_000.0)).unwrap();
    for (floored, kaldis) in rows(&floored, &silence).rows().zip(rows(&kaldis, &silence).rows()) {
        assert!(floored[1..].iter().all(|&x| x == 0.0), "{floored:?}");
        assert!(kaldis[1..].iter().all(|x| x.is_nan()), "{kaldis:?}");
        assert_eq!(floored[0], kaldis[0]);
    }
    let (floored, kaldis) = (rows(&floored, &with_tone), rows(&kaldis, &with_tone));
    let mut audible = 0;
    for (floored, kaldis) in floored.rows().zip(kaldis.rows()) {
        if kaldis.iter().all(|x| x.is_finite()) {
            assert_eq!(floored, kaldis);
            audible += 1;
        }
    }
    assert!((20..40).contains(&audible), "{audible}");
}

#[test]
fn floors_that_are_no_normal_number_are_refused() {
    for floor in [-1.0, f32::NAN, f32::INFINITY, 1e-40] {
        let error = Plp::new(PlpOptions::default().with_autocorrelation_floor(floor)).unwrap_err();
        assert!(error.to_string().contains("autocorrelation_floor"), "{error}");
    }
}
