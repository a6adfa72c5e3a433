//! Weights with PyTorch's names and shapes.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::activation::Activation;
use crate::cell::Cell;
use crate::error::Error;
use crate::gru::{Gru, GruOptions, GruWeights, Reset};
use crate::lstm::{Lstm, LstmOptions, LstmWeights};
use crate::rnn::{Rnn, RnnWeights};
use crate::stack::{Layer, Stack};
use crate::weights::store::ParameterStore;

/// Weights of one layer in one direction in the layout of `nn.RNN`, `nn.LSTM` and `nn.GRU`. The G
/// gates are stacked: input, forget, candidate, output, or reset, update, candidate.
///
/// PyTorch always adds its two biases, except for the candidate of a GRU. So our cells have one
/// bias, the sum. The conversion back puts all of it in `bias_ih`.
#[derive(Debug, Clone, PartialEq)]
pub struct TorchWeights<T: Real> {
    /// `[G hidden, input]`
    pub weight_ih: Matrix<T>,
    /// `[G hidden, output]`
    pub weight_hh: Matrix<T>,
    /// `bias_ih` and `bias_hh`, both `[G hidden]`.
    pub biases: Option<[Vector<T>; 2]>,
    /// `[output, hidden]`, with `proj_size`.
    pub weight_hr: Option<Matrix<T>>,
}

/// A cell that PyTorch has too.
pub trait TorchCell<T: Real>: Cell<T> {
    /// Number of gates.
    const GATES: usize;
    /// Options that PyTorch does not store with the weights.
    type Options: Copy;

    /// Creates the cell with these weights.
    ///
    /// # Errors
    /// [`Error::Unused`] for a projection that the cell cannot have.
    fn from_torch(options: Self::Options, weights: TorchWeights<T>) -> Result<Self, Error>;

    /// Returns the weights in PyTorch's layout.
    ///
    /// # Errors
    /// [`Error::MissingTensor`] for a cell without `weight_ih`; [`Error::Unused`] for weights or
    /// options that PyTorch's cell does not have.
    fn to_torch(&self) -> Result<TorchWeights<T>, Error>;
}

impl<T: Real> TorchCell<T> for Rnn<T> {
    const GATES: usize = 1;
    type Options = Activation;

    fn from_torch(activation: Activation, weights: TorchWeights<T>) -> Result<Self, Error> {
        no_projection(&weights)?;
        let TorchWeights { weight_ih, weight_hh, biases, .. } = weights;
        Ok(Self { activation, weights: RnnWeights { weight_ih: Some(weight_ih), weight_hh, bias: biases.map(sum) } })
    }

    fn to_torch(&self) -> Result<TorchWeights<T>, Error> {
        let RnnWeights { weight_ih, weight_hh, bias } = &self.weights;
        Ok(TorchWeights {
            weight_ih: present(weight_ih)?,
            weight_hh: weight_hh.clone(),
            biases: bias.as_ref().map(|bias| [bias.clone(), Vector::zeros(bias.dim())]),
            weight_hr: None,
        })
    }
}

impl<T: Real> TorchCell<T> for Lstm<T> {
    const GATES: usize = 4;
    type Options = LstmOptions;

    fn from_torch(options: LstmOptions, weights: TorchWeights<T>) -> Result<Self, Error> {
        let TorchWeights { weight_ih, weight_hh, biases, weight_hr } = weights;
        let weight_ih = Some(weight_ih);
        let weights = LstmWeights { weight_ih, weight_hh, bias: biases.map(sum), peepholes: None, weight_hr };
        Ok(Self { options, weights })
    }

    fn to_torch(&self) -> Result<TorchWeights<T>, Error> {
        let LstmWeights { weight_ih, weight_hh, bias, peepholes, weight_hr } = &self.weights;
        if peepholes.is_some() {
            return Err(Error::Unused { tensor: "peepholes", because: "PyTorch's LSTM has none" });
        }
        Ok(TorchWeights {
            weight_ih: present(weight_ih)?,
            weight_hh: weight_hh.clone(),
            biases: bias.as_ref().map(|bias| [bias.clone(), Vector::zeros(bias.dim())]),
            weight_hr: weight_hr.clone(),
        })
    }
}

impl<T: Real> TorchCell<T> for Gru<T> {
    const GATES: usize = 3;
    type Options = GruOptions;

