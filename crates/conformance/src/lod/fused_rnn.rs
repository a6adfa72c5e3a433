//! Paddle's cells over inputs that are projected already: `fused_rnn.jsonl`.

use kaldera::lod::{Lod, LodTensor};
use kaldera::matrix::{Matrix, Vector};
use kaldera::recurrent::weights::{Gates, PaddleGru, PaddleLstm, from_paddle_order, to_paddle_order};
use kaldera::recurrent::{
    Activation, Cell, Direction, Gru, GruOptions, GruWeights, Lstm, LstmOptions, LstmWeights, OutputGradients, Reset,
    Saved, State, Update,
};
use serde_json::Value;

use super::plain::{Float, Results, optional, tensor};
use crate::Stop;

/// The numbers that `gru_unit` has for activations are their places.
const ACTIVATIONS: [(&str, Activation); 4] = [
    ("identity", Activation::Identity),
    ("sigmoid", Activation::Sigmoid),
    ("tanh", Activation::Tanh),
    ("relu", Activation::Relu),
];

/// Runs the operator of a case forward and backward, and compares all that the case has answers
/// for.
pub(crate) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let inputs = &case["inputs"];
    let results = match inputs["Input"]["dtype"].as_str().or(inputs["X"]["dtype"].as_str()) {
        Some("f32") => Call { case }.run::<f32>(),
        Some("f64") => Call { case }.run::<f64>(),
        _ => Err(Stop::NotRun),
    }?;
    results.with_plain_gradients().differences(case)
}

struct Call<'a> {
    case: &'a Value,
}

