//! Features for a recogniser, from pitch and correlation.

use std::collections::VecDeque;

use kaldera_base::random::Philox;
use kaldi_matrix::{Matrix, MatrixBase, Storage};

use crate::audio::Audio;
use crate::error::Error;
use crate::pitch::extractor::{PitchExtractor, PitchWorkspace};
use crate::pitch::frame_features::{Frame, Sums};
use crate::pitch::online_process::OnlineProcessPitch;
use crate::pitch::options::ProcessPitchOptions;
use crate::pitch::stream::OnlinePitch;
use crate::rows::stream::RowStream;
use crate::state::{StateReader, StateWriter};

/// Makes features for a recogniser from the (NCCF, pitch) of frames.
///
/// They are, as far as the options ask for them, in this order:
///
/// | feature | formula |
/// |---|---|
/// | voicing | `pov-scale` ((1.0001 - NCCF)^0.15 - 1) + `pov-offset`, with NCCF from -1 to 1 |
/// | normalised log pitch | `pitch-scale` (ln pitch - its weighted mean over the frames around) |
/// | change of log pitch | `delta-pitch-scale` (Σ j ln pitch\[t + j\] / Σ j² + noise) |
/// | log pitch | ln pitch |
///
/// The weights of the mean are the probabilities of voicing; j goes over `delta-window`.
///
/// ```
/// use kaldi_feat::{PitchProcessor, ProcessPitchOptions};
/// use kaldi_matrix::Matrix;
///
/// let mut options = ProcessPitchOptions::default();
/// options.delta_pitch_noise_stddev = 0.0; // Kaldi's default adds noise
/// let processor = PitchProcessor::new(options)?;
/// let pitch = Matrix::from_fn(5, 2, |frame, column| if column == 0 {
///     0.9
/// } else {
///     100.0 + 5.0 * frame as f32
/// });
/// let features = processor.process(&pitch, "utterance-1")?;
/// assert_eq!((features.num_rows(), features.num_cols()), (5, 3));
/// assert!((features[(2, 2)] - 10.0 * 0.0455).abs() < 0.01); // 5 Hz a frame at 110 Hz
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "ProcessPitch")]
pub struct PitchProcessor {
    options: ProcessPitchOptions,
}

impl PitchProcessor {
    /// Creates a processor with these options.
    ///
    /// # Errors
    /// Names the first option that has a bad value.
    pub fn new(options: ProcessPitchOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self { options })
    }

    /// Returns the options.
    pub fn options(&self) -> &ProcessPitchOptions {
        &self.options
    }

    /// Returns the number of features in a row.
    #[doc(alias = "Dim")]
    pub fn dim(&self) -> usize {
        self.options.dim()
    }

    /// Computes the features of all frames of an utterance: frames + `delay` x [`dim`](Self::dim),
    /// or 0 x 0 if there are none. The key decides the noise.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless there are 2 columns.
    pub fn process(&self, pitch: &MatrixBase<impl Storage<Elem = f32>>, key: &str) -> Result<Matrix<f32>, Error> {
        let mut stream = self.stream(key);
        let mut values = Vec::with_capacity(pitch.num_rows() * self.dim());
        for row in pitch.rows() {
            stream.accept(row, &mut values)?;
        }
        stream.finish(&mut values);
        Ok(self.matrix(values))
    }

    /// Creates a stream for pitch that arrives row by row and does not change any more. Its
    /// output equals the rows of [`process`](Self::process) bit for bit.
    pub fn stream(&self, key: &str) -> ProcessPitchStream {
        ProcessPitchStream {
            noise: self.noise(key),
            options: self.options.clone(),
            rows: VecDeque::new(),
            first: 0,
            emitted: 0,
            sums: Sums::default(),
        }
    }

    /// Creates a stream for audio that arrives in chunks: features of pitch as it is found.
    pub fn online(&self, pitch: OnlinePitch, key: &str) -> OnlineProcessPitch {
        OnlineProcessPitch::new(self.options.clone(), self.noise(key), pitch)
    }

    /// Computes the features of a whole signal, pitch included. If the options of the pitch ask for
    /// the first pass, each frame is taken as soon as it is ready.
    ///
    /// # Errors
    /// As [`PitchExtractor::compute`].
    #[doc(alias = "ComputeAndProcessKaldiPitch")]
    pub fn compute(&self, extractor: &PitchExtractor, audio: &Audio<'_>) -> Result<Matrix<f32>, Error> {
        self.compute_with(&mut PitchWorkspace::default(), extractor, audio)
    }

    /// Same as [`compute`](Self::compute), but reuses memory.
    ///
    /// # Errors
    /// As `compute`.
    pub fn compute_with(
        &self,
        workspace: &mut PitchWorkspace,
        extractor: &PitchExtractor,
        audio: &Audio<'_>,
    ) -> Result<Matrix<f32>, Error> {
        let mut stream = self.online(extractor.stream_in(workspace), audio.key);
        let first_pass = extractor.options().simulate_first_pass_online;
        let mut values = Vec::new();
        let mut frames = 0;
        let mut take = |stream: &mut OnlineProcessPitch| {
            while let Some(row) = stream.frame(frames) {
                values.extend_from_slice(row);
                frames += 1;
            }
        };
        for chunk in extractor.chunks(audio)? {
            // Frames of the last chunk are taken when its end is known to be the end of the audio.
            if first_pass {
                take(&mut stream);
            }
            stream.accept(chunk)?;
        }
        stream.finish();
        take(&mut stream);
        workspace.keep(stream.into_pitch());
        Ok(self.matrix(values))
    }

    fn noise(&self, key: &str) -> Philox {
        Philox::for_name(self.options.noise_seed, key)
    }

    fn matrix(&self, values: Vec<f32>) -> Matrix<f32> {
        let rows = values.len() / self.dim();
        Matrix::from_vec(rows, if rows == 0 { 0 } else { self.dim() }, values).expect("whole rows were appended")
    }
}

