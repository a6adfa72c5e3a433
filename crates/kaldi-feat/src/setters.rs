//! Setters named after Kaldi's options, and which option sets which field.
//!
//! Each list below names the options of one structure once: a setter, the option as Kaldi's
//! programs have it, the field. Structures that hold others have the setters of these too.

use crate::kinds::fbank::FbankOptions;
use crate::kinds::log_mel::{LogMelOptions, MelLog};
use crate::kinds::mfcc::MfccOptions;
use crate::kinds::plp::PlpOptions;
use crate::kinds::spectrogram::SpectrogramOptions;
use crate::pitch::interpolate::PitchInterpolatorOptions;
use crate::pitch::options::{PitchExtractionOptions, ProcessPitchOptions};
use crate::rows::deltas::{DeltaFeaturesOptions, ShiftedDeltaFeaturesOptions};
use crate::rows::online_cmvn::OnlineCmvnOptions;
use crate::rows::sliding_cmvn::SlidingWindowCmnOptions;
use crate::rows::vad::VadEnergyOptions;
use crate::spectrum::mel::MelBanksOptions;
use crate::spectrum::window::{FrameExtractionOptions, WindowType};

/// Defines a macro that hands a list of options to another macro.
macro_rules! options {
    ($dollar:tt $list:ident { $($options:tt)+ }) => {
        macro_rules! $list {
            ($dollar apply:ident $dollar($dollar arguments:tt)*) => {
                $dollar apply! { $dollar($dollar arguments)* { $($options)+ } }
            };
        }
    };
}

/// A field of `$this`, or of the field `$inner` of it.
macro_rules! place {
    ($this:ident [] $field:ident) => {
        $this.$field
    };
    ($this:ident [.$inner:ident] $field:ident) => {
        $this.$inner.$field
    };
}

/// Implements the setters of a list on `$target`, whose field `$path` is the `$owner` of the
/// options, or which is it itself.
macro_rules! setters {
    (
        $target:ident $path:tt $owner:ident
        { $($setter:ident, $option:literal, $field:ident: $type:ty;)+ }
    ) => {
        impl $target {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](", stringify!($owner), "::", stringify!($field), ").")]
                #[doc = ""]
                #[doc = concat!("The programs call it `--", $option, "`.")]
                #[must_use]
                pub fn $setter(mut self, $field: $type) -> Self {
                    place!(self $path $field) = $field;
                    self
                }
            )+
        }
    };
}

/// The fields of a list, each with its option.
macro_rules! names {
    ({ $($setter:ident, $option:literal, $field:ident: $type:ty;)+ }) => {
        &[$((stringify!($field), $option)),+]
    };
}

options!($ frame_options {
    with_sample_frequency, "sample-frequency", samp_freq: f32;
    with_frame_length, "frame-length", frame_length_ms: f32;
    with_frame_shift, "frame-shift", frame_shift_ms: f32;
    with_preemphasis_coefficient, "preemphasis-coefficient", preemph_coeff: f32;
    with_remove_dc_offset, "remove-dc-offset", remove_dc_offset: bool;
    with_dither, "dither", dither: f32;
    with_dither_seed, "dither-seed", dither_seed: u64;
    with_window_type, "window-type", window_type: WindowType;
    with_blackman_coeff, "blackman-coeff", blackman_coeff: f32;
    with_round_to_power_of_two, "round-to-power-of-two", round_to_power_of_two: bool;
    with_snip_edges, "snip-edges", snip_edges: bool;
    with_allow_downsample, "allow-downsample", allow_downsample: bool;
    with_allow_upsample, "allow-upsample", allow_upsample: bool;
    with_max_feature_vectors, "max-feature-vectors", max_feature_vectors: i32;
    with_full_scale, "full-scale", full_scale: f32;
});

options!($ mel_options {
    with_num_mel_bins, "num-mel-bins", num_bins: i32;
    with_low_freq, "low-freq", low_freq: f32;
    with_high_freq, "high-freq", high_freq: f32;
    with_vtln_low, "vtln-low", vtln_low: f32;
    with_vtln_high, "vtln-high", vtln_high: f32;
    with_debug_mel, "debug-mel", debug_mel: bool;
});

options!($ fbank_options {
    with_use_energy, "use-energy", use_energy: bool;
    with_energy_floor, "energy-floor", energy_floor: f32;
    with_raw_energy, "raw-energy", raw_energy: bool;
    with_htk_compat, "htk-compat", htk_compat: bool;
    with_use_log_fbank, "use-log-fbank", use_log_fbank: bool;
    with_use_power, "use-power", use_power: bool;
});

