//! The search, frame by frame.

use crate::core::arc::EPSILON;
use crate::error::Error;
use crate::incremental::active_states::ActiveStates;
use crate::incremental::labels::TransitionLabels;
use crate::incremental::options::IncrementalOptions;
use crate::incremental::tokens::{Finals, Link, Tokens};
use crate::on_demand::SearchGraph;
use crate::support::ids::NONE;

/// Number of visits to states within a frame after which a cycle of costs below 0 is assumed.
const MOST_VISITS: u64 = 20_000_000;

/// The tokens so far, and the states of the last frame.
#[derive(Debug, Clone)]
pub(super) struct Search {
    pub(super) tokens: Tokens,
    states: ActiveStates,
    /// Costs of ending, once no more frames come.
    pub(super) finals: Option<Finals>,
    /// Buffers.
    previous: Vec<(u32, u32)>,
    queue: Vec<u32>,
    costs: Vec<f32>,
}

/// Costs up to which the states of a frame are followed.
struct Cutoff {
    cutoff: f32,
    /// Beam of the next frame.
    beam: f32,
    /// The best state and its token.
    best: Option<(u32, u32)>,
}

/// A step back on a path: the token before, and the link from it.
pub(super) struct StepBack<'a> {
    pub(super) token: u32,
    /// `None` before the first token.
    pub(super) link: Option<&'a Link>,
}

impl Search {
    pub(super) fn new() -> Self {
        Self {
            tokens: Tokens::new(),
            states: ActiveStates::new(),
            finals: None,
            previous: Vec::new(),
            queue: Vec::new(),
            costs: Vec::new(),
        }
    }

    /// Goes to the start state of a graph, before the first frame.
    pub(super) fn begin<G: SearchGraph>(&mut self, graph: &mut G, options: &IncrementalOptions) -> Result<(), Error> {
        self.tokens.clear();
        self.states.clear();
        self.finals = None;
        self.tokens.add_frame();
        let Some(start) = graph.start()? else { return Ok(()) };
        let token = self.tokens.add_token(0.0, NONE);
        self.tokens.start = token;
        self.states.insert(start, token);
        self.follow_epsilons(graph, options.beam)?;
        graph.renew(&mut self.states.states)
    }

    /// Goes on by a frame, whose scores are `row`.
    pub(super) fn take<G: SearchGraph>(
        &mut self,
        graph: &mut G,
        labels: &TransitionLabels,
        row: &[f32],
        options: &IncrementalOptions,
    ) -> Result<(), Error> {
        let cutoff = self.follow_frame(graph, labels, row, options)?;
        self.follow_epsilons(graph, cutoff)?;
        // No state is looked up by its number after the last of the frame.
        graph.renew(&mut self.states.states)
    }

    /// Follows the arcs that take the frame; returns the cost up to which states of the new frame
    /// are followed.
    #[doc(alias = "ProcessEmitting")]
    fn follow_frame<G: SearchGraph>(
        &mut self,
        graph: &mut G,
        labels: &TransitionLabels,
        row: &[f32],
        options: &IncrementalOptions,
    ) -> Result<f32, Error> {
        let mut previous = std::mem::take(&mut self.previous);
        previous.clear();
        previous.extend(self.states.iter());
        self.states.clear();
        self.tokens.add_frame();
        let Cutoff { cutoff, beam, best } = self.cutoff(&previous, options);
        let (mut next_cutoff, mut offset) = (f32::INFINITY, 0.0);
        // The arcs of the best state give a first bound.
        if let Some((state, token)) = best {
            let cost = self.tokens.token(token).cost;
            offset = -cost;
            for arc in graph.arcs(state).emitting {
                let score = score(labels, row, arc.ilabel)?;
                let total = ((arc.cost + offset) - score) + cost;
                if total + beam < next_cutoff {
                    next_cutoff = total + beam;
                }
            }
        }
        self.tokens.offsets.push(offset);
        for &(state, token) in &previous {
            let cost = self.tokens.token(token).cost;
            if cost > cutoff {
                continue;
            }
            for arc in graph.arcs(state).emitting {
                let acoustic = offset - score(labels, row, arc.ilabel)?;
                let total = (cost + acoustic) + arc.cost;
                if total.is_nan() || total >= next_cutoff {
                    continue;
                }
                if total + beam < next_cutoff {
                    next_cutoff = total + beam;
                }
                let (dest, _) = self.reach(arc.dest, total, token);
                let (label, word, graph) = (arc.ilabel, arc.olabel, arc.cost);
                self.tokens.add_link(token, Link { dest, label, word, graph, acoustic, next: NONE });
            }
        }
        self.previous = previous;
        Ok(next_cutoff)
    }

    /// Follows the arcs that take no frame from all states of the last frame.
    #[doc(alias = "ProcessNonemitting")]
    fn follow_epsilons<G: SearchGraph>(&mut self, graph: &mut G, cutoff: f32) -> Result<(), Error> {
        let mut queue = std::mem::take(&mut self.queue);
        queue.clear();
        for (state, token) in self.states.iter() {
            if self.tokens.token(token).cost < cutoff && !graph.arcs(state).epsilons.is_empty() {
                queue.push(state);
            }
        }
        let mut visits = 0_u64;
        while let Some(state) = queue.pop() {
            let Some(token) = self.states.get(state) else { continue };
            let cost = self.tokens.token(token).cost;
            if cost.is_nan() || cost >= cutoff {
                continue;
            }
            visits += 1;
            if visits > MOST_VISITS {
                return Err(Error::EndlessCycle { fsa: 0, state: state as usize, visits });
            }
            // The state may be visited again, with a better cost.
            self.tokens.remove_links(token);
            for arc in graph.arcs(state).epsilons {
                let total = cost + arc.cost;
                if total.is_nan() || total >= cutoff {
                    continue;
                }
                let (dest, changed) = self.reach(arc.dest, total, token);
                let link = Link { dest, label: EPSILON, word: arc.olabel, graph: arc.cost, acoustic: 0.0, next: NONE };
                self.tokens.add_link(token, link);
                if changed {
                    queue.push(arc.dest);
                }
            }
        }
        self.queue = queue;
        Ok(())
    }

