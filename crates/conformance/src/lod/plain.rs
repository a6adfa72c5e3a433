//! Tensors between JSON, the library and the comparison.

use kaldera::base::Real;
use kaldera::lod::{Lod, LodTensor};
use kaldera::tensor::Element;
use serde_json::Value;

use crate::{Dtype, Plain, Stop, field, float, list, near, numbers_of, unless};

/// Tolerances of an f64 and of an f32: the numbers of the README, times the expected value if
/// that is over 1.
const TOLERANCES: [f64; 2] = [1e-9, 2e-5];

/// A type of values that a tensor can hold.
pub(super) trait Number: Element + Dtype {}
impl<T: Element + Dtype> Number for T {}

/// A type of values that the operators of networks take.
pub(super) trait Float: Number + Real {}
impl<T: Number + Real> Float for T {}

/// The LoD whose offsets are the field `lod`; none if there is no such field.
pub(super) fn lod_of(value: &Value) -> Result<Lod, Stop> {
    Ok(Lod::from_offsets(&levels_of(value, "lod")?)?)
}

/// The levels in the field `name`; none if there is no such field.
pub(super) fn levels_of(value: &Value, name: &str) -> Result<Vec<Vec<i64>>, Stop> {
    Ok(field::<Option<_>>(value, name)?.unwrap_or_default())
}

/// A tensor with its LoD.
pub(super) fn tensor<T: Number>(value: &Value) -> Result<LodTensor<T>, Stop> {
    tensor_with(value, lod_of(value)?)
}

/// A tensor with another LoD.
pub(super) fn tensor_with<T: Number>(value: &Value, lod: Lod) -> Result<LodTensor<T>, Stop> {
    Ok(LodTensor::from_vec(field::<Vec<usize>>(value, "shape")?, numbers_of::<T>(value, "data")?, lod)?)
}

/// A tensor, if there is one.
pub(super) fn optional<T: Number>(value: &Value) -> Result<Option<LodTensor<T>>, Stop> {
    if value.is_null() { Ok(None) } else { tensor(value).map(Some) }
}

/// A result, to be compared.
struct Came {
    dtype: &'static str,
    shape: Vec<usize>,
    data: Vec<Plain>,
    lod: Vec<Vec<i64>>,
}

impl<T: Number> From<&LodTensor<T>> for Came {
    fn from(tensor: &LodTensor<T>) -> Self {
        let levels = 0..tensor.lod().num_levels();
        let lod = levels.map(|level| tensor.lod().offsets(level).iter().map(|&x| x.into()).collect()).collect();
        let data = tensor.values().iter().map(|x| x.write()).collect();
        Self { dtype: T::NAME, shape: tensor.shape().to_vec(), data, lod }
    }
}

/// The tensors of each slot, by its name.
type Slots = Vec<(&'static str, Vec<Came>)>;

/// The results of an operator call.
#[derive(Default)]
pub(super) struct Results {
    outputs: Slots,
    gradients: Slots,
}

impl Results {
    pub(super) fn output<T: Number>(mut self, name: &'static str, tensor: &LodTensor<T>) -> Self {
        self.outputs.push((name, vec![tensor.into()]));
        self
    }

    pub(super) fn gradient<T: Number>(self, name: &'static str, tensor: &LodTensor<T>) -> Self {
        self.gradients(name, std::slice::from_ref(tensor))
    }

    /// The gradients of all tensors of a slot.
    pub(super) fn gradients<T: Number>(mut self, name: &'static str, tensors: &[LodTensor<T>]) -> Self {
        self.gradients.push((name, tensors.iter().map(Came::from).collect()));
        self
    }

    /// The results if gradients have no LoD, as Paddle's have none.
    pub(super) fn with_plain_gradients(mut self) -> Self {
        self.gradients.iter_mut().flat_map(|(_, tensors)| tensors).for_each(|tensor| tensor.lod.clear());
        self
    }

    /// The differences from all known answers of a case.
    pub(super) fn differences(&self, case: &Value) -> Result<Vec<String>, Stop> {
        match &case["correct"] {
            Value::Null => self.differences_of(case, ["", ""]),
            correct => compare_slots(correct, "", &self.outputs),
        }
    }

    /// The differences from `outputs` and `in_grads` of a case, with words in front of the names.
    pub(super) fn differences_of(&self, case: &Value, words: [&str; 2]) -> Result<Vec<String>, Stop> {
        let outputs = compare_slots(&case["outputs"], words[0], &self.outputs)?;
        Ok([outputs, compare_slots(&case["in_grads"], words[1], &self.gradients)?].concat())
    }
}

fn compare_slots(part: &Value, words: &str, came: &Slots) -> Result<Vec<String>, Stop> {
    let mut differences = Vec::new();
    for (name, expected) in part.as_object().into_iter().flatten().filter(|(_, expected)| !expected.is_null()) {
        let what = format!("{words}{name}");
        let Some((_, came)) = came.iter().find(|(found, _)| found == name) else {
            differences.push(format!("{what}: expected {expected}, came nothing"));
            continue;
        };
        let expected = expected.as_array().map_or(std::slice::from_ref(expected), Vec::as_slice);
        if expected.len() != came.len() {
            differences.push(format!("{what}: expected {} tensors, came {}", expected.len(), came.len()));
        }
        for (expected, came) in expected.iter().zip(came).filter(|(expected, _)| !expected.is_null()) {
            differences.extend(compare_with(&what, expected, came)?);
        }
    }
    Ok(differences)
}

/// The differences between the expected `name` and ours.
pub(super) fn compare<T: Number>(name: &str, expected: &Value, came: &LodTensor<T>) -> Result<Vec<String>, Stop> {
    compare_with(name, expected, &came.into())
}

fn compare_with(name: &str, expected: &Value, came: &Came) -> Result<Vec<String>, Stop> {
    let check = |what: &str, expected: String, found: String| {
        unless(expected == found, || format!("{name}.{what}: expected {expected}, came {found}"))
    };
    let shape: Vec<i64> = field(expected, "shape")?;
    Ok([
        check("dtype", expected["dtype"].as_str().unwrap_or_default().into(), came.dtype.into()),
        check("shape", format!("{shape:?}"), format!("{:?}", came.shape)),
        check("lod", format!("{:?}", levels_of(expected, "lod")?), format!("{:?}", came.lod)),
        compare_data(name, expected, &came.data, TOLERANCES[usize::from(came.dtype == "f32")])?,
    ]
    .concat())
}

/// The differences between the expected numbers, the field `data`, and ours.
pub(super) fn compare_data(name: &str, expected: &Value, came: &[Plain], tolerance: f64) -> Result<Vec<String>, Stop> {
    let expected = list(expected, "data")?;
    let (right, found) = (expected.len(), came.len());
    let mut differences = unless(right == found, || format!("{name}.data.len: expected {right}, came {found}"));
    for (i, (expected, &found)) in expected.iter().zip(came).enumerate() {
        let same = match found {
            Plain::Integer(found) => {
                i64::read(expected) == Some(found) || bool::read(expected).map(i64::from) == Some(found)
            }
            Plain::Float(found) => {
                let expected = float(expected).ok_or_else(|| Stop::Damaged("no number".into()))?;
                near(expected, found, tolerance * expected.abs().max(1.0))
            }
        };
        differences.extend(unless(same, || format!("{name}.data[{i}]: expected {expected}, came {found:?}")));
    }
    Ok(differences)
}
