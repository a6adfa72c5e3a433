//! Finite-state acceptors and transducers under k2's names.

use std::io::Cursor;

use kaldera::fsa::dense::{DenseFsaVec, DenseOptions, Outcome};
use kaldera::fsa::graphs::{ctc_graph as ctc_graph_of, ctc_topo as ctc_topo_of, trivial_graph as trivial_graph_of};
use kaldera::fsa::io::{Drawing, K2Text, read_npz, write_npz};
use kaldera::fsa::k2::{linear_fsa as linear_fsa_of, linear_fsas};
use kaldera::fsa::{AUX_LABELS, Attribute, Error, FsaOrVec, FsaVec, Fsas, Graph, Ragged, Semiring};
use kaldera::losses::{CtcGraphOptions, Reduction, ctc_loss_graph as loss_of_graph};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::arguments::{Count, Int};
use crate::errors::{exception, value_error};
use crate::threads;

/// An FSA, or a vector of them, with output labels and other attributes of arcs.
#[pyclass(frozen, module = "kaldera._kaldera")]
pub(crate) struct Fsa {
    graph: Graph<FsaOrVec>,
}

/// The same graph as either kind.
fn either<F: Fsas>(graph: Graph<F>) -> PyResult<Fsa> {
    let (fsas, attributes) = graph.into_parts();
    Ok(Fsa { graph: Graph::from_parts(fsas.into(), attributes).map_err(exception)? })
}

fn semiring(log: bool) -> Semiring {
    if log { Semiring::Log } else { Semiring::Tropical }
}

impl Fsa {
    fn vec(&self) -> &FsaVec {
        self.graph.fsas().as_fsa_vec()
    }

    /// Another graph made of this one, without Python's lock.
    fn made<F: Fsas + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Graph<FsaOrVec>) -> Result<Graph<F>, Error> + Send,
    ) -> PyResult<Self> {
        either(threads::run(py, None, || work(&self.graph))?.map_err(exception)?)
    }

    /// Numbers computed of this one, float64 if `double`, float32 otherwise.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        double: bool,
        work: impl FnOnce(&Graph<FsaOrVec>) -> Result<Vec<f64>, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = threads::run(py, None, || work(&self.graph))?.map_err(exception)?;
        if double {
            return Ok(PyArray1::from_vec(py, values).into_any());
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the type that is asked for")]
        let values = values.into_iter().map(|value| value as f32).collect();
        Ok(PyArray1::<f32>::from_vec(py, values).into_any())
    }
}

#[pymethods]
impl Fsa {
    /// Reads k2's text, or OpenFst's.
    #[staticmethod]
    #[pyo3(signature = (text, acceptor=None, num_aux_labels=None, openfst=false))]
    fn from_str(
        py: Python<'_>,
        text: &str,
        acceptor: Option<bool>,
        num_aux_labels: Option<Count>,
        openfst: bool,
    ) -> PyResult<Self> {
        let num_aux_labels = num_aux_labels.map(|Count(number)| number);
        if let (Some(acceptor), Some(number)) = (acceptor, num_aux_labels)
            && number != usize::from(!acceptor)
        {
            let acceptor = if acceptor { "True" } else { "False" };
            return Err(value_error(format!(
                "acceptor={acceptor} and num_aux_labels={number} contradict each other: leave one out"
            )));
        }
        let format = match num_aux_labels {
            None if acceptor == Some(false) => K2Text::transducer(),
            None | Some(0) => K2Text::acceptor(),
            Some(1) => K2Text::transducer(),
            Some(number) => K2Text::acceptor().labels(number),
        };
        either(py.detach(|| format.openfst(openfst).read(text)).map_err(exception)?)
    }

    /// k2's text, or OpenFst's; of one FSA.
    #[pyo3(signature = (openfst=false))]
    fn to_str(&self, py: Python<'_>, openfst: bool) -> PyResult<String> {
        py.detach(|| K2Text::of(&self.graph).openfst(openfst).print(&self.graph)).map_err(exception)
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.to_str(py, false)
    }

