//! Features of pitch while the audio arrives.

use kaldera_base::random::Philox;

use crate::audio::samples::Samples;
use crate::error::Error;
use crate::pitch::frame_features::{Frame, Sums};
use crate::pitch::options::ProcessPitchOptions;
use crate::pitch::stream::OnlinePitch;
use crate::state::{StateReader, StateWriter};

/// Features of the pitch of audio that arrives in chunks.
/// [`PitchProcessor::online`](crate::PitchProcessor::online) makes it.
///
/// A frame's features come from the pitch as it is known at the time of the call, as in Kaldi: a
/// frame that was taken early may differ from the same frame taken again at the end. Frames are
/// ready when the `normalization-right-context` frames after them have a pitch, or the audio has
/// ended.
#[derive(Debug, Clone)]
pub struct OnlineProcessPitch {
    options: ProcessPitchOptions,
    noise: Philox,
    pitch: OnlinePitch,
    /// The frame that was last requested since audio arrived, and the sums around it.
    around: Option<(usize, Sums)>,
    row: Vec<f32>,
}

const TAG: [u8; 8] = *b"onlproc ";

impl OnlineProcessPitch {
    pub(super) fn new(options: ProcessPitchOptions, noise: Philox, pitch: OnlinePitch) -> Self {
        Self { options, noise, pitch, around: None, row: Vec::new() }
    }

    /// Returns the number of features in a frame.
    #[doc(alias = "Dim")]
    pub fn dim(&self) -> usize {
        self.options.dim()
    }

    /// Returns the pitch that the features are made of.
    pub fn pitch(&self) -> &OnlinePitch {
        &self.pitch
    }

    pub(super) fn into_pitch(self) -> OnlinePitch {
        self.pitch
    }

    /// Takes the next samples, on the scale of 16-bit integers.
    ///
    /// # Errors
    /// As [`OnlinePitch::accept`].
    pub fn accept<'a>(&mut self, samples: impl Into<Samples<'a>>) -> Result<(), Error> {
        // Existing frames may change.
        self.around = None;
        self.pitch.accept(samples)
    }

    /// Marks the end of the samples: the last frames become ready.
    pub fn finish(&mut self) {
        self.around = None;
        self.pitch.finish();
    }

    /// Returns the number of frames that are ready, from the stream's start.
    #[doc(alias = "NumFramesReady")]
    pub fn num_frames_ready(&self) -> usize {
        let frames = self.pitch.num_frames_ready();
        let delay = self.options.delay_frames();
        if frames == 0 {
            0
        } else if self.pitch.is_finished() {
            frames + delay
        } else {
            (frames + delay).saturating_sub(self.options.right_context())
        }
    }

    /// Returns the features of a frame as its pitch is now; `None` if it is not ready, or if frames
    /// that it needs were [discarded](Self::discard_frames).
    #[doc(alias = "GetFrame")]
    pub fn frame(&mut self, frame: usize) -> Option<&[f32]> {
        let frames = self.pitch.num_frames_ready();
        let t = frame.saturating_sub(self.options.delay_frames());
        if frame >= self.num_frames_ready() || t >= frames {
            return None;
        }
        let sums = self.sums_around(t, frames)?;
        let Self { options, noise, pitch, row, .. } = self;
        let source = |t: usize| source_frame(pitch, t);
        let context = if options.add_delta_pitch { options.delta_context() } else { 0 };
        // The first one shows if all needed frames are still there.
        source(t.saturating_sub(context))?;
        let this = source(t)?;
        row.clear();
        let log_pitch = |j: isize| {
            let found = pitch.frame(t.saturating_add_signed(j).min(frames - 1));
            found.map_or(f32::NAN, |found| found[1].ln())
        };
        options.push_features(noise, t, this, sums, log_pitch, row);
        Some(row)
    }

    /// Returns the sums over the frames around `t`, computed from the sums around the frame before
    /// it if these are known.
    fn sums_around(&mut self, t: usize, pitch_frames: usize) -> Option<Sums> {
        let (left, right) = (self.options.left_context(), self.options.right_context());
        let source = |t: usize| source_frame(&self.pitch, t);
        let mut sums = Sums::default();
        match self.around {
            Some((frame, sums)) if frame == t => return Some(sums),
            Some((frame, before)) if frame + 1 == t => {
                sums = before;
                if t > left {
                    sums.subtract(source(t - left - 1)?);
                }
                if t + right < pitch_frames {
                    sums.add(source(t + right)?);
                }
            }
            _ => {
                for f in t.saturating_sub(left)..pitch_frames.min(t + right + 1) {
                    sums.add(source(f)?);
                }
            }
        }
        self.around = Some((t, sums));
        Some(sums)
    }

    /// Allows the stream to forget frames before this one, so that memory does not grow with the
    /// stream.
    pub fn discard_frames(&mut self, before: usize) {
        let t = before.min(self.num_frames_ready()).saturating_sub(self.options.delay_frames());
        let back = (self.options.left_context() + 1).max(self.options.delta_context());
        self.pitch.discard_frames(t.saturating_sub(back));
    }

    /// Returns the state for continuing from here, in this process or another, bit for bit.
    pub fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(TAG, &self.fingerprint());
        state.u64(u64::from(self.around.is_some()));
        let (frame, sums) = self.around.unwrap_or_default();
        state.u64(frame as u64);
        state.f64(sums.pov);
        state.f64(sums.weighted);
        state.bytes(&self.pitch.save_state());
        state.finish()
    }

    /// Continues from the point where `state` was saved, by a stream with the same options and the
    /// same key.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is not such a state; the stream is then unchanged.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, TAG, &self.fingerprint())?;
        let known = state.bool()?;
        let around = (state.usize()?, Sums { pov: state.f64()?, weighted: state.f64()? });
        self.pitch.restore_state(state.bytes()?)?;
        self.around = known.then_some(around);
        Ok(())
    }

    /// Returns a text that differs for other options and other keys, as another key has other
    /// noise.
    fn fingerprint(&self) -> String {
        format!("{:?} {:?}", self.options, self.noise)
    }
}

fn source_frame(pitch: &OnlinePitch, t: usize) -> Option<Frame> {
    pitch.frame(t).map(|found| Frame::new(found[0], found[1]))
}
