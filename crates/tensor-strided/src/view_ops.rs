//! Other views of the same elements.

use std::ops::Range;

use crate::element::Element;
use crate::error::Error;
use crate::layout::{Layout, Order};
use crate::slice::IndexInteger;
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

/// The operations on layouts as methods of types that have a layout. Methods in the first group
/// name no element twice, so that writing is possible too.
macro_rules! view_methods {
    (
        picks { $($(#[$pick_doc:meta])* $pick:ident($($pick_arg:ident: $Pick:ty),*);)* }
        repeats { $($(#[$repeat_doc:meta])* $repeat:ident($($repeat_arg:ident: $Repeat:ty),*);)* }
    ) => {
        impl<T: Element> TensorView<'_, T> {
            $(
                $(#[$pick_doc])*
                #[inline]
                pub fn $pick(&self, $($pick_arg: $Pick),*) -> Result<Self, Error> {
                    Ok(self.with_layout(self.layout().$pick($($pick_arg),*)?))
                }
            )*
            $(
                $(#[$repeat_doc])*
                #[inline]
                pub fn $repeat(&self, $($repeat_arg: $Repeat),*) -> Result<Self, Error> {
                    Ok(self.with_layout(self.layout().$repeat($($repeat_arg),*)?))
                }
            )*
        }

        impl<T: Element> TensorViewMut<'_, T> {
            $(
                $(#[$pick_doc])*
                #[inline]
                pub fn $pick(self, $($pick_arg: $Pick),*) -> Result<Self, Error> {
                    let layout = self.layout().$pick($($pick_arg),*)?;
                    Ok(self.with_layout(layout))
                }
            )*
        }

        impl<T: Element> Tensor<T> {
            $(
                $(#[$pick_doc])*
                #[inline]
                pub fn $pick(&self, $($pick_arg: $Pick),*) -> Result<TensorView<'_, T>, Error> {
                    self.view().$pick($($pick_arg),*)
                }
            )*
            $(
                $(#[$repeat_doc])*
                #[inline]
                pub fn $repeat(&self, $($repeat_arg: $Repeat),*) -> Result<TensorView<'_, T>, Error> {
                    self.view().$repeat($($repeat_arg),*)
                }
            )*
        }
    };
}

view_methods! {
    picks {
        /// The axes in another order: axis `i` of the result is axis `axes[i]`. A view.
        ///
        /// # Errors
        /// The errors of [`Layout::permute`].
        #[doc(alias = "transpose")]
        #[doc(alias = "permuted_axes")]
        permute(axes: impl AsRef<[isize]>);
        /// Two axes exchanged. A view.
        ///
        /// # Errors
        /// [`Error::Axis`].
        swap_axes(a: isize, b: isize);
        /// One axis backwards. A view.
        ///
        /// # Errors
        /// [`Error::Axis`].
        #[doc(alias = "invert_axis")]
        flip(axis: isize);
        /// Without this axis, which must have length 1. A view.
        ///
        /// # Errors
        /// [`Error::Axis`], [`Error::NotOne`].
        squeeze_axis(axis: isize);
        /// With a new axis of length 1, which will be axis `axis`. A view.
        ///
        /// # Errors
        /// [`Error::Axis`].
        #[doc(alias = "expand_dims")]
        #[doc(alias = "unsqueeze")]
        #[doc(alias = "insert_axis")]
        expand(axis: isize);
        /// The diagonals of two axes, which disappear; the last axis goes along both at once. A
        /// view. See [`Layout::diagonal`].
        ///
        /// # Errors
        /// [`Error::Axis`], [`Error::RepeatedAxis`].
        #[doc(alias = "diag")]
        diagonal(offset: isize, a: isize, b: isize);
        /// The entries of a range of one axis. A view.
        ///
        /// # Errors
        /// [`Error::Axis`], [`Error::Range`].
        #[doc(alias = "slice_axis")]
        narrow(axis: isize, range: Range<usize>);
        /// One entry of an axis, which disappears. A view.
        ///
        /// # Errors
        /// [`Error::Axis`], [`Error::Index`].
        #[doc(alias = "select")]
        index_axis(axis: isize, index: usize);
    }
    repeats {
        /// As if repeated to this shape, by NumPy's rules. A view. See [`Layout::broadcast_to`].
        ///
        /// # Errors
        /// [`Error::Broadcast`], [`Error::TooLarge`].
        #[doc(alias = "broadcast")]
        broadcast_to(shape: impl AsRef<[usize]>);
        /// Windows of `size` entries along an axis, one every `hop`: the axis counts them, a new
        /// last axis their entries. A view. See [`Layout::windows`].
        ///
        /// ```
        /// use tensor_strided::Tensor;
        ///
        /// let samples = Tensor::arange(0_i64, 10, 1)?;
        /// let frames = samples.windows(0, 4, 3)?;
        /// assert_eq!(frames.to_string(), "[[0, 1, 2, 3],\n [3, 4, 5, 6],\n [6, 7, 8, 9]]");
        /// # Ok::<(), tensor_strided::Error>(())
        /// ```
        ///
        /// # Errors
        /// [`Error::Axis`], [`Error::Zero`], [`Error::TooLarge`].
        #[doc(alias = "sliding_window_view")]
        #[doc(alias = "unfold")]
        #[doc(alias = "frame")]
        windows(axis: isize, size: usize, hop: usize);
    }
}

impl<T: Element> TensorView<'_, T> {
    /// All axes in reverse order. A view.
    #[must_use]
    #[doc(alias = "t")]
    #[doc(alias = "reversed_axes")]
    pub fn transpose(&self) -> Self {
        self.with_layout(self.layout().transpose())
    }

    /// Without the axes of length 1. A view.
    #[must_use]
    pub fn squeeze(&self) -> Self {
        self.with_layout(self.layout().squeeze())
    }

    /// The same elements in another shape as a view, `None` if only a copy can have it. See
    /// [`Layout::reshape`].
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    pub fn reshape_view<L: IndexInteger>(&self, to: impl AsRef<[L]>, order: Order) -> Result<Option<Self>, Error> {
        Ok(self.layout().reshape(to, order)?.map(|layout| self.with_layout(layout)))
    }
}

impl<T: Element> TensorViewMut<'_, T> {
    /// All axes in reverse order. A view.
    #[must_use]
    #[doc(alias = "t")]
    #[doc(alias = "reversed_axes")]
    pub fn transpose(self) -> Self {
        let layout = self.layout().transpose();
        self.with_layout(layout)
    }

    /// Without the axes of length 1. A view.
    #[must_use]
    pub fn squeeze(self) -> Self {
        let layout = self.layout().squeeze();
        self.with_layout(layout)
    }

    /// The same elements in another shape as a view, `None` if only a copy can have it. See
    /// [`Layout::reshape`].
    ///
    /// # Errors
    /// The errors of [`Layout::reshape`].
    pub fn reshape_view<L: IndexInteger>(self, to: impl AsRef<[L]>, order: Order) -> Result<Option<Self>, Error> {
        Ok(self.layout().reshape(to, order)?.map(|layout| self.with_layout(layout)))
    }
}

impl<T: Element> Tensor<T> {
    /// All axes in reverse order. A view.
    #[must_use]
    #[doc(alias = "t")]
    #[doc(alias = "reversed_axes")]
    pub fn transpose(&self) -> TensorView<'_, T> {
        self.view().transpose()
    }

    /// Without the axes of length 1. A view.
    #[must_use]
    pub fn squeeze(&self) -> TensorView<'_, T> {
        self.view().squeeze()
    }

    /// With another layout, which names elements of this one, none of them twice.
    pub(crate) fn with_layout(self, layout: Layout) -> Self {
        let (buffer, _) = self.into_parts();
        match Self::from_parts(buffer, layout) {
            Ok(tensor) => tensor,
            Err(error) => unreachable!("view algebra gave a bad layout: {error}"),
        }
    }
}
