//! The plans of Kaldi's looped computation: chunk after chunk, where no row is computed twice.

use std::sync::Mutex;

use crate::buffers::Buffers;
use crate::error::Error;
use crate::explore::{Given, Index};
use crate::forward::{Network, usize_to_frames};
use crate::network::Entry;
use crate::nnet::Nnet;
use crate::plan::{Plan, Planner, Request};

/// Rows of each node.
type ByNode = Vec<Vec<Index>>;

/// Chunks after which the plans must repeat.
const MAX_CHUNKS: usize = 128;

/// Options of the computation of streams.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoopedOptions {
    /// The output has a row for every so many frames, the first one for frame 0.
    pub frame_subsampling_factor: usize,
    /// Number of frames of a chunk; rounded up to a multiple of the subsampling factor and of the
    /// network's modulus.
    pub frames_per_chunk: usize,
    /// Copies of the first frame that are given in addition to those that the network needs.
    pub extra_left_context_initial: usize,
}

kaldera_base::setters! {
    LoopedOptions:
    frame_subsampling_factor, with_frame_subsampling_factor: usize = 1, "Sets the frames from an output row to the next.";
    frames_per_chunk, with_frames_per_chunk: usize = 20, "Sets the number of frames of a chunk.";
    extra_left_context_initial, with_extra_left_context_initial: usize = 0,
        "Sets the additional copies of the first frame.";
}

/// A network with the plans of its chunks.
///
/// The first chunk has the frames from `-left_context` to `frames_per_chunk + right_context`, each
/// later one the next `frames_per_chunk` ones. `ReplaceIndex(ivector, t, 0)` becomes
/// `Round(ivector, frames_per_chunk)`, as in Kaldi: a frame gets the i-vector of its block, and a
/// block the i-vector of the chunk in which its first frame came in.
#[derive(Debug)]
pub struct LoopedNetwork {
    pub(crate) network: Network,
    /// The last one is for all later chunks, too.
    pub(crate) plans: Vec<Plan>,
    pub(crate) chunk: i32,
    pub(crate) step: i32,
    pub(crate) left: i32,
    pub(crate) right: i32,
    /// Rows of chunks, for all streams: a stream itself has only the rows that it remembers.
    pub(crate) pool: Mutex<Vec<Buffers>>,
}

impl LoopedNetwork {
    /// Prepares a network for streams.
    ///
    /// # Errors
    /// As [`Network::new`]; [`Error::Unsupported`] for a network whose memory grows without bound.
    pub fn new(nnet: &Nnet, options: &LoopedOptions) -> Result<Self, Error> {
        let mut network = Network::new(nnet)?;
        let step = options.frame_subsampling_factor.max(1);
        let chunk = network.chunk_frames(options.frames_per_chunk, step)?;
        let step = usize_to_frames("frame_subsampling_factor", step)?;
        let extra = usize_to_frames("extra_left_context_initial", options.extra_left_context_initial)?;
        let (left, right) = network.contexts();
        let (left, right) = (left + extra, right);
        if network.ivector_dim().is_some() {
            network.graph.set_ivector_period(nnet, chunk);
        }
        let pool = Mutex::default();
        let mut looped = Self { network, plans: Vec::new(), chunk, step, left, right, pool };
        looped.plans = looped.plan()?;
        Ok(looped)
    }

    /// As [`Network::with_priors`].
    ///
    /// # Errors
    /// [`Error::Priors`] for another number than that of the columns.
    pub fn with_priors(self, priors: &[f32]) -> Result<Self, Error> {
        Ok(Self { network: self.network.with_priors(priors)?, ..self })
    }

    /// Returns the number of frames of a chunk.
    pub fn frames_per_chunk(&self) -> usize {
        self.chunk.unsigned_abs() as usize
    }

    /// Returns the frames from an output row to the next.
    pub fn frame_subsampling_factor(&self) -> usize {
        self.step.unsigned_abs() as usize
    }

    /// Returns the number of frames after a chunk that must be there.
    pub fn right_context(&self) -> usize {
        self.right.unsigned_abs() as usize
    }

    /// Returns the number of columns of the features.
    pub fn input_dim(&self) -> usize {
        self.network.input_dim()
    }

    /// Returns the dimension of the i-vectors; `None` if the output needs none.
    pub fn ivector_dim(&self) -> Option<usize> {
        self.network.ivector_dim()
    }

    /// Returns the number of columns of the output.
    pub fn output_dim(&self) -> usize {
        self.network.output_dim()
    }

    /// Returns the number of multiply-adds of the products of a chunk, of one stream.
    pub fn products_per_chunk(&self) -> usize {
        let graph = &self.network.graph;
        let products = self.plan_of(usize::MAX).units.iter().map(|unit| match &graph.entries[unit.node] {
            Entry::Computed { layer, .. } => unit.count * layer.products(),
            _ => 0,
        });
        products.sum()
    }

