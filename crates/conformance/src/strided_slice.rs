//! TensorFlow's `strided_slice`, its gradient and its assignment: `strided_slice/*.jsonl`, whose
//! cases are calls with their results.
//!
//! An error must be of the right kind and have the right numbers: its fields, put into
//! TensorFlow's words, must give TensorFlow's message.

mod answer;

use kaldera::tensor::{self, Masks, StridedSlice, Tensor};
use serde::Deserialize;
use serde_json::Value;

use crate::{Stop, Verdict, caught, unless};

pub(crate) use answer::{Answer, check};

/// The inputs of a case, by the names of the README.
#[derive(Deserialize)]
pub(crate) struct Call {
    s: Vec<usize>,
    b: Vec<i64>,
    e: Vec<i64>,
    st: Vec<i64>,
    m: [i32; 5],
    t: String,
    #[serde(default)]
    ds: Vec<usize>,
    #[serde(default)]
    vs: Vec<usize>,
}

impl Call {
    /// The plan, made from numbers of the width that the case asks for.
    fn plan(&self) -> Result<StridedSlice, tensor::Error> {
        let [begin, end, ellipsis, new_axis, shrink_axis] = self.m;
        let masks = Masks { begin, end, ellipsis, new_axis, shrink_axis };
        let narrow =
            |numbers: &[i64]| numbers.iter().map(|&number| i32::try_from(number)).collect::<Result<Vec<_>, _>>();
        match (narrow(&self.b), narrow(&self.e), narrow(&self.st)) {
            (Ok(begin), Ok(end), Ok(strides)) if self.t == "i32" => StridedSlice::new(&begin, &end, &strides, masks),
            _ => StridedSlice::new(&self.b, &self.e, &self.st, masks),
        }
    }
}

/// A tensor of this shape whose elements are `first`, `first + step` and so on.
fn counting(shape: &[usize], first: i32, step: i32) -> Result<Tensor<i32>, tensor::Error> {
    let elements: Vec<i32> = (0..).map(|i| first + step * i).take(shape.iter().product()).collect();
    Tensor::from_vec(shape, elements)
}

pub(crate) fn slice(call: &Call) -> Result<Answer, tensor::Error> {
    Ok(Answer::of(&counting(&call.s, 0, 1)?.strided_slice(&call.plan()?)?))
}

pub(crate) fn grad(call: &Call) -> Result<Answer, tensor::Error> {
    let dy = counting(&call.ds, 1, 1)?;
    Ok(Answer::of(&dy.view().strided_slice_grad(&call.plan()?, &call.s)?.view()))
}

pub(crate) fn update(call: &Call) -> Result<Answer, tensor::Error> {
    let (mut input, value) = (counting(&call.s, 0, 1)?, counting(&call.vs, -1, -1)?);
    input.strided_slice_assign(&call.plan()?, &value.view())?;
    Ok(Answer::of(&input.view()))
}

/// The verdict on a case that `run` makes the call of.
pub(crate) fn judge(case: &Value, run: fn(&Call) -> Result<Answer, tensor::Error>) -> Verdict {
    let result =
        Call::deserialize(case).map_err(|why| Stop::Damaged(why.to_string())).and_then(|call| match &*call.t {
            "i32" | "i64" => caught(|| Ok(run(&call))),
            other => Err(Stop::Damaged(format!("numbers of type {other}"))),
        });
    Verdict::of(match result {
        Err(stop) => return stop.verdict(""),
        Ok(Ok(answer)) => answer.differences(case),
        Ok(Err(error)) => {
            let (kind, words) = in_tensorflows_words(&error);
            let expected = &case["err"];
            let same = expected["kind"] == kind && expected["msg"] == *words;
            let expected = if expected.is_null() { &case["o"] } else { expected };
            unless(same, || format!("expected {expected}, came {kind}: {words} ({error})"))
        }
    })
}

/// The README's name of an error, and TensorFlow's message with the same numbers.
fn in_tensorflows_words(error: &tensor::Error) -> (&'static str, String) {
    use tensor::Error::{
        GradientShape, IndexOutOfBounds, MultipleEllipses, ScalarInput, ShrinkStride, SpecLengths, TooManyIndices,
        ValueShape, ZeroStride,
    };
    let list = |shape: &[usize]| format!("{shape:?}").replace(' ', "");
    match error {
        SpecLengths { begin, end, strides } => (
            "spec_shape",
            format!(
                "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [{begin}], [{end}], and [{strides}] \
                 instead."
            ),
        ),
        MultipleEllipses => ("multiple_ellipses", "Multiple ellipses in slice spec not allowed".into()),
        ScalarInput => ("scalar_input", "Attempting to slice scalar input.".into()),
        TooManyIndices { rank, .. } => {
            ("too_many_indices", format!("Index out of range using input dim {rank}; input has only {rank} dims"))
        }
        ZeroStride { axis } => ("zero_stride", format!("strides[{axis}] must be non-zero")),
        ShrinkStride { .. } => ("shrink_stride", "only stride 1 allowed on non-range indexing.".into()),
        IndexOutOfBounds { axis, index, .. } => {
            ("index_out_of_bounds", format!("slice index {index} of dimension {axis} out of bounds."))
        }
        GradientShape { expected, found } => {
            ("dy_shape", format!("shape of dy was {} instead of {}", list(found), list(expected)))
        }
        ValueShape { value, slice } => {
            ("value_shape", format!("Cannot broadcast input shape {} into final shape {}", list(value), list(slice)))
        }
        _ => ("unheard of by TensorFlow", String::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wrong_answer_fails() {
        let mut case =
            json!({"s": [4], "b": [1], "e": [9], "st": [2], "m": [0, 0, 0, 0, 0], "t": "i32", "o": [2], "v": [1, 3]});
        assert_eq!(judge(&case, slice), Verdict::Holds);
        case["v"] = json!([1, 2]);
        assert!(matches!(judge(&case, slice), Verdict::Fails(_)));
        case["v"] = json!([1, 3]);
        case["o"] = json!([2, 1]);
        assert!(matches!(judge(&case, slice), Verdict::Fails(_)));
        let mut case = case.as_object().cloned().unwrap_or_default();
        case.retain(|key, _| key != "o" && key != "v");
        assert!(matches!(judge(&case.into(), slice), Verdict::Fails(_)));
    }

    #[test]
    fn an_error_must_have_the_kind_and_the_numbers() {
        let case = |kind, axis| {
            let words = format!("strides[{axis}] must be non-zero");
            json!({"s": [4, 4], "b": [1, 1], "e": [9, 9], "st": [1, 0], "m": [0, 0, 0, 0, 0], "t": "i64",
                   "err": {"cls": "InvalidArgument", "kind": kind, "msg": words}})
        };
        assert_eq!(judge(&case("zero_stride", 1), slice), Verdict::Holds);
        assert!(matches!(judge(&case("zero_stride", 0), slice), Verdict::Fails(_)));
        assert!(matches!(judge(&case("shrink_stride", 1), slice), Verdict::Fails(_)));
    }

    #[test]
    fn a_damaged_case_is_no_pass() {
        assert!(matches!(judge(&json!({}), slice), Verdict::Fails(_)));
        let case =
            json!({"s": [4], "b": [1], "e": [9], "st": [2], "m": [0, 0, 0, 0, 0], "t": "f32", "o": [2], "v": [1, 3]});
        assert!(matches!(judge(&case, slice), Verdict::Fails(_)));
    }
}
