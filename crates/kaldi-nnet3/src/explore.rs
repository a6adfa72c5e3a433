//! Finds the rows that can be computed from the rows that are given.

use std::cell::Cell;

use crate::descriptor::{Descriptor, IndexVariable};
use crate::layer::Times;
use crate::network::{Entry, Graph};

/// A frame, and the third index, which is 0 but for `DistributeComponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Index {
    pub(crate) x: i32,
    pub(crate) t: i32,
}

impl Index {
    pub(crate) fn at(t: i32) -> Self {
        Self { x: 0, t }
    }

    pub(crate) fn later(self, frames: i32) -> Self {
        Self { t: self.t + frames, ..self }
    }
}

/// Values by index. Frames that were set are close to each other.
#[derive(Clone, Debug)]
pub(crate) struct Grid<T> {
    default: T,
    /// For each x: the first frame, and the values from there on.
    axes: Vec<(i32, i32, Vec<T>)>,
}

impl<T: Copy> Grid<T> {
    pub(crate) fn new(default: T) -> Self {
        Self { default, axes: Vec::new() }
    }

    pub(crate) fn get(&self, index: Index) -> T {
        let axis = self.axes.iter().find(|(x, ..)| *x == index.x);
        let value = axis.and_then(|(_, base, values)| values.get(usize::try_from(index.t - base).ok()?));
        value.copied().unwrap_or(self.default)
    }

    pub(crate) fn set(&mut self, index: Index, value: T) {
        let place = self.axes.iter().position(|(x, ..)| *x == index.x).unwrap_or_else(|| {
            self.axes.push((index.x, index.t, Vec::new()));
            self.axes.len() - 1
        });
        let (_, base, values) = &mut self.axes[place];
        if index.t < *base {
            // Some more, so that a walk back is not quadratic.
            let more = (*base - index.t).unsigned_abs() as usize + values.len() / 2 + 16;
            values.splice(0..0, std::iter::repeat_n(self.default, more));
            *base -= i32::try_from(more).unwrap_or(i32::MAX);
        }
        let at = (index.t - *base).unsigned_abs() as usize;
        if at >= values.len() {
            values.resize((at + 1).max(values.len() * 3 / 2), self.default);
        }
        values[at] = value;
    }
}

/// The frames of an input that are given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// Those from the first to before the second.
    Range(i32, i32),
    /// All.
    Any,
    /// These.
    Frames(Vec<i32>),
}

impl Given {
    fn has(&self, index: Index) -> bool {
        index.x == 0
            && match self {
                Self::Range(from, to) => (*from..*to).contains(&index.t),
                Self::Any => true,
                Self::Frames(frames) => frames.contains(&index.t),
            }
    }
}

/// A row that is a part of a sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    /// The node of the descriptor.
    pub(crate) node: usize,
    pub(crate) index: Index,
    pub(crate) scale: f32,
}

/// An answer, or the row that it depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Yes,
    No,
    Needs(usize, Index),
}

/// Knowledge of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Unknown,
    Computable,
    NotComputable,
    /// Its own answer is looked for: a loop has none.
    Open,
}

/// Rows of windows that may be looked at for the plans of a network: a fraction of a second.
pub(crate) const MAX_LOOKS: u64 = 1 << 22;

/// Frames beyond the given ones that may be looked at.
const REACH: i32 = 1 << 14;

/// Largest third index, either way.
const MAX_X: u32 = 1 << 8;

/// Finds rows that can be computed.
pub(crate) struct Explorer<'g> {
    pub(crate) graph: &'g Graph,
    /// The frames of each input node.
    pub(crate) given: Vec<Option<Given>>,
    /// The row of each index that is computed already, by node.
    pub(crate) rows: Vec<Grid<u32>>,
    states: Vec<Grid<State>>,
    /// Frames between which an answer is looked for.
    bounds: (i32, i32),
    /// Number of rows of windows that were looked at.
    looks: Cell<u64>,
}

/// Stands for a row that is not there.
pub(crate) const MISSING: u32 = u32::MAX;

