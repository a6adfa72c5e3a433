//! Greedy search: the best token of each frame.

use std::fmt;
use std::ops::{Deref, Range};

use crate::ctc::best_of_row;
use crate::error::Error;
use crate::result::{FrameTimes, Hypothesis, Recognition, Scores, Segment};
use crate::transducer::joined::Joined;
use crate::transducer::model::{EncoderOutput, StateOf, TransducerModel};
use crate::transducer::options::TransducerOptions;
use crate::transducer::topology::TransducerTopology;

/// A greedy search of an utterance whose frames of the encoder come in chunks.
/// [`finish`](Self::finish) returns the result of [`greedy_search`], or of [`tdt_greedy_search`]
/// with [`TransducerTopology::Durations`], regardless of the chunks.
///
/// The stream holds its model by a pointer `P`: an [`Arc`](std::sync::Arc), with which it can be
/// moved to other threads and kept in maps, or a reference.
///
/// ```
/// use kaldera_decoder::FrameTimes;
/// use kaldera_decoder::transducer::{
///     EncoderOutput, GreedyStream, StatelessModel, TransducerOptions, TransducerTopology,
///     greedy_search,
/// };
///
/// let identity = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
/// let model = StatelessModel::new(vec![], identity, vec![0.0; 3], 3, 0)?;
/// let (options, times) = (TransducerOptions::default(), FrameTimes::default());
/// let rows = [0.1, 2.0, 0.3, 2.0, 0.1, 0.1, 0.5, 0.4, 2.0];
/// let mut stream =
///     GreedyStream::new("utt-1", &model, TransducerTopology::Regular, &options, times)?;
/// for row in rows.chunks(3) {
///     stream.accept(&EncoderOutput::new("utt-1", row, 3)?)?;
/// }
/// let whole = EncoderOutput::new("utt-1", &rows, 3)?;
/// assert_eq!(stream.finish().hypotheses, [greedy_search(&model, &whole, &options, &times)?]);
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
pub struct GreedyStream<P: Deref<Target: TransducerModel>> {
    model: P,
    topology: TransducerTopology,
    durations: Vec<usize>,
    options: TransducerOptions,
    times: FrameTimes,
    utterance: String,
    joined: Joined,
    /// Number of frames taken so far.
    num_frames: usize,
    /// The next frame that is used.
    next: usize,
    /// Number of tokens that have stayed in that frame.
    taken: usize,
    state: StateOf<P>,
    tokens: Vec<Found>,
    acoustic: f64,
}

/// A token, its frames, and its probability in the first of them.
struct Found {
    token: i32,
    frames: Range<usize>,
    confidence: f64,
}

impl<P: Deref<Target: TransducerModel>> GreedyStream<P> {
    /// Creates a stream before its first frame. With [`TransducerTopology::Modified`], a frame has
    /// at most one token, regardless of the options.
    ///
    /// # Errors
    /// [`Error::Option`]; [`Error::Size`] if the topology has durations and the model has none;
    /// errors of the model.
    pub fn new(
        utterance: &str,
        model: P,
        topology: TransducerTopology,
        options: &TransducerOptions,
        times: FrameTimes,
    ) -> Result<Self, Error> {
        options.check()?;
        times.check()?;
        Ok(Self {
            topology,
            durations: topology.durations(&*model)?.to_vec(),
            options: options.clone(),
            times,
            utterance: utterance.to_owned(),
            joined: Joined::new(&*model, options),
            num_frames: 0,
            next: 0,
            taken: 0,
            state: model.start().map_err(|error| error.at(utterance, None))?,
            model,
            tokens: vec![],
            acoustic: 0.0,
        })
    }

    /// Takes more frames: rows with the number of values that the joiner takes.
    ///
    /// # Errors
    /// As [`greedy_search`]; the stream cannot be used afterwards.
    pub fn accept(&mut self, chunk: &EncoderOutput<'_>) -> Result<(), Error> {
        chunk.check_dim(&*self.model)?;
        for row in chunk.frames() {
            while self.next == self.num_frames && self.tokens.len() < self.options.max_symbols {
                self.step(row)?;
            }
            self.num_frames += 1;
        }
        Ok(())
    }

    /// Takes the best token of a frame.
    fn step(&mut self, row: &[f32]) -> Result<(), Error> {
        let frame = self.next;
        let (tokens, durations) = self.joined.log_probs(&*self.model, row, &self.state, &self.utterance, frame)?;
        let (token, score) = best_of_row(tokens);
        self.acoustic += score;
        let mut steps = self.topology.steps(&self.durations, durations);
        let first = steps.next().unwrap_or((1, 0.0));
        let (duration, duration_score) = steps.fold(first, |best, step| if step.1 > best.1 { step } else { best });
        self.acoustic += duration_score;
        let frames = if self.options.is_blank(self.model.blank(), token) {
            TransducerTopology::blank_frames(duration)
        } else {
            let frames = frame..frame.saturating_add(duration.max(1));
            self.tokens.push(Found { token, frames, confidence: score.exp() });
            let advanced = self.model.advance(&self.state, token);
            self.state = advanced.map_err(|error| error.at(&self.utterance, Some(frame)))?;
            self.taken += 1;
            let is_last = duration == 0 && self.taken >= self.options.max_symbols_per_frame;
            if is_last { 1 } else { duration }
        };
        if frames > 0 {
            self.taken = 0;
        }
        self.next = frame.saturating_add(frames);
        Ok(())
    }

    /// Returns the number of frames taken so far.
    pub fn num_frames(&self) -> usize {
        self.num_frames
    }

    fn hypothesis(&self) -> Hypothesis {
        let segment = |Found { token, frames, confidence }: &Found| {
            let frames = frames.start..frames.end.min(self.num_frames);
            Segment::new(*token, "", frames, &self.times).with_confidence(*confidence)
        };
        let scores = Scores { acoustic: self.acoustic, ..Scores::default() };
        Hypothesis { tokens: self.tokens.iter().map(segment).collect(), scores, ..Hypothesis::default() }
    }

    /// Returns the tokens so far as one hypothesis. More frames may follow.
    pub fn partial(&self) -> Recognition {
        Recognition::new(&*self.utterance, self.num_frames, vec![self.hypothesis()])
    }

    /// Returns the tokens of the utterance as one hypothesis.
    pub fn finish(self) -> Recognition {
        self.partial()
    }
}

impl<P: Deref<Target: TransducerModel>> fmt::Debug for GreedyStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { utterance, topology, num_frames, .. } = self;
        let mut shown = f.debug_struct("GreedyStream");
        shown.field("utterance", utterance).field("topology", topology).field("num_frames", num_frames);
        shown.finish_non_exhaustive()
    }
}

fn search<M: TransducerModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    topology: TransducerTopology,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Hypothesis, Error> {
    let mut stream = GreedyStream::new(encoder.utterance(), model, topology, options, *times)?;
    stream.accept(encoder)?;
    Ok(stream.hypothesis())
}

/// Takes the best token in each frame until it is the blank, or
/// [`max_symbols_per_frame`](TransducerOptions::max_symbols_per_frame) tokens have been taken. The
/// acoustic score is the sum of the log-probabilities of all tokens taken, including blanks.
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
    search(model, encoder, TransducerTopology::Regular, options, times)
}

/// Runs the greedy search of a token-and-duration transducer (Xu et al., 2023). In each frame that
/// is used, it takes the best token and the best duration, which leads to the next frame. A blank
/// takes at least one frame. A token has the frames of its duration.
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
    search(model, encoder, TransducerTopology::Durations, options, times)
}
