//! Beam search over hypotheses of tokens; hypotheses of equal tokens are merged.

use std::ops::{Deref, Range};
use std::sync::Arc;

use fsa::graphs::ContextState;
use fsa::lattice::LanguageModel;
use kaldera_base::math::log_add;

use crate::error::Error;
use crate::hash::FastMap;
use crate::ids::number;
use crate::result::{FrameTimes, Hypothesis, Recognition, Scores, Segment};
use crate::transducer::fusion::Fusion;
use crate::transducer::joined::Joined;
use crate::transducer::model::{EncoderOutput, StateOf, TransducerModel};
use crate::transducer::options::TransducerOptions;
use crate::transducer::topology::TransducerTopology;

/// A string of tokens: the last one and the string before it.
#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    token: i32,
}

/// The frames of a token, after the frames of another entry.
#[derive(Debug, Clone, Copy)]
struct Times {
    before: u32,
    start: u32,
    end: u32,
}

const ROOT: u32 = 0;

/// A hypothesis: its tokens are a node of the tree of all tokens that the search has met.
#[derive(Debug, Clone)]
struct Hyp<S, L> {
    node: u32,
    /// The frame with which it continues.
    next: usize,
    total: f64,
    extra: Scores,
    state: S,
    model: Option<L>,
    hot: ContextState,
    /// The frames of its tokens: the node of another tree.
    times: u32,
}

type HypOf<P, L> = Hyp<StateOf<P>, <L as LanguageModel>::State>;

/// Hypotheses. Hypotheses of equal tokens that continue with the same frame are merged: their
/// probabilities are summed, and the frames come from the first one.
struct Merged<S, L> {
    list: Vec<Hyp<S, L>>,
    places: FastMap<(u32, usize), usize>,
}

impl<S, L> Merged<S, L> {
    fn new(hyps: impl IntoIterator<Item = Hyp<S, L>>) -> Self {
        let mut made = Self { list: vec![], places: FastMap::default() };
        hyps.into_iter().for_each(|hyp| made.add(hyp));
        made
    }

    fn add(&mut self, new: Hyp<S, L>) {
        if new.total == f64::NEG_INFINITY {
            return;
        }
        match self.places.get(&(new.node, new.next)) {
            Some(&place) => self.list[place].total = log_add(self.list[place].total, new.total),
            None => {
                self.places.insert((new.node, new.next), self.list.len());
                self.list.push(new);
            }
        }
    }

    /// Returns the best of them.
    fn best(mut self, count: usize) -> Vec<Hyp<S, L>> {
        if self.list.len() > count {
            self.list.sort_by(|a, b| b.total.total_cmp(&a.total));
            self.list.truncate(count);
        }
        self.list
    }
}

/// A token that a hypothesis may take.
#[derive(Debug, Clone, Copy)]
struct Step {
    total: f64,
    /// Index of the hypothesis.
    place: usize,
    token: i32,
    frames: usize,
}

