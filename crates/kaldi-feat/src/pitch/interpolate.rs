//! Smooths pitch that has gaps and jumps.

use kaldi_matrix::{MatrixBase, StorageMut};

use crate::error::Error;
use crate::pitch::c_random::CRandom;

/// Options of the smoothing of pitch. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct PitchInterpolatorOptions {
    /// Step between the pitches that a frame may get, Hz: above 0 and below 20.
    pub pitch_interval: f32,
    /// Smaller: closer to the measured pitch; larger: smoother. Between 0 and 1.
    pub interpolator_factor: f32,
    /// The factor of the probability of voicing, so that a measured pitch is never certain: from
    /// 0.5 to 1.
    pub max_voicing_prob: f32,
    /// The largest step from one frame to the next, Hz: more than two of `pitch_interval`.
    pub max_pitch_change_per_frame: f32,
}

impl PitchInterpolatorOptions {
    fn check(&self) -> Result<(), Error> {
        let bad = Error::bad_option;
        if !(self.pitch_interval > 0.0 && self.pitch_interval < 20.0) {
            return Err(bad("pitch_interval", self.pitch_interval, "above 0 and below 20"));
        }
        if !(self.interpolator_factor > 0.0 && self.interpolator_factor < 1.0) {
            return Err(bad("interpolator_factor", self.interpolator_factor, "above 0 and below 1"));
        }
        if !(0.5..=1.0).contains(&self.max_voicing_prob) {
            return Err(bad("max_voicing_prob", self.max_voicing_prob, "from 0.5 to 1"));
        }
        let change = self.max_pitch_change_per_frame;
        if !(change > 2.0 * self.pitch_interval && change.is_finite()) {
            return Err(bad("max_pitch_change_per_frame", change, "more than twice `pitch_interval`"));
        }
        Ok(())
    }
}

/// The largest number of frames times pitches: four bytes each.
const MAX_STATES: usize = 1 << 28;

/// Finds a smooth path through measured pitch: frames of (probability of voicing, pitch in Hz or 0
/// for none).
///
/// It is the best path through pitches that are `pitch_interval` apart, where a step of d Hz costs
/// d²/2 and a frame's own pitch gains by its probability of voicing. To favour no pitch, the grid
/// of each frame is moved by a random part of a step, and random numbers are added to its costs.
/// They equal Kaldi's to the bit, drawn as the C library's `rand` draws them in a program that has
/// just started. So an utterance depends on the utterances before it, as in Kaldi.
///
/// ```
/// use kaldi_feat::{PitchInterpolator, PitchInterpolatorOptions};
/// use kaldi_matrix::Matrix;
///
/// let mut interpolator = PitchInterpolator::new(PitchInterpolatorOptions::default())?;
/// // Ten frames at 120 Hz, ten without pitch, ten at 140 Hz.
/// let measured = |frame: usize| [120.0, 0.0, 140.0][frame / 10];
/// let mut pitch =
///     Matrix::from_fn(30, 2, |frame, column| if column == 0 { 0.9 } else { measured(frame) });
/// interpolator.interpolate(&mut pitch)?;
/// assert!((115.0..145.0).contains(&pitch[(15, 1)]));
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PitchInterpolator {
    options: PitchInterpolatorOptions,
    random: CRandom,
}

