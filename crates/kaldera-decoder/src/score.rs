//! Scoring: word and character error rates, alignments, confusions, as NIST and Kaldi do it.
//!
//! ```
//! use kaldera_decoder::score::{Rules, Score, score_words};
//!
//! let aligned = score_words("the cat sat", "the cat is at", &Rules::levenshtein())?;
//! assert_eq!((aligned.counts.correct, aligned.counts.errors()), (2, 2));
//! println!("{}", aligned.picture());
//!
//! let mut score = Score::default();
//! score.add("speaker-1", &aligned);
//! assert!((score.total().error_rate() - 2.0 / 3.0).abs() < 1e-12);
//! # Ok::<(), kaldera_decoder::score::ScoreError>(())
//! ```
//!
//! | elsewhere | here |
//! |---|---|
//! | `sclite -i rm -r ref.trn -h hyp.trn` | [`read_trn`], [`score_trn`], [`Rules::sclite`] |
//! | `sclite -r ref.stm stm -h hyp.ctm ctm` | [`read_stm`], [`read_ctm`], [`score_stm`] |
//! | `sclite -r ref.ctm ctm -h hyp.ctm ctm` | [`read_ctm`], [`score_ctm`] |
//! | a GLM file, `csrfilt.sh` | [`Spellings`] |
//! | `compute-wer --mode=present` | [`read_texts`], [`score_texts`], [`Missing`] |
//! | `jiwer.wer`, `mer`, `wil` | [`Counts`] |
//! | `compute-wer-bootci` | [`bootstrap`] |
//! | `kaldialign.align` | [`align_words`] |

mod align;
mod best_path;
mod bootstrap;
mod counts;
mod nist;
mod reference;
mod report;
mod spellings;
mod texts;
mod timed;

pub use align::{Aligned, Case, Pair, PairKind, Rules, Units, align_words, score_words};
pub use bootstrap::{Interval, bootstrap};
pub use counts::Counts;
pub use kaldera_base::edit_distance;
pub use nist::{TrnLine, read_trn, score_trn};
pub use reference::ScoreError;
pub use report::{Score, Scored, Sums};
pub use spellings::Spellings;
pub use texts::{Missing, ScoreOptions, read_texts, score_texts};
pub use timed::{CtmWord, Keep, StmSegment, read_ctm, read_stm, score_ctm, score_stm};
