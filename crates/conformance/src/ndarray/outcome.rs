//! The result of a call, and its differences from the known answer.

use kaldera::tensor::{Layout, TensorCow, TensorView};
use serde_json::{Value, json};

use crate::strided_slice::Answer;

/// The most bit patterns of floats in a case.
const MAX_BITS: usize = 12;

/// The result of a call.
#[derive(Debug)]
pub(super) enum Outcome {
    /// An array: its shape, its values in C order, and its layout; `None` for a copy.
    Array {
        shape: Vec<usize>,
        values: Vec<i64>,
        layout: Option<Layout>,
    },
    /// The one value of a scalar.
    Scalar(Vec<i32>),
    Shape(Vec<usize>),
    Offsets(Vec<usize>),
    Coordinates(Vec<Vec<usize>>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    /// Two ways to make the same call gave different answers.
    Disagree,
}

impl Outcome {
    pub(super) fn of_view(view: &TensorView<'_, i32>) -> Self {
        let values = view.to_vec();
        // Reading element by element must not differ from copying.
        if !view.iter().eq(&values) {
            return Self::Disagree;
        }
        let values = values.into_iter().map(i64::from).collect();
        Self::Array { shape: view.shape().to_vec(), values, layout: Some(view.layout().clone()) }
    }

    pub(super) fn of_cow(cow: &TensorCow<'_, i32>) -> Self {
        match Self::of_view(&cow.view()) {
            Self::Array { shape, values, .. } if !cow.is_view() => Self::Array { shape, values, layout: None },
            other => other,
        }
    }

    /// The differences from the case.
    pub(super) fn differences(&self, case: &Value) -> Vec<String> {
        let only = |fields: &[(&str, Value)]| {
            let differs = |(key, came): &&(&str, Value)| case[*key] != *came;
            let tell = |(key, came): &(&str, Value)| format!("{key}: expected {}, came {came}", case[*key]);
            fields.iter().filter(differs).map(tell).collect()
        };
        match self {
            Self::Array { shape, values, layout } => {
                let answer = Answer { shape: shape.clone(), values: values.clone() };
                let mut differences = answer.differences(case);
                if case.get("scalar").is_some() {
                    differences.push("expected a scalar, came an array".into());
                }
                differences.extend(place_differences(case, shape, layout.as_ref()));
                differences
            }
            Self::Scalar(values) => only(&[("scalar", json!(1)), ("o", json!([])), ("v", json!(values))]),
            Self::Shape(shape) => only(&[("o", json!(shape))]),
            Self::Offsets(offsets) => only(&[("v", json!(offsets))]),
            Self::Coordinates(coordinates) => only(&[("coords", json!(coordinates))]),
            Self::Integers(values) => only(&[("v", json!(values))]),
            Self::Floats(values) => {
                let bits = values.iter().take(MAX_BITS).map(|x| format!("{:016x}", x.to_bits()));
                only(&[("n", json!(values.len())), ("bits", bits.collect())])
            }
            Self::Disagree => vec!["two ways to ask for the same gave different answers".into()],
        }
    }
}

/// The differences in the layout: offset, strides, flags, whether memory is shared. Fields that
/// the case leaves out are not compared, nor numbers without meaning (the offset of no elements,
/// the strides of axes of length 1).
fn place_differences(case: &Value, shape: &[usize], layout: Option<&Layout>) -> Vec<String> {
    let mut differences = Vec::new();
    let mut check = |key: &str, came: Value| {
        if case[key] != came {
            differences.push(format!("{key}: expected {}, came {came}", case[key]));
        }
    };
    let is_empty = shape.contains(&0);
    if case.get("view").is_some_and(|view| !view.is_null()) {
        check("view", layout.is_some().into());
    }
    let Some(layout) = layout else { return differences };
    if case.get("c").is_some() {
        check("c", i32::from(layout.is_contiguous()).into());
        check("f", i32::from(layout.is_fortran()).into());
    }
    if case.get("off").is_some() && !is_empty && case["op"] != "strided" {
        check("off", layout.offset().into());
        let strides = case["str"].as_array().map_or(&[][..], Vec::as_slice);
        let differs = |axis: usize| shape[axis] > 1 && strides[axis] != layout.strides()[axis];
        if strides.len() != shape.len() || (0..shape.len()).any(differs) {
            check("str", json!(layout.strides()[..]));
        }
    }
    differences
}
