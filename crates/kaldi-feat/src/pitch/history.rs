//! The search's data of frames until their pitch is final.

use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::error::Error;
use crate::pitch::plan::Plan;
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
/// Rows before a row that all paths pass through are dropped: the results of their frames are
/// final. That row itself stays, as the next row's ways back lead to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct History {
    /// The number of the first row that is kept.
    first: usize,
    /// Rows of [`Transitions::row_len`] costs.
    costs: Rows,
    /// Rows of [`Grid::measured_row`] correlations without ballast.
    pov: Rows,
    /// The lag of each row on the best path, as far as the path was followed.
    states: Vec<u32>,
}

/// Rows of values, of which equal neighbours can be kept once. In digital silence no path is better
/// than another, and all rows are the same before long.
#[derive(Debug, Clone, PartialEq)]
struct Rows {
    len: usize,
    /// The rows that differ.
    values: Vec<f32>,
    /// For each row, the index of its values: the index of the row before, or the next one.
    places: Vec<u32>,
}

impl Rows {
    /// Creates no rows yet, of `len` values each.
    fn new(len: usize) -> Self {
        Self { len, values: Vec::new(), places: Vec::new() }
    }

    /// Keeps only this row, in the memory that it has.
    fn restart(&mut self, row: impl IntoIterator<Item = f32>) {
        self.values.clear();
        self.values.extend(row);
        self.places.clear();
        self.places.push(0);
    }

    fn get(&self, row: usize) -> &[f32] {
        &self.values[self.places[row] as usize * self.len..][..self.len]
    }

    /// Keeps the last row once, if the one before it has the same bits.
    fn share_last(&mut self) {
        if let [.., before, last] = self.places[..] {
            let at = last as usize * self.len;
            let (rest, row) = self.values.split_at(at);
            let same = before != last && rest[at - self.len..].iter().zip(row).all(|(a, b)| a.to_bits() == b.to_bits());
            if same {
                self.values.truncate(at);
                self.places.pop();
                self.places.push(before);
            }
        }
    }

    /// Makes room for a row. Returns the row before it, and the new row.
    fn push(&mut self) -> (&[f32], &mut [f32]) {
        let at = self.values.len();
        self.places.push(u32::try_from(at / self.len).expect("memory holds fewer rows"));
        self.values.resize(at + self.len, 0.0);
        let (before, row) = self.values.split_at_mut(at);
        (&before[at - self.len..], row)
    }

    /// Returns a row and the next one, neither of which is shared.
    fn pair(&mut self, row: usize) -> (&[f32], &mut [f32]) {
        let at = self.places[row] as usize * self.len;
        let (before, after) = self.values[at..at + 2 * self.len].split_at_mut(self.len);
        (before, after)
    }

    fn drop_first(&mut self, rows: usize) {
        self.places.drain(..rows);
        let gone = self.places[0];
        self.values.drain(..gone as usize * self.len);
        self.places.iter_mut().for_each(|place| *place -= gone);
    }

    fn save(&self, state: &mut StateWriter) {
        state.f32s(&self.values);
        state.bytes(&self.places.iter().flat_map(|place| place.to_le_bytes()).collect::<Vec<u8>>());
    }

    fn restore(len: usize, state: &mut StateReader<'_>) -> Result<Option<Self>, Error> {
        let (values, places) = (state.f32s()?, u32s(state.bytes()?));
        let Some(places) = places else { return Ok(None) };
        let in_order = places.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) <= 1);
        let fits = match (places.first(), places.last()) {
            (Some(0), Some(&last)) => in_order && (last as usize + 1).checked_mul(len) == Some(values.len()),
            _ => false,
        };
        Ok(fits.then_some(Self { len, values, places }))
    }
}

fn u32s(bytes: &[u8]) -> Option<Vec<u32>> {
    let (numbers, rest) = bytes.as_chunks();
    rest.is_empty().then(|| numbers.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect())
}

/// The result for a frame: correlation and pitch in Hz.
pub(super) type Found = [f32; 2];

impl History {
    pub(super) fn new(plan: &Plan) -> Self {
        let (costs, pov) = (Rows::new(plan.transitions.row_len()), Rows::new(plan.grid.measured_row()));
        let mut history = Self { first: 0, costs, pov, states: Vec::new() };
        history.restart(plan);
        history
    }

    /// Goes back to before the first frame, in the memory that it has.
    pub(super) fn restart(&mut self, plan: &Plan) {
        self.first = 0;
        self.costs.restart(plan.transitions.start());
        self.pov.restart(std::iter::repeat_n(0.0, plan.grid.measured_row()));
        self.states.clear();
        self.states.push(NOWHERE);
    }

