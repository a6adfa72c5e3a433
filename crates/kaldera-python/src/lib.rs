//! The part of the Python module `kaldera` that is Rust. `python/kaldera` has the names, documents
//! and signatures that users see.
//!
//! Log-probabilities are copied before Python's lock is released: another thread may write into an
//! array of NumPy's or PyTorch's meanwhile.

mod arguments;
mod attributes;
mod audio;
mod automata;
mod decoder;
mod dense;
mod errors;
mod features;
mod files;
mod kinds;
mod live;
mod losses;
mod options;
mod ragged;
mod recognizer;
mod results;
mod rows;
mod samples;
mod shape;
mod threads;
mod warnings;

use std::ffi::CString;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

#[pymodule]
fn _kaldera(module: &Bound<'_, PyModule>) -> PyResult<()> {
    if let Some(warning) = kaldera::base::simd::unknown_choice() {
        let py = module.py();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(warning)?, 2)?;
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    warnings::init(module)?;
    module.add_class::<features::FeatureExtractor>()?;
    module.add_class::<features::Stream>()?;
    module.add_class::<files::ObjectReader>()?;
    module.add_class::<files::TableReader>()?;
    module.add_class::<files::ObjectWriter>()?;
    module.add_function(wrap_pyfunction!(features::presets, module)?)?;
    module.add_function(wrap_pyfunction!(files::read_scp, module)?)?;
    module.add_function(wrap_pyfunction!(files::save_object, module)?)?;
    module.add_function(wrap_pyfunction!(audio::read_audio, module)?)?;
    module.add_function(wrap_pyfunction!(audio::list_recordings, module)?)?;
    module.add_function(wrap_pyfunction!(audio::read_segments, module)?)?;
    module.add_function(wrap_pyfunction!(rows::add_deltas, module)?)?;
    module.add_function(wrap_pyfunction!(rows::splice, module)?)?;
    module.add_function(wrap_pyfunction!(rows::sliding_cmvn, module)?)?;
    module.add_function(wrap_pyfunction!(rows::cmvn_stats, module)?)?;
    module.add_function(wrap_pyfunction!(rows::apply_cmvn, module)?)?;
    module.add_function(wrap_pyfunction!(rows::vad, module)?)?;
    module.add_function(wrap_pyfunction!(rows::process_pitch, module)?)?;
    module.add_function(wrap_pyfunction!(rows::resample, module)?)?;
    module.add_class::<automata::RaggedArc>()?;
    module.add_class::<automata::ScoresSaved>()?;
    module.add_function(wrap_pyfunction!(automata::cat_arcs, module)?)?;
    module.add_function(wrap_pyfunction!(automata::fsa_properties, module)?)?;
    module.add_function(wrap_pyfunction!(automata::linear_fsa, module)?)?;
    module.add_function(wrap_pyfunction!(automata::ctc_topo, module)?)?;
    module.add_function(wrap_pyfunction!(automata::ctc_graph, module)?)?;
    module.add_function(wrap_pyfunction!(automata::trivial_graph, module)?)?;
    module.add_function(wrap_pyfunction!(automata::levenshtein_graph, module)?)?;
    module.add_function(wrap_pyfunction!(automata::levenshtein_alignment, module)?)?;
    module.add_function(wrap_pyfunction!(dense::intersect_dense, module)?)?;
    module.add_function(wrap_pyfunction!(dense::ctc_loss_graph, module)?)?;
    module.add_class::<losses::LossSaved>()?;
    module.add_function(wrap_pyfunction!(losses::ctc_loss, module)?)?;
    module.add_function(wrap_pyfunction!(losses::rnnt_loss, module)?)?;
    module.add_function(wrap_pyfunction!(losses::rnnt_loss_simple, module)?)?;
    module.add_function(wrap_pyfunction!(losses::mutual_information_recursion, module)?)?;
    module.add_function(wrap_pyfunction!(losses::get_rnnt_prune_ranges, module)?)?;
    module.add_function(wrap_pyfunction!(losses::forced_align, module)?)?;
    module.add_class::<decoder::Decoder>()?;
    module.add_class::<recognizer::Recognizer>()?;
    module.add_class::<recognizer::Stream>()?;
    module.add_class::<live::Live>()?;
    module.add_function(wrap_pyfunction!(recognizer::count_errors, module)?)?;
    module.add_class::<shape::RaggedShape>()?;
    module.add_class::<ragged::RaggedTensor>()?;
    module.add_function(wrap_pyfunction!(ragged::index_lists, module)?)?;
    module.add_function(wrap_pyfunction!(ragged::index_and_sum, module)?)?;
    module.add_function(wrap_pyfunction!(ragged::ragged_cat, module)?)?;
    Ok(())
}
