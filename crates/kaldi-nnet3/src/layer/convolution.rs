//! Convolutions and pooling over columns that form an image.

use super::{Function, Layer, Times, Values};
use crate::config_line::MAX_DIM;
use crate::descriptor::MAX_OFFSET;
use crate::fields::Value;
use crate::product::Product;

/// Largest of some columns of a row.
#[derive(Clone, Debug)]
pub(crate) struct MaxPool {
    /// For each place in a pool, the column of each pool.
    columns: Vec<usize>,
}

/// The value below all others in Kaldi.
const LOWEST: f32 = -1e20;

impl MaxPool {
    pub(super) fn size(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn row(&self, x: &[f32], y: &mut [f32]) {
        y.fill(LOWEST);
        for columns in self.columns.chunks_exact(y.len()) {
            y.iter_mut().zip(columns).for_each(|(y, &column)| *y = y.max(x[column]));
        }
    }
}

/// A convolution inside of a row.
#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    filters: Product,
    /// The columns of each patch.
    columns: Vec<usize>,
}

impl Convolution {
    pub(super) fn size(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn products(&self) -> usize {
        self.columns.len() * self.filters.outputs()
    }

    pub(super) fn apply_rows(&self, x: &[&[f32]], y: &mut [&mut [f32]]) {
        for (x, y) in x.iter().zip(y) {
            let patches: Vec<f32> = self.columns.iter().map(|&column| x[column]).collect();
            self.filters.apply_rows(&patches, y);
        }
    }
}

/// A convolution over frames and height. The filters of a height lie side by side.
#[derive(Clone, Debug)]
pub(crate) struct TimeHeight {
    filters: Product,
    filters_in: usize,
    height_in: usize,
    height_out: usize,
    subsample: usize,
    /// For each part of a patch: the number of its frame's row, and its height.
    offsets: Vec<(usize, i32)>,
    zeros: Vec<f32>,
}

impl TimeHeight {
    pub(super) fn products(&self) -> usize {
        self.height_out * self.filters.inputs() * self.filters.outputs()
    }

    /// Number of rows that a row of the result needs.
    fn slots(&self) -> usize {
        self.offsets.iter().map(|&(slot, _)| slot + 1).max().unwrap_or(0)
    }

    /// Computes rows; `x` has the rows of each frame for each of them.
    pub(crate) fn apply(&self, x: &[&[f32]], y: &mut [&mut [f32]]) {
        let slots = self.slots();
        let mut segments = Vec::with_capacity(y.len() * self.height_out * self.offsets.len());
        for x in x.chunks_exact(slots) {
            for height in 0..self.height_out {
                for &(slot, offset) in &self.offsets {
                    let height = i64::try_from(height * self.subsample).unwrap_or(i64::MAX) + i64::from(offset);
                    let height = usize::try_from(height).ok().filter(|&height| height < self.height_in);
                    segments.push(
                        height
                            .map_or(&self.zeros[..], |height| &x[slot][height * self.filters_in..][..self.filters_in]),
                    );
                }
            }
        }
        let width = self.filters.outputs();
        let mut y: Vec<&mut [f32]> = y.iter_mut().flat_map(|row| row.chunks_exact_mut(width)).collect();
        self.filters.apply(&segments, &vec![self.filters_in; self.offsets.len()], &mut y);
    }
}

impl Values<'_> {
    /// Returns the number of windows of `size` that are `step` apart, and the three numbers.
    fn windows(&self, axis: char, input: &str, size: &str, step: &str) -> Result<[usize; 4], String> {
        let [input, size, step] =
            [self.size(&format!("{input}{axis}Dim"), 1)?, self.size(size, 1)?, self.size(step, 1)?];
        match input.checked_sub(size) {
            Some(more) => Ok([more / step + 1, input, size, step]),
            None => Err(format!("a window of {size} on {input} columns")),
        }
    }

    /// Returns the product of three sizes that an input row has.
    fn volume(sizes: [usize; 3]) -> Result<usize, String> {
        let volume = sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
        volume.filter(|&volume| volume <= MAX_DIM).ok_or_else(|| format!("an image of {sizes:?} columns"))
    }

