//! A network on the runtime.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use kaldera_network::{Batch, Error as NetworkError, Lod, LodTensor, Network};
use rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::Layout as _;

use crate::description::{Description, load};
use crate::error::Error;
use crate::guard::guarded;
use crate::layout::{Inputs, Layout, Outputs};

/// What a file may not say of its network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnnxOptions {
    /// Values of a row of the input, to be checked; needed where the file leaves it open.
    pub inputs: Option<usize>,
    /// Rows of the input for a row of the output; without it, trial runs tell.
    pub subsampling: Option<usize>,
}

impl OnnxOptions {
    /// Sets [`inputs`](Self::inputs).
    #[must_use]
    pub fn with_inputs(self, inputs: usize) -> Self {
        Self { inputs: Some(inputs), ..self }
    }

    /// Sets [`subsampling`](Self::subsampling).
    #[must_use]
    pub fn with_subsampling(self, subsampling: Option<usize>) -> Self {
        Self { subsampling, ..self }
    }
}

/// The network of an ONNX file that was trained with CTC.
///
/// It takes features `[N, T, F]` or `[N, F, T]`, or samples `[N, T]` or `[N, 1, T]`, with or without
/// lengths `[N]`, and gives scores `[N, T, V]`, with or without lengths. Each utterance is run alone,
/// as exported networks do different things with padding. Each row of scores is normalised to
/// log-probabilities: log-softmax leaves rows that are log-probabilities already as they are, but for
/// rounding.
///
/// It has no streams: a file without a state needs whole utterances.
pub struct OnnxNetwork {
    model: Model,
    run_options: RunOptions,
    description: Description,
    inputs: Inputs,
    outputs: Outputs,
    width: usize,
    num_outputs: usize,
    subsampling: usize,
}

impl fmt::Debug for OnnxNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { description, width, num_outputs, subsampling, .. } = self;
        let mut shown = f.debug_struct("OnnxNetwork");
        shown.field("description", description).field("width", width).field("num_outputs", num_outputs);
        shown.field("subsampling", subsampling).finish_non_exhaustive()
    }
}

/// The most values of a row: with it the memory of a trial run is bounded.
const MAX_WIDTH: usize = 1 << 16;

impl OnnxNetwork {
    /// Opens a file, and runs its network over about a second, so that what the runtime cannot do is
    /// an error here; without [`subsampling`](OnnxOptions::subsampling) over two seconds, too.
    ///
    /// # Errors
    /// All of [`Error`].
    pub fn open(path: impl AsRef<Path>, options: &OnnxOptions) -> Result<Self, Error> {
        Self::new(load(path.as_ref())?, options)
    }

    fn new(model: Model, options: &OnnxOptions) -> Result<Self, Error> {
        let description = Description::of(&model);
        let (inputs, outputs) = (Inputs::of(&description)?, Outputs::of(&description)?);
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
        if options.subsampling == Some(0) {
            return Err(Error::NoSubsampling);
        }
        // Utterances run at the same time: in each there is one thread.
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        let run_options = RunOptions::default().with_thread_pool(Some(pool));
        let (num_outputs, subsampling) = (0, 1);
        let mut network = Self { model, run_options, description, inputs, outputs, width, num_outputs, subsampling };
        network.measure(options.subsampling)?;
        Ok(network)
    }

    /// What the file says of the network.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The layout of the input.
    pub fn layout(&self) -> Layout {
        self.inputs.layout
    }

    /// Finds the number of tokens and the subsampling by trial.
    fn measure(&mut self, subsampling: Option<usize>) -> Result<(), Error> {
        let (short, long) = if self.inputs.layout.takes_samples() { (16_000, 32_000) } else { (104, 208) };
        let frames = self.frames_of(short)?;
        if let Some(subsampling) = subsampling {
            self.subsampling = subsampling;
            return Ok(());
        }
        let more = self.frames_of(long)?.saturating_sub(frames);
        if more == 0 {
            let reason = format!("{long} rows have no more frames of scores than {short}, {frames}: set `subsampling`");
            return Err(Error::Trial { rows: long, reason });
        }
        // Rounded: the ends of utterances may cost a frame more or less.
        self.subsampling = ((long - short) + more / 2) / more;
        Ok(())
    }

    /// How many frames an utterance of so many rows has; sets the number of tokens.
    fn frames_of(&mut self, rows: usize) -> Result<usize, Error> {
        // Not silence, of which logarithms may be infinite.
        let values = (0..rows * self.width).map(|i| [0.1, -0.2, 0.05, 0.15, -0.1][i % 5]).collect();
        let run = self.run(values, rows).and_then(|(scores, num_outputs)| match num_outputs {
            0 => Err("there are no scores".to_owned()),
            _ => Ok((scores.len() / num_outputs, num_outputs)),
        });
        let (frames, num_outputs) = run.map_err(|reason| Error::Trial { rows, reason })?;
        self.num_outputs = num_outputs;
        Ok(frames)
    }

