//! The result of a call, and its differences from the known answer.

use kaldera::tensor::{Layout, TensorCow, TensorView};
use serde_json::{Value, json};

use crate::strided_slice::{Answer, check};
use crate::unless;

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
        // Reading element by element must not differ from copying.
        if !view.iter().eq(&view.to_vec()) {
            return Self::Disagree;
        }
        let Answer { shape, values } = Answer::of(view);
        Self::Array { shape, values, layout: Some(view.layout().clone()) }
    }

    pub(super) fn of_cow(cow: &TensorCow<'_, i32>) -> Self {
        match Self::of_view(&cow.view()) {
            Self::Array { shape, values, .. } if !cow.is_view() => Self::Array { shape, values, layout: None },
            other => other,
        }
    }

    /// The differences from the case.
    pub(super) fn differences(&self, case: &Value) -> Vec<String> {
        match self {
            Self::Array { shape, values, layout } => {
                let is_array = case.get("scalar").is_none();
                [
                    Answer { shape: shape.clone(), values: values.clone() }.differences(case),
                    unless(is_array, || "expected a scalar, came an array".into()),
                    place_differences(case, shape, layout.as_ref()),
                ]
                .concat()
            }
            Self::Scalar(values) => {
                [check(case, "scalar", 1), check(case, "o", json!([])), check(case, "v", &values[..])].concat()
            }
            Self::Shape(shape) => check(case, "o", &shape[..]),
            Self::Offsets(offsets) => check(case, "v", &offsets[..]),
            Self::Coordinates(coordinates) => check(case, "coords", &coordinates[..]),
            Self::Integers(values) => check(case, "v", &values[..]),
            Self::Floats(values) => {
                let bits: Value = values.iter().take(MAX_BITS).map(|x| format!("{:016x}", x.to_bits())).collect();
                [check(case, "n", values.len()), check(case, "bits", bits)].concat()
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
    if case.get("view").is_some_and(|view| !view.is_null()) {
        differences.extend(check(case, "view", layout.is_some()));
    }
    let Some(layout) = layout else { return differences };
    if case.get("c").is_some() {
        differences.extend(check(case, "c", i32::from(layout.is_contiguous())));
        differences.extend(check(case, "f", i32::from(layout.is_fortran())));
    }
    if case.get("off").is_some() && !shape.contains(&0) && case["op"] != "strided" {
        differences.extend(check(case, "off", layout.offset()));
        let strides = case["str"].as_array().map_or(&[][..], Vec::as_slice);
        let differs = |axis: usize| shape[axis] > 1 && strides[axis] != layout.strides()[axis];
        if strides.len() != shape.len() || (0..shape.len()).any(differs) {
            differences.extend(check(case, "str", &layout.strides()[..]));
        }
    }
    differences
}
