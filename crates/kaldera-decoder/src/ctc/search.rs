//! The search that all CTC decoders are: hypotheses go from frame to frame.
//!
//! A hypothesis is a state (which tokens and words there have been) and what its last frame was: a
//! blank, or the last token. In a frame it takes a blank, its last token again, or another token,
//! which leads to other states. Hypotheses of the same state and end are one, with the sum of their
//! probabilities. What a state is, and what it adds to the network's score, is for [`Prefixes`] to
//! say.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use kaldera_base::math::log_add;

use crate::ctc::options::CtcDecoderOptions;
use crate::ctc::tree::Kept;
use crate::error::Error;
use crate::hash::FastMap;
use crate::log_probs::LogProbs;
use crate::result::Scores;

/// What the last frame of a hypothesis was, if no token.
pub(crate) const BLANK: i32 = -1;
/// A token without a word.
pub(crate) const NO_WORD: i32 = -1;
/// The trace before the first token.
const NO_TRACE: u32 = u32::MAX;

/// The states of hypotheses and what they add to the network's score.
pub(crate) trait Prefixes {
    type State: Copy + Eq + Hash;

    /// Of hypotheses that are merged, the last one says where its tokens are, as in pyctcdecode;
    /// otherwise the best one does.
    const LAST_WINS: bool = false;
    /// What has less than the beam's worst so far may be dropped before it is merged.
    const EARLY_CUT: bool = true;

    /// The state before the first frame.
    fn start(&mut self) -> Self::State;

    /// The most that any token of [`Frame::tokens`] can add to a hypothesis of this state, beside
    /// what it adds to any. What others add, the state must find by itself.
    fn most_gain(&self, state: Self::State) -> f64;

    /// What a token adds to any hypothesis.
    fn token_gain(&self, _: i32) -> f64 {
        0.0
    }

    /// Offers all that a hypothesis can become by a token that is not its last one.
    fn extend(&mut self, hypothesis: &Hypothesis<Self::State>, frame: &Frame<'_>, reach: &mut Reach<'_, Self::State>);

    /// A state's number, and the state and token that it comes from, if these are the only ones.
    fn origin(&self, _: Self::State) -> Option<(u32, (u32, i32))> {
        None
    }

    /// What the end of the utterance makes of a hypothesis; `None` if it cannot end there. Without
    /// `complete`, the result so far is wanted: nothing is added for the end of a sentence.
    fn finish(&mut self, hypothesis: &Hypothesis<Self::State>, complete: bool) -> Option<(Self::State, Scores, i32)>;

    /// What the future of a hypothesis depends on, if less than its state.
    fn future(&mut self, state: Self::State) -> (u32, u32);

    /// How many nodes it has; [`compact`](Self::compact) makes them fewer.
    fn size(&self) -> usize;

    /// Frees what none of these states needs any more, and gives them their new numbers.
    fn compact(&mut self, states: &mut [Self::State]);
}

/// The network's output of a frame.
pub(crate) struct Frame<'a> {
    pub(crate) row: &'a [f32],
    pub(crate) blank: usize,
    /// Tokens that are looked at, without the blank, from the highest hope down. If candidates may
    /// be dropped early, those are left out that could not remain.
    pub(crate) tokens: &'a [FrameToken],
    /// Log-probabilities that are looked at.
    floor: f32,
    best: i32,
    /// Parents and tokens of the states that hypotheses have, sorted.
    children: &'a [(u32, i32)],
}

/// A token of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameToken {
    pub(crate) token: i32,
    pub(crate) score: f32,
    /// The score and what the token adds to any hypothesis.
    pub(crate) hope: f64,
}

impl Frame<'_> {
    /// The log-probability of a token that is looked at.
    pub(crate) fn score(&self, token: i32) -> Option<f64> {
        let column = usize::try_from(token).ok().filter(|&column| column != self.blank)?;
        let score = *self.row.get(column)?;
        (score >= self.floor || token == self.best).then_some(f64::from(score))
    }

    /// The tokens that lead from a state to one that a hypothesis has.
    pub(crate) fn children(&self, state: u32) -> impl Iterator<Item = i32> {
        let from = self.children.partition_point(|&(parent, _)| parent < state);
        self.children[from..].iter().take_while(move |&&(parent, _)| parent == state).map(|&(_, token)| token)
    }
}

/// Where the last token of a hypothesis is.
#[derive(Debug, Clone, Copy)]
struct Open {
    token: i32,
    word: i32,
    start: u32,
    end: u32,
}

