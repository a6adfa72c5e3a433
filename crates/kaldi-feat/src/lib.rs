//! Kaldi's speech features: the same numbers, several times faster, from samples in memory to rows
//! of features.
//!
//! ```text
//!  samples ──> frames ───────> power spectrum ──> mel filters ──> ln ─────────────> filterbank,
//!  (i16, f32)  dither, mean,   FFT of 8 or 16 |     |              |                log-mel
//!    |         energy,         frames at once |     |              '──> DCT ──────> MFCC
//!    |         preemphasis,                   |     '──> loudness ──> prediction ─> PLP
//!    |         window                         '──> ln ────────────────────────────> spectrogram
//!    '──> resampling ──> correlations ──> Viterbi ────────────────────────────────> pitch
//!
//!  rows of features ──> deltas, splice, CMVN, VAD, selection ──> rows
//! ```
//!
//! ```
//! use kaldi_feat::{Audio, Mfcc, MfccOptions};
//!
//! let options = MfccOptions::default(); // Kaldi's names, and its defaults but for the dither
//! let mfcc = Mfcc::new(options)?; // planned once, shared by any number of threads
//!
//! let samples: Vec<i16> = (0..8000).map(|i| ((i * i) % 2000) as i16 - 1000).collect();
//! let features = mfcc.compute(&Audio::new(&samples, 16000.0))?;
//! assert_eq!((features.num_rows(), features.num_cols()), (48, 13));
//! # Ok::<(), kaldi_feat::Error>(())
//! ```
//!
//! Samples are on the scale of 16-bit integers, as in a WAV file, whatever their type. Audio in
//! [-1, 1] gives features that are off by a constant: multiply it by 32768 first. A [`Preset`]
//! gives the features of other toolkits for such audio. [`Interleaved`] takes several interleaved
//! channels.
//!
//! For whole signals and for signals that arrive in chunks:
//!
//! - Audio to features: [`Fbank`], [`Mfcc`], [`Plp`], [`Spectrogram`], [`LogMel`], each an
//!   [`Extractor`]; in chunks [`FeatureStream`].
//! - Audio to the rows that a model takes: [`FrontEnd`], of a [`Preset`] or of [`FrontEndOptions`];
//!   in chunks [`FrontEnd::stream`].
//! - Audio to pitch: [`compute_kaldi_pitch`]; in chunks [`OnlinePitch`].
//! - Rows to rows: [`compute_deltas`], [`splice_frames`], [`sliding_window_cmn`], [`LowFrameRate`],
//!   [`GlobalCmvn`] ...; in chunks [`RowStream`], [`RowChain`].
//!
//! Streams give the same bits as whole signals however the audio is cut, keep no more than the next
//! frames need, and can be [saved](FeatureStream::save_state) and
//! [restored](FeatureStream::restore_state).
//!
//! # Why it is fast
//! A vector of the processor holds the same sample of 8 or 16 *different frames*. So everything
//! from window to DCT is the plain algorithm for one frame, written with vectors in place of
//! numbers. Numbers move between lanes only when samples come in and features go out (`frames`,
//! `fft`, `extractor` in the source). A frame's features do not depend on which frames share its
//! vectors.
//!
//! # Design
//! - A stream that asks for each row at once has only one frame. The same code computes it, with
//!   the frame in all lanes: fbank takes 2.5 µs for each 10 ms of live audio.
//! - All kinds of features share the steps from samples to mel energies (`spectrum/bands.rs`).
//!   Frames of any size are transformed here, so rustfft is compiled only for the feature `fft` of
//!   `kaldi-matrix`.
//! - Results are a matrix, or a [`FeatureBatch`] of values and row splits. Features by themselves
//!   need no operators over sequences; with the feature `lod` a batch becomes a `LodTensor`.
//! - A [`FrontEnd`] is one value: preemphasis, features of any kind, low frame rate, CMVN of a
//!   file, and normalisation. The command's `--preset`, `features` of a model folder and a program
//!   in Rust use the same one.
//! - Kaldi's resampler serves Kaldi's options. Audio of another rate goes to a model through
//!   [`PolyphaseResample`], which has the response of ffmpeg's default.
//!
//! # Coming from Kaldi
//! Kaldi's names, and the names here:
//!
//! - `FrameExtractionOptions`, `MelBanksOptions`, `FbankOptions`, `MfccOptions`: the same names.
//! - `--num-mel-bins=80`: `options.with_num_mel_bins(80)`, or `options.mel.num_bins = 80`;
//!   [`options`] connects structures to the names of options.
//! - `Fbank fbank(opts)`: [`Fbank::new(options)?`](Extractor::new).
//! - `fbank.ComputeFeatures(wave, freq, warp, &out)`:
//!   `fbank.compute(&Audio::new(&wave, freq).with_vtln_warp(warp))?`:
//!   [`compute`](Extractor::compute), [`compute_into`](Extractor::compute_into).
//! - `ResampleWaveform`: done by `compute` when `allow_downsample` or `allow_upsample` is set;
//!   [`LinearResample::for_waveform`].
//! - `LinearResample`, `ArbitraryResample`: the same names; a signal that arrives in chunks goes
//!   through a [`ResampleStream`].
//! - ffmpeg's `swr_convert`, with its default filter: [`PolyphaseResample`], [`PolyphaseStream`].
//! - `MelBanks`: [`MelBanks`].
//! - `Plp`, `Spectrogram` and their options: the same names.
//! - `OnlineGenericBaseFeature`, `OnlineMfcc` ...: [`FeatureStream`].
//! - `ComputeDeltas`, `OnlineDeltaFeature`: [`compute_deltas`],
//!   [`DeltaFeatures::stream`](RowWindow::stream).
//! - `SpliceFrames`, `OnlineSpliceFrames`: [`splice_frames`], [`Splice`].
//! - `ComputeShiftedDeltas`: [`compute_shifted_deltas`].
//! - `AccCmvnStats`, `ApplyCmvn`, `ApplyCmvnReverse`, `FakeStatsForSomeDims`: [`CmvnStats`],
//!   [`apply_cmvn`], [`apply_cmvn_reverse`], [`CmvnStats::fake_dims`].
//! - `SlidingWindowCmn`, `OnlineCmvn`: [`sliding_window_cmn`], [`OnlineCmvn`].
//! - `ComputeVadEnergy`: [`compute_vad_energy`].
//! - `ComputeKaldiPitch`, `OnlinePitchFeature`: [`PitchExtractor`], [`compute_kaldi_pitch`];
//!   [`OnlinePitch`].
//! - `ProcessPitch`, `ComputeAndProcessKaldiPitch`, `OnlineProcessPitch`: [`PitchProcessor`],
//!   [`process_pitch`]; [`OnlineProcessPitch`].
//! - `PitchInterpolator` of `interpolate-pitch`: [`PitchInterpolator`].
//! - `paste-feats`, `select-feats`, `select-voiced-frames`, `shift-feats`, `subsample-feats`:
//!   [`paste_columns`], [`select_columns`], [`select_voiced`], [`shift_frames`],
//!   [`subsample_frames`].
//!
//! ## Differences from Kaldi
//! - **Dither** is 0 by default; Kaldi's default is 1. It is a function of `dither_seed`, the
//!   utterance's key and the index of the sample, drawn once for each sample. Kaldi draws it from
//!   the C library for each frame anew, so that its output can't be repeated. Its size is the same.
//! - Values that Kaldi asserts on or computes nonsense with are an [`Error`] that names the field.
//! - **Pitch** may come in chunks of any size. With `snip_edges` false and small chunks Kaldi
//!   discards samples that it still needs.
//! - `max-feature-vectors` bounds the rows that a stream keeps; on whole signals it has no effect,
//!   as in Kaldi.
//! - Numbers agree within the rounding of single precision, not to the bit: Kaldi's own vary that
//!   much with its BLAS.
//!
//! # Features of the crate
//! `rayon` (default): [`compute_batch`](Extractor::compute_batch) uses all threads of the current
//! pool. `serde`: options are read and written; a missing option has its default, and an unknown
//! name is an error. No BLAS is needed.
//!
//! # When not to use it
//! On a GPU; for reading files, which `kaldi-io` does.

