//! Every operation on values beside a naive one on `Vec<Vec<T>>`, on random ragged data; gradients
//! beside differences.

use proptest::prelude::*;
use ragged_core::{
    Order, PadMode, PadSide, Ragged, RaggedShape, RowSplits, index_add, index_and_sum, index_and_sum_grad,
    index_select, index_tensor_ragged, moved_grad,
};

/// Lengths of lists: many empty, most short, some beyond the width of any vector.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0_usize), 6 => 0..6_usize, 2 => 6..40_usize, 1 => 40..150_usize]
}

/// The rows of a tensor of 2 to 5 axes: values, and the splits of all layers above the last.
fn ragged<T: std::fmt::Debug + Clone>(value: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Ragged<T>> {
    let row = length().prop_flat_map(move |len| prop::collection::vec(value.clone(), len));
    (prop::collection::vec(row, 0..12), prop::collection::vec(prop::collection::vec(0..4_usize, 0..6), 0..4)).prop_map(
        |(rows, upper)| {
            // Each layer above has as many elements as the one below has rows: what is left goes to
            // its last list.
            let mut layers = vec![RowSplits::from_lengths(rows.iter().map(Vec::len)).unwrap()];
            for mut lengths in upper {
                let mut left = layers[0].num_rows();
                lengths.iter_mut().for_each(|len| {
                    *len = (*len).min(left);
                    left -= *len;
                });
                if left > 0 {
                    lengths.push(left);
                }
                layers.insert(0, RowSplits::from_lengths(lengths).unwrap());
            }
            Ragged::new(RaggedShape::new(layers).unwrap(), rows.concat()).unwrap()
        },
    )
}

fn rows<T: Clone>(x: &Ragged<T>) -> Vec<Vec<T>> {
    x.rows().map(<[T]>::to_vec).collect()
}

/// Whole numbers, whose sums are exact in `f32`, with infinities.
fn number() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![8 => (-50..50_i32).prop_map(|i| i as f32), 1 => Just(f32::NEG_INFINITY)]
}

fn finite() -> impl Strategy<Value = f32> + Clone {
    (-1000..1000_i32).prop_map(|i| i as f32 / 64.0)
}

fn int() -> impl Strategy<Value = i32> + Clone {
    prop_oneof![8 => -9..9_i32, 1 => Just(i32::MIN), 1 => Just(i32::MAX), 1 => any::<i32>()]
}

fn per_row<T: Clone, U>(x: &Ragged<T>, f: impl FnMut(&[T]) -> U) -> Vec<U> {
    x.rows().map(f).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

fn all_close(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>, tolerance: f64) -> bool {
    let (a, b): (Vec<f64>, Vec<f64>) = (a.into_iter().collect(), b.into_iter().collect());
    a.len() == b.len() && a.iter().zip(&b).all(|(&a, &b)| close(a, b, tolerance))
}

fn wide(x: &[f32]) -> impl Iterator<Item = f64> {
    x.iter().map(|&x| x.into())
}

/// ln(e^initial + Σ e^x) as it is defined.
fn logsumexp(row: &[f64], initial: f64) -> f64 {
    let highest = row.iter().copied().fold(initial, f64::max);
    if highest == f64::NEG_INFINITY {
        return highest;
    }
    let sum: f64 = row.iter().chain([&initial]).map(|x| (x - highest).exp()).sum();
    highest + sum.ln()
}

/// f's derivatives by each value of x, of Σ weight · output, by differences.
fn differences(x: &Ragged<f64>, f: impl Fn(&Ragged<f64>) -> Vec<f64>, weights: &[f64]) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let loss = |x: &Ragged<f64>| f(x).iter().zip(weights).map(|(a, w)| a * w).sum::<f64>();
    let one = |i: usize| {
        let (mut up, mut down) = (x.clone(), x.clone());
        up.values_mut()[i] += STEP;
        down.values_mut()[i] -= STEP;
        (loss(&up) - loss(&down)) / (2.0 * STEP)
    };
    (0..x.num_elements()).map(one).collect()
}

fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 37 + 11) % 23) as f64 / 8.0 - 1.25).collect()
}

