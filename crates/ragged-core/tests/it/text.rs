//! Text is read back as it was printed, and nothing that is not text of ours does more than fail.

use std::fmt::Debug;

use proptest::prelude::*;
use ragged_core::{Error, Numbers, Ragged, RaggedShape, RowSplits, TextValue};

/// Shapes of 2 to 5 axes, with many empty lists.
fn shape() -> impl Strategy<Value = RaggedShape> {
    let lengths = || prop::collection::vec(prop_oneof![2 => Just(0_usize), 3 => 0..4_usize], 0..200);
    (0..5_usize, prop::collection::vec(lengths(), 1..5)).prop_map(|(dim0, layers)| {
        let mut rows = dim0;
        let splits = layers.into_iter().map(|lengths| {
            let splits = RowSplits::from_lengths(lengths.into_iter().chain(std::iter::repeat(1)).take(rows)).unwrap();
            rows = splits.num_elements();
            splits
        });
        RaggedShape::new(splits.collect::<Vec<_>>()).unwrap()
    })
}

fn tensor<T: Debug + Clone + 'static>(value: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Ragged<T>> {
    shape().prop_flat_map(move |shape| {
        let values = prop::collection::vec(value.clone(), shape.num_elements());
        values.prop_map(move |values| Ragged::new(shape.clone(), values).unwrap())
    })
}

fn f32_bits() -> impl Strategy<Value = f32> + Clone {
    any::<u32>().prop_map(f32::from_bits)
}

fn f64_bits() -> impl Strategy<Value = f64> + Clone {
    any::<u64>().prop_map(f64::from_bits)
}

/// The axes that a text keeps: one below an axis without entries is not in it.
fn printed_axes(shape: &RaggedShape) -> usize {
    (1..shape.num_axes() - 1).take_while(|&axis| shape.tot_size(axis) > 0).count() + 2
}

/// `same` tells whether two values are, as `==` cannot of a NaN.
fn round_trip<T: TextValue>(tensor: &Ragged<T>, same: impl Fn(&T, &T) -> bool) -> Result<(), TestCaseError> {
    let text = tensor.to_string();
    let back: Ragged<T> = text.parse().map_err(|error: Error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(&back.to_string(), &text);
    prop_assert_eq!(back.shape().num_axes(), printed_axes(tensor.shape()));
    for axis in 1..back.shape().num_axes() {
        prop_assert_eq!(back.shape().row_splits(axis), tensor.shape().row_splits(axis));
    }
    prop_assert!(back.values().iter().zip(tensor.values().iter()).all(|(a, b)| same(a, b)));
    Ok(())
}

/// Whatever parses prints as something that parses to the same; whatever does not has a position
/// within the text.
fn check(text: &str) -> Result<(), TestCaseError> {
    fn position(error: Error, text: &str) -> Result<(), TestCaseError> {
        let message = error.to_string();
        let Error::Parse(error) = error else { return Err(TestCaseError::fail(message)) };
        prop_assert!(text.is_char_boundary(error.position), "{}", message);
        let lines: Vec<&str> = message.split('\n').collect();
        prop_assert_eq!(lines.len(), 3, "{}", message);
        prop_assert!(lines[2].ends_with('^') && lines[1].chars().count() <= 80, "{}", message);
        Ok(())
    }
    match text.parse::<RaggedShape>() {
        Ok(shape) => prop_assert_eq!(shape.to_string().parse::<RaggedShape>(), Ok(shape)),
        Err(error) => position(error, text)?,
    }
    match text.parse::<Numbers>() {
        Ok(Numbers::I32(tensor)) => round_trip(&tensor, i32::eq)?,
        Ok(Numbers::F32(tensor)) => {
            round_trip(&tensor, |a, b| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))?
        }
        Err(error) => position(error, text)?,
    }
    Ok(())
}

proptest! {
    #[test]
    fn shapes_survive(shape in shape()) {
        let back: RaggedShape = shape.to_string().parse().unwrap();
        prop_assert_eq!(back.to_string(), shape.to_string());
        prop_assert_eq!(back.num_axes(), printed_axes(&shape));
    }

    #[test]
    fn integers_survive(tensor in tensor(any::<i64>())) {
        round_trip(&tensor, i64::eq)?;
    }

    #[test]
    fn floats_of_32_bits_survive(tensor in tensor(f32_bits())) {
        round_trip(&tensor, |a, b| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))?;
    }

    #[test]
    fn floats_of_64_bits_survive(tensor in tensor(f64_bits())) {
        round_trip(&tensor, |a, b| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))?;
    }

    #[test]
    fn what_k2_prints_is_read_between_its_words(tensor in tensor(any::<i32>())) {
        for text in [tensor.to_k2_string(), tensor.to_k2_string_compact()] {
            let list = text.strip_prefix("RaggedTensor(").and_then(|rest| rest.strip_suffix(", dtype=torch.int32)"));
            prop_assert_eq!(list.unwrap().parse::<Ragged<i32>>().unwrap().to_string(), tensor.to_string());
        }
    }

    #[test]
    fn hostile_characters_only_fail(text in "[\\[\\]x ,0-9.e\\-é\n\t]{0,80}") {
        check(&text)?;
    }

    #[test]
    fn hostile_bytes_only_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn damaged_text_only_fails(tensor in tensor(f32_bits()), at in any::<prop::sample::Index>(), with in any::<char>()) {
        let mut text: Vec<char> = tensor.to_string().chars().collect();
        let at = at.index(text.len());
        text[at] = with;
        check(&text.into_iter().collect::<String>())?;
    }
}

#[test]
fn deep_texts_do_not_overflow_the_stack() {
    const DEPTH: usize = 200_000;
    let deep = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
    let shape: RaggedShape = deep.parse().unwrap();
    assert_eq!(shape.num_axes(), DEPTH);
    assert_eq!(shape.to_string().replace(' ', ""), deep);
    drop(shape);
    assert!("[".repeat(DEPTH).parse::<RaggedShape>().is_err());
    assert!("[".repeat(DEPTH).parse::<Ragged<f64>>().is_err());
    assert!("]".repeat(DEPTH).parse::<RaggedShape>().is_err());
}

#[test]
fn long_tokens_are_read_or_refused_in_one_pass() {
    let digits = format!("[[{}]]", "9".repeat(1_000_000));
    assert!(digits.parse::<Ragged<i32>>().unwrap_err().to_string().len() < 300);
    assert_eq!(digits.parse::<Ragged<f64>>().unwrap().values()[..], [f64::INFINITY]);
}
