//! A network on the runtime.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use kaldera_base::math::log_softmax;
use kaldera_base::setters;
use kaldera_network::{Batch, Error as NetworkError, Lod, LodTensor, Network, NetworkStream, streams_of};

use crate::cif::{Cif, UPSAMPLING};
use crate::description::Description;
use crate::error::Error;
use crate::layout::{Inputs, Layout, Outputs};
use crate::session::{Runtime, Session, Tensor, load};
use crate::states::{Chunk, State};
use crate::stream::{Carried, ChunkStream, Chunks, usual_tail};
use crate::together::{MAX_TOGETHER, are_close, are_close_tensors, divide, join};

/// Settings that the file of a network may leave open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnnxOptions {
    /// Number of values of an input row, which is checked; required if the file does not give it.
    pub inputs: Option<usize>,
    /// Number of input rows per output row; found by trial runs if absent.
    pub subsampling: Option<usize>,
    /// `true` for the encoder of a transducer, whose rows are left as they are.
    pub encoder: bool,
    /// Values of integer inputs that are the same for all utterances, by name, such as the language
    /// of a recognizer of several languages.
    pub constants: Vec<(String, i64)>,
    /// Number of output rows before the first row of the utterance, which are dropped: the answers
    /// to a prompt inside the network, such as the four of SenseVoice.
    pub prompt_rows: usize,
    /// The blank of a network with an [`end_token`](Self::end_token).
    pub blank: usize,
    /// The token that ends an utterance, of a network that gives a row of scores for each token and
    /// the frames of tokens as `us_cif_peak`: Paraformer. The result has a row for each sixth of an
    /// input row; it is blank in rows without a token.
    pub end_token: Option<usize>,
    /// The runtime that computes it.
    pub runtime: Runtime,
}

setters! {
    OnnxOptions:
    subsampling, with_subsampling: Option<usize>, "Sets [`subsampling`](Self::subsampling).";
    encoder, with_encoder: bool, "Sets [`encoder`](Self::encoder).";
    constants, with_constants: Vec<(String, i64)>, "Sets [`constants`](Self::constants).";
    prompt_rows, with_prompt_rows: usize, "Sets [`prompt_rows`](Self::prompt_rows).";
    blank, with_blank: usize, "Sets [`blank`](Self::blank).";
    end_token, with_end_token: Option<usize>, "Sets [`end_token`](Self::end_token).";
    runtime, with_runtime: Runtime, "Sets [`runtime`](Self::runtime).";
}

impl OnnxOptions {
    /// Sets [`inputs`](Self::inputs).
    #[must_use]
    pub fn with_inputs(self, inputs: usize) -> Self {
        Self { inputs: Some(inputs), ..self }
    }
}

/// The network of an ONNX file that was trained with CTC, or the encoder of a transducer.
///
/// It takes features `[N, T, F]` or `[N, F, T]`, or samples `[N, T]`, `[N, 1, T]` or, as integers,
/// `[N, T, 1]`, with or without lengths `[N]`, and gives scores `[N, T, V]`, with or without
/// lengths. Each utterance of a batch has its own run, because exported networks treat padding
/// differently.
/// Each row of scores is normalised to log-probabilities: log-softmax changes rows that already are
/// log-probabilities only by rounding.
///
/// A network with states (inputs that take an output of the chunk before) runs over chunks of the
/// length in its metadata. It has streams; an utterance is a stream that is finished at once. After
/// the last row come 0.3 s of silence ([`with_tail`](Self::with_tail)) and rows that fill the last
/// chunk. A file without a state needs whole utterances.
///
/// An [encoder](OnnxOptions::encoder) gives rows `[N, T, D]`, or, if the features are `[N, F, T]`,
/// `[N, D, T]` as in NeMo. They are not normalised.
pub struct OnnxNetwork {
    session: Box<dyn Session>,
    description: Description,
    inputs: Inputs,
    outputs: Outputs,
    width: usize,
    num_outputs: usize,
    subsampling: usize,
    is_encoder: bool,
    prompt_rows: usize,
    cif: Option<Cif>,
    max_streams: usize,
    /// Rows after the rows of an utterance; none without states.
    tail: Vec<f32>,
}

