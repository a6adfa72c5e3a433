//! Beam searches of whole utterances.

use fsa::lattice::LanguageModel;

use crate::error::Error;
use crate::result::{FrameTimes, Recognition};
use crate::transducer::fusion::Fusion;
use crate::transducer::model::{EncoderOutput, TransducerModel};
use crate::transducer::options::TransducerOptions;
use crate::transducer::stream::TransducerStream;
use crate::transducer::topology::TransducerTopology;

fn search<M: TransducerModel, L: LanguageModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    fusion: &Fusion<L>,
    options: &TransducerOptions,
    times: &FrameTimes,
    topology: TransducerTopology,
) -> Result<Recognition, Error> {
    let mut stream = TransducerStream::new(encoder.utterance(), model, fusion, topology, options, *times)?;
    stream.accept(encoder)?;
    Ok(stream.finish())
}

/// Runs icefall's modified beam search. Each frame has one token or none. The
/// [`beam`](TransducerOptions::beam) best continuations of all hypotheses are kept, and hypotheses
/// of equal tokens are merged.
///
/// # Errors
/// [`Error::Option`]; [`Error::EncoderDim`]; [`Error::Value`] with the frame in which the joiner
/// writes an invalid score; [`Error::NothingLeft`].
pub fn modified_beam_search<M: TransducerModel, L: LanguageModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    fusion: &Fusion<L>,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Recognition, Error> {
    search(model, encoder, fusion, options, times, TransducerTopology::Modified)
}

/// Runs a beam search in which a frame may have several tokens before its blank, up to
/// [`max_symbols_per_frame`](TransducerOptions::max_symbols_per_frame): Graves' transducer, frame
/// by frame. The probability of a hypothesis is the sum over all alignments that the beam has kept.
///
/// # Errors
/// As [`modified_beam_search`].
#[doc(alias = "time_sync_decoding")]
pub fn beam_search<M: TransducerModel, L: LanguageModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    fusion: &Fusion<L>,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Recognition, Error> {
    search(model, encoder, fusion, options, times, TransducerTopology::Regular)
}

/// Runs a beam search of a token-and-duration transducer (Xu et al., 2023). A hypothesis takes a
/// token and a duration, and continues with the frame after it. Hypotheses of equal tokens that
/// continue with the same frame are merged, and their probabilities are summed. The
/// [`beam`](TransducerOptions::beam) best hypotheses of all frames to come are kept, as in NeMo's
/// `BeamTDTInfer`.
///
/// A blank takes at least one frame. A frame has at most
/// [`max_symbols_per_frame`](TransducerOptions::max_symbols_per_frame) tokens that take no frame;
/// the last of them takes the frame. A token has the frames of its duration; frames beyond the end
/// are cut off.
///
/// ```
/// use kaldera_decoder::transducer::{
///     EncoderOutput, Fusion, TransducerModel, TransducerOptions, tdt_beam_search,
/// };
/// use kaldera_decoder::{Error, FrameTimes};
///
/// /// The encoder's scores as they are: of two tokens, and of the durations 1 and 2.
/// struct Scores;
///
/// impl TransducerModel for Scores {
///     type State = ();
///
///     fn num_tokens(&self) -> usize {
///         2
///     }
///
///     fn durations(&self) -> &[usize] {
///         &[1, 2]
///     }
///
///     fn start(&self) -> Result<(), Error> {
///         Ok(())
///     }
///
///     fn advance(&self, _: &(), _: i32) -> Result<(), Error> {
///         Ok(())
///     }
///
///     fn join(&self, encoder: &[f32], _: &(), scores: &mut [f32]) -> Result<(), Error> {
///         scores.copy_from_slice(encoder);
///         Ok(())
///     }
/// }
///
/// let encoder = EncoderOutput::new(
///     "utt-1",
///     &[0.0, 3.0, 0.0, 2.0, 0.0, 3.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0],
///     4
/// )?;
/// let (options, times) = (TransducerOptions::default().with_n_best(2), FrameTimes::default());
/// let result = tdt_beam_search(&Scores, &encoder, &Fusion::NONE, &options, &times)?;
/// assert_eq!(
///     (result.hypotheses[0].token_ids(), result.hypotheses[0].tokens[0].frames.clone()),
///     (vec![1], 0..2)
/// );
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
///
/// # Errors
/// As [`modified_beam_search`]; [`Error::Size`] if the model has no durations.
#[doc(alias = "BeamTDTInfer")]
pub fn tdt_beam_search<M: TransducerModel, L: LanguageModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    fusion: &Fusion<L>,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Recognition, Error> {
    search(model, encoder, fusion, options, times, TransducerTopology::Durations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transducer::StatelessModel;

    /// Knows only the token 1.
    struct OneToken;

    impl LanguageModel for OneToken {
        type State = ();

        fn start(&self) {}

        fn step(&self, (): (), word: i32) -> Option<((), f64)> {
            (word == 1).then_some(((), -1.0))
        }

        fn end(&self, (): ()) -> Option<f64> {
            Some(0.0)
        }
    }

    #[test]
    fn unknown_tokens_are_forbidden_whatever_the_weight_is() {
        let identity = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let model = StatelessModel::new(vec![], identity, vec![0.0; 3], 3, 0).unwrap();
        let encoder = EncoderOutput::new("u", &[0.0, 0.5, 2.0], 3).unwrap();
        for weight in [-1.0, 0.0, 0.3] {
            let options = TransducerOptions::default().with_lm_weight(weight).with_n_best(3);
            let fusion = Fusion::language_model(OneToken);
            let found = modified_beam_search(&model, &encoder, &fusion, &options, &FrameTimes::default()).unwrap();
            assert_eq!(found.hypotheses.len(), 2, "{weight}");
            for hypothesis in &found.hypotheses {
                assert!(hypothesis.scores.total().is_finite() && !hypothesis.token_ids().contains(&2), "{weight}");
            }
        }
    }
}