options!($ mfcc_options {
    with_num_ceps, "num-ceps", num_ceps: i32;
    with_use_energy, "use-energy", use_energy: bool;
    with_energy_floor, "energy-floor", energy_floor: f32;
    with_raw_energy, "raw-energy", raw_energy: bool;
    with_cepstral_lifter, "cepstral-lifter", cepstral_lifter: f32;
    with_htk_compat, "htk-compat", htk_compat: bool;
});

options!($ plp_options {
    with_lpc_order, "lpc-order", lpc_order: i32;
    with_num_ceps, "num-ceps", num_ceps: i32;
    with_use_energy, "use-energy", use_energy: bool;
    with_energy_floor, "energy-floor", energy_floor: f32;
    with_raw_energy, "raw-energy", raw_energy: bool;
    with_compress_factor, "compress-factor", compress_factor: f32;
    with_autocorrelation_floor, "autocorrelation-floor", autocorrelation_floor: f32;
    with_cepstral_lifter, "cepstral-lifter", cepstral_lifter: i32;
    with_cepstral_scale, "cepstral-scale", cepstral_scale: f32;
    with_htk_compat, "htk-compat", htk_compat: bool;
});

options!($ spectrogram_options {
    with_energy_floor, "energy-floor", energy_floor: f32;
    with_raw_energy, "raw-energy", raw_energy: bool;
    with_return_raw_fft, "return-raw-fft", return_raw_fft: bool;
});

options!($ log_mel_options {
    with_sample_frequency, "sample-frequency", samp_freq: f32;
    with_fft_size, "fft-size", fft_size: i32;
    with_window_size, "window-size", window_size: i32;
    with_hop, "hop", hop: i32;
    with_reflect, "reflect", reflect: bool;
    with_last_frame, "last-frame", last_frame: bool;
    with_pad_to, "pad-to", pad_to: i32;
    with_num_mel_bins, "num-mel-bins", num_bins: i32;
    with_low_freq, "low-freq", low_freq: f32;
    with_high_freq, "high-freq", high_freq: f32;
    with_htk_mel, "htk-mel", htk_mel: bool;
    with_unit_area, "unit-area", unit_area: bool;
    with_use_power, "use-power", use_power: bool;
    with_log, "log", log: MelLog;
    with_floor, "floor", floor: f32;
    with_range, "range", range: f32;
    with_whisper_scale, "whisper-scale", whisper_scale: bool;
    with_allow_downsample, "allow-downsample", allow_downsample: bool;
    with_allow_upsample, "allow-upsample", allow_upsample: bool;
});

options!($ pitch_options {
    with_sample_frequency, "sample-frequency", samp_freq: f32;
    with_frame_length, "frame-length", frame_length_ms: f32;
    with_frame_shift, "frame-shift", frame_shift_ms: f32;
    with_preemphasis_coefficient, "preemphasis-coefficient", preemph_coeff: f32;
    with_min_f0, "min-f0", min_f0: f32;
    with_max_f0, "max-f0", max_f0: f32;
    with_soft_min_f0, "soft-min-f0", soft_min_f0: f32;
    with_penalty_factor, "penalty-factor", penalty_factor: f32;
    with_lowpass_cutoff, "lowpass-cutoff", lowpass_cutoff: f32;
    with_resample_frequency, "resample-frequency", resample_freq: f32;
    with_delta_pitch, "delta-pitch", delta_pitch: f32;
    with_nccf_ballast, "nccf-ballast", nccf_ballast: f32;
    with_lowpass_filter_width, "lowpass-filter-width", lowpass_filter_width: i32;
    with_upsample_filter_width, "upsample-filter-width", upsample_filter_width: i32;
    with_max_frames_latency, "max-frames-latency", max_frames_latency: i32;
    with_frames_per_chunk, "frames-per-chunk", frames_per_chunk: i32;
    with_simulate_first_pass_online, "simulate-first-pass-online", simulate_first_pass_online: bool;
    with_recompute_frame, "recompute-frame", recompute_frame: i32;
    with_nccf_ballast_online, "nccf-ballast-online", nccf_ballast_online: bool;
    with_snip_edges, "snip-edges", snip_edges: bool;
});

