//! Other shapes of the same elements, by NumPy's rules: a view if possible, else a copy.

use crate::dims::Shape;
use crate::element::Element;
use crate::error::Error;
use crate::layout::{Layout, Order};
use crate::slice::IndexInteger;
use crate::tensor::Tensor;
use crate::view::TensorView;

/// A reshaped tensor: a view of the original memory, or a copy.
#[derive(Clone)]
pub enum TensorCow<'a, T> {
    /// The same memory.
    View(TensorView<'a, T>),
    /// A tensor with its own memory.
    Owned(Tensor<T>),
}

impl<'a, T: Element> TensorCow<'a, T> {
    /// Returns `true` if it is the same memory.
    pub fn is_view(&self) -> bool {
        matches!(self, Self::View(_))
    }

    /// The elements, wherever they are.
    pub fn view(&self) -> TensorView<'_, T> {
        match self {
            Self::View(view) => view.clone(),
            Self::Owned(tensor) => tensor.view(),
        }
    }

    /// The length of each axis.
    pub fn shape(&self) -> &Shape {
        self.layout().shape()
    }

    /// Layout of the elements.
    pub fn layout(&self) -> &Layout {
        match self {
            Self::View(view) => view.layout(),
            Self::Owned(tensor) => tensor.layout(),
        }
    }

    /// Returns an owned tensor: the copy itself, or a copy of the view.
    pub fn into_tensor(self) -> Tensor<T> {
        match self {
            Self::View(view) => view.to_contiguous(),
            Self::Owned(tensor) => tensor,
        }
    }
}

impl<'a, T: Element> TensorView<'a, T> {
    /// The same elements in another shape, in C order: a view if possible, else a copy. One
    /// length may be -1; it is computed from the number of elements.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let x = Tensor::arange(0_i64, 6, 1)?;
    /// let rows = x.reshape([2, -1])?;
    /// assert_eq!(
    ///     (rows.is_view(), rows.view().to_string()),
    ///     (true, "[[0, 1, 2],\n [3, 4, 5]]".into())
    /// );
    /// let columns = rows.view().transpose().reshape([6])?.into_tensor();
    /// assert_eq!(columns.to_vec(), [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    #[doc(alias = "view")]
    #[doc(alias = "to_shape")]
    pub fn reshape<L: IndexInteger>(&self, to: impl AsRef<[L]>) -> Result<TensorCow<'a, T>, Error> {
        self.reshape_order(to, Order::C)
    }

    /// [`reshape`](Self::reshape), with the elements read and filled in this order.
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    pub fn reshape_order<L: IndexInteger>(&self, to: impl AsRef<[L]>, order: Order) -> Result<TensorCow<'a, T>, Error> {
        let to = to.as_ref();
        match self.reshape_view(to, order)? {
            Some(view) => Ok(TensorCow::View(view)),
            None => Ok(TensorCow::Owned(self.copy_in_order(&self.layout().resolve_shape(to)?, order)?)),
        }
    }

    /// All elements along one axis, in C order: a view if they are contiguous in that order, else
    /// a copy.
    ///
    /// # Errors
    /// None in practice: the elements can always be counted.
    #[doc(alias = "flatten")]
    pub fn ravel(&self) -> Result<TensorCow<'a, T>, Error> {
        self.ravel_order(Order::C)
    }

    /// [`ravel`](Self::ravel), in this order.
    ///
    /// # Errors
    /// None in practice: the elements can always be counted.
    pub fn ravel_order(&self, order: Order) -> Result<TensorCow<'a, T>, Error> {
        let shape = [self.layout().len()];
        match self.layout().is_dense(order) {
            true => self.reshape_order(shape, order),
            false => Ok(TensorCow::Owned(self.copy_in_order(&shape, order)?)),
        }
    }

    /// A copy of all elements in this order, in a shape of as many elements.
    fn copy_in_order(&self, shape: &[usize], order: Order) -> Result<Tensor<T>, Error> {
        let elements = match order {
            Order::C => self.to_vec(),
            Order::F => self.transpose().to_vec(),
        };
        Tensor::from_parts(elements, Layout::ordered(shape, order)?)
    }
}

impl<T: Element> Tensor<T> {
    /// The same elements in another shape: a view where there is one, else a copy. See
    /// [`TensorView::reshape`].
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    pub fn reshape<L: IndexInteger>(&self, to: impl AsRef<[L]>) -> Result<TensorCow<'_, T>, Error> {
        self.view().reshape(to)
    }

    /// The same elements, read and filled in this order, in another shape. See
    /// [`TensorView::reshape_order`].
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    pub fn reshape_order<L: IndexInteger>(&self, to: impl AsRef<[L]>, order: Order) -> Result<TensorCow<'_, T>, Error> {
        self.view().reshape_order(to, order)
    }

    /// This tensor in another shape; it keeps its memory where that is possible. See
    /// [`TensorView::reshape`].
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    pub fn into_shape<L: IndexInteger>(self, to: impl AsRef<[L]>) -> Result<Self, Error> {
        self.into_shape_order(to, Order::C)
    }

    /// [`into_shape`](Self::into_shape), with the elements read and filled in this order.
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    pub fn into_shape_order<L: IndexInteger>(self, to: impl AsRef<[L]>, order: Order) -> Result<Self, Error> {
        let to = to.as_ref();
        match self.layout().reshape(to, order)? {
            Some(layout) => Ok(self.with_layout(layout)),
            None => Ok(self.reshape_order(to, order)?.into_tensor()),
        }
    }

    /// All elements along one axis, in C order. See [`TensorView::ravel`].
    ///
    /// # Errors
    /// None in practice: the elements can always be counted.
    #[doc(alias = "flatten")]
    pub fn ravel(&self) -> Result<TensorCow<'_, T>, Error> {
        self.view().ravel()
    }

    /// All elements along one axis, in this order.
    ///
    /// # Errors
    /// None in practice: the elements can always be counted.
    pub fn ravel_order(&self, order: Order) -> Result<TensorCow<'_, T>, Error> {
        self.view().ravel_order(order)
    }
}
