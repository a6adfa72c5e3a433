//! What somebody who has not read the documentation tries first.

use ragged_core::{Buffer, Error, PadMode, PadSide, Ragged, RaggedShape, RowSplits};

#[test]
fn nested_vec_round_trip() {
    let lists = vec![vec![1.0, 2.0], vec![], vec![5.0]];
    let ragged = Ragged::from(lists.clone());
    assert_eq!(ragged, Ragged::from(&lists));
    assert_eq!(ragged, Ragged::from(&lists[..]));
    assert_eq!(ragged, lists.iter().cloned().collect::<Ragged<f64>>());
    assert_eq!(ragged, Ragged::from_lists(&lists).unwrap());
    assert_eq!(ragged, Ragged::from_lengths([2, 0, 1], vec![1.0, 2.0, 5.0]).unwrap());
    assert_eq!(ragged, "[[1 2] [] [5]]".parse().unwrap());
    assert_eq!(ragged.rows().map(<[f64]>::to_vec).collect::<Vec<_>>(), lists);
    assert_eq!(Vec::<Vec<f64>>::try_from(&ragged).unwrap(), lists);
    let into: Ragged<f64> = lists.into();
    assert_eq!(into, ragged);
}

#[test]
fn rows_are_iterated_and_indexed() {
    let mut ragged = Ragged::from([vec![1, 2, 3], vec![], vec![4]]);
    let mut sums = Vec::new();
    for row in &ragged {
        sums.push(row.iter().sum::<i32>());
    }
    assert_eq!(sums, ragged.sum());
    assert_eq!((ragged[0].len(), &ragged[2], ragged[0][1]), (3, &[4][..], 2));
    assert_eq!((ragged.get(1), ragged.get(3)), (Some(&[][..]), None));
    assert_eq!(ragged.lengths(), [3, 0, 1]);
    assert_eq!(ragged.rows().next_back(), Some(&[4][..]));
    assert_eq!(ragged.rows().nth(2), Some(&[4][..]));
    let copy = ragged.clone();
    ragged[0][1] = 7;
    assert_eq!((copy.values(), ragged.values()), (&[1, 2, 3, 4][..], &[1, 7, 3, 4][..]));
}

#[test]
fn rows_of_deeper_tensors_are_the_innermost_lists() {
    let deep = Ragged::<i32>::from(vec![vec![vec![1, 2], vec![]], vec![], vec![vec![3]]]);
    assert_eq!(deep.num_axes(), 3);
    assert_eq!((&deep[0], &deep[2], deep.lengths()), (&[1, 2][..], &[3][..], vec![2, 0, 1]));
    assert_eq!(deep.index0(2).unwrap().to_string(), "[ [ 3 ] ]");
}

#[test]
fn reductions_need_no_initial_value() {
    let x = Ragged::from(vec![vec![1.0, 3.0], vec![], vec![-2.0_f32]]);
    assert_eq!(x.sum(), [4.0, 0.0, -2.0]);
    assert_eq!(x.max(), [3.0, f32::MIN, -2.0]);
    assert_eq!(x.min(), [1.0, f32::MAX, -2.0]);
    assert_eq!((x.argmax(), x.argmin()), (vec![1, -1, 2], vec![0, -1, 2]));
    assert_eq!(x.logsumexp()[1..], [f32::NEG_INFINITY, -2.0]);
    assert!((x.logsumexp()[0] - 3.126_928).abs() < 1e-6);
    let means = x.mean();
    assert!(means[0] == 2.0 && means[1].is_nan() && means[2] == -2.0);
    let bits = Ragged::from(vec![vec![6_u8, 3], vec![]]);
    assert_eq!((bits.and(), bits.or()), (vec![2, 255], vec![7, 0]));
    assert_eq!(Ragged::from(vec![vec![6, 3], vec![]]).and(), [2, -1]);
}

#[test]
fn nothing_is_the_default() {
    assert_eq!(Ragged::<i32>::default(), Ragged::from(Vec::<Vec<i32>>::new()));
    assert_eq!(RaggedShape::default(), RaggedShape::empty(2).unwrap());
    assert_eq!(RowSplits::default(), RowSplits::new(vec![0]).unwrap());
}

#[test]
fn shapes_come_from_lengths_and_splits() {
    let splits = RowSplits::try_from(vec![0, 2, 2, 3]).unwrap();
    assert_eq!(RaggedShape::from(splits.clone()), RaggedShape::from_lengths([2, 0, 1]).unwrap());
    assert_eq!(splits.lengths().collect::<Vec<_>>(), [2, 0, 1]);
    let wrong = Ragged::from_lengths([2, 1], vec!['a', 'b']);
    assert_eq!(wrong, Err(Error::Size { what: "the number of values", expected: 3, found: 2 }));
    let values: Buffer<i32> = vec![1, 2, 3].into();
    assert_eq!(Ragged::new(splits.into(), values).unwrap().to_string(), "[ [ 1 2 ] [ ] [ 3 ] ]");
}

#[test]
fn padded_rows_are_read_by_number() {
    let padded = Ragged::from(vec![vec![1, 2], vec![], vec![3]]).pad(PadMode::Constant, PadSide::Left, 0).unwrap();
    assert_eq!((padded.num_rows(), padded.num_cols()), (3, 2));
    assert_eq!((padded.row(0), padded.row(2)), (&[1, 2][..], &[0, 3][..]));
    assert_eq!(padded.rows().map(|row| row[1]).collect::<Vec<_>>(), [2, 0, 3]);
    let empty = Ragged::from(vec![Vec::<i32>::new(); 2]).pad(PadMode::Constant, PadSide::Left, 0).unwrap();
    assert_eq!(empty.rows().map(<[i32]>::len).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn debug_of_a_large_tensor_is_short() {
    let large: Ragged<usize> = (0..10_000).map(|i| vec![i; i % 3]).collect();
    let text = format!("{large:?}");
    assert!(text.len() < 300 && text.contains("(9999 elements)") && text.contains("(10001 elements)"), "{text}");
    assert!(format!("{:?}", large.map(|_| 1_u8).pad(PadMode::Constant, PadSide::Right, 0).unwrap()).len() < 200);
    let small = Ragged::from(vec![vec![1], vec![2, 3]]);
    assert_eq!(format!("{small:?}"), "Ragged { shape: [[0, 1, 3]], values: [1, 2, 3] }");
}

#[test]
fn tensors_are_send_and_sync() {
    const fn send_and_sync<T: Send + Sync>() {}
    const _: () = {
        send_and_sync::<Ragged<f32>>();
        send_and_sync::<RaggedShape>();
        send_and_sync::<RowSplits>();
        send_and_sync::<ragged_core::RaggedView<'_>>();
        send_and_sync::<ragged_core::Packed<'_>>();
        send_and_sync::<ragged_core::RowSlices<'_, f32>>();
        send_and_sync::<ragged_core::Padded<f32>>();
        send_and_sync::<Error>();
    };
    let ragged = Ragged::from(vec![vec![1, 2], vec![3]]);
    let other = ragged.clone();
    assert_eq!(std::thread::spawn(move || other.sum()).join().unwrap(), ragged.sum());
}
