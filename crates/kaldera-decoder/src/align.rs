//! Forced alignment: the frames of each label of a transcript.
//!
//! ```
//! use kaldera_decoder::align::{AlignOptions, forced_align};
//! use kaldera_decoder::{FrameTimes, LogProbs};
//!
//! let values: Vec<f32> =
//!     [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]].concat();
//! let values: Vec<f32> = values.iter().map(|p| p.ln()).collect();
//! let log_probs = LogProbs::new("utt-1", &values, 3)?;
//! let alignment =
//!     forced_align(&log_probs, &[1, 2], &AlignOptions::default(), &FrameTimes::new(0.02))?;
//! assert_eq!(alignment.path, [0, 1, 1, 2]);
//! assert_eq!(alignment.tokens[0].frames, 1..3);
//! assert!((alignment.tokens[0].confidence.unwrap() - 0.8).abs() < 1e-6);
//! # Ok::<(), kaldera_decoder::Error>(())
//! ```
//!
//! | torchaudio | here |
//! |---|---|
//! | `functional.forced_align` | [`forced_align`] |
//! | `functional.merge_tokens` | [`Alignment::tokens`] |
//! | `MMS_FA` with a star token | [`AlignOptions::star`] |
//!
//! [`align_text`] takes a text. [`align_words`] takes words with several pronunciations and
//! optional silences between them; [`Pronunciations`] looks these up in a lexicon.
//!
//! Times are the times of frames. CTC networks emit a word in a few frames, its peaks. [`Loudness`]
//! gives words the times at which they are heard, if there are samples.

mod blocks;
mod captions;
mod loudness;
mod text_grid;
mod viterbi;
mod words;
mod write;

pub use captions::{CaptionOptions, write_srt, write_vtt};
pub use loudness::Loudness;
pub use text_grid::read_text_grid;
pub use viterbi::{AlignOptions, Alignment, Topology, forced_align};
pub use words::{Pronunciations, TranscriptWord, WordAlignment, align_text, align_words};
pub use write::{write_ctm, write_json, write_text_grid};
