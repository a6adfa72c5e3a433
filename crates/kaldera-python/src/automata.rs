//! The arcs of finite-state acceptors, under the name that k2 has for them. `kaldera.k2.Fsa` holds
//! them with the attributes of arcs, which follow the arc maps that are returned here.

use std::io::Cursor;

use kaldera::fsa::graphs::{ctc_graph as ctc_graph_of, ctc_topo as ctc_topo_of, trivial_graph as trivial_graph_of};
use kaldera::fsa::io::{
    Drawing, K2Text, fsa_from_tensor, fsa_to_tensor, fsa_vec_from_tensor, fsa_vec_to_tensor, read_npz, write_npz,
};
use kaldera::fsa::k2::{
    self, ComposeOptions, DeterminizeOptions, Epsilons, IntersectOptions, WeightPushing, expand_arcs, fix_final_labels,
    linear_fsa as linear_fsa_of, linear_fsas,
};
use kaldera::fsa::paths::{
    ArcPosteriorsSaved, BackwardScoresSaved, ForwardScoresSaved, Nbest, TotalScoresSaved, arc_posteriors_saved,
    backward_scores_saved, forward_scores_saved, levenshtein_alignment as align, random_paths, total_scores_saved,
};
use kaldera::fsa::{
    AUX_LABELS, Arc, Attribute, Attributes, Error, FsaOrVec, FsaVec, Fsas, Graph, Properties, Ragged, Semiring,
};
use kaldera::ragged::{RaggedShape as Shape, index_select};
use numpy::{Ix1, Ix2, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};

use crate::arguments::{Array, Count, Int, integers, list};
use crate::attributes::{attribute, dictionary, graph, lists_to_python, to_python};
use crate::errors::{exception, value_error};
use crate::ragged::RaggedTensor;
use crate::shape::RaggedShape;
use crate::threads;

/// The arcs of an FSA, `[state][arc]`, or of a vector of FSAs, `[fsa][state][arc]`.
#[pyclass(frozen, module = "kaldera._kaldera")]
pub(crate) struct RaggedArc {
    pub(crate) fsas: FsaOrVec,
}

impl<F: Fsas> From<F> for RaggedArc {
    fn from(fsas: F) -> Self {
        Self { fsas: fsas.into() }
    }
}

/// Arcs, and the source of each: an int32 array with an arc or -1 for each, a `RaggedTensor` with
/// a list of arcs for each, or None if they are the same as before.
type Mapped<'py> = PyResult<(RaggedArc, Bound<'py, PyAny>)>;

/// Arcs, and their attributes by name.
type Parts<'py> = PyResult<(RaggedArc, Bound<'py, PyDict>)>;

/// Arcs, and the sources of each on both sides.
type MappedTwice<'py> = PyResult<(RaggedArc, Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// Chains of arcs, the arc map, and one number of each list for each arc.
type Expanded<'py> = PyResult<(RaggedArc, Bound<'py, PyAny>, Vec<Bound<'py, PyArray1<i32>>>)>;

/// The index of each arc, as an attribute that follows the arcs through algorithms, and so
/// becomes the arc map.
const NUMBERS: &str = "numbers";
/// The numbers of the other side's arcs.
const OTHERS: &str = "others";
/// The labels on which two sides met.
const INNER: &str = "inner";

/// FSAs with the index of each arc as an attribute of this name.
fn numbered<F: Fsas>(fsas: &F, name: &str) -> Result<Graph<F>, Error> {
    let values: Vec<i32> = (0..).take(fsas.as_fsa_vec().num_arcs()).collect();
    Graph::new(fsas.clone()).with(name, Attribute::Ints { values: values.into(), filler: -1 })
}

/// With output labels, if there are any.
fn transducer<F: Fsas>(graph: Graph<F>, aux_labels: Option<Attribute>) -> Result<Graph<F>, Error> {
    match aux_labels {
        Some(aux_labels) => graph.with_aux_labels(aux_labels),
        None => Ok(graph),
    }
}

fn of_name<'py>(py: Python<'py>, attributes: &Attributes, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let found = attributes.get(name).ok_or_else(|| value_error(format!("the result has no attribute '{name}'")))?;
    to_python(py, found)
}

