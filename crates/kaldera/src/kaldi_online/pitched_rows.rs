//! Rows of features on the way to a network, with pitch appended.

use crate::error::Error;
use crate::pipeline::PitchStream;

/// The rows of a stream's features, which wait until a network takes them. The pitch is appended to
/// a row when it is taken.
///
/// ```text
/// samples ─┬─> features ─┬─────────────────> i-vectors
///          │             '─> rows wait ─.
///          '─> pitch ───────────────────┴─> take ─> online CMVN ─> network
/// ```
///
/// The pitch of a frame may change when more audio arrives. A row has the pitch that is known when
/// the network's chunk with this row is complete, as in Kaldi. It depends on the lengths in which
/// the audio arrives, and equal lengths give equal bits:
/// [`Recognizer`](crate::recognizer::Recognizer) passes audio on in steps of one length. Kaldi
/// reads a row again when it leaves the window of the normalisation, and for the statistics of a
/// speaker. Here, each row is taken once.
#[derive(Debug, Clone)]
#[doc(alias = "OnlineAppendFeature")]
pub struct PitchedRows {
    /// Number of columns without pitch.
    dim: usize,
    /// The rows without pitch that are not taken.
    waiting: Vec<f32>,
    num_taken: usize,
    pitch: Option<PitchStream>,
}

impl PitchedRows {
    /// Creates the rows of a stream. `dim` is their number of columns without pitch,
    /// at least 1.
    pub fn new(dim: usize, pitch: Option<PitchStream>) -> Self {
        Self { dim, waiting: Vec::new(), num_taken: 0, pitch }
    }

    /// Returns the number of columns, with pitch.
    #[doc(alias = "Dim")]
    pub fn dim(&self) -> usize {
        self.dim + self.pitch.as_ref().map_or(0, PitchStream::dim)
    }

    /// Takes samples, on the scale of 16-bit integers, and the rows of features that they complete.
    ///
    /// # Errors
    /// With pitch, [`Error::Feat`] for samples that are not finite, and after
    /// [`finish`](Self::finish).
    pub fn accept(&mut self, samples: &[f32], rows: &[f32]) -> Result<(), Error> {
        if let Some(pitch) = &mut self.pitch {
            pitch.accept(samples)?;
        }
        self.waiting.extend_from_slice(rows);
        Ok(())
    }

    /// Takes the last rows of features, after the last samples.
    ///
    /// # Errors
    /// With pitch, [`Error::Feat`] after `finish`.
    #[doc(alias = "InputFinished")]
    pub fn finish(&mut self, rows: &[f32]) -> Result<(), Error> {
        if let Some(pitch) = &mut self.pitch {
            pitch.finish()?;
        }
        self.waiting.extend_from_slice(rows);
        Ok(())
    }

    /// Returns the number of rows that can be taken: features and pitch are there.
    pub fn num_waiting(&self) -> usize {
        let rows = self.waiting.len() / self.dim;
        let with_pitch = |pitch: &PitchStream| pitch.num_frames_ready().saturating_sub(self.num_taken);
        self.pitch.as_ref().map_or(rows, |pitch| rows.min(with_pitch(pitch)))
    }

    /// Returns the number of rows that were taken or can be, from the stream's start.
    #[doc(alias = "NumFramesReady")]
    pub fn num_frames_ready(&self) -> usize {
        self.num_taken + self.num_waiting()
    }

    /// Appends the next `count` rows to `out`, or all that can be taken if there are fewer.
    #[doc(alias = "GetFrame")]
    pub fn take(&mut self, count: usize, out: &mut Vec<f32>) {
        let values = count.min(self.num_waiting()) * self.dim;
        for row in self.waiting[..values].chunks(self.dim) {
            out.extend_from_slice(row);
            if let Some(pitch) = &mut self.pitch {
                out.extend_from_slice(pitch.frame(self.num_taken).expect("it is ready, and was not discarded"));
            }
            self.num_taken += 1;
        }
        self.waiting.drain(..values);
        if let Some(pitch) = &mut self.pitch {
            pitch.discard_frames(self.num_taken);
        }
    }
}
