//! Pitch of audio that arrives in chunks.

use std::mem;
use std::sync::Arc;

use crate::audio::samples::Samples;
use crate::error::Error;
use crate::pitch::plan::Plan;
use crate::pitch::search::{Memory, Search};
use crate::pitch::signal::{Loudness, Signal};
use crate::state::{StateReader, StateWriter};

/// Finds the pitch of audio that arrives in chunks.
/// [`PitchExtractor::stream`](crate::PitchExtractor::stream) makes it.
///
/// Its frames are (NCCF, pitch in Hz), as in
/// [`PitchExtractor::compute`](crate::PitchExtractor::compute). A frame is ready as soon as its
/// audio is there, or with `max-frames-latency` when its pitch is final or it has waited for that
/// many frames. A frame that is not final may change when more audio arrives, and the first ones
/// once more when there are `recompute-frame` of them.
///
/// As the ballast of a frame comes from the loudness up to the end of its chunk, audio that is cut
/// in another way gives slightly different values. Kaldi defines it so; with `nccf-ballast-online`
/// it comes from the audio up to the frame's own end.
///
/// ```
/// use kaldi_feat::{PitchExtractionOptions, PitchExtractor};
///
/// let samples: Vec<i16> = (0..8000).map(|i| (8000.0 * (i as f32 * 0.05).sin()) as i16).collect();
/// let extractor = PitchExtractor::new(PitchExtractionOptions::default())?;
/// let mut stream = extractor.stream();
/// for chunk in samples.chunks(1600) {
///     stream.accept(chunk)?;
/// }
/// stream.finish();
/// assert_eq!(stream.num_frames_ready(), 48);
/// let hz = stream.frame(20).unwrap()[1];
/// assert!((hz - 127.3).abs() < 1.0);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "OnlinePitchFeature")]
pub struct OnlinePitch {
    plan: Arc<Plan>,
    signal: Signal,
    /// The loudness of the whole signal.
    loudness: Loudness,
    search: Search,
    finished: bool,
    latency: usize,
    memory: Memory,
}

impl Clone for OnlinePitch {
    fn clone(&self) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            signal: self.signal.clone(),
            search: self.search.clone(),
            memory: Memory::default(),
            ..*self
        }
    }
}

const TAG: [u8; 8] = *b"pitch   ";

impl OnlinePitch {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        Self {
            signal: Signal::new(&plan.resampler),
            loudness: Loudness::default(),
            search: Search::new(&plan),
            finished: false,
            latency: 0,
            memory: Memory::default(),
            plan,
        }
    }

    /// Returns `true` if this stream has this plan.
    pub(super) fn is_of(&self, plan: &Arc<Plan>) -> bool {
        Arc::ptr_eq(&self.plan, plan)
    }

    /// Goes back to before the first sample, in the memory that it has.
    pub(super) fn restart(&mut self) {
        let Self { plan, signal, loudness, search, finished, latency, memory: _ } = self;
        signal.restart(&plan.resampler);
        search.restart(plan);
        (*loudness, *finished, *latency) = (Loudness::default(), false, 0);
    }

    /// Returns the number of values in a frame: 2.
    #[doc(alias = "Dim")]
    pub fn dim(&self) -> usize {
        2
    }

    /// Takes the next samples, on the scale of 16-bit integers.
    ///
    /// # Errors
    /// [`Error::BadSample`] if a sample is not finite, and [`Error::AfterEnd`] after
    /// [`finish`](Self::finish). No samples are taken then.
    #[doc(alias = "AcceptWaveform")]
    pub fn accept<'a>(&mut self, samples: impl Into<Samples<'a>>) -> Result<(), Error> {
        let samples = samples.into();
        if self.finished {
            return Err(Error::AfterEnd);
        }
        samples.check_finite()?;
        self.extract(Some(samples));
        Ok(())
    }

    /// Marks the end of the samples: the last frames become ready. Calling it again does nothing.
    #[doc(alias = "InputFinished")]
    pub fn finish(&mut self) {
        if mem::replace(&mut self.finished, true) {
            return;
        }
        self.extract(None);
        if self.plan.recomputes() && self.search.num_frames < self.plan.recompute_frame {
            self.search.recompute(&self.plan, &mut self.memory, self.loudness);
        }
        self.latency = 0;
    }

    /// Returns the number of frames that are ready, from the stream's start.
    #[doc(alias = "NumFramesReady")]
    pub fn num_frames_ready(&self) -> usize {
        self.search.num_frames - self.latency
    }

    /// Returns `true` if the audio has ended, so that no other frame will become ready.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns NCCF and pitch in Hz of a frame; `None` if it is not ready or was
    /// [discarded](Self::discard_frames).
    #[doc(alias = "GetFrame")]
    pub fn frame(&self, frame: usize) -> Option<&[f32]> {
        if frame < self.num_frames_ready() { self.search.found(frame).map(|found| &found[..]) } else { None }
    }

    /// Forgets the results of the frames before this one, as far as they are ready, so that memory
    /// does not grow with the stream.
    pub fn discard_frames(&mut self, before: usize) {
        self.search.discard(before.min(self.num_frames_ready()));
    }

    /// Returns the state for continuing from here, in this process or another, bit for bit.
    pub fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(TAG, &self.plan.fingerprint());
        self.signal.save(&mut state);
        self.loudness.save(&mut state);
        self.search.save(&mut state);
        state.u64(u64::from(self.finished));
        state.u64(self.latency as u64);
        state.finish()
    }

    /// Continues from the point where `state` was saved, by a stream with the same options.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is not such a state; the stream is then unchanged.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, TAG, &self.plan.fingerprint())?;
        let signal = Signal::restore(&self.plan.resampler, &mut state)?;
        let loudness = Loudness::restore(&mut state)?;
        let search = Search::restore(&self.plan, &mut state)?;
        let (finished, latency) = (state.bool()?, state.usize()?);
        state.finish()?;
        if latency > search.num_frames {
            return Err(Error::BadState { reason: "more frames wait in it than there are" });
        }
        *self = Self {
            signal,
            loudness,
            search,
            finished,
            latency,
            plan: Arc::clone(&self.plan),
            memory: Memory::default(),
        };
        Ok(())
    }

    /// Takes samples, or the end, and searches the frames that have enough signal.
    fn extract(&mut self, samples: Option<Samples<'_>>) {
        let Self { plan, signal, loudness, search, memory, .. } = self;
        let (before, known) = (*loudness, signal.len());
        signal.append(&plan.resampler, samples);
        loudness.add(signal.part(known, signal.len()));
        let end = plan.grid.num_frames(signal.len(), self.finished);
        if end > search.num_frames {
            let for_ballast = if plan.options.nccf_ballast_online { before } else { *loudness };
            search.advance(plan, memory, signal, for_ballast, known, end);
            signal.forget_before(&plan.grid, search.num_frames);
            self.latency = search.latency(plan);
        }
    }
}
