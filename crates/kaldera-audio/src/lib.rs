//! Recordings from files of every format that speech comes in, as samples of one scale.
//!
//! ```text
//! file, bytes, rxfilename ──> Recording ──> channel or mean, at another rate ──> Audio
//!                                 │                                                │
//!       format by the first bytes: WAV, FLAC, MP3 ...                     for kaldi-feat
//! ```
//!
//! ```
//! use kaldera_audio::Recording;
//! use kaldi_io::WaveData;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("hello.wav");
//! WaveData { samp_freq: 44_100.0, num_channels: 2, samples: vec![100; 88_200] }.save(&path)?;
//! let recording = Recording::open(&path)?.into_mono(16_000.0)?;
//! assert_eq!((recording.num_samples(), recording.duration()), (16_000, 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - A file is read to its end or not at all: a truncated or damaged file is an error that names
//!   the damage, unless [`ReadOptions::allow_truncated`] is set.
//! - The format is recognised by the contents. An archive, a picture or a text is refused by name.
//! - Untrusted bytes never panic, and a header allocates no more than the file can back.
//! - Samples have the scale of 16-bit integers, as in Kaldi. Samples from -1 to 1 come in by
//!   [`Recording::from_unit`].
//!
//! # Features
//! | feature | effect |
//! |---|---|
//! | `symphonia` | FLAC, MP3, Ogg Vorbis, MP4 (M4A) and Matroska (WebM) (under the MPL-2.0) |
//! | `opus` | Ogg Opus; with `symphonia` also Opus in MP4 and Matroska |
//! | `serde` | serialisation of [`ReadOptions`] |
//!
//! # When not to use this
//!
//! For playing or seeking: a recording is in memory as a whole. For WAV exactly as Kaldi reads it:
//! [`kaldi_io::WaveData`].
#![forbid(unsafe_code)]

mod channel;
#[cfg(any(feature = "symphonia", feature = "opus"))]
mod compressed;
mod error;
mod formats;
#[cfg(feature = "symphonia")]
mod matroska;
#[cfg(feature = "symphonia")]
mod mp4;
#[cfg(feature = "symphonia")]
mod mpeg;
#[cfg(any(feature = "symphonia", feature = "opus"))]
mod ogg;
mod one_channel;
#[cfg(feature = "opus")]
mod opus;
mod read;
mod recording;
mod samples;
#[cfg(feature = "symphonia")]
mod symphonia;
pub mod uncompressed;

pub use channel::ChannelChoice;
pub use error::Error;
pub use formats::{AUDIO_ENDINGS, FORMAT_HEAD, format_error, format_name, is_audio};
pub use kaldi_feat::{Audio, PolyphaseResample, Samples};
pub use kaldi_io::{WaveData, WaveError};
pub use one_channel::OneChannel;
pub use read::{Pipes, ReadOptions};
pub use recording::Recording;
pub use samples::WaveSamples;
pub use uncompressed::WaveFormat;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Types that threads may share.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Recording>();
    is_send_and_sync::<Error>();
};
