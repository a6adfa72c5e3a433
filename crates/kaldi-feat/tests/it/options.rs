//! Options: their setters, and serde.

use kaldi_feat::{
    DeltaFeaturesOptions, FbankOptions, FrameExtractionOptions, LogMelOptions, MelBanksOptions, MelLog, MfccOptions,
    OnlineCmvnOptions, PitchExtractionOptions, PitchInterpolatorOptions, PlpOptions, ProcessPitchOptions,
    ShiftedDeltaFeaturesOptions, SlidingWindowCmnOptions, SpectrogramOptions, VadEnergyOptions, WindowType,
};

#[test]
fn setters_of_composed_options_reach_the_inner_fields() {
    let options = FbankOptions::default()
        .with_num_mel_bins(80)
        .with_low_freq(40.0)
        .with_high_freq(-200.0)
        .with_dither(0.0)
        .with_sample_frequency(8000.0)
        .with_frame_length(20.0)
        .with_frame_shift(5.0)
        .with_window_type(WindowType::Hanning)
        .with_snip_edges(false)
        .with_use_energy(true);
    let (mut frame, mut mel) = (FrameExtractionOptions::default(), MelBanksOptions::default());
    (frame.dither, frame.samp_freq) = (0.0, 8000.0);
    (frame.frame_length_ms, frame.frame_shift_ms) = (20.0, 5.0);
    (frame.window_type, frame.snip_edges) = (WindowType::Hanning, false);
    (mel.num_bins, mel.low_freq, mel.high_freq) = (80, 40.0, -200.0);
    let mut expected = FbankOptions::default().with_frame(frame).with_mel(mel);
    expected.use_energy = true;
    assert_eq!(options, expected);
    assert_eq!(MfccOptions::default().with_num_ceps(20).with_num_mel_bins(40).mel.num_bins, 40);
    assert_eq!(PlpOptions::default().with_lpc_order(10).with_dither(0.5).frame.dither, 0.5);
    assert_eq!(SpectrogramOptions::default().with_return_raw_fft(true).with_full_scale(1.0).frame.full_scale, 1.0);
    assert_eq!(LogMelOptions::whisper(80).with_log(MelLog::Natural).log, MelLog::Natural);
    assert_eq!(PitchExtractionOptions::default().with_min_f0(60.0).min_f0, 60.0);
    assert_eq!(ProcessPitchOptions::default().with_srand(3).noise_seed, 3);
    assert_eq!(PitchInterpolatorOptions::default().with_pitch_interval(2.0).pitch_interval, 2.0);
    assert_eq!(DeltaFeaturesOptions::default().with_delta_order(1).order, 1);
    assert_eq!(ShiftedDeltaFeaturesOptions::default().with_num_blocks(3).num_blocks, 3);
    assert!(SlidingWindowCmnOptions::default().with_norm_vars(true).normalize_variance);
    assert!(!OnlineCmvnOptions::default().with_norm_means(false).normalize_mean);
    assert_eq!(VadEnergyOptions::default().with_vad_energy_threshold(4.0).vad_energy_threshold, 4.0);
}

#[cfg(feature = "serde")]
mod serde {
    use std::fmt::Debug;

    use ::serde::Serialize;
    use ::serde::de::DeserializeOwned;
    use kaldi_feat::Preset;

    use super::*;

    fn check<O: Default + Clone + Debug + PartialEq + Serialize + DeserializeOwned>(changed: O) {
        let name = std::any::type_name::<O>();
        assert_ne!(changed, O::default(), "{name}");
        let text = serde_json::to_string(&changed).unwrap();
        assert_eq!(serde_json::from_str::<O>(&text).unwrap(), changed, "{text}");
        assert_eq!(serde_json::from_str::<O>("{}").unwrap(), O::default(), "{name}");
        let error = serde_json::from_str::<O>(r#"{"no_such_option": 1}"#).unwrap_err();
        assert!(error.to_string().contains("no_such_option"), "{name}: {error}");
    }

    #[test]
    fn options_roundtrip_and_unknown_names_are_refused() {
        check(FrameExtractionOptions::default().with_window_type(WindowType::Blackman));
        check(MelBanksOptions::default().with_num_mel_bins(80));
        check(FbankOptions::default().with_num_mel_bins(80).with_dither(0.1));
        check(MfccOptions::default().with_num_ceps(20).with_frame_shift(5.0));
        check(PlpOptions::default().with_compress_factor(0.3));
        check(SpectrogramOptions::default().with_return_raw_fft(true));
        check(LogMelOptions::default().with_log(MelLog::Decibels));
        check(PitchExtractionOptions::default().with_max_f0(500.0));
        check(ProcessPitchOptions::default().with_add_raw_log_pitch(true));
        check(PitchInterpolatorOptions::default().with_max_voicing_prob(0.8));
        check(DeltaFeaturesOptions::default().with_delta_window(3));
        check(ShiftedDeltaFeaturesOptions::default().with_block_shift(2));
        check(SlidingWindowCmnOptions::default().with_center(true));
        check(OnlineCmvnOptions::default().with_global_frames(100));
        check(VadEnergyOptions::default().with_vad_frames_context(2));
    }

    #[test]
    fn names_are_those_of_the_fields_and_of_kaldis_values() {
        let text = r#"{"mel": {"num_bins": 80}, "frame": {"window_type": "hamming"}, "use_energy": true}"#;
        let options: FbankOptions = serde_json::from_str(text).unwrap();
        let expected =
            FbankOptions::default().with_num_mel_bins(80).with_window_type(WindowType::Hamming).with_use_energy(true);
        assert_eq!(options, expected);
        assert_eq!(serde_json::to_string(&MelLog::Log10).unwrap(), r#""log10""#);
        assert_eq!(serde_json::from_str::<Preset>(r#""torchaudio""#).unwrap(), Preset::Torchaudio);
    }
}
