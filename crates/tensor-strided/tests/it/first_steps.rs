//! What somebody who knows NumPy tries first.

use tensor_strided::{
    AxisIter, Buffer, Elements, Error, IndexSpec, Layout, Order, StridedSlice, Tensor, TensorCow, TensorView,
    TensorViewMut, ix, stack, stack_into,
};

#[test]
fn tensors_come_from_lists() {
    let x = Tensor::from(vec![1.0, 2.0, 3.0]);
    assert_eq!((x.rank(), x.len(), x.is_empty()), (1, 3, false));
    assert_eq!(x, [1.0, 2.0, 3.0].into_iter().collect());
    assert_eq!(x, Tensor::from(&[1.0, 2.0, 3.0][..]));
    let table = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    assert_eq!(table.shape(), &[2, 3]);
    assert_eq!(table, Tensor::from_vec([2, 3], vec![1, 2, 3, 4, 5, 6]).unwrap());
    assert_eq!(table, Tensor::from_vec(vec![2, 3], (1..7).collect::<Vec<_>>()).unwrap());
    assert_eq!(table, Tensor::try_from(vec![vec![1, 2, 3], vec![4, 5, 6]]).unwrap());
    let memory: Buffer<i32> = vec![1, 2, 3, 4, 5, 6].into();
    assert_eq!(table, Tensor::from_vec([2, 3], memory).unwrap());
    let uneven = Tensor::try_from(vec![vec![1], vec![2, 3], vec![]]);
    assert_eq!(uneven, Err(Error::Uneven { row: 1, expected: 1, found: 2 }));
    assert_eq!(Tensor::<f32>::default().shape(), &[0]);
    assert_eq!(Tensor::try_from(Vec::<Vec<u8>>::new()).unwrap().shape(), &[0, 0]);
    assert_eq!(Tensor::<f32>::ones([2, 2]).unwrap(), Tensor::full([2, 2], 1.0).unwrap());
    assert!(Tensor::from_vec([2, 2], vec![1, 2, 3]).is_err());
}

#[test]
fn elements_are_read_and_written_in_brackets() {
    let mut x = Tensor::<f32>::zeros([2, 3]).unwrap();
    x[[0, 1]] = 5.0;
    x[(1, 2)] = 7.0;
    let at = vec![1, 2];
    assert_eq!((x[(0, 1)], x[[1, 2]], x[&at], x[&at[..]]), (5.0, 7.0, 7.0, 7.0));
    assert_eq!((x.get((0, 3)), x.get([0]), x.get(0)), (None, None, None));
    x.set((0, 0), 1.0).unwrap();
    *x.get_mut((1, 0)).unwrap() = 2.0;
    assert_eq!(x.to_vec(), [1.0, 5.0, 0.0, 2.0, 0.0, 7.0]);
    let mut line = Tensor::from(vec![1, 2, 3]);
    line[1] = 9;
    assert_eq!((line[1], line.view()[2]), (9, 3));
    let cube = Tensor::from_fn([2, 2, 2], |at| at[0] * 4 + at[1] * 2 + at[2]).unwrap();
    assert_eq!(cube[(1, 0, 1)], 5);
}

#[test]
fn slices_are_written_as_in_python() {
    let mut x = Tensor::arange(0_i64, 12, 1).unwrap().into_shape([3, 4]).unwrap();
    assert_eq!(x.slice("1:3, ::-1").unwrap(), x.index(ix![1..3, ..;-1]).unwrap());
    assert_eq!(x.slice("[..., None, 0]").unwrap().shape(), &[3, 1]);
    let spec: IndexSpec = "1:, 1".parse().unwrap();
    assert_eq!(x.index(&spec).unwrap().to_vec(), [5, 9]);
    x.slice_mut("0, :2").unwrap().fill(7);
    x.view_mut().slice_mut("2").unwrap().slice_mut("::2").unwrap().fill(8);
    assert_eq!(x.to_vec(), [7, 7, 2, 3, 4, 5, 6, 7, 8, 9, 8, 11]);
    assert!(matches!(x.slice("1:x"), Err(Error::Parse(_))));
    assert!(matches!(x.view().slice("0, 0, 0"), Err(Error::TooManyIndices { .. })));
}

