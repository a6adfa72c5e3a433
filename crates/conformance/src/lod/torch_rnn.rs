//! Whole networks of PyTorch's, with all their gradients: `torch_rnn.jsonl`.

use kaldera::lod::{Lod, LodTensor};
use kaldera::recurrent::weights::{ParameterStore, TorchCell};
use kaldera::recurrent::{Activation, Gru, GruOptions, Layer, Lstm, LstmOptions, Parameters, Rnn, Stack, State};
use serde_json::Value;

use super::Stop;
use super::dynamic::Float;
use super::plain::{compare_data, numbers, sizes};

/// Runs a network forward and backward, and compares all that the case has answers for.
pub(super) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    match case["dtype"].as_str().unwrap_or_default() {
        "f32" => of_type::<f32>(case),
        "f64" => of_type::<f64>(case),
        _ => Err(Stop::NotRun),
    }
}

fn of_type<T: Float>(case: &Value) -> Result<Vec<String>, Stop> {
    match case["kind"].as_str().unwrap_or_default() {
        "RNN_TANH" => network::<T, Rnn<T>>(case, Activation::Tanh),
        "RNN_RELU" => network::<T, Rnn<T>>(case, Activation::Relu),
        "LSTM" => network::<T, Lstm<T>>(case, LstmOptions::default()),
        "GRU" => network::<T, Gru<T>>(case, GruOptions::default()),
        _ => Err(Stop::NotRun),
    }
}

fn network<T: Float, C: TorchCell<T>>(case: &Value, options: C::Options) -> Result<Vec<String>, Stop> {
    let mut store = ParameterStore::new();
    for (name, weight) in case["weights"].as_object().into_iter().flatten() {
        store.insert(name, &sizes(&weight["shape"])?, numbers(&weight["data"])?)?;
    }
    let stack = Stack::<C>::from_torch(&store, "", options)?;
    let lengths = sizes(&case["lengths"])?;
    let lod = Lod::from_lengths(&[&lengths])?;
    let x = rows::<T>(&case["x"], lod.clone())?;
    let initial = states::<T>(&case["h0"], &case["c0"])?;
    let mut differences = Differences { case, all: Vec::new() };

    let table = lod.rank_table(0)?;
    let active: Vec<usize> = (0..table.max_sequence_len()).map(|step| table.active(step)).collect();
    // PyTorch does not know sequences without steps; ours are the last ones.
    let order: Vec<usize> = sizes(&case["order"])?.into_iter().filter(|&i| lengths.get(i) != Some(&0)).collect();
    let came = &table.order()[..active.first().copied().unwrap_or(0)];
    differences.check("order", format!("{order:?}"), format!("{came:?}"));
    differences.check("batch_sizes", format!("{:?}", sizes(&case["batch_sizes"])?), format!("{active:?}"));

    let (out, saved) = stack.forward(&x, &initial, None)?;
    // The pass that keeps nothing must give the same.
    let lean = stack.run(&x, &initial)?;
    for out in [&out, &lean] {
        differences.compare("y", "y", out.y.values())?;
        differences.check("y.lod", lod.to_string(), out.y.lod().to_string());
        differences.compare("h_n", "h_n", &stacked(&out.last, |state| &state.h))?;
        differences.compare("c_n", "c_n", &stacked(&out.last, |state| &state.c))?;
    }

    let grads = saved.backward(Some(&rows(&case["grad_y"], lod)?), &states(&case["grad_h_n"], &case["grad_c_n"])?)?;
    differences.compare("grad_x", "grad_x", grads.x.values())?;
    differences.compare("grad_h0", "grad_h0", &stacked(&grads.initial, |state| &state.h))?;
    differences.compare("grad_c0", "grad_c0", &stacked(&grads.initial, |state| &state.c))?;
    let by_name = gradients_by_name(&grads.weights.layers)?;
    for (name, expected) in case["grad_weights"].as_object().into_iter().flatten() {
        let (shape, values) = by_name.get(name)?;
        differences.check(&format!("{name}.shape"), format!("{:?}", sizes(&expected["shape"])?), format!("{shape:?}"));
        differences.compare_with(&format!("grad_weights.{name}"), expected, values)?;
    }
    Ok(differences.all)
}

struct Differences<'a> {
    case: &'a Value,
    all: Vec<String>,
}