/// Computes the features of all frames of an utterance in one call.
///
/// # Errors
/// As [`PitchProcessor::new`] and [`PitchProcessor::process`].
#[doc(alias = "ProcessPitch")]
pub fn process_pitch(
    options: &ProcessPitchOptions,
    pitch: &MatrixBase<impl Storage<Elem = f32>>,
    key: &str,
) -> Result<Matrix<f32>, Error> {
    PitchProcessor::new(options.clone())?.process(pitch, key)
}

/// A [`PitchProcessor`] over rows that arrive one by one. It holds as many as the options look back
/// and ahead.
#[derive(Debug, Clone)]
pub struct ProcessPitchStream {
    options: ProcessPitchOptions,
    noise: Philox,
    /// The frames from `first` on.
    rows: VecDeque<Frame>,
    first: usize,
    /// Number of frames whose features were returned.
    emitted: usize,
    /// The sums around the last of these frames.
    sums: Sums,
}

const TAG: [u8; 8] = *b"procpit ";

impl ProcessPitchStream {
    /// Returns the number of frames after a frame that its features depend on.
    fn look_ahead(&self) -> usize {
        let options = &self.options;
        options.right_context().max(if options.add_delta_pitch { options.delta_context() } else { 0 })
    }

    fn look_back(&self) -> usize {
        (self.options.left_context() + 1).max(self.options.delta_context())
    }

    fn end(&self) -> usize {
        self.first + self.rows.len()
    }

    fn emit(&mut self, out: &mut Vec<f32>) {
        let (t, end) = (self.emitted, self.end());
        let (left, right) = (self.options.left_context(), self.options.right_context());
        let row = |t: usize| self.rows[t - self.first];
        if t == 0 {
            self.sums = Sums::default();
            for f in 0..end.min(right + 1) {
                self.sums.add(row(f));
            }
        } else {
            if t > left {
                self.sums.subtract(row(t - left - 1));
            }
            if t + right < end {
                self.sums.add(row(t + right));
            }
        }
        let log_pitch = |j: isize| row(t.saturating_add_signed(j).min(end - 1)).log_pitch;
        let copies = if t == 0 { 1 + self.options.delay_frames() } else { 1 };
        for _ in 0..copies {
            self.options.push_features(&self.noise, t, row(t), self.sums, log_pitch, out);
        }
        self.emitted += 1;
        let keep_from = self.emitted.saturating_sub(self.look_back());
        while self.first < keep_from {
            self.rows.pop_front();
            self.first += 1;
        }
    }

    /// Returns a text that differs for other options and other keys, as another key has other
    /// noise.
    fn fingerprint(&self) -> String {
        format!("{:?} {:?}", self.options, self.noise)
    }
}

impl RowStream for ProcessPitchStream {
    fn input_dim(&self) -> usize {
        2
    }

    fn output_dim(&self) -> usize {
        self.options.dim()
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        let &[nccf, pitch] = row else {
            return Err(Error::DimMismatch { what: "a row of pitch", expected: 2, found: row.len() });
        };
        self.rows.push_back(Frame::new(nccf, pitch));
        if self.end() > self.emitted + self.look_ahead() {
            self.emit(out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<f32>) {
        while self.emitted < self.end() {
            self.emit(out);
        }
        self.rows.clear();
        (self.first, self.emitted) = (0, 0);
    }

    fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(TAG, &self.fingerprint());
        state.u64(self.first as u64);
        state.u64(self.emitted as u64);
        state.f64(self.sums.pov);
        state.f64(self.sums.weighted);
        state.f32s(&self.rows.iter().flat_map(|row| [row.nccf, row.log_pitch, row.pov]).collect::<Vec<_>>());
        state.finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, TAG, &self.fingerprint())?;
        let (first, emitted) = (state.usize()?, state.usize()?);
        let sums = Sums { pov: state.f64()?, weighted: state.f64()? };
        let numbers = state.f32s()?;
        state.finish()?;
        let (rows, rest) = numbers.as_chunks();
        let rows: VecDeque<Frame> = rows.iter().map(|&[nccf, log_pitch, pov]| Frame { nccf, log_pitch, pov }).collect();
        let end = first.checked_add(rows.len());
        let fits = rest.is_empty()
            && first == emitted.saturating_sub(self.look_back())
            && end.is_some_and(|end| emitted <= end && end - emitted <= self.look_ahead());
        if !fits {
            return Err(Error::BadState { reason: "its rows are not those of such a stream" });
        }
        (self.rows, self.first, self.emitted, self.sums) = (rows, first, emitted, sums);
        Ok(())
    }
}