#[test]
fn shapes_change_in_c_order() {
    let x = Tensor::arange(0_i64, 6, 1).unwrap();
    let table = x.reshape([2, 3]).unwrap();
    assert_eq!(table.shape(), &[2, 3]);
    assert_eq!(x.reshape([-1, 2]).unwrap().shape(), &[3, 2]);
    assert_eq!(table.view().transpose().ravel().unwrap().view().to_vec(), [0, 3, 1, 4, 2, 5]);
    assert_eq!(x.reshape_order([2, 3], Order::F).unwrap().view().to_vec(), [0, 2, 4, 1, 3, 5]);
}

#[test]
fn results_are_written_into_memory_that_is_there() {
    let x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    let mut doubled = Tensor::zeros([2, 3]).unwrap();
    x.view().map_into(&mut doubled.view_mut(), |x| 2 * x).unwrap();
    assert_eq!(doubled.to_vec(), [2, 4, 6, 8, 10, 12]);
    let parts = [x.view(), doubled.view()];
    let mut stacked = Tensor::zeros([2, 2, 3]).unwrap();
    stack_into(&parts, 1, &mut stacked.view_mut()).unwrap();
    assert_eq!(stacked, stack(&parts, 1).unwrap());
    let mut other = Tensor::<i32>::zeros([3, 2]).unwrap();
    assert!(x.view().map_into(&mut other.view_mut(), |&x| x).is_err());
    assert!(stack_into(&parts, 1, &mut other.view_mut()).is_err());
}

#[test]
fn elements_are_iterated_in_c_order() {
    let mut x = Tensor::from([[1, 2], [3, 4]]);
    for element in &mut x {
        *element *= 10;
    }
    x.iter_mut().for_each(|element| *element += 1);
    for element in &mut x.view_mut() {
        *element += 1;
    }
    let mut all = Vec::new();
    for element in &x {
        all.push(*element);
    }
    assert_eq!(all, [12, 22, 32, 42]);
    assert_eq!(x.iter().sum::<i32>(), 108);
    assert_eq!((&x.view_mut()).into_iter().max(), Some(&42));
    assert_eq!(x.view().transpose().iter().copied().collect::<Vec<_>>(), [12, 32, 22, 42]);
    assert_eq!(x.into_iter().collect::<Vec<_>>(), [12, 22, 32, 42]);
}

#[test]
fn text_of_a_large_tensor_is_short() {
    let large = Tensor::<f32>::zeros([1000, 80]).unwrap();
    assert!(format!("{large:?}").len() < 500 && large.to_string().len() < 500, "{large:?}");
    let long = Tensor::arange(0_i64, 1001, 1).unwrap();
    assert_eq!(long.to_string(), "[0, 1, 2, ..., 998, 999, 1000]");
    let rows = long.slice("1:").unwrap().reshape([8, 125]).unwrap().into_tensor();
    assert_eq!(rows.to_string().lines().count(), 8);
    let tall = Tensor::<u8>::zeros([1001, 1]).unwrap();
    assert_eq!(tall.to_string(), "[[0],\n [0],\n [0],\n ...,\n [0],\n [0],\n [0]]");
    assert_eq!(format!("{:?}", Tensor::from(vec![1, 2])), "[1, 2], shape [2], strides [1]");
}

#[test]
fn tensors_are_send_and_sync() {
    const fn send_and_sync<T: Send + Sync>() {}
    const _: () = {
        send_and_sync::<Tensor<f32>>();
        send_and_sync::<TensorView<'_, f32>>();
        send_and_sync::<TensorViewMut<'_, f32>>();
        send_and_sync::<TensorCow<'_, f32>>();
        send_and_sync::<Elements<'_, f32>>();
        send_and_sync::<AxisIter<'_, f32>>();
        send_and_sync::<Layout>();
        send_and_sync::<IndexSpec>();
        send_and_sync::<StridedSlice>();
        send_and_sync::<Error>();
    };
    let x = Tensor::from(vec![1, 2, 3]);
    let other = x.clone();
    assert_eq!(std::thread::spawn(move || other.iter().sum::<i32>()).join().unwrap(), 6);
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_a_known_rank_come_from_tensors_and_go_back() {
    use ndarray::{Array1, Array2, ArrayView2, array};

    let array: Array2<i32> = array![[1, 2, 3], [4, 5, 6]];
    let tensor = Tensor::from(array.clone());
    assert_eq!(ArrayView2::try_from(tensor.view()).unwrap(), array.view());
    assert_eq!(Array1::try_from(tensor.clone()), Err(Error::Rank { what: "the array", expected: 1, found: 2 }));
    let start = tensor.as_slice().unwrap().as_ptr();
    let back = Array2::try_from(tensor).unwrap();
    assert_eq!((back.as_ptr(), &back), (start, &array));
}