    fn __repr__(&self) -> String {
        let fsas = self.vec();
        let kind = if self.graph.fsas().is_single() { "Fsa".into() } else { format!("FsaVec of {}", fsas.num_fsas()) };
        format!("<{kind}, {} states, {} arcs>", fsas.num_states(), fsas.num_arcs())
    }

    /// The axes: (states, None), or (fsas, None, None).
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.graph.fsas().is_single() {
            true => (self.vec().num_states(), py.None()).into_pyobject(py)?.into_any(),
            false => (self.vec().num_fsas(), py.None(), py.None()).into_pyobject(py)?.into_any(),
        })
    }

    /// How many states there are, in all FSAs.
    #[getter]
    fn num_states(&self) -> usize {
        self.vec().num_states()
    }

    /// How many arcs there are, in all FSAs.
    #[getter]
    fn num_arcs(&self) -> usize {
        self.vec().num_arcs()
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.graph.fsas().is_single() {
            true => Err(pyo3::exceptions::PyTypeError::new_err("this is one FSA and no vector of them")),
            false => Ok(self.vec().num_fsas()),
        }
    }

    /// One FSA of a vector.
    fn __getitem__(&self, i: isize) -> PyResult<Self> {
        let number = self.__len__()?;
        let at = if i < 0 { i.checked_add_unsigned(number) } else { Some(i) };
        let at = at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < number);
        let at = at.ok_or_else(|| PyIndexError::new_err(format!("there is no FSA {i}: there are {number}")))?;
        let index = [i32::try_from(at).map_err(|_| PyIndexError::new_err("there are too many FSAs"))?];
        let (_, arc_map) = self.vec().index(&index).map_err(exception)?;
        let fsa = self.vec().get(at).map_err(exception)?;
        either(self.graph.carry((fsa, arc_map)).map_err(exception)?)
    }

    /// Source and destination state, and label, of each arc: int32 [arcs, 3].
    #[getter]
    fn arcs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let arcs = self.vec().arcs();
        let values = arcs.iter().flat_map(|arc| [arc.src_state, arc.dest_state, arc.label]).collect();
        PyArray1::from_vec(py, values).reshape([arcs.len(), 3])
    }

    /// The label of each arc: int32 [arcs].
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        PyArray1::from_vec(py, self.vec().labels())
    }

    /// The score of each arc: float32 [arcs].
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_vec(py, self.vec().scores())
    }

    /// The output label of each arc, int32 [arcs], or a list of labels for each arc; none of an
    /// acceptor.
    #[getter]
    fn aux_labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.graph.attributes().get(AUX_LABELS) {
            Some(Attribute::Ints { values, .. }) => Some(PyArray1::from_slice(py, values).into_any()),
            Some(Attribute::Lists(lists)) => {
                let lists: Vec<Vec<i32>> = (0..lists.num_rows()).map(|i| lists.row(i).to_vec()).collect();
                Some(lists.into_pyobject(py)?.into_any())
            }
            _ => None,
        })
    }

    /// The same with other scores.
    fn with_scores(&self, py: Python<'_>, scores: Vec<f32>) -> PyResult<Self> {
        let fsas = py.detach(|| match self.graph.fsas() {
            FsaOrVec::Fsa(fsa) => fsa.with_scores(&scores).map(FsaOrVec::from),
            FsaOrVec::FsaVec(fsas) => fsas.with_scores(&scores).map(FsaOrVec::from),
        });
        let fsas = fsas.map_err(exception)?;
        Ok(Self { graph: Graph::from_parts(fsas, self.graph.attributes().clone()).map_err(exception)? })
    }

    /// Arcs of each state in the order of their labels.
    fn arc_sort(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::arc_sort)
    }
    /// The states on a path from the start to the final state.
    fn connect(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::connect)
    }
    /// States in topological order; only self-loops may lead back.
    fn top_sort(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::top_sort)
    }
    /// Labels and output labels exchanged.
    fn invert(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::invert)
    }
    /// What reads all strings backwards.
    fn reverse(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::reverse)
    }
    /// What reads any number of strings in a row.
    fn closure(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::closure)
    }
    /// The same strings with the same best scores, without arcs of label 0.
    fn remove_epsilon(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::remove_epsilon)
    }
    /// A self-loop of label 0 at each state but the final one.
    fn add_epsilon_self_loops(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::add_epsilon_self_loops)
    }
    /// The best path of each FSA, a linear FSA.
    fn shortest_path(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, Graph::shortest_path)
    }
    /// At most one arc of each label from a state; k2's.
    fn determinize(&self, py: Python<'_>) -> PyResult<Self> {
        self.made(py, |graph| graph.determinize(kaldera::fsa::k2::DeterminizeOptions::default()))
    }
    /// What both read; label 0 is epsilon.
    fn intersect(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.made(py, |graph| graph.intersect(&other.graph, kaldera::fsa::k2::IntersectOptions::default()))
    }
    /// Reads as this one, writes as the other.
    fn compose(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.made(py, |graph| graph.compose(&other.graph))
    }

    /// The sum (log semiring) or maximum over all paths of each FSA: [fsas]. Sums are in double precision; float32 is rounded.
    fn get_tot_scores<'py>(
        &self,
        py: Python<'py>,
        use_double_scores: bool,
        log_semiring: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, use_double_scores, |graph| graph.total_scores(semiring(log_semiring)))
    }

    /// The score of all paths to each state: [states]. Sums are in double precision; float32 is rounded.
    fn get_forward_scores<'py>(
        &self,
        py: Python<'py>,
        use_double_scores: bool,
        log_semiring: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, use_double_scores, |graph| graph.forward_scores(semiring(log_semiring)))
    }

    /// The score of all paths from each state: [states]. Sums are in double precision; float32 is rounded.
    fn get_backward_scores<'py>(
        &self,
        py: Python<'py>,
        use_double_scores: bool,
        log_semiring: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, use_double_scores, |graph| graph.backward_scores(semiring(log_semiring)))
    }

    /// The logarithm of each arc's share of all paths: [arcs]. Sums are in double precision; float32 is rounded.
    fn get_arc_post<'py>(
        &self,
        py: Python<'py>,
        use_double_scores: bool,
        log_semiring: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, use_double_scores, |graph| graph.arc_posteriors(semiring(log_semiring)))
    }

    /// A drawing: SVG.
    fn _repr_svg_(&self) -> PyResult<String> {
        Drawing::default().svg(&self.graph).map_err(exception)
    }

    /// A drawing for Graphviz.
    fn to_dot(&self) -> String {
        Drawing::default().dot(&self.graph)
    }

    /// The arrays of the FSA, as a `.npz` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let mut file = Cursor::new(Vec::new());
        write_npz(&self.graph, &mut file).map_err(exception)?;
        Ok(pyo3::types::PyBytes::new(py, &file.into_inner()))
    }

    /// An FSA from what `to_bytes` made of it.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        either(read_npz(Cursor::new(bytes)).map_err(exception)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let made = slf.get().to_bytes(slf.py())?.into_any();
        Ok((slf.get_type().getattr("from_bytes")?, (made,)))
    }
}

