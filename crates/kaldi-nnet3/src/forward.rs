//! Whole utterances.

use std::sync::{Arc, Mutex, PoisonError};

use kaldi_matrix::{Matrix, MatrixBase, Storage};

use crate::buffers::Buffers;
use crate::error::Error;
use crate::execute::execute;
use crate::explore::{Explorer, Given, Index, MAX_LOOKS};
use crate::network::{Entry, Graph};
use crate::nnet::Nnet;
use crate::plan::{Plan, Planner, Request, TOO_LONG};

/// The name of the input of features in a network for recognition.
const INPUT: &str = "input";
/// The name of the input of i-vectors.
const IVECTOR: &str = "ivector";

/// Frames of a window in which the contexts are looked for, at first and at most.
const WINDOWS: [i32; 2] = [40, 1 << 14];

/// A window that is always looked at: Kaldi's largest.
const LEAST_WINDOW: i32 = 800;

/// Frames that are looked at, of all positions of the largest window together.
const FRAMES: i32 = 1 << 18;

/// Largest number of frames after which descriptors may repeat.
const MAX_MODULUS: u64 = 1 << 12;

/// Frames that the last i-vector may be behind, as in Kaldi.
const MAX_BEHIND: usize = 50;

/// Number of plans that are kept.
const MAX_PLANS: usize = 16;

/// A network ready to compute, in test mode.
///
/// Batch norms, dropout and rectifiers are parts of the functions before them, and a fixed affine
/// transform is multiplied into the next one if that is less to compute. All methods may be called
/// from several threads.
#[derive(Debug)]
pub struct Network {
    pub(crate) graph: Graph,
    pub(crate) input: (usize, usize),
    pub(crate) ivector: Option<(usize, usize)>,
    left_context: i32,
    right_context: i32,
    /// Subtracted from each row of the output; there may be none.
    log_priors: Vec<f32>,
    plans: Mutex<Vec<(Shape, Arc<Plan>)>>,
}

/// The frames from `from` to before `to` are given; `outputs` frames are computed, `step` apart.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    from: i32,
    to: i32,
    outputs: i32,
    step: i32,
}

/// The i-vectors of an utterance.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Ivectors<'a> {
    /// None.
    #[default]
    None,
    /// One for all frames.
    One(&'a [f32]),
    /// A row for each `period` frames. A chunk takes the one at its middle, or the last one if that
    /// is at most 50 frames behind.
    Online {
        /// The rows.
        rows: &'a Matrix<f32>,
        /// Number of frames from one row to the next.
        period: usize,
    },
}

impl<'a> Ivectors<'a> {
    /// A row for each `period` frames.
    pub fn online(rows: &'a Matrix<f32>, period: usize) -> Self {
        Self::Online { rows, period }
    }
}

/// Options of the computation of an utterance.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ForwardOptions {
    /// The output has a row for every so many frames, the first one for frame 0.
    pub frame_subsampling_factor: usize,
    /// Number of frames that are computed at once; rounded up to a multiple of the subsampling
    /// factor and of the network's modulus.
    pub frames_per_chunk: usize,
    /// Frames before a chunk that are given in addition to those that the network needs.
    pub extra_left_context: usize,
    /// Frames after a chunk that are given in addition to those that the network needs.
    pub extra_right_context: usize,
    /// As `extra_left_context`, for the first chunk; as that one if `None`.
    pub extra_left_context_initial: Option<usize>,
    /// As `extra_right_context`, for the last chunk; as that one if `None`.
    pub extra_right_context_final: Option<usize>,
}

kaldera_base::setters! {
    ForwardOptions:
    frame_subsampling_factor, with_frame_subsampling_factor: usize = 1, "Sets the frames from an output row to the next.";
    frames_per_chunk, with_frames_per_chunk: usize = 50, "Sets the number of frames that are computed at once.";
    extra_left_context, with_extra_left_context: usize = 0, "Sets the additional frames before a chunk.";
    extra_right_context, with_extra_right_context: usize = 0, "Sets the additional frames after a chunk.";
    extra_left_context_initial, with_extra_left_context_initial: Option<usize> = None,
        "Sets the additional frames before the first chunk.";
    extra_right_context_final, with_extra_right_context_final: Option<usize> = None,
        "Sets the additional frames after the last chunk.";
}

