//! Forced alignment of a transcript by a transducer.

use crate::error::Error;
use crate::result::{FrameTimes, Hypothesis, Scores, Segment};
use crate::transducer::joined::Joined;
use crate::transducer::model::{EncoderOutput, TransducerModel};
use crate::transducer::options::TransducerOptions;
use crate::transducer::topology::TransducerTopology;

/// Maximum number of pairs of a frame and a place in the transcript: the joiner runs for each pair.
const MOST_PAIRS: u32 = 1 << 24;

/// Returns the best alignment of tokens with the frames of an utterance, by Viterbi's algorithm
/// over the lattice of frames and tokens:
///
/// ```text
///   from (t, u), t frames and u tokens done, with the joiner's log-probabilities there:
///   blank    -> (t + 1, u)       Durations: (t + max(d, 1), u) for each duration d, with its score
///   token u  -> (t, u + 1)       Regular
///               (t + 1, u + 1)   Modified
///               (t + d, u + 1)   Durations: for each duration d, with its score
/// ```
///
/// Frames beyond the end are cut off. A frame may have any number of tokens;
/// [`max_symbols_per_frame`](TransducerOptions::max_symbols_per_frame) only bounds searches. A
/// token has the frame in which it is found, or the frames of its duration. The acoustic score is
/// the score of this alignment, including blanks. The confidence of a token is its probability in
/// its first frame. O(frames × tokens) calls of the joiner.
///
/// ```
/// use kaldera_decoder::FrameTimes;
/// use kaldera_decoder::transducer::{
///     EncoderOutput, StatelessModel, TransducerOptions, TransducerTopology, forced_align,
/// };
///
/// let identity = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
/// let model = StatelessModel::new(vec![], identity, vec![0.0; 3], 3, 0)?;
/// let encoder = EncoderOutput::new("utt-1", &[0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 2.0], 3)?;
/// let (options, times) = (TransducerOptions::default(), FrameTimes::default());
/// let found =
///     forced_align(&model, &encoder, &[1, 2], TransducerTopology::Modified, &options, &times)?;
/// assert_eq!((found.tokens[0].frames.clone(), found.tokens[1].frames.clone()), (0..1, 2..3));
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
///
/// # Errors
/// [`Error::Option`], [`Error::EncoderDim`], [`Error::Value`]; [`Error::Label`] and
/// [`Error::BlankLabel`] for a transcript of other tokens; [`Error::TooFewFrames`];
/// [`Error::NoAlignment`]; [`Error::Size`] if the topology has durations and the model has none;
/// [`Error::TooManyPairs`] for more than 2^24 pairs of a frame and a token.
pub fn forced_align<M: TransducerModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    tokens: &[i32],
    topology: TransducerTopology,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Hypothesis, Error> {
    options.check()?;
    times.check()?;
    encoder.check_dim(model)?;
    let durations = topology.durations(model)?;
    let (num_frames, labels) = (encoder.num_frames(), tokens.len());
    let utterance = || encoder.utterance().to_owned();
    let num_tokens = model.num_tokens();
    for (position, &label) in tokens.iter().enumerate() {
        if options.is_blank(model.blank(), label) {
            return Err(Error::BlankLabel { utterance: utterance(), position, blank: label });
        }
        if usize::try_from(label).map_or(true, |label| label >= num_tokens) {
            return Err(Error::Label { utterance: utterance(), label, num_tokens });
        }
    }
    let needed = topology.frames_needed(durations, labels);
    if needed > num_frames {
        return Err(Error::TooFewFrames { utterance: utterance(), num_frames, labels, needed });
    }
    let columns = labels + 1;
    let pairs = (num_frames + 1).saturating_mul(columns);
    if !u32::try_from(pairs).is_ok_and(|pairs| pairs <= MOST_PAIRS) {
        return Err(Error::TooManyPairs { utterance: utterance(), num_frames, labels, most: MOST_PAIRS as usize });
    }
    let named = |error: Error| error.at(encoder.utterance(), None);
    let mut states = vec![model.start().map_err(named)?];
    for &token in tokens {
        states.push(model.advance(&states[states.len() - 1], token).map_err(named)?);
    }
    let mut joined = Joined::new(model, options);
    // The index of a pair is frame * columns + tokens. Each pair has the best score of the paths to
    // it, and the pair before it on the best one, whose index is smaller.
    let (mut best, mut before) = (vec![f64::NEG_INFINITY; pairs], vec![0_u32; pairs]);
    best[0] = 0.0;
    for (frame, row) in encoder.frames().enumerate() {
        for (count, state) in states.iter().enumerate() {
            let pair = frame * columns + count;
            let score = best[pair];
            let can_end = topology.frames_needed(durations, labels - count) <= num_frames - frame;
            if score == f64::NEG_INFINITY || !can_end {
                continue;
            }
            let (log_probs, duration_scores) = joined.log_probs(model, row, state, encoder.utterance(), frame)?;
            let stays = (0..).zip(log_probs).filter(|&(token, _)| options.is_blank(model.blank(), token));
            let stay = stays.fold(f64::NEG_INFINITY, |sum, (_, &score)| kaldera_base::math::log_add(sum, score));
            let own = tokens.get(count).map(|&token| probability_of(log_probs, token));
            let mut reach = |frames: usize, count: usize, total: f64| {
                let to = frame.saturating_add(frames).min(num_frames) * columns + count;
                if total > best[to] {
                    (best[to], before[to]) = (total, number(pair));
                }
            };
            for (duration, of_duration) in topology.steps(durations, duration_scores) {
                reach(TransducerTopology::blank_frames(duration), count, score + stay + of_duration);
                if let Some((own, frames)) = own.zip(topology.token_frames(duration, 0, usize::MAX)) {
                    reach(frames, count + 1, score + own + of_duration);
                }
            }
        }
    }
    let acoustic = best[pairs - 1];
    if acoustic == f64::NEG_INFINITY {
        return Err(Error::NoAlignment { utterance: utterance(), labels });
    }
    let (mut found, mut pair) = (vec![], pairs - 1);
    while pair > 0 {
        let from = before[pair] as usize;
        let (frame, count) = (from / columns, from % columns);
        if count != pair % columns {
            let row = encoder.frame(frame);
            let (log_probs, _) = joined.log_probs(model, row, &states[count], encoder.utterance(), frame)?;
            let confidence = probability_of(log_probs, tokens[count]).exp();
            let frames = frame..(pair / columns).max(frame + 1);
            found.push(Segment::new(tokens[count], "", frames, times).with_confidence(confidence));
        }
        pair = from;
    }
    found.reverse();
    let scores = Scores { acoustic, ..Scores::default() };
    Ok(Hypothesis { tokens: found, scores, ..Hypothesis::default() })
}

fn probability_of(log_probs: &[f64], token: i32) -> f64 {
    usize::try_from(token).ok().and_then(|token| log_probs.get(token)).copied().unwrap_or(f64::NEG_INFINITY)
}

/// Returns a pair in 32 bits; pairs are smaller than [`MOST_PAIRS`].
fn number(pair: usize) -> u32 {
    u32::try_from(pair).unwrap_or(MOST_PAIRS)
}
