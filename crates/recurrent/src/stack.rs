//! Stacked layers, in one direction or both.

use std::ops::Range;

use kaldera_base::{Real, par};
use lod::LodTensor;

use crate::cell::{Cell, Saved};
use crate::dropout::Dropout;
use crate::error::Error;
use crate::parameters::{Parameters, Visitor, VisitorMut};
use crate::prepared::Prepared;
use crate::state::{Direction, OutputGradients, State};

/// Number of rows that a thread copies at once.
const ROWS_AT_ONCE: usize = 256;

/// A cell that runs from the start of the sequences, and optionally one that runs from their end;
/// or values that belong to such cells.
///
/// With both, a row of the output is `[forward | reverse]`.
#[derive(Debug, Clone)]
pub struct Layer<C> {
    /// Cell from the first row to the last.
    pub forward: C,
    /// Cell from the last row to the first.
    pub reverse: Option<C>,
}

/// Layers that each take the output of the layer before: PyTorch's `nn.RNN`, `nn.LSTM` and
/// `nn.GRU`.
///
/// ```text
///   x [rows, input] -> layer 0 -> (dropout) -> layer 1 -> ... -> y [rows, output]
/// ```
///
/// States are slices with one state for each layer and direction: layer 0 forward and reverse, then
/// layer 1 and so on, which is PyTorch's order. The gradient by a `Stack<C>` is a `Stack` of the
/// cells' weights.
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::train::uniform;
/// use recurrent::{Gru, Stack};
///
/// // Two layers in both directions: 3 values a row, 4 hidden units.
/// let mut network = Stack::<Gru<f32>>::new(2, true, 3, |inputs| Gru::zeros(inputs, 4));
/// uniform(&mut network, 0.5, 7);
///
/// // Two sentences, of 5 and 2 words; no padding.
/// let x = LodTensor::from_vec([7, 3], vec![0.1; 21], Lod::from_lengths(&[[5, 2]])?)?;
/// let (out, saved) = network.forward(&x, &[], None)?;
/// assert_eq!((out.y.shape().to_vec(), out.last.len()), (vec![7, 8], 4));
///
/// // As if the loss were half of the sum of squares.
/// let grads = saved.backward(Some(&out.y), &[])?;
/// assert_eq!((grads.x.shape(), grads.weights.layers.len()), (x.shape(), 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Stack<C> {
    /// The layers, from the input to the output.
    pub layers: Vec<Layer<C>>,
}

/// A [`Stack`] ready to run, the weights of all its cells checked and packed. Meant for streams.
/// See [`Prepared`].
#[derive(Debug, Clone)]
pub struct PreparedStack<T: Real> {
    stack: Stack<Prepared<T>>,
}

/// Output of a [`Stack`].
#[derive(Debug, Clone)]
pub struct StackOutput<T: Real> {
    /// The output of the last layer, with the LoD of the input.
    pub y: LodTensor<T>,
    /// The last state of each layer and direction.
    #[doc(alias = "h_n")]
    #[doc(alias = "c_n")]
    pub last: Vec<State<T>>,
}

/// Gradients by the inputs of a [`Stack`] of cells with weights `W`.
#[derive(Debug, Clone)]
pub struct StackGradients<T: Real, W> {
    /// By the input.
    pub x: LodTensor<T>,
    /// By the initial state of each layer and direction, even if none were given.
    pub initial: Vec<State<T>>,
    /// By the weights.
    pub weights: Stack<W>,
}

/// Values of the forward pass that the backward pass of a [`Stack`] needs.
#[derive(Debug)]
pub struct StackSaved<S> {
    layers: Vec<Layer<SavedCell<S>>>,
    rows: usize,
    dropout: Option<Dropout>,
}

#[derive(Debug)]
struct SavedCell<S> {
    saved: S,
    output_size: usize,
}

/// Returns the name of the dropout mask before a layer.
fn mask_name(layer: usize) -> String {
    format!("dropout before layer {layer}")
}

impl<C> Layer<C> {
    /// Returns the number of cells: one or two.
    fn len(&self) -> usize {
        1 + usize::from(self.reverse.is_some())
    }

