//! Files of FSTs in any of the formats, recognized by their contents.

use std::io::Read as _;
use std::path::Path;

use kaldera_base::text::without_mark;

use crate::core::fsa::Fsa;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::semiring::Semiring;
use crate::error::Error;
use crate::io::k2_text::K2Text;
use crate::io::openfst_binary::OpenFstBinary;
use crate::io::openfst_text::OpenFstText;
use crate::io::symbols::SymbolTable;

/// Formats of a file with an FST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// k2's text.
    K2,
    /// OpenFst's text.
    Text,
    /// OpenFst's binary files.
    Binary,
}

/// An FST with the metadata of its file.
///
/// ```
/// use fsa::GraphLabels;
/// use fsa::io::{GraphFile, GraphFormat};
///
/// let file = GraphFile::read(b"0 1 7 70 0.5\n1 0.25\n")?;
/// assert_eq!((file.format, file.graph.aux_labels()), (GraphFormat::Text, Some(&[70, -1][..])));
/// assert_eq!(file.graph.graph_labels(), GraphLabels::ClassPlusOne);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GraphFile {
    /// The FST. Its labels are interpreted as in files of the format: k2's as classes, OpenFst's as
    /// classes + 1, where 0 is epsilon.
    pub graph: Graph<Fsa>,
    /// The format.
    pub format: GraphFormat,
    /// The semiring named by the type of the arcs; `None` for texts.
    pub semiring: Option<Semiring>,
    /// The symbols of the labels; texts have none.
    pub input_symbols: Option<SymbolTable>,
    /// The symbols of the output labels.
    pub output_symbols: Option<SymbolTable>,
}

impl GraphFile {
    /// Reads a file of any format.
    ///
    /// # Errors
    /// [`Error::File`] with the path and an error of [`read`](Self::read).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Error::in_file(path.as_ref(), |mut file| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(|error| Error::Unreadable { problem: error.to_string() })?;
            Self::read(&bytes)
        })
    }

    /// Reads the bytes of a file of any format. A text is k2's if it has lists, or if it ends with
    /// the final state and only arcs with label -1 enter that state. An OpenFst text is an acceptor
    /// if a line has three fields, or four of which the last is not a label.
    ///
    /// # Errors
    /// [`Error::Foreign`] for PyTorch's files; [`Error::Unreadable`] for bytes that are neither an
    /// OpenFst file nor a text; errors of the format.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        if OpenFstBinary::is_one(bytes) {
            let file = OpenFstBinary::read(bytes)?;
            return Ok(Self {
                graph: file.graph,
                format: GraphFormat::Binary,
                semiring: Some(file.semiring),
                input_symbols: file.input_symbols,
                output_symbols: file.output_symbols,
            });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| match bytes {
            [b'P', b'K', 3, 4, ..] => Error::Foreign {
                format: "a zip archive, as PyTorch's files are (HLG.pt)",
                remedy: "write it as a text, with k2's 'HLG.to_str()', or make it with 'kaldera fst make-hlg'",
            },
            _ => Error::Unreadable { problem: "it is neither one of OpenFst's binary files nor UTF-8".to_owned() },
        })?;
        let text = without_mark(text);
        let lines = Lines::new(text);
        // Only k2's text has lists.
        let (graph, format) = if text.contains('[') {
            (K2Text::acceptor().with_list_names([AUX_LABELS]).read(text)?, GraphFormat::K2)
        } else if lines.is_k2() {
            (K2Text::acceptor().with_labels(usize::from(lines.most > 4)).read(text)?, GraphFormat::K2)
        } else {
            (OpenFstText::default().with_acceptor(lines.is_acceptor()).read(text)?, GraphFormat::Text)
        };
        Ok(Self { graph, format, semiring: None, input_symbols: None, output_symbols: None })
    }
}

/// Numbers of fields in the lines of a text.
struct Lines<'a> {
    text: &'a str,
    /// Smallest and largest number of fields of lines with arcs.
    least: usize,
    most: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
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

    /// Returns `true` if the text ends with the final state, which arcs with the label -1 enter, as
    /// k2's does.
    fn is_k2(&self) -> bool {
        let Some(last) = self.last().filter(|last| last.parse::<u32>().is_ok()) else { return false };
        let enters = |line: &str| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            (fields.next() == Some(last)).then(|| fields.next() == Some("-1"))
        };
        let mut entering = self.text.lines().filter_map(enters).peekable();
        entering.peek().is_some() && entering.all(|final_label| final_label)
    }

    /// Returns `true` if lines have one label: lines of three fields do; so do lines of four fields
    /// whose last one is not a label.
    fn is_acceptor(&self) -> bool {
        let fraction = |line: &str| {
            let mut fields = line.split_ascii_whitespace().skip(3);
            matches!((fields.next(), fields.next()), (Some(cost), None) if cost.parse::<i32>().is_err())
        };
        self.most <= 4 && (self.least == 3 || self.text.lines().any(fraction))
    }
}
