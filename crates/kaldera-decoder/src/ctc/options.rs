//! Options of the beam searches.

use kaldera_base::setters;

use crate::error::Error;

/// Options of [`CtcDecoder`](crate::ctc::CtcDecoder), under the names of flashlight.
/// [`pyctcdecode`](Self::pyctcdecode) and [`flashlight`](Self::flashlight) return the defaults of
/// these decoders.
///
/// | pyctcdecode | flashlight, torchaudio | here |
/// |---|---|---|
/// | `beam_width` | `beam_size` | [`beam_size`](Self::beam_size) |
/// | `beam_prune_logp`, -10 | `beam_threshold`, 50 | [`beam_threshold`](Self::beam_threshold) ≥ 0 |
/// | `token_min_logp` | | [`token_min_logp`](Self::token_min_logp) |
/// | | `beam_size_token` | [`beam_size_token`](Self::beam_size_token) |
/// | `alpha` | `lm_weight` | [`lm_weight`](Self::lm_weight) |
/// | `beta` | `word_score` | [`word_score`](Self::word_score) |
/// | `unk_score_offset` | `unk_score` | [`unk_score`](Self::unk_score) |
/// | | `sil_score` | [`sil_score`](Self::sil_score) |
/// | | `log_add` | [`log_add`](Self::log_add) |
/// | `prune_history` | | [`prune_history`](Self::prune_history) |
/// | `lm_score_boundary` | | [`score_boundary`](Self::score_boundary) |
/// | `hotword_weight` | | [`hotword_weight`](Self::hotword_weight) |
/// | length of the result | `nbest` | [`n_best`](Self::n_best) |
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "LexiconDecoderOptions")]
#[doc(alias = "LexiconFreeDecoderOptions")]
pub struct CtcDecoderOptions {
    /// Number of hypotheses that are kept in each frame. A hypothesis that ends with a blank counts
    /// separately from the same tokens without it, as in flashlight and pyctcdecode.
    #[doc(alias = "beam_width")]
    pub beam_size: usize,
    /// Number of tokens of a frame that are considered, the best ones; `None` for all.
    pub beam_size_token: Option<usize>,
    /// Hypotheses that are worse than the best one by more than this are dropped.
    #[doc(alias = "beam_prune_logp")]
    pub beam_threshold: f64,
    /// Tokens with a lower log-probability are not considered, except the best one of a frame.
    pub token_min_logp: f64,
    /// Weight of the language model.
    #[doc(alias = "alpha")]
    pub lm_weight: f64,
    /// Score of each word; without words, of each token.
    #[doc(alias = "beta")]
    pub word_score: f64,
    /// Score of a word that the language model does not know. With tokens or a lexicon it replaces
    /// the model's score, and minus infinity forbids such words. With words by their spelling it is
    /// a base-10 logarithm that is added to the model's score of `<unk>` and is multiplied by
    /// `lm_weight`.
    #[doc(alias = "unk_score_offset")]
    pub unk_score: f64,
    /// Score of a lexicon's word boundary between words.
    pub sil_score: f64,
    /// `true` if the alignments of a hypothesis are summed; otherwise the best one counts.
    pub log_add: bool,
    /// If neither the language model nor the tokens to come can distinguish some hypotheses, the
    /// best one is kept: more different words in the beam, fewer different histories.
    pub prune_history: bool,
    /// `true` if sentences begin with `<s>` and end with `</s>`.
    #[doc(alias = "lm_score_boundary")]
    pub score_boundary: bool,
    /// Bonus of a hot word that has none of its own: the score of each of its tokens, of each of
    /// its words of a lexicon, or, if words are spelled, of each of its words. The default is 1.5,
    /// as in sherpa-onnx; the README shows how it was chosen.
    pub hotword_weight: f64,
    /// Number of hypotheses that are returned.
    #[doc(alias = "nbest")]
    pub n_best: usize,
}

