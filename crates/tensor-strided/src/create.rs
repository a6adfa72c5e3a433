//! New tensors: zeros, one value, numbers in steps, values of a function.

use crate::dims::Shape;
use crate::element::Element;
use crate::error::Error;
use crate::layout::check_size;
use crate::tensor::Tensor;

impl<T: Element> Tensor<T> {
    /// Every element the same, in C order.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "from_elem")]
    pub fn full(shape: impl AsRef<[usize]>, value: T) -> Result<Self, Error> {
        let shape = shape.as_ref();
        check_size(shape)?;
        Ok(Self::from_dense(shape, vec![value; shape.iter().product()]))
    }

    /// Every element the default one: 0 for numbers. C order.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "UArray_create")]
    pub fn zeros(shape: impl AsRef<[usize]>) -> Result<Self, Error>
    where
        T: Default,
    {
        Self::full(shape, T::default())
    }

    /// Every element 1. C order.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn ones(shape: impl AsRef<[usize]>) -> Result<Self, Error>
    where
        T: From<u8>,
    {
        Self::full(shape, T::from(1))
    }

    /// One element and no axes.
    #[must_use]
    pub fn scalar(value: T) -> Self {
        Self::from_dense(&[], vec![value])
    }

    /// A tensor of the values that `f` returns for each coordinate, called in C order.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let table = Tensor::from_fn([2, 3], |at| 10 * at[0] + at[1])?;
    /// assert_eq!(table.to_vec(), [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "from_shape_fn")]
    pub fn from_fn(shape: impl AsRef<[usize]>, mut f: impl FnMut(&[usize]) -> T) -> Result<Self, Error> {
        let shape = shape.as_ref();
        check_size(shape)?;
        let len = shape.iter().product();
        let mut at = Shape::filled(0, shape.len());
        let mut next = || {
            let value = f(&at);
            for axis in (0..shape.len()).rev() {
                at[axis] += 1;
                if at[axis] < shape[axis] {
                    break;
                }
                at[axis] = 0;
            }
            value
        };
        Ok(Self::from_dense(shape, (0..len).map(|_| next()).collect()))
    }

    /// Elements along one axis. The vector is moved.
    #[must_use]
    #[doc(alias = "from_iter")]
    pub fn from_elements(elements: Vec<T>) -> Self {
        let shape = [elements.len()];
        Self::from_dense(&shape, elements)
    }
}

/// No element along one axis: shape `[0]`.
impl<T: Element> Default for Tensor<T> {
    fn default() -> Self {
        Self::from_elements(Vec::new())
    }
}

/// Elements along one axis. The vector is moved.
///
/// ```
/// use tensor_strided::Tensor;
///
/// let x = Tensor::from(vec![1.0, 2.0, 3.0]);
/// assert_eq!((x.shape().to_vec(), x[1]), (vec![3], 2.0));
/// ```
impl<T: Element> From<Vec<T>> for Tensor<T> {
    fn from(elements: Vec<T>) -> Self {
        Self::from_elements(elements)
    }
}

/// Elements along one axis, copied.
impl<T: Element> From<&[T]> for Tensor<T> {
    fn from(elements: &[T]) -> Self {
        Self::from_elements(elements.to_vec())
    }
}

/// A tensor of two axes, `[[1, 2], [3, 4]]`. Deeper ones: [`Tensor::from_vec`].
impl<T: Element, const ROWS: usize, const COLS: usize> From<[[T; COLS]; ROWS]> for Tensor<T> {
    fn from(rows: [[T; COLS]; ROWS]) -> Self {
        Self::from_dense(&[ROWS, COLS], rows.concat())
    }
}

/// A tensor of two axes, from rows of equal length.
///
/// ```
/// use tensor_strided::Tensor;
///
/// assert_eq!(Tensor::try_from(vec![vec![1, 2], vec![3, 4]])?, Tensor::from([[1, 2], [3, 4]]));
/// let error = Tensor::try_from(vec![vec![1, 2], vec![3]]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "all rows must have the same length: row 1 has 1 elements, row 0 has 2"
/// );
/// # Ok::<(), tensor_strided::Error>(())
/// ```
///
/// # Errors
/// [`Error::Uneven`].
impl<T: Element> TryFrom<Vec<Vec<T>>> for Tensor<T> {
    type Error = Error;