/// Returns the best of many; ties go to the first.
fn best_of(mut all: Vec<Step>, count: usize) -> Vec<Step> {
    let key = |of: &Step| (of.place, of.token, of.frames);
    let order = |a: &Step, b: &Step| b.total.total_cmp(&a.total).then(key(a).cmp(&key(b)));
    if all.len() > count {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all
}

/// State of a search.
pub(super) struct Search<P: Deref<Target: TransducerModel>, L: LanguageModel> {
    pub(super) model: P,
    fusion: Fusion<L>,
    options: TransducerOptions,
    topology: TransducerTopology,
    durations: Arc<[usize]>,
    pub(super) utterance: String,
    joined: Joined,
    /// Number of frames taken so far.
    pub(super) num_frames: usize,
    hyps: Vec<HypOf<P, L>>,
    nodes: Vec<Node>,
    children: FastMap<(u32, i32), u32>,
    times: Vec<Times>,
}

impl<P: Deref<Target: TransducerModel>, L: LanguageModel> Search<P, L> {
    /// Creates a search before the first frame.
    pub(super) fn new(
        (model, fusion): (P, &Fusion<L>),
        topology: TransducerTopology,
        options: &TransducerOptions,
        utterance: &str,
    ) -> Result<Self, Error> {
        let start = Hyp {
            node: ROOT,
            next: 0,
            total: 0.0,
            extra: Scores::default(),
            state: model.start().map_err(|error| error.at(utterance, None))?,
            model: fusion.model.as_deref().map(LanguageModel::start),
            hot: ContextState::default(),
            times: ROOT,
        };
        Ok(Self {
            fusion: fusion.clone(),
            options: options.clone(),
            topology,
            durations: topology.durations(&*model)?.into(),
            utterance: utterance.to_owned(),
            joined: Joined::new(&*model, options),
            model,
            num_frames: 0,
            hyps: vec![start],
            nodes: vec![Node { parent: ROOT, token: -1 }],
            children: FastMap::default(),
            times: vec![Times { before: ROOT, start: 0, end: 0 }],
        })
    }

    /// Takes frame after frame. In each, the hypotheses of the frame take tokens until none is left
    /// there. Of all steps that leave the frame, and of all that stay, the beam keeps the best
    /// ones. Then the best hypotheses of all frames are kept.
    pub(super) fn accept(&mut self, rows: &EncoderOutput<'_>) -> Result<(), Error> {
        let (topology, durations) = (self.topology, Arc::clone(&self.durations));
        let most = self.options.max_symbols_per_frame;
        for row in rows.frames() {
            let frame = self.num_frames;
            let (mut active, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.hyps).into_iter().partition(|hyp| hyp.next == frame);
            let mut ended = Merged::new(later);
            for taken in 0.. {
                if active.is_empty() {
                    break;
                }
                let (mut leaving, mut staying) = (vec![], vec![]);
                for (place, hyp) in active.iter().enumerate() {
                    let (tokens, duration_scores) =
                        self.joined.log_probs(&*self.model, row, &hyp.state, &self.utterance, frame)?;
                    for (token, score) in (0..).zip(tokens) {
                        let is_blank = self.options.is_blank(self.model.blank(), token);
                        for (duration, duration_score) in topology.steps(&durations, duration_scores) {
                            let total = hyp.total + score + duration_score;
                            let frames = match is_blank {
                                true => Some(TransducerTopology::blank_frames(duration)),
                                false => topology.token_frames(duration, taken, most),
                            };
                            let Some(frames) = frames else { continue };
                            if total > f64::NEG_INFINITY {
                                let steps = if frames == 0 { &mut staying } else { &mut leaving };
                                steps.push(Step { total, place, token, frames });
                            }
                        }
                    }
                }
                for step in best_of(leaving, self.options.beam) {
                    let new = self.take(&active[step.place], &step, frame)?;
                    ended.add(new);
                }
                let mut next = Merged::new([]);
                for step in best_of(staying, self.options.beam) {
                    let new = self.take(&active[step.place], &step, frame)?;
                    next.add(new);
                }
                active = next.list;
            }
            self.hyps = ended.best(self.options.beam);
            if self.hyps.is_empty() {
                return Err(Error::NothingLeft { utterance: self.utterance.clone(), frame });
            }
            self.num_frames += 1;
        }
        Ok(())
    }

    /// Returns a hypothesis after a step.
    fn take(&mut self, from: &HypOf<P, L>, step: &Step, frame: usize) -> Result<HypOf<P, L>, Error> {
        let mut new = Hyp { next: frame.saturating_add(step.frames), total: step.total, ..from.clone() };
        let token = step.token;
        if self.options.is_blank(self.model.blank(), token) {
            return Ok(new);
        }
        new.node = *self.children.entry((from.node, token)).or_insert_with(|| {
            self.nodes.push(Node { parent: from.node, token });
            number(self.nodes.len() - 1)
        });
        let advanced = self.model.advance(&from.state, token);
        new.state = advanced.map_err(|error| error.at(&self.utterance, Some(frame)))?;
        if let (Some(model), Some(state)) = (&self.fusion.model, from.model) {
            // A token that the model does not know is forbidden, whatever the weight is: 0 times
            // minus infinity would be NaN.
            let (state, score) = match model.step(state, token) {
                Some((state, score)) => (state, self.options.lm_weight * score),
                None => (model.null_context(), f64::NEG_INFINITY),
            };
            new.model = Some(state);
            new.extra.language_model += score;
            new.total += score;
        }
        if let Some(hot) = &self.fusion.hot {
            let matched = hot.forward_one_step(from.hot, token, self.options.strict_context);
            new.hot = matched.state;
            new.extra.hot_words += f64::from(matched.score);
            new.total += f64::from(matched.score);
        }
        new.times = number(self.times.len());
        // A token that takes no frame has the frame in which it is found.
        self.times.push(Times { before: from.times, start: number(frame), end: number(new.next.max(frame + 1)) });
        Ok(new)
    }

    /// Returns the tokens of a hypothesis with their frames, of which none is beyond the last one.
    fn tokens(&self, of: &HypOf<P, L>) -> Vec<(i32, Range<usize>)> {
        let (mut tokens, mut node, mut times) = (vec![], of.node, of.times);
        while node != ROOT {
            let Times { before, start, end } = self.times[times as usize];
            tokens.push((self.nodes[node as usize].token, start as usize..self.num_frames.min(end as usize)));
            (node, times) = (self.nodes[node as usize].parent, before);
        }
        tokens.reverse();
        tokens
    }

    #[expect(clippy::cast_precision_loss, reason = "hypotheses have fewer than 2^53 tokens")]
    pub(super) fn result(&self, times: &FrameTimes, complete: bool) -> Recognition {
        // Hypotheses that continue beyond the last frame end there.
        let ended = self.hyps.iter().map(|hyp| Hyp { next: hyp.next.min(self.num_frames), ..hyp.clone() });
        let mut hyps = Merged::new(ended).list;
        for hyp in &mut hyps {
            if let Some(hot) = self.fusion.hot.as_ref().filter(|_| complete) {
                let back = f64::from(hot.finalize(hyp.hot));
                hyp.extra.hot_words += back;
                hyp.total += back;
            }
        }
        let mut made: Vec<_> = hyps
            .iter()
            .map(|hyp| {
                let tokens = self.tokens(hyp);
                let norm = self.options.length_norm.map(|more| tokens.len().saturating_add(more).max(1));
                let key = norm.map_or(hyp.total, |norm| hyp.total / norm as f64);
                let token = |(token, frames): &(i32, Range<usize>)| Segment::new(*token, "", frames.clone(), times);
                let scores = Scores { acoustic: hyp.total - hyp.extra.extra(), ..hyp.extra };
                (key, Hypothesis { tokens: tokens.iter().map(token).collect(), scores, ..Hypothesis::default() })
            })
            .collect();
        made.sort_by(|a, b| b.0.total_cmp(&a.0));
        let made = made.into_iter().take(self.options.n_best).map(|(_, hypothesis)| hypothesis).collect();
        Recognition::new(&*self.utterance, self.num_frames, made)
    }
}