/// Bound for differences of the functions below at arguments of up to 16.
const DIFFERENCE: f64 = 1e-5;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn float_reductions_equal_the_model(x in ragged(number()), initial in prop_oneof![Just(0.0_f32), -60.0..60.0_f32]) {
        let initial = initial.round();
        prop_assert_eq!(x.sum_from(initial), per_row(&x, |row| row.iter().fold(initial, |a, b| a + b)));
        prop_assert_eq!(x.max_from(initial), per_row(&x, |row| row.iter().copied().fold(initial, f32::max)));
        prop_assert_eq!(x.min_from(initial), per_row(&x, |row| row.iter().copied().fold(initial, f32::min)));
        let wider = x.to_dtype::<f64>();
        prop_assert_eq!(wider.sum_from(initial.into()), wide(&x.sum_from(initial)).collect::<Vec<_>>());
        prop_assert_eq!(wider.max_from(initial.into()), wide(&x.max_from(initial)).collect::<Vec<_>>());
        for initial in [initial, f32::MIN, f32::NEG_INFINITY] {
            let mut start = 0;
            let expected = per_row(&x, |row| {
                let highest = row.iter().copied().fold(initial, f32::max);
                let at = row.iter().rposition(|&v| v == highest).map_or(-1, |i| (start + i) as i32);
                start += row.len();
                at
            });
            prop_assert_eq!(x.argmax_from(initial), &expected[..]);
            prop_assert_eq!(wider.argmax_from(initial.into()), &expected[..]);
            prop_assert_eq!(x.map(|v| -v).argmin_from(-initial), expected);
        }
    }

    #[test]
    fn integer_reductions_equal_the_model(x in ragged(int()), initial in int()) {
        prop_assert_eq!(x.sum_from(initial), per_row(&x, |row| row.iter().fold(initial, |a, &b| a.wrapping_add(b))));
        prop_assert_eq!(x.max_from(initial), per_row(&x, |row| row.iter().copied().fold(initial, i32::max)));
        prop_assert_eq!(x.min_from(initial), per_row(&x, |row| row.iter().copied().fold(initial, i32::min)));
        let lowest = x.argmin_from(initial);
        for ((&at, row), least) in lowest.iter().zip(x.shape().last_splits().rows()).zip(x.min_from(initial)) {
            let expected = row.rev().find(|&i| x.values()[i] == least).map_or(-1, |i| i as i32);
            prop_assert_eq!(at, expected);
        }
        prop_assert_eq!(x.and_from(initial), per_row(&x, |row| row.iter().fold(initial, |a, &b| a & b)));
        prop_assert_eq!(x.or_from(initial), per_row(&x, |row| row.iter().fold(initial, |a, &b| a | b)));
        let long = x.to_dtype::<i64>();
        prop_assert_eq!(long.sum_from(0), per_row(&x, |row| row.iter().map(|&v| i64::from(v)).sum::<i64>()));
        prop_assert_eq!(long.max_from(i64::MIN), per_row(&long, |row| row.iter().copied().fold(i64::MIN, i64::max)));
        let bytes = x.map(|v| v.to_le_bytes()[0]);
        prop_assert_eq!(bytes.sum_from(3), per_row(&bytes, |row| row.iter().fold(3_u8, |a, &b| a.wrapping_add(b))));
        prop_assert_eq!(bytes.min_from(200), per_row(&bytes, |row| row.iter().copied().fold(200, u8::min)));
        let before = |row: &[i32]| row.iter().scan(0, |sum: &mut i32, &v| Some(std::mem::replace(sum, sum.wrapping_add(v)))).collect();
        prop_assert_eq!(rows(&x.exclusive_sum()), per_row::<_, Vec<i32>>(&x, before));
    }

    #[test]
    fn logsumexp_equals_the_model(x in ragged(number()), initial in prop_oneof![Just(f32::NEG_INFINITY), -60.0..60.0_f32]) {
        let wider = x.to_dtype::<f64>();
        let expected = per_row(&wider, |row| logsumexp(row, initial.into()));
        prop_assert!(all_close(wide(&x.logsumexp_from(initial)), expected.iter().copied(), 1e-6));
        prop_assert!(all_close(wider.logsumexp_from(initial.into()), expected, 1e-14));
        let logs = per_row(&wider, |row| {
            let sum = logsumexp(row, f64::NEG_INFINITY);
            row.iter().map(|v| if sum == f64::NEG_INFINITY { *v } else { v - sum }).collect::<Vec<_>>()
        }).concat();
        prop_assert!(all_close(wide(x.normalize_log().values()), logs.iter().copied(), 1e-6));
        prop_assert!(all_close(wider.normalize_log().values().iter().copied(), logs.iter().copied(), 1e-14));
        prop_assert!(all_close(wide(x.softmax().values()), logs.iter().map(|v| v.exp()), 1e-6));
        prop_assert!(all_close(wider.softmax().values().iter().copied(), logs.iter().map(|v| v.exp()), 1e-14));
    }

    #[test]
    fn normalize_linear_equals_the_model(x in ragged(finite())) {
        let positive = x.map(|v| v.abs() + 0.25);
        let expected = per_row(&positive, |row| {
            let sum = wide(row).sum::<f64>() + f64::from(f32::EPSILON);
            wide(row).map(|v| v / sum).collect::<Vec<_>>()
        }).concat();
        prop_assert!(all_close(wide(positive.normalize_linear().values()), expected, 1e-6));
        let means = per_row(&x, |row| if row.is_empty() { 7.0 } else { wide(row).sum::<f64>() / row.len() as f64 });
        prop_assert!(all_close(wide(&x.mean_or(7.0)), means, 1e-6));
    }

    #[test]
    fn values_per_row_equal_the_model(x in ragged(int()), alpha in int()) {
        let per_row: Vec<i32> = (0..x.num_rows() as i32).map(|i| i * 1_000_003).collect();
        let added = |row: &[i32], v: i32| row.iter().map(|x| x.wrapping_add(alpha.wrapping_mul(v))).collect::<Vec<_>>();
        let expected: Vec<Vec<i32>> = x.rows().zip(&per_row).map(|(row, &v)| added(row, v)).collect();
        prop_assert_eq!(rows(&x.add(&per_row, alpha).unwrap()), expected);
        let spread = Ragged::broadcast(x.shape().clone(), &per_row).unwrap();
        prop_assert!(spread.rows().zip(&per_row).all(|(row, v)| row.iter().all(|x| x == v)));
        let longer: Vec<Vec<i32>> = x.rows().zip(&per_row).map(|(row, &v)| [row, &[v]].concat()).collect();
        prop_assert_eq!(rows(&x.add_suffix(&per_row).unwrap()), longer);
        let longer: Vec<Vec<i32>> = x.rows().zip(&per_row).map(|(row, &v)| [&[v], row].concat()).collect();
        prop_assert_eq!(rows(&x.add_prefix(&per_row).unwrap()), longer);
        prop_assert!(x.add(&[&per_row[..], &[1]].concat(), alpha).is_err());
        prop_assert!(x.add_suffix(&[&per_row[..], &[1]].concat()).is_err());
    }

    #[test]
    fn sort_equals_the_model(x in ragged(int()), y in ragged(number())) {
        for order in [Order::Ascending, Order::Descending] {
            let in_order = |mut row: Vec<i32>| { row.sort(); if order == Order::Descending { row.reverse() } row };
            let expected: Vec<i32> = x.rows().flat_map(|row| in_order(row.to_vec())).collect();
            let mut sorted = x.clone();
            sorted.sort(order);
            prop_assert_eq!(sorted.values(), &expected[..]);
            let mut sorted = x.clone();
            let new2old = sorted.sort_with_map(order);
            prop_assert_eq!(sorted.values(), expected);
            check_map(&x, &sorted, &new2old);
            let mut sorted = y.to_dtype::<f64>();
            let new2old = sorted.sort_with_map(order);
            check_map(&y.to_dtype(), &sorted, &new2old);
            let mut floats = y.clone();
            floats.sort(order);
            prop_assert_eq!(floats.to_dtype::<f64>(), sorted);
        }
    }

    #[test]
    fn unique_equals_the_model(x in ragged(0..2_i32)) {
        let unique = x.unique();
        let groups: Vec<std::ops::Range<usize>> = match x.num_axes() {
            2 => std::iter::once(0..x.num_rows()).collect(),
            axes => x.shape().row_splits(axes - 2).rows().collect(),
        };
        let all = rows(&x);
        let mut expected: Vec<(Vec<i32>, i32, i32)> = vec![];
        let mut counts = vec![];
        for group in groups {
            let from = expected.len();
            for i in group {
                match expected[from..].iter_mut().find(|(list, ..)| *list == all[i]) {
                    Some((_, repeats, _)) => *repeats += 1,
                    None => expected.push((all[i].clone(), 1, i as i32)),
                }
            }
            counts.push(expected.len() - from);
        }
        prop_assert_eq!(rows(&unique.rows), expected.iter().map(|e| e.0.clone()).collect::<Vec<_>>());
        prop_assert_eq!(unique.num_repeats.values(), expected.iter().map(|e| e.1).collect::<Vec<_>>());
        prop_assert_eq!(unique.new2old, expected.iter().map(|e| e.2).collect::<Vec<_>>());
        prop_assert_eq!(unique.num_repeats.rows().map(<[i32]>::len).collect::<Vec<_>>(), counts);
        prop_assert_eq!(unique.rows.num_axes(), x.num_axes());
    }

    #[test]
    fn padding_equals_the_model(x in prop::collection::vec(prop::collection::vec(int(), 0..30), 0..12), filler in int()) {
        let tensor = Ragged::from_lists(&x).unwrap();
        let cols = x.iter().map(Vec::len).max().unwrap_or(0);
        for mode in [PadMode::Constant, PadMode::Replicate] {
            for side in [PadSide::Left, PadSide::Right] {
                let padded = tensor.pad(mode, side, filler).unwrap();
                let expected: Vec<i32> = x.iter().flat_map(|row| {
                    let beside = if side == PadSide::Left { row.first() } else { row.last() };
                    let fill = if mode == PadMode::Replicate { *beside.unwrap_or(&filler) } else { filler };
                    let gap = vec![fill; cols - row.len()];
                    if side == PadSide::Left { [gap, row.clone()].concat() } else { [row.clone(), gap].concat() }
                }).collect();
                prop_assert_eq!((padded.num_rows(), padded.num_cols(), padded.into_values()), (x.len(), cols, expected));
            }
        }
    }

    #[test]
    fn remove_values_equals_the_model(x in ragged(int()), cutoff in -9..9_i32) {
        let keep = |f: fn(i32, i32) -> bool| {
            x.rows().map(|row| row.iter().copied().filter(|&v| f(v, cutoff)).collect()).collect::<Vec<Vec<_>>>()
        };
        let leq = x.remove_values_leq(cutoff);
        prop_assert_eq!(rows(&leq), keep(|v, cutoff| v > cutoff));
        prop_assert_eq!(rows(&x.remove_values_eq(cutoff)), keep(|v, cutoff| v != cutoff));
        prop_assert_eq!(leq.num_axes(), x.num_axes());
    }

    #[test]
    fn prune_equals_the_model(x in ragged(number()), beam in 0..40_i32, max_elems in 0..4_usize) {
        let beam = beam as f32;
        for axis in 0..x.num_axes() {
            let mut scores = x.values().to_vec();
            for below in (axis + 1..x.num_axes()).rev() {
                let best = |row: std::ops::Range<usize>| scores[row].iter().copied().fold(f32::NEG_INFINITY, f32::max);
                scores = x.shape().row_splits(below).rows().map(best).collect();
            }
            let groups: Vec<_> = match axis {
                0 => std::iter::once(0..scores.len()).collect(),
                _ => x.shape().row_splits(axis).rows().collect(),
            };
            let expected: Vec<i32> = groups.into_iter().flat_map(|group| {
                let mut order: Vec<usize> = group.collect();
                order.sort_by(|&i, &j| scores[j].total_cmp(&scores[i]));
                let best = order.first().map_or(0.0, |&i| scores[i]);
                if max_elems > 0 { order.truncate(max_elems) }
                order.retain(|&i| scores[i] >= best - beam);
                order.sort_unstable();
                order.into_iter().map(|i| i as i32)
            }).collect();
            prop_assert_eq!(x.prune_ragged(axis, beam, max_elems).unwrap(), expected, "axis {}", axis);
        }
        prop_assert!(x.prune_ragged(x.num_axes(), beam, max_elems).is_err());
    }

    #[test]
    fn gather_equals_the_model(src in prop::collection::vec(int(), 1..30), indexes in ragged(-1..30_i32)) {
        let indexes = indexes.map(|&i| if i < src.len() as i32 { i } else { -1 });
        let value = |i: i32, default| if i < 0 { default } else { src[i as usize] };
        let expected = |default| indexes.values().iter().map(|&i| value(i, default)).collect::<Vec<_>>();
        prop_assert_eq!(index_select(&src, indexes.values(), 77).unwrap(), expected(77));
        let gathered = index_tensor_ragged(&src, &indexes, 0).unwrap();
        prop_assert_eq!(gathered.values(), expected(0));
        prop_assert_eq!(index_and_sum(&src, &indexes).unwrap(), gathered.sum());
        let mut added = vec![0; src.len()];
        index_add(indexes.values(), gathered.values(), &mut added).unwrap();
        for (i, &sum) in added.iter().enumerate() {
            let times = indexes.values().iter().filter(|&&j| j == i as i32).count() as i32;
            prop_assert_eq!(sum, src[i].wrapping_mul(times));
        }
        let out_grad: Vec<i32> = (0..indexes.num_rows() as i32).collect();
        let spread = Ragged::broadcast(indexes.shape().clone(), &out_grad).unwrap();
        let mut expected = vec![0; src.len()];
        index_add(indexes.values(), spread.values(), &mut expected).unwrap();
        prop_assert_eq!(index_and_sum_grad(src.len(), &indexes, &out_grad).unwrap(), expected);
    }

    #[test]
    fn counts_equal_the_model(x in ragged(0..9_i32)) {
        let order = x.transpose_reordering(9).unwrap();
        let mut expected: Vec<i32> = (0..x.num_elements() as i32).collect();
        expected.sort_by_key(|&i| x.values()[i as usize]);
        prop_assert_eq!(order, expected);
        let lists = rows(&x);
        let ranges = RowSplits::regular(lists.len(), 9).unwrap();
        let moved: Vec<Vec<i32>> = (0..).zip(&lists).map(|(i, list)| list.iter().map(|v| v + 9 * i).collect()).collect();
        let counts = Ragged::from_lists(&moved).unwrap().counts_partitioned(&ranges).unwrap();
        for (list, counts) in lists.iter().zip(counts.rows()) {
            for (v, &count) in (0..).zip(counts) {
                prop_assert_eq!(count as usize, list.iter().filter(|&&x| x == v).count());
            }
        }
    }
}