fn parts<'py, F: Fsas>(py: Python<'py>, made: Result<Graph<F>, Error>) -> Parts<'py> {
    let (fsas, attributes) = made.map_err(exception)?.into_parts();
    Ok((RaggedArc::from(fsas), dictionary(py, &attributes)?))
}

fn semiring(log: bool) -> Semiring {
    if log { Semiring::Log } else { Semiring::Tropical }
}

fn epsilons(treat_epsilons_specially: bool) -> Epsilons {
    if treat_epsilons_specially { Epsilons::default() } else { Epsilons::AsSymbol }
}

impl RaggedArc {
    fn vec(&self) -> &FsaVec {
        self.fsas.as_fsa_vec()
    }

    /// The result of an algorithm on the arcs, with the arc map.
    fn mapped<'py, F: Fsas + Send>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&Graph<FsaOrVec>) -> Result<Graph<F>, Error> + Send,
    ) -> Mapped<'py> {
        let made = threads::run(py, None, || work(&numbered(&self.fsas, NUMBERS)?))?.map_err(exception)?;
        let (fsas, attributes) = made.into_parts();
        if fsas.as_fsa_vec().ptr_eq(self.vec()) {
            return Ok((RaggedArc::from(fsas), py.None().into_bound(py)));
        }
        Ok((RaggedArc::from(fsas), of_name(py, &attributes, NUMBERS)?))
    }

    /// The result of an algorithm on these and other arcs, with both arc maps.
    fn mapped_twice<'py, F: Fsas + Send>(
        &self,
        py: Python<'py>,
        other: &Self,
        work: impl FnOnce(&Graph<FsaOrVec>, &Graph<FsaOrVec>) -> Result<Graph<F>, Error> + Send,
    ) -> MappedTwice<'py> {
        let both = || work(&numbered(&self.fsas, NUMBERS)?, &numbered(&other.fsas, OTHERS)?);
        let (fsas, attributes) = threads::run(py, None, both)?.map_err(exception)?.into_parts();
        Ok((RaggedArc::from(fsas), of_name(py, &attributes, NUMBERS)?, of_name(py, &attributes, OTHERS)?))
    }

    fn of_vec(&self, py: Python<'_>, fsas: FsaVec) -> PyResult<Self> {
        if !self.fsas.is_single() {
            return Ok(fsas.into());
        }
        Ok(threads::run(py, None, || fsas.get(0))?.map_err(exception)?.into())
    }
}