options!($ process_pitch_options {
    with_pitch_scale, "pitch-scale", pitch_scale: f32;
    with_pov_scale, "pov-scale", pov_scale: f32;
    with_pov_offset, "pov-offset", pov_offset: f32;
    with_delta_pitch_scale, "delta-pitch-scale", delta_pitch_scale: f32;
    with_delta_pitch_noise_stddev, "delta-pitch-noise-stddev", delta_pitch_noise_stddev: f32;
    with_srand, "srand", noise_seed: u64;
    with_normalization_left_context, "normalization-left-context", normalization_left_context: i32;
    with_normalization_right_context, "normalization-right-context", normalization_right_context: i32;
    with_delta_window, "delta-window", delta_window: i32;
    with_delay, "delay", delay: i32;
    with_add_pov_feature, "add-pov-feature", add_pov_feature: bool;
    with_add_normalized_log_pitch, "add-normalized-log-pitch", add_normalized_log_pitch: bool;
    with_add_delta_pitch, "add-delta-pitch", add_delta_pitch: bool;
    with_add_raw_log_pitch, "add-raw-log-pitch", add_raw_log_pitch: bool;
});

options!($ interpolator_options {
    with_pitch_interval, "pitch-interval", pitch_interval: f32;
    with_interpolator_factor, "interpolator-factor", interpolator_factor: f32;
    with_max_voicing_prob, "max-voicing-prob", max_voicing_prob: f32;
    with_max_pitch_change_per_frame, "max-pitch-change-per-frame", max_pitch_change_per_frame: f32;
});

options!($ delta_options {
    with_delta_order, "delta-order", order: i32;
    with_delta_window, "delta-window", window: i32;
});

options!($ shifted_delta_options {
    with_delta_window, "delta-window", window: i32;
    with_num_blocks, "num-blocks", num_blocks: i32;
    with_block_shift, "block-shift", block_shift: i32;
});

options!($ sliding_cmn_options {
    with_cmn_window, "cmn-window", cmn_window: i32;
    with_min_cmn_window, "min-cmn-window", min_window: i32;
    with_max_warnings, "max-warnings", max_warnings: i32;
    with_norm_vars, "norm-vars", normalize_variance: bool;
    with_center, "center", center: bool;
});

options!($ online_cmvn_options {
    with_cmn_window, "cmn-window", cmn_window: i32;
    with_speaker_frames, "speaker-frames", speaker_frames: i32;
    with_global_frames, "global-frames", global_frames: i32;
    with_norm_means, "norm-means", normalize_mean: bool;
    with_norm_vars, "norm-vars", normalize_variance: bool;
});

options!($ vad_options {
    with_vad_energy_threshold, "vad-energy-threshold", vad_energy_threshold: f32;
    with_vad_energy_mean_scale, "vad-energy-mean-scale", vad_energy_mean_scale: f32;
    with_vad_frames_context, "vad-frames-context", vad_frames_context: i32;
    with_vad_proportion_threshold, "vad-proportion-threshold", vad_proportion_threshold: f32;
});

frame_options!(setters FrameExtractionOptions [] FrameExtractionOptions);
mel_options!(setters MelBanksOptions [] MelBanksOptions);

fbank_options!(setters FbankOptions [] FbankOptions);
frame_options!(setters FbankOptions [.frame] FrameExtractionOptions);
mel_options!(setters FbankOptions [.mel] MelBanksOptions);

mfcc_options!(setters MfccOptions [] MfccOptions);
frame_options!(setters MfccOptions [.frame] FrameExtractionOptions);
mel_options!(setters MfccOptions [.mel] MelBanksOptions);

plp_options!(setters PlpOptions [] PlpOptions);
frame_options!(setters PlpOptions [.frame] FrameExtractionOptions);
mel_options!(setters PlpOptions [.mel] MelBanksOptions);

spectrogram_options!(setters SpectrogramOptions [] SpectrogramOptions);
frame_options!(setters SpectrogramOptions [.frame] FrameExtractionOptions);

log_mel_options!(setters LogMelOptions [] LogMelOptions);
pitch_options!(setters PitchExtractionOptions [] PitchExtractionOptions);
process_pitch_options!(setters ProcessPitchOptions [] ProcessPitchOptions);
interpolator_options!(setters PitchInterpolatorOptions [] PitchInterpolatorOptions);
delta_options!(setters DeltaFeaturesOptions [] DeltaFeaturesOptions);
shifted_delta_options!(setters ShiftedDeltaFeaturesOptions [] ShiftedDeltaFeaturesOptions);
sliding_cmn_options!(setters SlidingWindowCmnOptions [] SlidingWindowCmnOptions);
online_cmvn_options!(setters OnlineCmvnOptions [] OnlineCmvnOptions);
vad_options!(setters VadEnergyOptions [] VadEnergyOptions);

