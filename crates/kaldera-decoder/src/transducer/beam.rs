//! Beam search: hypotheses of tokens, those of equal tokens merged.

use fsa::graphs::{ContextGraph, ContextState};
use fsa::lattice::LanguageModel;
use kaldera_base::setters;

use crate::ctc::NoModel;
use crate::error::Error;
use crate::hash::FastMap;
use crate::log_probs::log_add;
use crate::result::{FrameTimes, Hypothesis, Recognition, Scores, Segment};
use crate::transducer::model::{EncoderOutput, TransducerModel};

/// Options of the searches.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct TransducerOptions {
    /// How many hypotheses are kept in each frame.
    pub beam: usize,
    /// By what logits are divided before they become probabilities.
    pub temperature: f64,
    /// What is taken off the blank's logit.
    pub blank_penalty: f64,
    /// How many tokens a frame may have; [`modified_beam_search`] has one or none.
    #[doc(alias = "max_sym_per_frame")]
    pub max_symbols_per_frame: usize,
    /// How many tokens an utterance may have in
    /// [`greedy_search`](crate::transducer::greedy_search).
    #[doc(alias = "max_sym_per_utt")]
    pub max_symbols: usize,
    /// Orders hypotheses by their score over their number of tokens, to which this is added, as
    /// icefall does with the number of tokens that the predictor looks at; without it, by score.
    pub length_norm: Option<usize>,
    /// The weight of the language model.
    pub lm_weight: f64,
    /// Hot words: whether a complete phrase goes on where it may begin another one.
    pub strict_context: bool,
    /// How many hypotheses are returned.
    pub n_best: usize,
}

impl Default for TransducerOptions {
    fn default() -> Self {
        Self {
            beam: 4,
            temperature: 1.0,
            blank_penalty: 0.0,
            max_symbols_per_frame: 1,
            max_symbols: usize::MAX,
            length_norm: None,
            lm_weight: 0.3,
            strict_context: false,
            n_best: 1,
        }
    }
}

setters! {
    TransducerOptions:
    beam, with_beam: usize, "With this many hypotheses.";
    temperature, with_temperature: f64, "With this temperature.";
    blank_penalty, with_blank_penalty: f64, "With this penalty of the blank.";
    max_symbols_per_frame, with_max_symbols_per_frame: usize, "With this many tokens in a frame.";
    max_symbols, with_max_symbols: usize, "With this many tokens in an utterance.";
    length_norm, with_length_norm: Option<usize>, "With or without dividing scores by length.";
    lm_weight, with_lm_weight: f64, "With this weight of the language model.";
    strict_context, with_strict_context: bool, "With hot words that go on where they are complete, or not.";
    n_best, with_n_best: usize, "With this many hypotheses in the result.";
}