/// A hypothesis in the beam.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hypothesis<S> {
    pub(crate) state: S,
    /// The token of its last frame, or [`BLANK`].
    pub(crate) last: i32,
    /// All scores; `acoustic` is the sum over alignments.
    pub(crate) scores: Scores,
    pub(crate) total: f64,
    /// The score of the best alignment.
    best: f64,
    /// The tokens before the last one.
    trace: u32,
    open: Option<Open>,
}

/// A hypothesis of the next frame, and whether its last token is a new one.
#[derive(Debug, Clone, Copy)]
struct Candidate<S> {
    hypothesis: Hypothesis<S>,
    from: u32,
    grown: bool,
}

/// What becomes of hypotheses in a frame.
#[derive(Debug, Clone)]
struct Candidates<S> {
    list: Vec<Candidate<S>>,
    places: FastMap<(S, i32), usize>,
    best: f64,
    /// What is worse cannot remain.
    cut: f64,
    /// How many candidates there must be for the next look at the cut.
    next_look: usize,
    totals: Vec<f64>,
}

/// Where a hypothesis puts what it becomes.
pub(crate) struct Reach<'a, S> {
    candidates: &'a mut Candidates<S>,
    rules: Rules,
    from: u32,
    frame: u32,
}

#[derive(Debug, Clone, Copy)]
struct Rules {
    beam_size: usize,
    beam_threshold: f64,
    log_add: bool,
    last_wins: bool,
    early_cut: bool,
}

impl<S: Copy + Eq + Hash> Candidates<S> {
    fn new() -> Self {
        Self {
            list: vec![],
            places: FastMap::default(),
            best: f64::NEG_INFINITY,
            cut: f64::NEG_INFINITY,
            next_look: 0,
            totals: vec![],
        }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.places.clear();
        (self.best, self.cut, self.next_look) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 0);
    }

    fn offer(&mut self, rules: Rules, candidate: Candidate<S>) {
        let new = &candidate.hypothesis;
        if new.total == f64::NEG_INFINITY {
            return;
        }
        let place = match self.places.entry((new.state, new.last)) {
            Entry::Occupied(place) => {
                merge(rules, &mut self.list[*place.get()], candidate);
                *place.get()
            }
            Entry::Vacant(place) => {
                self.list.push(candidate);
                *place.insert(self.list.len() - 1)
            }
        };
        let total = self.list[place].hypothesis.total;
        if total > self.best {
            self.best = total;
            self.raise_cut(total - rules.beam_threshold, rules);
        }
        if rules.early_cut && self.list.len() >= self.next_look {
            self.look(rules);
        }
    }

    fn raise_cut(&mut self, cut: f64, rules: Rules) {
        if rules.early_cut {
            self.cut = self.cut.max(cut);
        }
    }

    /// Takes the worst total that still has a place in the beam as the cut. Totals only grow.
    fn look(&mut self, rules: Rules) {
        if self.list.len() > rules.beam_size {
            self.totals.clear();
            self.totals.extend(self.list.iter().map(|candidate| candidate.hypothesis.total));
            let worst = kth_best(&mut self.totals, rules.beam_size);
            self.raise_cut(worst, rules);
        }
        let more = (rules.beam_size / 2).saturating_add(1);
        self.next_look = self.list.len().max(rules.beam_size).saturating_add(more);
    }
}

/// The `k`-th largest of at least `k` values.
fn kth_best(values: &mut [f64], k: usize) -> f64 {
    *values.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
}

fn merge<S: Copy>(rules: Rules, old: &mut Candidate<S>, new: Candidate<S>) {
    let (a, b) = (old.hypothesis, new.hypothesis);
    let sum = |a: f64, b: f64| if rules.log_add { log_add(a, b) } else { a.max(b) };
    let alignment = |one: &Hypothesis<S>| one.best + one.scores.extra();
    // Histories with the same future may have different extras; then totals are what is summed.
    let (acoustic, total) = (sum(a.scores.acoustic, b.scores.acoustic), sum(a.total, b.total));
    if rules.last_wins {
        *old = new;
        let kept = &mut old.hypothesis;
        kept.best = a.best.max(b.best);
        kept.scores.acoustic = acoustic;
        kept.total = kept.scores.total();
    } else {
        if alignment(&b) > alignment(&a) {
            *old = new;
        }
        let kept = &mut old.hypothesis;
        kept.total = total;
        kept.scores.acoustic = total - kept.scores.extra();
    }
}