    fn try_from(rows: Vec<Vec<T>>) -> Result<Self, Error> {
        let expected = rows.first().map_or(0, Vec::len);
        match rows.iter().map(Vec::len).enumerate().find(|&(_, found)| found != expected) {
            Some((row, found)) => Err(Error::Uneven { row, expected, found }),
            None => Ok(Self::from_dense(&[rows.len(), expected], rows.concat())),
        }
    }
}

/// Elements along one axis.
impl<T: Element> FromIterator<T> for Tensor<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::from_elements(elements.into_iter().collect())
    }
}

/// Numbers that [`Tensor::arange`] counts with.
pub trait Arange: Element {
    /// From `start` towards `stop`, which is not reached, in steps of `step`.
    ///
    /// # Errors
    /// [`Error::Sequence`].
    fn arange(start: Self, stop: Self, step: Self) -> Result<Vec<Self>, Error>;
}

impl<T: Arange> Tensor<T> {
    /// Numbers from `start` towards `stop`, which is not reached, in steps of `step`; none if
    /// `step` leads elsewhere.
    ///
    /// As in NumPy: a range of floats has ceil((stop - start) / step) numbers, rounded as `f64`,
    /// and number i is `start + i * delta`, where `delta` is the rounded `start + step` less
    /// `start`. So rounding can make the last one equal to `stop` or larger.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// assert_eq!(Tensor::arange(7_i64, 0, -3)?.to_vec(), [7, 4, 1]);
    /// assert_eq!(Tensor::arange(0.0, 0.4, 0.1)?.shape(), [4]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Sequence`] for a step of 0, NaN or infinity, and for more numbers than can be
    /// counted.
    #[doc(alias = "range")]
    #[doc(alias = "UA_arange")]
    pub fn arange(start: T, stop: T, step: T) -> Result<Self, Error> {
        Ok(Self::from_elements(T::arange(start, stop, step)?))
    }
}

fn no_sequence<T: ToString>(start: T, stop: T, step: T) -> Error {
    Error::Sequence { start: start.to_string(), stop: stop.to_string(), step: step.to_string() }
}

impl Arange for i64 {
    fn arange(start: Self, stop: Self, step: Self) -> Result<Vec<Self>, Error> {
        let refuse = || no_sequence(start, stop, step);
        // Exact in 128 bits for any ends.
        let distance = i128::from(stop) - i128::from(start);
        let len = match step {
            0 => return Err(refuse()),
            _ if distance.signum() != i128::from(step).signum() => 0,
            _ => quotient_ceil(distance.unsigned_abs(), step.unsigned_abs().into()),
        };
        let len = usize::try_from(len).ok().filter(|&len| isize::try_from(len).is_ok()).ok_or_else(refuse)?;
        Ok(std::iter::successors(Some(start), |x| Some(x.wrapping_add(step))).take(len).collect())
    }
}

/// ceil(`a / b`) of the quotient rounded to `f64`, as in NumPy: if the quotient exceeds a whole
/// number by less than an `f64` can represent, the result is that number.
fn quotient_ceil(a: u128, b: u128) -> u128 {
    let (whole, rest) = (a / b, a % b);
    // Half the distance to the next `f64` is 2^(exponent - 53).
    match whole.checked_ilog2() {
        Some(exponent) if exponent < 53 && rest << (53 - exponent) <= b => whole,
        _ => whole + u128::from(rest > 0),
    }
}

impl Arange for f64 {
    fn arange(start: Self, stop: Self, step: Self) -> Result<Vec<Self>, Error> {
        let distance = stop - start;
        let quotient = distance / step;
        let len = match quotient {
            // An endless step, or one so long that the quotient vanishes: only the first number,
            // if the step points towards `stop`.
            0.0 if distance != 0.0 => usize::from(quotient.is_sign_positive()),
            _ => match float_to_len(quotient.ceil()) {
                Some(len) if step != 0.0 => len,
                _ => return Err(no_sequence(start, stop, step)),
            },
        };
        let second = start + step;
        let delta = second - start;
        // No memory holds 2^53 numbers, so each position is an `f64`.
        Ok((0..len).map(|i| if i == 1 { second } else { start + i as f64 * delta }).collect())
    }
}

/// A length that was computed as a float: 0 if negative, `None` for NaN and for lengths too large
/// for any memory.
fn float_to_len(len: f64) -> Option<usize> {
    const TOO_LONG: f64 = 9_007_199_254_740_992.0;
    // Rounded down to a whole number and never below 0 by the language.
    (len < TOO_LONG).then_some(len as usize)
}