impl PitchInterpolator {
    /// Creates an interpolator with these options.
    ///
    /// # Errors
    /// Names the first field of the options that has a bad value.
    pub fn new(options: PitchInterpolatorOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self { options, random: CRandom::new(1) })
    }

    /// Replaces the pitch of all frames, column 1.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless there are 2 columns (or no rows), [`Error::BadPitch`] for a
    /// pitch that is infinite, below 0, not a number, or so far from the others that memory can't
    /// hold the pitches between them. The pitch is unchanged then.
    pub fn interpolate(&mut self, pitch: &mut MatrixBase<impl StorageMut<Elem = f32>>) -> Result<(), Error> {
        let frames: Vec<(f32, f32)> = check_columns(pitch)?;
        if frames.is_empty() {
            return Ok(());
        }
        let interval = self.options.pitch_interval;
        let (lowest, num_pitches) = self.range(&frames)?;
        let bottoms: Vec<f32> = frames.iter().map(|_| lowest - interval * self.random.uniform()).collect();
        // A frame without pitch gains nothing, whatever its place is.
        let place = |(&(_, hz), bottom): (&(f32, f32), &f32)| {
            let at = if hz == 0.0 { 0.0 } else { (f64::from((hz - bottom) / interval) + 0.5).floor() };
            (at as usize).min(num_pitches - 1)
        };
        let places: Vec<usize> = frames.iter().zip(&bottoms).map(place).collect();

        let reach = (f64::from(self.options.max_pitch_change_per_frame / interval) + 0.5).floor() as usize;
        let mut backs: Vec<u32> = Vec::with_capacity(frames.len() * num_pitches);
        let (mut before, mut scores) = (vec![0.0_f32; num_pitches], vec![0.0_f32; num_pitches]);
        for (t, &(voicing, hz)) in frames.iter().enumerate() {
            if t > 0 {
                std::mem::swap(&mut before, &mut scores);
                for (p, score) in scores.iter_mut().enumerate() {
                    let here = bottoms[t] + p as f32 * interval;
                    let (mut best, mut back) = (-1e10_f32, p);
                    let last = (p + reach).min(num_pitches - 1);
                    for (q, &from) in before.iter().enumerate().take(last + 1).skip(p.saturating_sub(reach)) {
                        let step = f64::from((bottoms[t - 1] + q as f32 * interval) - here);
                        let through = (f64::from(from) - 0.5 * step * step) as f32;
                        if through > best {
                            (best, back) = (through, q);
                        }
                    }
                    *score = best;
                    backs.push(back as u32);
                }
            }
            self.observe(voicing, hz, places[t], &mut scores);
        }

        let mut p = (1..num_pitches).fold(0, |best, p| if scores[best] < scores[p] { p } else { best });
        for t in (0..frames.len()).rev() {
            pitch.row_data_mut(t)[1] = bottoms[t] + interval * p as f32;
            if t > 0 {
                p = backs[(t - 1) * num_pitches + p] as usize;
            }
        }
        Ok(())
    }

    /// Returns the lowest pitch, and the number of pitches from it to the highest.
    fn range(&self, frames: &[(f32, f32)]) -> Result<(f32, usize), Error> {
        let interval = self.options.pitch_interval;
        let (mut lowest, mut highest) = (1e10_f32, 0.0_f32);
        for (frame, &(_, pitch)) in frames.iter().enumerate() {
            if !(0.0..1e10).contains(&pitch) {
                return Err(Error::BadPitch { frame, pitch });
            }
            if pitch != 0.0 {
                lowest = lowest.min(pitch);
                highest = highest.max(pitch);
            }
        }
        if highest == 0.0 {
            (lowest, highest) = (100.0, 100.0);
        }
        let wide_enough = lowest + 2.0 * interval;
        let top = highest.max(wide_enough);
        let num_pitches = (f64::from((top - lowest) / interval) + 0.5).floor() as usize + 2;
        if num_pitches.checked_mul(frames.len()).is_none_or(|states| states > MAX_STATES) {
            let frame = frames.iter().position(|&(_, pitch)| pitch == highest).unwrap_or(0);
            return Err(Error::BadPitch { frame, pitch: highest });
        }
        Ok((lowest, num_pitches))
    }

    /// Adds the logarithm of the probability of each pitch given the measurement.
    fn observe(&mut self, voicing: f32, hz: f32, place: usize, scores: &mut [f32]) {
        let voicing = if hz == 0.0 { 0.0 } else { voicing * self.options.max_voicing_prob };
        // Certain voicing would leave nothing for the others.
        let any = ((1.0 - f64::from(voicing)) * f64::from(self.options.interpolator_factor)) as f32;
        let any = any.max(f32::MIN_POSITIVE);
        let log_any = any.ln();
        // A negative voicing has no logarithm: such a frame's own pitch is then never chosen.
        let log_ratio = ((voicing + any) / any).ln();
        for score in &mut *scores {
            *score += log_any;
        }
        scores[place] += log_ratio;
        let noise = self.random.normals(scores.len());
        for (score, noise) in scores.iter_mut().zip(noise) {
            *score += 0.01 * noise;
        }
    }
}

/// Fills runs of frames without pitch (0 in column 1) with a straight line between the pitches at
/// their ends. At the beginning and the end of the utterance the line goes to 0.9 of the pitch at
/// the other end; without any pitch all get 1.
///
/// # Errors
/// [`Error::DimMismatch`] unless there are 2 columns, or no rows.
pub fn interpolate_pitch_linearly(pitch: &mut MatrixBase<impl StorageMut<Elem = f32>>) -> Result<(), Error> {
    let frames = check_columns(pitch)?;
    let mut i = 0;
    while i < frames.len() {
        if frames[i].1 == 0.0 {
            let end = frames[i..].iter().position(|&(_, hz)| hz != 0.0).map_or(frames.len(), |gap| i + gap);
            let after = frames.get(end).map(|&(_, hz)| hz);
            // Kaldi does not look at the very first frame.
            let before = i.checked_sub(1).filter(|&start| start > 0).map(|start| frames[start].1);
            let less = |hz: f32| (0.9 * f64::from(hz)) as f32;
            let (from, to) = match (before, after) {
                (None, None) => (1.0, 1.0),
                (Some(from), to) => (from, to.unwrap_or_else(|| less(from))),
                (None, Some(to)) => (less(to), to),
            };
            // From the frame before the gap, -1 at the beginning, to the frame after it.
            let steps = (end - i + 1) as f32;
            for k in i..end {
                pitch.row_data_mut(k)[1] = from + (to - from) / steps * (k - i + 1) as f32;
            }
            i = end;
        }
        i += 1;
    }
    Ok(())
}

fn check_columns(pitch: &MatrixBase<impl StorageMut<Elem = f32>>) -> Result<Vec<(f32, f32)>, Error> {
    if pitch.num_rows() > 0 && pitch.num_cols() != 2 {
        return Err(Error::DimMismatch { what: "the matrix of pitch", expected: 2, found: pitch.num_cols() });
    }
    Ok(pitch.rows().map(|row| (row[0], row[1])).collect())
}