impl Differences<'_> {
    fn check(&mut self, what: &str, expected: String, came: String) {
        if expected != came {
            self.all.push(format!("{what}: expected {expected}, came {came}"));
        }
    }

    /// Compares with a tensor of the case, if the case has it.
    fn compare<T: Float>(&mut self, name: &str, key: &str, came: &[T]) -> Result<(), Stop> {
        let expected = &self.case[key];
        if expected.is_null() { Ok(()) } else { self.compare_with(name, expected, came) }
    }

    fn compare_with<T: Float>(&mut self, name: &str, expected: &Value, came: &[T]) -> Result<(), Stop> {
        // PyTorch's own rounding, as in the README: gradients through three layers have more.
        let deep = name.starts_with("grad") && self.case["num_layers"].as_u64() >= Some(3);
        let tolerance = match (T::DTYPE, deep) {
            ("f64", _) => 1e-9,
            (_, false) => 1e-5,
            (_, true) => 5e-5,
        };
        let data = expected["data"].as_array().ok_or_else(|| Stop::Damaged(format!("no data of {name}")))?;
        let came: Vec<_> = came.iter().map(|x| x.write()).collect();
        self.all.extend(compare_data(name, data, &came, tolerance)?);
        Ok(())
    }
}

fn rows<T: Float>(value: &Value, lod: Lod) -> Result<LodTensor<T>, Stop> {
    Ok(LodTensor::from_vec(sizes(&value["shape"])?, numbers(&value["data"])?, lod)?)
}

/// The states of all layers and directions, `[layers · directions, sequences, width]` each; empty
/// if there is no h.
fn states<T: Float>(h: &Value, c: &Value) -> Result<Vec<State<T>>, Stop> {
    let parts = |value: &Value| -> Result<Vec<LodTensor<T>>, Stop> {
        let shape = sizes(&value["shape"])?;
        let [layers, sequences, width] = shape[..] else {
            return Err(Stop::Damaged("states that have not three axes".into()));
        };
        let data: Vec<T> = numbers(&value["data"])?;
        let part = |i: usize| data.get(i * sequences * width..(i + 1) * sequences * width);
        let parts = (0..layers).map(|i| part(i).ok_or_else(|| Stop::Damaged("states without data".into())));
        parts.map(|part| Ok(LodTensor::from_vec([sequences, width], part?.to_vec(), Lod::none())?)).collect()
    };
    if h.is_null() {
        return Ok(Vec::new());
    }
    let h = parts(h)?.into_iter();
    Ok(match c.is_null() {
        true => h.map(|h| State::from_hidden(h, 0)).collect(),
        false => h.zip(parts(c)?).map(|(h, c)| State { h, c }).collect(),
    })
}

/// One of the tensors of all states, concatenated.
fn stacked<T: Float>(states: &[State<T>], tensor: impl Fn(&State<T>) -> &LodTensor<T>) -> Vec<T> {
    states.iter().flat_map(|state| tensor(state).values()).copied().collect()
}

/// The gradients under PyTorch's names. PyTorch adds its two biases, so both have the gradient of
/// our single one, except the biases of a GRU's candidate.
fn gradients_by_name<T: Float, W: Parameters<T>>(layers: &[Layer<W>]) -> Result<ParameterStore<T>, Stop> {
    let mut store = ParameterStore::new();
    for (i, layer) in layers.iter().enumerate() {
        let directions = [(Some(&layer.forward), ""), (layer.reverse.as_ref(), "_reverse")];
        for (weights, ending) in directions.into_iter().filter_map(|(weights, ending)| Some((weights?, ending))) {
            let tensors = weights.named();
            let bias_hn = tensors.iter().find(|tensor| tensor.name == "bias_hn").map(|tensor| tensor.values);
            for tensor in &tensors {
                let name = |what: &str| format!("{what}_l{i}{ending}");
                match tensor.name.as_str() {
                    "bias_hn" => {}
                    "bias" => {
                        let mut by_state = tensor.values.to_vec();
                        if let Some(bias_hn) = bias_hn {
                            by_state.truncate(by_state.len() - bias_hn.len());
                            by_state.extend_from_slice(bias_hn);
                        }
                        store.insert(&name("bias_ih"), &tensor.shape, tensor.values.to_vec())?;
                        store.insert(&name("bias_hh"), &tensor.shape, by_state)?;
                    }
                    other => store.insert(&name(other), &tensor.shape, tensor.values.to_vec())?,
                }
            }
        }
    }
    Ok(store)
}
