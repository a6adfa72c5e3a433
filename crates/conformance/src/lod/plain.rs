//! Tensors between JSON, the library and the comparison.

use kaldera::lod::{Lod, LodTensor};
use kaldera::tensor::Element;
use serde_json::Value;

use super::Stop;

/// Tolerances of an f64 and of an f32: the numbers of the README, times the expected value if
/// that is over 1.
const TOLERANCES: [f64; 2] = [1e-9, 2e-5];

/// A type of values that a case can hold.
pub(super) trait Number: Element + std::fmt::Debug {
    /// Its name in the cases.
    const DTYPE: &'static str;
    fn read(value: &Value) -> Option<Self>;
    fn write(self) -> Plain;
}

/// A value as it is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Plain {
    Integer(i64),
    Float(f64),
}

macro_rules! integer {
    ($t:ty, $dtype:literal) => {
        impl Number for $t {
            const DTYPE: &'static str = $dtype;
            fn read(value: &Value) -> Option<Self> {
                value.as_i64().or_else(|| value.as_f64().map(|x| x as i64)).and_then(|x| x.try_into().ok())
            }
            fn write(self) -> Plain {
                Plain::Integer(self.into())
            }
        }
    };
}
integer!(i32, "i32");
integer!(i64, "i64");

impl Number for bool {
    const DTYPE: &'static str = "bool";
    fn read(value: &Value) -> Option<Self> {
        value.as_bool().or_else(|| value.as_i64().map(|x| x != 0))
    }
    fn write(self) -> Plain {
        Plain::Integer(self.into())
    }
}

macro_rules! float {
    ($t:ty, $dtype:literal) => {
        impl Number for $t {
            const DTYPE: &'static str = $dtype;
            fn read(value: &Value) -> Option<Self> {
                float(value).map(|x| x as $t)
            }
            fn write(self) -> Plain {
                Plain::Float(self.into())
            }
        }
    };
}
float!(f32, "f32");
float!(f64, "f64");

/// A number, or a string that stands for a value that JSON has no number for.
fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => value.as_f64(),
    }
}

fn damaged(what: &str) -> Stop {
    Stop::Damaged(what.into())
}

/// The levels that a tensor is written with.
pub(super) fn lod_of(value: &Value) -> Result<Lod, Stop> {
    Ok(Lod::from_offsets(&levels_of(&value["lod"])?)?)
}

/// Lists of numbers; empty if there is no list.
pub(super) fn levels_of(value: &Value) -> Result<Vec<Vec<i64>>, Stop> {
    value.as_array().into_iter().flatten().map(numbers).collect()
}

/// A list of integers.
pub(super) fn numbers<T: Number>(value: &Value) -> Result<Vec<T>, Stop> {
    let list = value.as_array().ok_or_else(|| damaged("no list of numbers"))?;
    list.iter().map(|x| T::read(x).ok_or_else(|| damaged("a number of another type"))).collect()
}

/// A list of lengths.
pub(super) fn sizes(value: &Value) -> Result<Vec<usize>, Stop> {
    let sizes = numbers::<i64>(value)?.into_iter().map(usize::try_from);
    sizes.collect::<Result<_, _>>().map_err(|_| damaged("a negative length"))
}

/// A tensor with its LoD.
pub(super) fn tensor<T: Number>(value: &Value) -> Result<LodTensor<T>, Stop> {
    Ok(LodTensor::from_vec(sizes(&value["shape"])?, numbers(&value["data"])?, lod_of(value)?)?)
}

/// A result, to be compared.
#[derive(Debug)]
pub(super) struct Came {
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
        Self { dtype: T::DTYPE, shape: tensor.shape().to_vec(), data, lod }
    }
}

/// The results of an operator call: the tensors of each slot, by its name.
pub(super) type Slots = Vec<(&'static str, Vec<Came>)>;

/// The differences between all known answers of a case and the results of a call.
pub(super) fn differences(case: &Value, outputs: &Slots, gradients: &Slots) -> Result<Vec<String>, Stop> {
    let correct = &case["correct"];
    let (right_outputs, right_gradients) = match correct.is_null() {
        true => (&case["outputs"], &case["in_grads"]),
        false => (correct, &Value::Null),
    };
    let mut differences = Vec::new();
    for (part, came) in [(right_outputs, outputs), (right_gradients, gradients)] {
        for (name, expected) in part.as_object().into_iter().flatten().filter(|(_, expected)| !expected.is_null()) {
            let Some((_, came)) = came.iter().find(|(found, _)| found == name) else {
                differences.push(format!("{name}: expected {expected}, came nothing"));
                continue;
            };
            let expected = expected.as_array().map_or(std::slice::from_ref(expected), Vec::as_slice);
            if expected.len() != came.len() {
                differences.push(format!("{name}: expected {} tensors, came {}", expected.len(), came.len()));
            }
            for (expected, came) in expected.iter().zip(came).filter(|(expected, _)| !expected.is_null()) {
                differences.extend(compare(name, expected, came)?);
            }
        }
    }
    Ok(differences)
}

/// The differences between the expected `name` and ours.
pub(super) fn compare(name: &str, expected: &Value, came: &Came) -> Result<Vec<String>, Stop> {
    let mut differences = Vec::new();
    let mut check = |what: &str, expected: String, found: String| {
        if expected != found {
            differences.push(format!("{name}.{what}: expected {expected}, came {found}"));
        }
    };
    check("dtype", expected["dtype"].as_str().unwrap_or_default().into(), came.dtype.into());
    check("shape", format!("{:?}", numbers::<i64>(&expected["shape"])?), format!("{:?}", came.shape));
    check("lod", format!("{:?}", levels_of(&expected["lod"])?), format!("{:?}", came.lod));
    let data = expected["data"].as_array().ok_or_else(|| damaged("no data"))?;
    let tolerance = TOLERANCES[usize::from(came.dtype == "f32")];
    differences.extend(compare_data(name, data, &came.data, tolerance)?);
    Ok(differences)
}

/// The differences between the expected numbers of `name` and ours.
pub(super) fn compare_data(
    name: &str,
    expected: &[Value],
    came: &[Plain],
    tolerance: f64,
) -> Result<Vec<String>, Stop> {
    let mut differences = Vec::new();
    if expected.len() != came.len() {
        differences.push(format!("{name}.data.len: expected {}, came {}", expected.len(), came.len()));
    }
    for (i, (expected, &found)) in expected.iter().zip(came).enumerate() {
        let same = match found {
            Plain::Integer(found) => {
                i64::read(expected) == Some(found) || bool::read(expected).map(i64::from) == Some(found)
            }
            Plain::Float(found) => {
                let expected = float(expected).ok_or_else(|| damaged("no number"))?;
                found == expected
                    || found.is_nan() && expected.is_nan()
                    || (found - expected).abs() <= tolerance * expected.abs().max(1.0)
            }
        };
        if !same {
            differences.push(format!("{name}.data[{i}]: expected {expected}, came {found:?}"));
        }
    }
    Ok(differences)
}