setters! {
    CtcDecoderOptions:
    beam_size, with_beam_size: usize = 20, "With this many hypotheses.";
    beam_size_token, with_beam_size_token: Option<usize> = None, "With this many tokens of a frame.";
    beam_threshold, with_beam_threshold: f64 = 20.0, "With this distance from the best hypothesis.";
    token_min_logp, with_token_min_logp: f64 = f64::NEG_INFINITY, "With tokens from this log-probability on.";
    lm_weight, with_lm_weight: f64 = 0.8, "With this weight of the language model.";
    word_score, with_word_score: f64 = 0.6, "With this score for each word.";
    unk_score, with_unk_score: f64 = f64::NEG_INFINITY, "With this score for a word that the model does not know.";
    sil_score, with_sil_score: f64 = 0.0, "With this score for a word boundary.";
    log_add, with_log_add: bool = true, "With the sum of all alignments, or the best one.";
    prune_history, with_prune_history: bool = false, "With or without dropping what has the same future.";
    score_boundary, with_score_boundary: bool = true, "With or without the ends of sentences.";
    hotword_weight, with_hotword_weight: f64 = 1.5, "With this bonus of a hot word.";
    n_best, with_n_best: usize = 1, "With this many hypotheses in the result.";
}

impl CtcDecoderOptions {
    /// Returns the defaults of pyctcdecode 0.5: `decode_beams` and `LanguageModel`.
    pub fn pyctcdecode() -> Self {
        Self {
            beam_size: 100,
            beam_threshold: 10.0,
            token_min_logp: -5.0,
            lm_weight: 0.5,
            word_score: 1.5,
            unk_score: -10.0,
            hotword_weight: 10.0,
            n_best: 100,
            ..Self::default()
        }
    }

    /// Returns the defaults of flashlight-text in torchaudio's `ctc_decoder`.
    #[doc(alias = "ctc_decoder")]
    pub fn flashlight() -> Self {
        Self {
            beam_size: 50,
            beam_threshold: 50.0,
            lm_weight: 2.0,
            word_score: 0.0,
            log_add: false,
            prune_history: true,
            ..Self::default()
        }
    }

    /// Checks each option by itself.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |name, value, reason| Err(Error::Option { name, value, reason });
        if self.beam_size == 0 {
            return refuse("beam_size", 0.0, "at least one hypothesis must go on");
        }
        if self.beam_size_token == Some(0) {
            return refuse("beam_size_token", 0.0, "at least one token must be looked at");
        }
        if self.n_best == 0 {
            return refuse("n_best", 0.0, "at least one hypothesis is the result");
        }
        if self.beam_threshold.is_nan() || self.beam_threshold < 0.0 {
            return refuse("beam_threshold", self.beam_threshold, "it must be 0 or more");
        }
        if self.token_min_logp.is_nan() {
            return refuse("token_min_logp", self.token_min_logp, "it must be a number");
        }
        for (name, value) in [
            ("lm_weight", self.lm_weight),
            ("word_score", self.word_score),
            ("sil_score", self.sil_score),
            ("hotword_weight", self.hotword_weight),
        ] {
            if !value.is_finite() {
                return refuse(name, value, "it must be finite");
            }
        }
        if self.unk_score.is_nan() || self.unk_score == f64::INFINITY {
            return refuse("unk_score", self.unk_score, "it must be finite, or minus infinity");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_sense_are_named() {
        let named = |options: CtcDecoderOptions| options.check().unwrap_err().to_string();
        assert!(named(CtcDecoderOptions::default().with_beam_size(0)).starts_with("beam_size = 0"));
        assert!(named(CtcDecoderOptions::default().with_beam_threshold(f64::NAN)).starts_with("beam_threshold"));
        assert!(named(CtcDecoderOptions::default().with_unk_score(f64::INFINITY)).starts_with("unk_score"));
        for options in [CtcDecoderOptions::default(), CtcDecoderOptions::pyctcdecode(), CtcDecoderOptions::flashlight()]
        {
            assert_eq!(options.check(), Ok(()));
        }
    }
}
