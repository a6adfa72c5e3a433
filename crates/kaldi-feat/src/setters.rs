//! Setters named after Kaldi's options, the field of each option, and its text in `--help`.
//!
//! Each list below names the options of one structure once: a setter, the option as in Kaldi's
//! programs, the field, its default, the help. Structures that hold others have the options of
//! these too.

use crate::front_end::options::FrontEndOptions;
use crate::front_end::samples::SampleOptions;
use crate::kinds::fbank::FbankOptions;
use crate::kinds::log_mel::{LogMelOptions, MelLog};
use crate::kinds::mfcc::MfccOptions;
use crate::kinds::plp::PlpOptions;
use crate::kinds::spectrogram::SpectrogramOptions;
use crate::options::{OptionSet, Registry};
use crate::pitch::interpolate::PitchInterpolatorOptions;
use crate::pitch::options::{PitchExtractionOptions, ProcessPitchOptions};
use crate::rows::deltas::{DeltaFeaturesOptions, ShiftedDeltaFeaturesOptions};
use crate::rows::normalize::Normalize;
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

/// Implements [`OptionSet`]: the options of the parts, which are structures in fields, then the
/// options of the list.
macro_rules! registered {
    (
        $target:ident [$($part:ident)*]
        { $($setter:ident, $option:literal, $field:ident: $type:ty $(= $default:expr)?, $help:literal;)+ }
    ) => {
        impl OptionSet for $target {
            fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
                $(self.$part.register(registry);)*
                $(registry.add($option, &mut self.$field, $help);)+
            }
        }
    };
}

/// Implements [`Default`]: the defaults of the parts, and of the list.
macro_rules! defaults {
    (
        $target:ident [$($part:ident)*]
        { $($setter:ident, $option:literal, $field:ident: $type:ty = $default:expr, $help:literal;)+ }
    ) => {
        impl Default for $target {
            fn default() -> Self {
                Self { $($part: Default::default(),)* $($field: $default,)+ }
            }
        }
    };
}