#[pymethods]
impl RaggedArc {
    /// From k2's tensors: int32 [arcs, 4] of one FSA, or the flat one of a vector.
    #[staticmethod]
    fn from_tensor(tensor: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = tensor.py();
        if let Ok(rows) = tensor.extract::<Array<'_, i32, Ix2>>() {
            let columns = rows.shape()[1];
            if columns != 4 {
                return Err(value_error(format!("arcs are int32 [arcs, 4], and this array has {columns} columns")));
            }
            let rows = rows.values()?.as_chunks().0.to_vec();
            return Ok(threads::run(py, None, || fsa_from_tensor(&rows))?.map_err(exception)?.into());
        }
        let flat = tensor.extract::<Array<'_, i32, Ix1>>();
        let flat = flat.map_err(|_| value_error("arcs are int32 [arcs, 4], or a vector's int32 tensor of one axis"))?;
        let flat = flat.to_vec()?;
        Ok(threads::run(py, None, || fsa_vec_from_tensor(&flat))?.map_err(exception)?.into())
    }

    /// k2's tensor: int32 [arcs, 4] of one FSA, source, destination, label and the bits of the
    /// score; for a vector a flat tensor that begins with its shape.
    fn to_tensor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match &self.fsas {
            FsaOrVec::Fsa(fsa) => {
                let rows = fsa_to_tensor(fsa);
                PyArray1::from_vec(py, rows.concat()).reshape([rows.len(), 4])?.into_any()
            }
            FsaOrVec::FsaVec(fsas) => PyArray1::from_vec(py, fsa_vec_to_tensor(fsas).map_err(exception)?).into_any(),
        })
    }

    /// Reads k2's text, or OpenFst's: the arcs, and the labels by name.
    #[staticmethod]
    #[pyo3(signature = (text, label_names, list_names, openfst=false))]
    fn from_str<'py>(
        py: Python<'py>,
        text: &str,
        #[pyo3(from_py_with = list)] label_names: Vec<String>,
        #[pyo3(from_py_with = list)] list_names: Vec<String>,
        openfst: bool,
    ) -> Parts<'py> {
        let format = K2Text::acceptor().with_label_names(label_names).with_list_names(list_names).with_openfst(openfst);
        parts(py, threads::run(py, None, || format.read(text))?)
    }

    /// k2's text, or OpenFst's; of one FSA.
    fn to_str(&self, py: Python<'_>, attributes: &Bound<'_, PyDict>, openfst: bool) -> PyResult<String> {
        let graph = graph(&self.fsas, attributes)?;
        threads::run(py, None, || K2Text::for_graph(&graph).with_openfst(openfst).print(&graph))?.map_err(exception)
    }

    /// A drawing for Graphviz.
    fn to_dot(&self, attributes: &Bound<'_, PyDict>, title: &str) -> PyResult<String> {
        Ok(Drawing::default().with_title(title).dot(&graph(&self.fsas, attributes)?))
    }

    fn __repr__(&self) -> String {
        format!("<RaggedArc, {} states, {} arcs>", self.vec().num_states(), self.vec().num_arcs())
    }

    /// 2 of one FSA, 3 of a vector.
    fn num_axes(&self) -> usize {
        if self.fsas.is_single() { 2 } else { 3 }
    }

    /// The number of states of a single FSA, or the number of FSAs of a vector.
    fn dim0(&self) -> usize {
        if self.fsas.is_single() { self.vec().num_states() } else { self.vec().num_fsas() }
    }

    /// The number of states in all FSAs.
    fn num_states(&self) -> usize {
        self.vec().num_states()
    }

    /// The number of arcs in all FSAs.
    fn num_elements(&self) -> usize {
        self.vec().num_arcs()
    }

    /// The lists of arcs: [state][arc], or [fsa][state][arc].
    fn shape(&self) -> PyResult<RaggedShape> {
        let shape = self.vec().shape();
        let shape = if self.fsas.is_single() { shape.index0(0).map_err(exception)? } else { shape.clone() };
        Ok(shape.into())
    }

    /// Source, destination, label and the bits of the score of each arc: int32 [arcs, 4].
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let row = |arc: &Arc| [arc.src_state, arc.dest_state, arc.label, arc.score.to_bits().cast_signed()];
        let values = self.vec().arcs().iter().flat_map(row).collect();
        PyArray1::from_vec(py, values).reshape([self.vec().num_arcs(), 4])
    }

    /// The label of each arc: int32 [arcs].
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        PyArray1::from_vec(py, self.vec().labels())
    }

    /// The score of each arc: float32 [arcs].
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_vec(py, self.vec().scores())
    }

    /// k2's property bits.
    fn properties(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(threads::run(py, None, || self.vec().properties())?.bits())
    }

    /// The same with other scores, float32 [arcs].
    fn with_scores(&self, py: Python<'_>, scores: Array<'_, f32, Ix1>) -> PyResult<Self> {
        let scores = scores.to_vec()?;
        self.of_vec(py, threads::run(py, None, || self.vec().with_scores(&scores))?.map_err(exception)?)
    }

    /// The same with other labels, int32 [arcs]; -1 goes to the arcs into the final state, and only
    /// there.
    fn with_labels(&self, py: Python<'_>, labels: Array<'_, i32, Ix1>) -> PyResult<Self> {
        let labels = labels.to_vec()?;
        let made = threads::run(py, None, || {
            let fixed = fix_final_labels(self.vec(), &labels)?;
            let arcs = self.vec().arcs().iter().zip(fixed).map(|(&arc, label)| Arc { label, ..arc });
            FsaVec::new(self.vec().as_ragged().with_values(arcs.collect::<Vec<_>>())?)
        })?;
        self.of_vec(py, made.map_err(exception)?)
    }

    /// Labels of arcs, int32 [arcs], with -1 on the arcs into the final state, and only there.
    fn fix_final_labels<'py>(
        &self,
        py: Python<'py>,
        labels: Array<'py, i32, Ix1>,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let labels = labels.to_vec()?;
        let fixed = threads::run(py, None, || fix_final_labels(self.vec(), &labels))?.map_err(exception)?;
        Ok(PyArray1::from_vec(py, fixed))
    }

    /// Scores in which those that leave each state sum to 1 after exponentiation: float32 [arcs].
    fn scores_stochastic<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let made =
            threads::run(py, None, || kaldera::fsa::paths::set_scores_stochastic(self.vec()))?.map_err(exception)?;
        Ok(PyArray1::from_vec(py, made.scores()))
    }

    /// Some FSAs of a vector.
    fn index<'py>(&self, py: Python<'py>, indexes: &Bound<'py, PyAny>) -> Mapped<'py> {
        let indexes = integers(indexes)?;
        let (fsas, map) = threads::run(py, None, || self.vec().index(&indexes))?.map_err(exception)?;
        Ok((fsas.into(), PyArray1::from_vec(py, map).into_any()))
    }

    /// One FSA of a vector, its first arc, and that after its last one.
    fn get(&self, py: Python<'_>, i: Count) -> PyResult<(Self, usize, usize)> {
        let fsa = threads::run(py, None, || self.vec().get(i.0))?.map_err(exception)?;
        let begin = self.vec().fsa(i.0).first_arc();
        let end = begin + fsa.num_arcs();
        Ok((fsa.into(), begin, end))
    }

    /// Arcs of each state in the order of their labels.
    fn arc_sort<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::arc_sort)
    }
    /// The states on a path from the start to the final state.
    fn connect<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::connect)
    }
    /// States in topological order.
    fn top_sort<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::top_sort)
    }
    /// The FSA that reads all strings backwards.
    fn reverse<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::reverse)
    }
    /// The FSA that reads any number of strings in a row.
    fn closure<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::closure)
    }
    /// A self-loop of label 0 at each state but the final one.
    fn add_epsilon_self_loops<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::add_epsilon_self_loops)
    }
    /// Without self-loops of label 0.
    fn remove_epsilon_self_loops<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::remove_epsilon_self_loops)
    }
    /// Without arcs of label 0.
    fn remove_epsilon<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::remove_epsilon)
    }
    /// Without arcs of label 0, except self-loops.
    fn remove_epsilon_and_add_self_loops<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::remove_epsilon_and_add_self_loops)
    }
    /// The best path of each FSA.
    fn shortest_path<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, Graph::shortest_path)
    }
    /// Without arcs over which less than this share of all paths goes.
    fn prune_on_arc_post<'py>(&self, py: Python<'py>, threshold: f64) -> Mapped<'py> {
        if !(threshold > 0.0 && threshold < 1.0) {
            return Err(value_error(format!("threshold_prob={threshold} can't be: it must be above 0 and below 1")));
        }
        self.mapped(py, |graph| graph.prune_on_arc_post(threshold))
    }

    /// k2's determinization; the name of the kind of weight pushing is k2's.
    fn determinize<'py>(&self, py: Python<'py>, weight_pushing: &str) -> Mapped<'py> {
        let weight_pushing = match weight_pushing {
            "kNoWeightPushing" => WeightPushing::No,
            "kTropicalWeightPushing" => WeightPushing::Tropical,
            "kLogWeightPushing" => WeightPushing::Log,
            _ => return Err(value_error(format!("there is no kind of weight pushing '{weight_pushing}'"))),
        };
        let options = DeterminizeOptions::default().with_weight_pushing(weight_pushing);
        self.mapped(py, |graph| graph.determinize(options))
    }

    /// One FSA of all in a vector.
    fn union<'py>(&self, py: Python<'py>) -> Mapped<'py> {
        self.mapped(py, |graph| {
            let (fsas, attributes) = graph.clone().into_parts();
            Graph::from_parts(fsas.as_fsa_vec().clone(), attributes)?.union()
        })
    }

    /// Replaces each arc by a chain, as long as the longest of its lists; returns the arc map,
    /// and for each of the lists an int32 array of their entries, 0 if a list is shorter.
    fn expand<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] lists: Vec<PyRef<'py, RaggedTensor>>,
    ) -> Expanded<'py> {
        let lists = lists.iter().map(|lists| lists.ints().cloned()).collect::<PyResult<Vec<Ragged<i32>>>>()?;
        // An arc into the final state needs -1 at its end.
        let made = threads::run(py, None, || {
            let ended =
                lists.iter().map(|lists| end_with_final(self.vec(), lists)).collect::<Result<Vec<_>, Error>>()?;
            let shapes: Vec<&Shape> = ended.iter().map(Ragged::shape).collect();
            let made = expand_arcs(&self.fsas, &shapes)?;
            let labels = ended.iter().zip(&made.list_maps).map(|(lists, map)| {
                let entries = index_select(lists.values(), map, 0)?;
                fix_final_labels(&made.fsas, &entries)
            });
            let labels = labels.collect::<Result<Vec<_>, Error>>()?;
            Ok((made.fsas, made.arc_map, labels))
        })?;
        let (fsas, map, labels) = made.map_err(exception::<Error>)?;
        let labels = labels.into_iter().map(|labels| PyArray1::from_vec(py, labels)).collect();
        Ok((fsas.into(), PyArray1::from_vec(py, map).into_any(), labels))
    }

    /// The FSA that reads the strings that both read.
    fn intersect<'py>(&self, py: Python<'py>, other: &Self, treat_epsilons_specially: bool) -> MappedTwice<'py> {
        let options = IntersectOptions::from(epsilons(treat_epsilons_specially));
        self.mapped_twice(py, other, |a, b| a.intersect(b, options))
    }

    /// Intersects each FSA of `other` with the FSA of this vector that the map names, label 0
    /// being a symbol.
    fn intersect_device<'py>(&self, py: Python<'py>, other: &Self, b_to_a_map: &Bound<'py, PyAny>) -> MappedTwice<'py> {
        let b_to_a_map = integers(b_to_a_map)?;
        self.mapped_twice(py, other, |a, b| {
            let (fsas, attributes) = a.clone().into_parts();
            Graph::from_parts(fsas.as_fsa_vec().clone(), attributes)?.intersect_device(b, &b_to_a_map)
        })
    }

    /// FSAs of `src` in place of arcs with labels from `first_symbol`.
    fn replace_fsa<'py>(&self, py: Python<'py>, src: &Self, first_symbol: Int) -> MappedTwice<'py> {
        self.mapped_twice(py, src, |index, src| {
            let (fsas, attributes) = src.clone().into_parts();
            index.replace_fsa(&Graph::from_parts(fsas.as_fsa_vec().clone(), attributes)?, first_symbol.0)
        })
    }

    /// An FSA that reads as this one and writes as the other: with both arc maps, the output
    /// labels, and the labels on which they met.
    fn compose<'py>(
        &self,
        py: Python<'py>,
        other: &Self,
        aux_labels: Option<&Bound<'py, PyAny>>,
        others_aux_labels: Option<&Bound<'py, PyAny>>,
        treat_epsilons_specially: bool,
    ) -> PyResult<(Self, [Bound<'py, PyAny>; 4])> {
        let aux_labels = aux_labels.map(attribute).transpose()?;
        let others_aux_labels = others_aux_labels.map(attribute).transpose()?;
        let epsilons = epsilons(treat_epsilons_specially);
        let options = ComposeOptions::default().with_epsilons(epsilons).with_inner_labels(Some(INNER.into()));
        let work = || {
            let a = transducer(numbered(&self.fsas, NUMBERS)?, aux_labels)?;
            a.compose_with(&transducer(numbered(&other.fsas, OTHERS)?, others_aux_labels)?, &options)
        };
        let (fsas, attributes) = threads::run(py, None, work)?.map_err(exception)?.into_parts();
        let found = |name| of_name(py, &attributes, name);
        Ok((fsas.into(), [found(NUMBERS)?, found(OTHERS)?, found(AUX_LABELS)?, found(INNER)?]))
    }

    /// k2's paths, chosen evenly by their probabilities: [fsa][path][arc].
    fn random_paths<'py>(&self, py: Python<'py>, num_paths: Count) -> PyResult<Bound<'py, PyAny>> {
        let paths = threads::run(py, None, || random_paths(self.vec(), num_paths.0))?;
        lists_to_python(py, paths.map_err(exception)?)
    }

    /// Random paths of scaled scores, of those with the same output labels the first: linear FSAs
    /// with the arc map, and the lists [fsa][path].
    fn nbest<'py>(
        &self,
        py: Python<'py>,
        aux_labels: Option<&Bound<'py, PyAny>>,
        num_paths: Count,
        scale: f32,
    ) -> PyResult<(Self, Bound<'py, PyAny>, RaggedShape)> {
        let aux_labels = aux_labels.map(attribute).transpose()?;
        let work = || Nbest::from_lattice(&transducer(numbered(self.vec(), NUMBERS)?, aux_labels)?, num_paths.0, scale);
        let nbest = threads::run(py, None, work)?.map_err(exception)?;
        let paths = nbest.paths();
        let map = of_name(py, paths.attributes(), NUMBERS)?;
        let shape = Shape::new([nbest.utterances().clone()]).map_err(exception)?;
        Ok((paths.fsas().clone().into(), map, shape.into()))
    }

    /// Scores in float64, and the data for their gradient: of each FSA (`total`), of each state
    /// (`forward`, `backward`), of each arc (`posterior`).
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        what: &str,
        log_semiring: bool,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, ScoresSaved)> {
        let (fsas, semiring) = (self.vec(), semiring(log_semiring));
        let work = || {
            Ok(match what {
                "total" => total_scores_saved(fsas, semiring).map(|(scores, saved)| (scores, Scores::Total(saved)))?,
                "forward" => {
                    forward_scores_saved(fsas, semiring).map(|(scores, saved)| (scores, Scores::Forward(saved)))?
                }
                "backward" => {
                    backward_scores_saved(fsas, semiring).map(|(scores, saved)| (scores, Scores::Backward(saved)))?
                }
                _ => arc_posteriors_saved(fsas, semiring).map(|(scores, saved)| (scores, Scores::Posterior(saved)))?,
            })
        };
        let (scores, saved) = threads::run(py, None, work)?.map_err(exception::<Error>)?;
        Ok((PyArray1::from_vec(py, scores), ScoresSaved { saved }))
    }

    /// The arrays, as a `.npz` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut file = Cursor::new(Vec::new());
        write_npz(&Graph::new(self.fsas.clone()), &mut file).map_err(exception)?;
        Ok(PyBytes::new(py, &file.into_inner()))
    }

    /// Arcs from the bytes that `to_bytes` returned.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(threads::run(py, None, || read_npz(Cursor::new(bytes)))?.map_err(exception)?.into_parts().0.into())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let made = slf.get().to_bytes(slf.py())?.into_any();
        Ok((slf.get_type().getattr("from_bytes")?, (made,)))
    }
}

