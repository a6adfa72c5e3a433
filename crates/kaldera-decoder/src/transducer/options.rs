//! Options of the searches.

use kaldera_base::setters;

use crate::error::Error;

/// Options of the searches.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct TransducerOptions {
    /// Number of hypotheses that are kept in each frame.
    pub beam: usize,
    /// A token that counts as the blank, in addition to the blank: icefall's `unk_id`, which no
    /// hypothesis contains.
    pub unk: Option<i32>,
    /// Divisor of the logits before they become probabilities.
    pub temperature: f64,
    /// Value that is subtracted from the blank's logit.
    pub blank_penalty: f64,
    /// Maximum number of tokens of a frame, at most
    /// [`MOST_SYMBOLS_PER_FRAME`](Self::MOST_SYMBOLS_PER_FRAME).
    /// [`modified_beam_search`](super::modified_beam_search) has one or none.
    #[doc(alias = "max_sym_per_frame")]
    pub max_symbols_per_frame: usize,
    /// Maximum number of tokens of an utterance in greedy searches, such as
    /// [`greedy_search`](crate::transducer::greedy_search).
    #[doc(alias = "max_sym_per_utt")]
    pub max_symbols: usize,
    /// Addition to the number of tokens. Hypotheses are ordered by their score divided by the sum,
    /// which counts as at least 1. icefall adds the number of tokens that the predictor looks at.
    /// `None` orders hypotheses by score.
    pub length_norm: Option<usize>,
    /// Weight of the language model.
    pub lm_weight: f64,
    /// `true` if a complete phrase of hot words continues if it may begin another one.
    pub strict_context: bool,
    /// Number of hypotheses that are returned.
    pub n_best: usize,
}

setters! {
    TransducerOptions:
    beam, with_beam: usize = 4, "With this many hypotheses.";
    unk, with_unk: Option<i32> = None, "With or without a token that counts as the blank.";
    temperature, with_temperature: f64 = 1.0, "With this temperature.";
    blank_penalty, with_blank_penalty: f64 = 0.0, "With this penalty of the blank.";
    max_symbols_per_frame, with_max_symbols_per_frame: usize = 1, "With this many tokens in a frame.";
    max_symbols, with_max_symbols: usize = usize::MAX, "With this many tokens in an utterance.";
    length_norm, with_length_norm: Option<usize> = None, "With or without dividing scores by length.";
    lm_weight, with_lm_weight: f64 = 0.3, "With this weight of the language model.";
    strict_context, with_strict_context: bool = false, "With hot words that go on where they are complete, or not.";
    n_best, with_n_best: usize = 1, "With this many hypotheses in the result.";
}

impl TransducerOptions {
    /// Largest number of tokens that a frame may have. No speech comes near it, and a beam search
    /// considers all hypotheses of a frame for each of them.
    pub const MOST_SYMBOLS_PER_FRAME: usize = 1000;

    /// Returns `true` if a token counts as the blank: it adds no token to a hypothesis.
    pub(crate) fn is_blank(&self, blank: i32, token: i32) -> bool {
        token == blank || Some(token) == self.unk
    }

    /// Refuses options that no search takes, as each search does.
    ///
    /// # Errors
    /// [`Error::Option`] with the option.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |name, value, reason| Err(Error::Option { name, value, reason });
        let counts = [
            ("beam", self.beam),
            ("max_symbols_per_frame", self.max_symbols_per_frame),
            ("max_symbols", self.max_symbols),
            ("n_best", self.n_best),
        ];
        for (name, count) in counts {
            if count == 0 {
                return refuse(name, 0.0, "it must be 1 or more");
            }
        }
        if self.max_symbols_per_frame > Self::MOST_SYMBOLS_PER_FRAME {
            #[expect(clippy::cast_precision_loss, reason = "shown only")]
            let value = self.max_symbols_per_frame as f64;
            return refuse("max_symbols_per_frame", value, "it must be 1000 or less");
        }
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            return refuse("temperature", self.temperature, "it must be finite and above 0");
        }
        for (name, value) in [("blank_penalty", self.blank_penalty), ("lm_weight", self.lm_weight)] {
            if !value.is_finite() {
                return refuse(name, value, "it must be finite");
            }
        }
        Ok(())
    }
}