impl fmt::Debug for OnnxNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { description, width, num_outputs, subsampling, .. } = self;
        let mut shown = f.debug_struct("OnnxNetwork");
        shown.field("description", description).field("width", width).field("num_outputs", num_outputs);
        shown.field("subsampling", subsampling).finish_non_exhaustive()
    }
}

/// Largest number of values per row: it bounds the memory of a trial run.
const MAX_WIDTH: usize = 1 << 16;

impl OnnxNetwork {
    /// Opens a file, and runs its network over about a second, or over a chunk if it has states, so
    /// that a network that the runtime cannot run is an error here. Without states and
    /// [`subsampling`](OnnxOptions::subsampling) there is another run over two seconds; with states
    /// there are runs over chunks of several utterances at once, which tell whether streams may run
    /// together.
    ///
    /// # Errors
    /// All of [`Error`].
    pub fn open(path: impl AsRef<Path>, options: &OnnxOptions) -> Result<Self, Error> {
        let session = load(path.as_ref(), options.runtime)?;
        let description = session.description();
        let inputs = Inputs::new(&description, &options.constants)?;
        let outputs = Outputs::of(&description, &inputs.states)?;
        let cif = Cif::find(&description, options.blank, options.end_token)?;
        let input = || description.inputs[inputs.rows].to_string();
        let width = match (inputs.layout.width(), options.inputs) {
            (Some(found), Some(expected)) if found != expected => {
                return Err(Error::Width { input: input(), expected, found });
            }
            (Some(found), _) | (None, Some(found)) if found > MAX_WIDTH => {
                return Err(Error::TooWide { input: input(), found, most: MAX_WIDTH });
            }
            (Some(width), _) | (None, Some(width)) if width > 0 => width,
            _ => return Err(Error::UnknownWidth { input: input() }),
        };
        if let Some(state) = inputs.states.first().filter(|_| options.prompt_rows > 0) {
            return Err(Error::Prompt { input: description.inputs[state.input].to_string() });
        }
        if options.subsampling == Some(0) {
            return Err(Error::NoSubsampling);
        }
        let (num_outputs, subsampling, is_encoder, prompt_rows) = (0, 1, options.encoder, options.prompt_rows);
        let tail = inputs.chunk.map_or(vec![], |_| usual_tail(inputs.layout, width));
        let mut network = Self {
            session,
            description,
            inputs,
            outputs,
            width,
            num_outputs,
            subsampling,
            is_encoder,
            prompt_rows,
            cif,
            max_streams: 1,
            tail,
        };
        network.measure(options.subsampling)?;
        Ok(network)
    }

    /// Sets the rows that come after the rows of an utterance. The last of them is repeated as
    /// often as the last chunk needs it. Only networks with states use them. The default is 0.3 s
    /// of silence: -15.94, of Kaldi's filterbank each 10 ms, or 0, of samples of 16 kHz. Other
    /// features have other values for silence, and other times per row.
    ///
    /// # Errors
    /// [`Error::Tail`] if the values are not whole rows, or not finite.
    pub fn with_tail(self, rows: Vec<f32>) -> Result<Self, Error> {
        let (width, found) = (self.width, rows.len());
        let finite = rows.iter().filter(|value| value.is_finite()).count();
        match found > 0 && found.is_multiple_of(width) && finite == found {
            true => Ok(Self { tail: rows, ..self }),
            false => Err(Error::Tail { width, found, finite }),
        }
    }

    /// Returns the file's description of the network.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the size and the shift of its chunks, if it has states.
    pub fn chunk(&self) -> Option<Chunk> {
        self.inputs.chunk
    }