impl<S: Copy + Eq + Hash> Reach<'_, S> {
    /// What is worse need not be offered.
    pub(crate) fn cut(&self) -> f64 {
        self.candidates.cut
    }

    /// A hypothesis with a token more.
    pub(crate) fn token(
        &mut self,
        hypothesis: &Hypothesis<S>,
        token: i32,
        score: f64,
        (state, extra, word): (S, Scores, i32),
    ) {
        let scores = Scores { acoustic: hypothesis.scores.acoustic + score, ..extra };
        let open = Some(Open { token, word, start: self.frame, end: self.frame + 1 });
        let (total, best) = (scores.total(), hypothesis.best + score);
        let hypothesis = Hypothesis { state, last: token, scores, total, best, open, ..*hypothesis };
        self.candidates.offer(self.rules, Candidate { hypothesis, from: self.from, grown: true });
    }

    /// The same tokens with one frame more: a blank, or the last token.
    fn stay(&mut self, hypothesis: &Hypothesis<S>, last: i32, score: f64) {
        let mut new = *hypothesis;
        new.last = last;
        new.scores.acoustic += score;
        new.total = new.scores.total();
        new.best += score;
        if let (true, Some(open)) = (last != BLANK, &mut new.open) {
            open.end = self.frame + 1;
        }
        self.candidates.offer(self.rules, Candidate { hypothesis: new, from: self.from, grown: false });
    }
}

/// A token of some hypotheses, after those of another trace, or after the settled ones.
#[derive(Debug, Clone, Copy)]
struct Trace {
    before: u32,
    open: Open,
}

/// The state of a search between two frames.
#[derive(Debug, Clone)]
pub(crate) struct Search<P: Prefixes> {
    pub(crate) prefixes: P,
    blank: usize,
    beam: Vec<Hypothesis<P::State>>,
    candidates: Candidates<P::State>,
    /// The first tokens, which all hypotheses share.
    settled: Vec<Open>,
    /// The tokens of hypotheses after the settled ones.
    traces: Vec<Trace>,
    /// How many nodes and traces there may be until those are freed that nothing needs.
    pub(crate) most_nodes: usize,
    num_frames: u32,
    tokens: Vec<FrameToken>,
    children: Vec<(u32, i32)>,
    closed: Vec<u32>,
    floors: Vec<f32>,
    futures: FastMap<((u32, u32), i32), ()>,
}

/// A token or word in the result: its number, that of the word that ends with it, and its frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Placed {
    pub(crate) token: i32,
    pub(crate) word: i32,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A hypothesis at the end.
pub(crate) struct Finished {
    pub(crate) scores: Scores,
    pub(crate) tokens: Vec<Placed>,
}

/// So many nodes and traces cost less than finding out which are needed.
const FEW_NODES: usize = 1 << 14;

impl<P: Prefixes> Search<P> {
    pub(crate) fn new(mut prefixes: P, blank: usize) -> Self {
        let state = prefixes.start();
        let start = Hypothesis {
            state,
            last: BLANK,
            scores: Scores::default(),
            total: 0.0,
            best: 0.0,
            trace: NO_TRACE,
            open: None,
        };
        Self {
            prefixes,
            blank,
            beam: vec![start],
            candidates: Candidates::new(),
            settled: vec![],
            traces: vec![],
            most_nodes: FEW_NODES,
            num_frames: 0,
            tokens: vec![],
            children: vec![],
            closed: vec![],
            floors: vec![],
            futures: FastMap::default(),
        }
    }

    pub(crate) fn num_frames(&self) -> usize {
        self.num_frames as usize
    }

    /// Takes more frames. An error leaves the search where it was before the frame of the error.
    pub(crate) fn accept(&mut self, log_probs: &LogProbs<'_>, options: &CtcDecoderOptions) -> Result<(), Error> {
        let rules = Rules {
            beam_size: options.beam_size,
            beam_threshold: options.beam_threshold,
            log_add: options.log_add,
            last_wins: P::LAST_WINS,
            early_cut: P::EARLY_CUT,
        };
        for row in log_probs.frames() {
            self.step(row, rules, options);
            if self.candidates.list.is_empty() || self.num_frames == u32::MAX - 1 {
                let (utterance, frame) = (log_probs.utterance().into(), self.num_frames());
                return Err(Error::NothingLeft { utterance, frame });
            }
            self.select(options);
            self.num_frames += 1;
        }
        Ok(())
    }