/// A vector of FSAs.
#[pyfunction]
pub(crate) fn create_fsa_vec(fsas: Vec<PyRef<'_, Fsa>>) -> PyResult<Fsa> {
    let graphs: Vec<&Graph<FsaOrVec>> = fsas.iter().map(|fsa| &fsa.graph).collect();
    if let Some(i) = graphs.iter().position(|graph| !graph.fsas().is_single()) {
        return Err(value_error(format!("element {i} is a vector of FSAs, and no FSA")));
    }
    either(Graph::cat(&graphs).map_err(exception)?)
}

/// An FSA that reads the labels, or one for each list of them.
#[pyfunction]
pub(crate) fn linear_fsa(labels: &Bound<'_, PyAny>) -> PyResult<Fsa> {
    let numbers = |labels: Vec<Int>| labels.into_iter().map(|Int(label)| label).collect::<Vec<i32>>();
    let is_list = |item: PyResult<Bound<'_, PyAny>>| item.is_ok_and(|item| item.len().is_ok());
    if labels.len()? == 0 || labels.try_iter()?.any(is_list) {
        let lists: Vec<Vec<i32>> = labels.extract::<Vec<Vec<Int>>>()?.into_iter().map(numbers).collect();
        let lists = Ragged::from_lists(&lists).map_err(exception)?;
        return either(Graph::new(linear_fsas(&lists).map_err(exception)?));
    }
    either(Graph::new(linear_fsa_of(&numbers(labels.extract()?)).map_err(exception)?))
}

