//! Convolutions over the rows of each sequence.

use kaldera_base::gemm::{Operand, gemm};
use kaldera_base::{Real, memory};
use ragged_core::RowSplits;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::{add_to, check_gradient, sequences};
use crate::tensor::LodTensor;

/// Number of rows whose contexts are laid out at once.
const BLOCK: usize = 256;

/// The rows around a row that a convolution looks at: from `start` rows after it (before it, if
/// negative) on, `length` rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Context {
    /// From the row to the first one of its context.
    pub start: i32,
    /// The number of rows.
    pub length: u32,
}

impl Context {
    /// As many rows before the row as after it, as far as the length allows: Paddle's default.
    pub fn centred(length: u32) -> Self {
        Self { start: -i32::try_from(length / 2).unwrap_or(i32::MAX), length }
    }

    /// Rows of padding before the first row of a sequence and after its last.
    fn padding(self) -> (usize, usize) {
        let end = i64::from(self.start) + i64::from(self.length) - 1;
        (self.start.min(0).unsigned_abs() as usize, usize::try_from(end).unwrap_or(0))
    }
}

/// The tensors that the gradients of [`conv`] need, shared.
#[derive(Debug, Clone)]
pub struct ConvSaved<T: Real> {
    x: LodTensor<T>,
    filter: LodTensor<T>,
    padding: Option<LodTensor<T>>,
    context: Context,
}

/// The gradients of the inputs of [`conv`].
#[derive(Debug, Clone)]
pub struct ConvGradients<T: Real> {
    /// Gradient of the input.
    pub x: LodTensor<T>,
    /// Gradient of the filter.
    pub filter: LodTensor<T>,
    /// Gradient of the padding rows, if there are some.
    pub padding: Option<LodTensor<T>>,
}

/// The context of each row, its rows concatenated, times `filter`: `[context.length * D, M]` for
/// rows of `D` values.
///
/// Beyond its sequence, a context has zeros, or rows of `padding`, `[up + down, D]`, where up and
/// down are how many there can be before and after: p rows before the first is row up - p, and p
/// rows after the last is row up + p - 1.
///
/// ```
/// use lod::sequence::{Context, conv};
/// use lod::{Lod, LodTensor};
///
/// let x = LodTensor::from_vec([3, 1], vec![1.0, 2.0, 5.0], Lod::from_lengths(&[[2, 1]])?)?;
/// let differences = LodTensor::from_vec([2, 1], vec![-1.0, 1.0], Lod::none())?;
/// let (y, _) = conv(&x, &differences, Context { start: -1, length: 2 }, None)?;
/// assert_eq!(y.values(), [1.0, 1.0, 5.0]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::Size`] for a filter or a padding of
/// another size; [`Error::TooLarge`].
#[doc(alias = "sequence_conv")]
pub fn conv<T: Real>(
    x: &LodTensor<T>,
    filter: &LodTensor<T>,
    context: Context,
    padding: Option<&LodTensor<T>>,
) -> Result<(LodTensor<T>, ConvSaved<T>), Error> {
    let sequences = sequences(x)?;
    let (width, filters) = (x.width(), filter.width());
    let depth = (context.length as usize).checked_mul(width);
    let depth = depth.ok_or(Error::TooLarge { what: "the width of a context", size: u64::MAX })?;
    Error::check_size("the number of rows of the filter", depth, filter.num_rows())?;
    if let Some(padding) = padding {
        let (up, down) = context.padding();
        Error::check_size("the number of rows of the padding", up + down, padding.num_rows())?;
        Error::check_size("the width of the padding", width, padding.width())?;
    }
    let mut values = memory::zeros(x.num_rows() * filters);
    let mut lines = Lines::new(x, sequences, context, padding);
    let b = Operand { data: filter.values(), row_step: filters, col_step: 1 };
    for out in values.chunks_mut((BLOCK * filters).max(1)) {
        let rows = out.len() / filters;
        let a = Operand { data: lines.next(rows), row_step: depth, col_step: 1 };
        gemm(rows, filters, depth, T::ONE, a, b, T::ZERO, out, filters);
    }
    let y = LodTensor::from_vec([x.num_rows(), filters], values, x.lod().clone())?;
    Ok((y, ConvSaved { x: x.clone(), filter: filter.clone(), padding: padding.cloned(), context }))
}