/// Implements the setters of a list on `$target`. Its field `$path` is the `$owner` of the options,
/// or it is the owner itself.
macro_rules! setters {
    (
        $target:ident $path:tt $owner:ident
        { $($setter:ident, $option:literal, $field:ident: $type:ty $(= $default:expr)?, $help:literal;)+ }
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

/// Lists the fields of a list, each with its option.
macro_rules! names {
    ({ $($setter:ident, $option:literal, $field:ident: $type:ty $(= $default:expr)?, $help:literal;)+ }) => {
        &[$((stringify!($field), $option)),+]
    };
}

options!($ frame_options {
    with_sample_frequency, "sample-frequency", samp_freq: f32 = 16000.0, "Sample rate of the waveforms, Hz";
    with_frame_length, "frame-length", frame_length_ms: f32 = 25.0, "Length of a frame, ms";
    with_frame_shift, "frame-shift", frame_shift_ms: f32 = 10.0, "From one frame to the next, ms";
    with_preemphasis_coefficient, "preemphasis-coefficient", preemph_coeff: f32 = 0.97,
        "Coefficient of the preemphasis; 0 = off";
    with_remove_dc_offset, "remove-dc-offset", remove_dc_offset: bool = true, "Subtract the mean of each frame";
    with_dither, "dither", dither: f32 = 0.0, "Standard deviation of noise added to the samples; 0 = none";
    with_dither_seed, "dither-seed", dither_seed: u64 = 0, "Other seeds give other dither (not in Kaldi)";
    with_window_type, "window-type", window_type: WindowType = WindowType::Povey,
        "Window: hamming, hanning, povey, rectangular, sine or blackman";
    with_blackman_coeff, "blackman-coeff", blackman_coeff: f32 = 0.42, "Constant of the generalised Blackman window";
    with_round_to_power_of_two, "round-to-power-of-two", round_to_power_of_two: bool = true,
        "Pad frames with zeros to a power of two for the FFT";
    with_snip_edges, "snip-edges", snip_edges: bool = true,
        "Only frames that fit in the waveform; false: mirror its ends, frames depend on the shift alone";
    with_allow_downsample, "allow-downsample", allow_downsample: bool = false,
        "Resample waveforms that have a higher rate";
    with_allow_upsample, "allow-upsample", allow_upsample: bool = false, "Resample waveforms that have a lower rate";
    with_max_feature_vectors, "max-feature-vectors", max_feature_vectors: i32 = -1,
        "Rows that a stream keeps at most; -1 = all; no effect on whole recordings";
    with_full_scale, "full-scale", full_scale: f32 = 32768.0,
        "What the loudest sample counts as: 32768 or 1 (not in Kaldi)";
});

options!($ mel_options {
    with_num_mel_bins, "num-mel-bins", num_bins: i32, "Number of triangular mel filters";
    with_low_freq, "low-freq", low_freq: f32, "Lower end of the mel filters, Hz";
    with_high_freq, "high-freq", high_freq: f32,
        "Upper end of the mel filters, Hz; 0 or less: counted from half the sample rate";
    with_vtln_low, "vtln-low", vtln_low: f32, "Lower bend of the VTLN warping, Hz";
    with_vtln_high, "vtln-high", vtln_high: f32,
        "Upper bend of the VTLN warping, Hz; negative: counted from half the sample rate";
    with_debug_mel, "debug-mel", debug_mel: bool, "Log the mel filters";
});

options!($ fbank_options {
    with_use_energy, "use-energy", use_energy: bool = false, "Add a dimension with the log energy";
    with_energy_floor, "energy-floor", energy_floor: f32 = 0.0, "Least energy before the logarithm; 0 = none";
    with_raw_energy, "raw-energy", raw_energy: bool = true, "Take the energy before preemphasis and window";
    with_htk_compat, "htk-compat", htk_compat: bool = false, "Put the energy last, as HTK does";
    with_use_log_fbank, "use-log-fbank", use_log_fbank: bool = true, "Logarithms of energies rather than energies";
    with_use_power, "use-power", use_power: bool = true, "Filter the power spectrum rather than the magnitudes";
});

options!($ mfcc_options {
    with_num_ceps, "num-ceps", num_ceps: i32 = 13, "Number of cepstra, C0 included";
    with_use_energy, "use-energy", use_energy: bool = true, "The log energy in place of C0";
    with_energy_floor, "energy-floor", energy_floor: f32 = 0.0, "Least energy before the logarithm; 0 = none";
    with_raw_energy, "raw-energy", raw_energy: bool = true, "Take the energy before preemphasis and window";
    with_cepstral_lifter, "cepstral-lifter", cepstral_lifter: f32 = 22.0, "Constant of the liftering; 0 = none";
    with_htk_compat, "htk-compat", htk_compat: bool = false, "Put energy or C0 last, and C0 times the root of 2";
});

options!($ plp_options {
    with_lpc_order, "lpc-order", lpc_order: i32 = 12, "Order of the linear prediction";
    with_num_ceps, "num-ceps", num_ceps: i32 = 13, "Number of cepstra, C0 included";
    with_use_energy, "use-energy", use_energy: bool = true, "The log energy in place of C0";
    with_energy_floor, "energy-floor", energy_floor: f32 = 0.0, "Least energy before the logarithm; 0 = none";
    with_raw_energy, "raw-energy", raw_energy: bool = true, "Take the energy before preemphasis and window";
    with_compress_factor, "compress-factor", compress_factor: f32 = 0.33333, "Exponent of the energies in the filters";
    with_autocorrelation_floor, "autocorrelation-floor", autocorrelation_floor: f32 = f32::EPSILON,
        "Least autocorrelation at lag 0, which is 0 in digital silence; 0 = none, and NaN there as Kaldi's";
    with_cepstral_lifter, "cepstral-lifter", cepstral_lifter: i32 = 22, "Constant of the liftering; 0 = none";
    with_cepstral_scale, "cepstral-scale", cepstral_scale: f32 = 1.0, "Factor of the cepstra";
    with_htk_compat, "htk-compat", htk_compat: bool = false, "Put energy or C0 last";
});

options!($ spectrogram_options {
    with_energy_floor, "energy-floor", energy_floor: f32 = 0.0, "Least energy before the logarithm; 0 = none";
    with_raw_energy, "raw-energy", raw_energy: bool = true, "Take the energy before preemphasis and window";
    with_return_raw_fft, "return-raw-fft", return_raw_fft: bool = false,
        "Write the Fourier transform rather than the logarithm of its power";
});

options!($ log_mel_options {
    with_sample_frequency, "sample-frequency", samp_freq: f32, "Sample rate of the waveforms, Hz";
    with_fft_size, "fft-size", fft_size: i32, "Samples of a frame and of its Fourier transform";
    with_window_size, "window-size", window_size: i32, "Samples of the Hann window; 0 = those of the frame";
    with_periodic_window, "periodic-window", periodic_window: bool,
        "Periodic Hann window, as PyTorch's periodic=True; else a symmetric one";
    with_hop, "hop", hop: i32, "Samples from one frame to the next";
    with_reflect, "reflect", reflect: bool, "Mirror the signal at its ends, rather than silence there";
    with_last_frame, "last-frame", last_frame: bool, "Write the frame around the end of the signal, too";
    with_snip_edges, "snip-edges", snip_edges: bool,
        "Only frames that fit in the waveform; false: frames are centred, and depend on the shift alone";
    with_semicausal, "semicausal", semicausal: bool,
        "Frames are centred, with silence before the signal, and lie in it otherwise";
    with_pad_to, "pad-to", pad_to: i32, "Cut or fill up signals to that many samples; 0 = leave them";
    with_min_samples, "min-samples", min_samples: i32,
        "Fill up shorter signals with silence to that many samples; 0 = leave them";
    with_max_samples, "max-samples", max_samples: i32, "Cut longer signals to that many samples; 0 = leave them";
    with_num_mel_bins, "num-mel-bins", num_bins: i32, "Number of mel filters";
    with_low_freq, "low-freq", low_freq: f32, "Lower end of the mel filters, Hz";
    with_high_freq, "high-freq", high_freq: f32, "Upper end of the mel filters, Hz; 0 = half the sample rate";
    with_htk_mel, "htk-mel", htk_mel: bool, "HTK's mel scale rather than Slaney's";
    with_unit_area, "unit-area", unit_area: bool, "Filters of area 1 rather than of height 1";
    with_whole_bins, "whole-bins", whole_bins: bool, "Filters begin and end at frequencies of the Fourier transform";
    with_over_mels, "over-mels", over_mels: bool, "Sides of the filters are straight over mels rather than over Hz";
    with_bfloat16, "bfloat16", bfloat16: bool, "Round the window and the filters to bfloat16";
    with_use_power, "use-power", use_power: bool, "Filter the power spectrum rather than the magnitudes";
    with_log, "log", log: MelLog, "What to write of energies: none, natural, log10, decibels";
    with_floor, "floor", floor: f32, "Least energy before the logarithm";
    with_log_guard, "log-guard", log_guard: f32, "Added to energies before the logarithm";
    with_range, "range", range: f32, "Values are at most that far below the largest; 0 = no bound";
    with_whisper_scale, "whisper-scale", whisper_scale: bool, "(x + 4) / 4 in the end";
    with_allow_downsample, "allow-downsample", allow_downsample: bool, "Resample waveforms that have a higher rate";
    with_allow_upsample, "allow-upsample", allow_upsample: bool, "Resample waveforms that have a lower rate";
});

options!($ sample_options {
    with_sample_frequency, "sample-frequency", samp_freq: f32 = 16000.0, "Sample rate of the waveforms, Hz";
    with_frame_samples, "frame-samples", frame_samples: i32 = 1, "Samples of a row, and from one row to the next";
    with_context_samples, "context-samples", context_samples: i32 = 0,
        "Samples before these that a row has, too; 0 before the first one";
    with_allow_downsample, "allow-downsample", allow_downsample: bool = false,
        "Resample waveforms that have a higher rate";
    with_allow_upsample, "allow-upsample", allow_upsample: bool = false, "Resample waveforms that have a lower rate";
});

options!($ front_end_options {
    with_preemphasis, "preemphasis", preemphasis: f32 = 0.0,
        "Preemphasis of the whole waveform, before the features; 0 = off";
    with_lfr_m, "lfr-m", lfr_m: i32 = 1, "Low frame rate: frames beside each other in a row";
    with_lfr_n, "lfr-n", lfr_n: i32 = 1, "Low frame rate: frames from one row to the next";
    with_normalize, "normalize", normalize: Normalize = Normalize::None,
        "Mean and variance normalisation over the utterance: none, samples (all values), per_feature (each column)";
});

options!($ pitch_options {
    with_sample_frequency, "sample-frequency", samp_freq: f32 = 16000.0, "Sample rate of the waveforms, Hz";
    with_frame_length, "frame-length", frame_length_ms: f32 = 25.0, "Length of a frame, ms";
    with_frame_shift, "frame-shift", frame_shift_ms: f32 = 10.0, "From one frame to the next, ms";
    with_preemphasis_coefficient, "preemphasis-coefficient", preemph_coeff: f32 = 0.0,
        "Coefficient of the preemphasis; 0 = off, as it should be";
    with_min_f0, "min-f0", min_f0: f32 = 50.0, "Lowest pitch to look for, Hz";
    with_max_f0, "max-f0", max_f0: f32 = 400.0, "Highest pitch to look for, Hz";
    with_soft_min_f0, "soft-min-f0", soft_min_f0: f32 = 10.0, "Pitch towards which lower ones lose their advantage, Hz";
    with_penalty_factor, "penalty-factor", penalty_factor: f32 = 0.1, "Cost of changes of pitch";
    with_lowpass_cutoff, "lowpass-cutoff", lowpass_cutoff: f32 = 1000.0, "Cutoff of the low-pass filter, Hz";
    with_resample_frequency, "resample-frequency", resample_freq: f32 = 4000.0,
        "Sample rate to extract the pitch at, Hz";
    with_delta_pitch, "delta-pitch", delta_pitch: f32 = 0.005, "Smallest relative change of pitch that is measured";
    with_nccf_ballast, "nccf-ballast", nccf_ballast: f32 = 7000.0, "Larger: less correlation in quiet frames";
    with_lowpass_filter_width, "lowpass-filter-width", lowpass_filter_width: i32 = 1,
        "Zeros of the low-pass filter on each side; more is sharper";
    with_upsample_filter_width, "upsample-filter-width", upsample_filter_width: i32 = 5,
        "Zeros of the filter that interpolates the correlation, on each side";
    with_max_frames_latency, "max-frames-latency", max_frames_latency: i32 = 0,
        "How many frames may wait for later ones to be sure of their pitch, while audio comes";
    with_frames_per_chunk, "frames-per-chunk", frames_per_chunk: i32 = 0,
        "Hand on the audio in chunks of so many frames, as if it came live; 0 = at once";
    with_simulate_first_pass_online, "simulate-first-pass-online", simulate_first_pass_online: bool = false,
        "Take each frame as it is when it is first ready (needs --frames-per-chunk)";
    with_recompute_frame, "recompute-frame", recompute_frame: i32 = 500,
        "Find the pitch of the frames before this one anew when it is reached, with the loudness known then";
    with_nccf_ballast_online, "nccf-ballast-online", nccf_ballast_online: bool = false,
        "Take the loudness from the audio up to the frame alone";
    with_snip_edges, "snip-edges", snip_edges: bool = true,
        "Only frames that fit in the waveform; false: silence around it, frames depend on the shift alone";
});

options!($ process_pitch_options {
    with_pitch_scale, "pitch-scale", pitch_scale: f32 = 2.0, "Scale of the normalised log pitch";
    with_pov_scale, "pov-scale", pov_scale: f32 = 2.0, "Scale of the feature of voicing";
    with_pov_offset, "pov-offset", pov_offset: f32 = 0.0, "Added to the feature of voicing";
    with_delta_pitch_scale, "delta-pitch-scale", delta_pitch_scale: f32 = 10.0, "Scale of the change of log pitch";
    with_delta_pitch_noise_stddev, "delta-pitch-noise-stddev", delta_pitch_noise_stddev: f32 = 0.005,
        "Standard deviation of noise in the change of log pitch, before scaling";
    with_srand, "srand", noise_seed: u64 = 0, "Other seeds give other noise";
    with_normalization_left_context, "normalization-left-context", normalization_left_context: i32 = 75,
        "Frames before a frame that its mean is taken over";
    with_normalization_right_context, "normalization-right-context", normalization_right_context: i32 = 75,
        "Frames after a frame that its mean is taken over";
    with_delta_window, "delta-window", delta_window: i32 = 2, "Frames on each side for the change of log pitch";
    with_delay, "delay", delay: i32 = 0, "Put so many frames before the first one";
    with_add_pov_feature, "add-pov-feature", add_pov_feature: bool = true, "Have the feature of voicing";
    with_add_normalized_log_pitch, "add-normalized-log-pitch", add_normalized_log_pitch: bool = true,
        "Have the normalised log pitch";
    with_add_delta_pitch, "add-delta-pitch", add_delta_pitch: bool = true, "Have the change of log pitch";
    with_add_raw_log_pitch, "add-raw-log-pitch", add_raw_log_pitch: bool = false, "Have the log pitch";
});

options!($ interpolator_options {
    with_pitch_interval, "pitch-interval", pitch_interval: f32 = 4.0, "Step between the pitches of the result, Hz";
    with_interpolator_factor, "interpolator-factor", interpolator_factor: f32 = 1e-5,
        "Towards 0: closer to the measured pitch, and less smooth";
    with_max_voicing_prob, "max-voicing-prob", max_voicing_prob: f32 = 0.9,
        "Probability of voicing where it was measured as 1: below 1 leaves room to be smooth";
    with_max_pitch_change_per_frame, "max-pitch-change-per-frame", max_pitch_change_per_frame: f32 = 10.0,
        "Largest step from frame to frame, Hz; only to save time";
});

options!($ delta_options {
    with_delta_order, "delta-order", order: i32 = 2, "Order of the deltas: 1, 2 ...; 0 = none";
    with_delta_window, "delta-window", window: i32 = 2, "Frames on each side that a difference is taken over";
});

options!($ shifted_delta_options {
    with_delta_window, "delta-window", window: i32 = 1, "Frames on each side that a difference is taken over";
    with_num_blocks, "num-blocks", num_blocks: i32 = 7, "How many deltas, of this frame and of later ones";
    with_block_shift, "block-shift", block_shift: i32 = 3, "Frames from one of the deltas to the next";
});

options!($ sliding_cmn_options {
    with_cmn_window, "cmn-window", cmn_window: i32 = 600, "Frames of the moving window";
    with_min_cmn_window, "min-cmn-window", min_window: i32 = 100,
        "Frames of the window at the beginning, at least; no effect with --center";
    with_max_warnings, "max-warnings", max_warnings: i32 = 5, "Accepted, as Kaldi has it; no effect here";
    with_norm_vars, "norm-vars", normalize_variance: bool = false, "Make the variance 1, not only the mean 0";
    with_center, "center", center: bool = false,
        "Put the window around the frame, as far as the utterance goes; else before it";
});

options!($ online_cmvn_options {
    with_cmn_window, "cmn-window", cmn_window: i32 = 600, "Frames of the moving window, the frame itself included";
    with_speaker_frames, "speaker-frames", speaker_frames: i32 = 600,
        "Frames that the speaker's statistics count for at most, while the window is not full";
    with_global_frames, "global-frames", global_frames: i32 = 200,
        "Frames that the global statistics count for at most, while the window is not full even then";
    with_norm_means, "norm-means", normalize_mean: bool = true, "Make the mean 0";
    with_norm_vars, "norm-vars", normalize_variance: bool = false, "Make the variance 1, too";
    with_cmn_min_energy, "cmn-min-energy", cmn_min_energy: Option<f32> = None,
        "A frame whose first element is not above this has the statistics of the frame before it (of Vosk's Kaldi)";
});

options!($ vad_options {
    with_vad_energy_threshold, "vad-energy-threshold", vad_energy_threshold: f32 = 5.0,
        "Log energy from which a frame is loud";
    with_vad_energy_mean_scale, "vad-energy-mean-scale", vad_energy_mean_scale: f32 = 0.5,
        "That much of the utterance's mean log energy is added to the threshold";
    with_vad_frames_context, "vad-frames-context", vad_frames_context: i32 = 0,
        "Frames on each side that have a say in the decision about a frame";
    with_vad_proportion_threshold, "vad-proportion-threshold", vad_proportion_threshold: f32 = 0.6,
        "The part of these frames that must be loud";
});

frame_options!(defaults FrameExtractionOptions []);
frame_options!(registered FrameExtractionOptions []);
frame_options!(setters FrameExtractionOptions [] FrameExtractionOptions);
mel_options!(registered MelBanksOptions []);
mel_options!(setters MelBanksOptions [] MelBanksOptions);

fbank_options!(defaults FbankOptions [frame mel]);
fbank_options!(registered FbankOptions [frame mel]);
kaldera_base::setters! {
    FbankOptions:
    frame, with_frame: FrameExtractionOptions, "With these options of frames.";
    mel, with_mel: MelBanksOptions, "With these options of mel filters.";
}
fbank_options!(setters FbankOptions [] FbankOptions);
frame_options!(setters FbankOptions [.frame] FrameExtractionOptions);
mel_options!(setters FbankOptions [.mel] MelBanksOptions);

mfcc_options!(defaults MfccOptions [frame mel]);
mfcc_options!(registered MfccOptions [frame mel]);
kaldera_base::setters! {
    MfccOptions:
    frame, with_frame: FrameExtractionOptions, "With these options of frames.";
    mel, with_mel: MelBanksOptions, "With these options of mel filters.";
}
mfcc_options!(setters MfccOptions [] MfccOptions);
frame_options!(setters MfccOptions [.frame] FrameExtractionOptions);
mel_options!(setters MfccOptions [.mel] MelBanksOptions);

plp_options!(defaults PlpOptions [frame mel]);
plp_options!(registered PlpOptions [frame mel]);
kaldera_base::setters! {
    PlpOptions:
    frame, with_frame: FrameExtractionOptions, "With these options of frames.";
    mel, with_mel: MelBanksOptions, "With these options of mel filters.";
}
plp_options!(setters PlpOptions [] PlpOptions);
frame_options!(setters PlpOptions [.frame] FrameExtractionOptions);
mel_options!(setters PlpOptions [.mel] MelBanksOptions);

spectrogram_options!(defaults SpectrogramOptions [frame]);
spectrogram_options!(registered SpectrogramOptions [frame]);
kaldera_base::setters! {
    SpectrogramOptions:
    frame, with_frame: FrameExtractionOptions, "With these options of frames.";
}
spectrogram_options!(setters SpectrogramOptions [] SpectrogramOptions);
frame_options!(setters SpectrogramOptions [.frame] FrameExtractionOptions);

log_mel_options!(registered LogMelOptions []);
log_mel_options!(setters LogMelOptions [] LogMelOptions);
sample_options!(defaults SampleOptions []);
sample_options!(registered SampleOptions []);
sample_options!(setters SampleOptions [] SampleOptions);
front_end_options!(defaults FrontEndOptions [features]);
front_end_options!(registered FrontEndOptions [features]);
front_end_options!(setters FrontEndOptions [] FrontEndOptions);
pitch_options!(defaults PitchExtractionOptions []);
pitch_options!(registered PitchExtractionOptions []);
pitch_options!(setters PitchExtractionOptions [] PitchExtractionOptions);
process_pitch_options!(defaults ProcessPitchOptions []);
process_pitch_options!(registered ProcessPitchOptions []);
process_pitch_options!(setters ProcessPitchOptions [] ProcessPitchOptions);
interpolator_options!(defaults PitchInterpolatorOptions []);
interpolator_options!(registered PitchInterpolatorOptions []);
interpolator_options!(setters PitchInterpolatorOptions [] PitchInterpolatorOptions);
delta_options!(defaults DeltaFeaturesOptions []);
delta_options!(registered DeltaFeaturesOptions []);
delta_options!(setters DeltaFeaturesOptions [] DeltaFeaturesOptions);
shifted_delta_options!(defaults ShiftedDeltaFeaturesOptions []);
shifted_delta_options!(registered ShiftedDeltaFeaturesOptions []);
shifted_delta_options!(setters ShiftedDeltaFeaturesOptions [] ShiftedDeltaFeaturesOptions);
sliding_cmn_options!(defaults SlidingWindowCmnOptions []);
sliding_cmn_options!(registered SlidingWindowCmnOptions []);
sliding_cmn_options!(setters SlidingWindowCmnOptions [] SlidingWindowCmnOptions);
online_cmvn_options!(defaults OnlineCmvnOptions []);
online_cmvn_options!(registered OnlineCmvnOptions []);
online_cmvn_options!(setters OnlineCmvnOptions [] OnlineCmvnOptions);
vad_options!(defaults VadEnergyOptions []);
vad_options!(registered VadEnergyOptions []);
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
    sample_options!(names),
    front_end_options!(names),
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

/// Rewrites a message for users who type options: each field that it names between backticks
/// becomes Kaldi's option for it.
///
/// ```
/// use kaldi_feat::{Fbank, FbankOptions, fields_to_options};
///
/// let error = Fbank::new(FbankOptions::default().with_dither(f32::NAN)).unwrap_err();
/// assert_eq!(error.to_string(), "`frame.dither`=NaN can't be: it must be a finite number");
/// assert_eq!(
///     fields_to_options(&error.to_string()),
///     "--dither=NaN can't be: it must be a finite number"
/// );
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

/// Returns the option of Kaldi's programs that sets a field, such as `frame.dither`; `None` for
/// other names.
fn option_of(field: &str) -> Option<&'static str> {
    let name = field.rsplit('.').next()?;
    NAMES.iter().copied().flatten().find(|(field, _)| *field == name).map(|&(_, option)| option)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

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
