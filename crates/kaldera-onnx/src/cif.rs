//! Results of continuous integrate-and-fire (CIF) as rows of frames: Paraformer.

use crate::description::{Description, Element, shown};
use crate::error::Error;

/// Number of frames of the result for a row of the input: CIF has three frames for each row, and
/// the second half of each is blank, so that equal tokens in neighbouring frames stay apart.
pub(crate) const UPSAMPLING: usize = 2 * 3;

/// The smallest value of a peak, as in FunASR and sherpa-onnx: 1, but for rounding.
const PEAK: f32 = 1.0 - 1e-4;

/// Largest number of values of a result: 1 GiB, some 5 minutes of 8,400 tokens.
const MAX_VALUES: usize = 1 << 28;

/// Score of tokens other than the blank in a frame without a peak: a probability of 0.
const NEVER: f32 = -1e4;

/// A network that gives a row of scores for each token, and peaks that mark their frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cif {
    /// The position of the output `us_cif_peak` [N, 3 T].
    pub(crate) peaks: usize,
    blank: usize,
    /// The token that ends the utterance.
    end: usize,
}

impl Cif {
    /// Finds the output with the peaks of a network with a token for the end; `None` without one.
    pub(crate) fn find(description: &Description, blank: usize, end: Option<usize>) -> Result<Option<Self>, Error> {
        let Some(end) = end else { return Ok(None) };
        let found = description.outputs.iter().position(|output| {
            output.name.contains("cif_peak") && output.element.is_none_or(|element| element == Element::Float)
        });
        let missing = || Error::NoPeaks { outputs: shown(&description.outputs) };
        Ok(Some(Self { peaks: found.ok_or_else(missing)?, blank, end }))
    }

    /// Returns the rows of frames: a token's scores in the frame of its peak, and a blank in all
    /// others. The first token that is the end, and all after it, are left out.
    ///
    /// # Errors
    /// The reason, if the peaks are not three for each of `input_rows`, if a token has none, or if
    /// the result has more than [`MAX_VALUES`].
    pub(crate) fn frames(
        &self,
        (scores, columns): (&[f32], usize),
        peaks: &[f32],
        input_rows: usize,
    ) -> Result<Vec<f32>, String> {
        let Self { blank, end, .. } = *self;
        if peaks.len() != 3 * input_rows {
            return Err(format!("{} peaks for {input_rows} rows, and 3 for each are expected", peaks.len()));
        }
        let size = columns.checked_mul(UPSAMPLING * input_rows).filter(|&size| size <= MAX_VALUES);
        let size =
            size.ok_or_else(|| format!("{input_rows} rows of {columns} tokens are too long: cut the recording"))?;
        if blank.max(end) >= columns {
            return Err(format!("{columns} scores, and the blank is {blank} and the end {end}"));
        }
        let best = |row: &&[f32]| (0..columns).rev().max_by(|&a, &b| row[a].total_cmp(&row[b]));
        let mut tokens = scores.chunks_exact(columns).take_while(|row| best(row) != Some(end));
        let mut empty = vec![NEVER; columns];
        empty[blank] = 0.0;
        let mut rows = Vec::with_capacity(size);
        for &peak in peaks {
            let token = if peak > PEAK { tokens.next() } else { None };
            rows.extend_from_slice(token.unwrap_or(&empty));
            rows.extend_from_slice(&empty);
        }
        match tokens.count() {
            0 => Ok(rows),
            left => Err(format!("{left} tokens have no peak, so that their times are unknown")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stand_at_their_peaks() {
        let cif = Cif { peaks: 1, blank: 0, end: 2 };
        // Tokens 1, 1, the end, and one after it.
        let scores = [-2.0, -0.5, -3.0, -2.0, -0.25, -3.0, -3.0, -4.0, -0.1, -9.0, -0.1, -9.0];
        let rows = cif.frames((&scores, 3), &[0.0, 1.0, 0.99995, 0.5, 1.0, 0.0], 2).unwrap();
        let empty = [0.0, NEVER, NEVER];
        assert_eq!(rows.len(), 12 * 3);
        for (frame, row) in rows.chunks(3).enumerate() {
            match frame {
                2 => assert_eq!(row, &scores[..3]),
                4 => assert_eq!(row, &scores[3..6]),
                _ => assert_eq!(row, empty, "{frame}"),
            }
        }
        assert!(cif.frames((&scores, 3), &[1.0, 0.0, 0.0], 1).unwrap_err().contains("1 tokens have no peak"));
        assert!(cif.frames((&scores, 3), &[1.0; 4], 1).unwrap_err().contains("4 peaks for 1 rows"));
        assert!(cif.frames((&[], 3), &[], 0).unwrap().is_empty());
        assert!(cif.frames((&[], 1 << 20), &[0.0; 300], 100).unwrap_err().contains("too long"));
        assert!(Cif { end: 3, ..cif }.frames((&scores, 3), &[], 0).unwrap_err().contains("the end 3"));
    }
}