    /// Returns the cells with PyTorch's suffix for the names of their weights.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&C, &'static str)> {
        std::iter::once((&self.forward, "")).chain(self.reverse.iter().map(|cell| (cell, "_reverse")))
    }

    fn cells_mut(&mut self) -> impl Iterator<Item = (&mut C, &'static str)> {
        std::iter::once((&mut self.forward, "")).chain(self.reverse.iter_mut().map(|cell| (cell, "_reverse")))
    }
}

impl<C> Stack<C> {
    /// Creates `layers` layers in one direction or both. The first takes rows of `inputs` values.
    /// `cell` makes a cell, given the width of its input.
    pub fn new<T: Real>(layers: usize, both_directions: bool, inputs: usize, cell: impl Fn(usize) -> C) -> Self
    where
        C: Cell<T>,
    {
        let mut stack = Self { layers: Vec::with_capacity(layers) };
        let mut width = inputs;
        for _ in 0..layers {
            let layer = Layer { forward: cell(width), reverse: both_directions.then(|| cell(width)) };
            width = layer.cells().map(|(cell, _)| cell.output_size()).sum();
            stack.layers.push(layer);
        }
        stack
    }

    /// Returns the number of states: one for each layer and direction.
    pub fn num_states(&self) -> usize {
        self.layers.iter().map(Layer::len).sum()
    }

    /// Runs a forward pass that keeps nothing for a backward pass: for recognition, not for
    /// training. `initial` has a state for each layer and direction, or is empty for zeros.
    ///
    /// # Errors
    /// [`Error::Zero`] without layers; [`Error::Count`] for another number of states; the errors of
    /// [`Cell::run`].
    pub fn run<T: Real>(&self, x: &LodTensor<T>, initial: &[State<T>]) -> Result<StackOutput<T>, Error>
    where
        C: Cell<T>,
    {
        self.prepare()?.run(x, initial)
    }

    /// Prepares the stack to run, for many calls with few steps each: see [`Prepared`].
    ///
    /// # Errors
    /// [`Error::Zero`] without layers; the errors of [`Cell::prepare`].
    pub fn prepare<T: Real>(&self) -> Result<PreparedStack<T>, Error>
    where
        C: Cell<T>,
    {
        let prepared = self.layers.iter().map(|layer| {
            let (forward, reverse) =
                par::join(|| layer.forward.prepare(), || layer.reverse.as_ref().map(|cell| cell.prepare()));
            Ok(Layer { forward: forward?, reverse: reverse.transpose()? })
        });
        let stack = Stack { layers: prepared.collect::<Result<_, Error>>()? };
        if stack.layers.is_empty() {
            return Err(Error::Zero { what: "the number of layers" });
        }
        Ok(PreparedStack { stack })
    }

    /// Runs like [`run`](Self::run), but keeps the values that [`StackSaved::backward`] needs.
    /// Applies `dropout` between the layers; take another seed for each pass.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::Range`] for the probability of the dropout.
    pub fn forward<'a, T: Real>(
        &'a self,
        x: &LodTensor<T>,
        initial: &[State<T>],
        dropout: Option<Dropout>,
    ) -> Result<(StackOutput<T>, StackSaved<C::Saved<'a>>), Error>
    where
        C: Cell<T>,
    {
        dropout.map_or(Ok(()), |dropout| dropout.check())?;
        let mut initial = self.states("the number of initial states", initial)?;
        let mut out = StackOutput { y: x.clone(), last: Vec::with_capacity(self.num_states()) };
        let mut saved = StackSaved { layers: Vec::with_capacity(self.layers.len()), rows: x.num_rows(), dropout };
        for (i, layer) in self.layers.iter().enumerate() {
            if let Some(dropout) = dropout.filter(|_| i > 0) {
                dropout.apply_in_place(&mask_name(i), out.y.values_mut());
            }
            let [forward, reverse] = initial.take_first(layer);
            let (a, b) = par::join(
                || layer.forward.forward(&out.y, Direction::Forward, forward),
                || layer.reverse.as_ref().map(|cell| cell.forward(&out.y, Direction::Reverse, reverse)),
            );
            let ((a, saved_a), b) = (a?, b.transpose()?);
            let forward = SavedCell { saved: saved_a, output_size: a.y.width() };
            out.last.push(a.last);
            let reverse = match b {
                Some((b, saved_b)) => {
                    out.last.push(b.last);
                    out.y = side_by_side(&a.y, &b.y)?;
                    Some(SavedCell { saved: saved_b, output_size: b.y.width() })
                }
                None => {
                    out.y = a.y;
                    None
                }
            };
            saved.layers.push(Layer { forward, reverse });
        }
        Ok((out, saved))
    }

    fn states<'s, T: Real>(&self, what: &'static str, states: &'s [State<T>]) -> Result<States<'s, T>, Error> {
        if self.layers.is_empty() {
            return Err(Error::Zero { what: "the number of layers" });
        }
        States::new(what, states, self.num_states())
    }
}

