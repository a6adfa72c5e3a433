//! Intersection with network output, and the loss over it.

use kaldera::fsa::Graph;
use kaldera::fsa::dense::{DenseFsaVec, DenseOptions, Outcome, Segment};
use kaldera::losses::{CtcGraphOptions, CtcGraphSaved, Error, Reduction, ctc_loss_graph as loss_of_graph};
use numpy::{Ix3, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use self_cell::self_cell;

use crate::arguments::{Array, Count, list};
use crate::attributes::graph;
use crate::automata::RaggedArc;
use crate::errors::exception;
use crate::losses::{Gradient, LossSaved, Saved};
use crate::threads;

/// Segments of sequences: sequence, first frame and number of frames of each.
type Segments = Vec<[usize; 3]>;

/// Log-probabilities [N, T, C], copied: other threads of Python may write into the array meanwhile.
fn owned(log_probs: &Array<'_, f32, Ix3>) -> PyResult<(Vec<f32>, [usize; 3])> {
    let shape = [log_probs.shape()[0], log_probs.shape()[1], log_probs.shape()[2]];
    Ok((log_probs.to_vec()?, shape))
}

/// Log-probabilities [N, T, C], and the segments of them that are utterances.
fn dense(
    values: &[f32],
    [sequences, frames, classes]: [usize; 3],
    segments: Segments,
    allow_truncate: usize,
) -> PyResult<DenseFsaVec<'_>> {
    let whole = DenseFsaVec::from_padded(values, [sequences, frames, classes], &vec![frames; sequences]);
    let segment = |[sequence, start, duration]: [usize; 3]| Segment { sequence, start, duration };
    let segments = segments.into_iter().map(segment).collect();
    Ok(whole.map_err(exception)?.with_segments(segments).with_allow_truncate(allow_truncate))
}

/// Lattices, and for each of their arcs the arc of the graph or -1, the frame or -1, and the
/// index of its score in the values of the log-probabilities, or -1.
type Lattices<'py> = (RaggedArc, [Bound<'py, PyArray1<i32>>; 2], Bound<'py, PyArray1<i64>>);

/// Lattices of a graph with network output: pruned with a search beam, exact without.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side calls it with names")]
pub(crate) fn intersect_dense<'py>(
    py: Python<'py>,
    arcs: PyRef<'py, RaggedArc>,
    log_probs: Array<'py, f32, Ix3>,
    #[pyo3(from_py_with = list)] segments: Segments,
    allow_truncate: Count,
    search_beam: Option<f32>,
    output_beam: f32,
    min_active_states: Count,
    max_active_states: Count,
    allow_partial: bool,
) -> PyResult<Lattices<'py>> {
    let (values, shape) = owned(&log_probs)?;
    let [_, frames, classes] = shape;
    let dense = dense(&values, shape, segments, allow_truncate.0)?;
    let graph = &Graph::new(arcs.fsas.clone());
    let work = || match search_beam {
        None => graph.intersect_dense(&dense, output_beam),
        Some(beam) => {
            let options = DenseOptions::default()
                .with_search_beam(beam)
                .with_output_beam(output_beam)
                .with_min_active_states(min_active_states.0)
                .with_max_active_states(max_active_states.0)
                .with_allow_partial(allow_partial);
            graph.intersect_dense_pruned(&dense, &options)
        }
    };
    let lattices = threads::run(py, None, work)?.map_err(exception)?;
    for outcome in lattices.outcomes() {
        if let Outcome::Failed(error) = outcome {
            return Err(exception(error.clone()));
        }
    }
    let mut places = Vec::with_capacity(lattices.frames().len());
    let mut own = lattices.classes().into_iter().zip(lattices.frames());
    for (fsa, segment) in lattices.graph().fsas().iter().zip(dense.segments()) {
        let first = segment.sequence * frames + segment.start;
        for (class, &frame) in own.by_ref().take(fsa.arcs().len()) {
            let place = usize::try_from(class).ok().zip(usize::try_from(frame).ok());
            let place = place.map(|(class, frame)| (first + frame) * classes + class);
            places.push(place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1));
        }
    }
    let maps = [lattices.graph_arcs(), lattices.frames()].map(|map| PyArray1::from_slice(py, map));
    let fsas = lattices.into_parts().0.into_parts().0;
    Ok((fsas.into(), maps, PyArray1::from_vec(py, places)))
}

/// The data that the gradient of the loss over graphs needs, which borrow the log-probabilities.
type OfGraph<'a> = CtcGraphSaved<'a>;

self_cell!(
    /// It with the log-probabilities.
    struct WithValues {
        owner: Vec<f32>,
        #[not_covariant]
        dependent: OfGraph,
    }
);

/// The data that the gradient with respect to log-probabilities of a shape needs.
struct GraphLossSaved {
    shape: [usize; 3],
    saved: WithValues,
}

impl Saved for GraphLossSaved {
    fn backward(&self, grad: &[f64]) -> Result<Vec<Gradient>, Error> {
        let gradient = self.saved.with_dependent(|_, saved| saved.backward(grad))?;
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the type of the log-probabilities")]
        Ok(vec![Gradient::F32(self.shape.to_vec(), gradient.into_iter().map(|slope| slope as f32).collect())])
    }
}

/// CTC over graphs: the loss of each utterance.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side calls it with names")]
pub(crate) fn ctc_loss_graph<'py>(
    py: Python<'py>,
    arcs: PyRef<'py, RaggedArc>,
    attributes: &Bound<'py, PyDict>,
    log_probs: Array<'py, f32, Ix3>,
    #[pyo3(from_py_with = list)] segments: Segments,
    allow_truncate: Count,
    output_beam: f32,
    delay_penalty: f64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, LossSaved)> {
    let (values, shape) = owned(&log_probs)?;
    let number = segments.len();
    let options = CtcGraphOptions::default()
        .with_output_beam(output_beam)
        .with_delay_penalty(delay_penalty)
        .with_reduction(Reduction::None);
    let graph = graph(&arcs.fsas, attributes)?;
    let mut losses = Vec::new();
    let saved = threads::run(py, None, || {
        WithValues::try_new(values, |values| {
            let dense = dense(values, shape, segments, allow_truncate.0)?;
            // A mean is taken on Python's side.
            let (found, saved) = loss_of_graph(&graph, &dense, &vec![1; number], &options).map_err(exception)?;
            losses = found;
            Ok::<_, PyErr>(saved)
        })
    })??;
    let saved = Box::new(GraphLossSaved { shape, saved });
    Ok((PyArray1::from_vec(py, losses), LossSaved { saved }))
}