/// Lists of arcs, with -1 appended to the list of each arc into the final state.
fn end_with_final(fsas: &FsaVec, lists: &Ragged<i32>) -> Result<Ragged<i32>, Error> {
    let graph = Graph::new(fsas.clone()).with_aux_labels(lists.clone())?;
    let (arcs, lists) = (graph.fsas().arcs(), lists.rows());
    let ended = arcs.iter().zip(lists).map(|(arc, list)| match (arc.label, list.last()) {
        (-1, last) if last != Some(&-1) => [list, &[-1]].concat(),
        _ => list.to_vec(),
    });
    Ok(Ragged::from_lists(&ended.collect::<Vec<_>>())?)
}

/// The data that gradients of scores need.
enum Scores {
    Total(TotalScoresSaved<f64>),
    Forward(ForwardScoresSaved<f64>),
    Backward(BackwardScoresSaved<f64>),
    Posterior(ArcPosteriorsSaved<f64>),
}

/// The data that the gradient of scores needs.
#[pyclass(frozen, module = "kaldera._kaldera")]
pub(crate) struct ScoresSaved {
    saved: Scores,
}

#[pymethods]
impl ScoresSaved {
    /// The gradient by the score of each arc, from that by each of the numbers.
    fn backward<'py>(&self, py: Python<'py>, grad: Array<'py, f64, Ix1>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let grad = grad.to_vec()?;
        let gradient = threads::run(py, None, || match &self.saved {
            Scores::Total(saved) => saved.backward(&grad),
            Scores::Forward(saved) => saved.backward(&grad),
            Scores::Backward(saved) => saved.backward(&grad),
            Scores::Posterior(saved) => saved.backward(&grad),
        })?;
        Ok(PyArray1::from_vec(py, gradient.map_err(exception)?))
    }
}

