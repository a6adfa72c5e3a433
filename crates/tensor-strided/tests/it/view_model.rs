//! Chains of views against a model that a reader believes at sight: a list of values and a function
//! from coordinates to positions in it.

use proptest::prelude::*;
use tensor_strided::{Error, Layout, Order, Tensor, TensorView, concat, stack};

/// All elements in C order.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    shape: Vec<usize>,
    values: Vec<i32>,
}

impl Model {
    fn root(shape: &[usize]) -> Self {
        let len = i32::try_from(shape.iter().product::<usize>()).unwrap();
        Self { shape: shape.to_vec(), values: (0..len).collect() }
    }

    fn coordinates(shape: &[usize]) -> Vec<Vec<usize>> {
        // Another axis may be as long as it likes then.
        if shape.contains(&0) {
            return Vec::new();
        }
        shape.iter().fold(vec![vec![]], |all, &n| {
            all.iter().flat_map(|at| (0..n).map(move |i| [&at[..], &[i]].concat())).collect()
        })
    }

    fn get(&self, at: &[usize]) -> i32 {
        let position = at.iter().zip(&self.shape).fold(0, |position, (&i, &n)| position * n + i);
        self.values[position]
    }

    /// The model of this shape whose element at a coordinate is ours at the coordinate that `from`
    /// names.
    fn pick(&self, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let values = Self::coordinates(shape).iter().map(|at| self.get(&from(at))).collect();
        Self { shape: shape.to_vec(), values }
    }
}