impl<T: Real> PreparedStack<T> {
    /// Runs a forward pass, with the results of [`Stack::run`] to the last bit. `initial` has a
    /// state for each layer and direction, or is empty for zeros.
    ///
    /// # Errors
    /// [`Error::Count`] for another number of states; the errors of [`Prepared::run`].
    pub fn run(&self, x: &LodTensor<T>, initial: &[State<T>]) -> Result<StackOutput<T>, Error> {
        let mut initial = self.stack.states("the number of initial states", initial)?;
        let mut out = StackOutput { y: x.clone(), last: Vec::with_capacity(self.stack.num_states()) };
        for layer in &self.stack.layers {
            let [forward, reverse] = initial.take_first(layer);
            let (a, b) = par::join(
                || layer.forward.run(&out.y, Direction::Forward, forward),
                || layer.reverse.as_ref().map(|cell| cell.run(&out.y, Direction::Reverse, reverse)),
            );
            let (a, b) = (a?, b.transpose()?);
            out.last.push(a.last);
            out.y = match b {
                Some(b) => {
                    out.last.push(b.last);
                    side_by_side(&a.y, &b.y)?
                }
                None => a.y,
            };
        }
        Ok(out)
    }
}

impl<S> StackSaved<S> {
    /// Returns the gradients by all inputs, given the gradients by the outputs: by
    /// [`StackOutput::y`], and by [`StackOutput::last`], for which an empty slice stands for zeros.
    ///
    /// # Errors
    /// [`Error::Count`] for another number of states; the errors of [`Saved::backward`].
    pub fn backward<T: Real>(
        self,
        y: Option<&LodTensor<T>>,
        last: &[State<T>],
    ) -> Result<StackGradients<T, S::Weights>, Error>
    where
        S: Saved<T> + Send,
        S::Weights: Send,
    {
        let num_states = self.layers.iter().map(Layer::len).sum();
        let mut last = States::new("the number of gradients of last states", last, num_states)?;
        let mut grad_y = y.cloned();
        let (mut initial, mut layers) = (Vec::with_capacity(num_states), Vec::with_capacity(self.layers.len()));
        for (i, layer) in self.layers.into_iter().enumerate().rev() {
            let [last_a, last_b] = last.take_last(&layer);
            let Layer { forward, reverse } = layer;
            let (y_a, y_b) = match (&grad_y, &reverse) {
                (Some(y), Some(reverse)) => {
                    let (a, b) = apart(y, self.rows, [forward.output_size, reverse.output_size])?;
                    (Some(a), Some(b))
                }
                (y, _) => (y.clone(), None),
            };
            let (a, b) = par::join(
                || forward.saved.backward(OutputGradients { y: y_a.as_ref(), last: last_a, cells: None }),
                || {
                    reverse
                        .map(|cell| cell.saved.backward(OutputGradients { y: y_b.as_ref(), last: last_b, cells: None }))
                },
            );
            let (a, b) = (a?, b.transpose()?);
            let mut x = a.x;
            let reverse = b.map(|b| {
                add(x.values_mut(), b.x.values());
                initial.push(b.initial);
                b.weights
            });
            // From the last layer; reversed below.
            initial.push(a.initial);
            layers.push(Layer { forward: a.weights, reverse });
            if let Some(dropout) = self.dropout.filter(|_| i > 0) {
                dropout.apply_in_place(&mask_name(i), x.values_mut());
            }
            grad_y = Some(x);
        }
        initial.reverse();
        layers.reverse();
        let x = grad_y.ok_or(Error::Zero { what: "the number of layers" })?;
        Ok(StackGradients { x, initial, weights: Stack { layers } })
    }
}

