//! Start and end of a pass of any cell: checks, initial and final states.

use kaldera_base::{Real, par};
use kaldi_matrix::Matrix;
use lod::{LodTensor, RankTable};

use crate::error::Error;
use crate::kernels::sequence_buffers::{SequenceBuffers, cut, cut_mut};
use crate::state::{Direction, OutputGradients, State};

/// The sequences of a mini-batch, with the widths of a cell.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) table: RankTable,
    pub(crate) reverse: bool,
    /// The widths of inputs, outputs and cell states.
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) cells: usize,
}

impl Batch {
    /// Creates a batch for an input of width `inputs`; the last level gives the sequences.
    pub(crate) fn new<T: Real>(
        x: &LodTensor<T>,
        direction: Direction,
        [inputs, outputs, cells]: [usize; 3],
    ) -> Result<Self, Error> {
        Error::check_shape("the input", &[x.num_rows(), inputs], x.shape())?;
        let level = x.lod().num_levels().checked_sub(1).ok_or(lod::Error::NoLevel { level: 0, levels: 0 })?;
        let table = x.lod().rank_table(level)?;
        Ok(Self { table, reverse: direction == Direction::Reverse, inputs, outputs, cells })
    }

    pub(crate) fn num_rows(&self) -> usize {
        self.table.num_entries()
    }

    pub(crate) fn num_sequences(&self) -> usize {
        self.table.num_sequences()
    }

    /// Returns the initial states: the given ones, if they fit, or zeros.
    pub(crate) fn initial<T: Real>(&self, given: Option<&State<T>>) -> Result<State<T>, Error> {
        let Some(given) = given else { return Ok(State::zeros(self.num_sequences(), self.outputs, self.cells)) };
        self.check_state(["the hidden state", "the cell state"], given)?;
        check_finite("the hidden state", given.h.values())?;
        check_finite("the cell state", given.c.values())?;
        Ok(given.clone())
    }

    fn check_state<T: Real>(&self, [h, c]: [&'static str; 2], state: &State<T>) -> Result<(), Error> {
        Error::check_shape(h, &[self.num_sequences(), self.outputs], state.h.shape())?;
        Error::check_shape(c, &[self.num_sequences(), self.cells], state.c.shape())
    }

    /// Checks that gradients have the shape of the outputs. Returns the gradients by the last
    /// states, or zeros.
    pub(crate) fn check_gradients<T: Real>(
        &self,
        x: &LodTensor<T>,
        grads: &OutputGradients<'_, T>,
    ) -> Result<State<T>, Error> {
        let what = [
            ("the gradient of the output", grads.y, self.outputs),
            ("the gradient of the cells", grads.cells, self.cells),
        ];
        for (tensor, grad, width) in what {
            let Some(grad) = grad else { continue };
            Error::check_shape(tensor, &[self.num_rows(), width], grad.shape())?;
            if grad.lod() != x.lod() {
                return Err(Error::OtherLod { tensor, expected: x.lod().clone(), found: grad.lod().clone() });
            }
        }
        match grads.last {
            None => Ok(State::zeros(self.num_sequences(), self.outputs, self.cells)),
            Some(last) => {
                self.check_state(
                    ["the gradient of the last hidden state", "the gradient of the last cell state"],
                    last,
                )?;
                Ok(last.clone())
            }
        }
    }

    /// Returns the buffers of each sequence, empty.
    pub(crate) fn sequences<'a, T>(&self) -> Vec<SequenceBuffers<'a, T>> {
        self.table.splits().rows().map(|rows| SequenceBuffers::new(rows.len(), self.reverse)).collect()
    }

    /// Returns the row of each sequence's last step; `None` for sequences of length 0.
    fn last_rows(&self) -> impl Iterator<Item = Option<usize>> {
        self.table.splits().rows().map(|rows| match (rows.is_empty(), self.reverse) {
            (true, _) => None,
            (false, true) => Some(rows.start),
            (false, false) => Some(rows.end - 1),
        })
    }

    /// Overwrites the initial state of each sequence with the row of its last step in `values`. A
    /// sequence of length 0 keeps its initial state.
    pub(crate) fn keep_last<T: Real>(&self, values: &[T], states: &mut LodTensor<T>) {
        let width = states.width();
        for (state, row) in states.rows_mut().zip(self.last_rows()) {
            if let Some(row) = row {
                state.copy_from_slice(&values[row * width..][..width]);
            }
        }
    }

    /// Returns for each row the state before it: the row of the step before, or the initial one.
    pub(crate) fn before<T: Real>(&self, values: &[T], initial: &LodTensor<T>) -> Vec<T> {
        let width = initial.width();
        let mut before = kaldera_base::memory::zeros(values.len());
        let pieces = cut_mut(&mut before, &self.table, width).into_iter().zip(cut(values, &self.table, width));
        let pieces = pieces.zip(initial.rows()).filter(|((before, _), _)| !before.is_empty()).collect();
        par::for_each(pieces, |((before, values), initial): ((&mut [T], &[T]), &[T])| {
            if self.reverse {
                let (rest, last) = before.split_at_mut(values.len() - width);
                rest.copy_from_slice(&values[width..]);
                last.copy_from_slice(initial);
            } else {
                let (first, rest) = before.split_at_mut(width);
                first.copy_from_slice(initial);
                rest.copy_from_slice(&values[..values.len() - width]);
            }
        });
        before
    }
}

/// Checks that a matrix has this shape.
pub(crate) fn check_matrix<T: Real>(
    tensor: &'static str,
    expected: [usize; 2],
    found: &Matrix<T>,
) -> Result<(), Error> {
    Error::check_shape(tensor, &expected, &[found.num_rows(), found.num_cols()])
}

/// Checks that weights have this shape and are finite.
pub(crate) fn check_weights<T: Real>(
    tensor: &'static str,
    expected: [usize; 2],
    found: &Matrix<T>,
) -> Result<(), Error> {
    check_matrix(tensor, expected, found)?;
    check_finite(tensor, found.data())
}

/// Checks that a bias has this length and is finite.
pub(crate) fn check_bias<T: Real>(
    tensor: &'static str,
    expected: usize,
    found: Option<&kaldi_matrix::Vector<T>>,
) -> Result<(), Error> {
    let Some(found) = found else { return Ok(()) };
    Error::check_shape(tensor, &[expected], &[found.dim()])?;
    check_finite(tensor, found.data())
}

/// Checks that all numbers are finite.
pub(crate) fn check_finite<T: Real>(tensor: &'static str, values: &[T]) -> Result<(), Error> {
    /// Number of values in one check: 0 x is 0, or NaN if x is not finite.
    const BLOCK: usize = 64;
    for (block, part) in values.chunks(BLOCK).enumerate() {
        let sum: T = part.iter().map(|&x| x * T::ZERO).sum();
        if sum != T::ZERO {
            let within = part.iter().position(|x| !x.is_finite()).unwrap_or_default();
            let found = part[within].to_f64();
            return Err(Error::NotFinite { tensor, position: block * BLOCK + within, found });
        }
    }
    Ok(())
}

/// Checks that a limit is a positive number.
pub(crate) fn check_clip(what: &'static str, clip: Option<f64>) -> Result<(), Error> {
    match clip {
        Some(found) if !(found > 0.0 && found < f64::INFINITY) => {
            Err(Error::Range { what, low: f64::MIN_POSITIVE, high: f64::INFINITY, found })
        }
        _ => Ok(()),
    }
}