impl Network {
    /// Prepares the output node `output` of a network.
    ///
    /// # Errors
    /// [`Error`], which names the component or the node that does not fit.
    pub fn new(nnet: &Nnet) -> Result<Self, Error> {
        let graph = Graph::new(nnet, "output")?;
        let used = |&(node, _): &(usize, usize)| matches!(graph.entries[node], Entry::Input);
        let input = nnet.input(INPUT);
        let input = input.ok_or_else(|| Error::NoNode { kind: "input", name: INPUT.to_owned() })?;
        let ivector = nnet.input(IVECTOR).filter(used);
        for (node, entry) in graph.entries.iter().enumerate() {
            if matches!(entry, Entry::Input) && node != input.0 && ivector.is_none_or(|(known, _)| known != node) {
                let problem =
                    format!("it has an input `{}`, and only {INPUT} and {IVECTOR} are known", graph.names[node]);
                return Err(Error::Unsupported { problem });
            }
        }
        let (left_context, right_context) = contexts(&graph, input.0, ivector.map(|(node, _)| node))?;
        let plans = Mutex::default();
        Ok(Self { graph, input, ivector, left_context, right_context, log_priors: Vec::new(), plans })
    }

    /// Subtracts the logarithms of priors from each row of the output, as decoders do. There are as
    /// many as columns, or none, as in a chain model.
    ///
    /// # Errors
    /// [`Error::Priors`] for another number.
    #[doc(alias = "SetPriors")]
    pub fn with_priors(self, priors: &[f32]) -> Result<Self, Error> {
        let (expected, found) = (self.output_dim(), priors.len());
        match found == expected || priors.is_empty() {
            true => Ok(Self { log_priors: priors.iter().map(|prior| prior.ln()).collect(), ..self }),
            false => Err(Error::Priors { expected, found }),
        }
    }

    /// Returns the number of columns of the features.
    pub fn input_dim(&self) -> usize {
        self.input.1
    }

    /// Returns the dimension of the i-vectors; `None` if the output needs none.
    pub fn ivector_dim(&self) -> Option<usize> {
        self.ivector.map(|(_, dim)| dim)
    }

    /// Returns the number of columns of the output.
    pub fn output_dim(&self) -> usize {
        self.graph.widths[self.graph.output]
    }

    /// Returns the number of frames before a frame that its output needs.
    pub fn left_context(&self) -> usize {
        self.left_context.unsigned_abs() as usize
    }

    /// Returns the number of frames after a frame that its output needs.
    pub fn right_context(&self) -> usize {
        self.right_context.unsigned_abs() as usize
    }

    /// Returns the number of frames after which the network repeats.
    #[doc(alias = "Modulus")]
    pub fn modulus(&self) -> usize {
        usize::try_from(self.graph.modulus).unwrap_or(usize::MAX)
    }

    /// Computes the output for an utterance. Frames before the first one and after the last one are
    /// copies of these.
    ///
    /// # Errors
    /// [`Error`] for features or i-vectors that do not fit; [`Error::TooFewIvectors`].
    #[doc(alias = "nnet3-compute")]
    pub fn compute<S: Storage<Elem = f32>>(
        &self,
        features: &MatrixBase<S>,
        ivectors: Ivectors<'_>,
        options: &ForwardOptions,
    ) -> Result<Matrix<f32>, Error> {
        if features.num_rows() == 0 {
            return Ok(Matrix::default());
        }
        self.check_width(features.num_cols())?;
        let step = usize_to_frames("frame_subsampling_factor", options.frame_subsampling_factor.max(1))?;
        let chunk = self.chunk_frames(options.frames_per_chunk, options.frame_subsampling_factor)?;
        let frames = usize_to_frames("the number of frames", features.num_rows())?;
        let outputs = (frames + step - 1) / step;
        let mut result = Vec::with_capacity(features.num_rows().div_ceil(step as usize) * self.output_dim());
        let per_chunk = chunk / step;
        let extra = |value: usize| usize_to_frames("an extra context", value);
        let mut buffers = Buffers::new(&self.graph);
        let mut start = 0;
        while start < outputs {
            let count = per_chunk.min(outputs - start);
            let (is_first, is_last) = (start == 0, start + count == outputs);
            let left = options.extra_left_context_initial.filter(|_| is_first).unwrap_or(options.extra_left_context);
            let right = options.extra_right_context_final.filter(|_| is_last).unwrap_or(options.extra_right_context);
            let (left, right) = (self.left_context + extra(left)?, self.right_context + extra(right)?);
            let first = start * step;
            let shape = Shape { from: -left, to: (count - 1) * step + right + 1, outputs: count, step };
            let ivector = self.ivector_at(ivectors, first, (count - 1) * step)?;
            let plan = self.plan(&shape)?;
            buffers.begin(&self.graph, &plan);
            let rows = buffers.new_rows(&self.graph, &plan, self.input.0).chunks_exact_mut(self.input.1);
            for (t, row) in (first - left..).zip(rows) {
                row.copy_from_slice(features.row_data(t.clamp(0, frames - 1) as usize));
            }
            if let Some((node, _)) = self.ivector {
                buffers.new_rows(&self.graph, &plan, node).copy_from_slice(ivector);
            }
            execute(&self.graph, &plan, None, &mut [&mut buffers]);
            self.take_outputs(&plan, &buffers, &mut result);
            buffers.end(&self.graph, None);
            start += count;
        }
        let rows = result.len() / self.output_dim();
        Ok(Matrix::from_vec(rows, if rows > 0 { self.output_dim() } else { 0 }, result)
            .expect("whole rows were computed"))
    }