/// Concatenates FSAs and vectors of FSAs to one vector.
#[pyfunction]
pub(crate) fn cat_arcs<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = list)] arcs: Vec<PyRef<'py, RaggedArc>>,
) -> PyResult<RaggedArc> {
    let all: Vec<&FsaVec> = arcs.iter().map(|arcs| arcs.vec()).collect();
    Ok(threads::run(py, None, || FsaVec::cat(&all))?.map_err(exception)?.into())
}

/// An FSA that reads the labels, or one for each list of them.
#[pyfunction]
pub(crate) fn linear_fsa(labels: &Bound<'_, PyAny>) -> PyResult<RaggedArc> {
    let py = labels.py();
    if let Ok(lists) = labels.cast::<RaggedTensor>() {
        let lists = lists.try_borrow()?;
        let lists = lists.ints()?;
        return Ok(threads::run(py, None, || linear_fsas(lists))?.map_err(exception)?.into());
    }
    let items: Vec<Bound<'_, PyAny>> = list(labels)?;
    if items.is_empty() || items.iter().any(|item| item.len().is_ok()) {
        let lists = items.iter().map(integers).collect::<PyResult<Vec<_>>>()?;
        let lists = Ragged::from_lists(&lists).map_err(exception)?;
        return Ok(threads::run(py, None, || linear_fsas(&lists))?.map_err(exception)?.into());
    }
    let labels = items.iter().map(|item| Ok(item.extract::<Int>()?.0)).collect::<PyResult<Vec<i32>>>()?;
    Ok(threads::run(py, None, || linear_fsa_of(&labels))?.map_err(exception)?.into())
}

