//! Layers over several rows at a time: rows concatenated, and convolutions.

use std::ops::Range;

use lod::{Lod, LodTensor};
use recurrent::train::ParameterStore;

use super::product::Product;
use super::{Layer, LayerStream, one_sequence, refuse};
use crate::error::Error;

/// The input rows of a row of the result.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Number of input rows.
    taps: usize,
    /// Number of rows from one of them to the next.
    dilation: usize,
    /// Number of rows from the start of a window to the start of the next.
    stride: usize,
    /// Rows of zeros before and after an utterance that is not empty.
    padding: [usize; 2],
}

/// Largest number of rows that a window may span: it bounds the memory for padding.
const MAX_SPAN: usize = 1 << 16;

/// Largest width of concatenated rows.
const MAX_WIDTH: usize = 1 << 20;

/// Largest number of rows that may become one.
const MAX_STACKED: usize = 256;

impl Window {
    fn new(taps: usize, dilation: usize, stride: usize, padding: [usize; 2]) -> Result<Self, Error> {
        for (key, found) in [("dilation", dilation), ("stride", stride)] {
            if found == 0 || found > MAX_SPAN {
                return Err(refuse(key, found, "it must be from 1 to 2^16"));
            }
        }
        if taps == 0 || taps.checked_mul(dilation).is_none_or(|span| span > MAX_SPAN) {
            return Err(refuse("dilation", dilation, "a window must span from 1 to 2^16 rows"));
        }
        let window = Self { taps, dilation, stride, padding };
        match padding.into_iter().find(|&rows| rows >= window.span()) {
            None => Ok(window),
            Some(found) => Err(refuse("padding", found, "it must be less than the rows that a window spans")),
        }
    }

    /// Returns the number of rows from the first row of a window to its last, both included.
    fn span(&self) -> usize {
        (self.taps - 1) * self.dilation + 1
    }

    /// Returns the number of windows of `rows` rows, padding included.
    fn count(&self, rows: usize) -> usize {
        rows.checked_sub(self.span()).map_or(0, |more| more / self.stride + 1)
    }

    /// Returns the number of rows of the result for an utterance of `rows` rows.
    fn outputs(&self, rows: usize) -> usize {
        if rows == 0 { 0 } else { self.count(rows + self.padding[0] + self.padding[1]) }
    }

    /// Appends these columns of a window's rows. `first` is the number of its first row, counted
    /// with the `before` rows of zeros in front of `rows`.
    fn gather(
        &self,
        rows: &[f32],
        width: usize,
        first: usize,
        before: usize,
        columns: &Range<usize>,
        to: &mut Vec<f32>,
    ) {
        for tap in 0..self.taps {
            let row = (first + tap * self.dilation).checked_sub(before);
            match row.and_then(|row| rows.get(row * width..(row + 1) * width)) {
                Some(row) => to.extend_from_slice(&row[columns.clone()]),
                None => to.resize(to.len() + columns.len(), 0.0),
            }
        }
    }
}

/// Operation on the rows of a window.
#[derive(Debug)]
enum Combination {
    /// The rows are concatenated.
    Concatenated,
    /// The columns of each group are multiplied by the group's own matrix.
    Products(Vec<Product>),
}

/// A layer over windows.
#[derive(Debug)]
struct Windows {
    window: Window,
    inputs: usize,
    combination: Combination,
    num_outputs: usize,
}

/// Rows concatenated with the rows after them.
pub(super) fn stack(frames: usize, stride: usize, inputs: usize) -> Result<impl Layer, Error> {
    if frames == 0 || frames > MAX_STACKED {
        return Err(refuse("frames", frames, "it must be from 1 to 256"));
    }
    let window = Window::new(frames, 1, stride, [0, 0])?;
    let num_outputs = frames.checked_mul(inputs).filter(|&width| width <= MAX_WIDTH);
    let num_outputs = num_outputs.ok_or_else(|| refuse("frames", frames, "a row may become at most 2^20 values"))?;
    Ok(Windows { window, inputs, combination: Combination::Concatenated, num_outputs })
}

/// The options of a convolution.
pub(super) struct ConvShape {
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) groups: usize,
    pub(super) padding: [usize; 2],
}