impl TransducerOptions {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |name, value, reason| Err(Error::Option { name, value, reason });
        let counts =
            [("beam", self.beam), ("max_symbols_per_frame", self.max_symbols_per_frame), ("n_best", self.n_best)];
        for (name, count) in counts {
            if count == 0 {
                return refuse(name, 0.0, "it must be 1 or more");
            }
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

/// The joiner's scores as log-probabilities.
pub(crate) struct Joined {
    scores: Vec<f32>,
    log_probs: Vec<f64>,
    num_tokens: usize,
    blank: usize,
    temperature: f64,
    blank_penalty: f64,
}

impl Joined {
    pub(crate) fn new<M: TransducerModel>(model: &M, options: &TransducerOptions) -> Self {
        let all = model.num_tokens() + model.durations().len();
        Self {
            scores: vec![0.0; all],
            log_probs: vec![0.0; all],
            num_tokens: model.num_tokens(),
            blank: usize::try_from(model.blank()).unwrap_or(usize::MAX),
            temperature: options.temperature,
            blank_penalty: options.blank_penalty,
        }
    }

    /// The log-probabilities of all tokens in a frame.
    pub(crate) fn log_probs<M: TransducerModel>(
        &mut self,
        model: &M,
        encoder: &[f32],
        state: &M::State,
        utterance: &str,
        frame: usize,
    ) -> Result<&[f64], Error> {
        model.join(encoder, state, &mut self.scores);
        if let Some(token) = self.scores.iter().position(|score| score.is_nan() || *score == f32::INFINITY) {
            let value = self.scores[token];
            return Err(Error::Value { utterance: utterance.into(), frame, token, value });
        }
        for (to, from) in self.log_probs.iter_mut().zip(&self.scores) {
            *to = f64::from(*from);
        }
        let (tokens, durations) = self.log_probs.split_at_mut(self.num_tokens);
        if let Some(blank) = tokens.get_mut(self.blank) {
            *blank -= self.blank_penalty;
        }
        tokens.iter_mut().for_each(|score| *score /= self.temperature);
        normalise(tokens);
        normalise(durations);
        Ok(tokens)
    }

    /// Those of all durations, after the call above.
    pub(crate) fn durations(&self) -> &[f64] {
        &self.log_probs[self.num_tokens..]
    }
}

fn normalise(scores: &mut [f64]) {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max > f64::NEG_INFINITY {
        let log_sum = max + scores.iter().map(|score| (score - max).exp()).sum::<f64>().ln();
        scores.iter_mut().for_each(|score| *score -= log_sum);
    }
}

/// What is added to a transducer's scores, token by token.
#[derive(Debug, Clone, Copy)]
pub struct Fusion<'a, L: LanguageModel = NoModel> {
    model: Option<&'a L>,
    hot: Option<&'a ContextGraph>,
}

impl Default for Fusion<'_, NoModel> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<'a> Fusion<'a, NoModel> {
    /// Nothing.
    pub const NONE: Self = Self { model: None, hot: None };

    /// Hot words alone.
    pub fn hot_words(graph: &'a ContextGraph) -> Self {
        Self { model: None, hot: Some(graph) }
    }
}

impl<'a, L: LanguageModel> Fusion<'a, L> {
    /// A language model over tokens: shallow fusion.
    pub fn language_model(model: &'a L) -> Self {
        Self { model: Some(model), hot: None }
    }

    /// With hot words, phrases of tokens.
    #[must_use]
    pub fn with_hot_words(mut self, graph: &'a ContextGraph) -> Self {
        self.hot = Some(graph);
        self
    }
}

/// Tokens, the last one and what is before.
#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    token: i32,
}

const ROOT: u32 = 0;

/// A hypothesis: its tokens are a node of the tree of all that the search has met.
#[derive(Debug, Clone)]
struct Hyp<S, L> {
    node: u32,
    total: f64,
    extra: Scores,
    state: S,
    model: Option<L>,
    hot: ContextState,
    /// The frames of its tokens: the node of another tree.
    times: u32,
}

/// All that a search has met.
struct Search<'a, M: TransducerModel, L: LanguageModel> {
    model: &'a M,
    fusion: Fusion<'a, L>,
    options: &'a TransducerOptions,
    nodes: Vec<Node>,
    children: FastMap<(u32, i32), u32>,
    times: Vec<(u32, u32)>,
}

