//! Files of FSTs in any of the formats, distinguished by their contents.

pub(super) use kaldera::fsa::io::GraphFormat as Format;
use kaldera::fsa::io::{GraphFile, K2Text, OpenFstBinary, OpenFstText, SymbolTable};
use kaldera::fsa::{AUX_LABELS, Attribute, Fsa, Graph, GraphLabels, Semiring};

use super::CliError;
use crate::native::files::{NotWritten, in_file, read_bytes, read_text, write_bytes, write_pieces};
use kaldera::similar::did_you_mean;

/// Returns the format by its name on the command line.
pub(super) fn format_named(name: &str) -> Result<Format, CliError> {
    match name {
        "k2" => Ok(Format::K2),
        "text" => Ok(Format::Text),
        "binary" => Ok(Format::Binary),
        _ => Err(CliError::Usage(format!(
            "option --format: '{name}' is not one of k2, text, binary{}",
            did_you_mean(name, ["k2", "text", "binary"])
        ))),
    }
}

/// Returns the name of a format.
pub(super) fn format_name(format: Format) -> &'static str {
    match format {
        Format::K2 => "k2 text",
        Format::Text => "OpenFst text",
        Format::Binary => "OpenFst binary",
    }
}

/// An FST with the other contents of its file.
pub(super) struct FstFile {
    pub(super) graph: Graph<Fsa>,
    pub(super) format: Format,
    /// Semiring by the type of the arcs; `None` for texts.
    pub(super) semiring: Option<Semiring>,
    /// `true` if binary files are written with the type `const`.
    is_const: bool,
    pub(super) input_symbols: Option<SymbolTable>,
    pub(super) output_symbols: Option<SymbolTable>,
}

/// Reads a table of symbols, if a file is named.
pub(super) fn read_symbols(name: &str) -> Result<Option<SymbolTable>, CliError> {
    if name.is_empty() {
        return Ok(None);
    }
    read_text(name)?.parse().map(Some).map_err(|error| in_file(name, &error))
}

impl FstFile {
    /// Creates an FST of this format without symbols.
    pub(super) fn new(graph: Graph<Fsa>, format: Format) -> Self {
        let (semiring, input_symbols, output_symbols) = (None, None, None);
        Self { graph, format, semiring, is_const: false, input_symbols, output_symbols }
    }

    /// Sets the type of binary files by OpenFst's name.
    pub(super) fn set_fst_type(&mut self, name: &str) -> Result<(), CliError> {
        self.is_const = match name {
            "vector" => false,
            "const" => true,
            _ => return Err(CliError::Usage(format!("option --fst-type: '{name}' is neither vector nor const"))),
        };
        Ok(())
    }

    /// Reads a file of any format.
    pub(super) fn read(name: &str) -> Result<Self, CliError> {
        let file = GraphFile::read(&read_bytes(name)?).map_err(|error| in_file(name, &error))?;
        // The operations take 0 for epsilon, whatever the labels mean.
        let graph = file.graph.with_graph_labels(GraphLabels::default());
        Ok(Self {
            graph: if file.format == Format::Binary { as_acceptor(graph) } else { graph },
            format: file.format,
            semiring: file.semiring,
            is_const: false,
            input_symbols: file.input_symbols,
            output_symbols: file.output_symbols,
        })
    }

    /// Writes the file atomically.
    pub(super) fn write(&self, name: &str) -> Result<(), CliError> {
        let in_vain = |error| in_file(name, &error);
        match self.format {
            Format::K2 => {
                write_bytes(name, K2Text::for_graph(&self.graph).print(&self.graph).map_err(in_vain)?.as_bytes())
            }
            Format::Text => {
                let acceptor = self.graph.attributes().get(AUX_LABELS).is_none();
                let text =
                    OpenFstText::default().with_acceptor(acceptor).with_semiring(self.semiring.unwrap_or_default());
                write_bytes(name, text.print(&self.graph).map_err(in_vain)?.as_bytes())
            }
            Format::Binary => {
                let mut file = OpenFstBinary::new(self.graph.clone());
                file.semiring = self.semiring.unwrap_or_default();
                file.input_symbols.clone_from(&self.input_symbols);
                file.output_symbols.clone_from(&self.output_symbols);
                write_pieces(name, |out| {
                    let put = |piece: &[u8]| out.write_all(piece).map_err(NotWritten::Io);
                    if self.is_const { file.write_const_to(put) } else { file.write_to(put) }
                })
            }
        }
    }
}

/// Removes the output labels if they are equal to the input labels.
fn as_acceptor(graph: Graph<Fsa>) -> Graph<Fsa> {
    let same = graph.aux_labels().is_some_and(|aux_labels| {
        graph.fsas().arcs().iter().zip(aux_labels).all(|(arc, aux_label)| arc.label == *aux_label)
    });
    if same { graph.without(AUX_LABELS) } else { graph }
}

/// Adds output labels equal to the input labels, if there are none.
pub(super) fn as_transducer(graph: Graph<Fsa>) -> Result<Graph<Fsa>, CliError> {
    if graph.attributes().get(AUX_LABELS).is_some() {
        return Ok(graph);
    }
    let labels = graph.fsas().labels();
    graph.with_aux_labels(Attribute::from(labels)).map_err(|error| CliError::failed(&error))
}