fn check_map<T: ragged_core::Number>(x: &Ragged<T>, sorted: &Ragged<T>, new2old: &[i32]) {
    for row in x.shape().last_splits() {
        for (i, &old) in row.clone().zip(&new2old[row.clone()]) {
            assert!(row.contains(&(old as usize)));
            assert_eq!(x.values()[old as usize], sorted.values()[i]);
        }
        // Equal values in their old order, and so each old position once.
        for i in row.start + 1..row.end {
            assert!(sorted.values()[i - 1] != sorted.values()[i] || new2old[i - 1] < new2old[i]);
        }
        let mut positions = new2old[row.clone()].to_vec();
        positions.sort_unstable();
        assert!(positions.iter().zip(row).all(|(&a, b)| a as usize == b));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn gradients_are_those_of_differences(x in ragged(finite())) {
        let x = x.to_dtype::<f64>();
        let (weight_per_row, per_value) = (weights(x.num_rows()), weights(x.num_elements()));
        let check = |name: &str, grad: Ragged<f64>, expected: Vec<f64>| {
            assert!(all_close(grad.values().iter().copied(), expected, DIFFERENCE), "{name}");
        };
        check("sum", x.sum_grad(&weight_per_row).unwrap(), differences(&x, |x| x.sum_from(1.0), &weight_per_row));
        check("mean", x.mean_grad(&weight_per_row).unwrap(), differences(&x, |x| x.mean_or(0.0), &weight_per_row));
        for initial in [f64::NEG_INFINITY, 3.0] {
            let result = x.logsumexp_from(initial);
            // Infinity, of an empty list, has no differences.
            let finite_logsumexp = |x: &Ragged<f64>| {
                x.logsumexp_from(initial).iter().map(|&y| if y.is_finite() { y } else { 0.0 }).collect()
            };
            let grad = x.logsumexp_grad(&result, &weight_per_row).unwrap();
            check("logsumexp", grad, differences(&x, finite_logsumexp, &weight_per_row));
        }
        let values = |y: Ragged<f64>| y.values().to_vec();
        let grad = x.normalize_log().normalize_log_grad(&per_value).unwrap();
        check("normalize_log", grad, differences(&x, |x| values(x.normalize_log()), &per_value));
        let grad = x.softmax().softmax_grad(&per_value).unwrap();
        check("softmax", grad, differences(&x, |x| values(x.softmax()), &per_value));
        let positive = x.map(|v| v.abs() + 1.0);
        let grad = positive.normalize_linear_grad(&per_value).unwrap();
        check("normalize_linear", grad, differences(&positive, |x| values(x.normalize_linear()), &per_value));
        let out_grad = x.with_values(per_value.clone()).unwrap();
        let expected = differences(&x, |x| values(x.exclusive_sum()), &per_value);
        check("exclusive_sum", out_grad.exclusive_sum_grad(), expected);
        // Of all distinct values one is the highest by more than a step.
        let distinct = x.with_values((0..x.num_elements()).map(|i| (i * 7919 % 10_007) as f64).collect::<Vec<_>>()).unwrap();
        let grad = distinct.max_grad(&distinct.argmax_from(-1.0), &weight_per_row).unwrap();
        check("max", grad, differences(&distinct, |x| x.max_from(-1.0), &weight_per_row));
        let grad = distinct.max_grad(&distinct.argmin_from(10_007.0), &weight_per_row).unwrap();
        check("min", grad, differences(&distinct, |x| x.min_from(10_007.0), &weight_per_row));
        let add_grad = out_grad.add_grad(2.5);
        let sums = per_row(&out_grad, |row| row.iter().sum::<f64>() * 2.5);
        prop_assert!(all_close(add_grad, sums, 1e-12));
    }

    #[test]
    fn the_gradient_of_padding_is_that_of_differences(x in prop::collection::vec(prop::collection::vec(finite(), 0..9), 0..6)) {
        let x = Ragged::from_lists(&x).unwrap().to_dtype::<f64>();
        for mode in [PadMode::Constant, PadMode::Replicate] {
            for side in [PadSide::Left, PadSide::Right] {
                let pad = |x: &Ragged<f64>| x.pad(mode, side, 1.0).unwrap().into_values();
                let out_grad = weights(pad(&x).len());
                let grad = x.pad_grad(mode, side, &out_grad).unwrap();
                let expected = differences(&x, pad, &out_grad);
                prop_assert!(all_close(grad.values().iter().copied(), expected, DIFFERENCE));
            }
        }
    }
}

/// The elements below entry `i` of axis 0.
fn elements<T>(x: &Ragged<T>, i: usize) -> std::ops::Range<usize> {
    let mut range = i..i + 1;
    for axis in 1..x.num_axes() {
        let splits = x.shape().row_splits(axis).as_ref();
        range = splits[range.start] as usize..splits[range.end] as usize;
    }
    range
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn values_are_moved_with_the_shape(x in ragged(int()), picks in prop::collection::vec(-1..20_i32, 0..12), cut in 0..12_usize) {
        let dim0 = x.dim0() as i32;
        let picks: Vec<i32> = picks.iter().map(|&i| if dim0 == 0 || i < 0 { -1 } else { i % dim0 }).collect();
        let expected: Vec<i32> =
            picks.iter().flat_map(|&i| usize::try_from(i).map_or(0..0, |i| elements(&x, i))).map(|i| i as i32).collect();
        let values_at = |at: &[i32]| at.iter().map(|&i| x.values()[i as usize]).collect::<Vec<_>>();
        let (picked, value_indexes) = x.index(0, &picks).unwrap();
        prop_assert_eq!(picked.values(), values_at(&expected));
        prop_assert_eq!(picked.shape(), &x.shape().index(0, &picks).unwrap().0);
        prop_assert_eq!(&x.select(0, &picks).unwrap(), &picked);
        prop_assert_eq!(value_indexes, expected);
        prop_assert!(x.select(0, &[dim0]).is_err());

        let cut = cut.min(picks.len());
        let ragged_picks = Ragged::from_lists(&[&picks[..cut], &[], &picks[cut..]]).unwrap();
        let deeper = x.index_ragged(&ragged_picks).unwrap();
        prop_assert_eq!(deeper.values(), picked.values());
        prop_assert_eq!(deeper.num_axes(), x.num_axes() + 1);
        prop_assert_eq!(&deeper.remove_axis(0).unwrap(), &picked);

        let last: Vec<i32> = (0..x.num_elements() as i32).filter(|i| i % 3 != 1).collect();
        let thinned = x.select(x.num_axes() - 1, &last).unwrap();
        prop_assert_eq!(thinned.values(), values_at(&last));
        let thin = |row: std::ops::Range<usize>| values_at(&row.map(|i| i as i32).filter(|i| i % 3 != 1).collect::<Vec<_>>());
        prop_assert_eq!(rows(&thinned), x.shape().last_splits().rows().map(thin).collect::<Vec<_>>());

        let joined = Ragged::cat(0, &[&x, &picked]).unwrap();
        prop_assert_eq!(joined.values(), [x.values(), picked.values()].concat());
        prop_assert_eq!(joined.dim0(), x.dim0() + picked.dim0());
        let (mut again, memory) = (joined.clone().map(|_| 0), joined.values().as_ptr());
        Ragged::cat_into(0, &[&x, &picked], &mut again).unwrap();
        prop_assert_eq!(&again, &joined);
        let mut shared = x.clone();
        Ragged::cat_into(0, &[&picked, &x], &mut shared).unwrap();
        prop_assert_eq!(shared.values(), [picked.values(), x.values()].concat());
        let mut short = joined.clone();
        prop_assert!(Ragged::cat_into(0, &[&x, &x.unsqueeze(0).unwrap()], &mut short).is_err());
        prop_assert_eq!((&short, short.values().as_ptr()), (&joined, memory));
        x.select_into(0, &[], &mut again).unwrap();
        prop_assert_eq!(&again, &x.select(0, &[]).unwrap());
        let mut appended = x.clone();
        appended.append(&picked).unwrap();
        prop_assert_eq!(&appended, &joined);
        let parts = Ragged::stack(0, &[&x, &picked]).unwrap();
        prop_assert_eq!(&parts.remove_axis(0).unwrap(), &joined);
        prop_assert_eq!(&parts.index0(1).unwrap(), &picked);
        prop_assert_eq!(&parts.arange(1, x.dim0(), joined.dim0()).unwrap(), &picked);
        prop_assert_eq!(&x.unsqueeze(0).unwrap().index0(0).unwrap(), &x);
        let pairs = Ragged::stack(1, &[&x, &x]).unwrap();
        prop_assert_eq!(Ragged::stack(0, &[&x, &x]).unwrap().transpose().unwrap(), pairs.clone());
        let both = (0..x.dim0()).flat_map(|i| [&x.values()[elements(&x, i)]; 2].concat()).collect::<Vec<_>>();
        let twice = Ragged::cat(1, &[&x, &x]).unwrap();
        prop_assert_eq!(twice.values(), both);
        let map: Vec<u32> = (0..2 * x.dim0() as u32).collect();
        prop_assert_eq!(Ragged::merge(&[&x, &x], &map).unwrap(), pairs.remove_axis(0).unwrap());
    }
}

proptest! {
    /// The definition of an adjoint: Σ g · f(x) = Σ (adjoint of g) · x, in whole numbers.
    #[test]
    fn moved_grad_is_the_adjoint(x in ragged(-1000..1000_i64), seed: u64) {
        let random = |at: usize, n: usize| (seed.wrapping_add(at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % n;
        let picks: Vec<i32> = if x.dim0() == 0 { vec![-1] } else { (0..5).map(|at| random(at, x.dim0() + 1) as i32 - 1).collect() };
        let lists = Ragged::from_lists(&[picks.clone(), vec![], picks.clone()]).unwrap();
        let y = x.select(0, &picks).unwrap();
        let map: Vec<u32> = (0..2 * x.dim0() as u32).rev().collect();
        let nothing = vec![0; x.num_rows()];
        macro_rules! check {
            ($sources:expr, |$x:ident| $operation:expr) => {{
                let sources: Vec<&Ragged<i64>> = $sources;
                let out = { let $x = &sources[..]; $operation.unwrap() };
                let out_grad: Vec<i64> = (0..out.num_elements()).map(|at| random(at, 200) as i64 - 100).collect();
                let shapes: Vec<_> = sources.iter().map(|source| source.shape()).collect();
                let grads = moved_grad(&shapes, &out_grad, |$x| $operation).unwrap();
                let dot = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
                prop_assert_eq!(grads.len(), sources.len());
                let by_sources: i64 = grads.iter().zip(&sources).map(|(grad, source)| dot(grad.values(), source.values())).sum();
                prop_assert_eq!(dot(out.values(), &out_grad), by_sources);
                prop_assert!(moved_grad(&shapes, &[&out_grad[..], &[1]].concat(), |$x| $operation).is_err());
            }};
        }
        check!(vec![&x, &y], |s| Ragged::cat(0, s));
        check!(vec![&x, &x], |s| Ragged::cat(1, s));
        check!(vec![&x, &y, &x], |s| Ragged::stack(0, s));
        check!(vec![&x, &x], |s| Ragged::merge(s, &map));
        check!(vec![&x, &x], |s| Ragged::stack(0, s)?.transpose());
        check!(vec![&x], |s| s[0].index_ragged(&lists));
        check!(vec![&x], |s| s[0].arange(0, x.dim0() / 3, x.dim0()));
        // What comes from elsewhere has no part in it, and what is left out has the gradient 0.
        let (first, last) = (x.add_prefix(&nothing).unwrap(), x.add_suffix(&nothing).unwrap());
        let outside = vec![-1; x.num_rows()];
        let of_first = moved_grad(&[x.shape()], first.values(), |s| s[0].add_prefix(&outside)).unwrap();
        let of_last = moved_grad(&[x.shape()], last.values(), |s| s[0].add_suffix(&outside)).unwrap();
        prop_assert_eq!([&of_first[0], &of_last[0]], [&x, &x]);
        let even = x.remove_values(|v| v % 2 != 0);
        let is_odd = |at: i32| x.values()[at as usize] % 2 != 0;
        let grads = moved_grad(&[x.shape()], even.values(), |s| Ok(s[0].remove_values(|&at| is_odd(at)))).unwrap();
        prop_assert_eq!(&grads[0], &x.map(|&v| if v % 2 != 0 { 0 } else { v }));
    }
}

#[test]
fn parallel_copy_equals_serial() {
    let lengths = (0..120_000_usize).map(|i| if i % 10_000 == 3 { 9000 } else { i * 31 % 23 });
    let shape = RaggedShape::new([RowSplits::from_lengths(lengths).unwrap()]).unwrap();
    let number = |i: usize| ((i * 0x9E37_79B9) >> 7 & 0xFFFF) as f32 / 4096.0 - 8.0;
    let values: Vec<f32> = (0..shape.num_elements()).map(number).collect();
    let x = Ragged::new(shape, values).unwrap();
    let all = |x: &Ragged<f32>| {
        let mut sorted = x.clone();
        let map = sorted.sort_with_map(Order::Descending);
        let mut plain = x.clone();
        plain.sort(Order::Ascending);
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let floats = [x.sum(), x.max_from(0.0), x.logsumexp(), x.logsumexp_from(1.0)];
        let more = [x.normalize_log(), x.softmax(), sorted, plain, x.exclusive_sum()];
        let floats: Vec<Vec<u32>> = floats.iter().map(|x| bits(x)).collect();
        (floats, more.iter().map(|x| bits(x.values())).collect::<Vec<_>>(), map, x.argmax())
    };
    // One row at a time has no second thread to share with.
    let whole = all(&x);
    for i in (0..x.num_rows()).step_by(997) {
        let row = x.shape().last_splits().row(i);
        let alone = all(&Ragged::from_lists(&[x.row(i)]).unwrap());
        for (whole, alone) in whole.0.iter().zip(&alone.0) {
            assert_eq!(whole[i], alone[0], "row {i}");
        }
        for (whole, alone) in whole.1.iter().zip(&alone.1) {
            assert_eq!(whole[row.clone()], alone[..], "row {i}");
        }
    }
}