    /// The scores of an utterance, row by row, and how many there are in a row.
    fn run(&self, values: Vec<f32>, rows: usize) -> Result<(Vec<f32>, usize), String> {
        let size = |size: usize| i32::try_from(size).map_err(|_| format!("{size} rows are too many"));
        let (shape, values) = match self.inputs.layout {
            Layout::Rows { .. } => (vec![1, rows, self.width], values),
            Layout::Columns { .. } => (vec![1, self.width, rows], transposed(&values, self.width)),
            Layout::Samples => (vec![1, rows], values),
            Layout::Channel => (vec![1, 1, rows], values),
        };
        let node = |nodes: &[NodeId], at: usize| nodes.get(at).copied().ok_or_else(|| format!("there is no {at}"));
        let values = Value::from_shape(&shape[..], values).map_err(|error| error.to_string())?;
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> =
            vec![(node(self.model.input_ids(), self.inputs.rows)?, values.into())];
        if let Some(lengths) = self.inputs.lengths {
            // Integers of 64 bits are of 32 there.
            let length = Value::from_shape([1], vec![size(rows)?]).map_err(|error| error.to_string())?;
            inputs.push((node(self.model.input_ids(), lengths)?, length.into()));
        }
        let mut wanted = vec![node(self.model.output_ids(), self.outputs.scores)?];
        if let Some(lengths) = self.outputs.lengths {
            wanted.push(node(self.model.output_ids(), lengths)?);
        }
        let mut results = guarded(|| self.model.run(inputs, &wanted, Some(self.run_options.clone())))?.into_iter();
        let scores = results.next().ok_or("there is no output")?;
        let (frames, columns, mut scores) = as_rows(scores)?;
        if let Some(length) = results.next() {
            let ([utterances], length) = length.into_shape_vec::<i32, 1>().map_err(|error| error.to_string())?;
            let valid = length.first().and_then(|&length| usize::try_from(length).ok());
            match valid.filter(|&valid| utterances == 1 && valid <= frames) {
                Some(valid) => scores.truncate(valid * columns),
                None => return Err(format!("lengths {length:?} for 1 utterance of {frames} frames")),
            }
        }
        Ok((scores, columns))
    }
}

/// The scores `[1, T, V]` or `[T, V]`, and T and V.
fn as_rows(scores: Value) -> Result<(usize, usize, Vec<f32>), String> {
    if scores.as_view().ndim() == 2 {
        let ([frames, columns], scores) = scores.into_shape_vec::<f32, 2>().map_err(|error| error.to_string())?;
        return Ok((frames, columns, scores));
    }
    let (shape, scores) = scores.into_shape_vec::<f32, 3>().map_err(|error| error.to_string())?;
    match shape {
        [1, frames, columns] => Ok((frames, columns, scores)),
        _ => Err(format!("scores of shape {shape:?}, and [1, T, V] is expected")),
    }
}

/// Rows of `width` values as columns.
fn transposed(values: &[f32], width: usize) -> Vec<f32> {
    (0..width).flat_map(|column| values.iter().skip(column).step_by(width).copied()).collect()
}

/// Makes scores of a row log-probabilities; says whether that is possible.
fn log_softmax(row: &mut [f32]) -> bool {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|&score| f64::from(score - most).exp()).sum();
    #[expect(clippy::cast_possible_truncation, reason = "log-probabilities are of single precision")]
    let log_sum = (f64::from(most) + sum.ln()) as f32;
    row.iter_mut().for_each(|score| *score -= log_sum);
    most.is_finite() && !sum.is_nan()
}

impl Network for OnnxNetwork {
    fn num_inputs(&self) -> Option<usize> {
        Some(self.width)
    }

    fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    fn subsampling(&self) -> usize {
        self.subsampling
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
            // Operators such as Relu may make a number of what is none.
            if let Some(at) = own.iter().position(|x| !x.is_finite()) {
                return Err(wrong(format!("row {}: {} is not finite", at / self.width, own[at])));
            }
            let (mut scores, columns) = self.run(own.to_vec(), own.len() / self.width).map_err(wrong)?;
            if columns != self.num_outputs {
                return Err(wrong(format!("{columns} scores a row, and there are {} tokens", self.num_outputs)));
            }
            for (frame, row) in scores.chunks_exact_mut(columns.max(1)).enumerate() {
                if !log_softmax(row) {
                    return Err(wrong(format!("frame {frame}: its scores are not finite")));
                }
            }
            lengths.push(scores.len() / columns.max(1));
            values.append(&mut scores);
        }
        let lod = Lod::from_lengths(&[lengths])?;
        Ok(LodTensor::from_vec([lod.num_rows().unwrap_or(0), self.num_outputs], values, lod)?)
    }

    fn stream(&self) -> Result<Box<dyn kaldera_network::NetworkStream + '_>, NetworkError> {
        Err(NetworkError::NoStream { because: "an ONNX file without a state looks at all of it" })
    }
}