/// The source of a row of a context.
#[derive(Clone, Copy)]
enum Source {
    Row(usize),
    Padding(usize),
    Zero,
}

/// The source of each row of the context of each row, in order.
fn sources(sequences: &RowSplits, context: Context, padded: bool) -> impl Iterator<Item = Source> {
    let (up, _) = context.padding();
    let source = move |rows: &std::ops::Range<usize>, at: i64| match usize::try_from(at - rows.start as i64) {
        Ok(inside) if inside < rows.len() => Source::Row(rows.start + inside),
        _ if !padded => Source::Zero,
        Ok(beyond) => Source::Padding(up + beyond - rows.len()),
        Err(_) => Source::Padding((up as i64 + at - rows.start as i64) as usize),
    };
    let offsets = (0..i64::from(context.length)).map(move |k| i64::from(context.start) + k);
    sequences.rows().flat_map(move |rows| {
        let offsets = offsets.clone();
        rows.clone().flat_map(move |row| {
            let rows = rows.clone();
            offsets.clone().map(move |offset| source(&rows, row as i64 + offset))
        })
    })
}

/// The contexts of some rows at a time, as the rows of a matrix.
struct Lines<'a, T: Real, I> {
    x: &'a LodTensor<T>,
    padding: Option<&'a LodTensor<T>>,
    sources: I,
    length: usize,
    buffer: Vec<T>,
}

impl<'a, T: Real> Lines<'a, T, ()> {
    fn new(
        x: &'a LodTensor<T>,
        sequences: &'a RowSplits,
        context: Context,
        padding: Option<&'a LodTensor<T>>,
    ) -> Lines<'a, T, impl Iterator<Item = Source>> {
        let sources = sources(sequences, context, padding.is_some());
        Lines { x, padding, sources, length: context.length as usize, buffer: Vec::new() }
    }
}

impl<T: Real, I: Iterator<Item = Source>> Lines<'_, T, I> {
    fn next(&mut self, rows: usize) -> &[T] {
        let width = self.x.width();
        self.buffer.clear();
        for source in self.sources.by_ref().take(rows * self.length) {
            match (source, self.padding) {
                (Source::Row(row), _) => self.buffer.extend_from_slice(self.x.row(row)),
                (Source::Padding(row), Some(padding)) => self.buffer.extend_from_slice(padding.row(row)),
                _ => self.buffer.resize(self.buffer.len() + width, T::ZERO),
            }
        }
        &self.buffer
    }
}

