//! The parts of a Vosk or Kaldi folder.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use kaldera::kaldi_online::{OnlineModel, Part};

use crate::layout::columns;

/// Returns the lines about an opened folder.
pub(super) fn about(model: &OnlineModel, folder: &Path) -> String {
    let (decoder, network, found) = (model.decoder(), model.network(), model.folder());
    let ivectors = model.ivector_dim().map(|dim| format!(", i-vectors of {dim} elements")).unwrap_or_default();
    let graph = match found.find_part(Part::Graph) {
        Some(_) => "a graph in one file",
        None => "a graph composed while it is searched",
    };
    let mut text = format!(
        "{}: {}, {} words, a frame each {:.1} ms\n\
         audio of {} Hz; {} columns of features{ivectors}; streams keep a state\n\
         {} outputs of the network, {} pdfs; {graph}\n",
        folder.display(),
        found.layout().name(),
        decoder.words().len(),
        decoder.frame_shift() * 1000.0,
        model.samp_freq(),
        network.input_dim(),
        network.output_dim(),
        decoder.transitions().num_pdfs(),
    );
    let rows = found.used_parts().map(|(part, path)| {
        let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        (format!("{} ({size} bytes)", part.path(found.layout())), part.purpose().to_owned())
    });
    text.push_str(&columns(rows));
    for sentence in found.left_out() {
        // Writing into a text does not fail.
        let _ = writeln!(text, "{sentence}");
    }
    text
}
