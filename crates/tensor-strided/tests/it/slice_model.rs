//! Slices against models that a reader believes at sight: lists of the picked elements of each
//! axis, made by counting.

use proptest::collection::vec;
use proptest::prelude::*;
use tensor_strided::{
    Error, IndexEntry, IndexSpec, Layout, Masks, OnnxSlice, StridedSlice, Tensor, TensorView, infer_shape, ix,
};

/// The elements `begin`, `begin + step` and so on, while they are before `end`.
fn count(mut at: i128, end: i128, step: i128) -> Vec<usize> {
    let mut picked = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        picked.push(usize::try_from(at).unwrap());
        at += step;
    }
    picked
}

/// Python's range over an axis of length `n`.
fn python(n: usize, begin: Option<i64>, end: Option<i64>, step: i64) -> Vec<usize> {
    let (n, step) = (i128::try_from(n).unwrap(), i128::from(step));
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let position = |bound: i64| (i128::from(bound) + if bound < 0 { n } else { 0 }).clamp(low, high);
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    count(begin.map_or(first, position), end.map_or(last, position), step)
}

/// ONNX's range over an axis of length `n`.
fn onnx(n: usize, start: i64, end: i64, step: i64) -> Vec<usize> {
    if n == 0 {
        return Vec::new();
    }
    let (n, step) = (i128::try_from(n).unwrap(), i128::from(step));
    let add = |bound: i64| i128::from(bound) + if bound < 0 { n } else { 0 };
    if step > 0 {
        count(add(start).clamp(0, n), add(end).clamp(0, n), step)
    } else {
        count(add(start).clamp(0, n - 1), add(end).clamp(-1, n - 1), step)
    }
}

/// The picked elements of each axis of the input, and the shape of the result.
struct Model {
    picked: Vec<Vec<usize>>,
    shape: Vec<usize>,
}

impl Model {
    /// All elements in order, as positions in an input in C order.
    fn elements(&self, input: &[usize]) -> Vec<i32> {
        let mut elements = vec![0];
        for (picked, &n) in self.picked.iter().zip(input) {
            elements = elements.iter().flat_map(|&at| picked.iter().map(move |&i| at * n + i)).collect();
        }
        elements.into_iter().map(|at| i32::try_from(at).unwrap()).collect()
    }
}

#[derive(Debug, PartialEq)]
enum Wrong {
    Lengths,
    Ellipses,
    TooMany,
    Stride(usize),
    ShrinkStride(usize),
    Bounds(usize, i128),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        match error {
            Error::SpecLengths { .. } => Self::Lengths,
            Error::MultipleEllipses => Self::Ellipses,
            Error::ScalarInput | Error::TooManyIndices { .. } => Self::TooMany,
            Error::ZeroStride { axis } => Self::Stride(axis),
            Error::ShrinkStride { axis, .. } => Self::ShrinkStride(axis),
            Error::IndexOutOfBounds { axis, index, .. } => Self::Bounds(axis, index.into()),
            other => panic!("{other}"),
        }
    }
}

/// TensorFlow's rules in the order in which its documentation gives them.
fn tensorflow(input: &[usize], begin: &[i64], end: &[i64], strides: &[i64], masks: Masks) -> Result<Model, Wrong> {
    if begin.len() != strides.len() || end.len() != strides.len() || begin.len() >= 32 {
        return Err(Wrong::Lengths);
    }
    if masks.ellipsis.count_ones() > 1 {
        return Err(Wrong::Ellipses);
    }
    let len = begin.len();
    let bit = |mask: i32, at: usize| (mask >> at) & 1 == 1;
    let takes = |at: &usize| !bit(masks.ellipsis, *at) && !bit(masks.new_axis, *at);
    // The entry of each axis of the input, or none; and of each axis of the result the axis of the
    // input, or none.
    let (mut entry_of, mut result) = (Vec::new(), Vec::new());
    for at in 0..=len {
        let implied = at == len && (0..len).all(|at| !bit(masks.ellipsis, at));
        if implied || (at < len && bit(masks.ellipsis, at)) {
            let behind = (at..len).filter(takes).count();
            while entry_of.len() + behind < input.len() {
                result.push(Some(entry_of.len()));
                entry_of.push(None);
            }
        } else if at < len && bit(masks.new_axis, at) {
            result.push(None);
        } else if at < len {
            if entry_of.len() == input.len() {
                return Err(Wrong::TooMany);
            }
            if !bit(masks.shrink_axis, at) {
                result.push(Some(entry_of.len()));
            }
            entry_of.push(Some(at));
        }
    }
    let mut picked = Vec::new();
    for (axis, (&n, entry)) in input.iter().zip(entry_of).enumerate() {
        let Some(at) = entry else {
            picked.push((0..n).collect());
            continue;
        };
        match strides[at] {
            0 => return Err(Wrong::Stride(axis)),
            _ if !bit(masks.shrink_axis, at) => {}
            stride if stride < 0 => return Err(Wrong::ShrinkStride(axis)),
            _ => {
                let size = i128::try_from(n).unwrap();
                let index = i128::from(begin[at]) + if begin[at] < 0 { size } else { 0 };
                if !(0..size).contains(&index) {
                    return Err(Wrong::Bounds(axis, index));
                }
                picked.push(vec![usize::try_from(index).unwrap()]);
                continue;
            }
        }
        let bound = |mask, bound: i64| if bit(mask, at) { None } else { Some(bound) };
        picked.push(python(n, bound(masks.begin, begin[at]), bound(masks.end, end[at]), strides[at]));
    }
    let shape = result.into_iter().map(|axis| axis.map_or(1, |axis: usize| picked[axis].len())).collect();
    Ok(Model { picked, shape })
}

