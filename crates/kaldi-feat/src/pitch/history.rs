//! What the search remembers of frames until their pitch is sure.

use kaldera_base::simd::{Kernel, Simd, dispatch};

use super::extractor::Plan;
use crate::error::Error;
use crate::state::{StateReader, StateWriter};

/// A frame that is on no path yet.
const NOWHERE: u32 = u32::MAX;

/// Costs and correlations of the last frames.
///
/// ```text
///   row  0   frame -1: no costs. It is there so that frame 0 has one before it
///        1   frame 0
///        2   frame 1
///        ..
/// ```
///
/// Rows before one through which all paths go are dropped: what was found for their frames is sure. That row itself stays, as the next
/// one's ways back lead to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct History {
    /// The number of the first row that is kept.
    first: usize,
    /// Rows of [`Transitions::row_len`] costs.
    costs: Vec<f32>,
    /// Rows of [`Grid::measured_row`] correlations without ballast.
    pov: Vec<f32>,
    /// The lag of each row on the best path, as far as it was followed.
    states: Vec<u32>,
}

/// What was found for a frame: correlation and pitch in Hz.
pub(super) type Found = [f32; 2];

impl History {
    pub(super) fn new(plan: &Plan) -> Self {
        let pov = vec![0.0; plan.grid.measured_row()];
        Self { first: 0, costs: plan.transitions.start().collect(), pov, states: vec![NOWHERE] }
    }

    /// Rows that are kept.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// One more than the number of the last row: frames, and the one before them.
    pub(super) fn end(&self) -> usize {
        self.first + self.len()
    }

    /// The costs of the last frame.
    pub(super) fn last_costs(&self) -> &[f32] {
        let row = self.costs.len() / self.len();
        &self.costs[self.costs.len() - row..]
    }

    /// Makes room for a row. Gives the costs of the frame before it, its own, and its correlations.
    pub(super) fn push(&mut self) -> (&[f32], &mut [f32], &mut [f32]) {
        let (costs, pov) = (self.costs.len(), self.pov.len());
        let (cost_row, pov_row) = (costs / self.len(), pov / self.len());
        self.costs.resize(costs + cost_row, 0.0);
        self.pov.resize(pov + pov_row, 0.0);
        self.states.push(NOWHERE);
        let (before, after) = self.costs.split_at_mut(costs);
        (&before[costs - cost_row..], after, &mut self.pov[pov..])
    }

    /// The costs of kept row `row` and, for writing, of the next one.
    pub(super) fn row_pair(&mut self, row: usize) -> (&[f32], &mut [f32]) {
        let len = self.costs.len() / self.len();
        let (before, after) = self.costs[row * len..(row + 2) * len].split_at_mut(len);
        (before, after)
    }

    /// The lag before `state` in kept row `row`.
    #[inline(always)]
    fn back<S: Simd>(&self, s: S, plan: &Plan, row: usize, state: usize) -> usize {
        let len = plan.transitions.row_len();
        plan.transitions.back(s, &self.costs[(row - 1) * len..row * len], state)
    }

    /// Forgets the paths, so that they will be followed anew.
    pub(super) fn forget_paths(&mut self) {
        self.states.fill(NOWHERE);
    }

    /// Follows the best path back to where it joins the one that was followed last. `found` gets frames with what was found for them, the
    /// last one first.
    pub(super) fn follow_best(&mut self, plan: &Plan, found: impl FnMut(usize, Found)) {
        let end = plan.transitions.best_end(self.last_costs());
        let row = self.len() - 1;
        self.follow(plan, row, end, found);
    }

    fn follow(&mut self, plan: &Plan, row: usize, state: usize, found: impl FnMut(usize, Found)) {
        dispatch(Follow { history: self, plan, row, state, found });
    }

    /// Counts the last frames for which the paths to all lags do not agree yet, to `most` at most.
    pub(super) fn latency(&self, plan: &Plan, most: usize) -> usize {
        dispatch(Survivors { history: self, plan, most }).0
    }

    /// Drops what is no longer needed of frames whose pitch is sure, when there are any. `found` gets those of them that were on no path yet.
    pub(super) fn settle(&mut self, plan: &Plan, found: impl FnMut(usize, Found)) {
        let (_, Some((row, state))) = dispatch(Survivors { history: self, plan, most: usize::MAX }) else { return };
        self.follow(plan, row, state, found);
        let (cost_row, pov_row) = (self.costs.len() / self.len(), self.pov.len() / self.len());
        self.costs.drain(..row * cost_row);
        self.pov.drain(..row * pov_row);
        self.states.drain(..row);
        self.first += row;
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        state.u64(self.first as u64);
        state.f32s(&self.costs);
        state.f32s(&self.pov);
        state.bytes(&self.states.iter().flat_map(|state| state.to_le_bytes()).collect::<Vec<u8>>());
    }

    pub(super) fn restore(plan: &Plan, state: &mut StateReader<'_>) -> Result<Self, Error> {
        let (first, costs, pov) = (state.usize()?, state.f32s()?, state.f32s()?);
        let (states, rest) = state.bytes()?.as_chunks();
        let states: Vec<u32> = states.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let fits = !states.is_empty()
            && rest.is_empty()
            && costs.len() == states.len() * plan.transitions.row_len()
            && pov.len() == states.len() * plan.grid.measured_row()
            && first.checked_add(states.len()).is_some();
        if fits {
            Ok(Self { first, costs, pov, states })
        } else {
            Err(Error::BadState { reason: "its search is of another size" })
        }
    }
}

struct Follow<'a, F> {
    history: &'a mut History,
    plan: &'a Plan,
    row: usize,
    state: usize,
    found: F,
}

impl<F: FnMut(usize, Found)> Kernel for Follow<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { history, plan, mut row, mut state, mut found } = self;
        let grid = &plan.grid;
        while row > 0 && history.states[row] != state as u32 {
            history.states[row] = state as u32;
            let pov = &history.pov[row * grid.measured_row()..][..grid.num_measured];
            let lag = f64::from(grid.lags[state]);
            found(history.first + row - 1, [grid.resampler.value(state, pov), (1.0 / lag) as f32]);
            state = history.back(s, plan, row, state);
            row -= 1;
        }
    }
}

/// Follows the paths to the first and the last lag, between which all others run, to where they meet.
struct Survivors<'a> {
    history: &'a History,
    plan: &'a Plan,
    most: usize,
}

impl Kernel for Survivors<'_> {
    /// The frames that were gone through, and the row and lag where the two met.
    type Output = (usize, Option<(usize, usize)>);

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let Self { history, plan, most } = self;
        let (mut low, mut high) = (0, plan.transitions.num_states() - 1);
        for gone in 0..most.min(history.len() - 1) {
            let row = history.len() - 1 - gone;
            (low, high) = (history.back(s, plan, row, low), history.back(s, plan, row, high));
            if low == high {
                return (gone, Some((row - 1, low)));
            }
        }
        (most.min(history.len() - 1), None)
    }
}