/// The bits of `properties` by k2's names, from the lowest.
#[pyfunction]
pub(crate) fn fsa_properties(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    Properties::ALL.iter_names().map(|(name, property)| (name, property.bits())).into_py_dict(py)
}

/// CTC's topology.
#[pyfunction]
pub(crate) fn ctc_topo(py: Python<'_>, max_token: Count, modified: bool) -> Parts<'_> {
    parts(py, threads::run(py, None, || ctc_topo_of(max_token.0, modified))?)
}

/// The FSA of all label sequences that CTC reads as each list of symbols.
#[pyfunction]
pub(crate) fn ctc_graph<'py>(py: Python<'py>, symbols: &RaggedTensor, modified: bool) -> Parts<'py> {
    let symbols = symbols.ints()?;
    parts(py, threads::run(py, None, || ctc_graph_of(symbols, modified))?)
}

/// One state that reads each token.
#[pyfunction]
pub(crate) fn trivial_graph(py: Python<'_>, max_token: Count) -> Parts<'_> {
    parts(py, threads::run(py, None, || trivial_graph_of(max_token.0))?)
}

/// Graphs whose intersection gives edit distances.
#[pyfunction]
pub(crate) fn levenshtein_graph<'py>(py: Python<'py>, symbols: &RaggedTensor, ins_del_score: f32) -> Parts<'py> {
    let symbols = symbols.ints()?;
    parts(py, threads::run(py, None, || k2::levenshtein_graph(symbols, ins_del_score))?)
}

/// The best alignment of each hypothesis with its reference.
#[pyfunction]
pub(crate) fn levenshtein_alignment<'py>(
    py: Python<'py>,
    refs: &RaggedTensor,
    hyps: &RaggedTensor,
    hyp_to_ref: &Bound<'py, PyAny>,
) -> Parts<'py> {
    let hyp_to_ref = integers(hyp_to_ref)?;
    let (refs, hyps) = (refs.ints()?, hyps.ints()?);
    parts(py, threads::run(py, None, || align(refs, hyps, &hyp_to_ref))?)
}
