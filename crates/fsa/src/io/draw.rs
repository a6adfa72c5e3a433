//! Drawings: text for Graphviz.

use std::fmt::{self, Write};

use ragged_core::TextValue;

use crate::core::arc::Arc;
use crate::core::attributes::Attribute;
use crate::core::fsa::Fsas;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::io::symbols::SymbolTable;

/// Draws FSAs: a circle for each state, bold for the start, double for the end, and an arrow for
/// each arc with `label:aux/score`, as OpenFst and k2 do. A score of 0 is not written.
///
/// The universities of the article on k2's ragged tensors: a province is an FSA, a city a state, a
/// university an arc.
///
/// ```
/// use fsa::io::{Drawing, SymbolTable};
/// use fsa::{Fsa, FsaVec, Graph};
///
/// let shaanxi: Fsa = "0 1 1\n0 1 2\n0 2 3\n0 2 4\n1 3 5\n2 3 6\n3 4 -1\n4".parse()?;
/// let taiwan: Fsa = "0 1 7\n1 2 8\n2 3 -1\n3".parse()?;
/// let china_univ_fsav = FsaVec::from_fsas(&[shaanxi, taiwan])?;
///
/// let shape = china_univ_fsav.shape();
/// assert_eq!(
///     shape.to_string(),
///     "[ [ [ x x x x ] [ x ] [ x ] [ x ] [ ] ] [ [ x ] [ x ] [ x ] [ ] ] ]"
/// );
/// assert_eq!(shape.row_splits(1).as_ref(), [0, 5, 9]);
/// assert_eq!(shape.row_splits(2).as_ref(), [0, 4, 5, 6, 7, 7, 8, 9, 10, 10]);
///
/// let universities: SymbolTable = "- 0\n西北工业大学 1\n西安交通大学 2\n西安电子科技大学 3\n长安大学 4\n延安大学 5\n\
///     陕西理工大学 6\n成功大学 7\n逢甲大学 8\n".parse()?;
/// let drawing =
///     Drawing::default().with_title("china_univ_fsav").with_input_symbols(Some(&universities));
/// let dot = drawing.dot(&Graph::new(china_univ_fsav));
/// assert!(dot.contains("f0s0 -> f0s2 [label=\"长安大学\"]"));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Drawing<'a> {
    title: &'a str,
    input_symbols: Option<&'a SymbolTable>,
    output_symbols: Option<&'a SymbolTable>,
}

impl<'a> Drawing<'a> {
    /// Sets a line above the drawing.
    #[must_use]
    pub fn with_title(self, title: &'a str) -> Self {
        Self { title, ..self }
    }

    /// Sets symbols, which replace the labels that have one.
    #[must_use]
    pub fn with_input_symbols(self, symbols: Option<&'a SymbolTable>) -> Self {
        Self { input_symbols: symbols, ..self }
    }

    /// Sets symbols, which replace the auxiliary labels that have one.
    #[must_use]
    pub fn with_output_symbols(self, symbols: Option<&'a SymbolTable>) -> Self {
        Self { output_symbols: symbols, ..self }
    }

    /// Returns the input of Graphviz's `dot`; a vector as clusters. State `s` of FSA `i` is the
    /// node `f{i}s{s}`.
    #[doc(alias = "to_dot")]
    #[doc(alias = "fstdraw")]
    pub fn dot<F: Fsas>(&self, graph: &Graph<F>) -> String {
        let mut text = String::new();
        let written = self.write_dot(graph, &mut text);
        debug_assert!(written.is_ok(), "a String takes everything");
        text
    }

    fn write_dot<F: Fsas>(&self, graph: &Graph<F>, out: &mut String) -> fmt::Result {
        writeln!(out, "digraph FSA {{\n  rankdir = LR;\n  labelloc = t;\n  label = \"{}\";", Quoted(self.title))?;
        writeln!(out, "  node [shape = circle];")?;
        let single = graph.fsas().is_single();
        for (i, fsa) in graph.fsas().as_fsa_vec().iter().enumerate() {
            if !single {
                writeln!(out, "  subgraph cluster_{i} {{\n  label = \"FSA {i}\";")?;
            }
            for state in 0..fsa.num_states() {
                let shape = if Some(state) == fsa.final_state() { ", shape = doublecircle" } else { "" };
                let style = if state == 0 { ", style = bold" } else { "" };
                writeln!(out, "  f{i}s{state} [label = \"{state}\"{shape}{style}];")?;
            }
            for (at, arc) in (fsa.first_arc()..).zip(fsa.arcs()) {
                let label = self.label(graph, at, arc)?;
                writeln!(out, "  f{i}s{} -> f{i}s{} [label=\"{}\"];", arc.src_state, arc.dest_state, Quoted(&label))?;
            }
            if !single {
                writeln!(out, "  }}")?;
            }
        }
        writeln!(out, "}}")
    }

    /// Returns `label:aux/score`.
    fn label<F: Fsas>(&self, graph: &Graph<F>, at: usize, arc: &Arc) -> Result<String, fmt::Error> {
        let name = |label: i32, symbols: Option<&SymbolTable>| {
            symbols.and_then(|symbols| symbols.get(label)).map_or_else(|| label.to_string(), str::to_owned)
        };
        let mut text = name(arc.label, self.input_symbols);
        match graph.attributes().get(AUX_LABELS) {
            Some(Attribute::Ints { values, .. }) => write!(text, ":{}", name(values[at], self.output_symbols))?,
            Some(Attribute::Lists(lists)) => {
                let names: Vec<_> = lists.row(at).iter().map(|&label| name(label, self.output_symbols)).collect();
                write!(text, ":[{}]", names.join(" "))?;
            }
            _ => {}
        }
        if arc.score != 0.0 {
            text.push('/');
            arc.score.write_k2_text(&mut text)?;
        }
        Ok(text)
    }
}

/// Formats a text between quotation marks in Graphviz's language.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::arc::FINAL;
    use crate::core::fsa::{Fsa, FsaVec};

    #[test]
    fn every_arc_is_drawn() {
        let fsa: Fsa = "0 1 1 0.5\n0 1 2\n0 0 3\n1 0 4\n1 2 0\n2 1 5\n2 3 -1 -2\n3".parse().unwrap();
        let graph = Graph::new(fsa).with_aux_labels(vec![10, 20, 30, 40, 0, 50, FINAL]).unwrap();
        let dot = Drawing::default().dot(&graph);
        for text in ["1:10/0.5", "2:20", "3:30", "4:40", "0:0", "5:50", "-1:-1/-2"] {
            assert_eq!(dot.matches(&format!("[label=\"{text}\"]")).count(), 1, "{text} in {dot}");
        }
        assert_eq!(dot.matches("->").count(), 7);
    }

    #[test]
    fn texts_cannot_leave_their_place() {
        let hostile: SymbolTable = "<a>&\"\\ 1".parse().unwrap();
        let graph = Graph::new("0 1 1\n1 2 -1\n2".parse::<Fsa>().unwrap());
        let drawing = Drawing::default().with_title("\"<b>").with_input_symbols(Some(&hostile));
        assert!(drawing.dot(&graph).contains(r#"[label="<a>&\"\\"]"#) && drawing.dot(&graph).contains(r#""\"<b>""#));
    }

    #[test]
    fn graphs_without_arcs_are_drawn() {
        for vec in [FsaVec::empty(), Fsa::empty().into_vec(), Fsa::from_arcs(2, vec![]).unwrap().into_vec()] {
            assert!(Drawing::default().dot(&Graph::new(vec)).ends_with("}\n"));
        }
    }
}