    /// Computes the output at frame 0 from all frames, as for an x-vector.
    ///
    /// # Errors
    /// [`Error`] for features that do not fit; [`Error::NotComputable`] for too few.
    #[doc(alias = "nnet3-xvector-compute")]
    pub fn compute_vector<S: Storage<Elem = f32>>(&self, features: &MatrixBase<S>) -> Result<Vec<f32>, Error> {
        self.check_width(features.num_cols())?;
        if self.ivector.is_some() {
            return Err(Error::NoInput { name: IVECTOR.to_owned() });
        }
        let frames = usize_to_frames("the number of frames", features.num_rows())?;
        let plan = self.plan(&Shape { from: 0, to: frames, outputs: 1, step: 1 })?;
        let mut buffers = Buffers::new(&self.graph);
        buffers.begin(&self.graph, &plan);
        let rows = buffers.new_rows(&self.graph, &plan, self.input.0).chunks_exact_mut(self.input.1);
        for (t, row) in rows.enumerate() {
            row.copy_from_slice(features.row_data(t));
        }
        execute(&self.graph, &plan, None, &mut [&mut buffers]);
        let mut result = Vec::new();
        self.take_outputs(&plan, &buffers, &mut result);
        Ok(result)
    }

    /// Returns the frames before and after a frame that its output needs.
    pub(crate) fn contexts(&self) -> (i32, i32) {
        (self.left_context, self.right_context)
    }

    pub(crate) fn check_width(&self, found: usize) -> Result<(), Error> {
        match found == self.input.1 {
            true => Ok(()),
            false => Err(Error::InputWidth { name: INPUT.to_owned(), expected: self.input.1, found }),
        }
    }

    pub(crate) fn check_ivector(&self, found: usize) -> Result<(), Error> {
        match self.ivector {
            Some((_, dim)) if found == dim => Ok(()),
            Some(_) if found == 0 => Err(Error::NoInput { name: IVECTOR.to_owned() }),
            Some((_, expected)) => Err(Error::InputWidth { name: IVECTOR.to_owned(), expected, found }),
            None => Ok(()),
        }
    }

    /// Returns the frames of a chunk, rounded up to a multiple of the step and the modulus.
    pub(crate) fn chunk_frames(&self, frames: usize, step: usize) -> Result<i32, Error> {
        let step = step.max(1) as u64;
        let unit = crate::descriptor::lcm(step, self.graph.modulus);
        let chunk = (frames.max(1) as u64).div_ceil(unit).saturating_mul(unit);
        usize_to_frames("frames_per_chunk", usize::try_from(chunk).unwrap_or(usize::MAX))
    }

    /// Appends the output rows.
    pub(crate) fn take_outputs(&self, plan: &Plan, buffers: &Buffers, to: &mut Vec<f32>) {
        let width = self.output_dim();
        for &row in &plan.outputs {
            let begin = to.len();
            to.extend_from_slice(&buffers.nodes[self.graph.output][row as usize * width..][..width]);
            to[begin..].iter_mut().zip(&self.log_priors).for_each(|(score, log_prior)| *score -= log_prior);
        }
    }

