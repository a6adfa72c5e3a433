//! From and to the arrays of `ndarray`, without copying.

use ndarray::{
    Array, ArrayD, ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Dimension, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn,
    ShapeBuilder,
};

use crate::dims::{Shape, Strides};
use crate::element::Element;
use crate::error::Error;
use crate::layout::{Layout, Order};
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

/// The same memory, whatever its strides.
///
/// ```
/// use ndarray::{array, s};
/// use tensor_strided::TensorView;
///
/// let array = array![[1, 2, 3], [4, 5, 6]];
/// let view = TensorView::from(array.slice(s![.., ..;-2]));
/// assert_eq!(view.to_vec(), [3, 1, 6, 4]);
/// assert_eq!(view.strides(), [3, -2]);
/// ```
impl<'a, T: Element, D: Dimension> From<ArrayView<'a, T, D>> for TensorView<'a, T> {
    fn from(array: ArrayView<'a, T, D>) -> Self {
        Self::from_array(&array)
    }
}

/// The same memory.
///
/// # Errors
/// [`Error::Overlap`] if the strides do not prove that all coordinates are distinct elements.
/// They do for arrays that were sliced, permuted or reshaped from an array that owns its
/// elements.
impl<'a, T: Element, D: Dimension> TryFrom<ArrayViewMut<'a, T, D>> for TensorViewMut<'a, T> {
    type Error = Error;

    fn try_from(array: ArrayViewMut<'a, T, D>) -> Result<Self, Error> {
        Self::from_array(array)
    }
}

/// The same memory, moved, whatever its strides.
///
/// ```
/// use ndarray::{Array2, array};
/// use tensor_strided::Tensor;
///
/// let array: Array2<i32> = array![[1, 2], [3, 4]].reversed_axes();
/// let before = array.as_ptr();
/// let tensor = Tensor::from(array);
/// assert_eq!((tensor.to_vec(), tensor.strides().to_vec()), (vec![1, 3, 2, 4], vec![1, 2]));
/// assert!(std::ptr::eq(tensor.get([0, 0]).unwrap(), before));
/// ```
impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor<T> {
    fn from(array: Array<T, D>) -> Self {
        let (shape, strides) = (Shape::from(array.shape()), Strides::from(array.strides()));
        let (elements, offset) = array.into_raw_vec_and_offset();
        match Layout::new(shape, strides, offset.unwrap_or(0)).and_then(|layout| Self::from_parts(elements, layout)) {
            Ok(tensor) => tensor,
            Err(error) => unreachable!("an array that owns its elements has each of them once, in bounds: {error}"),
        }
    }
}

/// The same memory, whatever its strides.
impl<'a, T: Element> From<TensorView<'a, T>> for ArrayViewD<'a, T> {
    fn from(view: TensorView<'a, T>) -> Self {
        view.to_array()
    }
}

/// The same memory, whatever its strides.
impl<'a, T: Element> From<TensorViewMut<'a, T>> for ArrayViewMutD<'a, T> {
    fn from(view: TensorViewMut<'a, T>) -> Self {
        view.into_array()
    }
}

/// The same memory, moved, if nothing else shares it and its elements are contiguous in C or
/// Fortran order; else a copy.
impl<T: Element> From<Tensor<T>> for ArrayD<T> {
    fn from(tensor: Tensor<T>) -> Self {
        let (shape, order) = (IxDyn(tensor.shape()), tensor.layout().natural_order());
        let in_order = match order {
            Order::C => tensor,
            Order::F => {
                let layout = tensor.layout().transpose();
                tensor.with_layout(layout)
            }
        };
        match Self::from_shape_vec(shape.set_f(order == Order::F), in_order.into_vec()) {
            Ok(array) => array,
            Err(error) => unreachable!("there are as many elements as the shape says: {error}"),
        }
    }
}

macro_rules! of_known_rank {
    ($($rank:literal $Dim:ident;)*) => {$(
        #[doc = concat!("An array of ", stringify!($rank), " axes: the same memory where [`ArrayD`] would have it.")]
        ///
        /// # Errors
        /// [`Error::Rank`] for a tensor of another rank.
        impl<T: Element> TryFrom<Tensor<T>> for Array<T, $Dim> {
            type Error = Error;

            fn try_from(tensor: Tensor<T>) -> Result<Self, Error> {
                let found = tensor.rank();
                ArrayD::from(tensor).into_dimensionality().map_err(|_| wrong_rank($rank, found))
            }
        }

        #[doc = concat!("A view of ", stringify!($rank), " axes of the same memory.")]
        ///
        /// # Errors
        /// [`Error::Rank`] for a tensor of another rank.
        impl<'a, T: Element> TryFrom<TensorView<'a, T>> for ArrayView<'a, T, $Dim> {
            type Error = Error;

            fn try_from(view: TensorView<'a, T>) -> Result<Self, Error> {
                let found = view.rank();
                view.to_array().into_dimensionality().map_err(|_| wrong_rank($rank, found))
            }
        }
    )*};
}