/// Creates a convolution over time, as in `nn.Conv1d`.
pub(super) fn conv(
    name: &str,
    shape: &ConvShape,
    inputs: usize,
    weights: &ParameterStore<f32>,
) -> Result<impl Layer + use<>, Error> {
    let tensor = format!("{name}.weight");
    let (axes, values) = weights.get(&tensor)?;
    let &[outputs, group_inputs, taps] = axes else {
        return Err(Error::Axes { tensor, expected: 3, found: axes.to_vec() });
    };
    let groups = shape.groups;
    if groups == 0 || groups > inputs || !inputs.is_multiple_of(groups) || !outputs.is_multiple_of(groups) {
        return Err(refuse("groups", groups, "the columns of input and output must be divisible by it"));
    }
    if group_inputs.checked_mul(groups) != Some(inputs) {
        return Err(Error::Width { tensor, expected: inputs / groups, found: group_inputs });
    }
    let window = Window::new(taps, shape.dilation, shape.stride, shape.padding)?;
    let bias_name = format!("{name}.bias");
    let bias = match weights.contains(&bias_name) {
        true => weights.get_shaped(&bias_name, &[outputs])?.to_vec(),
        false => vec![0.0; outputs],
    };
    // A gathered window has its rows in order: [taps, columns of the group].
    let own = outputs / groups;
    let group = |group: usize| {
        let rows = group * own..(group + 1) * own;
        let mut matrix = Vec::with_capacity(own * taps * group_inputs);
        for row in rows.clone() {
            let row = &values[row * group_inputs * taps..][..group_inputs * taps];
            matrix.extend((0..taps).flat_map(|tap| (0..group_inputs).map(move |column| row[column * taps + tap])));
        }
        Product::new(matrix, bias[rows].to_vec(), taps * group_inputs)
    };
    let combination = Combination::Products((0..groups).map(group).collect());
    Ok(Windows { window, inputs, combination, num_outputs: outputs })
}

impl Windows {
    /// Computes the result of windows. `gather` appends the given columns of the rows of all
    /// windows.
    fn apply(&self, lod: Lod, gather: impl Fn(&Range<usize>, &mut Vec<f32>)) -> Result<LodTensor<f32>, Error> {
        let rows = lod.num_rows().unwrap_or(0);
        let gathered = |columns: Range<usize>| {
            let width = columns.len() * self.window.taps;
            let mut values = Vec::with_capacity(rows * width);
            gather(&columns, &mut values);
            LodTensor::from_vec([rows, width], values, lod.clone())
        };
        let groups = match &self.combination {
            Combination::Concatenated => return Ok(gathered(0..self.inputs)?),
            Combination::Products(groups) => groups,
        };
        if let [all] = &groups[..] {
            return all.apply(&gathered(0..self.inputs)?);
        }
        let mut y = vec![0.0; rows * self.num_outputs];
        let (inputs, outputs) = (self.inputs / groups.len(), self.num_outputs / groups.len());
        for (number, group) in groups.iter().enumerate() {
            let part = group.apply(&gathered(number * inputs..(number + 1) * inputs)?)?;
            for (to, from) in y.chunks_exact_mut(self.num_outputs.max(1)).zip(part.rows()) {
                to[number * outputs..][..outputs].copy_from_slice(from);
            }
        }
        Ok(LodTensor::from_vec([rows, self.num_outputs], y, lod)?)
    }
}

impl Layer for Windows {
    fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    fn subsampling(&self) -> usize {
        self.window.stride
    }

    fn num_rows(&self, rows: usize) -> usize {
        self.window.outputs(rows)
    }

    fn run(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        let lengths: Vec<usize> = x.lengths().into_iter().map(|rows| self.window.outputs(rows)).collect();
        self.apply(Lod::from_lengths(&[&lengths])?, |columns, to| {
            for (sequence, &count) in x.sequences().zip(&lengths) {
                for first in (0..count).map(|window| window * self.window.stride) {
                    self.window.gather(sequence, self.inputs, first, self.window.padding[0], columns, to);
                }
            }
        })
    }

    fn stream(&self) -> Result<Box<dyn LayerStream + '_>, Error> {
        Ok(Box::new(WindowsStream { layer: self, rows: vec![], skip: 0, begun: false }))
    }
}

/// The rows that the next windows need.
#[derive(Debug)]
struct WindowsStream<'l> {
    layer: &'l Windows,
    rows: Vec<f32>,
    /// Rows before the next window that have not come yet.
    skip: usize,
    begun: bool,
}

impl LayerStream for WindowsStream<'_> {
    fn accept(&mut self, x: &LodTensor<f32>, last: bool) -> Result<LodTensor<f32>, Error> {
        let (layer, window) = (self.layer, self.layer.window);
        let width = layer.inputs;
        let zeros = |rows: usize, to: &mut Vec<f32>| to.resize(to.len() + rows * width, 0.0);
        if x.num_rows() > 0 && !self.begun {
            self.begun = true;
            zeros(window.padding[0], &mut self.rows);
        }
        self.rows.extend_from_slice(x.values());
        if last && self.begun {
            zeros(window.padding[1], &mut self.rows);
        }
        let skipped = self.skip.min(self.rows.len() / width.max(1));
        self.rows.drain(..skipped * width);
        self.skip -= skipped;
        let rows = self.rows.len() / width.max(1);
        let count = if self.skip > 0 { 0 } else { window.count(rows) };
        if count == 0 {
            return one_sequence(0, layer.num_outputs, vec![]);
        }
        let y = layer.apply(Lod::from_lengths(&[[count]])?, |columns, to| {
            for first in (0..count).map(|number| number * window.stride) {
                window.gather(&self.rows, width, first, 0, columns, to);
            }
        })?;
        let used = count * window.stride;
        self.rows.drain(..used.min(rows) * width);
        self.skip = used.saturating_sub(rows);
        Ok(y)
    }
}
