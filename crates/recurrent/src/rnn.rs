//! The simplest recurrence: h = f(W x + U h' + b).

mod steps;

use std::slice::from_ref;

use kaldera_base::Real;
use kaldera_base::memory;
use kaldera_base::simd::dispatch;
use kaldi_matrix::{Matrix, Vector};
use lod::LodTensor;

use self::steps::{Backward, Forward, PackedBackward, PackedForward};
use crate::kernels::track::{Track, cut, cut_mut, deal, for_each_part, give, lend_gates, parts};
use crate::pass::{Batch, check_bias, check_weights};
use crate::products::GateGradients;
use crate::visit::{visit_matrix, visit_matrix_mut, visit_vector, visit_vector_mut};
use crate::{
    Activation, Cell, Direction, Error, Gradients, Output, OutputGradients, Parameters, Saved, State, Visitor,
    VisitorMut,
};

/// Weights of an [`Rnn`], or gradients by them.
#[derive(Clone, Debug)]
pub struct RnnWeights<T: Real> {
    /// `[hidden, input]`. Without it, the input has been projected already and is `[rows, hidden]`.
    pub weight_ih: Option<Matrix<T>>,
    /// `[hidden, hidden]`
    pub weight_hh: Matrix<T>,
    /// `[hidden]`; PyTorch's two added.
    pub bias: Option<Vector<T>>,
}

/// An Elman network: h = f(W x + U h' + b), where h' is h of the step before.
#[derive(Clone, Debug)]
#[doc(alias = "RNNCell")]
pub struct Rnn<T: Real> {
    /// f; PyTorch has tanh and relu.
    pub activation: Activation,
    /// W, U and b.
    pub weights: RnnWeights<T>,
}

impl<T: Real> RnnWeights<T> {
    /// Zeros for a cell with biases.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self {
            weight_ih: Some(Matrix::zeros(hidden, inputs)),
            weight_hh: Matrix::zeros(hidden, hidden),
            bias: Some(Vector::zeros(hidden)),
        }
    }
}

impl<T: Real> Parameters<T> for RnnWeights<T> {
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>) {
        visit_matrix("weight_ih", self.weight_ih.as_ref(), f);
        visit_matrix("weight_hh", Some(&self.weight_hh), f);
        visit_vector("bias", self.bias.as_ref(), f);
    }

    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>) {
        visit_matrix_mut("weight_ih", self.weight_ih.as_mut(), f);
        visit_matrix_mut("weight_hh", Some(&mut self.weight_hh), f);
        visit_vector_mut("bias", self.bias.as_mut(), f);
    }
}

impl<T: Real> Rnn<T> {
    /// PyTorch's network with tanh, all weights zero.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self { activation: Activation::Tanh, weights: RnnWeights::zeros(inputs, hidden) }
    }

    /// The number of hidden units.
    pub fn hidden_size(&self) -> usize {
        self.weights.weight_hh.num_rows()
    }

    fn check(&self) -> Result<(), Error> {
        let (hidden, weights) = (self.hidden_size(), &self.weights);
        if hidden == 0 {
            return Err(Error::Zero { what: "the number of hidden units" });
        }
        check_weights("weight_hh", [hidden, hidden], &weights.weight_hh)?;
        if let Some(weight_ih) = &weights.weight_ih {
            check_weights("weight_ih", [hidden, weight_ih.num_cols()], weight_ih)?;
        }
        check_bias("bias", hidden, weights.bias.as_ref())
    }

    fn pass(
        &self,
        x: &LodTensor<T>,
        direction: Direction,
        initial: Option<&State<T>>,
    ) -> Result<(Output<T>, RnnSaved<'_, T>), Error> {
        self.check()?;
        let hidden = self.hidden_size();
        let batch = Batch::new(x, direction, [self.input_size(), hidden, 0])?;
        let (initial, table) = (batch.initial(initial)?, &batch.table);
        let mut y = memory::zeros(batch.rows() * hidden);

        let mut tracks = batch.tracks();
        give(&mut tracks, cut(x.values(), table, batch.inputs), |track| &mut track.x);
        give(&mut tracks, initial.h.rows(), |track| &mut track.h0);
        give(&mut tracks, cut_mut(&mut y, table, hidden), |track| &mut track.y);
        let packed = PackedForward::new(self);
        let parts = deal(tracks, table, parts(table, hidden * (hidden + batch.inputs)));
        for_each_part(parts, |tracks| {
            let mut scratch = Vec::new();
            let mut tracks: Vec<Track<'_, T>> = tracks;
            lend_gates(&mut tracks, &mut scratch, hidden);
            dispatch(Forward { packed: &packed, tracks: &mut tracks });
        });

        let mut last = initial.clone();
        batch.keep_last(&y, &mut last.h);
        let y = LodTensor::from_vec([batch.rows(), hidden], y, x.lod().clone())?;
        let saved = RnnSaved { rnn: self, batch, x: x.clone(), initial, y: y.clone() };
        Ok((Output { y, last }, saved))
    }
}