fn counting(shape: &[usize]) -> Tensor<i32> {
    Tensor::from_vec(shape, (0..).take(shape.iter().product()).collect::<Vec<i32>>()).unwrap()
}

/// Numbers around the ends of an axis, and those at the ends of what there is.
fn bound() -> impl Strategy<Value = i64> {
    prop_oneof![
        20 => -6..7_i64,
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX, i32::MIN.into(), i32::MAX.into()]),
    ]
}

fn stride() -> impl Strategy<Value = i64> {
    prop_oneof![8 => Just(1_i64), 8 => -4..5_i64, 1 => bound()]
}

fn mask() -> impl Strategy<Value = i32> {
    prop_oneof![4 => Just(0), 8 => 0..64, 1 => any::<i32>()]
}

fn ellipsis() -> impl Strategy<Value = i32> {
    prop_oneof![4 => Just(0), 8 => (0..7).prop_map(|bit| 1 << bit), 1 => any::<i32>()]
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    vec(0..5_usize, 0..5)
}

prop_compose! {
    fn spec()(entries in vec((bound(), bound(), stride()), 0..6), masks in (mask(), mask(), ellipsis(), mask(), mask()))
        -> (Vec<i64>, Vec<i64>, Vec<i64>, Masks) {
        let (begin, end, ellipsis, new_axis, shrink_axis) = masks;
        let masks = Masks { begin, end, ellipsis, new_axis, shrink_axis };
        let list = |of: fn(&(i64, i64, i64)) -> i64| entries.iter().map(of).collect();
        (list(|entry| entry.0), list(|entry| entry.1), list(|entry| entry.2), masks)
    }
}