impl<'g> Explorer<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let count = graph.entries.len();
        Self {
            graph,
            given: vec![None; count],
            rows: vec![Grid::new(MISSING); count],
            states: vec![Grid::new(State::Unknown); count],
            bounds: (0, 0),
            looks: Cell::new(0),
        }
    }

    /// Forgets all answers, as more rows are given now, around the frames `from` to `to`.
    pub(crate) fn restart(&mut self, from: i32, to: i32) {
        self.states.fill(Grid::new(State::Unknown));
        self.bounds = (from.saturating_sub(REACH), to.saturating_add(REACH));
    }

    fn state(&self, node: usize, index: Index) -> Answer {
        let node = self.graph.reference(node).node;
        if self.rows[node].get(index) != MISSING {
            return Answer::Yes;
        }
        // A network that counts x is small: others would be searched in two directions.
        let near = (self.bounds.0..=self.bounds.1).contains(&index.t) && index.x.unsigned_abs() <= MAX_X;
        if !near || index.x != 0 && !self.look() {
            return Answer::No;
        }
        let yes = |yes| if yes { Answer::Yes } else { Answer::No };
        match &self.graph.entries[node] {
            Entry::Input => yes(self.given[node].as_ref().is_some_and(|given| given.has(index))),
            Entry::Unused => Answer::No,
            Entry::Computed { .. } => match self.states[node].get(index) {
                State::Unknown => Answer::Needs(node, index),
                state => yes(state == State::Computable),
            },
        }
    }

    /// Answers whether an expression can be computed at an index.
    fn check(&self, descriptor: &Descriptor, index: Index) -> Answer {
        match descriptor {
            Descriptor::Node(node) => self.state(*node, index),
            Descriptor::Const { .. } | Descriptor::IfDefined(_) => Answer::Yes,
            Descriptor::Append(parts) | Descriptor::Sum(parts) => {
                let mut answers = parts.iter().map(|part| self.check(part, index));
                answers.find(|answer| *answer != Answer::Yes).unwrap_or(Answer::Yes)
            }
            // The second first: the first may be a long way back.
            Descriptor::Failover(first, second) => match self.check(second, index) {
                Answer::No => self.check(first, index),
                answer => answer,
            },
            Descriptor::Scale(_, of) => self.check(of, index),
            other => match moved(other, index) {
                Some((of, index)) => self.check(of, index),
                None => Answer::No,
            },
        }
    }

    /// Answers whether a row can be computed. The first `passed` rows of a window are known not to
    /// be there.
    fn check_node(&self, node: usize, index: Index, passed: &mut usize) -> Answer {
        let Entry::Computed { layer, input } = &self.graph.entries[node] else { return self.state(node, index) };
        match &layer.times {
            Times::None => Answer::Yes,
            Times::Same => self.check(input, index),
            Times::Offsets(offsets) => {
                let required = offsets.iter().filter(|(_, required)| *required);
                let mut answers = required.map(|&(offset, _)| self.check(input, index.later(offset)));
                answers.find(|answer| *answer != Answer::Yes).unwrap_or(Answer::Yes)
            }
            Times::Divided(parts) => self.check(input, Index { x: index.x.div_euclid(*parts), ..index }),
            times => {
                let indexes = window(times, index).into_iter().flatten().skip(*passed);
                for index in indexes.take_while(|_| self.look()) {
                    match self.check(input, index) {
                        Answer::No => *passed += 1,
                        answer => return answer,
                    }
                }
                Answer::No
            }
        }
    }

    /// Counts a row of a window; `false` if there were too many.
    fn look(&self) -> bool {
        self.looks.set(self.looks.get() + 1);
        !self.is_exhausted()
    }

    /// Returns the number of rows of windows that were looked at.
    pub(crate) fn looks(&self) -> u64 {
        self.looks.get()
    }

    /// Returns `true` if so many rows of windows were looked at that the answers since are of no
    /// use.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.looks.get() > MAX_LOOKS
    }

    /// Returns `true` if a row of a node can be computed.
    pub(crate) fn computable(&mut self, node: usize, index: Index) -> bool {
        match self.state(node, index) {
            Answer::Yes => true,
            Answer::No => false,
            Answer::Needs(node, index) => {
                self.settle(node, index);
                self.state(node, index) == Answer::Yes
            }
        }
    }

    /// Finds the answer for a row, with a stack of its own, as networks are deep in time.
    fn settle(&mut self, node: usize, index: Index) {
        let mut open = vec![(node, index, 0)];
        self.states[node].set(index, State::Open);
        while let Some((node, index, passed)) = open.last_mut() {
            let (node, index) = (*node, *index);
            let state = match self.check_node(node, index, passed) {
                Answer::Needs(node, index) => {
                    self.states[node].set(index, State::Open);
                    open.push((node, index, 0));
                    continue;
                }
                Answer::Yes => State::Computable,
                Answer::No => State::NotComputable,
            };
            self.states[node].set(index, state);
            open.pop();
        }
    }

    /// Returns `true` if an expression can be computed at an index.
    pub(crate) fn holds(&mut self, descriptor: &Descriptor, index: Index) -> bool {
        loop {
            match self.check(descriptor, index) {
                Answer::Yes => return true,
                Answer::No => return false,
                Answer::Needs(node, index) => self.settle(node, index),
            }
        }
    }

    /// Appends the rows whose sum an expression is at an index at which it can be computed, and
    /// returns the number to add to each element.
    pub(crate) fn terms(&mut self, descriptor: &Descriptor, index: Index, scale: f32, terms: &mut Vec<Term>) -> f32 {
        match descriptor {
            Descriptor::Node(node) => {
                terms.push(Term { node: *node, index, scale });
                0.0
            }
            Descriptor::Const { value, .. } => scale * value,
            Descriptor::Append(parts) | Descriptor::Sum(parts) => {
                parts.iter().map(|part| self.terms(part, index, scale, terms)).sum()
            }
            Descriptor::Failover(first, second) => {
                let chosen = if self.holds(first, index) { first } else { second };
                self.terms(chosen, index, scale, terms)
            }
            Descriptor::IfDefined(of) => match self.holds(of, index) {
                true => self.terms(of, index, scale, terms),
                false => 0.0,
            },
            Descriptor::Scale(factor, of) => self.terms(of, index, scale * factor, terms),
            other => match moved(other, index) {
                Some((of, index)) => self.terms(of, index, scale, terms),
                None => 0.0,
            },
        }
    }

    /// Returns the indexes at which the input of a row is evaluated. The rows that are not there
    /// are `None`, and are zero.
    pub(crate) fn input_indexes(&mut self, node: usize, index: Index) -> Vec<Option<Index>> {
        let graph = self.graph;
        let Entry::Computed { layer, input } = &graph.entries[node] else { return Vec::new() };
        match &layer.times {
            Times::None => Vec::new(),
            Times::Same => vec![Some(index)],
            Times::Offsets(offsets) => {
                let indexes = offsets.iter().map(|&(offset, _)| index.later(offset));
                indexes.map(|index| self.holds(input, index).then_some(index)).collect()
            }
            Times::Divided(parts) => vec![Some(Index { x: index.x.div_euclid(*parts), ..index })],
            times => {
                let indexes: Vec<Index> =
                    window(times, index).into_iter().flatten().take_while(|_| self.look()).collect();
                indexes.into_iter().filter_map(|index| self.holds(input, index).then_some(Some(index))).collect()
            }
        }
    }
}