    /// Returns the i-vector of a chunk: the newest one at its middle.
    fn ivector_at<'a>(&self, ivectors: Ivectors<'a>, first: i32, frames: i32) -> Result<&'a [f32], Error> {
        let ivector = match ivectors {
            Ivectors::None => &[],
            Ivectors::One(ivector) => ivector,
            Ivectors::Online { rows, period } => {
                let middle = (first + frames / 2).unsigned_abs() as usize;
                let (found, period) = (rows.num_rows(), period.max(1));
                let row = (middle / period).min(found.saturating_sub(1));
                if (middle / period - row).saturating_mul(period) > MAX_BEHIND {
                    return Err(Error::TooFewIvectors { frame: middle, found, period });
                }
                if found == 0 { &[] } else { rows.row_data(row) }
            }
        };
        self.check_ivector(ivector.len()).map(|()| ivector)
    }

    fn plan(&self, shape: &Shape) -> Result<Arc<Plan>, Error> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plan)) = plans.iter().find(|(known, _)| known == shape) {
            return Ok(Arc::clone(plan));
        }
        drop(plans);
        let mut given = vec![(self.input.0, Given::Range(shape.from, shape.to))];
        given.extend(self.ivector.map(|(node, _)| (node, Given::Frames(vec![0]))));
        let outputs = (0..shape.outputs).map(|i| i * shape.step).collect();
        let plan = Planner::new(&self.graph).plan(&Request { given, outputs }, &|_, _| false)?;
        let plan = Arc::new(plan);
        plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= MAX_PLANS {
            plans.remove(0);
        }
        plans.push((shape.clone(), Arc::clone(&plan)));
        Ok(plan)
    }
}

/// Converts a number of frames, which must be far from the limits of its type.
pub(crate) fn usize_to_frames(name: &str, frames: usize) -> Result<i32, Error> {
    let value = i32::try_from(frames).ok().filter(|&frames| frames < 1 << 28);
    value.ok_or_else(|| Error::Unsupported { problem: format!("{name} is {frames}, which is beyond 2^28") })
}

/// Finds the frames before and after a frame that its output needs, for any frame: as Kaldi, by
/// looking at which outputs can be computed from a window.
fn contexts(graph: &Graph, input: usize, ivector: Option<usize>) -> Result<(i32, i32), Error> {
    if graph.modulus > MAX_MODULUS {
        let problem = format!("it repeats after {} frames only, at most {MAX_MODULUS} are supported", graph.modulus);
        return Err(Error::Unsupported { problem });
    }
    let shifts = i32::try_from(graph.modulus).unwrap_or(1);
    let [mut window, most] = WINDOWS;
    let most = most.min(FRAMES / shifts).max(LEAST_WINDOW);
    let mut looks = 0;
    while window <= most {
        let found: Result<Vec<_>, Error> =
            (0..shifts).map(|shift| context(graph, input, ivector, shift, window, &mut looks)).collect();
        let found: Option<Vec<_>> = found?.into_iter().collect();
        if let Some(found) = found {
            let most = |side: fn(&(i32, i32)) -> i32| found.iter().map(side).max().unwrap_or(0);
            return Ok((most(|found| found.0), most(|found| found.1)));
        }
        window *= 2;
    }
    let problem = format!("no output can be computed from {most} frames");
    Err(Error::Unsupported { problem })
}

/// Finds the contexts in one window; `None` if no output can be computed.
fn context(
    graph: &Graph,
    input: usize,
    ivector: Option<usize>,
    from: i32,
    window: i32,
    looks: &mut u64,
) -> Result<Option<(i32, i32)>, Error> {
    let mut explorer = Explorer::new(graph);
    explorer.given[input] = Some(Given::Range(from, from + window));
    if let Some(ivector) = ivector {
        explorer.given[ivector] = Some(Given::Any);
    }
    explorer.restart(from, from + window);
    let can: Vec<bool> = (0..window).map(|t| explorer.computable(graph.output, Index::at(from + t))).collect();
    *looks += explorer.looks();
    if explorer.is_exhausted() || *looks > MAX_LOOKS {
        return Err(Error::Unsupported { problem: TOO_LONG.into() });
    }
    let Some(first) = can.iter().position(|&can| can) else { return Ok(None) };
    let count = can[first..].iter().take_while(|&&can| can).count();
    let frames = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    Ok(Some((frames(first), window - frames(first + count))))
}
