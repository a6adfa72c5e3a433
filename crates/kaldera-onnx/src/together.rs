//! One run over the chunks of several utterances.

use crate::session::Tensor;

/// Maximum number of utterances of a run. All of them wait for its end, and a larger run takes
/// hardly less time for each.
pub(crate) const MAX_TOGETHER: usize = 8;

/// Maximum difference that the other utterances of a run may make, as a part of 1 plus the absolute
/// value: the square root of single precision's epsilon. Products of other sizes sum in another
/// order. A network whose products depend on the whole run, such as one with dynamic quantization,
/// differs by far more.
const TOLERANCE: f32 = 3.5e-4;

/// Joins tensors of one shape, whose size along `axis` is 1, along this axis.
///
/// # Errors
/// Tensors of other shapes or types.
pub(crate) fn join(tensors: Vec<Tensor>, axis: usize) -> Result<Tensor, String> {
    let shape = tensors.first().map(|first| first.shape().to_vec()).unwrap_or_default();
    if shape.get(axis) != Some(&1) || tensors.iter().any(|tensor| tensor.shape() != shape) {
        return Err(format!("tensors cannot be joined along axis {axis} of shape {shape:?}"));
    }
    let mut joined = shape.clone();
    joined[axis] = tensors.len();
    let size = shape[axis..].iter().product();
    let (mut floats, mut integers) = (vec![], vec![]);
    for tensor in &tensors {
        match tensor {
            Tensor::Float(_, values) => floats.push(&values[..]),
            Tensor::Integer(_, values) => integers.push(&values[..]),
        }
    }
    match (floats.is_empty(), integers.is_empty()) {
        (false, true) => Ok(Tensor::Float(joined, interleave(&floats, size))),
        (true, false) => Ok(Tensor::Integer(joined, interleave(&integers, size))),
        _ => Err("tensors of two types cannot be joined".to_owned()),
    }
}

/// Divides a tensor along an axis, into `count` tensors whose size along it is 1.
///
/// # Errors
/// A tensor of another size along the axis.
pub(crate) fn divide(tensor: &Tensor, axis: usize, count: usize) -> Result<Vec<Tensor>, String> {
    let mut shape = tensor.shape().to_vec();
    if shape.get(axis) != Some(&count) {
        return Err(format!("a result of shape {shape:?}, and {count} are expected along axis {axis}"));
    }
    shape[axis] = 1;
    let size = shape[axis..].iter().product();
    let part = |number| match tensor {
        Tensor::Float(_, values) => Tensor::Float(shape.clone(), part_of(values, number, count, size)),
        Tensor::Integer(_, values) => Tensor::Integer(shape.clone(), part_of(values, number, count, size)),
    };
    Ok((0..count).map(part).collect())
}

/// Returns blocks of `size` values, of each part in turn.
fn interleave<T: Copy>(parts: &[&[T]], size: usize) -> Vec<T> {
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for block in 0..parts.first().map_or(0, |part| part.len() / size.max(1)) {
        parts.iter().for_each(|part| all.extend_from_slice(&part[block * size..][..size]));
    }
    all
}

/// Returns each `count`-th block of `size` values, beginning with block `number`.
fn part_of<T: Copy>(values: &[T], number: usize, count: usize, size: usize) -> Vec<T> {
    let mut part = Vec::with_capacity(values.len() / count);
    let blocks = values.chunks_exact(size.max(1)).skip(number).step_by(count);
    blocks.for_each(|block| part.extend_from_slice(block));
    part
}

/// Returns `true` if values differ by rounding only.
pub(crate) fn are_close(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || (a - b).abs() <= TOLERANCE * (1.0 + a.abs()))
}

/// Returns `true` if tensors differ by rounding only.
pub(crate) fn are_close_tensors(a: &Tensor, b: &Tensor) -> bool {
    match (a, b) {
        (Tensor::Float(shape, a), Tensor::Float(other, b)) => shape == other && are_close(a, b),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_undoes_joining() {
        let axes: [&[usize]; 5] = [&[], &[0], &[1], &[3], &[2, 3]];
        for (before, after) in axes.iter().flat_map(|&before| axes.map(|after| (before, after))) {
            for count in 1..4 {
                let shape = [before, &[1], after].concat();
                let size = shape.iter().product::<usize>();
                let values = |number: usize| (number * size..(number + 1) * size).map(|value| value as i64).collect();
                let tensors: Vec<_> = (0..count).map(|number| Tensor::Integer(shape.clone(), values(number))).collect();
                let joined = join(tensors.clone(), before.len()).unwrap();
                assert_eq!(joined.shape().iter().product::<usize>(), count * size);
                assert_eq!(divide(&joined, before.len(), count).unwrap(), tensors);
                assert!(divide(&joined, before.len(), count + 1).is_err());
            }
        }
    }

    #[test]
    fn values_are_joined_along_their_axis() {
        let tensor = |values: &[i64]| Tensor::Integer(vec![2, 1, 2], values.to_vec());
        let joined = join(vec![tensor(&[0, 1, 2, 3]), tensor(&[4, 5, 6, 7])], 1).unwrap();
        assert_eq!(joined, Tensor::Integer(vec![2, 2, 2], vec![0, 1, 4, 5, 2, 3, 6, 7]));
        assert!(join(vec![tensor(&[0, 1, 2, 3])], 0).is_err());
        assert!(join(vec![tensor(&[0, 1, 2, 3]), Tensor::Float(vec![2, 1, 2], vec![0.0; 4])], 1).is_err());
        assert!(join(vec![tensor(&[0, 1, 2, 3]), Tensor::Integer(vec![1, 1], vec![0])], 1).is_err());
    }

    #[test]
    fn infinite_values_are_close_to_themselves() {
        assert!(are_close(&[f32::NEG_INFINITY, 100.0], &[f32::NEG_INFINITY, 100.01]));
        assert!(!are_close(&[0.0], &[f32::NEG_INFINITY]) && !are_close(&[f32::NAN], &[f32::NAN]));
        assert!(!are_close(&[1.0], &[1.01]) && !are_close(&[1.0], &[]));
        let integer = |value| Tensor::Integer(vec![1], vec![value]);
        assert!(are_close_tensors(&integer(1), &integer(1)) && !are_close_tensors(&integer(1), &integer(2)));
    }
}
