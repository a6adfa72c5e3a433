//! What somebody who has not read the documentation tries first.

use lod::{
    AnyLodTensor, Batching, Buffer, Error, Lod, LodSlice, LodTensor, Padding, Ragged, RaggedShape, RankTable,
    RowSplits, Segments, Sequences, Tensor, pad_sequence,
};

#[test]
fn sequences_become_a_tensor() {
    let lists = vec![vec![1.0, 2.0], vec![], vec![5.0]];
    let x = LodTensor::from(lists.clone());
    assert_eq!(x, LodTensor::from_sequences(&lists).unwrap());
    assert_eq!(x, lists.iter().cloned().collect::<LodTensor<f64>>());
    assert_eq!(x, LodTensor::from(Ragged::from(lists.clone())));
    assert_eq!((x.lengths(), x.num_sequences(), x.num_rows()), (vec![2, 0, 1], 3, 3));
    assert_eq!((x.lod().lengths(0), x.lod().to_string()), (vec![2, 0, 1], "[[0, 2, 2, 3]]".into()));
    assert_eq!(x.sequences().map(<[f64]>::to_vec).collect::<Vec<_>>(), lists);
}

#[test]
fn utterances_of_frames_become_a_tensor() {
    let x = LodTensor::try_from(vec![vec![vec![1, 2], vec![3, 4]], vec![], vec![vec![5, 6]]]).unwrap();
    assert_eq!(x, LodTensor::from_lengths(&[2, 0, 1], 2, vec![1, 2, 3, 4, 5, 6]).unwrap());
    let memory: Buffer<i32> = vec![1, 2, 3, 4, 5, 6].into();
    let lod = Lod::from(RowSplits::from_lengths([2, 0, 1]).unwrap());
    assert_eq!(x, LodTensor::new(Tensor::from_vec([3, 2], memory).unwrap(), lod.clone()).unwrap());
    assert_eq!(lod, RaggedShape::from_lengths([2, 0, 1]).unwrap().into());
    let mut seen = Vec::new();
    for sequence in &x {
        seen.push(sequence.to_vec());
    }
    assert_eq!(seen, [vec![1, 2, 3, 4], vec![], vec![5, 6]]);
    assert_eq!(x.sequences().rev().map(<[i32]>::len).collect::<Vec<_>>(), [2, 0, 4]);
    assert_eq!(x.sequences().len(), 3);
    let uneven = LodTensor::try_from(vec![vec![vec![1, 2]], vec![vec![3, 4], vec![5]]]);
    assert_eq!(uneven, Err(Error::RowWidth { sequence: 1, row: 1, expected: 2, found: 1 }));
    assert!(matches!(LodTensor::from_lengths(&[2], 2, vec![1, 2, 3]), Err(Error::Tensor(_))));
}

#[test]
fn nothing_is_the_default() {
    let none = LodTensor::<f32>::default();
    assert_eq!((none.num_rows(), none.num_sequences(), none.lengths(), none.sequences().count()), (0, 0, vec![], 0));
    assert_eq!(LodTensor::from(Vec::<Vec<f32>>::new()).num_sequences(), 0);
    let no_rows = LodTensor::try_from(vec![Vec::<Vec<f32>>::new(); 2]).unwrap();
    assert_eq!((no_rows.lengths(), no_rows.width()), (vec![0, 0], 0));
    assert_eq!(Batching::default().batches(&[3, 1, 2]).unwrap(), [vec![0, 1, 2]]);
}

#[test]
fn options_are_set_one_after_the_other() {
    let x = LodTensor::from(vec![vec![1, 2], vec![3]]);
    let padding = Padding::default().with_value(-1).with_batch_first(true).with_left(true).with_total_length(3);
    assert_eq!(pad_sequence(&x, &padding).unwrap(), Tensor::from([[-1, 1, 2], [-1, -1, 3]]));
    let batching = Batching::default().with_max_rows(3).with_max_sequences(2).with_sort_window(3);
    assert_eq!(batching.batches(&[1, 1, 3]).unwrap(), [vec![2], vec![0, 1]]);
    assert_eq!(Batching::by_rows(3).with_shuffle(7).shuffle, Some(7));
}

#[cfg(feature = "serde")]
#[test]
fn options_are_read_and_written() {
    use lod::sequence::{Context, Pool};

    let batching: Batching = serde_json::from_str(r#"{"max_rows": 100, "shuffle": 7}"#).unwrap();
    assert_eq!(batching, Batching::by_rows(100).with_shuffle(7));
    assert!(serde_json::from_str::<Batching>(r#"{"max_row": 100}"#).is_err());
    let padding: Padding<f32> = serde_json::from_str(r#"{"value": -1.0}"#).unwrap();
    assert_eq!(padding, Padding::default().with_value(-1.0));
    assert_eq!(serde_json::to_string(&Pool::Max).unwrap(), r#""Max""#);
    assert_eq!(serde_json::from_str::<Context>(r#"{"start": -1, "length": 3}"#).unwrap(), Context::centred(3));
}

#[test]
fn debug_of_a_large_batch_is_short() {
    let lengths = vec![50; 2000];
    let x = LodTensor::from_lengths(&lengths, 8, vec![0.5_f32; 800_000]).unwrap();
    let text = format!("{x:?}");
    assert!(text.len() < 700 && text.contains("(2001 elements)"), "{text}");
}

#[test]
fn tensors_are_send_and_sync() {
    const fn send_and_sync<T: Send + Sync>() {}
    const _: () = {
        send_and_sync::<LodTensor<f32>>();
        send_and_sync::<Lod>();
        send_and_sync::<LodSlice<f32>>();
        send_and_sync::<RankTable>();
        send_and_sync::<Segments<f32>>();
        send_and_sync::<Sequences<'_, f32>>();
        send_and_sync::<AnyLodTensor>();
        send_and_sync::<Error>();
    };
}