    fn step(&mut self, row: &[f32], rules: Rules, options: &CtcDecoderOptions) {
        let (best, _) = crate::ctc::best_of_row(row);
        let floor = self.floor(row, options);
        let looked_at = |token: i32, score: f32| score >= floor || token == best;
        let blank_token = i32::try_from(self.blank).unwrap_or(i32::MAX);
        let blank = looked_at(blank_token, row[self.blank]).then_some(f64::from(row[self.blank]));
        let again = |hypothesis: &Hypothesis<P::State>| {
            let column = usize::try_from(hypothesis.last).ok()?;
            looked_at(hypothesis.last, row[column]).then_some(f64::from(row[column]))
        };
        self.candidates.clear();
        // What stays as it is gives a first idea of what the beam will hold.
        let mut least = f64::NEG_INFINITY;
        if rules.early_cut {
            let totals = &mut self.candidates.totals;
            totals.clear();
            for hypothesis in &self.beam {
                totals.extend([blank, again(hypothesis)].into_iter().flatten().map(|score| hypothesis.total + score));
            }
            let most = totals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            self.candidates.cut = most - rules.beam_threshold;
            if totals.len() >= rules.beam_size {
                self.candidates.cut = self.candidates.cut.max(kth_best(totals, rules.beam_size));
            }
            let hopes = self.beam.iter().map(|one| one.total + self.prefixes.most_gain(one.state));
            least = self.candidates.cut - hopes.fold(f64::NEG_INFINITY, f64::max);
        }
        self.tokens.clear();
        self.tokens.extend((0..).zip(row).filter_map(|(token, &score)| {
            let hope = f64::from(score) + self.prefixes.token_gain(token);
            (token != blank_token && hope >= least && looked_at(token, score)).then_some(FrameToken {
                token,
                score,
                hope,
            })
        }));
        self.tokens.sort_unstable_by(|a, b| b.hope.total_cmp(&a.hope).then(a.token.cmp(&b.token)));
        self.children.clear();
        if rules.early_cut {
            let origins = self.beam.iter().filter_map(|one| Some(self.prefixes.origin(one.state)?.1));
            self.children.extend(origins);
            self.children.sort_unstable();
            self.children.dedup();
        }
        let frame = Frame { row, blank: self.blank, tokens: &self.tokens, floor, best, children: &self.children };
        for (from, hypothesis) in (0..).zip(&self.beam) {
            let mut reach = Reach { candidates: &mut self.candidates, rules, from, frame: self.num_frames };
            if let Some(score) = blank {
                reach.stay(hypothesis, BLANK, score);
            }
            if let Some(score) = again(hypothesis) {
                reach.stay(hypothesis, hypothesis.last, score);
            }
            self.prefixes.extend(hypothesis, &frame, &mut reach);
        }
    }

    /// The least log-probability that is looked at.
    fn floor(&mut self, row: &[f32], options: &CtcDecoderOptions) -> f32 {
        let least = crate::ids::narrow(options.token_min_logp);
        match options.beam_size_token.filter(|&count| count < row.len()) {
            Some(count) => {
                self.floors.clear();
                self.floors.extend_from_slice(row);
                let (_, kth, _) = self.floors.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
                least.max(*kth)
            }
            None => least,
        }
    }

    /// The candidates become the beam.
    fn select(&mut self, options: &CtcDecoderOptions) {
        let list = &mut self.candidates.list;
        let cut = self.candidates.best - options.beam_threshold;
        list.retain(|candidate| candidate.hypothesis.total >= cut);
        // Of equal ones the first is kept.
        let by_total = |a: &Candidate<_>, b: &Candidate<_>| b.hypothesis.total.total_cmp(&a.hypothesis.total);
        list.sort_by(by_total);
        list.truncate(options.beam_size);
        if options.prune_history {
            self.futures.clear();
            let (prefixes, futures) = (&mut self.prefixes, &mut self.futures);
            list.retain(|candidate| {
                let one = &candidate.hypothesis;
                futures.insert((prefixes.future(one.state), one.last), ()).is_none()
            });
        }
        self.closed.clear();
        self.closed.resize(self.beam.len(), NO_TRACE);
        let mut next = Vec::with_capacity(list.len());
        for candidate in list.iter() {
            let mut hypothesis = candidate.hypothesis;
            let before = &self.beam[candidate.from as usize];
            if let (true, Some(open)) = (candidate.grown, before.open) {
                let closed = &mut self.closed[candidate.from as usize];
                if *closed == NO_TRACE {
                    *closed = u32::try_from(self.traces.len()).unwrap_or(NO_TRACE);
                    self.traces.push(Trace { before: before.trace, open });
                }
                hypothesis.trace = *closed;
            }
            next.push(hypothesis);
        }
        self.beam = next;
        if self.size() > self.most_nodes {
            self.compact();
            self.most_nodes = self.most_nodes.max(self.size() * 2);
        }
    }