    /// Returns the number of rows that are kept.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns one more than the number of the last row: frames, and the one before them.
    pub(super) fn end(&self) -> usize {
        self.first + self.len()
    }

    /// Makes room for a row. Returns the costs of the frame before it, its own costs, and its
    /// correlations. The rows before it must not be written again if they may be `shared`.
    pub(super) fn push(&mut self, shared: bool) -> (&[f32], &mut [f32], &mut [f32]) {
        if shared {
            self.costs.share_last();
            self.pov.share_last();
        }
        self.states.push(NOWHERE);
        let (before, after) = self.costs.push();
        (before, after, self.pov.push().1)
    }

    /// Returns `true` if equal rows are kept once.
    pub(super) fn is_shared(&self) -> bool {
        [&self.costs, &self.pov].iter().any(|rows| rows.values.len() < self.len() * rows.len)
    }

    /// Returns the costs of kept row `row` and, for writing, of the next one, while no rows are
    /// shared.
    pub(super) fn row_pair(&mut self, row: usize) -> (&[f32], &mut [f32]) {
        self.costs.pair(row)
    }

    /// Returns the lag before `state` in kept row `row`.
    #[inline(always)]
    fn back<S: Simd>(&self, s: S, plan: &Plan, row: usize, state: usize) -> usize {
        plan.transitions.back(s, self.costs.get(row - 1), state)
    }

    /// Forgets the paths, so that they will be followed anew.
    pub(super) fn forget_paths(&mut self) {
        self.states.fill(NOWHERE);
    }

    /// Follows the best path back to where it joins the path that was followed last. `found` gets
    /// the frames with their results, the last one first.
    pub(super) fn follow_best(&mut self, plan: &Plan, found: impl FnMut(usize, Found)) {
        let row = self.len() - 1;
        dispatch(Follow { history: self, plan, row, state: None, found });
    }

    /// Counts the last frames for which the paths to all lags do not agree yet, up to `most`.
    pub(super) fn latency(&self, plan: &Plan, most: usize) -> usize {
        dispatch(Survivors { history: self, plan, most }).0
    }

    /// Drops the data of frames whose pitch is final, if there are any. `found` gets the frames
    /// that were on no path yet.
    pub(super) fn settle(&mut self, plan: &Plan, found: impl FnMut(usize, Found)) {
        let (_, Some((row, state))) = dispatch(Survivors { history: self, plan, most: usize::MAX }) else { return };
        dispatch(Follow { history: self, plan, row, state: Some(state), found });
        self.costs.drop_first(row);
        self.pov.drop_first(row);
        self.states.drain(..row);
        self.first += row;
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        state.u64(self.first as u64);
        self.costs.save(state);
        self.pov.save(state);
        state.bytes(&self.states.iter().flat_map(|state| state.to_le_bytes()).collect::<Vec<u8>>());
    }

    pub(super) fn restore(plan: &Plan, state: &mut StateReader<'_>) -> Result<Self, Error> {
        let first = state.usize()?;
        let costs = Rows::restore(plan.transitions.row_len(), state)?;
        let pov = Rows::restore(plan.grid.measured_row(), state)?;
        match (costs, pov, u32s(state.bytes()?)) {
            (Some(costs), Some(pov), Some(states))
                if [costs.places.len(), pov.places.len()] == [states.len(); 2]
                    && first.checked_add(states.len()).is_some() =>
            {
                Ok(Self { first, costs, pov, states })
            }
            _ => Err(Error::BadState { reason: "its search is of another size" }),
        }
    }
}

struct Follow<'a, F> {
    history: &'a mut History,
    plan: &'a Plan,
    row: usize,
    /// The lag to begin with; `None` for the lag of the lowest cost.
    state: Option<usize>,
    found: F,
}

impl<F: FnMut(usize, Found)> Kernel for Follow<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { history, plan, mut row, state, mut found } = self;
        let mut state = match state {
            Some(state) => state,
            None => plan.transitions.best_end(s, history.costs.get(row)),
        };
        let grid = &plan.grid;
        while row > 0 && history.states[row] != state as u32 {
            history.states[row] = state as u32;
            let pov = &history.pov.get(row)[..grid.num_measured];
            let lag = f64::from(grid.lags[state]);
            found(history.first + row - 1, [grid.resampler.value(state, pov), (1.0 / lag) as f32]);
            state = history.back(s, plan, row, state);
            row -= 1;
        }
    }
}

/// Follows the paths to the first and the last lag, between which all others run, back to where
/// they meet.
struct Survivors<'a> {
    history: &'a History,
    plan: &'a Plan,
    most: usize,
}

impl Kernel for Survivors<'_> {
    /// The number of frames passed, and the row and lag where the two paths meet.
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
