//! Paddle's cells over inputs that are projected already: `fused_rnn.jsonl`.

use kaldera::lod::{Lod, LodTensor};
use kaldera::matrix::{Matrix, Vector};
use kaldera::recurrent::weights::{Gates, PaddleGru, PaddleLstm, from_paddle_order, to_paddle_order};
use kaldera::recurrent::{
    Activation, Cell, Direction, Gru, GruOptions, GruWeights, Lstm, LstmOptions, LstmWeights, OutputGradients, Reset,
    Saved, State, Update,
};
use serde_json::Value;

use super::Stop;
use super::dynamic::Float;
use super::plain::{Slots, differences, tensor};

/// Runs the operator of a case forward and backward, and compares all that the case has answers
/// for.
pub(super) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let inputs = &case["inputs"];
    let dtype = inputs["Input"]["dtype"].as_str().or(inputs["X"]["dtype"].as_str()).unwrap_or_default();
    match dtype {
        "f32" => of_type::<f32>(case),
        "f64" => of_type::<f64>(case),
        _ => Err(Stop::NotRun),
    }
}

fn of_type<T: Float>(case: &Value) -> Result<Vec<String>, Stop> {
    let call = Call { case };
    let results = match case["op"].as_str().unwrap_or_default() {
        "lstm" => call.lstm::<T>("Hidden"),
        "lstmp" => call.lstm::<T>("Projection"),
        "gru" => call.gru::<T>(),
        "gru_unit" => call.gru_unit::<T>(),
        "lstm_unit" => call.lstm_unit::<T>(),
        _ => Err(Stop::NotRun),
    }?;
    differences(case, &results.outputs, &results.gradients)
}

/// The results of a call, by the names of the slots.
struct Results {
    outputs: Slots,
    gradients: Slots,
}

struct Call<'a> {
    case: &'a Value,
}

impl Call<'_> {
    fn input<T: Float>(&self, name: &str) -> Result<LodTensor<T>, Stop> {
        tensor(&self.case["inputs"][name])
    }

    fn optional<T: Float>(&self, part: &str, name: &str) -> Result<Option<LodTensor<T>>, Stop> {
        let value = &self.case[part][name];
        if value.is_null() { Ok(None) } else { Ok(Some(tensor(value)?)) }
    }

    fn flag(&self, name: &str) -> bool {
        self.case["attrs"][name].as_bool().unwrap_or_default()
    }

    /// A limit, of which 0 stands for none.
    fn clip(&self, name: &str) -> Option<f64> {
        self.case["attrs"][name].as_f64().filter(|&clip| clip > 0.0)
    }

    /// An activation by name, or by the number that `gru_unit` has for it.
    fn activation(&self, name: &str) -> Result<Activation, Stop> {
        let attr = &self.case["attrs"][name];
        match attr.as_str().unwrap_or(["identity", "sigmoid", "tanh", "relu"].get(index(attr)).unwrap_or(&"")) {
            "identity" => Ok(Activation::Identity),
            "sigmoid" => Ok(Activation::Sigmoid),
            "tanh" => Ok(Activation::Tanh),
            "relu" => Ok(Activation::Relu),
            _ => Err(Stop::NotRun),
        }
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
        let mut gradients = vec![
            ("Input", permuted(&grads.x, |values| to_paddle_order(Gates::Lstm, hidden, values))?),
            ("Weight", plain(&weights.weight)?),
            ("H0", grads.initial.h),
            ("C0", grads.initial.c),
        ];
        gradients.extend(weights.bias.map(|bias| Ok::<_, Stop>(("Bias", row(&bias)?))).transpose()?);
        gradients.extend(weights.proj_weight.map(|weight| Ok::<_, Stop>(("ProjWeight", plain(&weight)?))).transpose()?);
        Ok(Results {
            outputs: vec![(output, vec![(&out.y).into()]), ("Cell", vec![(&cells).into()])],
            gradients: without_lod(gradients)?,
        })
    }

    fn gru<T: Float>(&self) -> Result<Results, Stop> {
        let initial = self.optional("inputs", "H0")?;
        let input = self.input::<T>("Input")?;
        let (y, grads) = self.gru_over(&input, initial.as_ref())?;
        Ok(Results { outputs: vec![("Hidden", vec![(&y).into()])], gradients: without_lod(grads)? })
    }

    /// One step: as many sequences of length 1.
    fn gru_unit<T: Float>(&self) -> Result<Results, Stop> {
        let input = self.input::<T>("Input")?;
        let input = input.with_lod(Lod::from_lengths(&[vec![1; input.num_rows()]])?)?;
        let (y, mut grads) = self.gru_over(&input, Some(&self.input::<T>("HiddenPrev")?))?;
        grads.iter_mut().filter(|(name, _)| *name == "H0").for_each(|(name, _)| *name = "HiddenPrev");
        Ok(Results { outputs: without_lod(vec![("Hidden", y)])?, gradients: without_lod(grads)? })
    }

    fn gru_over<T: Float>(
        &self,
        input: &LodTensor<T>,
        initial: Option<&LodTensor<T>>,
    ) -> Result<(LodTensor<T>, Tensors<T>), Stop> {
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
        let mut gradients = vec![
            ("Input", permuted(&grads.x, |values| to_paddle_order(Gates::Gru, hidden, values))?),
            ("Weight", LodTensor::from_vec([hidden, 3 * hidden], weights.weight, Lod::none())?),
            ("H0", grads.initial.h),
        ];
        gradients.extend(weights.bias.map(|bias| Ok::<_, Stop>(("Bias", row(&bias)?))).transpose()?);
        Ok((out.y, gradients))
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
            Ok(rows
                .flat_map(|row| ORDER.into_iter().flat_map(|i| &row[i * hidden..(i + 1) * hidden]))
                .copied()
                .collect())
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
        let (out, saved) =
            lstm.forward(&permuted(&x.with_lod(lod.clone())?, reorder)?, Direction::Forward, Some(&initial))?;
        let with_lod = |name| {
            Ok::<_, Stop>(self.optional::<T>("out_grads", name)?.map(|grad| grad.with_lod(lod.clone())).transpose()?)
        };
        let (grad_h, grad_c) = (with_lod("H")?, with_lod("C")?);
        let grads = saved.backward(OutputGradients { y: grad_h.as_ref(), last: None, cells: grad_c.as_ref() })?;
        let gradients = vec![("X", permuted(&grads.x, reorder)?), ("C_prev", grads.initial.c)];
        Ok(Results { outputs: without_lod(vec![("H", out.y), ("C", out.last.c)])?, gradients: without_lod(gradients)? })
    }
}

type Tensors<T> = Vec<(&'static str, LodTensor<T>)>;

fn index(attr: &Value) -> usize {
    attr.as_u64().and_then(|code| usize::try_from(code).ok()).unwrap_or(usize::MAX)
}

fn matrix<T: Float>(tensor: &LodTensor<T>) -> Result<Matrix<T>, Stop> {
    let matrix = Matrix::from_vec(tensor.num_rows(), tensor.width(), tensor.values().to_vec());
    matrix.map_err(|error| Stop::Damaged(error.to_string()))
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

/// Paddle's gradients have no LoD.
fn without_lod<T: Float>(tensors: Tensors<T>) -> Result<Slots, Stop> {
    tensors.into_iter().map(|(name, tensor)| Ok((name, vec![(&tensor.with_lod(Lod::none())?).into()]))).collect()
}
