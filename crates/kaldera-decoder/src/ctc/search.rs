//! Search of all CTC decoders, which extends hypotheses from frame to frame.
//!
//! A hypothesis is a state (its tokens and words so far) and the end of its last frame: a blank, or
//! the last token. In a frame it takes a blank, its last token again, or another token, which leads
//! to other states. Hypotheses of the same state and end are merged, and their probabilities are
//! summed. [`Prefixes`] defines the states and their scores.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use kaldera_base::math::log_add;

use crate::ctc::options::CtcDecoderOptions;
use crate::ctc::tree::LiveNodes;
use crate::error::Error;
use crate::hash::FastMap;
use crate::log_probs::LogProbs;
use crate::result::Scores;

/// Last token of a hypothesis whose last frame was a blank.
pub(crate) const BLANK: i32 = -1;
/// Word of a token that ends no word.
pub(crate) const NO_WORD: i32 = -1;
/// Trace before the first token.
const NO_TRACE: u32 = u32::MAX;

/// The states of hypotheses and the scores that they add to the network's score.
pub(crate) trait Prefixes {
    type State: Copy + Eq + Hash;

    /// `true` if the last of several merged hypotheses has the places of the tokens, as in
    /// pyctcdecode; otherwise the best one has them.
    const LAST_WINS: bool = false;
    /// `true` if candidates below the beam's worst so far may be dropped before they are merged.
    const EARLY_CUT: bool = true;

    /// Returns the state before the first frame.
    fn start(&mut self) -> Self::State;

    /// Returns the most that any token of [`Frame::tokens`] can add to a hypothesis of this state,
    /// in addition to its [`token_gain`](Self::token_gain). The state must find tokens that add
    /// more by itself.
    fn most_gain(&self, state: Self::State) -> f64;

    /// Returns the score that a token adds to any hypothesis.
    fn token_gain(&self, _: i32) -> f64 {
        0.0
    }

    /// Offers all extensions of a hypothesis by a token that is not its last one.
    fn extend(&mut self, hypothesis: &Hypothesis<Self::State>, frame: &Frame<'_>, reach: &mut Reach<'_, Self::State>);

    /// Returns a state's number, and the state and token that it comes from, if these are the only
    /// ones.
    fn origin(&self, _: Self::State) -> Option<(u32, (u32, i32))> {
        None
    }

    /// Returns a hypothesis at the end of the utterance; `None` if it cannot end there. Without
    /// `complete`, the result so far is wanted: nothing is added for the end of a sentence.
    fn finish(&mut self, hypothesis: &Hypothesis<Self::State>, complete: bool) -> Option<(Self::State, Scores, i32)>;

    /// Returns the part of a state on which the future of a hypothesis depends.
    fn future(&mut self, state: Self::State) -> (u32, u32);

    /// Returns the number of nodes; [`compact`](Self::compact) reduces it.
    fn size(&self) -> usize;

    /// Frees the nodes that none of these states needs any more, and renumbers the states.
    fn compact(&mut self, states: &mut [Self::State]);
}

/// Output of the network for a frame.
pub(crate) struct Frame<'a> {
    pub(crate) row: &'a [f32],
    pub(crate) blank: usize,
    /// Tokens that are considered, without the blank, from the highest hope down. If candidates may
    /// be dropped early, tokens that could not remain are left out.
    pub(crate) tokens: &'a [FrameToken],
    /// Least log-probability that is considered.
    floor: f32,
    best: i32,
    /// Parents and tokens of the states of hypotheses, sorted.
    children: &'a [(u32, i32)],
}

/// A token of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameToken {
    pub(crate) token: i32,
    pub(crate) score: f32,
    /// The score and the gain of the token for any hypothesis.
    pub(crate) hope: f64,
}

impl Frame<'_> {
    /// Returns the log-probability of a token that is considered.
    pub(crate) fn score(&self, token: i32) -> Option<f64> {
        let column = usize::try_from(token).ok().filter(|&column| column != self.blank)?;
        let score = *self.row.get(column)?;
        (score >= self.floor || token == self.best).then_some(f64::from(score))
    }

    /// Returns the tokens that lead from a state to the state of a hypothesis.
    pub(crate) fn children(&self, state: u32) -> impl Iterator<Item = i32> {
        let from = self.children.partition_point(|&(parent, _)| parent < state);
        self.children[from..].iter().take_while(move |&&(parent, _)| parent == state).map(|&(_, token)| token)
    }
}

