//! Counts, sums and sums of squares, and their means and standard deviations.

use super::{Function, Layer, Times, Values};

/// Writes the number of rows, their sum and, with room for it, the sum of their squares.
pub(crate) fn extract<'a>(rows: impl Iterator<Item = &'a [f32]>, variance: bool, y: &mut [f32]) {
    y.fill(0.0);
    let mut count = 0.0;
    let (first, sums) = y.split_at_mut(1);
    for row in rows {
        count += 1.0;
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        if variance {
            sums[row.len()..].iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
        }
    }
    first[0] = count;
}

/// Means, and perhaps logarithms of the count and standard deviations.
#[derive(Clone, Debug)]
pub(crate) struct Pooling {
    log_counts: usize,
    /// `true` if the second half of the sums are squares.
    stddevs: bool,
    floor: f32,
}

impl Pooling {
    /// Pools rows of counts and sums.
    pub(crate) fn apply<'a>(&self, rows: impl Iterator<Item = &'a [f32]>, y: &mut [f32]) {
        y.fill(0.0);
        let (logs, means) = y.split_at_mut(self.log_counts);
        let mut count = 0.0;
        for row in rows {
            count += row[0];
            means.iter_mut().zip(&row[1..]).for_each(|(sum, x)| *sum += x);
        }
        means.iter_mut().for_each(|mean| *mean /= count);
        logs.fill(count.ln());
        if self.stddevs {
            let (means, squares) = means.split_at_mut(means.len() / 2);
            for (square, mean) in squares.iter_mut().zip(&*means) {
                *square = (*square - mean * mean).max(self.floor).sqrt();
            }
        }
    }
}

impl Values<'_> {
    pub(super) fn extraction(&self) -> Result<Layer, String> {
        let inputs = self.size("InputDim", 1)?;
        let (step, period) = (self.frames("InputPeriod", 1)?, self.frames("OutputPeriod", 1)?);
        if period % step != 0 {
            return Err(format!("an output period of {period} frames is no multiple of {step}"));
        }
        let variance = self.bool("IncludeVarinance")?;
        let outputs = 1 + inputs * if variance { 2 } else { 1 };
        Ok(Layer::new(Function::Extraction { variance }, inputs, outputs).at(Times::Block { period, step }))
    }

    pub(super) fn pooling(&self) -> Result<Layer, String> {
        let inputs = self.size("InputDim", 2)?;
        let step = self.frames("InputPeriod", 1)?;
        let (left, right) = (self.frames("LeftContext", 0)?, self.frames("RightContext", 0)?);
        if left % step != 0 || right % step != 0 {
            return Err(format!("contexts of {left} and {right} frames are no multiples of {step}"));
        }
        let (log_counts, stddevs) = (self.size("NumLogCountFeatures", 0)?, self.bool("OutputStddevs")?);
        if stddevs && !(inputs - 1).is_multiple_of(2) {
            return Err(format!("{inputs} columns are no count, sums and squares"));
        }
        let pooling = Pooling { log_counts, stddevs, floor: self.real("VarianceFloor")? };
        let outputs = inputs - 1 + log_counts;
        Ok(Layer::new(Function::Pooling(pooling), inputs, outputs).at(Times::Window { left, right, step }))
    }
}