    pub(crate) fn tail(&self) -> &[f32] {
        &self.tail
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the layout of the input.
    pub fn layout(&self) -> Layout {
        self.inputs.layout
    }

    /// Finds the number of tokens and the subsampling by trial runs.
    fn measure(&mut self, subsampling: Option<usize>) -> Result<(), Error> {
        if let Some(Chunk { rows, shift }) = self.inputs.chunk {
            let frames = self.frames_of(rows)?;
            if frames == 0 || frames > shift {
                let reason = format!("{frames} frames of scores, where chunks advance by {shift} rows");
                return Err(Error::Trial { rows, reason });
            }
            self.subsampling = subsampling.unwrap_or((shift + frames / 2) / frames);
            self.max_streams = if self.runs_together() { MAX_TOGETHER } else { 1 };
            return Ok(());
        }
        let (short, long) = if self.inputs.layout.takes_samples() { (16_000, 32_000) } else { (104, 208) };
        let frames = self.frames_of(short)?;
        if self.cif.is_some() {
            let expected = short * UPSAMPLING;
            let reason = format!("{frames} frames of the result, and {expected} are expected");
            return if frames == expected { Ok(()) } else { Err(Error::Trial { rows: short, reason }) };
        }
        if let Some(subsampling) = subsampling {
            self.subsampling = subsampling;
            return Ok(());
        }
        let more = self.frames_of(long)?.saturating_sub(frames);
        if more == 0 {
            let reason = format!("{long} rows have no more frames of scores than {short}, {frames}: set `subsampling`");
            return Err(Error::Trial { rows: long, reason });
        }
        // Rounded: the ends of utterances can change the number by a frame.
        self.subsampling = ((long - short) + more / 2) / more;
        Ok(())
    }

    /// Returns the number of frames for an utterance of `rows` rows; sets the number of tokens.
    fn frames_of(&mut self, rows: usize) -> Result<usize, Error> {
        let values = trial(rows * self.width);
        let mut carried = self.first_carried();
        let run = self.run(values, rows, Some(&mut carried)).and_then(|(scores, num_outputs)| match num_outputs {
            0 => Err("there are no scores".to_owned()),
            _ => Ok((scores.len() / num_outputs, num_outputs)),
        });
        let (frames, num_outputs) = run.map_err(|reason| Error::Trial { rows, reason })?;
        self.num_outputs = num_outputs;
        Ok(frames)
    }

    pub(crate) fn first_carried(&self) -> Carried {
        Carried { values: self.inputs.states.iter().map(State::first).collect(), frames: 0 }
    }

    /// Returns the rows of the result for an utterance, or for a chunk if `carried` is given:
    /// log-probabilities, or the rows of an encoder.
    pub(crate) fn rows_of(
        &self,
        values: Vec<f32>,
        rows: usize,
        carried: Option<&mut Carried>,
    ) -> Result<Vec<f32>, String> {
        self.checked(self.run(values, rows, carried)?)
    }

    /// Returns rows of scores as log-probabilities, or the rows of an encoder.
    fn checked(&self, (mut scores, columns): (Vec<f32>, usize)) -> Result<Vec<f32>, String> {
        if columns != self.num_outputs {
            let expected = self.num_outputs;
            return Err(format!("{columns} values a row of the result, and in the trial run there were {expected}"));
        }
        for (frame, row) in scores.chunks_exact_mut(columns.max(1)).enumerate() {
            let is_valid =
                if self.is_encoder { row.iter().all(|x| x.is_finite()) } else { log_softmax(row).is_finite() };
            if !is_valid {
                return Err(format!("frame {frame}: its scores are not finite"));
            }
        }
        Ok(scores)
    }

    /// Returns the scores of an utterance or chunk, row by row, and the number of scores per row.
    fn run(&self, values: Vec<f32>, rows: usize, carried: Option<&mut Carried>) -> Result<(Vec<f32>, usize), String> {
        let inputs = self.inputs_of(values, rows, carried.as_deref())?;
        let results = self.session.run(inputs, &self.wanted(carried.is_some()))?;
        self.scores_of(results, rows, carried)
    }

    /// Returns the inputs of a run.
    fn inputs_of(
        &self,
        values: Vec<f32>,
        rows: usize,
        carried: Option<&Carried>,
    ) -> Result<Vec<(usize, Tensor)>, String> {
        let integer = |value: usize| {
            let value = i64::try_from(value).map_err(|_| format!("{value} rows are too many"))?;
            Ok::<_, String>(Tensor::Integer(vec![1], vec![value]))
        };
        let utterance = match self.inputs.layout {
            Layout::Rows { .. } => Tensor::Float(vec![1, rows, self.width], values),
            Layout::Columns { .. } => Tensor::Float(vec![1, self.width, rows], transposed(&values, self.width)),
            Layout::Samples => Tensor::Float(vec![1, rows], values),
            Layout::Channel => Tensor::Float(vec![1, 1, rows], values),
            Layout::Integers => Tensor::Integer(vec![1, rows, 1], values.into_iter().map(to_16_bits).collect()),
        };
        let mut inputs = vec![(self.inputs.rows, utterance)];
        if let Some(lengths) = self.inputs.lengths {
            inputs.push((lengths, integer(rows)?));
        }
        inputs.extend(self.inputs.mask.map(|mask| (mask, Tensor::Integer(vec![1, rows], vec![1; rows]))));
        inputs.extend(self.inputs.constants.iter().cloned());
        if let Some(carried) = carried {
            let states = self.inputs.states.iter().zip(&carried.values);
            inputs.extend(states.map(|(state, value)| (state.input, value.clone())));
            if let Some(processed) = self.inputs.processed {
                inputs.push((processed, integer(carried.frames)?));
            }
            if let Some(cache) = &self.inputs.cache {
                inputs.extend(cache.tensors(carried.frames)?);
            }
        }
        Ok(inputs)
    }

    /// Returns the output of lengths, if it counts frames of scores.
    fn lengths(&self) -> Option<usize> {
        self.outputs.lengths.filter(|_| self.cif.is_none())
    }

    /// Returns the outputs that a run computes.
    fn wanted(&self, with_states: bool) -> Vec<usize> {
        let mut wanted: Vec<usize> = std::iter::once(self.outputs.scores).chain(self.lengths()).collect();
        wanted.extend(self.cif.map(|cif| cif.peaks));
        if with_states {
            wanted.extend(self.inputs.states.iter().map(|state| state.output));
        }
        wanted
    }

    /// Returns the scores in the outputs of a run, and the number of scores per row.
    fn scores_of(
        &self,
        results: Vec<Tensor>,
        rows: usize,
        carried: Option<&mut Carried>,
    ) -> Result<(Vec<f32>, usize), String> {
        let mut results = results.into_iter();
        let by_column = self.is_encoder && matches!(self.inputs.layout, Layout::Columns { .. });
        let (frames, columns, mut scores) = as_rows(results.next().ok_or("there is no output")?, by_column)?;
        if let Some(length) = self.lengths().and_then(|_| results.next()) {
            let valid = match &length {
                Tensor::Integer(_, lengths) if lengths.len() == 1 => usize::try_from(lengths[0]).ok(),
                _ => None,
            };
            match valid.filter(|&valid| valid <= frames) {
                Some(valid) => scores.truncate(valid * columns),
                None => return Err(format!("lengths {length:?} for 1 utterance of {frames} frames")),
            }
        }
        if let Some(cif) = self.cif {
            match results.next() {
                Some(Tensor::Float(_, peaks)) => scores = cif.frames((&scores, columns), &peaks, rows)?,
                _ => return Err("the peaks are not of floating point".to_owned()),
            }
        }
        scores.drain(..(self.prompt_rows * columns).min(scores.len()));
        if let Some(carried) = carried {
            for (state, (value, next)) in self.inputs.states.iter().zip(carried.values.iter_mut().zip(results)) {
                state.check(&next).map_err(|reason| format!("{}: {reason}", self.description.inputs[state.input]))?;
                *value = next;
            }
            carried.frames += scores.len() / columns.max(1);
        }
        Ok((scores, columns))
    }

    /// Returns the rows of the result for a chunk of each utterance; of several, in one run.
    pub(crate) fn rows_of_chunks(&self, chunks: Vec<(Vec<f32>, &mut Carried)>) -> Vec<Result<Vec<f32>, String>> {
        let rows = self.inputs.chunk.map_or(0, |chunk| chunk.rows);
        // After an error each utterance has a run of its own: it may be the error of another one.
        let together = if chunks.len() > 1 { self.run_together(&chunks, rows).ok() } else { None };
        match together {
            Some(results) => {
                let of_one = |(results, (_, carried))| self.checked(self.scores_of(results, rows, Some(carried))?);
                results.into_iter().zip(chunks).map(of_one).collect()
            }
            None => chunks.into_iter().map(|(values, carried)| self.rows_of(values, rows, Some(carried))).collect(),
        }
    }

    /// Returns the outputs for a chunk of each utterance, which are computed in one run.
    fn run_together(&self, chunks: &[(Vec<f32>, &mut Carried)], rows: usize) -> Result<Vec<Vec<Tensor>>, String> {
        let mut all = vec![];
        for (values, carried) in chunks {
            all.push(self.inputs_of(values.clone(), rows, Some(carried))?.into_iter());
        }
        let axis = |is_own: &dyn Fn(&State) -> bool| {
            self.inputs.states.iter().find(|state| is_own(state)).and_then(|state| state.utterances).unwrap_or(0)
        };
        let mut inputs = vec![];
        loop {
            let (numbers, tensors): (Vec<_>, Vec<_>) = all.iter_mut().filter_map(Iterator::next).unzip();
            let Some(&number) = numbers.first() else { break };
            inputs.push((number, join(tensors, axis(&|state| state.input == number))?));
        }
        let wanted = self.wanted(true);
        let mut outputs = vec![vec![]; chunks.len()];
        for (tensor, &number) in self.session.run(inputs, &wanted)?.iter().zip(&wanted) {
            let parts = divide(tensor, axis(&|state| state.output == number), chunks.len())?;
            outputs.iter_mut().zip(parts).for_each(|(own, part): (&mut Vec<_>, _)| own.push(part));
        }
        Ok(outputs)
    }

    /// Returns `true` if chunks of several utterances in one run have the results of single runs.
    fn runs_together(&self) -> bool {
        let Some(chunk) = self.inputs.chunk else { return false };
        if self.inputs.states.iter().any(|state| state.utterances.is_none()) {
            return false;
        }
        // Of other ranges, as a quantization of the whole run takes the range of all.
        let scales = [1.0, if self.inputs.layout.takes_samples() { -1.5 } else { -50.0 }, 0.5];
        let values =
            scales.map(|scale| trial(chunk.rows * self.width).into_iter().map(|x| scale * x).collect::<Vec<f32>>());
        let single =
            |number: usize, carried: &mut Carried| self.rows_of(values[number].clone(), chunk.rows, Some(carried));
        let mut expected = scales.map(|_| self.first_carried());
        // The first utterance is a chunk ahead, so that counters differ.
        if single(0, &mut expected[0]).is_err() {
            return false;
        }
        let mut found = expected.clone();
        let chunks = values.iter().cloned().zip(&mut found).collect::<Vec<_>>();
        let Ok(outputs) = self.run_together(&chunks, chunk.rows) else { return false };
        let mut all = outputs.into_iter().zip(expected.iter_mut().zip(&mut found)).enumerate();
        all.all(|(number, (outputs, (expected, found)))| {
            let scores = self.scores_of(outputs, chunk.rows, Some(found)).and_then(|scores| self.checked(scores));
            matches!((single(number, expected), scores), (Ok(a), Ok(b)) if are_close(&a, &b))
                && expected.values.iter().zip(&found.values).all(|(a, b)| are_close_tensors(a, b))
        })
    }
}

/// Returns values for a trial run. They are not silence, whose logarithms may be infinite.
fn trial(len: usize) -> Vec<f32> {
    (0..len).map(|i| [0.1, -0.2, 0.05, 0.15, -0.1][i % 5]).collect()
}

/// Returns T, V, and the scores, row by row, from the shape `[1, T, V]`, `[T, V]` or `[T, 1, V]`,
/// or by column `[1, V, T]`.
fn as_rows(scores: Tensor, by_column: bool) -> Result<(usize, usize, Vec<f32>), String> {
    match scores {
        Tensor::Float(shape, scores) => match shape[..] {
            [1, columns, frames] if by_column => Ok((frames, columns, transposed(&scores, frames))),
            [1, frames, columns] | [frames, 1, columns] | [frames, columns] => Ok((frames, columns, scores)),
            _ => Err(format!("scores of shape {shape:?}, and [1, T, V] is expected")),
        },
        Tensor::Integer(..) => Err("scores are integers, and floating point is expected".to_owned()),
    }
}

/// Returns a sample from -1 to 1 as an integer of 16 bits, as T-one's code rounds it.
fn to_16_bits(sample: f32) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "it is from -32767 to 32767")]
    let sample = (sample.clamp(-1.0, 1.0) * f32::from(i16::MAX)) as i64;
    sample
}

