//! The best token of each frame.

use crate::ctc::best_of_row;
use crate::error::Error;
use crate::result::{FrameTimes, Hypothesis, Scores, Segment};
use crate::transducer::beam::durations_of;
use crate::transducer::joined::Joined;
use crate::transducer::model::{EncoderOutput, TransducerModel};
use crate::transducer::options::TransducerOptions;

/// Takes the best token in each frame until it is the blank, or
/// [`max_symbols_per_frame`](TransducerOptions::max_symbols_per_frame) tokens have been taken. The
/// acoustic score is the sum of the log-probabilities of all that was taken, blanks too.
///
/// # Errors
/// [`Error::Option`], [`Error::EncoderDim`], [`Error::Value`].
#[doc(alias = "GreedyRNNTInfer")]
pub fn greedy_search<M: TransducerModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Hypothesis, Error> {
    encoder.check(model, options, times)?;
    let (mut state, mut joined) = (model.start()?, Joined::new(model, options));
    let (mut tokens, mut acoustic) = (vec![], 0.0);
    for (frame, row) in encoder.frames().enumerate() {
        for _ in 0..options.max_symbols_per_frame {
            let (log_probs, _) = joined.log_probs(model, row, &state, encoder.utterance(), frame)?;
            let (token, score) = best_of_row(log_probs);
            acoustic += score;
            if options.takes_no_token(model.blank(), token) {
                break;
            }
            tokens.push(Segment::new(token, "", frame..frame + 1, times).with_confidence(score.exp()));
            if tokens.len() == options.max_symbols {
                return Ok(Hypothesis { tokens, scores: of(acoustic), ..Hypothesis::default() });
            }
            state = model.advance(&state, token)?;
        }
    }
    Ok(Hypothesis { tokens, scores: of(acoustic), ..Hypothesis::default() })
}

fn of(acoustic: f64) -> Scores {
    Scores { acoustic, ..Scores::default() }
}

/// The greedy search of a token-and-duration transducer (Xu et al., 2023): of each frame that is
/// looked at, the best token and the best duration, after which the next frame is looked at. A
/// blank goes on by one frame at least. A token has the frames of its duration.
///
/// # Errors
/// As [`greedy_search`]; [`Error::Size`] if the model has no durations.
#[doc(alias = "GreedyTDTInfer")]
pub fn tdt_greedy_search<M: TransducerModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Hypothesis, Error> {
    encoder.check(model, options, times)?;
    let durations = durations_of(model)?;
    let (mut state, mut joined) = (model.start()?, Joined::new(model, options));
    let (mut tokens, mut acoustic) = (vec![], 0.0);
    let (mut frame, mut taken) = (0, 0);
    let num_frames = encoder.num_frames();
    while frame < num_frames && tokens.len() < options.max_symbols {
        let (tokens_of_frame, durations_of_frame) =
            joined.log_probs(model, encoder.frame(frame), &state, encoder.utterance(), frame)?;
        let (token, score) = best_of_row(tokens_of_frame);
        let (duration, duration_score) = best_of_row(durations_of_frame);
        let mut duration = usize::try_from(duration).ok().and_then(|at| durations.get(at)).copied().unwrap_or(0);
        acoustic += score + duration_score;
        if options.takes_no_token(model.blank(), token) {
            duration = duration.max(1);
        } else {
            let end = frame.saturating_add(duration.max(1)).min(num_frames);
            tokens.push(Segment::new(token, "", frame..end, times).with_confidence(score.exp()));
            state = model.advance(&state, token)?;
            taken += 1;
            if duration == 0 && taken >= options.max_symbols_per_frame {
                duration = 1;
            }
        }
        if duration > 0 {
            taken = 0;
        }
        frame = frame.saturating_add(duration);
    }
    Ok(Hypothesis { tokens, scores: of(acoustic), ..Hypothesis::default() })
}
