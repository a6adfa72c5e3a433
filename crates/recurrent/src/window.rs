//! Sequences cut in time: for streams, and for gradients through a limited number of steps.

use std::ops::Range;

use kaldera_base::Real;
use lod::{Lod, LodTensor};

use crate::error::Error;

/// Returns the steps `steps` of each sequence (of the last level). Sequences that end before have
/// fewer rows, or none.
///
/// A network that begins each window with the last state of the window before gives, to the last
/// bit, the outputs of one pass. So does the backward pass if the gradient by the last state of a
/// window is the gradient by the initial state of the window after it. Leaving that gradient out is
/// *truncated* back-propagation through time. The gradients by weights of all windows are added.
///
/// ```
/// use lod::LodTensor;
/// use recurrent::time_window;
///
/// let x = LodTensor::from_sequences(&[vec![1.0, 2.0, 3.0], vec![4.0], vec![5.0, 6.0]])?;
/// let window = time_window(&x, 1..3)?;
/// assert_eq!(
///     (window.values(), window.lod().offsets(0)),
///     (&[2.0, 3.0, 6.0][..], &[0, 2, 2, 3][..])
/// );
/// # Ok::<(), recurrent::Error>(())
/// ```
///
/// # Errors
/// [`Error::Lod`] without a level.
#[doc(alias = "tbptt")]
pub fn time_window<T: Real>(x: &LodTensor<T>, steps: Range<usize>) -> Result<LodTensor<T>, Error> {
    let last = x.lod().last().ok_or(lod::Error::NoLevel { level: 0, levels: 0 })?;
    let cut = |rows: Range<usize>| {
        let at = |step: usize| (rows.start.saturating_add(step)).min(rows.end);
        at(steps.start)..at(steps.end).max(at(steps.start))
    };
    let lengths: Vec<usize> = last.rows().map(|rows| cut(rows).len()).collect();
    let total = lengths.iter().sum::<usize>();
    let mut values = kaldera_base::memory::with_capacity(total * x.width());
    last.rows().for_each(|rows| values.extend_from_slice(x.values_of(cut(rows))));
    let level = Lod::from_lengths(&[lengths])?;
    let lod = match x.lod().num_levels() {
        1 => level,
        levels => {
            let mut offsets: Vec<Vec<i32>> = (0..levels - 1).map(|above| x.lod().offsets(above).to_vec()).collect();
            offsets.push(level.offsets(0).to_vec());
            Lod::from_offsets(&offsets)?
        }
    };
    Ok(x.like(total, values, lod)?)
}
