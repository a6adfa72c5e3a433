//! RTen.

use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};

use rten::{DataType, Dimension, Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView, ValueType};
use rten_tensor::Layout as _;

use crate::contents::Contents;
use crate::description::{Axis, Description, Element, TensorInfo};
use crate::error::Error;
use crate::guard::{guarded, with_stack};
use crate::session::{Session, Tensor, at, narrow};
use crate::states::State;

/// Hint for weights in files of other names, which RTen rejects.
const REMEDY: &str = "RTen reads weights from files *.data and *.onnx_data in the network's own folder alone: save \
                      the network with such a name (onnx.save with location=...), or take ONNX Runtime (runtime = \"ort\")";

pub(super) struct RtenSession {
    model: Model,
    num_nodes: usize,
}

/// Pools of one thread that no run uses. Runs on the same pool wait for each other.
static IDLE: Mutex<Vec<Arc<ThreadPool>>> = Mutex::new(vec![]);

/// Set when a process was warned of products of integers: a model has several files of them.
static WARNED: Once = Once::new();

/// Returns `true` if RTen's products of integers of 8 bits are exact on this processor: on x86-64
/// they are sums in 16 bits without VNNI.
fn has_exact_products() -> bool {
    #[cfg(target_arch = "x86_64")]
    let exact = is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    let exact = true;
    exact
}

/// Calls with a pool of one thread, which has no other user until the call ends.
fn with_pool<T>(call: impl FnOnce(&Arc<ThreadPool>) -> T) -> T {
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = idle().pop();
    let pool = found.unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)));
    let result = call(&pool);
    idle().push(pool);
    result
}

impl RtenSession {
    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        let Contents { weights, num_nodes, multiplies_integers } = Contents::of(path)?;
        let load = |packed| {
            let load = || ModelOptions::with_all_ops().prepack_weights(packed).load_file(path);
            with_stack(num_nodes, || guarded(load))
        };
        // A chunk has few rows: to pack the weights for each run would take as long as the run.
        let model = load(false).and_then(|model| match State::all(&describe(&model)) {
            Ok(states) if !states.is_empty() => {
                drop(model);
                load(true)
            }
            _ => Ok(model),
        });
        let model = model.map_err(|mut reason| {
            if !weights.iter().all(|file| is_read(path, file)) {
                reason = format!("{reason}; {REMEDY}");
            }
            Error::Load { path: path.to_owned(), reason }
        })?;
        if multiplies_integers && !has_exact_products() {
            WARNED.call_once(|| {
                tracing::warn!(
                    "{}: its products of int8 may saturate, as this processor has no AVX-512 VNNI instructions: take \
                     a file without int8, or runtime = \"ort\"",
                    path.display()
                );
            });
        }
        Ok(Self { model, num_nodes })
    }
}

fn describe(model: &Model) -> Description {
    let all = |ids: &[NodeId]| ids.iter().map(|&id| info(model, id)).collect();
    let metadata = model.metadata().fields().map(|(key, value)| (key.to_owned(), value.to_owned()));
    Description::new(all(model.input_ids()), all(model.output_ids()), metadata.collect())
}

fn info(model: &Model, id: NodeId) -> TensorInfo {
    let info = model.node_info(id);
    let info = info.as_ref();
    let axis = |axis| match axis {
        Dimension::Fixed(size) => Axis::Fixed(size),
        Dimension::Symbolic(name) => Axis::Symbolic(name),
    };
    TensorInfo {
        name: info.and_then(|info| info.name()).unwrap_or_default().to_owned(),
        axes: info.and_then(|info| info.shape()).map(|axes| axes.into_iter().map(axis).collect()),
        element: info.and_then(|info| info.dtype()).and_then(|kind| match kind {
            ValueType::Tensor(DataType::Float) => Some(Element::Float),
            ValueType::Tensor(DataType::Int32) => Some(Element::Integer),
            ValueType::Tensor(_) => Some(Element::Byte),
            _ => None,
        }),
    }
}

impl Session for RtenSession {
    fn description(&self) -> Description {
        describe(&self.model)
    }

    fn run(&self, inputs: Vec<(usize, Tensor)>, outputs: &[usize]) -> Result<Vec<Tensor>, String> {
        let inputs = inputs.into_iter().map(|(number, tensor)| {
            let node = *at("input", self.model.input_ids(), number)?;
            Ok::<(NodeId, ValueOrView<'_>), String>((node, value(tensor)?.into()))
        });
        let inputs = inputs.collect::<Result<_, _>>()?;
        let outputs = outputs.iter().map(|&number| at("output", self.model.output_ids(), number).copied());
        let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        let found = with_pool(|pool| {
            let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
            with_stack(self.num_nodes, || guarded(|| self.model.run(inputs, &outputs, Some(options))))
        })?;
        found.into_iter().map(tensor).collect()
    }
}

/// Returns `true` if RTen reads weights from a file of this name.
fn is_read(network: &Path, file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str()).filter(|_| file.parent() == network.parent());
    ending.is_some_and(|ending| ending.starts_with("data") || ending.starts_with("onnx_data"))
}

fn value(tensor: Tensor) -> Result<Value, String> {
    match tensor {
        Tensor::Float(shape, values) => Value::from_shape(shape, values).map_err(|error| error.to_string()),
        Tensor::Integer(shape, values) => {
            // RTen reads integers of 64 bits as 32.
            Value::from_shape(shape, narrow(values)?).map_err(|error| error.to_string())
        }
    }
}

fn tensor(value: Value) -> Result<Tensor, String> {
    match value {
        Value::FloatTensor(tensor) => Ok(Tensor::Float(tensor.shape().to_vec(), tensor.into_data())),
        Value::Int32Tensor(tensor) => {
            let shape = tensor.shape().to_vec();
            Ok(Tensor::Integer(shape, tensor.into_data().into_iter().map(i64::from).collect()))
        }
        other => Err(format!("an output of {}, and floating point or integers are read", other.dtype())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Longer than threads need to start on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn runs_of_several_threads_overlap_and_each_has_one_thread() {
        let (told, tells) = channel();
        let barrier = Arc::new(Barrier::new(3));
        for _ in 0..3 {
            let (told, barrier) = (told.clone(), Arc::clone(&barrier));
            thread::spawn(move || {
                // Passes only if all are in it at the same time.
                let name = with_pool(|pool| {
                    pool.run(|| {
                        barrier.wait();
                        thread::current().name().map(str::to_owned)
                    })
                });
                told.send(name)
            });
        }
        for _ in 0..3 {
            assert_eq!(tells.recv_timeout(PATIENCE).unwrap().as_deref(), Some("rten-0"));
        }
    }
}
