//! k2's text of FSAs.
//!
//! ```text
//!   0 1 7 70 [1 2] 0.5     source, destination, label, auxiliary labels, lists, score
//!   1 2 -1 -1 [] 0
//!   2                      the final state
//! ```

use std::fmt;
use std::str::FromStr;

use ragged_core::{Ragged, RaggedShape, RowSplits, TextValue};

use crate::core::arc::{Arc, FINAL};
use crate::core::attributes::{Attribute, Attributes};
use crate::core::fsa::{Fsa, FsaOrVec, Fsas};
use crate::core::graph::{AUX_LABELS, Graph};
use crate::error::parse::ParseErrorKind;
use crate::error::{AttributeProblem, Error, Quantity};
use crate::io::cursor::Cursor;
use crate::io::openfst::{self, TO_FINAL};
use crate::support::ids::index;

/// Format of k2's text, for reading and printing: the fields on its lines.
///
/// There is one arc on a line, in the order of the states that they leave; a missing score is 0.
/// The last line is the final state, which is the last one. Scores are printed with the fewest
/// digits that read back as the same number, unless [`with_six_digits`](Self::with_six_digits) is
/// set. An empty text is the FSA without states.
///
/// As in k2, arcs may leave the final state in a text. They are on no path, as each ends there, and
/// are not kept: no state follows the final one.
///
/// If [`with_openfst`](Self::with_openfst) is set, the last number of a line is a cost, the
/// negative score. Arcs are in any order, and instead of the final state there is a line with a
/// state and its final cost for each state that is final. The state of the first line is the start;
/// it is exchanged with state 0. The final state comes after all others.
///
/// ```
/// use fsa::io::K2Text;
///
/// let fst = K2Text::transducer().read("0 1 7 70 0.1\n1 2 -1 -1 0\n2")?;
/// assert_eq!(fst.aux_labels(), Some(&[70, -1][..]));
/// assert_eq!(K2Text::transducer().with_openfst(true).print(&fst)?, "0 1 7 70 -0.1\n1 -0\n");
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct K2Text {
    openfst: bool,
    six_digits: bool,
    labels: Vec<String>,
    lists: Vec<String>,
}

impl K2Text {
    /// Creates the format with only source, destination, label and score.
    pub fn acceptor() -> Self {
        Self::default()
    }

    /// Creates the format with one auxiliary label, [`AUX_LABELS`].
    pub fn transducer() -> Self {
        Self::acceptor().with_labels(1)
    }

    /// Creates the format with all attributes of `graph` that are integers, then all that are
    /// lists, each in alphabetical order, as k2's `str` prints.
    #[doc(alias = "__str__")]
    pub fn for_graph<F: Fsas>(graph: &Graph<F>) -> Self {
        let mut made = Self::default();
        for (name, attribute) in graph.attributes().iter() {
            match attribute {
                Attribute::Ints { .. } => made.labels.push(name.clone()),
                Attribute::Lists(_) => made.lists.push(name.clone()),
                Attribute::Floats { .. } => {}
            }
        }
        made
    }

    /// Creates the format of k2's `to_str_simple` for `graph`: [`AUX_LABELS`] if they are numbers,
    /// and scores with six digits.
    #[doc(alias = "to_str_simple")]
    pub fn simple<F: Fsas>(graph: &Graph<F>) -> Self {
        Self::acceptor().with_labels(usize::from(graph.aux_labels().is_some())).with_six_digits(true)
    }

    /// Sets the number of auxiliary labels: `aux_labels`, `aux_labels2`, `aux_labels3` and so on.
    #[must_use]
    #[doc(alias = "num_aux_labels")]
    pub fn with_labels(self, number: usize) -> Self {
        self.with_label_names(
            (1..=number).map(|i| if i == 1 { AUX_LABELS.to_owned() } else { format!("{AUX_LABELS}{i}") }),
        )
    }