/// One step of a chain; the numbers are brought into range where it is taken.
#[derive(Clone, Debug)]
enum Step {
    Permute(Vec<usize>),
    SwapAxes(usize, usize),
    Flip(usize),
    Expand(usize),
    Squeeze,
    Diagonal(isize, usize, usize),
    Narrow(usize, usize, usize),
    IndexAxis(usize, usize),
    Split(usize),
    Broadcast(usize),
    Windows(usize, usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0_usize..7;
    prop_oneof![
        prop::collection::vec(0_usize..100, 8).prop_map(Step::Permute),
        (n(), n()).prop_map(|(a, b)| Step::SwapAxes(a, b)),
        n().prop_map(Step::Flip),
        n().prop_map(Step::Expand),
        Just(Step::Squeeze),
        (-3_isize..4, n(), n()).prop_map(|(offset, a, b)| Step::Diagonal(offset, a, b)),
        (n(), n(), n()).prop_map(|(axis, a, b)| Step::Narrow(axis, a, b)),
        (n(), n()).prop_map(|(axis, i)| Step::IndexAxis(axis, i)),
        n().prop_map(Step::Split),
        n().prop_map(Step::Broadcast),
        (n(), 1_usize..4, 1_usize..4).prop_map(|(axis, size, hop)| Step::Windows(axis, size, hop)),
    ]
}

/// The step as an operation on layouts, and on the model. `None` where it cannot be taken, or would
/// repeat elements and may not.
fn take(step: &Step, layout: &Layout, model: &Model, may_repeat: bool) -> Option<(Layout, Model)> {
    let shape = &model.shape;
    let rank = shape.len();
    let signed = |axis: usize| isize::try_from(axis).unwrap();
    let axis_of = |axis: usize| (rank > 0).then(|| axis % rank);
    let without =
        |axis: usize| shape.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &n)| n).collect::<Vec<_>>();
    Some(match step {
        Step::Permute(keys) => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.sort_by_key(|&axis| keys[axis % keys.len()]);
            let new: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
            let back = |at: &[usize]| (0..rank).map(|axis| at[axes.iter().position(|&a| a == axis).unwrap()]).collect();
            let named: Vec<isize> = axes.iter().map(|&axis| signed(axis)).collect();
            (layout.permute(named).unwrap(), model.pick(&new, back))
        }
        Step::SwapAxes(a, b) => {
            let (a, b) = (axis_of(*a)?, axis_of(*b)?);
            let swapped = |at: &[usize]| {
                let mut at = at.to_vec();
                at.swap(a, b);
                at
            };
            (layout.swap_axes(signed(a), signed(b) - signed(rank)).unwrap(), model.pick(&swapped(shape), swapped))
        }
        Step::Flip(axis) => {
            let axis = axis_of(*axis)?;
            let back = |at: &[usize]| {
                let mut at = at.to_vec();
                at[axis] = shape[axis] - 1 - at[axis];
                at
            };
            (layout.flip(signed(axis)).unwrap(), model.pick(shape, back))
        }
        Step::Expand(axis) => {
            let axis = axis % (rank + 1);
            let mut new = shape.clone();
            new.insert(axis, 1);
            let back = |at: &[usize]| [&at[..axis], &at[axis + 1..]].concat();
            (layout.expand(signed(axis)).unwrap(), model.pick(&new, back))
        }
        Step::Squeeze => {
            let new: Vec<usize> = shape.iter().copied().filter(|&n| n != 1).collect();
            let back = |at: &[usize]| {
                let mut left = at.iter();
                shape.iter().map(|&n| if n == 1 { 0 } else { *left.next().unwrap() }).collect()
            };
            (layout.squeeze(), model.pick(&new, back))
        }
        Step::Diagonal(offset, a, b) => {
            let (a, b) = (axis_of(*a)?, axis_of(*b)?);
            if a == b {
                assert_eq!(layout.diagonal(*offset, signed(a), signed(b)), Err(Error::RepeatedAxis { axis: a }));
                return None;
            }
            let (skip_a, skip_b) = (offset.min(&0).unsigned_abs(), offset.max(&0).unsigned_abs());
            let len = shape[a].saturating_sub(skip_a).min(shape[b].saturating_sub(skip_b));
            let others: Vec<usize> = (0..rank).filter(|&axis| axis != a && axis != b).collect();
            let mut new: Vec<usize> = others.iter().map(|&axis| shape[axis]).collect();
            new.push(len);
            let back = |at: &[usize]| {
                let mut old = vec![0; rank];
                others.iter().zip(at).for_each(|(&axis, &i)| old[axis] = i);
                (old[a], old[b]) = (at[rank - 2] + skip_a, at[rank - 2] + skip_b);
                old
            };
            (layout.diagonal(*offset, signed(a), signed(b)).unwrap(), model.pick(&new, back))
        }
        Step::Narrow(axis, begin, end) => {
            let axis = axis_of(*axis)?;
            let (begin, end) = (begin.min(end) % (shape[axis] + 1), begin.max(end) % (shape[axis] + 1));
            if begin > end {
                assert!(matches!(layout.narrow(signed(axis), begin..end), Err(Error::Range { .. })));
                return None;
            }
            let mut new = shape.clone();
            new[axis] = end - begin;
            let back = |at: &[usize]| {
                let mut at = at.to_vec();
                at[axis] += begin;
                at
            };
            (layout.narrow(signed(axis), begin..end).unwrap(), model.pick(&new, back))
        }
        Step::IndexAxis(axis, i) => {
            let axis = axis_of(*axis)?;
            if *i >= shape[axis] {
                assert_eq!(
                    layout.index_axis(signed(axis), *i),
                    Err(Error::Index { axis, index: *i, len: shape[axis] })
                );
                return None;
            }
            let back = |at: &[usize]| [&at[..axis], &[*i], &at[axis..]].concat();
            (layout.index_axis(signed(axis), *i).unwrap(), model.pick(&without(axis), back))
        }
        Step::Split(axis) => {
            // Even axes of even length become two, as a reshape in position.
            let axis = axis_of(*axis)?;
            if shape[axis] == 0 || !shape[axis].is_multiple_of(2) {
                return None;
            }
            let mut new = shape.clone();
            new.splice(axis..=axis, [2, shape[axis] / 2]);
            let reshaped = layout.reshape(&new, Order::C).unwrap().unwrap();
            (reshaped, Model { shape: new, values: model.values.clone() })
        }
        Step::Broadcast(n) => {
            if !may_repeat {
                return None;
            }
            let mut new: Vec<usize> = shape.iter().map(|&old| if old == 1 { *n } else { old }).collect();
            new.insert(0, 2);
            let back =
                |at: &[usize]| at[1..].iter().zip(shape).map(|(&i, &old)| if old == 1 { 0 } else { i }).collect();
            (layout.broadcast_to(&new).unwrap(), model.pick(&new, back))
        }
        Step::Windows(axis, size, hop) => {
            let axis = axis_of(*axis)?;
            if !may_repeat {
                return None;
            }
            let mut new = shape.clone();
            new[axis] = (0..).take_while(|i| i * hop + size <= shape[axis]).count();
            new.push(*size);
            let back = |at: &[usize]| {
                let mut old = at[..rank].to_vec();
                old[axis] = old[axis] * hop + at[rank];
                old
            };
            (layout.windows(signed(axis), *size, *hop).unwrap(), model.pick(&new, back))
        }
    })
}