    /// Returns the number of input frames of a chunk.
    pub(crate) fn frames_of(&self, chunk: usize) -> usize {
        let frames = if chunk == 0 { self.left + self.chunk + self.right } else { self.chunk };
        frames.unsigned_abs() as usize
    }

    /// Returns the plan of a chunk.
    pub(crate) fn plan_of(&self, chunk: usize) -> &Plan {
        &self.plans[chunk.min(self.plans.len() - 1)]
    }

    /// Returns the frames that come in and go out with a chunk.
    fn request(&self, chunk: i32) -> Request {
        let start = chunk * self.chunk;
        let to = start + self.chunk + self.right;
        let from = if chunk == 0 { -self.left } else { to - self.chunk };
        let mut given = vec![(self.network.input.0, Given::Range(from, to))];
        if let Some((node, _)) = self.network.ivector {
            let block = |t: i32| t - t.rem_euclid(self.chunk);
            let first = if chunk == 0 { block(from) } else { block(from - 1) + self.chunk };
            let blocks = (first..to).step_by(self.frames_per_chunk()).collect();
            given.push((node, Given::Frames(blocks)));
        }
        let outputs = (start..start + self.chunk).step_by(self.frame_subsampling_factor()).collect();
        Request { given, outputs }
    }

    /// Makes the plans up to the one that is for all later chunks.
    fn plan(&self) -> Result<Vec<Plan>, Error> {
        let history = self.history()?;
        let mut planner = Planner::new(&self.network.graph);
        let mut plans: Vec<Plan> = Vec::new();
        let mut held = ByNode::new();
        for chunk in 0..MAX_CHUNKS {
            let number = i32::try_from(chunk).unwrap_or(i32::MAX);
            let keep = |node: usize, index: Index| history.needs(number, node, index);
            let plan = planner.plan(&self.request(number), &keep)?;
            let now = relative(&planner.held, number * self.chunk);
            if plans.last() == Some(&plan) && now == held {
                return Ok(plans);
            }
            plans.push(plan);
            held = now;
        }
        Err(Error::Unsupported { problem: format!("it does not repeat within {MAX_CHUNKS} chunks") })
    }

    /// Finds which rows each chunk uses of earlier ones, until that repeats.
    fn history(&self) -> Result<History, Error> {
        let mut planner = Planner::new(&self.network.graph);
        let mut uses: Vec<ByNode> = Vec::new();
        let mut last: Option<(ByNode, ByNode)> = None;
        let mut same = 0;
        for chunk in 0..MAX_CHUNKS {
            let number = i32::try_from(chunk).unwrap_or(i32::MAX);
            let start = number * self.chunk;
            planner.plan(&self.request(number), &|_, _| true)?;
            uses.push(planner.used.clone());
            let now = (relative(&planner.used, start), relative(&planner.fresh, start));
            same = if last.as_ref() == Some(&now) { same + 1 } else { 0 };
            let oldest = now.0.iter().flatten().map(|index| -index.t).max().unwrap_or(0);
            let memory = usize::try_from(oldest / self.chunk).unwrap_or(0) + 2;
            if same >= memory {
                // The first of those that are the same.
                uses.truncate(chunk + 1 - same);
                return Ok(History { uses, later: now.0, chunk: self.chunk });
            }
            last = Some(now);
        }
        let problem = format!(
            "what it remembers does not repeat within {MAX_CHUNKS} chunks of {} frames, as with statistics over a long time",
            self.chunk
        );
        Err(Error::Unsupported { problem })
    }
}

/// The rows of earlier chunks that chunks use, by node.
struct History {
    /// Of the first chunks.
    uses: Vec<ByNode>,
    /// Of the others, where frame 0 is the first one of the chunk.
    later: ByNode,
    chunk: i32,
}

impl History {
    /// Returns `true` if a chunk or one after it uses a row.
    fn needs(&self, chunk: i32, node: usize, index: Index) -> bool {
        let first = usize::try_from(chunk).unwrap_or(0);
        if self.uses.iter().skip(first).any(|uses| uses[node].binary_search(&index).is_ok()) {
            return true;
        }
        let later = i32::try_from(self.uses.len().max(first)).unwrap_or(i32::MAX);
        let Some(oldest) = self.later[node].iter().map(|index| index.t).min() else { return false };
        let mut now = index.later(-later * self.chunk);
        while now.t >= oldest {
            if self.later[node].contains(&now) {
                return true;
            }
            now = now.later(-self.chunk);
        }
        false
    }
}

fn relative(rows: &[Vec<Index>], start: i32) -> ByNode {
    rows.iter().map(|rows| rows.iter().map(|index| index.later(-start)).collect()).collect()
}