    pub(super) fn max_pool(&self) -> Result<Layer, String> {
        let axis = |axis| self.windows(axis, "Input", &format!("Pool{axis}Size"), &format!("Pool{axis}Step"));
        let [x, y, z] = [axis('X')?, axis('Y')?, axis('Z')?];
        let inputs = Self::volume([x[1], y[1], z[1]])?;
        let outputs = Self::volume([x[0], y[0], z[0]])?;
        if outputs.saturating_mul(x[2] * y[2]).saturating_mul(z[2]) > MAX_DIM {
            return Err(format!("{outputs} pools of {} x {} x {} columns", x[2], y[2], z[2]));
        }
        let mut columns = Vec::new();
        for (px, py, pz) in places([x[2], y[2], z[2]]) {
            for (ox, oy, oz) in places([x[0], y[0], z[0]]) {
                let row = (ox * x[3] + px) * y[1] + oy * y[3] + py;
                columns.push(row * z[1] + oz * z[3] + pz);
            }
        }
        Ok(Layer::new(Function::MaxPool(MaxPool { columns }), inputs, outputs))
    }

    pub(super) fn convolution(&self) -> Result<Layer, String> {
        let [nx, in_x, size_x, step_x] = self.windows('X', "Input", "FiltXDim", "FiltXStep")?;
        let [ny, in_y, size_y, step_y] = self.windows('Y', "Input", "FiltYDim", "FiltYStep")?;
        let in_z = self.size("InputZDim", 1)?;
        let filters = self.product("FilterParams", "BiasParams")?;
        let inputs = Self::volume([in_x, in_y, in_z])?;
        let patch = Self::volume([size_x, size_y, in_z])?;
        if filters.inputs() != patch || nx.saturating_mul(ny).saturating_mul(patch) > MAX_DIM {
            return Err(format!("filters of {} columns for patches of {patch}", filters.inputs()));
        }
        // 0: the second index varies fastest; 1: the third.
        let z_is_fastest = match self.size("InputVectorization", 0)? {
            0 => false,
            1 => true,
            other => return Err(format!("<InputVectorization> is {other}, expected 0 or 1")),
        };
        let mut columns = Vec::new();
        for (ox, oy, _) in places([nx, ny, 1]) {
            for (px, py, z) in places([size_x, size_y, in_z]) {
                let (x, y) = (ox * step_x + px, oy * step_y + py);
                columns.push(x * in_y * in_z + if z_is_fastest { y * in_z + z } else { z * in_y + y });
            }
        }
        let outputs = (nx * ny).saturating_mul(filters.outputs());
        Ok(Layer::new(Function::Convolution(Convolution { filters, columns }), inputs, outputs))
    }

    pub(super) fn time_height(&self) -> Result<Layer, String> {
        let [filters_in, filters_out, height_in, height_out, subsample] =
            ["NumFiltersIn", "NumFiltersOut", "HeightIn", "HeightOut", "HeightSubsampleOut"]
                .map(|name| self.size(name, 1));
        let (filters_in, height_in, height_out, subsample) = (filters_in?, height_in?, height_out?, subsample?);
        let filters = self.product("LinearParams", "BiasParams")?;
        let Some(Value::Pairs(pairs)) = self.0.get("Offsets") else { return Err("<Offsets> is missing".into()) };
        let required = self.0.ints("RequiredTimeOffsets").ok_or("<RequiredTimeOffsets> is missing")?;
        let near = |&(t, h): &(i32, i32)| t.unsigned_abs().max(h.unsigned_abs()) <= MAX_OFFSET.unsigned_abs();
        if pairs.is_empty() || !pairs.iter().all(near) {
            return Err(format!("<Offsets> has {} pairs, or one that is too large", pairs.len()));
        }
        let taken = height_out.saturating_mul(filters.inputs());
        if filters.inputs() != filters_in * pairs.len() || filters.outputs() != filters_out? || taken > MAX_DIM {
            return Err(format!(
                "filters of {} x {} weights at {height_out} heights",
                filters.outputs(),
                filters.inputs()
            ));
        }
        let mut times: Vec<i32> = pairs.iter().map(|&(t, _)| t).collect();
        times.sort_unstable();
        times.dedup();
        let slot = |t: i32| times.iter().position(|&time| time == t).unwrap_or(0);
        let offsets = pairs.iter().map(|&(t, h)| (slot(t), h)).collect();
        let inputs = Self::volume([filters_in, height_in, 1])?;
        let outputs = Self::volume([filters.outputs(), height_out, 1])?;
        let slots = times.iter().map(|&t| (t, required.contains(&t))).collect();
        let zeros = vec![0.0; filters_in];
        let function = TimeHeight { filters, filters_in, height_in, height_out, subsample, offsets, zeros };
        Ok(Layer::new(Function::TimeHeight(function), inputs, outputs).at(Times::Offsets(slots)))
    }
}

/// All places of three axes, the last one fastest.
fn places([x, y, z]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..x).flat_map(move |i| (0..y).flat_map(move |j| (0..z).map(move |k| (i, j, k))))
}