/// `weight_ih_l0`, `weight_hh_l0_reverse`, `bias_l1` and so on: the cells' names with PyTorch's
/// suffixes.
impl<T: Real, P: Parameters<T>> Parameters<T> for Stack<P> {
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>) {
        for (i, layer) in self.layers.iter().enumerate() {
            for (cell, ending) in layer.cells() {
                cell.visit(&mut |name, shape, values| f(&format!("{name}_l{i}{ending}"), shape, values));
            }
        }
    }

    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>) {
        for (i, layer) in self.layers.iter_mut().enumerate() {
            for (cell, ending) in layer.cells_mut() {
                cell.visit_mut(&mut |name, shape, values| f(&format!("{name}_l{i}{ending}"), shape, values));
            }
        }
    }
}

/// A state for each cell of a stack, or none at all; taken layer by layer.
struct States<'s, T: Real> {
    left: &'s [State<T>],
}

impl<'s, T: Real> States<'s, T> {
    fn new(what: &'static str, states: &'s [State<T>], expected: usize) -> Result<Self, Error> {
        match states.len() {
            0 => Ok(Self { left: states }),
            found if found == expected => Ok(Self { left: states }),
            found => Err(Error::Count { what, expected, found }),
        }
    }

    /// Takes the states of the next layer.
    fn take_first<C>(&mut self, layer: &Layer<C>) -> [Option<&'s State<T>>; 2] {
        let (states, left) = self.left.split_at(layer.len().min(self.left.len()));
        self.left = left;
        [states.first(), states.get(1)]
    }

    /// Takes the states of the last remaining layer.
    fn take_last<C>(&mut self, layer: &Layer<C>) -> [Option<&'s State<T>>; 2] {
        let (left, states) = self.left.split_at(self.left.len().saturating_sub(layer.len()));
        self.left = left;
        [states.first(), states.get(1)]
    }
}

/// Concatenates the rows of `a` and `b`.
fn side_by_side<T: Real>(a: &LodTensor<T>, b: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
    let (rows, left, width) = (a.num_rows(), a.width(), a.width() + b.width());
    let mut values = kaldera_base::memory::zeros(rows * width);
    let parts = values.chunks_mut((ROWS_AT_ONCE * width).max(1)).enumerate().collect();
    par::for_each(parts, |(part, values): (usize, &mut [T])| {
        for (row, to) in (part * ROWS_AT_ONCE..).zip(values.chunks_exact_mut(width)) {
            to[..left].copy_from_slice(a.row(row));
            to[left..].copy_from_slice(b.row(row));
        }
    });
    Ok(LodTensor::from_vec([rows, width], values, a.lod().clone())?)
}

/// Inverts [`side_by_side`].
fn apart<T: Real>(
    y: &LodTensor<T>,
    rows: usize,
    [left, right]: [usize; 2],
) -> Result<(LodTensor<T>, LodTensor<T>), Error> {
    Error::check_shape("the gradient of the output", &[rows, left + right], y.shape())?;
    let columns = |columns: Range<usize>| {
        let width = columns.len();
        let mut values = kaldera_base::memory::zeros(rows * width);
        let parts = values.chunks_mut((ROWS_AT_ONCE * width).max(1)).enumerate().collect();
        par::for_each(parts, |(part, values): (usize, &mut [T])| {
            for (row, to) in (part * ROWS_AT_ONCE..).zip(values.chunks_exact_mut(width)) {
                to.copy_from_slice(&y.row(row)[columns.clone()]);
            }
        });
        LodTensor::from_vec([rows, width], values, y.lod().clone())
    };
    Ok((columns(0..left)?, columns(left..left + right)?))
}

/// Adds the values of `more` to `to`.
fn add<T: Real>(to: &mut [T], more: &[T]) {
    /// Number of values of a task.
    const AT_ONCE: usize = 1 << 16;
    let parts = to.chunks_mut(AT_ONCE).zip(more.chunks(AT_ONCE)).collect();
    par::for_each(parts, |(to, more): (&mut [T], &[T])| to.iter_mut().zip(more).for_each(|(to, &more)| *to += more));
}