    /// Sets the names of auxiliary labels.
    #[must_use]
    #[doc(alias = "aux_label_names")]
    pub fn with_label_names(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { labels: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the names of lists.
    #[must_use]
    #[doc(alias = "ragged_label_names")]
    pub fn with_list_names(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { lists: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Reads and prints costs and final costs, as in OpenFst's text.
    #[must_use]
    pub fn with_openfst(self, openfst: bool) -> Self {
        Self { openfst, ..self }
    }

    /// Prints as k2 does: scores with six digits, and nothing of an FSA without arcs, though it may
    /// have states.
    #[must_use]
    pub fn with_six_digits(self, six_digits: bool) -> Self {
        Self { six_digits, ..self }
    }

    /// Reads an FSA. O(text).
    ///
    /// # Errors
    /// [`Error::Parse`] with the place of the error; [`Error::TooLarge`].
    #[doc(alias = "from_str")]
    #[doc(alias = "FsaFromString")]
    pub fn read(&self, text: &str) -> Result<Graph<Fsa>, Error> {
        let mut rows = Rows::new(self, text);
        let made = if self.openfst { rows.read_openfst()? } else { rows.read_k2()? };
        let Some((fsa, order)) = made else { return self.no_states() };
        let attributes = rows.attributes(self)?;
        Graph::from_parts(fsa, if order.is_sorted() { attributes } else { attributes.carry(&order)? })
    }

    fn no_states(&self) -> Result<Graph<Fsa>, Error> {
        let mut graph = Graph::new(Fsa::empty());
        for name in &self.labels {
            graph = graph.with(name, Vec::<i32>::new())?;
        }
        for name in &self.lists {
            graph = graph.with(name, Ragged::from_lists(&[] as &[Vec<i32>])?)?;
        }
        Ok(graph)
    }

    /// Prints an FSA; for a vector each one, behind `FsaVec[i]: ` as k2 does. O(arcs).
    ///
    /// # Errors
    /// [`Error::Attribute`] if an attribute is missing, or of another kind.
    #[doc(alias = "to_str")]
    #[doc(alias = "FsaToString")]
    pub fn print<F: Fsas>(&self, graph: &Graph<F>) -> Result<String, Error> {
        let missing = Error::Attribute { problem: AttributeProblem::NotPrintable };
        let named = |name: &String| graph.attributes().ints(name).ok_or_else(|| missing.clone());
        let labels = self.labels.iter().map(named).collect::<Result<Vec<_>, _>>()?;
        let named = |name: &String| graph.attributes().lists(name).ok_or_else(|| missing.clone());
        let lists = self.lists.iter().map(named).collect::<Result<Vec<_>, _>>()?;
        let fsas = graph.fsas().as_fsa_vec();
        let single = graph.fsas().is_single();
        let mut text = String::with_capacity(24 * fsas.num_arcs());
        for (i, fsa) in fsas.iter().enumerate() {
            let head = if single { String::new() } else { format!("FsaVec[{i}]: ") };
            let lines =
                Lines { format: self, arcs: fsa.arcs(), first: fsa.first_arc(), labels: &labels, lists: &lists };
            let written = fmt::write(&mut text, format_args!("{head}{lines}"));
            debug_assert!(written.is_ok(), "a String takes everything");
            let nothing = self.openfst || (self.six_digits && fsa.arcs().is_empty());
            if let (Some(last), false) = (fsa.final_state(), nothing) {
                text += &format!("{last}\n");
            }
        }
        Ok(text)
    }
}

/// Lines of the arcs of one FSA.
struct Lines<'a> {
    format: &'a K2Text,
    arcs: &'a [Arc],
    first: usize,
    labels: &'a [&'a [i32]],
    lists: &'a [&'a Ragged<i32>],
}

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let K2Text { openfst, six_digits, .. } = *self.format;
        for (at, arc) in (self.first..).zip(self.arcs) {
            let &Arc { src_state, dest_state, label, score } = arc;
            if openfst && label == FINAL {
                write!(f, "{src_state} ")?;
            } else {
                write!(f, "{src_state} {dest_state} {label} ")?;
                for labels in self.labels {
                    write!(f, "{} ", labels[at])?;
                }
                for lists in self.lists {
                    f.write_str("[ ")?;
                    lists.row(at).iter().try_for_each(|entry| write!(f, "{entry} "))?;
                    f.write_str("] ")?;
                }
            }
            let number = if openfst { -score } else { score };
            if six_digits {
                number.write_k2_text(f)?
            } else {
                number.write_text(f)?
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

/// The data read so far.
struct Rows<'a> {
    cursor: Cursor<'a>,
    arcs: Vec<Arc>,
    labels: Vec<Vec<i32>>,
    /// Row splits and entries of each attribute.
    lists: Vec<(Vec<i32>, Vec<i32>)>,
    highest: i32,
}

impl<'a> Rows<'a> {
    fn new(format: &K2Text, text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            arcs: vec![],
            labels: vec![vec![]; format.labels.len()],
            lists: vec![(vec![0], vec![]); format.lists.len()],
            highest: -1,
        }
    }

    /// Reads the rest of the line of an arc whose source was read.
    fn arc(&mut self, src_state: i32, dest_state: i32, sign: f32) -> Result<(), Error> {
        let field = self.cursor.expect("a label")?;
        let label = self.cursor.label(field)?;
        for labels in &mut self.labels {
            let field = self.cursor.expect("an auxiliary label")?;
            labels.push(self.cursor.aux_label(field)?);
        }
        for (ends, values) in &mut self.lists {
            self.cursor.list(values)?;
            ends.push(Error::fit(Quantity::ListEntries, values.len())?);
        }
        self.highest = self.highest.max(src_state).max(dest_state);
        self.arcs.push(Arc::new(src_state, dest_state, label, self.cursor.last_score(sign)?));
        Ok(())
    }

    /// Reads an arc from each line, then the final state.
    fn read_k2(&mut self) -> Result<Option<(Fsa, Vec<i32>)>, Error> {
        let mut last = None;
        while self.cursor.next_line() {
            let source = self.cursor.expect("a state")?;
            if last.is_some() {
                return Err(self.cursor.error(ParseErrorKind::TrailingLine, source.position));
            }
            let src_state = self.cursor.state(source)?;
            let Some(dest) = self.cursor.field() else {
                last = Some((src_state, source.position));
                continue;
            };
            let dest_state = self.cursor.state(dest)?;
            if let Some(before) = self.arcs.last().map(|arc| arc.src_state).filter(|&before| before > src_state) {
                let kind = ParseErrorKind::SourceOrder { before, found: src_state };
                return Err(self.cursor.error(kind, source.position));
            }
            self.arc(src_state, dest_state, 1.0)?;
        }
        let Some((last, position)) = last else {
            if self.arcs.is_empty() {
                return Ok(None);
            }
            return Err(self.cursor.error(ParseErrorKind::NoFinalState, self.cursor.position()));
        };
        if last == 0 {
            return Err(self.cursor.error(ParseErrorKind::SingleState, position));
        }
        if self.highest > last {
            return Err(self.cursor.error(ParseErrorKind::State { found: self.highest, last }, position));
        }
        if let Some(at) = self.arcs.iter().position(|arc| (arc.dest_state == last) != (arc.label == FINAL)) {
            let Arc { label, dest_state, .. } = self.arcs[at];
            return Err(self.error_in_line(at, ParseErrorKind::FinalLabel { label, dest_state }));
        }
        self.truncate(self.arcs.partition_point(|arc| arc.src_state < last));
        let arcs = std::mem::take(&mut self.arcs);
        Ok(Some((Fsa::from_arcs(index(last) + 1, arcs)?, vec![])))
    }

    /// Keeps only the first arcs and their attributes.
    fn truncate(&mut self, arcs: usize) {
        self.arcs.truncate(arcs);
        self.labels.iter_mut().for_each(|labels| labels.truncate(arcs));
        for (ends, values) in &mut self.lists {
            ends.truncate(arcs + 1);
            values.truncate(ends.last().copied().map_or(0, index));
        }
    }

    /// Reads an arc or a final cost from each line.
    fn read_openfst(&mut self) -> Result<Option<(Fsa, Vec<i32>)>, Error> {
        let mut start = None;
        while self.cursor.next_line() {
            let source = self.cursor.expect("a state")?;
            let src_state = self.cursor.state(source)?;
            start.get_or_insert(src_state);
            self.highest = self.highest.max(src_state);
            if self.cursor.count_fields() > 1 {
                let dest = self.cursor.expect("a state")?;
                let dest_state = self.cursor.state(dest)?;
                let label_at = self.cursor;
                self.arc(src_state, dest_state, -1.0)?;
                if self.arcs.last().is_some_and(|arc| arc.label == FINAL) {
                    let what = "a label, 0 or above";
                    return Err(self.cursor.error(ParseErrorKind::Expected { what }, label_at.position()));
                }
                continue;
            }
            let score = self.cursor.last_score(-1.0)?;
            // A cost of infinity means that the state is not final.
            if score > f32::NEG_INFINITY {
                self.arcs.push(Arc::new(src_state, TO_FINAL, FINAL, score));
                self.labels.iter_mut().for_each(|labels| labels.push(FINAL));
                for (ends, values) in &mut self.lists {
                    values.push(FINAL);
                    ends.push(Error::fit(Quantity::ListEntries, values.len())?);
                }
            }
        }
        let Some(start) = start else { return Ok(None) };
        openfst::assemble(std::mem::take(&mut self.arcs), start, self.highest).map(Some)
    }

    /// Returns the error on the line of an arc; all lines before it are arcs too.
    fn error_in_line(&self, arc: usize, kind: ParseErrorKind) -> Error {
        let mut cursor = self.cursor.rewound();
        for _ in 0..arc {
            cursor.next_line();
            cursor.skip_line();
        }
        cursor.next_line();
        self.cursor.error(kind, cursor.position())
    }

    fn attributes(self, format: &K2Text) -> Result<Attributes, Error> {
        let mut attributes = Attributes::default();
        for (name, labels) in format.labels.iter().zip(self.labels) {
            attributes.insert(name, labels.into());
        }
        for (name, (ends, values)) in format.lists.iter().zip(self.lists) {
            let shape = RaggedShape::new([RowSplits::new(ends)?])?;
            attributes.insert(name, Ragged::new(shape, values)?.into());
        }
        Ok(attributes)
    }
}

/// Reads k2's text of an acceptor.
impl FromStr for Fsa {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(K2Text::acceptor().read(text)?.into_parts().0)
    }
}

/// Prints k2's text of an acceptor, without loss.
impl fmt::Display for Fsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&K2Text::acceptor().print(&Graph::new(self.clone())).map_err(|_| fmt::Error)?)
    }
}

/// Prints k2's text of an acceptor, or of each one behind `FsaVec[i]: `, without loss.
impl fmt::Display for FsaOrVec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&K2Text::acceptor().print(&Graph::new(self.clone())).map_err(|_| fmt::Error)?)
    }
}
