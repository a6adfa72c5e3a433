//! Voice activity detection by the energy of frames.

use kaldi_matrix::{MatrixBase, Storage};

use crate::error::Error;
use crate::rows::queue::RowQueue;
use crate::rows::stream::{RowStream, check_row};
use crate::state::{StateReader, StateWriter};

/// Options of the decision between voiced and unvoiced frames. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct VadEnergyOptions {
    /// The log energy above which a frame counts as loud, before the addition of the next option.
    pub vad_energy_threshold: f32,
    /// The factor of the utterance's mean log energy, which is added to the threshold.
    pub vad_energy_mean_scale: f32,
    /// Number of frames on each side that the decision about a frame depends on.
    pub vad_frames_context: i32,
    /// The fraction of these frames that must be loud for the frame to be voiced.
    pub vad_proportion_threshold: f32,
}

impl VadEnergyOptions {
    /// Checks the values, and returns the context.
    fn check(&self) -> Result<usize, Error> {
        for (option, value) in
            [("vad_energy_threshold", self.vad_energy_threshold), ("vad_energy_mean_scale", self.vad_energy_mean_scale)]
        {
            if !value.is_finite() {
                return Err(Error::bad_option(option, value, "a finite number"));
            }
        }
        let proportion = self.vad_proportion_threshold;
        if !(proportion > 0.0 && proportion < 1.0) {
            return Err(Error::bad_option("vad_proportion_threshold", proportion, "between 0 and 1"));
        }
        let context = self.vad_frames_context;
        usize::try_from(context)
            .map_err(|_| Error::bad_option("vad_frames_context", context, "a number of frames, 0 or more"))
    }

    /// Returns the threshold for an utterance of these log energies.
    fn threshold(&self, sum: f64, frames: usize) -> f32 {
        let mut threshold = self.vad_energy_threshold;
        if self.vad_energy_mean_scale != 0.0 {
            threshold += self.vad_energy_mean_scale * sum as f32 / frames as f32;
        }
        threshold
    }

    /// Returns 1 if `loud` of `all` frames are enough, else 0.
    fn decide(&self, loud: usize, all: usize) -> f32 {
        if loud as f32 >= all as f32 * self.vad_proportion_threshold { 1.0 } else { 0.0 }
    }
}

/// Returns for each frame 1 if it is voiced, else 0. Column 0 of `features` is taken for the log
/// energy, as in Kaldi's MFCCs.
///
/// A frame is voiced if at least `vad_proportion_threshold` of the frames from `vad_frames_context`
/// before it to as many after it, as far as they exist, have a log energy above the threshold.
///
/// ```
/// use kaldi_feat::{VadEnergyOptions, compute_vad_energy};
/// use kaldi_matrix::Matrix;
///
/// let log_energies = Matrix::from_vec(4, 1, vec![2.0, 18.0, 17.0, 3.0])?;
/// assert_eq!(
///     compute_vad_energy(&VadEnergyOptions::default(), &log_energies)?,
///     [0.0, 1.0, 1.0, 0.0]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Names the first option that has a bad value.
#[doc(alias = "ComputeVadEnergy")]
pub fn compute_vad_energy(
    options: &VadEnergyOptions,
    features: &MatrixBase<impl Storage<Elem = f32>>,
) -> Result<Vec<f32>, Error> {
    let context = options.check()?;
    if features.is_empty() {
        return Ok(Vec::new());
    }
    let energies: Vec<f32> = features.rows().map(|row| row[0]).collect();
    Ok(decisions(options, context, &energies))
}

/// Returns the decisions for a whole utterance.
fn decisions(options: &VadEnergyOptions, context: usize, energies: &[f32]) -> Vec<f32> {
    let frames = energies.len();
    let threshold = options.threshold(energies.iter().map(|&x| f64::from(x)).sum(), frames);
    // loud_before[t] is the number of loud frames before frame t.
    let mut loud_before = Vec::with_capacity(frames + 1);
    loud_before.push(0);
    for (t, &energy) in energies.iter().enumerate() {
        loud_before.push(loud_before[t] + usize::from(energy > threshold));
    }
    (0..frames)
        .map(|t| {
            let (begin, end) = (t.saturating_sub(context), frames.min(t.saturating_add(context).saturating_add(1)));
            options.decide(loud_before[end] - loud_before[begin], end - begin)
        })
        .collect()
}

/// Runs [`compute_vad_energy`] over rows that arrive one by one: a row of one number for each of
/// them.
///
/// The threshold depends on the mean of the whole utterance unless `vad_energy_mean_scale` is 0.
/// With 0, decisions come before the end, as soon as a frame's neighbours are there, and memory is
/// bounded. Otherwise they all come with [`finish`](RowStream::finish), and until then a number for
/// each frame is kept.
#[derive(Debug, Clone)]
pub struct VadStream {
    options: VadEnergyOptions,
    context: usize,
    dim: usize,
    /// Log energies, from the first one that a later decision depends on.
    energies: RowQueue,
    emitted: u64,
    /// Number of loud frames among the frames in `counted`, which the last decision depended on.
    loud: u64,
    counted: [u64; 2],
}

