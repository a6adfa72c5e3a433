//! Files of FSTs in any of the formats, told by what is in them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use kaldera::fsa::io::{K2Text, OpenFstBinary, OpenFstText, SymbolTable};
use kaldera::fsa::{AUX_LABELS, Attribute, Fsa, Graph, Limits, Semiring};
use kaldera::io::rxfilename::Input;
use kaldera::pipeline::PartialFile;

use super::Trouble;
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

/// Whether a name stands for standard input or output.
pub(crate) fn is_standard(name: &str) -> bool {
    matches!(name, "" | "-")
}

/// A file, standard input, or what a command writes (`gunzip -c lm.arpa.gz |`); uncompressed if it
/// is compressed with gzip.
pub(crate) fn open(name: &str) -> Result<Box<dyn BufRead>, Trouble> {
    let cannot = |error: &dyn std::fmt::Display| Trouble::Failed(format!("cannot read {}: {error}", shown(name)));
    let mut input: Box<dyn Read> = if is_standard(name) {
        Box::new(io::stdin())
    } else if name.trim_end().ends_with('|') {
        Box::new(Command(Some(Input::open(name.trim()).map_err(|error| cannot(&error))?)))
    } else {
        Box::new(File::open(name).map_err(|error| cannot(&error))?)
    };
    let mut start = Vec::new();
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut start).map_err(|error| cannot(&error))?;
    let compressed = start == GZIP;
    let input = Cursor::new(start).chain(input);
    Ok(if compressed { Box::new(BufReader::new(MultiGzDecoder::new(input))) } else { Box::new(BufReader::new(input)) })
}

/// The first bytes of what gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What a command writes, which must end well.
struct Command(Option<Input>);

impl Read for Command {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(input) = &mut self.0 else { return Ok(0) };
        let read = input.read(buffer)?;
        if read == 0
            && !buffer.is_empty()
            && let Some(input) = self.0.take()
        {
            input.finish().map_err(io::Error::other)?;
        }
        Ok(read)
    }
}

/// All bytes of what is opened.
pub(crate) fn read_bytes(name: &str) -> Result<Vec<u8>, Trouble> {
    let (mut bytes, limit) = (Vec::new(), Limits::half_of_memory());
    // What is compressed may be much larger than its file.
    let read = open(name)?.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() > limit => {
            Err(Trouble::Failed(format!("{} has more than {limit} bytes, half of the memory there is", shown(name))))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err(Trouble::Failed(format!("cannot read {}: {error}", shown(name)))),
    }
}

/// A name in a message.
pub(crate) fn shown(name: &str) -> String {
    if is_standard(name) { "standard input".to_owned() } else { format!("'{name}'") }
}

/// The text of a file.
pub(crate) fn read_text(name: &str) -> Result<String, Trouble> {
    String::from_utf8(read_bytes(name)?).map_err(|_| Trouble::Failed(format!("{} is not UTF-8", shown(name))))
}

/// A table of symbols, if a file is named.
pub(crate) fn read_symbols(name: &str) -> Result<Option<SymbolTable>, Trouble> {
    if name.is_empty() {
        return Ok(None);
    }
    read_text(name)?.parse().map(Some).map_err(|error| in_file(name, &error))
}

/// An error with the file that it is in. The place in a text stands on lines of its own.
pub(crate) fn in_file(name: &str, error: &kaldera::fsa::Error) -> Trouble {
    let name = if is_standard(name) { "standard input" } else { name };
    Trouble::Failed(format!("{name}: {error}"))
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

/// Why a file was not written.
enum NotWritten {
    Io(io::Error),
    Fst(kaldera::fsa::Error),
}

impl From<kaldera::fsa::Error> for NotWritten {
    fn from(error: kaldera::fsa::Error) -> Self {
        Self::Fst(error)
    }
}

impl From<io::Error> for NotWritten {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes a file, which appears complete or not at all, or to standard output, whose reader may
/// stop listening.
pub(crate) fn write_bytes(name: &str, bytes: &[u8]) -> Result<(), Trouble> {
    write_with(name, |out| out.write_all(bytes))
}

/// As [`write_bytes`], with what `write` writes.
pub(crate) fn write_with(name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Trouble> {
    write_pieces(name, |out| write(out).map_err(NotWritten::Io))
}

/// As [`write_bytes`], what `write` writes, piece by piece.
fn write_pieces(name: &str, write: impl FnOnce(&mut dyn Write) -> Result<(), NotWritten>) -> Result<(), Trouble> {
    let write_to = |out: &mut dyn Write| {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        write(&mut out)?;
        out.flush().map_err(NotWritten::Io)
    };
    let failed = |error: NotWritten| match error {
        NotWritten::Io(error) if is_standard(name) => {
            Trouble::Failed(format!("cannot write to standard output: {error}"))
        }
        NotWritten::Io(error) => Trouble::Failed(format!("cannot write '{name}': {error}")),
        NotWritten::Fst(error) => in_file(name, &error),
    };
    if is_standard(name) {
        return match write_to(&mut io::stdout().lock()) {
            Err(NotWritten::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(failed),
        };
    }
    // What is no regular file, such as /dev/null or a FIFO, cannot be replaced: it receives the
    // bytes.
    if fs::metadata(name).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = OpenOptions::new().write(true).open(name).map_err(|error| failed(error.into()))?;
        return write_to(&mut file).map_err(failed);
    }
    let (mut file, partial) = PartialFile::create(Path::new(name)).map_err(|error| Trouble::failed(&error))?;
    write_to(&mut file).map_err(failed)?;
    drop(file);
    partial.finish().map_err(|error| Trouble::failed(&error))?;
    Ok(())
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