    fn from_torch(options: GruOptions, weights: TorchWeights<T>) -> Result<Self, Error> {
        no_projection(&weights)?;
        let TorchWeights { weight_ih, weight_hh, biases, .. } = weights;
        let (mut bias, mut bias_hn) = (None, None);
        if let Some([mut by_input, by_state]) = biases {
            // Reset after the product: the candidate's second bias is multiplied by the reset gate
            // and stays separate.
            let together = match options.reset {
                Reset::After => by_state.dim() / 3 * 2,
                Reset::Before => by_state.dim(),
            };
            let (added, apart) = by_state.data().split_at(together);
            by_input.data_mut().iter_mut().zip(added).for_each(|(a, &b)| *a += b);
            bias = Some(by_input);
            bias_hn = (options.reset == Reset::After).then(|| Vector::from(apart.to_vec()));
        }
        Ok(Self { options, weights: GruWeights { weight_ih: Some(weight_ih), weight_hh, bias, bias_hn } })
    }

    fn to_torch(&self) -> Result<TorchWeights<T>, Error> {
        let GruWeights { weight_ih, weight_hh, bias, bias_hn } = &self.weights;
        if self.options.reset == Reset::Before {
            return Err(Error::Unused { tensor: "reset", because: "PyTorch's GRU resets after the product" });
        }
        let zeros = || Vector::zeros(weight_hh.num_rows());
        let biases = (bias.is_some() || bias_hn.is_some()).then(|| {
            let mut by_state = zeros();
            if let Some(bias_hn) = bias_hn {
                let first = by_state.dim().saturating_sub(bias_hn.dim());
                by_state.data_mut()[first..].iter_mut().zip(bias_hn.data()).for_each(|(to, &from)| *to = from);
            }
            [bias.clone().unwrap_or_else(zeros), by_state]
        });
        Ok(TorchWeights { weight_ih: present(weight_ih)?, weight_hh: weight_hh.clone(), biases, weight_hr: None })
    }
}

impl<C> Stack<C> {
    /// Reads the layers of a PyTorch file: `{prefix}weight_ih_l0`, `{prefix}weight_hh_l0_reverse`,
    /// `{prefix}bias_ih_l1` and so on. The names give the number of layers and directions, and the
    /// presence of biases and projections.
    ///
    /// ```
    /// use recurrent::train::ParameterStore;
    /// use recurrent::{Gru, GruOptions, Stack};
    ///
    /// // Or ParameterStore::load("model.safetensors")?.
    /// let mut store = ParameterStore::<f32>::new();
    /// store.insert("encoder.weight_ih_l0", &[6, 3], vec![0.25; 18])?;
    /// store.insert("encoder.weight_hh_l0", &[6, 2], vec![0.5; 12])?;
    /// let stack = Stack::<Gru<f32>>::from_torch(&store, "encoder.", GruOptions::default())?;
    /// assert_eq!(stack.layers.len(), 1);
    /// assert_eq!(stack.to_torch("encoder.")?, store);
    /// # Ok::<(), recurrent::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotInStore`], which lists the present tensors; [`Error::TensorShape`],
    /// [`Error::TensorType`], [`Error::TensorNotFinite`], [`Error::NoMatrix`] with the name of the
    /// tensor; [`Error::Zero`] for hidden states of width 0.
    pub fn from_torch<T: Real>(store: &ParameterStore<T>, prefix: &str, options: C::Options) -> Result<Self, Error>
    where
        C: TorchCell<T>,
    {
        let first = Reader { store, prefix, layer: 0, reverse: false };
        let (both, biases) = (first.has_reverse(), first.has("bias_ih") || first.has("bias_hh"));
        let (projected, mut layers, mut inputs) = (first.has("weight_hr"), Vec::new(), None);
        while layers.is_empty() || (Reader { layer: layers.len(), ..first }).is_there() {
            let read = |reverse| {
                let reader = Reader { layer: layers.len(), reverse, ..first };
                C::from_torch(options, reader.weights(C::GATES, inputs, biases, projected)?)
            };
            let forward = read(false)?;
            let reverse = if both { Some(read(true)?) } else { None };
            inputs = Some(forward.output_size() * (1 + usize::from(both)));
            layers.push(Layer { forward, reverse });
        }
        Ok(Self { layers })
    }