/// The end of a chain that starts with a tensor of this shape in C order.
fn chain(shape: &[usize], steps: &[Step], may_repeat: bool) -> (Layout, Model) {
    let mut end = (Layout::contiguous(shape).unwrap(), Model::root(shape));
    for step in steps {
        if let Some(next) = take(step, &end.0, &end.1, may_repeat)
            && next.1.values.len() < 5000
        {
            end = next;
        }
    }
    end
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![8 => 1_usize..6, 1 => Just(0)], 0..5)
}

fn is_dense(layout: &Layout, model: &Model, order: Order) -> bool {
    let mut wanted = Model::coordinates(&model.shape);
    if order == Order::F {
        wanted.sort_by_key(|at| at.iter().rev().copied().collect::<Vec<_>>());
    }
    let offsets: Vec<usize> = wanted.iter().map(|at| layout.offset_of(at).unwrap()).collect();
    offsets.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn views_equal_the_model(shape in shapes(), steps in prop::collection::vec(step(), 0..7)) {
        let (layout, model) = chain(&shape, &steps, true);
        let buffer = Model::root(&shape).values;
        prop_assert!(layout.min_len() <= buffer.len());
        let view = TensorView::new(&buffer, layout.clone()).unwrap();
        prop_assert_eq!(view.shape(), &model.shape);
        prop_assert_eq!(view.to_vec(), &model.values[..]);
        prop_assert!(view.iter().eq(&model.values));
        prop_assert_eq!(view.iter().len(), model.values.len());
        for at in Model::coordinates(&model.shape) {
            prop_assert_eq!(view.get(&at), Some(&model.get(&at)));
        }
        prop_assert_eq!(layout.is_contiguous(), is_dense(&layout, &model, Order::C));
        prop_assert_eq!(layout.is_fortran(), is_dense(&layout, &model, Order::F));
        prop_assert_eq!(view.as_slice().map(<[i32]>::to_vec), layout.is_contiguous().then(|| model.values.clone()));

        for axis in 0..model.shape.len() {
            let signed = isize::try_from(axis).unwrap();
            let lanes: Vec<Vec<i32>> = view.lanes(signed).unwrap().map(|lane| lane.iter().copied().collect()).collect();
            let mut others = model.shape.clone();
            let n = others.remove(axis);
            let wanted: Vec<Vec<i32>> = Model::coordinates(&others)
                .iter()
                .map(|at| (0..n).map(|i| model.get(&[&at[..axis], &[i], &at[axis..]].concat())).collect())
                .collect();
            prop_assert_eq!(lanes, wanted);
            let entries: Vec<Tensor<i32>> = view.axis_iter(signed).unwrap().map(|entry| entry.to_contiguous()).collect();
            prop_assert_eq!(entries.len(), n);
            if n > 0 {
                let views: Vec<_> = entries.iter().map(Tensor::view).collect();
                prop_assert_eq!(stack(&views, signed).unwrap(), view.to_contiguous());
                let chunks: Vec<_> = view.axis_chunks(signed, 2).unwrap().collect();
                prop_assert_eq!(chunks.len(), n.div_ceil(2));
                prop_assert_eq!(concat(&chunks, signed).unwrap(), view.to_contiguous());
            }
        }
    }

    #[test]
    fn writing_reaches_these_elements_alone(shape in shapes(), steps in prop::collection::vec(step(), 0..7)) {
        let (layout, model) = chain(&shape, &steps, false);
        let root = Tensor::from_vec(&shape, Model::root(&shape).values).unwrap();
        let wanted: Vec<i32> =
            root.iter().map(|x| if model.values.contains(x) { -1 - x } else { *x }).collect();
        let write = |how: &dyn Fn(&mut tensor_strided::TensorViewMut<'_, i32>)| {
            let mut buffer = root.to_vec();
            how(&mut tensor_strided::TensorViewMut::new(&mut buffer, layout.clone()).unwrap());
            buffer
        };
        prop_assert_eq!(write(&|view| view.apply(|x| -1 - x)), &wanted[..]);
        prop_assert_eq!(write(&|view| view.iter_mut().for_each(|x| *x = -1 - *x)), &wanted[..]);
        let negative = Tensor::from_vec(&model.shape, model.values.iter().map(|x| -1 - x).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(write(&|view| view.assign(&negative.view()).unwrap()), &wanted[..]);
        prop_assert_eq!(write(&|view| view.load(&negative.to_vec()).unwrap()), &wanted[..]);
        prop_assert_eq!(write(&|view| view.zip_apply(&negative.view(), |_, y| *y).unwrap()), &wanted[..]);
        for axis in 0..isize::try_from(model.shape.len()).unwrap() {
            let entries = write(&|view| {
                view.view_mut().axis_iter_mut(axis).unwrap().for_each(|mut entry| entry.apply(|x| -1 - x));
            });
            prop_assert_eq!(entries, &wanted[..]);
            let chunks = write(&|view| {
                view.view_mut().axis_chunks_mut(axis, 2).unwrap().for_each(|mut chunk| chunk.apply(|x| -1 - x));
            });
            prop_assert_eq!(chunks, &wanted[..]);
            let lanes = write(&|view| {
                view.view_mut().lanes_mut(axis).unwrap().flatten().for_each(|x| *x = -1 - *x);
            });
            prop_assert_eq!(lanes, &wanted[..]);
        }
        // A clone shares memory until one of them is written to.
        let mut copy = root.clone();
        copy.view_mut().fill(-1);
        prop_assert_eq!(root.to_vec(), Model::root(&shape).values);
    }

    #[test]
    fn reshaping_keeps_the_order(
        shape in shapes(),
        steps in prop::collection::vec(step(), 0..5),
        keys in prop::collection::vec(0_usize..100, 8),
        fortran: bool,
    ) {
        let (layout, model) = chain(&shape, &steps, true);
        let buffer = Model::root(&shape).values;
        let view = TensorView::new(&buffer, layout).unwrap();
        let order = if fortran { Order::F } else { Order::C };
        // The same lengths in another order, two of them merged.
        let mut to = model.shape.clone();
        to.sort_by_key(|n| keys[n % keys.len()]);
        if to.len() > 1 {
            let last = to.pop().unwrap();
            to[0] *= last;
        }
        let reshaped = view.reshape_order(&to, order).unwrap();
        prop_assert_eq!(reshaped.shape(), &to);
        let in_order = |view: &TensorView<'_, i32>| match order {
            Order::C => view.to_vec(),
            Order::F => view.transpose().to_vec(),
        };
        prop_assert_eq!(in_order(&reshaped.view()), in_order(&view));
        prop_assert_eq!(in_order(&view), view.ravel_order(order).unwrap().view().to_vec());
        let open: Vec<i64> = std::iter::once(-1).chain(to.iter().skip(1).map(|&n| i64::try_from(n).unwrap())).collect();
        match to.is_empty() || to[1..].contains(&0) {
            true => prop_assert!(to.is_empty() || view.reshape_order(&open, order).is_err()),
            false => {
                let same = view.reshape_order(&open, order).unwrap();
                prop_assert_eq!(same.view(), reshaped.view());
            }
        }
        let owned = view.to_contiguous().into_shape_order(&to, order).unwrap();
        prop_assert_eq!(owned.view(), reshaped.view());
    }

    #[test]
    fn any_layout_is_checked(
        shape in prop::collection::vec(prop_oneof![0_usize..5, Just(usize::MAX), Just(1 << 40)], 0..4),
        strides in prop::collection::vec(prop_oneof![-6_isize..7, Just(isize::MIN), Just(isize::MAX)], 0..4),
        offset in prop_oneof![0_usize..30, Just(usize::MAX)],
    ) {
        let mut buffer: Vec<i32> = (0..24).collect();
        let Ok(layout) = Layout::new(&shape, &strides, offset) else { return Ok(()) };
        // The naive way, in numbers that cannot overflow.
        let position = |at: &[usize]| {
            at.iter().zip(&strides).fold(offset as i128, |position, (&i, &stride)| position + i as i128 * stride as i128)
        };
        if let Ok(view) = TensorView::new(&buffer, layout.clone())
            && layout.len() < 1000
        {
            let wanted: Vec<i32> = Model::coordinates(&shape).iter().map(|at| buffer[position(at) as usize]).collect();
            prop_assert_eq!(view.to_vec(), wanted);
        }
        if let Ok(mut view) = tensor_strided::TensorViewMut::new(&mut buffer, layout.clone()) {
            let mut positions: Vec<i128> = Model::coordinates(&shape).iter().map(|at| position(at)).collect();
            positions.sort_unstable();
            positions.dedup();
            prop_assert_eq!(positions.len(), layout.len());
            view.fill(-1);
            prop_assert_eq!(buffer.iter().filter(|&&x| x == -1).count(), layout.len());
        }
    }
}