/// Fields with their options. A field's name means the same option in each structure.
const NAMES: &[&[(&str, &str)]] = &[
    frame_options!(names),
    mel_options!(names),
    fbank_options!(names),
    mfcc_options!(names),
    plp_options!(names),
    spectrogram_options!(names),
    log_mel_options!(names),
    pitch_options!(names),
    process_pitch_options!(names),
    interpolator_options!(names),
    delta_options!(names),
    shifted_delta_options!(names),
    sliding_cmn_options!(names),
    online_cmvn_options!(names),
    vad_options!(names),
    // Arguments of functions.
    &[("left_context", "left-context"), ("right_context", "right-context"), ("offset", "offset"), ("n", "n")],
];

/// A message for people who type options: each field that it names between backticks becomes
/// Kaldi's option for it.
///
/// ```
/// use kaldi_feat::{Fbank, FbankOptions, fields_to_options};
///
/// let error = Fbank::new(FbankOptions::default().with_dither(f32::NAN)).unwrap_err();
/// assert_eq!(error.to_string(), "`frame.dither`=NaN can't be: it must be a finite number");
/// assert_eq!(fields_to_options(&error.to_string()), "--dither=NaN can't be: it must be a finite number");
/// ```
pub fn fields_to_options(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('`') {
        text.push_str(before);
        match after.split_once('`').and_then(|(field, rest)| Some((option_of(field)?, rest))) {
            Some((option, behind)) => {
                text.push_str("--");
                text.push_str(option);
                rest = behind;
            }
            None => {
                text.push('`');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

/// The option of Kaldi's programs that sets a field, such as `frame.dither`; none for other names.
fn option_of(field: &str) -> Option<&'static str> {
    let name = field.rsplit('.').next()?;
    NAMES.iter().copied().flatten().find(|(field, _)| *field == name).map(|&(_, option)| option)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::options::{OptionSet, OptionValue, Registry};

    struct Registered(BTreeSet<&'static str>);

    impl<'a> Registry<'a> for Registered {
        fn add(&mut self, name: &'static str, _: &'a mut dyn OptionValue, _: &'static str) {
            self.0.insert(name);
        }
    }

    #[test]
    fn every_registered_option_has_a_setter_and_no_other_has() {
        let mut registered = Registered(BTreeSet::new());
        FbankOptions::default().register(&mut registered);
        MfccOptions::default().register(&mut registered);
        PlpOptions::default().register(&mut registered);
        SpectrogramOptions::default().register(&mut registered);
        LogMelOptions::default().register(&mut registered);
        PitchExtractionOptions::default().register(&mut registered);
        ProcessPitchOptions::default().register(&mut registered);
        PitchInterpolatorOptions::default().register(&mut registered);
        DeltaFeaturesOptions::default().register(&mut registered);
        ShiftedDeltaFeaturesOptions::default().register(&mut registered);
        SlidingWindowCmnOptions::default().register(&mut registered);
        OnlineCmvnOptions::default().register(&mut registered);
        VadEnergyOptions::default().register(&mut registered);
        let of_fields = &NAMES[..NAMES.len() - 1];
        let with_setters: BTreeSet<&str> = of_fields.iter().copied().flatten().map(|&(_, option)| option).collect();
        assert_eq!(registered.0, with_setters);
    }

    #[test]
    fn only_fields_between_backticks_become_options() {
        let message = "use `samp_freq`=8000 or `frame.allow_upsample`=true: dither `of it` and `mel.num_bins";
        let expected = "use --sample-frequency=8000 or --allow-upsample=true: dither `of it` and `mel.num_bins";
        assert_eq!(fields_to_options(message), expected);
        assert_eq!(fields_to_options(""), "");
    }

    #[test]
    fn a_field_is_one_option_in_all_structures() {
        let mut options = BTreeMap::new();
        for &(field, option) in NAMES.iter().copied().flatten() {
            assert_eq!(*options.entry(field).or_insert(option), option, "{field}");
        }
        assert_eq!(option_of("frame.samp_freq"), Some("sample-frequency"));
        assert_eq!(option_of("utterance"), None);
    }
}
