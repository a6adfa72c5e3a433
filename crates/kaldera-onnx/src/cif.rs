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
    /// Tokens have peaks in their order. If there are fewer peaks than tokens, the last tokens are
    /// in the frames right after the last peak, or right before it where the recording ends: the
    /// order of words is right, and the times of these are not measured.
    ///
    /// # Errors
    /// The reason, if the peaks are not three for each of `input_rows`, if there are more tokens
    /// than frames, or if the result has more than [`MAX_VALUES`].
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
        let tokens: Vec<&[f32]> =
            scores.chunks_exact(columns).take_while(|row| best(row) != Some(end)).take(peaks.len() + 1).collect();
        if tokens.len() > peaks.len() {
            return Err(format!("more tokens than the {} frames of {input_rows} rows", peaks.len()));
        }
        let mut has_token: Vec<bool> = peaks.iter().map(|&peak| peak > PEAK).collect();
        let after = has_token.iter().rposition(|&has| has).map_or(0, |last| last + 1);
        let missing = tokens.len().saturating_sub(has_token.iter().filter(|&&has| has).count());
        let free = (after..peaks.len()).chain((0..after).rev()).filter(|&frame| !has_token[frame]);
        for frame in free.take(missing).collect::<Vec<_>>() {
            has_token[frame] = true;
        }
        let mut empty = vec![NEVER; columns];
        empty[blank] = 0.0;
        let (mut tokens, mut rows) = (tokens.into_iter(), Vec::with_capacity(size));
        for has_token in has_token {
            let token = if has_token { tokens.next() } else { None };
            rows.extend_from_slice(token.unwrap_or(&empty));
            rows.extend_from_slice(&empty);
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_without_a_peak_are_next_to_the_last_one() {
        let cif = Cif { peaks: 1, blank: 0, end: 4 };
        // Tokens 1, 2, 3.
        let scores = [1, 2, 3].map(|token| [0, 1, 2, 3, 4].map(|column| if column == token { 0.0 } else { -5.0 }));
        for (peaks, expected) in [
            ([0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0, 1, 2, 3, 0, 0]),
            ([1.0, 0.0, 0.0, 0.0, 1.0, 0.5], [1, 0, 0, 0, 2, 3]),
            ([0.0, 0.0, 1.0, 0.0, 0.0, 1.0], [0, 0, 1, 0, 2, 3]),
            ([0.0; 6], [1, 2, 3, 0, 0, 0]),
            ([1.0; 6], [1, 2, 3, 0, 0, 0]),
        ] {
            let rows = cif.frames((scores.as_flattened(), 5), &peaks, 2).unwrap();
            let best = |row: &[f32]| (0..5).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
            let found: Vec<usize> = rows.chunks(2 * 5).map(|row| best(&row[..5])).collect();
            assert_eq!(found, expected, "{peaks:?}");
            assert!(rows.chunks(2 * 5).all(|row| best(&row[5..]) == 0), "{peaks:?}");
        }
    }

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
        assert!(cif.frames((&scores, 3), &[1.0; 4], 1).unwrap_err().contains("4 peaks for 1 rows"));
        assert!(cif.frames((&[], 3), &[], 0).unwrap().is_empty());
        assert!(cif.frames((&scores, 3), &[], 0).unwrap_err().contains("more tokens than the 0 frames"));
        assert!(cif.frames((&[], 1 << 20), &[0.0; 300], 100).unwrap_err().contains("too long"));
        assert!(Cif { end: 3, ..cif }.frames((&scores, 3), &[], 0).unwrap_err().contains("the end 3"));
    }
}