#[test]
fn many_axes_are_supported() {
    let shape: Vec<usize> = (0..30).map(|axis| if axis % 10 == 3 { 2 } else { 1 }).collect();
    let x = Tensor::from_vec(&shape, vec![0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert_eq!(x.transpose().to_vec(), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(x.squeeze().shape(), [2, 2, 2]);
    let last = [vec![0; 3], vec![1], vec![0; 9], vec![1], vec![0; 9], vec![1], vec![0; 6]].concat();
    assert_eq!(x.get(&last), Some(&7));
}

#[test]
fn what_is_too_large_is_refused() {
    assert!(matches!(Layout::contiguous([1 << 40, 1 << 40]), Err(Error::TooLarge { .. })));
    assert!(matches!(Layout::contiguous([0, 1 << 40, 1 << 40]), Err(Error::TooLarge { .. })));
    assert!(matches!(Layout::contiguous([usize::MAX]), Err(Error::TooLarge { .. })));
    let one = Layout::contiguous([1]).unwrap();
    assert!(matches!(one.broadcast_to([1 << 40, 1 << 40]), Err(Error::TooLarge { .. })));
    assert!(matches!(Layout::new([3], [isize::MAX], 0), Err(Error::OutOfRange { .. })));
    assert!(matches!(Layout::new([3], [-1], 1), Err(Error::OutOfRange { .. })));
    assert!(matches!(TensorView::new(&[1, 2], Layout::new([3], [-1], 2).unwrap()), Err(Error::BufferTooSmall { .. })));
    assert!(matches!(Tensor::<u8>::zeros([1 << 40, 1 << 40]), Err(Error::TooLarge { .. })));
}

#[test]
fn writing_through_a_repetition_is_refused() {
    let mut buffer = [1, 2, 3];
    let repeated = Layout::contiguous([3]).unwrap().broadcast_to([2, 3]).unwrap();
    let refused = tensor_strided::TensorViewMut::new(&mut buffer, repeated).err();
    assert_eq!(refused, Some(Error::Overlap { shape: [2, 3].into(), strides: [0, 1].into() }));
}