impl<M: TransducerModel, L: LanguageModel> Search<'_, M, L> {
    fn start(&self) -> Hyp<M::State, L::State> {
        let (node, total, extra) = (ROOT, 0.0, Scores::default());
        let model = self.fusion.model.map(LanguageModel::start);
        Hyp { node, total, extra, state: self.model.start(), model, hot: ContextState::default(), times: ROOT }
    }

    /// A hypothesis with a token more.
    fn grow(
        &mut self,
        from: &Hyp<M::State, L::State>,
        token: i32,
        total: f64,
        frame: usize,
    ) -> Hyp<M::State, L::State> {
        let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let node = *self.children.entry((from.node, token)).or_insert_with(|| {
            self.nodes.push(Node { parent: from.node, token });
            next
        });
        let mut new = Hyp { node, state: self.model.advance(&from.state, token), total, ..from.clone() };
        if let (Some(model), Some(state)) = (self.fusion.model, from.model) {
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
        if let Some(hot) = self.fusion.hot {
            let step = hot.forward_one_step(from.hot, token, self.options.strict_context);
            new.hot = step.state;
            new.extra.hot_words += f64::from(step.score);
            new.total += f64::from(step.score);
        }
        new.times = u32::try_from(self.times.len()).unwrap_or(u32::MAX);
        self.times.push((from.times, u32::try_from(frame).unwrap_or(u32::MAX)));
        new
    }

    fn tokens(&self, of: &Hyp<M::State, L::State>) -> Vec<(i32, usize)> {
        let (mut tokens, mut node, mut times) = (vec![], of.node, of.times);
        while node != ROOT {
            let (before, frame) = self.times[times as usize];
            tokens.push((self.nodes[node as usize].token, frame as usize));
            (node, times) = (self.nodes[node as usize].parent, before);
        }
        tokens.reverse();
        tokens
    }

    #[expect(clippy::cast_precision_loss, reason = "hypotheses have fewer than 2^53 tokens")]
    fn result(
        &self,
        encoder: &EncoderOutput<'_>,
        mut hyps: Vec<Hyp<M::State, L::State>>,
        times: &FrameTimes,
    ) -> Recognition {
        for hyp in &mut hyps {
            if let Some(hot) = self.fusion.hot {
                let back = f64::from(hot.finalize(hyp.hot));
                hyp.extra.hot_words += back;
                hyp.total += back;
            }
        }
        let mut made: Vec<_> = hyps
            .iter()
            .map(|hyp| {
                let tokens = self.tokens(hyp);
                let key = self.options.length_norm.map_or(hyp.total, |more| hyp.total / (tokens.len() + more) as f64);
                let token = |&(token, frame): &(i32, usize)| Segment::new(token, "", frame..frame + 1, times);
                let scores = Scores { acoustic: hyp.total - hyp.extra.extra(), ..hyp.extra };
                (key, Hypothesis { tokens: tokens.iter().map(token).collect(), scores, ..Hypothesis::default() })
            })
            .collect();
        made.sort_by(|a, b| b.0.total_cmp(&a.0));
        let made = made.into_iter().take(self.options.n_best).map(|(_, hypothesis)| hypothesis).collect();
        Recognition::new(encoder.utterance(), encoder.num_frames(), made)
    }
}

/// Adds a hypothesis; of equal tokens the probabilities are summed, and the frames are those of the
/// first.
fn add<S, L>(hyps: &mut Vec<Hyp<S, L>>, places: &mut FastMap<u32, usize>, new: Hyp<S, L>) {
    if new.total == f64::NEG_INFINITY {
        return;
    }
    match places.get(&new.node) {
        Some(&place) => hyps[place].total = log_add(hyps[place].total, new.total),
        None => {
            places.insert(new.node, hyps.len());
            hyps.push(new);
        }
    }
}

/// The best of many, as (score, hypothesis, token); of equal ones the first.
fn best_of(mut all: Vec<(f64, usize, i32)>, count: usize) -> Vec<(f64, usize, i32)> {
    let order = |a: &(f64, usize, i32), b: &(f64, usize, i32)| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2)));
    if all.len() > count {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all
}

fn search<'a, M: TransducerModel, L: LanguageModel>(
    model: &'a M,
    fusion: &Fusion<'a, L>,
    options: &'a TransducerOptions,
) -> Result<Search<'a, M, L>, Error> {
    options.check()?;
    let root = Node { parent: ROOT, token: -1 };
    let fusion = Fusion { model: fusion.model, hot: fusion.hot };
    Ok(Search { model, fusion, options, nodes: vec![root], children: FastMap::default(), times: vec![(ROOT, 0)] })
}