#![forbid(unsafe_code)]

mod audio;
mod batch;
mod error;
mod extractor;
mod front_end;
mod kinds;
pub mod options;
mod pitch;
mod presets;
mod resample;
mod rows;
mod sealed;
mod setters;
mod spectrum;
mod state;
mod stream;

pub use audio::Audio;
pub use audio::interleaved::Interleaved;
pub use audio::samples::Samples;
pub use batch::FeatureBatch;
pub use error::Error;
pub use extractor::{Extractor, Kind};
pub use front_end::options::{FeatureKind, FeatureOptions, FrontEndOptions};
pub use front_end::samples::SampleOptions;
pub use front_end::stream::FrontEndStream;
pub use front_end::{FrontEnd, FrontEndWorkspace};
pub use kaldi_matrix::{Matrix, MatrixBase, Storage, StorageMut, SubMatrix};
pub use kinds::fbank::{Fbank, FbankKind, FbankOptions};
pub use kinds::lifter::lifter_coefficients;
pub use kinds::log_mel::{LogMel, LogMelKind, LogMelOptions, MelLog};
pub use kinds::mfcc::{Mfcc, MfccKind, MfccOptions};
pub use kinds::plp::lpc::{compute_lpc, lpc_to_cepstrum};
pub use kinds::plp::{Plp, PlpKind, PlpOptions, equal_loudness, idft_bases};
pub use kinds::spectrogram::{Spectrogram, SpectrogramKind, SpectrogramOptions};
pub use pitch::extractor::{PitchExtractor, PitchWorkspace, compute_kaldi_pitch};
pub use pitch::frame_features::nccf_to_pov;
pub use pitch::interpolate::{PitchInterpolator, PitchInterpolatorOptions, interpolate_pitch_linearly};
pub use pitch::online_process::OnlineProcessPitch;
pub use pitch::options::{PitchExtractionOptions, ProcessPitchOptions};
pub use pitch::process::{PitchProcessor, ProcessPitchStream, process_pitch};
pub use pitch::stream::OnlinePitch;
pub use presets::Preset;
pub use resample::arbitrary::ArbitraryResample;
pub use resample::limit::check_resampled;
pub use resample::polyphase::{PolyphaseResample, PolyphaseStream, Resamplers};
pub use resample::{LinearResample, ResampleStream};
pub use rows::cmvn::{CmvnStats, apply_cmvn, apply_cmvn_reverse};
pub use rows::deltas::{
    DeltaFeatures, DeltaFeaturesOptions, ShiftedDeltaFeatures, ShiftedDeltaFeaturesOptions, compute_deltas,
    compute_shifted_deltas,
};
pub use rows::global_cmvn::{GlobalCmvn, GlobalCmvnStream};
pub use rows::low_frame_rate::{LowFrameRate, LowFrameRateStream};
pub use rows::normalize::Normalize;
pub use rows::online_cmvn::{OnlineCmvn, OnlineCmvnOptions};
pub use rows::ops::{paste_columns, select_columns, select_voiced, shift_frames, subsample_frames};
pub use rows::sliding_cmvn::{SlidingWindowCmn, SlidingWindowCmnOptions, SlidingWindowCmnStream, sliding_window_cmn};
pub use rows::splice::{Splice, splice_frames};
pub use rows::stream::{RowChain, RowStream};
pub use rows::vad::{VadEnergyOptions, VadStream, compute_vad_energy};
pub use rows::window::{RowWindow, WindowStream};
pub use setters::fields_to_options;
pub use spectrum::mel::{MelBanks, MelBanksOptions, MelBin, inverse_mel_scale, mel_scale};
pub use spectrum::window::{FrameExtractionOptions, WindowType};
pub use spectrum::workspace::Workspace;
pub use stream::FeatureStream;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Types that threads may share.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Audio<'_>>();
    is_send_and_sync::<Interleaved<'_>>();
    is_send_and_sync::<Workspace>();
    is_send_and_sync::<Fbank>();
    is_send_and_sync::<Mfcc>();
    is_send_and_sync::<Plp>();
    is_send_and_sync::<Spectrogram>();
    is_send_and_sync::<LogMel>();
    is_send_and_sync::<FrontEnd>();
    is_send_and_sync::<FeatureBatch>();
    is_send_and_sync::<FeatureStream<FbankKind>>();
    is_send_and_sync::<FeatureStream<LogMelKind>>();
    is_send_and_sync::<PitchExtractor>();
    is_send_and_sync::<PitchWorkspace>();
    is_send_and_sync::<OnlinePitch>();
    is_send_and_sync::<OnlineProcessPitch>();
    is_send_and_sync::<PitchInterpolator>();
    is_send_and_sync::<LinearResample>();
    is_send_and_sync::<ResampleStream>();
    is_send_and_sync::<PolyphaseResample>();
    is_send_and_sync::<PolyphaseStream>();
    is_send_and_sync::<Resamplers>();
    is_send_and_sync::<OnlineCmvn>();
    is_send_and_sync::<VadStream>();
    is_send_and_sync::<Error>();
};