impl<T: Real> Cell<T> for Rnn<T> {
    type Weights = RnnWeights<T>;
    type Saved<'a> = RnnSaved<'a, T>;

    fn input_size(&self) -> usize {
        self.weights.weight_ih.as_ref().map_or(self.hidden_size(), Matrix::num_cols)
    }

    fn output_size(&self) -> usize {
        self.hidden_size()
    }

    fn cell_size(&self) -> usize {
        0
    }

    fn weights(&self) -> &RnnWeights<T> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut RnnWeights<T> {
        &mut self.weights
    }

    fn run(&self, x: &LodTensor<T>, direction: Direction, initial: Option<&State<T>>) -> Result<Output<T>, Error> {
        Ok(self.pass(x, direction, initial)?.0)
    }

    fn forward<'a>(
        &'a self,
        x: &LodTensor<T>,
        direction: Direction,
        initial: Option<&State<T>>,
    ) -> Result<(Output<T>, RnnSaved<'a, T>), Error> {
        self.pass(x, direction, initial)
    }
}

/// A pass of an [`Rnn`] on its way back.
#[derive(Clone, Debug)]
pub struct RnnSaved<'a, T: Real> {
    rnn: &'a Rnn<T>,
    batch: Batch,
    x: LodTensor<T>,
    initial: State<T>,
    y: LodTensor<T>,
}

impl<T: Real> Saved<T> for RnnSaved<'_, T> {
    type Weights = RnnWeights<T>;

    fn backward(self, grads: OutputGradients<'_, T>) -> Result<Gradients<T, RnnWeights<T>>, Error> {
        let Self { rnn, batch, x, initial, y } = self;
        let (weights, hidden, table) = (&rnn.weights, batch.outputs, &batch.table);
        let mut states = batch.check_gradients(&x, &grads)?;
        let mut gates = memory::zeros(batch.rows() * hidden);

        let mut tracks = batch.tracks();
        give(&mut tracks, cut(y.values(), table, hidden), |track| &mut track.out);
        give(&mut tracks, cut_mut(&mut gates, table, hidden), |track| &mut track.gates);
        give(&mut tracks, states.h.rows_mut(), |track| &mut track.dh);
        if let Some(grad) = grads.y {
            give(&mut tracks, cut(grad.values(), table, hidden), |track| &mut track.grad_y);
        }
        let packed = PackedBackward::new(rnn);
        let parts = deal(tracks, table, parts(table, hidden * hidden));
        for_each_part(parts, |mut tracks| dispatch(Backward { packed: &packed, tracks: &mut tracks }));

        let gates = GateGradients { data: &gates, width: hidden };
        let whole = 0..hidden;
        let all = from_ref(&whole);
        let before = batch.before(y.values(), &initial.h);
        let by_weights = RnnWeights {
            weight_ih: match &weights.weight_ih {
                Some(_) => Some(gates.by_weights(all, x.values(), batch.inputs)?),
                None => None,
            },
            weight_hh: gates.by_weights(all, &before, hidden)?,
            bias: weights.bias.as_ref().map(|_| Vector::from(gates.sums())),
        };
        let by_x = match &weights.weight_ih {
            Some(weight_ih) => gates.by_operand(all, weight_ih, before)?,
            None => gates.data.to_vec(),
        };
        let x = LodTensor::from_vec([batch.rows(), batch.inputs], by_x, x.lod().clone())?;
        Ok(Gradients { x, initial: states, weights: by_weights })
    }
}
