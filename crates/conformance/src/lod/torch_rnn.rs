//! Whole networks of PyTorch's, with all their gradients: `torch_rnn.jsonl`.

use kaldera::lod::{Lod, LodTensor};
use kaldera::recurrent::weights::{ParameterStore, TorchCell};
use kaldera::recurrent::{Activation, Gru, GruOptions, Layer, Lstm, LstmOptions, Parameters, Rnn, Stack, State};
use serde_json::Value;

use super::plain::{Float, compare_data, tensor_with};
use crate::{Stop, field, numbers_of, unless};

/// Runs a network forward and backward, and compares all that the case has answers for.
pub(crate) fn check(case: &Value) -> Result<Vec<String>, Stop> {
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
        store.insert(name, &field::<Vec<usize>>(weight, "shape")?, numbers_of(weight, "data")?)?;
    }
    let stack = Stack::<C>::from_torch(&store, "", options)?;
    let lengths: Vec<usize> = field(case, "lengths")?;
    let lod = Lod::from_lengths(&[&lengths])?;
    let x = tensor_with::<T>(&case["x"], lod.clone())?;
    let initial = states::<T>(&case["h0"], &case["c0"])?;

    let table = lod.rank_table(0)?;
    let active: Vec<usize> = (0..table.max_sequence_len()).map(|step| table.active(step)).collect();
    // PyTorch does not know sequences without steps; ours are the last ones.
    let mut order: Vec<usize> = field(case, "order")?;
    order.retain(|&i| lengths.get(i) != Some(&0));
    let came = &table.order()[..active.first().copied().unwrap_or(0)];
    let mut differences = check_text("order", format!("{order:?}"), format!("{came:?}"));
    let batch_sizes: Vec<usize> = field(case, "batch_sizes")?;
    differences.extend(check_text("batch_sizes", format!("{batch_sizes:?}"), format!("{active:?}")));
    // A tensor of the case, if it has it.
    let check = |name: &str, came: &[T]| match &case[name] {
        Value::Null => Ok(vec![]),
        expected => compare(case, name, expected, came),
    };

    let (out, saved) = stack.forward(&x, &initial, None)?;
    // The pass that keeps nothing must give the same.
    let lean = stack.run(&x, &initial)?;
    for out in [&out, &lean] {
        differences.extend(check("y", out.y.values())?);
        differences.extend(check_text("y.lod", lod.to_string(), out.y.lod().to_string()));
        differences.extend(check("h_n", &stacked(&out.last, |state| &state.h))?);
        differences.extend(check("c_n", &stacked(&out.last, |state| &state.c))?);
    }

    let grad_y = tensor_with(&case["grad_y"], lod)?;
    let grads = saved.backward(Some(&grad_y), &states(&case["grad_h_n"], &case["grad_c_n"])?)?;
    differences.extend(check("grad_x", grads.x.values())?);
    differences.extend(check("grad_h0", &stacked(&grads.initial, |state| &state.h))?);
    differences.extend(check("grad_c0", &stacked(&grads.initial, |state| &state.c))?);
    let by_name = gradients_by_name(&grads.weights.layers)?;
    for (name, expected) in case["grad_weights"].as_object().into_iter().flatten() {
        let (shape, values) = by_name.get(name)?;
        let right: Vec<usize> = field(expected, "shape")?;
        differences.extend(check_text(&format!("{name}.shape"), format!("{right:?}"), format!("{shape:?}")));
        differences.extend(compare(case, &format!("grad_weights.{name}"), expected, values)?);
    }
    Ok(differences)
}

fn check_text(what: &str, expected: String, came: String) -> Vec<String> {
    unless(expected == came, || format!("{what}: expected {expected}, came {came}"))
}

fn compare<T: Float>(case: &Value, name: &str, expected: &Value, came: &[T]) -> Result<Vec<String>, Stop> {
    // PyTorch's own rounding, as in the README: gradients through three layers have more.
    let deep = name.starts_with("grad") && case["num_layers"].as_u64() >= Some(3);
    let tolerance = match (T::NAME, deep) {
        ("f64", _) => 1e-9,
        (_, false) => 1e-5,
        (_, true) => 5e-5,
    };
    let came: Vec<_> = came.iter().map(|x| x.write()).collect();
    compare_data(name, expected, &came, tolerance)
}

/// The states of all layers and directions, `[layers · directions, sequences, width]` each; empty
/// if there is no h.
fn states<T: Float>(h: &Value, c: &Value) -> Result<Vec<State<T>>, Stop> {
    let parts = |value: &Value| -> Result<Vec<LodTensor<T>>, Stop> {
        let [layers, sequences, width]: [usize; 3] = field(value, "shape")?;
        let data: Vec<T> = numbers_of(value, "data")?;
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