    /// How many nodes and traces there are.
    pub(crate) fn size(&self) -> usize {
        self.traces.len() + self.prefixes.size()
    }

    /// Frees what no hypothesis needs any more, and settles the tokens that all share.
    fn compact(&mut self) {
        // The node 0 stands for no trace.
        let node = |trace: u32| trace.wrapping_add(1);
        let trace = |node: u32| node.wrapping_sub(1);
        let before = |node: u32| self.traces[trace(node) as usize].before.wrapping_add(1);
        let kept = Kept::new(before, self.beam.iter().map(|one| node(one.trace)));
        let shared = std::iter::successors(kept.nodes().first().copied(), |&node| (node != 0).then(|| before(node)));
        let shared: Vec<Open> =
            shared.take_while(|&node| node != 0).map(|node| self.traces[trace(node) as usize].open).collect();
        let number = |old: u32| trace(kept.number(node(old)).unwrap_or(0));
        let renumbered = |&node: &u32| {
            let Trace { before, open } = self.traces[trace(node) as usize];
            Trace { before: number(before), open }
        };
        self.traces = kept.nodes().iter().skip(1).map(renumbered).collect();
        self.settled.extend(shared.into_iter().rev());
        let mut states: Vec<P::State> = self.beam.iter().map(|one| one.state).collect();
        self.prefixes.compact(&mut states);
        for (hypothesis, state) in self.beam.iter_mut().zip(states) {
            (hypothesis.state, hypothesis.trace) = (state, number(hypothesis.trace));
        }
    }

    /// How much worse the best hypothesis that can end here is than the best one; infinite if none can.
    pub(crate) fn final_relative_cost(&mut self) -> f64 {
        let mut best = |complete| {
            let ended = self.beam.iter().filter_map(|hypothesis| {
                let (_, scores, _) = self.prefixes.finish(hypothesis, complete)?;
                Some(hypothesis.scores.acoustic + scores.extra())
            });
            ended.fold(f64::NEG_INFINITY, f64::max)
        };
        (best(false) - best(true)).max(0.0)
    }

    /// The hypotheses, complete or so far, from the best one down. If none can end, all are taken
    /// as they are.
    pub(crate) fn finish(&mut self, options: &CtcDecoderOptions, complete: bool) -> Vec<Finished> {
        let rules = Rules {
            beam_size: usize::MAX,
            beam_threshold: f64::INFINITY,
            log_add: options.log_add,
            last_wins: P::LAST_WINS,
            early_cut: false,
        };
        let mut ended = Candidates::new();
        for (from, hypothesis) in (0..).zip(&self.beam) {
            if let Some((state, scores, word)) = self.prefixes.finish(hypothesis, complete) {
                let scores = Scores { acoustic: hypothesis.scores.acoustic, ..scores };
                let mut new = Hypothesis { state, last: BLANK, scores, total: scores.total(), ..*hypothesis };
                if let (true, Some(open)) = (word != NO_WORD, &mut new.open) {
                    open.word = word;
                }
                ended.offer(rules, Candidate { hypothesis: new, from, grown: false });
            }
        }
        if ended.list.is_empty() {
            for (from, &hypothesis) in (0..).zip(&self.beam) {
                let hypothesis = Hypothesis { last: BLANK, ..hypothesis };
                ended.offer(rules, Candidate { hypothesis, from, grown: false });
            }
        }
        let cut = ended.best - options.beam_threshold;
        ended.list.retain(|candidate| candidate.hypothesis.total >= cut);
        ended.list.sort_by(|a, b| b.hypothesis.total.total_cmp(&a.hypothesis.total));
        let finished = |candidate: &Candidate<P::State>| {
            let hypothesis = &candidate.hypothesis;
            let mut tokens: Vec<Placed> = hypothesis.open.iter().map(placed).collect();
            let mut trace = hypothesis.trace;
            while trace != NO_TRACE {
                let Trace { before, open } = self.traces[trace as usize];
                tokens.push(placed(&open));
                trace = before;
            }
            tokens.extend(self.settled.iter().rev().map(placed));
            tokens.reverse();
            Finished { scores: hypothesis.scores, tokens }
        };
        ended.list.iter().take(options.n_best).map(finished).collect()
    }
}

fn placed(open: &Open) -> Placed {
    Placed { token: open.token, word: open.word, start: open.start as usize, end: open.end as usize }
}