impl Call<'_> {
    fn run<T: Float>(&self) -> Result<Results, Stop> {
        match self.case["op"].as_str().unwrap_or_default() {
            "lstm" => self.lstm::<T>("Hidden"),
            "lstmp" => self.lstm::<T>("Projection"),
            "gru" => {
                let initial = self.optional("inputs", "H0")?;
                let (y, results) = self.gru_over(&self.input::<T>("Input")?, initial.as_ref(), "H0")?;
                Ok(results.output("Hidden", &y))
            }
            // One step: as many sequences of length 1.
            "gru_unit" => {
                let input = self.input::<T>("Input")?;
                let input = input.with_lod(Lod::from_lengths(&[vec![1; input.num_rows()]])?)?;
                let (y, results) = self.gru_over(&input, Some(&self.input("HiddenPrev")?), "HiddenPrev")?;
                Ok(results.output("Hidden", &y.with_lod(Lod::none())?))
            }
            "lstm_unit" => self.lstm_unit::<T>(),
            _ => Err(Stop::NotRun),
        }
    }

    fn input<T: Float>(&self, name: &str) -> Result<LodTensor<T>, Stop> {
        tensor(&self.case["inputs"][name])
    }

    fn optional<T: Float>(&self, part: &str, name: &str) -> Result<Option<LodTensor<T>>, Stop> {
        optional(&self.case[part][name])
    }

    fn flag(&self, name: &str) -> bool {
        self.case["attrs"][name] == true
    }

    /// A limit, of which 0 stands for none.
    fn clip(&self, name: &str) -> Option<f64> {
        self.case["attrs"][name].as_f64().filter(|&clip| clip > 0.0)
    }

    /// An activation by name, or by the number that `gru_unit` has for it.
    fn activation(&self, name: &str) -> Result<Activation, Stop> {
        let attr = &self.case["attrs"][name];
        let mut all = ACTIVATIONS.iter().enumerate();
        let found = all.find(|(code, (name, _))| attr == name || attr == code);
        found.map(|(_, (_, activation))| *activation).ok_or(Stop::NotRun)
    }

    fn direction(&self) -> Direction {
        if self.flag("is_reverse") { Direction::Reverse } else { Direction::Forward }
    }

    fn lstm<T: Float>(&self, output: &'static str) -> Result<Results, Stop> {
        let proj_weight = self.optional::<T>("inputs", "ProjWeight")?.map(|tensor| matrix(&tensor)).transpose()?;
        let weight = matrix(&self.input::<T>("Weight")?)?;
        let hidden = proj_weight.as_ref().map_or(weight.num_rows(), Matrix::num_rows);
        let bias = self.optional::<T>("inputs", "Bias")?;
        if bias.as_ref().is_some_and(|bias| (bias.values().len() == 7 * hidden) != self.flag("use_peepholes")) {
            return Err(Stop::Refused("a bias of 7 gates is for peepholes".into()));
        }
        let paddle = PaddleLstm { weight, bias: bias.as_ref().map(vector), proj_weight };
        let projected = paddle.proj_weight.is_some();
        let options = LstmOptions::default()
            .with_gate_activation(self.activation("gate_activation")?)
            .with_candidate_activation(self.activation("candidate_activation")?)
            .with_cell_activation(self.activation("cell_activation")?)
            .with_projection_activation(if projected {
                self.activation("proj_activation")?
            } else {
                Activation::Identity
            })
            .with_cell_clip(self.clip("cell_clip"))
            .with_projection_clip(self.clip("proj_clip").filter(|_| projected));
        let lstm = Lstm { options, weights: LstmWeights::from_paddle(&paddle)? };
        let x = permuted(&self.input::<T>("Input")?, |values| from_paddle_order(Gates::Lstm, hidden, values))?;
        let initial = match (self.optional("inputs", "H0")?, self.optional("inputs", "C0")?) {
            (Some(h), Some(c)) => Some(State { h, c }),
            (None, None) => None,
            _ => return Err(Stop::Refused("one initial state without the other".into())),
        };
        let (out, saved) = lstm.forward(&x, self.direction(), initial.as_ref())?;
        let cells = saved.cells()?;
        let (grad_y, grad_cells) = (self.optional("out_grads", output)?, self.optional("out_grads", "Cell")?);
        let grads = saved.backward(OutputGradients { y: grad_y.as_ref(), last: None, cells: grad_cells.as_ref() })?;
        let weights = grads.weights.to_paddle()?;
        let input = permuted(&grads.x, |values| to_paddle_order(Gates::Lstm, hidden, values))?;
        let proj_weight: Option<_> = weights.proj_weight.as_ref().map(plain).transpose()?;
        Ok(Results::default()
            .output(output, &out.y)
            .output("Cell", &cells)
            .gradient("Input", &input)
            .gradient("Weight", &plain(&weights.weight)?)
            .gradient("H0", &grads.initial.h)
            .gradient("C0", &grads.initial.c)
            .gradients("Bias", weights.bias.as_ref().map(row).transpose()?.as_slice())
            .gradients("ProjWeight", proj_weight.as_slice()))
    }

    /// The output, and the results without it; the gradient of the initial state is under `h0`.
    fn gru_over<T: Float>(
        &self,
        input: &LodTensor<T>,
        initial: Option<&LodTensor<T>>,
        h0: &'static str,
    ) -> Result<(LodTensor<T>, Results), Stop> {
        let weight = self.input::<T>("Weight")?;
        let hidden = weight.num_rows();
        let bias = self.optional::<T>("inputs", "Bias")?.as_ref().map(vector);
        let paddle = PaddleGru { weight: weight.values().to_vec(), bias };
        let options = GruOptions::default()
            .with_gate_activation(self.activation("gate_activation")?)
            .with_candidate_activation(self.activation("activation")?)
            .with_reset(Reset::Before)
            .with_update(if self.flag("origin_mode") { Update::Old } else { Update::New });
        let gru = Gru { options, weights: GruWeights::from_paddle(hidden, &paddle)? };
        let x = permuted(input, |values| from_paddle_order(Gates::Gru, hidden, values))?;
        let initial = initial.map(|h| State::from_hidden(h.clone(), 0));
        let (out, saved) = gru.forward(&x, self.direction(), initial.as_ref())?;
        // The output gradient of `gru_unit` has no LoD.
        let grad_y =
            self.optional::<T>("out_grads", "Hidden")?.map(|grad| grad.with_lod(input.lod().clone())).transpose()?;
        let grads = saved.backward(OutputGradients { y: grad_y.as_ref(), ..OutputGradients::default() })?;
        let weights = grads.weights.to_paddle()?;
        let results = Results::default()
            .gradient("Input", &permuted(&grads.x, |values| to_paddle_order(Gates::Gru, hidden, values))?)
            .gradient("Weight", &LodTensor::from_vec([hidden, 3 * hidden], weights.weight, Lod::none())?)
            .gradient(h0, &grads.initial.h)
            .gradients("Bias", weights.bias.as_ref().map(row).transpose()?.as_slice());
        Ok((out.y, results))
    }

    /// The step after the products: gates i, f, o and the candidate are given, and the state
    /// before.
    fn lstm_unit<T: Float>(&self) -> Result<Results, Stop> {
        /// Our gates i, f, g, o in the order of this operator, i, f, o, g; and the other way round.
        const ORDER: [usize; 4] = [0, 1, 3, 2];
        let (x, c) = (self.input::<T>("X")?, self.input::<T>("C_prev")?);
        let hidden = c.width();
        let reorder = |values: &[T]| {
            let rows = values.chunks_exact(4 * hidden.max(1));
            let row = |row: &[T]| ORDER.map(|i| row[i * hidden..(i + 1) * hidden].to_vec()).concat();
            Ok(rows.flat_map(row).collect())
        };
        let forget_bias = T::from_f64(self.case["attrs"]["forget_bias"].as_f64().unwrap_or_default());
        let mut bias = Vector::zeros(4 * hidden);
        bias.data_mut()[hidden..2 * hidden].fill(forget_bias);
        let weights = LstmWeights {
            weight_ih: None,
            weight_hh: Matrix::zeros(4 * hidden, hidden),
            bias: Some(bias),
            peepholes: None,
            weight_hr: None,
        };
        let lstm = Lstm { options: LstmOptions::default(), weights };
        let lod = Lod::from_lengths(&[vec![1; x.num_rows()]])?;
        let initial = State { c, ..State::zeros(x.num_rows(), hidden, 0) };
        let x = permuted(&x.with_lod(lod.clone())?, reorder)?;
        let (out, saved) = lstm.forward(&x, Direction::Forward, Some(&initial))?;
        let with_lod = |name| {
            Ok::<_, Stop>(self.optional::<T>("out_grads", name)?.map(|grad| grad.with_lod(lod.clone())).transpose()?)
        };
        let (grad_h, grad_c) = (with_lod("H")?, with_lod("C")?);
        let grads = saved.backward(OutputGradients { y: grad_h.as_ref(), last: None, cells: grad_c.as_ref() })?;
        Ok(Results::default()
            .output("H", &out.y.with_lod(Lod::none())?)
            .output("C", &out.last.c.with_lod(Lod::none())?)
            .gradient("X", &permuted(&grads.x, reorder)?)
            .gradient("C_prev", &grads.initial.c))
    }
}

fn matrix<T: Float>(tensor: &LodTensor<T>) -> Result<Matrix<T>, Stop> {
    Ok(Matrix::from_vec(tensor.num_rows(), tensor.width(), tensor.values().to_vec())?)
}

fn vector<T: Float>(tensor: &LodTensor<T>) -> Vector<T> {
    Vector::from(tensor.values().to_vec())
}

fn plain<T: Float>(matrix: &Matrix<T>) -> Result<LodTensor<T>, Stop> {
    Ok(LodTensor::from_vec([matrix.num_rows(), matrix.num_cols()], matrix.data().to_vec(), Lod::none())?)
}

fn row<T: Float>(vector: &Vector<T>) -> Result<LodTensor<T>, Stop> {
    Ok(LodTensor::from_vec([1, vector.dim()], vector.data().to_vec(), Lod::none())?)
}

/// The same rows with their columns in another order.
fn permuted<T: Float>(
    tensor: &LodTensor<T>,
    order: impl FnOnce(&[T]) -> Result<Vec<T>, kaldera::recurrent::Error>,
) -> Result<LodTensor<T>, Stop> {
    Ok(tensor.like(tensor.num_rows(), order(tensor.values())?, tensor.lod().clone())?)
}