impl<T: Real> ConvSaved<T> {
    /// The gradients of input, filter and padding.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward(&self, out_grad: &LodTensor<T>) -> Result<ConvGradients<T>, Error> {
        let Self { x, filter, padding, context } = self;
        let sequences = sequences(x)?;
        let (width, filters, depth) = (x.width(), filter.width(), filter.num_rows());
        check_gradient(x.num_rows(), filters, out_grad)?;
        let mut x_grad = memory::zeros(x.values().len());
        let mut filter_grad = memory::zeros(filter.values().len());
        let mut padding_grad = padding.as_ref().map(|padding| vec![T::ZERO; padding.values().len()]);
        let mut lines = Lines::new(x, sequences, *context, padding.as_ref());
        let mut from = sources(sequences, *context, padding.is_some());
        let mut line_grads = vec![T::ZERO; BLOCK.min(x.num_rows()) * depth];
        let transposed_filter = Operand { data: filter.values(), row_step: 1, col_step: filters };
        for out_grad in out_grad.values().chunks((BLOCK * filters).max(1)) {
            let rows = out_grad.len() / filters;
            let grad = Operand { data: out_grad, row_step: filters, col_step: 1 };
            let transposed_lines = Operand { data: lines.next(rows), row_step: 1, col_step: depth };
            gemm(depth, filters, rows, T::ONE, transposed_lines, grad, T::ONE, &mut filter_grad, filters);
            gemm(rows, depth, filters, T::ONE, grad, transposed_filter, T::ZERO, &mut line_grads, depth);
            let pieces = line_grads.chunks_exact(width.max(1)).take(rows * context.length as usize);
            for (piece, source) in pieces.zip(&mut from) {
                match (source, &mut padding_grad) {
                    (Source::Row(row), _) => add_to(&mut x_grad[row * width..][..width], piece),
                    (Source::Padding(row), Some(grad)) => add_to(&mut grad[row * width..][..width], piece),
                    _ => {}
                }
            }
        }
        let padding = padding.as_ref().zip(padding_grad);
        Ok(ConvGradients {
            x: x.like(x.num_rows(), x_grad, x.lod().clone())?,
            filter: filter.like(depth, filter_grad, filter.lod().clone())?,
            padding: padding
                .map(|(padding, grad)| padding.like(padding.num_rows(), grad, padding.lod().clone()))
                .transpose()?,
        })
    }
}

/// The tensors that the gradients of [`row_conv`] need, shared.
#[derive(Debug, Clone)]
pub struct RowConvSaved<T: Real> {
    x: LodTensor<T>,
    filter: LodTensor<T>,
}

/// Row t of a sequence becomes Σ x\[t + k\] filter\[k\], element by element, over the rows of
/// `filter`, `[steps, D]`: a look ahead, with zeros beyond the end.
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::Size`] for a filter of another width.
pub fn row_conv<T: Real>(x: &LodTensor<T>, filter: &LodTensor<T>) -> Result<(LodTensor<T>, RowConvSaved<T>), Error> {
    let saved = RowConvSaved { x: x.clone(), filter: filter.clone() };
    Error::check_size("the width of the filter", x.width(), filter.width())?;
    let mut values = memory::zeros(x.values().len());
    let width = x.width();
    saved.each_pair(|row, from, k| {
        let out = values[row * width..][..width].iter_mut();
        out.zip(x.row(from).iter().zip(filter.row(k))).for_each(|(out, (&x, &weight))| *out += x * weight);
    })?;
    Ok((x.like(x.num_rows(), values, x.lod().clone())?, saved))
}

impl<T: Real> RowConvSaved<T> {
    /// Calls `f` with each row, a row that it looks at, and the number of the filter's row.
    fn each_pair(&self, mut f: impl FnMut(usize, usize, usize)) -> Result<(), Error> {
        for rows in sequences(&self.x)? {
            for row in rows.clone() {
                (row..rows.end).zip(0..self.filter.num_rows()).for_each(|(from, k)| f(row, from, k));
            }
        }
        Ok(())
    }

    /// The gradients of the input and of the filter; as Paddle's, without LoD.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward(&self, out_grad: &LodTensor<T>) -> Result<(LodTensor<T>, LodTensor<T>), Error> {
        let Self { x, filter } = self;
        let width = x.width();
        check_gradient(x.num_rows(), width, out_grad)?;
        let mut x_grad = memory::zeros(x.values().len());
        let mut filter_grad = vec![T::ZERO; filter.values().len()];
        self.each_pair(|row, from, k| {
            let g = out_grad.row(row);
            let x_grad = x_grad[from * width..][..width].iter_mut();
            x_grad.zip(g.iter().zip(filter.row(k))).for_each(|(grad, (&g, &weight))| *grad += g * weight);
            let filter_grad = filter_grad[k * width..][..width].iter_mut();
            filter_grad.zip(g.iter().zip(x.row(from))).for_each(|(grad, (&g, &x))| *grad += g * x);
        })?;
        Ok((x.like(x.num_rows(), x_grad, Lod::none())?, filter.like(filter.num_rows(), filter_grad, Lod::none())?))
    }
}
