//! The types that index one element in the brackets of `x[..]`.

use crate::dims::Shape;

/// One number for each axis, by which an element is named: `x[3]`, `x[(1, 2)]`, `x[[1, 2]]`, or a
/// slice, a `Vec` or a [`Shape`].
///
/// ```
/// use tensor_strided::Tensor;
///
/// let x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
/// let at: Vec<usize> = vec![1, 2];
/// assert_eq!((x[(1, 2)], x[[1, 2]], x[&at]), (6, 6, 6));
/// assert_eq!(Tensor::from(vec![7, 8, 9])[2], 9);
/// ```
pub trait Coordinate {
    /// The numbers, as something that has them as a slice.
    type Numbers: AsRef<[usize]>;

    /// One number for each axis.
    fn into_numbers(self) -> Self::Numbers;
}

/// Of a tensor with one axis.
impl Coordinate for usize {
    type Numbers = [usize; 1];

    #[inline]
    fn into_numbers(self) -> [usize; 1] {
        [self]
    }
}

macro_rules! slices {
    ($([$($generics:tt)*] $Type:ty;)*) => {$(
        impl<$($generics)*> Coordinate for $Type {
            type Numbers = Self;

            #[inline]
            fn into_numbers(self) -> Self {
                self
            }
        }
    )*};
}

slices! {
    [const N: usize] [usize; N];
    [const N: usize] &[usize; N];
    [] &[usize];
    [] Vec<usize>;
    [] &Vec<usize>;
    [] Shape;
    [] &Shape;
}

macro_rules! tuples {
    ($($len:literal: $($number:ident $usize:ident),*;)*) => {$(
        impl Coordinate for ($($usize,)*) {
            type Numbers = [usize; $len];

            #[inline]
            fn into_numbers(self) -> [usize; $len] {
                let ($($number,)*) = self;
                [$($number),*]
            }
        }
    )*};
}

tuples! {
    2: a usize, b usize;
    3: a usize, b usize, c usize;
    4: a usize, b usize, c usize, d usize;
    5: a usize, b usize, c usize, d usize, e usize;
    6: a usize, b usize, c usize, d usize, e usize, f usize;
}