fn entry() -> impl Strategy<Value = IndexEntry> {
    let part = || prop_oneof![Just(None), bound().prop_map(Some)];
    prop_oneof![
        1 => Just(IndexEntry::Ellipsis),
        1 => Just(IndexEntry::NewAxis),
        2 => bound().prop_map(IndexEntry::Index),
        4 => (part(), part(), stride().prop_filter("0 is no step", |&step| step != 0))
            .prop_map(|(begin, end, step)| IndexEntry::Range { begin, end, step }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn strided_slice_picks_what_counting_picks(shape in shape(), (begin, end, strides, masks) in spec()) {
        let x = counting(&shape);
        let model = tensorflow(&shape, &begin, &end, &strides, masks);
        match StridedSlice::new(&begin, &end, &strides, masks).map_err(Wrong::from) {
            Err(wrong) => prop_assert_eq!(Some(wrong), model.err()),
            Ok(slice) => match x.strided_slice(&slice).map_err(Wrong::from) {
                Err(wrong) => {
                    prop_assert_eq!(slice.output_shape(&shape).map_err(Wrong::from), Err(Wrong::from(slice.resolve(&shape).unwrap_err())));
                    prop_assert_eq!(Some(wrong), model.err());
                }
                Ok(view) => {
                    let model = model.map_err(|wrong| TestCaseError::fail(format!("{wrong:?} was expected of {slice}")))?;
                    prop_assert_eq!(view.shape(), &model.shape);
                    prop_assert_eq!(view.to_vec(), model.elements(&shape));
                    prop_assert_eq!(&slice.output_shape(&shape).unwrap(), &model.shape);
                    prop_assert!(view.layout().min_len() <= x.layout().len());
                }
            },
        }
    }

    #[test]
    fn slices_of_slices_are_those_of_the_copy(shape in shape(), indexes in vec(vec(entry(), 0..4), 1..4)) {
        let x = counting(&shape);
        let (mut view, mut copy) = (x.view(), x.clone());
        for index in indexes {
            let sliced = view.index(&index);
            let of_copy = copy.index(&index).map(|part| part.to_contiguous());
            prop_assert_eq!(sliced.as_ref().err(), of_copy.as_ref().err());
            let (Ok(sliced), Ok(of_copy)) = (sliced, of_copy) else { return Ok(()) };
            prop_assert_eq!(sliced.shape(), of_copy.shape());
            prop_assert_eq!(sliced.to_vec(), of_copy.view().to_vec());
            (view, copy) = (sliced, of_copy);
        }
    }

    #[test]
    fn an_index_and_its_translation_for_tensorflow_are_the_same(shape in shape(), index in vec(entry(), 0..6)) {
        let x = counting(&shape);
        match StridedSlice::from_index(&index) {
            Err(error) => prop_assert_eq!(x.index(&index).err(), Some(error)),
            Ok(slice) => {
                prop_assert_eq!(slice.to_string(), IndexSpec::from(&index[..]).to_string());
                match (x.index(&index), x.strided_slice(&slice)) {
                    (Ok(a), Ok(b)) => prop_assert_eq!((a.layout(), a.to_vec()), (b.layout(), b.to_vec())),
                    (a, b) => prop_assert_eq!(a.err(), b.err()),
                }
            }
        }
    }

    #[test]
    fn text_reads_back(index in vec(entry(), 0..6)) {
        let index = IndexSpec::from_iter(index);
        match index.to_string().parse::<IndexSpec>() {
            Ok(read) => prop_assert_eq!(read, index),
            Err(_) => prop_assert!(index.as_ref().iter().filter(|&&entry| entry == IndexEntry::Ellipsis).count() > 1),
        }
    }

    #[test]
    fn no_text_panics(text in r"[\[\]0-9:., \-+Nonewaxis…\n]{0,20}") {
        if let Err(error) = text.parse::<IndexSpec>() {
            prop_assert!(error.position <= text.len() && !error.to_string().is_empty());
        }
    }

    #[test]
    fn onnx_picks_what_counting_picks(shape in shape(), entries in vec((bound(), bound(), stride(), -5..5_i64), 0..4)) {
        let list = |of: fn(&(i64, i64, i64, i64)) -> i64| entries.iter().map(of).collect::<Vec<_>>();
        let (starts, ends, steps, axes) = (list(|x| x.0), list(|x| x.1), list(|x| x.2), list(|x| x.3));
        let slice = OnnxSlice::new(&starts, &ends, Some(&axes), Some(&steps)).unwrap();
        let mut picked: Vec<Option<Vec<usize>>> = vec![None; shape.len()];
        let rank = i64::try_from(shape.len()).unwrap();
        let mut good = true;
        for &(start, end, step, axis) in &entries {
            let axis = usize::try_from(axis + if axis < 0 { rank } else { 0 }).unwrap_or(usize::MAX);
            good &= step != 0 && axis < shape.len() && picked[axis].is_none();
            if !good {
                break;
            }
            picked[axis] = Some(onnx(shape[axis], start, end, step));
        }
        let x = counting(&shape);
        let view = x.onnx_slice(&slice);
        prop_assert_eq!(view.is_ok(), good);
        if let Ok(view) = view {
            let picked: Vec<_> = picked.into_iter().zip(&shape).map(|(p, &n)| p.unwrap_or((0..n).collect())).collect();
            let model = Model { shape: picked.iter().map(Vec::len).collect(), picked };
            prop_assert_eq!(view.shape(), &model.shape);
            prop_assert_eq!(slice.output_shape(&shape).unwrap(), &model.shape);
            prop_assert_eq!(view.to_vec(), model.elements(&shape));
            let mut written = x.clone();
            written.onnx_slice_mut(&slice).unwrap().fill(-1);
            let changed: Vec<i32> = x.to_vec().into_iter().zip(written.to_vec()).filter(|(x, y)| x != y).map(|(x, _)| x).collect();
            let mut picked = view.to_vec();
            picked.sort_unstable();
            prop_assert_eq!(changed, picked);
        }
    }

    #[test]
    fn inferred_shape_equals_the_slice(
        shape in shape(), (begin, end, strides, masks) in spec(), known in vec(any::<bool>(), 5), knows_begin in any::<bool>(),
        knows_end in any::<bool>()
    ) {
        let Ok(slice) = StridedSlice::new(&begin, &end, &strides, masks) else { return Ok(()) };
        let partial: Vec<_> = shape.iter().zip(known).map(|(&n, known)| known.then_some(n)).collect();
        let all: Vec<_> = shape.iter().map(|&n| Some(n)).collect();
        let inferred = slice.infer_shape(&partial);
        let blind = infer_shape(&partial, knows_begin.then_some(&begin[..]), knows_end.then_some(&end[..]), &strides, masks);
        match slice.output_shape(&shape) {
            Ok(real) => {
                let full: Vec<_> = real.iter().map(|&n| Some(n)).collect();
                prop_assert_eq!(slice.infer_shape(&all).unwrap(), full);
                for inferred in [inferred.unwrap(), blind.unwrap()] {
                    prop_assert_eq!(inferred.len(), real.len());
                    prop_assert!(inferred.iter().zip(&real).all(|(inferred, real)| inferred.is_none_or(|n| n == *real)));
                }
            }
            Err(error) => prop_assert_eq!(slice.infer_shape(&all), Err(error)),
        }
    }

    #[test]
    fn the_gradient_is_the_transpose(shape in shape(), (begin, end, strides, masks) in spec()) {
        let x = counting(&shape);
        let Ok(slice) = StridedSlice::new(&begin, &end, &strides, masks) else { return Ok(()) };
        let Ok(y) = x.strided_slice(&slice) else { return Ok(()) };
        let dy = Tensor::from_vec(y.shape(), (1..).take(y.layout().len()).collect::<Vec<i32>>()).unwrap();
        let dx = dy.view().strided_slice_grad(&slice, &shape).unwrap();
        prop_assert_eq!(dx.shape(), &shape);
        // The positions of dy, as y itself names them; zeros elsewhere.
        let mut expected = vec![0; x.layout().len()];
        y.to_vec().iter().zip(1..).for_each(|(&at, value)| expected[usize::try_from(at).unwrap()] = value);
        prop_assert_eq!(dx.view().to_vec(), &expected[..]);
        let mut copy = Tensor::from_vec(y.shape(), vec![-1; y.layout().len()]).unwrap();
        x.view().strided_slice_into(&slice, &mut copy.view_mut()).unwrap();
        prop_assert_eq!(copy.to_vec(), y.to_vec());

        let mut into = Tensor::from_vec(&shape, vec![99; expected.len()]).unwrap();
        dy.view().strided_slice_grad_into(&slice, &mut into.view_mut()).unwrap();
        prop_assert_eq!(into.view().to_vec(), expected);
    }

    #[test]
    fn assignment_broadcasts_the_value(
        shape in shape(), (begin, end, strides, masks) in spec(), ones in vec(any::<bool>(), 9), cut in 0..9_usize, more in 0..3_usize
    ) {
        let mut x = counting(&shape);
        let Ok(slice) = StridedSlice::new(&begin, &end, &strides, masks) else { return Ok(()) };
        let Ok(picked) = x.strided_slice(&slice).map(|view| view.to_contiguous()) else { return Ok(()) };
        // Any shape that can be repeated to that of the slice: fewer axes, axes of 1, more axes
        // of 1.
        let kept = &picked.shape()[cut.min(picked.shape().len())..];
        let mut of_value = vec![1; if kept.len() == picked.shape().len() { more } else { 0 }];
        of_value.extend(kept.iter().zip(ones).map(|(&n, one)| if one { 1 } else { n }));
        let value = Tensor::from_vec(&of_value, (1..).take(of_value.iter().product()).map(|i: i32| -i).collect::<Vec<_>>()).unwrap();

        let mut expected = x.view().to_vec();
        let positions = picked.view().to_vec();
        for (at, &position) in positions.iter().enumerate() {
            // From the last axis on: the coordinate in the slice, and in the value where its axis
            // is longer than 1.
            let (mut at, mut in_value, mut step) = (at, 0, 1);
            for (axis, &n) in picked.shape().iter().enumerate().rev() {
                let i = at % n;
                at /= n;
                if let Some(axis) = (axis + of_value.len()).checked_sub(picked.shape().len()) {
                    in_value += if of_value[axis] == 1 { 0 } else { i * step };
                    step *= of_value[axis];
                }
            }
            expected[usize::try_from(position).unwrap()] = -1 - i32::try_from(in_value).unwrap();
        }
        x.strided_slice_assign(&slice, &value.view()).unwrap();
        prop_assert_eq!(x.view().to_vec(), expected);
    }
}

#[test]
fn the_macro_writes_what_python_writes() {
    let entries = ix![.., tensor_strided::NewAxis, 1..5;2, ..;-1, 3];
    assert_eq!(IndexSpec::from(entries).to_string(), "[:, None, 1:5:2, ::-1, 3]");
    let (from, to, step) = (2_usize, -1_i64, 3_u8);
    let entries = ix![..., from + 1, from.., ..to, 4..to;-i64::from(step), (-3..0);step, 1,];
    assert_eq!(IndexSpec::from(entries).to_string(), "[..., 3, 2:, :-1, 4:-1:-3, -3:0:3, 1]");
    assert_eq!(ix![], [IndexEntry::Ellipsis; 0]);
    assert_eq!(ix![...], [IndexEntry::Ellipsis]);
    assert_eq!(ix![usize::MAX], [IndexEntry::Index(i64::MAX)]);
}

#[test]
fn numbers_at_the_ends_of_64_bits_do_not_overflow() {
    let x = counting(&[5]);
    for (begin, end, stride, expected) in [
        (i64::MIN, i64::MAX, i64::MAX, vec![0]),
        (i64::MAX, i64::MIN, i64::MIN, vec![4]),
        (i64::MIN, i64::MIN, i64::MIN, vec![]),
        (i64::MAX, i64::MIN, -1, vec![4, 3, 2, 1, 0]),
    ] {
        let slice = StridedSlice::new(&[begin], &[end], &[stride], Masks::default()).unwrap();
        assert_eq!(x.strided_slice(&slice).unwrap().to_vec(), expected);
    }
    for (given, index) in [(i64::MIN, i64::MIN + 5), (i64::MAX, i64::MAX)] {
        assert_eq!(x.index(ix![given]).err(), Some(Error::IndexOutOfBounds { axis: 0, given, index, size: 5 }));
    }
    // The longest axis that there can be, with elements that take no memory.
    let n = isize::MAX.cast_unsigned();
    let layout = Layout::contiguous([n]).unwrap();
    assert_eq!(layout.index(ix![..;-2]).unwrap().shape(), &[n / 2 + 1]);
    assert_eq!(layout.index(ix![-1]).unwrap().offset(), n - 1);
    assert_eq!(layout.index(ix![i64::MIN..;i64::MAX]).unwrap().shape(), &[1]);
}

#[test]
fn any_rank_is_indexed() {
    let x = counting(&[1; 30]);
    assert_eq!(x.index(ix![0, ..., tensor_strided::NewAxis, ..;-1]).unwrap().shape(), &[1; 30]);
    assert_eq!(x.index(vec![IndexEntry::Index(0); 31]).err(), Some(Error::TooManyIndices { rank: 30, found: 31 }));
    let scalar = counting(&[]);
    assert_eq!(scalar.index(ix![]).unwrap().to_vec(), [0]);
    assert_eq!(scalar.index(ix![0]).err(), Some(Error::ScalarInput));
    // TensorFlow has 31 entries at most; Python's kind has no such limit.
    assert!(x.index(vec![IndexEntry::NewAxis; 40]).is_ok());
    assert!(matches!(StridedSlice::from_index([IndexEntry::NewAxis; 32]), Err(Error::SpecLengths { strides: 32, .. })));
    assert_eq!(
        StridedSlice::new(&[0; 31], &[0; 31], &[1; 31], Masks { new_axis: -1, ..Masks::default() })
            .unwrap()
            .output_shape([3])
            .unwrap()
            .len(),
        32
    );
}

#[test]
fn an_empty_result_stays_within_its_buffer() {
    let x = counting(&[3, 0, 5]);
    for index in [ix![2, .., 4], ix![-1, ..;-1, 0]] {
        let view = x.index(index).unwrap();
        assert_eq!((&view.shape()[..], view.layout().offset(), view.layout().min_len()), (&[0][..], 0, 0));
    }
}

#[test]
fn what_is_written_through_a_slice_is_written_nowhere_else() {
    let mut x = counting(&[4, 4]);
    let shared = x.clone();
    let value = counting(&[]);
    x.index_mut(ix![1..;2, ..;-3])
        .unwrap()
        .copy_from(&TensorView::new(&[70, 71, 72, 73], Layout::contiguous([2, 2]).unwrap()).unwrap())
        .unwrap();
    assert_eq!(x.view().to_vec(), [0, 1, 2, 3, 71, 5, 6, 70, 8, 9, 10, 11, 73, 13, 14, 72]);
    assert_eq!(shared.view().to_vec(), (0..16).collect::<Vec<_>>());

    let everything = StridedSlice::from_index(ix![]).unwrap();
    x.strided_slice_assign(&everything, &value.view()).unwrap();
    assert_eq!(x.view().to_vec(), [0; 16]);
    // Nothing is to be written, so anything may be.
    let nothing = StridedSlice::from_index(ix![4..]).unwrap();
    x.strided_slice_assign(&nothing, &counting(&[7, 5]).view()).unwrap();
    assert_eq!(
        x.strided_slice_assign(&everything, &counting(&[4, 2]).view()).unwrap_err(),
        Error::ValueShape { value: [4, 2].into(), slice: [4, 4].into() }
    );
    assert_eq!(
        counting(&[4]).view().strided_slice_grad_into(&everything, &mut x.view_mut()).unwrap_err(),
        Error::GradientShape { expected: [4, 4].into(), found: [4].into() }
    );
}

#[test]
fn shape_inference_equals_tensorflow() {
    let masks = |begin, end, shrink_axis| Masks { begin, end, shrink_axis, ..Masks::default() };
    let unknown = None::<&[i64]>;
    // A stride of 0 is an error even of an unknown axis; a negative one of a single element only of
    // a known one.
    assert_eq!(infer_shape([None], unknown, unknown, &[0], masks(0, 0, 0)), Err(Error::ZeroStride { axis: 0 }));
    assert_eq!(infer_shape([None], unknown, unknown, &[-1], masks(0, 0, 1)).unwrap(), []);
    assert_eq!(
        infer_shape([Some(3)], unknown, unknown, &[-1], masks(0, 0, 1)),
        Err(Error::ShrinkStride { axis: 0, stride: -1 })
    );
    // Known begin and end: bounds are checked. Otherwise nobody can tell.
    assert!(infer_shape([Some(3)], Some(&[3]), Some(&[0]), &[1], masks(0, 0, 1)).is_err());
    assert_eq!(infer_shape([Some(3)], Some(&[3]), unknown, &[1], masks(0, 0, 1)).unwrap(), []);
    assert_eq!(infer_shape([Some(7)], unknown, unknown, &[-2], masks(1, 1, 0)).unwrap(), [Some(4)]);
    assert_eq!(infer_shape([Some(7)], Some(&[0]), unknown, &[2], masks(0, 1, 0)).unwrap(), [None]);
    assert!(infer_shape([Some(7)], Some(&[0, 0]), unknown, &[2], masks(0, 1, 0)).is_err());
}

#[test]
fn text_errors_show_the_position() {
    for (text, shown) in [
        ("[1:2:0]", "line 1, column 6: a step of 0\n    [1:2:0]\n         ^"),
        ("..., 1, ...", "line 1, column 9: a second ellipsis; there can be one only\n    ..., 1, ...\n            ^"),
        ("[99999999999999999999]", "line 1, column 2: a number beyond 64 bits\n    [99999999999999999999]\n     ^"),
        ("[1, 2", "line 1, column 6: expected ',' or ']'\n    [1, 2\n         ^"),
        ("1 2", "line 1, column 3: expected ',' or the end\n    1 2\n      ^"),
        ("[1] x", "line 1, column 5: expected the end\n    [1] x\n        ^"),
        (",", "line 1, column 1: expected a number, a range, '...' or 'None'\n    ,\n    ^"),
        ("[é]", "line 1, column 2: expected a number, a range, '...' or 'None'\n    [é]\n     ^"),
        ("1:2:3:4", "line 1, column 6: expected ',' or the end\n    1:2:3:4\n         ^"),
    ] {
        assert_eq!(text.parse::<IndexSpec>().unwrap_err().to_string(), shown);
    }
    for text in ["", "[]", " [ ... , ] ", "np.newaxis, None", "[ 1 : -2 : +3 ]", ":,::,1:,:1,::1"] {
        assert!(text.parse::<IndexSpec>().is_ok(), "{text}");
    }
}
