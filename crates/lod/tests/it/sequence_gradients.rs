//! Every gradient of a sequence operator against finite differences in double precision, on random
//! sequences, many of them empty.

use lod::sequence::{self, Context, Patches, Pool};
use lod::{Error, Lod, LodTensor};
use proptest::prelude::*;

/// A change of an input that is small against the values and large against their rounding.
const STEP: f64 = 1e-5;
/// Central differences of smooth functions of values around 1 err by some STEP², and by the
/// rounding of values divided by STEP.
const TOLERANCE: f64 = 1e-7;

/// Numbers that look random, none near another: so no maximum changes by a STEP.
fn values(count: usize, salt: u64) -> Vec<f64> {
    let number =
        |i: u64| ((i + 1 + salt * 7919).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / f64::from(1 << 23) - 1.0;
    (0..count as u64).map(number).collect()
}

fn tensor(lengths: &[usize], width: usize, salt: u64) -> LodTensor<f64> {
    let rows = lengths.iter().sum();
    LodTensor::from_vec([rows, width], values(rows * width, salt), Lod::from_lengths(&[lengths]).unwrap()).unwrap()
}

fn plain(rows: usize, width: usize, salt: u64) -> LodTensor<f64> {
    LodTensor::from_vec([rows, width], values(rows * width, salt), Lod::none()).unwrap()
}

/// The gradient of Σ weight · y that `backward` says `x` has, against the differences that
/// `forward` shows.
fn check(
    x: &LodTensor<f64>,
    forward: impl Fn(&LodTensor<f64>) -> Result<LodTensor<f64>, Error>,
    backward: impl Fn(&LodTensor<f64>) -> Result<LodTensor<f64>, Error>,
) -> Result<(), TestCaseError> {
    let y = forward(x).unwrap();
    let weights = y.like(y.num_rows(), values(y.values().len(), 99), y.lod().clone()).unwrap();
    let loss = |x: &LodTensor<f64>| -> f64 {
        forward(x).unwrap().values().iter().zip(weights.values()).map(|(y, weight)| y * weight).sum()
    };
    let grad = backward(&weights).unwrap();
    prop_assert_eq!(grad.shape(), x.shape());
    prop_assert!(grad.lod() == x.lod() || grad.lod().is_none());
    for i in 0..x.values().len() {
        let moved = |step: f64| {
            let mut x = x.clone();
            x.values_mut()[i] += step;
            loss(&x)
        };
        let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
        let found = grad.values()[i];
        prop_assert!((found - expected).abs() < TOLERANCE, "at {}: {} for {}", i, found, expected);
    }
    Ok(())
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![Just(0), 0..5_usize], 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pool_gradients_equal_finite_differences(lengths in lengths(), width in 1..4_usize) {
        let x = tensor(&lengths, width, 1);
        for how in [Pool::Average, Pool::Sum, Pool::Sqrt, Pool::Max, Pool::First, Pool::Last] {
            let (_, saved) = sequence::pool(&x, how, 0.5).unwrap();
            check(&x, |x| Ok(sequence::pool(x, how, 0.5)?.0), |g| saved.backward(g))?;
        }
    }

    #[test]
    fn softmax_gradients_equal_finite_differences(lengths in lengths(), width in 1..4_usize) {
        let x = tensor(&lengths, width, 2);
        let (_, saved) = sequence::column_softmax(&x).unwrap();
        check(&x, |x| Ok(sequence::column_softmax(x)?.0), |g| saved.backward(g))?;
    }

    #[test]
    fn gradients_of_moved_rows_equal_finite_differences(pairs in prop::collection::vec((0..4_usize, 0..4_usize), 0..5), width in 1..3_usize) {
        let (lengths, counts): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
        let x = tensor(&lengths, width, 3);
        let y = Lod::from_lengths(&[&counts]).unwrap();
        let (_, saved) = sequence::expand(&x, &y, None).unwrap();
        check(&x, |x| Ok(sequence::expand(x, &y, None)?.0), |g| saved.backward(g))?;
        let rows = plain(counts.len(), width, 4);
        let (_, saved) = sequence::expand_as(&rows, &y).unwrap();
        check(&rows, |x| Ok(sequence::expand_as(x, &y)?.0), |g| saved.backward(g))?;
        let (_, saved) = sequence::reverse(&x).unwrap();
        check(&x, |x| Ok(sequence::reverse(x)?.0), |g| saved.backward(g))?;
        let offsets: Vec<i64> = pairs.iter().map(|&(len, count)| len.min(count) as i64).collect();
        let rest: Vec<i64> = pairs.iter().map(|&(len, count)| (len - len.min(count)) as i64).collect();
        let (_, saved) = sequence::slice(&x, &offsets, &rest).unwrap();
        check(&x, |x| Ok(sequence::slice(x, &offsets, &rest)?.0), |g| saved.backward(g))?;
        let other = tensor(&counts, width, 5);
        let (_, saved) = sequence::concat(&[&x, &other, &x]).unwrap();
        check(&other, |other| Ok(sequence::concat(&[&x, other, &x])?.0), |g| Ok(saved.backward(g)?.swap_remove(1)))?;
    }

    #[test]
    fn padding_gradients_equal_finite_differences(lengths in lengths(), width in 1..3_usize, more in 0..3_usize) {
        let x = tensor(&lengths, width, 6);
        let padded_length = Some(lengths.iter().max().unwrap_or(&0) + more);
        let (padded, saved) = sequence::pad(&x, &[7.0], padded_length).unwrap();
        check(&x, |x| Ok(sequence::pad(x, &[7.0], padded_length)?.0), |g| saved.backward(g))?;
        let numbers: Vec<i64> = lengths.iter().map(|&len| len as i64).collect();
        let (unpadded, saved) = sequence::unpad(&padded, &numbers).unwrap();
        prop_assert_eq!(&unpadded, &x);
        check(&padded, |x| Ok(sequence::unpad(x, &numbers)?.0), |g| saved.backward(g))?;
    }

    #[test]
    fn convolution_gradients_equal_finite_differences(
        lengths in lengths(), width in 1..3_usize, filters in 1..3_usize,
        start in -4..3_i32, length in 1..5_u32, padded: bool,
    ) {
        let x = tensor(&lengths, width, 7);
        let context = Context { start, length };
        let filter = plain(length as usize * width, filters, 8);
        let (up, down) = ((-start).max(0) as usize, (start + length as i32 - 1).max(0) as usize);
        let padding = padded.then(|| plain(up + down, width, 9));
        let conv = |x: &_, filter: &_, padding: Option<&_>| Ok(sequence::conv(x, filter, context, padding)?.0);
        let (_, saved) = sequence::conv(&x, &filter, context, padding.as_ref()).unwrap();
        check(&x, |x| conv(x, &filter, padding.as_ref()), |g| Ok(saved.backward(g)?.x))?;
        check(&filter, |filter| conv(&x, filter, padding.as_ref()), |g| Ok(saved.backward(g)?.filter))?;
        if let Some(padding) = &padding {
            check(padding, |padding| conv(&x, &filter, Some(padding)), |g| Ok(saved.backward(g)?.padding.unwrap()))?;
        }
        let ahead = plain(length as usize, width, 10);
        let (_, saved) = sequence::row_conv(&x, &ahead).unwrap();
        check(&x, |x| Ok(sequence::row_conv(x, &ahead)?.0), |g| Ok(saved.backward(g)?.0))?;
        check(&ahead, |ahead| Ok(sequence::row_conv(&x, ahead)?.0), |g| Ok(saved.backward(g)?.1))?;
    }

    #[test]
    fn scatter_and_reshape_gradients_equal_finite_differences(lengths in lengths(), width in 1..4_usize) {
        let x = plain(lengths.len(), width, 11);
        let ids: Vec<i64> = (0..lengths.iter().sum::<usize>()).map(|i| (i * 5 % width) as i64).collect();
        let updates = tensor(&lengths, 1, 12);
        let ids = LodTensor::from_vec([ids.len(), 1], ids, updates.lod().clone()).unwrap();
        let (_, saved) = sequence::scatter(&x, &ids, &updates).unwrap();
        check(&x, |x| Ok(sequence::scatter(x, &ids, &updates)?.0), |g| Ok(saved.backward(g)?.0))?;
        check(&updates, |updates| Ok(sequence::scatter(&x, &ids, updates)?.0), |g| Ok(saved.backward(g)?.1))?;
        let wide = tensor(&lengths, 2 * width, 13);
        let (_, saved) = sequence::reshape(&wide, width).unwrap();
        check(&wide, |x| Ok(sequence::reshape(x, width)?.0), |g| saved.backward(g))?;
    }

    #[test]
    fn topk_gradients_equal_finite_differences(sizes in prop::collection::vec((0..4_usize, 0..4_usize), 0..4), channels in 1..3_usize) {
        let (rows, columns): (Vec<usize>, Vec<usize>) = sizes.iter().copied().unzip();
        let scores: Vec<usize> = sizes.iter().map(|(rows, columns)| channels * rows * columns).collect();
        let (row, column) = (Lod::from_lengths(&[rows]).unwrap(), Lod::from_lengths(&[columns]).unwrap());
        let x = tensor(&scores, 1, 14);
        let forward = |x: &LodTensor<f64>| Ok(sequence::topk_avg_pool(x, &row, &column, &[1, 3, 2], channels)?.0);
        let (_, saved) = sequence::topk_avg_pool(&x, &row, &column, &[1, 3, 2], channels).unwrap();
        check(&x, forward, |g| saved.backward(g))?;
    }

    #[test]
    fn im2sequence_gradients_equal_finite_differences(
        shape in (0..3_usize, 1..3_usize, 1..5_usize, 1..5_usize),
        kernel in (1..3_usize, 1..3_usize), stride in (1..3_usize, 1..3_usize), padding in prop::array::uniform4(1..3_usize),
    ) {
        let (images, channels, height, width) = shape;
        let shape = [images, channels, height, width];
        let x = LodTensor::from_vec(shape, values(shape.iter().product(), 15), Lod::none()).unwrap();
        let patches = Patches { kernel: kernel.into(), stride: stride.into(), padding };
        let (_, saved) = sequence::im2sequence(&x, patches).unwrap();
        check(&x, |x| Ok(sequence::im2sequence(x, patches)?.0), |g| saved.backward(g))?;
    }
}

#[test]
fn gradients_of_another_shape_are_refused() {
    let x = tensor(&[2, 0, 1], 2, 1);
    let wrong = plain(4, 2, 1);
    assert!(sequence::pool(&x, Pool::Sum, 0.0).unwrap().1.backward(&wrong).is_err());
    assert!(sequence::column_softmax(&x).unwrap().1.backward(&wrong).is_err());
    assert!(sequence::reverse(&x).unwrap().1.backward(&wrong).is_err());
    assert!(sequence::concat(&[&x, &x]).unwrap().1.backward(&wrong).is_err());
    assert!(sequence::pad(&x, &[0.0], None).unwrap().1.backward(&wrong).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = tensor(&[2, 0, 1], 2, 1);
    let two_levels = x.with_lod(Lod::from_lengths(&[vec![1, 2], vec![2, 0, 1]]).unwrap()).unwrap();
    assert!(matches!(sequence::softmax(&x), Err(Error::Size { .. })));
    assert!(matches!(sequence::reverse(&two_levels), Err(Error::NumLevels { expected: 1, found: 2, .. })));
    assert!(matches!(sequence::pool(&plain(3, 2, 1), Pool::Sum, 0.0), Err(Error::NoLevel { .. })));
    assert!(matches!(
        sequence::slice(&x, &[0, 0, 0], &[2, 1, 0]),
        Err(Error::Part { sequence: 1, offset: 0, length: 1, size: 0 })
    ));
    assert!(sequence::slice(&x, &[i64::MAX, 0, 0], &[i64::MAX, 0, 0]).is_err());
    assert!(matches!(sequence::pad(&x, &[0.0], Some(1)), Err(Error::PaddedLength { found: 1, longest: 2 })));
    assert!(sequence::pad(&x, &[0.0], Some(usize::MAX)).is_err());
    assert!(matches!(sequence::reshape(&x, 3), Err(Error::NotDivisible { sequence: 0, values: 4, width: 3 })));
    assert!(sequence::reshape(&x, 0).is_err());
    assert!(sequence::expand(&two_levels, x.lod(), None).is_err());
    assert!(sequence::expand(&x, &Lod::from_lengths(&[[1, 1]]).unwrap(), None).is_err());
    assert!(sequence::concat::<f64>(&[]).is_err());
    let ids = LodTensor::from_vec([1], vec![2_i64], Lod::from_lengths(&[[1]]).unwrap()).unwrap();
    let update = LodTensor::from_vec([1], vec![1.0], ids.lod().clone()).unwrap();
    assert!(matches!(
        sequence::scatter(&plain(1, 2, 1), &ids, &update),
        Err(Error::Id { position: 0, found: 2, size: 2 })
    ));
    let patches = Patches { kernel: [9, 9], stride: [1, 1], padding: [0; 4] };
    assert!(
        sequence::im2sequence(&LodTensor::from_vec([1, 1, 2, 2], vec![0.0; 4], Lod::none()).unwrap(), patches).is_err()
    );
}