/// Returns the expression inside of one that changes the index, and the changed index.
fn moved(descriptor: &Descriptor, index: Index) -> Option<(&Descriptor, Index)> {
    match descriptor {
        Descriptor::Offset { of, t, x } => Some((of, Index { t: index.t + t, x: index.x.saturating_add(*x) })),
        Descriptor::Round { of, modulus } => Some((of, index.later(-index.t.rem_euclid(*modulus)))),
        Descriptor::Switch(parts) => {
            let count = i32::try_from(parts.len()).ok().filter(|&count| count > 0)?;
            let place = usize::try_from(index.t.rem_euclid(count)).ok()?;
            Some((parts.get(place)?, index))
        }
        Descriptor::ReplaceIndex { of, variable: IndexVariable::T, value } => Some((of, Index { t: *value, ..index })),
        Descriptor::ReplaceIndex { of, variable: IndexVariable::X, value } => Some((of, Index { x: *value, ..index })),
        _ => None,
    }
}

/// Returns the indexes of a window of statistics; `None` at a frame that has none.
fn window(times: &Times, index: Index) -> Option<impl Iterator<Item = Index> + use<>> {
    let (from, to, step) = match *times {
        Times::Block { period, step } => {
            let from = index.t - index.t.rem_euclid(period);
            (from, from + period - 1, step)
        }
        Times::Window { left, right, step } if index.t.rem_euclid(step) == 0 => (index.t - left, index.t + right, step),
        _ => return None,
    };
    let steps = (from..=to).step_by(usize::try_from(step).unwrap_or(1).max(1));
    Some(steps.map(move |t| Index { t, ..index }))
}