/// icefall's modified beam search: each frame has one token or none, and the
/// [`beam`](TransducerOptions::beam) best continuations of all hypotheses go on, merged by their
/// tokens.
///
/// # Errors
/// [`Error::Option`]; [`Error::Value`] with the frame in which the joiner writes no score;
/// [`Error::NothingLeft`].
pub fn modified_beam_search<M: TransducerModel, L: LanguageModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    fusion: &Fusion<'_, L>,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Recognition, Error> {
    let mut search = search(model, fusion, options)?;
    let mut joined = Joined::new(model, options);
    let mut hyps = vec![search.start()];
    for (frame, row) in encoder.frames().enumerate() {
        let mut all = vec![];
        for (place, hyp) in hyps.iter().enumerate() {
            let log_probs = joined.log_probs(model, row, &hyp.state, encoder.utterance(), frame)?;
            let scored = (0..).zip(log_probs).map(|(token, score)| (hyp.total + score, place, token));
            all.extend(scored.filter(|one| one.0 > f64::NEG_INFINITY));
        }
        let (mut next, mut places) = (vec![], FastMap::default());
        for (total, place, token) in best_of(all, options.beam) {
            let new = if token == model.blank() {
                Hyp { total, ..hyps[place].clone() }
            } else {
                search.grow(&hyps[place], token, total, frame)
            };
            add(&mut next, &mut places, new);
        }
        if next.is_empty() {
            return Err(Error::NothingLeft { utterance: encoder.utterance().into(), frame });
        }
        hyps = next;
    }
    Ok(search.result(encoder, hyps, times))
}

/// Beam search in which a frame may have several tokens before its blank, up to
/// [`max_symbols_per_frame`](TransducerOptions::max_symbols_per_frame): Graves' transducer, frame
/// by frame. The probability of a hypothesis is the sum over all alignments that the beam has kept.
///
/// # Errors
/// As [`modified_beam_search`].
#[doc(alias = "time_sync_decoding")]
pub fn beam_search<M: TransducerModel, L: LanguageModel>(
    model: &M,
    encoder: &EncoderOutput<'_>,
    fusion: &Fusion<'_, L>,
    options: &TransducerOptions,
    times: &FrameTimes,
) -> Result<Recognition, Error> {
    let mut search = search(model, fusion, options)?;
    let mut joined = Joined::new(model, options);
    let mut hyps = vec![search.start()];
    for (frame, row) in encoder.frames().enumerate() {
        let (mut ended, mut places) = (vec![], FastMap::default());
        let mut active = hyps;
        for taken in 0..=options.max_symbols_per_frame {
            let mut all = vec![];
            for (place, hyp) in active.iter().enumerate() {
                let log_probs = joined.log_probs(model, row, &hyp.state, encoder.utterance(), frame)?;
                for (token, score) in (0..).zip(log_probs) {
                    let total = hyp.total + score;
                    if token == model.blank() {
                        add(&mut ended, &mut places, Hyp { total, ..hyp.clone() });
                    } else if taken < options.max_symbols_per_frame && total > f64::NEG_INFINITY {
                        all.push((total, place, token));
                    }
                }
            }
            let (mut next, mut next_places) = (vec![], FastMap::default());
            for (total, place, token) in best_of(all, options.beam) {
                let grown = search.grow(&active[place], token, total, frame);
                add(&mut next, &mut next_places, grown);
            }
            active = next;
        }
        ended.sort_by(|a, b| b.total.total_cmp(&a.total));
        ended.truncate(options.beam);
        if ended.is_empty() {
            return Err(Error::NothingLeft { utterance: encoder.utterance().into(), frame });
        }
        hyps = ended;
    }
    Ok(search.result(encoder, hyps, times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transducer::StatelessModel;

    /// Knows the token 1 alone.
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
            let fusion = Fusion::language_model(&OneToken);
            let found = modified_beam_search(&model, &encoder, &fusion, &options, &FrameTimes::default()).unwrap();
            assert_eq!(found.hypotheses.len(), 2, "{weight}");
            for hypothesis in &found.hypotheses {
                assert!(hypothesis.scores.total().is_finite() && !hypothesis.token_ids().contains(&2), "{weight}");
            }
        }
    }
}
