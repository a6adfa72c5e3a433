//! RTen.

use std::path::Path;
use std::sync::Arc;

use rten::{DataType, Dimension, Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView, ValueType};
use rten_tensor::Layout as _;

use crate::description::{Axis, Description, Element, TensorInfo};
use crate::error::Error;
use crate::guard::guarded;
use crate::session::{Session, Tensor, at, narrow};

pub(super) struct RtenSession {
    model: Model,
    options: RunOptions,
}

impl RtenSession {
    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        let model = guarded(|| Model::load_file(path));
        let model = model.map_err(|reason| Error::Load { path: path.to_owned(), reason })?;
        // Utterances run at the same time: in each there is one thread.
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        Ok(Self { model, options: RunOptions::default().with_thread_pool(Some(pool)) })
    }

    fn info(&self, id: NodeId) -> TensorInfo {
        let info = self.model.node_info(id);
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
}

impl Session for RtenSession {
    fn description(&self) -> Description {
        let all = |ids: &[NodeId]| ids.iter().map(|&id| self.info(id)).collect();
        let metadata = self.model.metadata().fields().map(|(key, value)| (key.to_owned(), value.to_owned()));
        Description::new(all(self.model.input_ids()), all(self.model.output_ids()), metadata.collect())
    }

    fn run(&self, inputs: Vec<(usize, Tensor)>, outputs: &[usize]) -> Result<Vec<Tensor>, String> {
        let inputs = inputs.into_iter().map(|(number, tensor)| {
            let node = *at("input", self.model.input_ids(), number)?;
            Ok::<(NodeId, ValueOrView<'_>), String>((node, value(tensor)?.into()))
        });
        let inputs = inputs.collect::<Result<_, _>>()?;
        let outputs = outputs.iter().map(|&number| at("output", self.model.output_ids(), number).copied());
        let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        let found = guarded(|| self.model.run(inputs, &outputs, Some(self.options.clone())))?;
        found.into_iter().map(tensor).collect()
    }
}

fn value(tensor: Tensor) -> Result<Value, String> {
    match tensor {
        Tensor::Float(shape, values) => Value::from_shape(shape, values).map_err(|error| error.to_string()),
        Tensor::Integer(shape, values) => {
            // Integers of 64 bits are of 32 there.
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