/// Frames of the last token of a hypothesis.
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
    /// Score of the best alignment.
    best: f64,
    /// Tokens before the last one.
    trace: u32,
    open: Option<Open>,
}

/// A hypothesis of the next frame; `grown` is `true` if its last token is a new one.
#[derive(Debug, Clone, Copy)]
struct Candidate<S> {
    hypothesis: Hypothesis<S>,
    from: u32,
    grown: bool,
}

/// The hypotheses after a frame.
#[derive(Debug, Clone)]
struct Candidates<S> {
    list: Vec<Candidate<S>>,
    places: FastMap<(S, i32), usize>,
    best: f64,
    /// Candidates below this score cannot remain.
    cut: f64,
    /// Number of candidates at which the cut is computed again.
    next_look: usize,
    totals: Vec<f64>,
}

/// Receiver of the extensions of a hypothesis.
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

    /// Raises the cut to the worst total that still has a place in the beam. Totals only grow.
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

/// Returns the `k`-th largest of at least `k` values.
fn kth_best(values: &mut [f64], k: usize) -> f64 {
    *values.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
}

fn merge<S: Copy>(rules: Rules, old: &mut Candidate<S>, new: Candidate<S>) {
    let (a, b) = (old.hypothesis, new.hypothesis);
    let sum = |a: f64, b: f64| if rules.log_add { log_add(a, b) } else { a.max(b) };
    let alignment = |one: &Hypothesis<S>| one.best + one.scores.extra();
    // Histories with the same future may have different extras, so totals are summed.
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
    /// Returns the score below which a candidate need not be offered.
    pub(crate) fn cut(&self) -> f64 {
        self.candidates.cut
    }

    /// Offers a hypothesis with one more token.
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

    /// Offers the same tokens with one more frame: a blank, or the last token.
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

/// A token of some hypotheses, after the tokens of another trace, or after the settled ones.
#[derive(Debug, Clone, Copy)]
struct Trace {
    before: u32,
    open: Open,
}

/// State of a search between two frames.
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
    /// Number of nodes and traces above which unused ones are freed.
    pub(crate) most_nodes: usize,
    num_frames: u32,
    tokens: Vec<FrameToken>,
    children: Vec<(u32, i32)>,
    closed: Vec<u32>,
    floors: Vec<f32>,
    futures: FastMap<((u32, u32), i32), ()>,
}

/// A token or word in the result: its number, the number of the word that ends with it, and its
/// frames.
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

/// Number of nodes and traces up to which they cost less than a search for unused ones.
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

    /// Takes more frames. After an error the search is in the state before the frame of the error.
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
        // The totals of hypotheses that stay give a first bound of the beam.
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

    /// Returns the least log-probability that is considered.
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

    /// Makes the beam of the candidates.
    fn select(&mut self, options: &CtcDecoderOptions) {
        let list = &mut self.candidates.list;
        let cut = self.candidates.best - options.beam_threshold;
        list.retain(|candidate| candidate.hypothesis.total >= cut);
        // Ties go to the first.
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

    /// Returns the number of nodes and traces.
    pub(crate) fn size(&self) -> usize {
        self.traces.len() + self.prefixes.size()
    }

    /// Frees nodes that no hypothesis needs any more, and settles the tokens that all share.
    fn compact(&mut self) {
        // The node 0 stands for no trace.
        let node = |trace: u32| trace.wrapping_add(1);
        let trace = |node: u32| node.wrapping_sub(1);
        let before = |node: u32| self.traces[trace(node) as usize].before.wrapping_add(1);
        let kept = LiveNodes::new(before, self.beam.iter().map(|one| node(one.trace)));
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

    /// Returns the difference between the best hypothesis and the best one that can end here;
    /// infinite if none can.
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

    /// Returns the hypotheses, complete or so far, from the best one down. If none can end, all are
    /// taken as they are.
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