/// CTC's topology.
#[pyfunction]
#[pyo3(signature = (max_token, modified=false))]
pub(crate) fn ctc_topo(py: Python<'_>, max_token: Count, modified: bool) -> PyResult<Fsa> {
    either(py.detach(|| ctc_topo_of(max_token.0, modified)).map_err(exception)?)
}

/// What CTC reads as each list of symbols.
#[pyfunction]
#[pyo3(signature = (symbols, modified=false))]
pub(crate) fn ctc_graph(py: Python<'_>, symbols: Vec<Vec<i32>>, modified: bool) -> PyResult<Fsa> {
    let symbols = Ragged::from_lists(&symbols).map_err(exception)?;
    either(py.detach(|| ctc_graph_of(&symbols, modified)).map_err(exception)?)
}

/// One state that reads each token.
#[pyfunction]
pub(crate) fn trivial_graph(py: Python<'_>, max_token: Count) -> PyResult<Fsa> {
    either(py.detach(|| trivial_graph_of(max_token.0)).map_err(exception)?)
}

/// Lattices of a graph with network output: pruned with options, exact without.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side calls it with names")]
pub(crate) fn intersect_dense(
    py: Python<'_>,
    graph: PyRef<'_, Fsa>,
    log_probs: PyReadonlyArray3<'_, f32>,
    lengths: Vec<usize>,
    search_beam: Option<f32>,
    output_beam: f32,
    min_active_states: Count,
    max_active_states: Count,
    allow_partial: bool,
) -> PyResult<Fsa> {
    let shape = [log_probs.shape()[0], log_probs.shape()[1], log_probs.shape()[2]];
    let values = log_probs.as_slice().map_err(|_| value_error("log_probs is not contiguous"))?;
    let dense = DenseFsaVec::from_padded(values, shape, &lengths).map_err(exception)?;
    let graph = &graph.graph;
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
    let (lattices, outcomes) = threads::run(py, None, work)?.map_err(exception)?.into_parts();
    for outcome in outcomes {
        if let Outcome::Failed(error) = outcome {
            return Err(exception(error));
        }
    }
    either(lattices)
}

/// [N], and by [N, T, C].
type LossesAndGradient<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray3<f32>>);

/// CTC over graphs: the loss of each utterance, and its gradient by the log-probabilities.
#[pyfunction]
pub(crate) fn ctc_loss_graph<'py>(
    py: Python<'py>,
    graph: PyRef<'py, Fsa>,
    log_probs: PyReadonlyArray3<'py, f32>,
    lengths: Vec<usize>,
    output_beam: f32,
    delay_penalty: f64,
) -> PyResult<LossesAndGradient<'py>> {
    let shape = [log_probs.shape()[0], log_probs.shape()[1], log_probs.shape()[2]];
    let values = log_probs.as_slice().map_err(|_| value_error("log_probs is not contiguous"))?;
    let dense = DenseFsaVec::from_padded(values, shape, &lengths).map_err(exception)?;
    let options = CtcGraphOptions::default()
        .with_output_beam(output_beam)
        .with_delay_penalty(delay_penalty)
        .with_reduction(Reduction::None);
    let graph = &graph.graph;
    let number = shape[0];
    let done = threads::run(py, None, || {
        // A mean is taken on Python's side.
        let (losses, saved) = loss_of_graph(graph, &dense, &vec![1; number], &options)?;
        let gradient = saved.backward(&vec![1.0; number])?;
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the type of the log-probabilities")]
        Ok((losses, gradient.into_iter().map(|slope| slope as f32).collect()))
    });
    let (losses, gradient): (_, Vec<f32>) = done?.map_err(exception::<kaldera::losses::Error>)?;
    Ok((PyArray1::from_vec(py, losses), PyArray1::from_vec(py, gradient).reshape(shape)?))
}
