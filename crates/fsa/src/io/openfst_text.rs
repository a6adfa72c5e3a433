//! OpenFst's text of transducers and acceptors.

use std::fmt::Write;

use ragged_core::TextValue;

use crate::core::arc::{Arc, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::graph_labels::GraphLabels;
use crate::core::semiring::Semiring;
use crate::error::parse::ParseErrorKind;
use crate::error::{AttributeProblem, Error};
use crate::io::cursor::{Cursor, Field};
use crate::io::openfst::{self, CostStates, TO_FINAL};
use crate::io::symbols::SymbolTable;
use crate::support::ids::index;

/// Format of OpenFst's text, as `fstcompile` reads and `fstprint` prints it:
/// `source destination input output [cost]` for each arc, `state [cost]` for each final state; the
/// state of the first line is the start.
///
/// Costs are negative scores. Reading makes one final state, with an arc of label -1 from each
/// state that was final; the last of several final costs of a state counts. Printing does the
/// opposite, and makes one cost of several arcs from a state to the final one, in the semiring of
/// [`with_semiring`](Self::with_semiring). The start is exchanged with state 0.
///
/// ```
/// use fsa::io::OpenFstText;
///
/// let text = OpenFstText::default();
/// let fst = text.read("0 1 7 70 0.5\n1 0.25\n")?;
/// assert_eq!((fst.fsas().num_states(), fst.fsas().scores()), (3, vec![-0.5, -0.25]));
/// assert_eq!(text.print(&fst)?, "0\t1\t7\t70\t0.5\n1\t0.25\n");
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenFstText<'a> {
    acceptor: bool,
    semiring: Semiring,
    input_symbols: Option<&'a SymbolTable>,
    output_symbols: Option<&'a SymbolTable>,
    state_symbols: Option<&'a SymbolTable>,
}

impl<'a> OpenFstText<'a> {
    /// Uses one label on each line and no auxiliary labels.
    #[must_use]
    pub fn with_acceptor(self, acceptor: bool) -> Self {
        Self { acceptor, ..self }
    }

    /// Sets the semiring in which several final arcs of a state are combined to one cost when
    /// printed.
    #[must_use]
    pub fn with_semiring(self, semiring: Semiring) -> Self {
        Self { semiring, ..self }
    }

    /// Sets the symbols of the labels.
    #[must_use]
    #[doc(alias = "isymbols")]
    pub fn with_input_symbols(self, symbols: Option<&'a SymbolTable>) -> Self {
        Self { input_symbols: symbols, ..self }
    }

    /// Sets the symbols of the output labels.
    #[must_use]
    #[doc(alias = "osymbols")]
    pub fn with_output_symbols(self, symbols: Option<&'a SymbolTable>) -> Self {
        Self { output_symbols: symbols, ..self }
    }

    /// Sets the symbols of the states.
    #[must_use]
    #[doc(alias = "ssymbols")]
    pub fn with_state_symbols(self, symbols: Option<&'a SymbolTable>) -> Self {
        Self { state_symbols: symbols, ..self }
    }

    /// Reads an FSA; it has auxiliary labels, unless acceptors are read. O(text), and a sort if
    /// arcs are not in the order of states.
    ///
    /// # Errors
    /// [`Error::Parse`] with the place of the error; [`Error::TooLarge`].
    #[doc(alias = "fstcompile")]
    pub fn read(&self, text: &str) -> Result<Graph<Fsa>, Error> {
        let mut cursor = Cursor::new(text);
        let (mut arcs, mut aux_labels, mut start, mut highest) = (vec![], vec![], None, 0);
        let mut finals = FinalArcs::default();
        while cursor.next_line() {
            let source = cursor.expect("a state")?;
            let src_state = self.state(&cursor, source)?;
            start.get_or_insert(src_state);
            highest = highest.max(src_state);
            if cursor.count_fields() > 1 {
                let dest = cursor.expect("a state")?;
                let dest_state = self.state(&cursor, dest)?;
                highest = highest.max(dest_state);
                let input = cursor.expect("a label")?;
                let label = label(&cursor, input, self.input_symbols, "input symbols")?;
                if label < 0 {
                    let what = "a label, 0 or above";
                    return Err(cursor.error(ParseErrorKind::Expected { what }, input.position));
                }
                aux_labels.push(match self.acceptor {
                    true => label,
                    false => {
                        let output = cursor.expect("an output label")?;
                        label_out(&cursor, output, self.output_symbols)?
                    }
                });
                arcs.push(Arc::new(src_state, dest_state, label, cursor.last_score(-1.0)?));
            } else {
                let score = cursor.last_score(-1.0)?;
                let place = finals.place(src_state, arcs.len());
                if place < arcs.len() {
                    arcs[place].score = score;
                } else {
                    arcs.push(Arc::new(src_state, TO_FINAL, FINAL, score));
                    aux_labels.push(FINAL);
                }
            }
        }
        // A cost of infinity means that the state is not final.
        let is_final = |arc: &Arc| arc.label != FINAL || arc.score > f32::NEG_INFINITY;
        if !arcs.iter().all(is_final) {
            let mut kept = arcs.iter().map(is_final);
            aux_labels.retain(|_| kept.next().unwrap_or(true));
            arcs.retain(is_final);
        }
        let Some(start) = start else {
            let none = Graph::new(Fsa::empty()).with_graph_labels(GraphLabels::ClassPlusOne);
            return if self.acceptor { Ok(none) } else { none.with_aux_labels(Vec::<i32>::new()) };
        };
        let (fsa, order) = openfst::assemble(arcs, start, highest)?;
        if self.acceptor {
            return Ok(Graph::new(fsa).with_graph_labels(GraphLabels::ClassPlusOne));
        }
        let aux_labels = ragged_core::index_select(&aux_labels, &order, 0)?;
        Graph::new(fsa).with_graph_labels(GraphLabels::ClassPlusOne).with_aux_labels(aux_labels)
    }

