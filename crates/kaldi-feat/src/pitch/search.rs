//! The search over the frames of a signal: forward as they arrive, and once more over the first
//! ones when more is known.

use kaldera_base::kernel;
use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::error::Error;
use crate::pitch::grid::Grid;
use crate::pitch::history::{Found, History};
use crate::pitch::nccf::Rows;
use crate::pitch::plan::Plan;
use crate::pitch::signal::{Loudness, Signal};
use crate::pitch::viterbi::{Scratch, Values};
use crate::state::{StateReader, StateWriter};

/// Number of rows in the history from which on it pays to look for frames whose pitch is final.
const SETTLE_ROWS: usize = 192;

/// A mean square that changed by this fraction of the sum of old and new changes the ballast enough
/// to find pitches anew.
const RECOMPUTE_THRESHOLD: f32 = 0.01;

/// The frames so far, and their results.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Search {
    pub(super) num_frames: usize,
    history: History,
    /// Data for finding the pitch of the first frames anew, until that is done.
    early: Early,
    /// Number of rows in the history at which to look for frames whose pitch is final.
    settle_at: usize,
    /// The result of each frame from `found_start` on.
    found: Vec<Found>,
    found_start: usize,
}

/// The frames that may be found anew.
#[derive(Debug, Clone, PartialEq, Default)]
struct Early {
    /// For each frame, the mean of Σ a² Σ b² over the measured lags, and the mean square that its
    /// ballast came from.
    frames: Vec<[f32; 2]>,
    /// Their measured correlations, with ballast, one frame after the other.
    nccf: Vec<f32>,
}

impl Early {
    fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.nccf.clear();
    }
}

/// Buffers for one frame.
#[derive(Debug, Default)]
pub(super) struct Memory {
    scratch: Scratch,
    frame: Vec<f32>,
    nccf: Vec<f32>,
    norm: Vec<f32>,
}

impl Search {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            num_frames: 0,
            history: History::new(plan),
            early: Early::default(),
            settle_at: SETTLE_ROWS,
            found: Vec::new(),
            found_start: 0,
        }
    }

    /// Goes back to before the first frame, in the memory that it has.
    pub(super) fn restart(&mut self, plan: &Plan) {
        self.history.restart(plan);
        self.early.clear();
        self.found.clear();
        (self.num_frames, self.settle_at, self.found_start) = (0, SETTLE_ROWS, 0);
    }

    /// Searches the frames up to `end`. If the ballast comes only from the audio up to each frame,
    /// `loudness` is the loudness of the signal before sample `from`; otherwise of the whole
    /// signal.
    pub(super) fn advance(
        &mut self,
        plan: &Plan,
        memory: &mut Memory,
        signal: &Signal,
        mut loudness: Loudness,
        mut from: usize,
        end: usize,
    ) {
        while self.num_frames < end {
            // Stops where the first frames are found anew, and where rows may be dropped.
            let mut until = end.min(self.num_frames + self.settle_at.saturating_sub(self.history.len()).max(1));
            if self.num_frames < plan.recompute_frame {
                until = until.min(plan.recompute_frame);
            }
            dispatch(Forward { search: self, plan, memory, signal, loudness: &mut loudness, from: &mut from, until });
            if plan.recomputes() && self.num_frames == plan.recompute_frame {
                self.recompute(plan, memory, loudness);
            }
            if self.history.len() >= self.settle_at {
                if self.early.is_empty() {
                    let Self { history, found, found_start, num_frames, .. } = self;
                    history.settle(plan, put(found, *found_start, *num_frames));
                }
                self.settle_at = SETTLE_ROWS.max(2 * self.history.len());
            }
        }
        self.follow_best(plan);
    }

    fn follow_best(&mut self, plan: &Plan) {
        let Self { history, found, found_start, num_frames, .. } = self;
        history.follow_best(plan, put(found, *found_start, *num_frames));
    }

    /// Returns the number of last frames whose pitch later frames may change, at most
    /// `max-frames-latency`.
    pub(super) fn latency(&self, plan: &Plan) -> usize {
        self.history.latency(plan, usize::try_from(plan.options.max_frames_latency).unwrap_or(0))
    }

    /// Finds the pitch of all frames so far anew, if the loudness now differs from the loudness
    /// that their ballast came from.
    ///
    /// A correlation's ballast can't be removed from it, but the whole row can be scaled by the
    /// effect of the other ballast on a typical one.
    pub(super) fn recompute(&mut self, plan: &Plan, memory: &mut Memory, loudness: Loudness) {
        let mean_square = loudness.mean_square() as f32;
        if self.early.frames.iter().all(|&[_, before]| approx_equal(before, mean_square)) {
            self.early.clear();
            return;
        }
        let new_ballast = plan.ballast(f64::from(mean_square));
        let Early { frames, nccf } = &mut self.early;
        let rows = nccf.chunks_exact_mut(plan.grid.measured_row());
        for ((row, &[norm, mean_square]), nccf) in frames.iter().enumerate().zip(rows) {
            let old_ballast = plan.ballast(f64::from(mean_square));
            let scale = ((old_ballast + norm) / (new_ballast + norm)).sqrt();
            nccf.iter_mut().for_each(|x| *x *= scale);
            let (before, after) = self.history.row_pair(row);
            // From one row of costs to the next.
            dispatch(kernel!(<'a>(
                s: S,
                plan: &'a Plan,
                scratch: &'a mut Scratch = &mut memory.scratch,
                before: &'a [f32],
                nccf: &'a [f32],
                after: &'a mut [f32],
            ) {
                step(s, plan, scratch, before, nccf, after);
            }));
        }
        self.early.clear();
        self.history.forget_paths();
        self.follow_best(plan);
    }

    /// Returns correlation and pitch of a frame.
    pub(super) fn found(&self, frame: usize) -> Option<&Found> {
        self.found.get(frame.checked_sub(self.found_start)?)
    }

    pub(super) fn discard(&mut self, before: usize) {
        let count = before.saturating_sub(self.found_start).min(self.found.len());
        self.found.drain(..count);
        self.found_start += count;
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        state.u64(self.num_frames as u64);
        self.history.save(state);
        let Early { frames, nccf } = &self.early;
        state.u64(frames.len() as u64);
        for (frame, nccf) in frames.iter().zip(nccf.chunks_exact((nccf.len() / frames.len().max(1)).max(1))) {
            state.f32s(frame);
            state.f32s(nccf);
        }
        state.u64(self.settle_at as u64);
        state.u64(self.found_start as u64);
        state.f32s(self.found.as_flattened());
    }

    pub(super) fn restore(plan: &Plan, state: &mut StateReader<'_>) -> Result<Self, Error> {
        let bad = Err(Error::BadState { reason: "its frames are not those of such a stream" });
        let num_frames = state.usize()?;
        let history = History::restore(plan, state)?;
        let mut early = Early::default();
        for _ in 0..state.usize()? {
            let numbers = state.f32s()?;
            let nccf = state.f32s()?;
            let (&[norm, mean_square], true) = (&numbers[..], nccf.len() == plan.grid.measured_row()) else {
                return bad;
            };
            early.frames.push([norm, mean_square]);
            early.nccf.extend(nccf);
        }
        let (settle_at, found_start) = (state.usize()?, state.usize()?);
        let found = state.f32s()?;
        let (found, rest) = found.as_chunks();
        let frames_fit = history.end().checked_sub(1) == Some(num_frames)
            && found_start.checked_add(found.len()) == Some(num_frames)
            && rest.is_empty();
        let early_fit = early.is_empty()
            || (early.frames.len() == num_frames && history.len() == num_frames + 1 && !history.is_shared());
        if !frames_fit || !early_fit {
            return bad;
        }
        Ok(Self { num_frames, history, early, settle_at, found: found.to_vec(), found_start })
    }
}