/// Transposes rows of `width` values.
fn transposed(values: &[f32], width: usize) -> Vec<f32> {
    (0..width).flat_map(|column| values.iter().skip(column).step_by(width).copied()).collect()
}

impl Network for OnnxNetwork {
    fn num_inputs(&self) -> usize {
        self.width
    }

    fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    fn subsampling(&self) -> usize {
        self.subsampling
    }

    fn upsampling(&self) -> usize {
        if self.cif.is_some() { UPSAMPLING } else { 1 }
    }

    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, NetworkError> {
        let rows = batch.rows();
        if rows.num_rows() > 0 && rows.width() != self.width {
            return Err(NetworkError::Rows { expected: self.width, found: rows.width() });
        }
        let (mut lengths, mut values) = (Vec::with_capacity(batch.names().len()), vec![]);
        for (&name, own) in batch.names().iter().zip(rows.sequences()) {
            if own.is_empty() {
                lengths.push(0);
                continue;
            }
            let wrong = |reason: String| NetworkError::Runtime { utterance: name.to_owned(), reason };
            // Relu and others may turn NaN into a number.
            if let Some(at) = own.iter().position(|x| !x.is_finite()) {
                return Err(wrong(format!("row {}: {} is not finite", at / self.width, own[at])));
            }
            let mut found = match self.inputs.chunk {
                Some(chunk) => Chunks::new(self, chunk).whole(self, own).map_err(|error| match error {
                    NetworkError::Runtime { reason, .. } => wrong(reason),
                    error => error,
                })?,
                None => self.rows_of(own.to_vec(), own.len() / self.width, None).map_err(wrong)?,
            };
            lengths.push(found.len() / self.num_outputs);
            values.append(&mut found);
        }
        let lod = Lod::from_lengths(&[lengths])?;
        Ok(LodTensor::from_vec([lod.num_rows().unwrap_or(0), self.num_outputs], values, lod)?)
    }

    fn stream(self: Arc<Self>) -> Result<Box<dyn NetworkStream>, NetworkError> {
        match self.inputs.chunk {
            Some(chunk) => Ok(Box::new(ChunkStream::new(self, chunk))),
            None => Err(NetworkError::NoStream { because: "an ONNX file without a state looks at all of it" }),
        }
    }

    fn max_streams(&self) -> usize {
        self.max_streams
    }

    fn accept_all(&self, streams: &mut [(&mut dyn NetworkStream, &[f32])]) -> Vec<Result<Vec<f32>, NetworkError>> {
        let count = streams.len();
        match streams_of(streams) {
            Ok(own) => ChunkStream::accept_all(self, own),
            Err(error) => vec![Err(error); count],
        }
    }
}