of_known_rank! {
    1 Ix1;
    2 Ix2;
    3 Ix3;
    4 Ix4;
    5 Ix5;
    6 Ix6;
}

fn wrong_rank(expected: usize, found: usize) -> Error {
    Error::Rank { what: "the array", expected, found }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array3, Axis, s};
    use proptest::prelude::*;

    use super::*;

    fn counting(shape: [usize; 3]) -> Array3<i32> {
        let len = i32::try_from(shape.iter().product::<usize>()).unwrap();
        Array3::from_shape_vec(shape, (0..len).collect()).unwrap()
    }

    #[test]
    fn an_array_with_others_between_its_elements_is_written_alone() {
        let mut all = counting([2, 3, 4]);
        let (left, mut right) = all.view_mut().split_at(Axis(2), 2);
        let mut view = TensorViewMut::try_from(left.slice_move(s![..;-1, .., 1..])).unwrap();
        view.fill(-1);
        right.fill(-2);
        let mut back = ArrayViewMutD::from(view);
        back[[0, 0, 0]] = -3;
        assert_eq!(all.slice(s![.., .., 1]), ndarray::array![[-1, -1, -1], [-3, -1, -1]]);
        assert_eq!(all.slice(s![1, 2, ..]), ndarray::array![20, -1, -2, -2]);
    }

    #[test]
    fn moved_memory_is_not_copied() {
        let array = counting([2, 3, 4]).permuted_axes([2, 0, 1]);
        let (before, wanted) = (array.as_ptr(), array.clone().into_dyn());
        let tensor = Tensor::from(array);
        assert!(std::ptr::eq(&raw const tensor[[0, 0, 0]], before));
        assert_eq!(ArrayViewD::from(tensor.view()), wanted);
        assert_eq!(ArrayD::from(tensor), wanted);
        for order in [Order::C, Order::F] {
            let tensor = Tensor::from_parts(vec![1, 2, 3, 4, 5, 6], Layout::ordered(&[2, 3], order).unwrap()).unwrap();
            let (before, wanted) = (&raw const tensor[[0, 0]], ArrayViewD::from(tensor.view()).to_owned());
            let array = ArrayD::from(tensor);
            assert_eq!((array.as_ptr(), array), (before, wanted));
        }
    }

    #[test]
    fn empty_tensors_are_supported() {
        let array = counting([2, 0, 4]);
        let view = TensorView::from(array.slice(s![..;-1, .., ..;-2]));
        assert_eq!((view.shape().to_vec(), view.to_vec()), (vec![2, 0, 2], vec![]));
        assert_eq!(ArrayViewD::from(view).shape(), [2, 0, 2]);
        assert_eq!(ArrayD::from(Tensor::from(Array1::<f32>::zeros(0))).len(), 0);
    }

    proptest! {
        #[test]
        fn views_and_ndarray_see_the_same_elements(
            shape in prop::array::uniform3(1_usize..5),
            steps in prop::array::uniform3(prop::sample::select(vec![-3_isize, -2, -1, 1, 2, 3])),
            axes in Just([0_usize, 1, 2]).prop_shuffle(),
        ) {
            let array = counting(shape);
            let part = array.slice(s![..;steps[0], ..;steps[1], ..;steps[2]]).permuted_axes(axes);
            let view = TensorView::from(part);
            prop_assert!(view.iter().eq(part.iter()));
            prop_assert_eq!(view.to_vec(), part.iter().copied().collect::<Vec<_>>());
            let back = ArrayViewD::from(view);
            prop_assert_eq!(back.view(), part.into_dyn());
            prop_assert!(part.iter().zip(&back).all(|(a, b)| std::ptr::eq(a, b)));
            let owned = Tensor::from(array.clone().slice_move(s![..;steps[0], ..;steps[1], ..;steps[2]]).permuted_axes(axes));
            prop_assert!(owned.iter().eq(part.iter()));
        }
    }
}