impl VadStream {
    /// Creates a stream for rows of `dim` columns, of which the first is the log energy.
    ///
    /// # Errors
    /// Names the first option that has a bad value; [`Error::DimMismatch`] for rows without a
    /// column.
    pub fn new(options: VadEnergyOptions, dim: usize) -> Result<Self, Error> {
        let context = options.check()?;
        if dim == 0 {
            return Err(Error::DimMismatch { what: "a row", expected: 1, found: 0 });
        }
        let energies = RowQueue::new(1);
        Ok(Self { options, context, dim, energies, emitted: 0, loud: 0, counted: [0, 0] })
    }

    /// Decides about the next frame, from the frames that are there.
    fn emit(&mut self, out: &mut Vec<f32>) {
        let context = self.context as u64;
        let begin = self.emitted.saturating_sub(context);
        let end = self.energies.end().min(self.emitted.saturating_add(context).saturating_add(1));
        let threshold = self.options.vad_energy_threshold;
        let loud = |i| self.energies.get(i).is_some_and(|energy| energy[0] > threshold);
        let came = (self.counted[1]..end).filter(|&i| loud(i)).count() as u64;
        let went = (self.counted[0]..begin).filter(|&i| loud(i)).count() as u64;
        self.loud = self.loud + came - went;
        self.counted = [begin, end];
        out.push(self.options.decide(self.loud as usize, (end - begin) as usize));
        self.emitted += 1;
        self.energies.discard(begin);
    }
}

impl RowStream for VadStream {
    fn input_dim(&self) -> usize {
        self.dim
    }

    fn output_dim(&self) -> usize {
        1
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        check_row(row, self.dim)?;
        self.energies.push(&row[..1]);
        if self.options.vad_energy_mean_scale == 0.0
            && self.energies.end() > self.emitted.saturating_add(self.context as u64)
        {
            self.emit(out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<f32>) {
        if self.options.vad_energy_mean_scale == 0.0 {
            while self.emitted < self.energies.end() {
                self.emit(out);
            }
        } else {
            out.extend(decisions(&self.options, self.context, self.energies.values()));
        }
        (self.energies, self.emitted, self.loud, self.counted) = (RowQueue::new(1), 0, 0, [0, 0]);
    }

    fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(*b"vad     ", &format!("{:?} {}", self.options, self.dim));
        self.energies.save(&mut state);
        for number in [self.emitted, self.loud, self.counted[0], self.counted[1]] {
            state.u64(number);
        }
        state.finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, *b"vad     ", &format!("{:?} {}", self.options, self.dim))?;
        let energies = RowQueue::restore(1, &mut state)?;
        let (emitted, loud, counted) = (state.u64()?, state.u64()?, [state.u64()?, state.u64()?]);
        state.finish()?;
        let [begin, end] = counted;
        let in_order = [energies.first(), begin, end, energies.end()].is_sorted() && emitted <= energies.end();
        let count = (begin..end).filter(|&i| energies.get(i).is_some_and(|x| x[0] > self.options.vad_energy_threshold));
        if !in_order || begin > emitted || loud != count.count() as u64 {
            return Err(Error::BadState { reason: "its numbers contradict each other" });
        }
        (self.energies, self.emitted, self.loud, self.counted) = (energies, emitted, loud, counted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kaldi_matrix::Matrix;

    use super::*;

    fn vad(options: &VadEnergyOptions, energies: &[f32]) -> Result<Vec<f32>, Error> {
        compute_vad_energy(options, &Matrix::from_fn(energies.len(), 1, |t, _| energies[t]))
    }

    #[test]
    fn neighbours_decide_voicing() {
        let options = VadEnergyOptions { vad_energy_mean_scale: 0.0, vad_frames_context: 1, ..Default::default() };
        assert_eq!(vad(&options, &[9.0, 9.0, 0.0, 9.0, 0.0, 0.0]).unwrap(), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        let wide = VadEnergyOptions { vad_frames_context: i32::MAX, ..options };
        assert_eq!(vad(&wide, &[9.0, 9.0, 0.0]).unwrap(), [1.0; 3]);
    }

    #[test]
    fn empty_features_have_no_decisions() {
        assert_eq!(vad(&VadEnergyOptions::default(), &[]), Ok(vec![]));
    }

    #[test]
    fn invalid_options_are_named() {
        let base = VadEnergyOptions::default;
        for (name, options) in [
            ("vad_energy_threshold", VadEnergyOptions { vad_energy_threshold: f32::NAN, ..base() }),
            ("vad_energy_mean_scale", VadEnergyOptions { vad_energy_mean_scale: f32::INFINITY, ..base() }),
            ("vad_frames_context", VadEnergyOptions { vad_frames_context: -1, ..base() }),
            ("vad_proportion_threshold", VadEnergyOptions { vad_proportion_threshold: 1.0, ..base() }),
        ] {
            let Err(Error::BadOption { field, .. }) = vad(&options, &[1.0]) else { panic!("{name} was taken") };
            assert_eq!(field, name);
        }
    }
}
