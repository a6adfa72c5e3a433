//! Where the tokens of a transcript are.

use crate::error::Error;
use crate::result::{FrameTimes, Hypothesis, Scores, Segment};
use crate::transducer::joined::Joined;
use crate::transducer::model::{EncoderOutput, TransducerModel};
use crate::transducer::options::TransducerOptions;

/// The most pairs of a frame and a place in the transcript: the joiner runs for each.
const MOST_PAIRS: usize = 1 << 24;

/// The best alignment of tokens with the frames of an utterance, by Viterbi's algorithm, where each
/// frame has one token or none, as in [`modified_beam_search`](super::modified_beam_search). The
/// acoustic score is that of this alignment, blanks included; the confidence of a token is its
/// probability in its frame. O(frames × tokens) calls of the joiner.
///
/// ```
/// use kaldera_decoder::FrameTimes;
/// use kaldera_decoder::transducer::{EncoderOutput, StatelessModel, TransducerOptions, forced_align};
///
/// let identity = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
/// let model = StatelessModel::new(vec![], identity, vec![0.0; 3], 3, 0)?;
/// let encoder = EncoderOutput::new("utt-1", &[0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 2.0], 3)?;
/// let options = TransducerOptions::default();
/// let found = forced_align(&model, &encoder, &[1, 2], &options, &FrameTimes::default())?;
/// assert_eq!((found.tokens[0].frames.clone(), found.tokens[1].frames.clone()), (0..1, 2..3));
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
///
/// # Errors
/// [`Error::Option`], [`Error::EncoderDim`], [`Error::Value`]; [`Error::Label`] and
/// [`Error::BlankLabel`] for a transcript of other tokens; [`Error::TooFewFrames`];
/// [`Error::NoAlignment`]; [`Error::Size`] for a model with durations and for more than 2^24 pairs
/// of a frame and a token.
pub fn forced_align<M: TransducerModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    tokens: &[i32],
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Hypothesis, Error> {
    encoder.check(model, options, times)?;
    let (num_frames, labels) = (encoder.num_frames(), tokens.len());
    let utterance = || encoder.utterance().to_owned();
    if !model.durations().is_empty() {
        let found = model.durations().len();
        return Err(Error::Size { what: "durations of a model that is aligned", expected: 0, found });
    }
    let num_tokens = model.num_tokens();
    for (position, &label) in tokens.iter().enumerate() {
        if options.takes_no_token(model.blank(), label) {
            return Err(Error::BlankLabel { utterance: utterance(), position, blank: label });
        }
        if usize::try_from(label).map_or(true, |label| label >= num_tokens) {
            return Err(Error::Label { utterance: utterance(), label, num_tokens });
        }
    }
    if labels > num_frames {
        return Err(Error::TooFewFrames { utterance: utterance(), num_frames, labels, needed: labels });
    }
    let found = num_frames.saturating_mul(labels + 1);
    if found > MOST_PAIRS {
        let what = "pairs of a frame and a token of the transcript";
        return Err(Error::Size { what, expected: MOST_PAIRS, found });
    }
    let mut states = vec![model.start()?];
    for &token in tokens {
        states.push(model.advance(&states[states.len() - 1], token)?);
    }
    let mut joined = Joined::new(model, options);
    // By how many tokens have been taken: the best score; and by frame, whether the last step to it
    // took the token, with its score.
    let mut best = vec![f64::NEG_INFINITY; labels + 1];
    best[0] = 0.0;
    let mut taken: Vec<Option<f64>> = vec![None; num_frames * (labels + 1)];
    for (frame, row) in encoder.frames().enumerate() {
        let mut next = vec![f64::NEG_INFINITY; labels + 1];
        let steps = &mut taken[frame * (labels + 1)..][..labels + 1];
        // Fewer cannot reach the end any more.
        let first = labels.saturating_sub(num_frames - frame);
        for count in first..=labels.min(frame) {
            let score = best[count];
            if score == f64::NEG_INFINITY {
                continue;
            }
            let (log_probs, _) = joined.log_probs(model, row, &states[count], encoder.utterance(), frame)?;
            let stays = (0..).zip(log_probs).filter(|&(token, _)| options.takes_no_token(model.blank(), token));
            let stay = stays.fold(f64::NEG_INFINITY, |sum, (_, &score)| kaldera_base::math::log_add(sum, score));
            if score + stay > next[count] {
                (next[count], steps[count]) = (score + stay, None);
            }
            let Some(&token) = tokens.get(count) else { continue };
            let own = usize::try_from(token).map_or(f64::NEG_INFINITY, |token| log_probs[token]);
            if score + own > next[count + 1] {
                (next[count + 1], steps[count + 1]) = (score + own, Some(own));
            }
        }
        best = next;
    }
    if best[labels] == f64::NEG_INFINITY {
        return Err(Error::NoAlignment { utterance: utterance(), labels });
    }
    let (mut found, mut count) = (vec![], labels);
    for frame in (0..num_frames).rev() {
        if let Some(score) = taken[frame * (labels + 1) + count] {
            count -= 1;
            found.push(Segment::new(tokens[count], "", frame..frame + 1, times).with_confidence(score.exp()));
        }
    }
    found.reverse();
    let scores = Scores { acoustic: best[labels], ..Scores::default() };
    Ok(Hypothesis { tokens: found, scores, ..Hypothesis::default() })
}
