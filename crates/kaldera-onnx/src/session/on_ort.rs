//! ONNX Runtime, from its shared library.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use ort::ep::CUDA;
use ort::session::{Session as Loaded, SessionInputValue};
use ort::value::{DynValue, Outlet, Tensor as OrtTensor, TensorElementType, ValueType};

use crate::contents::Contents;
use crate::description::{Axis, Description, Element, TensorInfo};
use crate::error::Error;
use crate::guard::guarded;
use crate::session::{Runtime, Session, Tensor, at, narrow};

/// Environment variable with the path of the library.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// Hint for floating point that does not have 32 bits.
const REMEDY: &str = "32 bits are needed; convert the file with keep_io_types=True";

pub(super) struct OrtSession {
    /// A `run` on several threads at once is not safe.
    loaded: Mutex<Loaded>,
    description: Description,
    /// For each input: `true` if it has integers of 32 bits.
    narrow: Vec<bool>,
}

impl OrtSession {
    pub(super) fn load(path: &Path, runtime: Runtime) -> Result<Self, Error> {
        Contents::of(path)?;
        load_library()?;
        let failed = |reason| Error::Load { path: path.to_owned(), reason };
        let loaded = guarded(|| commit(path, runtime)).map_err(failed)?;
        let description = guarded(|| describe(&loaded)).map_err(failed)?;
        let is_narrow = |input: &Outlet| input.dtype().tensor_type() == Some(TensorElementType::Int32);
        let narrow = loaded.inputs().iter().map(is_narrow).collect();
        Ok(Self { loaded: Mutex::new(loaded), description, narrow })
    }

    fn input(&self, number: usize, tensor: Tensor) -> Result<SessionInputValue<'static>, String> {
        let failed = |error: ort::Error| error.to_string();
        Ok(match tensor {
            Tensor::Float(shape, values) => OrtTensor::from_array((shape, values)).map_err(failed)?.into(),
            Tensor::Integer(shape, values) if self.narrow.get(number) == Some(&true) => {
                OrtTensor::from_array((shape, narrow(values)?)).map_err(failed)?.into()
            }
            Tensor::Integer(shape, values) => OrtTensor::from_array((shape, values)).map_err(failed)?.into(),
        })
    }
}

impl Session for OrtSession {
    fn description(&self) -> Description {
        self.description.clone()
    }

    fn run(&self, inputs: Vec<(usize, Tensor)>, outputs: &[usize]) -> Result<Vec<Tensor>, String> {
        guarded(|| {
            let inputs = inputs.into_iter().map(|(number, tensor)| {
                let name = &*at("input", &self.description.inputs, number)?.name;
                Ok::<_, String>((name, self.input(number, tensor)?))
            });
            let inputs: Vec<(&str, SessionInputValue<'_>)> = inputs.collect::<Result<_, _>>()?;
            let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            let found = loaded.run(inputs).map_err(|error| error.to_string())?;
            let tensor_of = |&number: &usize| {
                let name = &*at("output", &self.description.outputs, number)?.name;
                tensor(found.get(name).ok_or_else(|| format!("there is no output {name}"))?)
            };
            outputs.iter().map(tensor_of).collect::<Result<Vec<_>, _>>()
        })
    }
}

/// Loads the library once. After a failure the next call tries again.
fn load_library() -> Result<(), Error> {
    static LOADED: OnceLock<()> = OnceLock::new();
    if LOADED.get().is_some() {
        return Ok(());
    }
    let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let usual = || format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX).into();
    let library = named.unwrap_or_else(usual);
    guarded(|| ort::init_from(&library).map(|environment| environment.commit()))
        .map_err(|reason| Error::Library { library, reason })?;
    let _ = LOADED.set(());
    Ok(())
}

fn commit(path: &Path, runtime: Runtime) -> Result<Loaded, String> {
    fn text(error: impl Display) -> String {
        error.to_string()
    }
    // Threads that wait for the next utterance must not keep their processors busy.
    let mut builder = Loaded::builder().map_err(text)?.with_intra_op_spinning(false).map_err(text)?;
    if runtime == Runtime::OrtCuda {
        builder = builder.with_execution_providers([CUDA::default().build().error_on_failure()]).map_err(text)?;
    }
    builder.commit_from_file(path).map_err(text)
}

fn describe(loaded: &Loaded) -> Result<Description, String> {
    let all = |tensors: &[Outlet]| tensors.iter().map(info).collect();
    // Outputs that are not read may have any type.
    for input in loaded.inputs() {
        if let Some(ty) = input.dtype().tensor_type().filter(|&ty| is_other_float(ty)) {
            return Err(format!("its input {} is of {ty}: {REMEDY}", input.name()));
        }
    }
    let metadata = loaded.metadata().map_err(|error| error.to_string())?;
    let keys = metadata.custom_keys().map_err(|error| error.to_string())?;
    let metadata = keys.into_iter().filter_map(|key| metadata.custom(&key).map(|value| (key, value)));
    Ok(Description::new(all(loaded.inputs()), all(loaded.outputs()), metadata.collect()))
}

/// Returns `true` for floating point of another width than 32 bits.
fn is_other_float(ty: TensorElementType) -> bool {
    matches!(ty, TensorElementType::Float64 | TensorElementType::Float16 | TensorElementType::Bfloat16)
}

fn info(tensor: &Outlet) -> TensorInfo {
    let (mut axes, mut element) = (None, None);
    if let ValueType::Tensor { ty, shape, dimension_symbols } = tensor.dtype() {
        let axis = |(&size, name): (&i64, &String)| match usize::try_from(size) {
            Ok(size) => Axis::Fixed(size),
            Err(_) => Axis::Symbolic(name.clone()),
        };
        axes = Some(shape.iter().zip(dimension_symbols.iter()).map(axis).collect());
        element = match ty {
            TensorElementType::Float32 | TensorElementType::Float64 | TensorElementType::Float16 => {
                Some(Element::Float)
            }
            TensorElementType::Int32 | TensorElementType::Int64 => Some(Element::Integer),
            TensorElementType::Int8 | TensorElementType::Uint8 => Some(Element::Byte),
            _ => None,
        };
    }
    TensorInfo { name: tensor.name().to_owned(), axes, element }
}

fn tensor(value: &DynValue) -> Result<Tensor, String> {
    let sizes = |shape: &[i64]| {
        let size = |&size: &i64| usize::try_from(size).map_err(|_| format!("an axis of size {size}"));
        shape.iter().map(size).collect::<Result<Vec<_>, _>>()
    };
    let failed = |error: ort::Error| error.to_string();
    match value.dtype().tensor_type() {
        Some(TensorElementType::Int32) => {
            let (shape, values) = value.try_extract_tensor::<i32>().map_err(failed)?;
            Ok(Tensor::Integer(sizes(shape)?, values.iter().copied().map(i64::from).collect()))
        }
        Some(TensorElementType::Int64) => {
            let (shape, values) = value.try_extract_tensor::<i64>().map_err(failed)?;
            Ok(Tensor::Integer(sizes(shape)?, values.to_vec()))
        }
        Some(ty) if is_other_float(ty) => Err(format!("an output is of {ty}: {REMEDY}")),
        _ => {
            let (shape, values) = value.try_extract_tensor::<f32>().map_err(failed)?;
            Ok(Tensor::Float(sizes(shape)?, values.to_vec()))
        }
    }
}