    /// Notes a path to a state of the last frame; returns its token, and `true` if no path before
    /// was as good.
    #[inline]
    #[doc(alias = "FindOrAddToken")]
    fn reach(&mut self, state: u32, cost: f32, back: u32) -> (u32, bool) {
        match self.states.get(state) {
            None => {
                let token = self.tokens.add_token(cost, back);
                self.states.insert(state, token);
                (token, true)
            }
            Some(at) => {
                let token = self.tokens.token_mut(at);
                let better = token.cost > cost;
                if better {
                    (token.cost, token.back) = (cost, back);
                }
                (at, better)
            }
        }
    }

    /// Returns the costs up to which states are followed.
    #[doc(alias = "GetCutoff")]
    fn cutoff(&mut self, states: &[(u32, u32)], options: &IncrementalOptions) -> Cutoff {
        let mut best = (f32::INFINITY, None);
        self.costs.clear();
        for &(state, token) in states {
            let cost = self.tokens.token(token).cost;
            self.costs.push(cost);
            if cost < best.0 {
                best = (cost, Some((state, token)));
            }
        }
        let (best_cost, best) = best;
        let in_beam = best_cost + options.beam;
        let nth = |costs: &mut [f32], n: usize| *costs.select_nth_unstable_by(n, f32::total_cmp).1;
        if self.costs.len() > options.max_active {
            let most = nth(&mut self.costs, options.max_active);
            if most < in_beam {
                return Cutoff { cutoff: most, beam: (most - best_cost) + options.beam_delta, best };
            }
        }
        if self.costs.len() > options.min_active {
            let least = if options.min_active == 0 { best_cost } else { nth(&mut self.costs, options.min_active) };
            if least > in_beam {
                return Cutoff { cutoff: least, beam: (least - best_cost) + options.beam_delta, best };
            }
            return Cutoff { cutoff: in_beam, beam: options.beam, best };
        }
        // No more states than are asked for: all of them, and no bound for their successors.
        Cutoff { cutoff: f32::INFINITY, beam: f32::INFINITY, best }
    }

    /// Returns the costs of ending in the states of the last frame.
    #[doc(alias = "ComputeFinalCosts")]
    pub(super) fn final_costs<G: SearchGraph>(&self, graph: &mut G) -> Finals {
        if let Some(finals) = &self.finals {
            return finals.clone();
        }
        let mut finals = Finals::default();
        let (mut best, mut best_final) = (f32::INFINITY, f32::INFINITY);
        for (state, token) in self.states.iter() {
            let cost = self.tokens.token(token).cost;
            let end = graph.arcs(state).final_cost;
            best = best.min(cost);
            best_final = best_final.min(cost + end);
            if end < f32::INFINITY {
                finals.costs.insert(token, end);
            }
        }
        finals.relative = if best == f32::INFINITY { f32::INFINITY } else { best_final - best };
        finals.best = if best_final < f32::INFINITY { best_final } else { best };
        finals
    }

    /// Prunes with the costs of ending; no more frames may come.
    pub(super) fn finish<G: SearchGraph>(&mut self, graph: &mut G, beam: f32) -> Result<(), Error> {
        let finals = self.final_costs(graph);
        graph.renew(&mut self.states.states)?;
        self.states.clear();
        self.tokens.prune_final(&finals, beam);
        self.finals = Some(finals);
        Ok(())
    }

    /// Returns the best token of the last frame, with the costs of ending if there are some.
    #[doc(alias = "BestPathEnd")]
    pub(super) fn best_token(&self, finals: Option<&Finals>) -> Option<u32> {
        let cost = |token: u32| self.tokens.token(token).cost + finals.map_or(0.0, |finals| finals.cost(token));
        let mut best = (f32::INFINITY, None);
        for token in self.tokens.of_frame(self.tokens.num_frames()) {
            let cost = cost(token);
            if cost < best.0 {
                best = (cost, Some(token));
            }
        }
        best.1
    }

    /// Returns the token before a token on its best path, and the cheapest link between them.
    #[doc(alias = "TraceBackBestPath")]
    pub(super) fn step_back(&self, token: u32) -> StepBack<'_> {
        let back = self.tokens.token(token).back;
        if back == NONE {
            return StepBack { token: NONE, link: None };
        }
        let mut best: (f32, Option<&Link>) = (f32::INFINITY, None);
        for link in self.tokens.links_of(back).filter(|link| link.dest == token) {
            let cost = link.graph + link.acoustic;
            if cost < best.0 {
                best = (cost, Some(link));
            }
        }
        StepBack { token: back, link: best.1 }
    }

    /// Returns `true` if there are states from which to go on.
    pub(super) fn is_alive(&self) -> bool {
        self.tokens.frames.last().is_some_and(|frame| frame.tokens != NONE)
    }
}

/// Returns the score of an identifier.
#[inline(always)]
fn score(labels: &TransitionLabels, row: &[f32], label: i32) -> Result<f32, Error> {
    match row.get(labels.column(label)) {
        Some(&score) => Ok(score),
        None => Err(Error::DenseLabel { fsa: 0, arc: 0, label, num_classes: row.len() }),
    }
}
