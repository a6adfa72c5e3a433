//! Files of FSTs in any of the formats, told by what is in them.

use kaldera::fsa::io::{K2Text, OpenFstBinary, OpenFstText, SymbolTable};
use kaldera::fsa::{AUX_LABELS, Attribute, Fsa, Graph, Semiring};

use super::Trouble;
use crate::native::files::{NotWritten, in_file, read_bytes, read_text, shown, write_bytes, write_pieces};
use crate::similar::did_you_mean;

/// How a file holds an FST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// k2's text.
    K2,
    /// OpenFst's text.
    Text,
    /// OpenFst's binary files.
    Binary,
}

impl Format {
    /// By its name on the command line.
    pub(super) fn named(name: &str) -> Result<Self, Trouble> {
        match name {
            "k2" => Ok(Self::K2),
            "text" => Ok(Self::Text),
            "binary" => Ok(Self::Binary),
            _ => Err(Trouble::Usage(format!(
                "option --format: '{name}' is not one of k2, text, binary{}",
                did_you_mean(name, ["k2", "text", "binary"])
            ))),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::K2 => "k2 text",
            Self::Text => "OpenFst text",
            Self::Binary => "OpenFst binary",
        }
    }
}

/// An FST, and what its file tells besides.
pub(super) struct FstFile {
    pub(super) graph: Graph<Fsa>,
    pub(super) format: Format,
    /// What the type of its arcs says; texts say nothing.
    pub(super) semiring: Option<Semiring>,
    /// Whether binary files are written as those of the type `const`.
    is_const: bool,
    pub(super) input_symbols: Option<SymbolTable>,
    pub(super) output_symbols: Option<SymbolTable>,
}

/// A table of symbols, if a file is named.
pub(super) fn read_symbols(name: &str) -> Result<Option<SymbolTable>, Trouble> {
    if name.is_empty() {
        return Ok(None);
    }
    read_text(name)?.parse().map(Some).map_err(|error| in_file(name, &error))
}

impl FstFile {
    /// An FST of this format without symbols.
    pub(super) fn new(graph: Graph<Fsa>, format: Format) -> Self {
        let (semiring, input_symbols, output_symbols) = (None, None, None);
        Self { graph, format, semiring, is_const: false, input_symbols, output_symbols }
    }

    /// How binary files are written, by OpenFst's name.
    pub(super) fn set_fst_type(&mut self, name: &str) -> Result<(), Trouble> {
        self.is_const = match name {
            "vector" => false,
            "const" => true,
            _ => return Err(Trouble::Usage(format!("option --fst-type: '{name}' is neither vector nor const"))),
        };
        Ok(())
    }

    /// Reads a file of any format.
    pub(super) fn read(name: &str) -> Result<Self, Trouble> {
        let bytes = read_bytes(name)?;
        if OpenFstBinary::is_one(&bytes) {
            let file = OpenFstBinary::read(&bytes).map_err(|error| in_file(name, &error))?;
            return Ok(Self {
                graph: as_acceptor(file.graph),
                format: Format::Binary,
                semiring: Some(file.semiring),
                is_const: false,
                input_symbols: file.input_symbols,
                output_symbols: file.output_symbols,
            });
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(Trouble::Failed(format!("{} is neither one of OpenFst's binary files nor UTF-8", shown(name))));
        };
        let lines = Lines::of(&text);
        // Only k2's text has lists.
        let (read, format) = if text.contains('[') {
            (K2Text::acceptor().list_names([AUX_LABELS]).read(&text), Format::K2)
        } else if lines.is_k2() {
            (K2Text::acceptor().labels(usize::from(lines.most > 4)).read(&text), Format::K2)
        } else {
            (OpenFstText::default().acceptor(lines.is_acceptor()).read(&text), Format::Text)
        };
        read.map(|graph| Self::new(graph, format)).map_err(|error| in_file(name, &error))
    }

    /// Writes a file, which appears complete or not at all.
    pub(super) fn write(&self, name: &str) -> Result<(), Trouble> {
        let in_vain = |error| in_file(name, &error);
        match self.format {
            Format::K2 => write_bytes(name, K2Text::of(&self.graph).print(&self.graph).map_err(in_vain)?.as_bytes()),
            Format::Text => {
                let acceptor = self.graph.attributes().get(AUX_LABELS).is_none();
                let text = OpenFstText::default().acceptor(acceptor).semiring(self.semiring.unwrap_or_default());
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

/// Without output labels, if they are the input labels.
fn as_acceptor(graph: Graph<Fsa>) -> Graph<Fsa> {
    let same = graph.aux_labels().is_some_and(|aux_labels| {
        graph.fsas().arcs().iter().zip(aux_labels).all(|(arc, aux_label)| arc.label == *aux_label)
    });
    if same { graph.without(AUX_LABELS) } else { graph }
}

/// With output labels: the input labels, if there are no others.
pub(super) fn as_transducer(graph: Graph<Fsa>) -> Result<Graph<Fsa>, Trouble> {
    if graph.attributes().get(AUX_LABELS).is_some() {
        return Ok(graph);
    }
    let labels = graph.fsas().labels();
    graph.with_aux_labels(Attribute::from(labels)).map_err(|error| Trouble::failed(&error))
}

/// What the number of fields of its lines tells of a text.
struct Lines<'a> {
    text: &'a str,
    /// Fields of lines with arcs: the least and the most.
    least: usize,
    most: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let mut lines = Self { text, least: usize::MAX, most: 0 };
        for fields in text.lines().map(|line| line.split_ascii_whitespace().count()).filter(|&fields| fields > 2) {
            lines.least = lines.least.min(fields);
            lines.most = lines.most.max(fields);
        }
        lines
    }

    fn last(&self) -> Option<&'a str> {
        self.text.lines().rev().map(str::trim).find(|line| !line.is_empty())
    }

    /// k2's text ends with the final state, which arcs with the label -1 enter.
    fn is_k2(&self) -> bool {
        let Some(last) = self.last().filter(|last| last.parse::<u32>().is_ok()) else { return false };
        let enters = |line: &str| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            (fields.next() == Some(last)).then(|| fields.next() == Some("-1"))
        };
        let mut entering = self.text.lines().filter_map(enters).peekable();
        entering.peek().is_some() && entering.all(|final_label| final_label)
    }

    /// Lines of three fields have one label; so have those of four whose last one is no label.
    fn is_acceptor(&self) -> bool {
        let fraction = |line: &str| {
            let mut fields = line.split_ascii_whitespace().skip(3);
            matches!((fields.next(), fields.next()), (Some(cost), None) if cost.parse::<i32>().is_err())
        };
        self.most <= 4 && (self.least == 3 || self.text.lines().any(fraction))
    }
}