/// Returns a function that stores the result of a frame, unless the frame was discarded.
fn put(found: &mut Vec<Found>, start: usize, num_frames: usize) -> impl FnMut(usize, Found) {
    found.resize(num_frames - start, [0.0; 2]);
    move |frame, values| {
        if let Some(place) = frame.checked_sub(start) {
            found[place] = values;
        }
    }
}

/// Kaldi's comparison of two numbers.
fn approx_equal(a: f32, b: f32) -> bool {
    a == b || (a - b).abs() <= RECOMPUTE_THRESHOLD * (a.abs() + b.abs())
}

struct Forward<'a> {
    search: &'a mut Search,
    plan: &'a Plan,
    memory: &'a mut Memory,
    signal: &'a Signal,
    loudness: &'a mut Loudness,
    from: &'a mut usize,
    until: usize,
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { search, plan, memory, signal, loudness, from, until } = self;
        let Plan { options, grid, .. } = plan;
        let Memory { scratch, frame, nccf, norm } = memory;
        frame.resize(grid.frame_room(), 0.0);
        nccf.resize(grid.measured_row(), 0.0);
        norm.resize(grid.measured_row(), 0.0);
        for number in search.num_frames..until {
            signal.copy_frame(grid, number, options.preemph_coeff, frame);
            if options.nccf_ballast_online {
                let end = grid.first_sample(number).saturating_add_unsigned(grid.full_length).max(0).cast_unsigned();
                loudness.add(signal.part(*from, end));
                *from = end.max(*from);
            }
            let mean_square = loudness.mean_square();
            let (before, after, pov) = search.history.push(search.early.is_empty());
            grid.correlate(s, frame, plan.ballast(mean_square), Rows { pitch: nccf, pov, norm });
            step(s, plan, scratch, before, nccf, after);
            if plan.recomputes() && number < plan.recompute_frame {
                let norms = &norm[..grid.num_measured];
                let norm = norms.iter().sum::<f32>() / norms.len() as f32;
                search.early.frames.push([norm, mean_square as f32]);
                search.early.nccf.extend_from_slice(nccf);
            }
        }
        search.num_frames = until;
    }
}

/// The local cost of a lag is 1 - nccf (1 - soft-min-f0 lag).
#[inline(always)]
fn step<S: Simd>(s: S, plan: &Plan, scratch: &mut Scratch, before: &[f32], nccf: &[f32], after: &mut [f32]) {
    plan.transitions.forward(s, scratch, before, LocalCosts { grid: &plan.grid, nccf }, after);
}

struct LocalCosts<'a> {
    grid: &'a Grid,
    nccf: &'a [f32],
}

impl<S: Simd> Values<S> for LocalCosts<'_> {
    #[inline(always)]
    fn at(&self, s: S, i: usize) -> S::F32 {
        let nccf = self.grid.at_lags(s, self.nccf, i);
        s.mul_add(s.load(&self.grid.soft_lags[i..]), nccf, s.sub(s.splat(1.0), nccf))
    }
}