    fn state<'t>(&self, cursor: &Cursor<'t>, field: Field<'t>) -> Result<i32, Error> {
        match self.state_symbols {
            None => cursor.state(field),
            Some(_) => cursor.plausible(label(cursor, field, self.state_symbols, "state symbols")?, field),
        }
    }

    /// Prints an FSA. O(arcs).
    ///
    /// # Errors
    /// [`Error::Attribute`] if its auxiliary labels are lists, or if acceptors are printed and an
    /// output label differs from its input label; [`Error::NoSymbol`] for a label without a symbol.
    #[doc(alias = "fstprint")]
    pub fn print(&self, graph: &Graph<Fsa>) -> Result<String, Error> {
        let mut text = String::new();
        let written = self.write(graph, &mut text)?;
        debug_assert!(written.is_ok(), "a String takes everything");
        Ok(text)
    }

    fn write(&self, graph: &Graph<Fsa>, text: &mut String) -> Result<std::fmt::Result, Error> {
        let (input, output) = (Names(self.input_symbols), Names(self.output_symbols));
        let names = Names(self.state_symbols);
        let (mut ok, mut state) = (Ok(()), 0);
        CostStates::new(graph, self.semiring)?.each(|final_cost, arcs| {
            for arc in arcs {
                names.write(text, state)?;
                text.push('\t');
                names.write(text, arc.dest)?;
                text.push('\t');
                input.write(text, arc.ilabel)?;
                if !self.acceptor {
                    text.push('\t');
                    output.write(text, arc.olabel)?;
                } else if arc.ilabel != arc.olabel {
                    return Err(Error::Attribute { problem: AttributeProblem::NotAcceptor });
                }
                ok = ok.and(write_cost(text, arc.cost));
            }
            if final_cost < f32::INFINITY {
                names.write(text, state)?;
                ok = ok.and(write_cost(text, final_cost));
            } else if state == 0 && arcs.is_empty() {
                // The first line determines the start.
                names.write(text, state)?;
                *text += "\tInfinity\n";
            }
            state += 1;
            Ok(())
        })?;
        Ok(ok)
    }
}

/// Index of the final arc of each state.
#[derive(Default)]
struct FinalArcs(Vec<Option<usize>>);

impl FinalArcs {
    /// Returns the index of the final arc of a state, which is `next` if there was none.
    fn place(&mut self, state: i32, next: usize) -> usize {
        let state = index(state);
        if state >= self.0.len() {
            self.0.resize(state + 1, None);
        }
        *self.0[state].get_or_insert(next)
    }
}

/// Ends a line with a cost that is not 0.
fn write_cost(text: &mut String, cost: f32) -> std::fmt::Result {
    if cost == f32::INFINITY {
        text.write_str("\tInfinity")?;
    } else if cost != 0.0 {
        text.write_char('\t')?;
        cost.write_text(text)?;
    }
    text.write_char('\n')
}

fn label(
    cursor: &Cursor<'_>,
    field: Field<'_>,
    symbols: Option<&SymbolTable>,
    what: &'static str,
) -> Result<i32, Error> {
    match symbols {
        None => cursor.label(field),
        Some(symbols) => {
            symbols.find(field.text).ok_or_else(|| cursor.error(ParseErrorKind::UnknownSymbol { what }, field.position))
        }
    }
}

fn label_out<'t>(cursor: &Cursor<'t>, field: Field<'t>, symbols: Option<&SymbolTable>) -> Result<i32, Error> {
    match symbols {
        None => cursor.parse(field, "a label"),
        Some(_) => label(cursor, field, symbols, "output symbols"),
    }
}

/// Formats labels, as symbols if there is a table.
#[derive(Clone, Copy)]
struct Names<'a>(Option<&'a SymbolTable>);

impl Names<'_> {
    fn write(self, text: &mut String, label: i32) -> Result<(), Error> {
        match self.0 {
            None => *text += &label.to_string(),
            Some(symbols) => *text += symbols.get(label).ok_or(Error::NoSymbol { label })?,
        }
        Ok(())
    }
}
