//! Means of the highest scores of two sequences' elements with each other.

use kaldera_base::Real;
use ragged_core::RowSplits;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::{check_gradient, sequences};
use crate::tensor::LodTensor;

/// The data that the gradient of [`topk_avg_pool`] needs.
#[derive(Debug, Clone)]
pub struct TopkSaved {
    topks: Vec<usize>,
    channels: usize,
    rows: RowSplits,
    columns: RowSplits,
    scores: RowSplits,
    positions: Vec<i32>,
    x_lod: Lod,
}

/// For each row, channel and k of `topks`, the sum of the k highest scores of the row, or of all if
/// it has fewer, divided by k.
///
/// Sequence i of `x` are the scores `[channels, rows, columns]` of sequence i of `row` with
/// sequence i of `column`. The result has the rows and the LoD of `row` and `channels *
/// topks.len()` columns. Of equal scores the first is taken first.
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::Size`] if the sequences do not fit each
/// other; [`Error::Nothing`] for no k or one of 0.
#[doc(alias = "sequence_topk_avg_pooling")]
pub fn topk_avg_pool<T: Real>(
    x: &LodTensor<T>,
    row: &Lod,
    column: &Lod,
    topks: &[usize],
    channels: usize,
) -> Result<(LodTensor<T>, TopkSaved), Error> {
    let level = |lod: &Lod| lod.last().cloned().ok_or(Error::NoLevel { level: 0, levels: 0 });
    let (scores, rows, columns) = (sequences(x)?.clone(), level(row)?, level(column)?);
    if topks.is_empty() || topks.contains(&0) {
        return Err(Error::Nothing { what: "score to take the mean of" });
    }
    Error::check_size("the number of scores in a row", 1, x.width())?;
    Error::check_size("the number of sequences of columns", rows.num_rows(), columns.num_rows())?;
    Error::check_size("the number of sequences of scores", rows.num_rows(), scores.num_rows())?;
    for i in 0..rows.num_rows() {
        let size = channels.saturating_mul(rows.len_of(i)).saturating_mul(columns.len_of(i));
        Error::check_size("the number of scores of a sequence", size, scores.len_of(i))?;
    }
    let max_k = topks.iter().copied().max().unwrap_or(0);
    let width = channels * topks.len();
    let mut out = vec![T::ZERO; rows.num_elements() * width];
    let mut positions = Vec::new();
    let mut order: Vec<usize> = Vec::new();
    for i in 0..rows.num_rows() {
        let (num_rows, num_columns) = (rows.len_of(i), columns.len_of(i));
        for r in 0..num_rows {
            for channel in 0..channels {
                let begin = scores.row(i).start + (channel * num_rows + r) * num_columns;
                let line = &x.values()[begin..begin + num_columns];
                order.clear();
                order.extend(0..num_columns);
                order.sort_by(|&a, &b| line[b].to_f64().total_cmp(&line[a].to_f64()));
                order.truncate(max_k);
                let best = order.iter().map(|&position| position as i32).chain(std::iter::repeat(-1));
                positions.extend(best.take(max_k));
                let to = (rows.row(i).start + r) * width + channel * topks.len();
                for (out, &k) in out[to..].iter_mut().zip(topks) {
                    let sum = order.iter().take(k).fold(T::ZERO, |sum, &position| sum + line[position]);
                    *out = sum / T::from_f64(k as f64);
                }
            }
        }
    }
    let y = LodTensor::from_vec([rows.num_elements(), width], out, row.clone())?;
    let topks = topks.to_vec();
    Ok((y, TopkSaved { topks, channels, rows, columns, scores, positions, x_lod: x.lod().clone() }))
}

impl TopkSaved {
    /// The columns with the highest scores for each sequence, row and channel, the highest first,
    /// -1 if there are fewer than the greatest k.
    #[doc(alias = "pos")]
    pub fn positions(&self) -> &[i32] {
        &self.positions
    }

    /// The gradient of the scores.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let Self { topks, channels, rows, columns, scores, positions, x_lod } = self;
        let width = channels * topks.len();
        check_gradient(rows.num_elements(), width, out_grad)?;
        let mut grad = vec![T::ZERO; scores.num_elements()];
        let max_k = topks.iter().copied().max().unwrap_or(1);
        let mut best = positions.chunks_exact(max_k);
        for i in 0..rows.num_rows() {
            let (num_rows, num_columns) = (rows.len_of(i), columns.len_of(i));
            for r in 0..num_rows {
                for (channel, best) in (0..*channels).zip(&mut best) {
                    let begin = scores.row(i).start + (channel * num_rows + r) * num_columns;
                    let from = (rows.row(i).start + r) * width + channel * topks.len();
                    for (&g, &k) in out_grad.values()[from..].iter().zip(topks) {
                        let share = g / T::from_f64(k as f64);
                        let taken = best.iter().take(k).filter_map(|&position| usize::try_from(position).ok());
                        taken.for_each(|position| grad[begin + position] += share);
                    }
                }
            }
        }
        LodTensor::from_vec([scores.num_elements(), 1], grad, x_lod.clone())
    }
}