    /// Returns all weights under PyTorch's names, ready to save.
    ///
    /// # Errors
    /// As [`TorchCell::to_torch`].
    pub fn to_torch<T: Real>(&self, prefix: &str) -> Result<ParameterStore<T>, Error>
    where
        C: TorchCell<T>,
    {
        let mut store = ParameterStore::new();
        for (i, layer) in self.layers.iter().enumerate() {
            for (cell, ending) in layer.cells() {
                let TorchWeights { weight_ih, weight_hh, biases, weight_hr } = cell.to_torch()?;
                let name = |what: &str| format!("{prefix}{what}_l{i}{ending}");
                for (what, matrix) in
                    [("weight_ih", Some(weight_ih)), ("weight_hh", Some(weight_hh)), ("weight_hr", weight_hr)]
                {
                    if let Some(matrix) = matrix {
                        store.insert(&name(what), &[matrix.num_rows(), matrix.num_cols()], matrix.into_vec())?;
                    }
                }
                for (what, bias) in ["bias_ih", "bias_hh"].iter().zip(biases.into_iter().flatten()) {
                    store.insert(&name(what), &[bias.dim()], bias.into_vec())?;
                }
            }
        }
        Ok(store)
    }
}

/// Reader for the tensors of one layer in one direction.
#[derive(Clone, Copy)]
struct Reader<'a, T> {
    store: &'a ParameterStore<T>,
    prefix: &'a str,
    layer: usize,
    reverse: bool,
}

impl<T: Real> Reader<'_, T> {
    fn name(&self, what: &str) -> String {
        format!("{}{what}_l{}{}", self.prefix, self.layer, if self.reverse { "_reverse" } else { "" })
    }

    fn has(&self, what: &str) -> bool {
        self.store.contains(&self.name(what))
    }

    fn is_there(&self) -> bool {
        self.has("weight_ih") || self.has("weight_hh")
    }

    fn has_reverse(&self) -> bool {
        Reader { reverse: true, ..*self }.is_there()
    }

    /// Returns the weights, checked against each other. `inputs` is the width of the layer below.
    fn weights(
        &self,
        gates: usize,
        inputs: Option<usize>,
        biases: bool,
        projected: bool,
    ) -> Result<TorchWeights<T>, Error> {
        let matrix = |what: &str| self.store.matrix(&self.name(what));
        let weight_hh = matrix("weight_hh")?;
        let (rows, output) = (weight_hh.num_rows(), weight_hh.num_cols());
        let hidden = rows / gates;
        if rows == 0 || output == 0 {
            return Err(Error::Zero { what: "the hidden size" });
        }
        // Without a projection the output is the hidden state.
        let right = if projected { rows.next_multiple_of(gates) } else { gates * output };
        let shape = |what: &str, expected: [usize; 2], found: &Matrix<T>| {
            let found = [found.num_rows(), found.num_cols()];
            match found == expected {
                true => Ok(()),
                false => {
                    Err(Error::TensorShape { tensor: self.name(what), expected: expected.into(), found: found.into() })
                }
            }
        };
        shape("weight_hh", [right, output], &weight_hh)?;
        let weight_ih = matrix("weight_ih")?;
        shape("weight_ih", [rows, inputs.unwrap_or(weight_ih.num_cols())], &weight_ih)?;
        let biases = match biases {
            true => {
                let bias = |what| self.store.vector(&self.name(what), rows);
                Some([bias("bias_ih")?, bias("bias_hh")?])
            }
            false => None,
        };
        let weight_hr = match projected {
            true => {
                let weight_hr = matrix("weight_hr")?;
                shape("weight_hr", [output, hidden], &weight_hr)?;
                Some(weight_hr)
            }
            false => None,
        };
        Ok(TorchWeights { weight_ih, weight_hh, biases, weight_hr })
    }
}

fn sum<T: Real>([mut a, b]: [Vector<T>; 2]) -> Vector<T> {
    a.data_mut().iter_mut().zip(b.data()).for_each(|(a, &b)| *a += b);
    a
}

fn present<T: Real>(weight_ih: &Option<Matrix<T>>) -> Result<Matrix<T>, Error> {
    weight_ih.clone().ok_or_else(|| Error::MissingTensor { tensor: "weight_ih".into() })
}

fn no_projection<T: Real>(weights: &TorchWeights<T>) -> Result<(), Error> {
    match weights.weight_hr {
        Some(_) => Err(Error::Unused { tensor: "weight_hr", because: "only an LSTM has a projection" }),
        None => Ok(()),
    }
}
