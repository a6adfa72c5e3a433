//! Drawings: text for Graphviz, and SVG.

use std::fmt::{self, Write};

use ragged_core::TextValue;

use crate::core::arc::Arc;
use crate::core::attributes::Attribute;
use crate::core::fsa::Fsas;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::view::FsaView;
use crate::error::Error;
use crate::io::layout::{Edge, Extent, Layout, layout};
use crate::io::symbols::SymbolTable;

/// Radius of a state, height of a line of text, and space around everything.
const RADIUS: f64 = 16.0;
const LINE: f64 = 15.0;
const MARGIN: f64 = 12.0;
/// Height of the loop of a self-loop.
const LOOP: f64 = 20.0;

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
/// assert_eq!(shape.to_string(), "[ [ [ x x x x ] [ x ] [ x ] [ x ] [ ] ] [ [ x ] [ x ] [ x ] [ ] ] ]");
/// assert_eq!(shape.row_splits(1).as_ref(), [0, 5, 9]);
/// assert_eq!(shape.row_splits(2).as_ref(), [0, 4, 5, 6, 7, 7, 8, 9, 10, 10]);
///
/// let universities: SymbolTable = "- 0\n西北工业大学 1\n西安交通大学 2\n西安电子科技大学 3\n长安大学 4\n延安大学 5\n\
///     陕西理工大学 6\n成功大学 7\n逢甲大学 8\n".parse()?;
/// let drawing = Drawing::default().with_title("china_univ_fsav").with_input_symbols(Some(&universities));
/// let svg = drawing.svg(&Graph::new(china_univ_fsav.clone()))?;
/// assert!(svg.starts_with("<svg") && svg.contains("长安大学"));
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

    /// Returns a drawing for browsers, with our own layout: states in layers from left to right by
    /// the longest path to them, arcs between the same states as one arrow with a line of text for
    /// each. The same FSA gives the same drawing. The FSAs of a vector are drawn one below the
    /// other.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the drawing would have too many elements to be looked at.
    pub fn svg<F: Fsas>(&self, graph: &Graph<F>) -> Result<String, Error> {
        let (mut body, mut width) = (String::new(), text_width(self.title));
        let mut top = MARGIN;
        let mut ok = Ok(());
        if !self.title.is_empty() {
            ok = ok.and(write_text(&mut body, MARGIN, top + LINE - 3.0, "start", self.title));
            top += 2.0 * LINE;
        }
        let single = graph.fsas().is_single();
        for (i, fsa) in graph.fsas().as_fsa_vec().iter().enumerate() {
            if !single {
                ok = ok.and(write_text(&mut body, MARGIN, top + LINE - 3.0, "start", &format!("FSA {i}")));
                top += 1.5 * LINE;
            }
            let picture = Picture::new(self, graph, fsa)?;
            ok = ok.and(picture.write(&mut body, MARGIN, top));
            top += picture.layout.height + MARGIN;
            width = width.max(picture.layout.width);
        }
        debug_assert!(ok.is_ok(), "a String takes everything");
        let (width, height) = (width + 2.0 * MARGIN, top);
        Ok(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
        ))
    }
}

/// One FSA with its texts.
struct Picture {
    layout: Layout,
    /// Texts of the self-loops of each state.
    loops: Vec<Vec<String>>,
    /// Texts of each edge of the layout.
    texts: Vec<Vec<String>>,
}

impl Picture {
    fn new<F: Fsas>(drawing: &Drawing<'_>, graph: &Graph<F>, fsa: FsaView<'_>) -> Result<Self, Error> {
        let (mut loops, mut texts, mut edges) = (vec![vec![]; fsa.num_states()], vec![], Vec::<Edge>::new());
        for state in 0..fsa.num_states() {
            let mut order: Vec<usize> = fsa.arc_range(state).collect();
            order.sort_by_key(|&at| fsa.arcs()[at].dest_state);
            for at in order {
                let arc = &fsa.arcs()[at];
                let text = drawing.label(graph, fsa.first_arc() + at, arc).unwrap_or_default();
                let (src, dest) = arc.states();
                if src == dest {
                    loops[src].push(text);
                } else if edges.last().is_some_and(|edge| (edge.src, edge.dest) == (src, dest)) {
                    let texts: &mut Vec<String> = texts.last_mut().expect("one for each edge");
                    texts.push(text);
                } else {
                    edges.push(Edge { src, dest, label: Extent::default() });
                    texts.push(vec![text]);
                }
            }
        }
        for (edge, texts) in edges.iter_mut().zip(&texts) {
            edge.label = Extent { width: widest(texts), up: lines(texts) + 3.0, down: 3.0 };
        }
        let state = |texts: &Vec<String>| Extent {
            width: widest(texts).max(2.0 * RADIUS),
            up: RADIUS + if texts.is_empty() { 0.0 } else { LOOP + lines(texts) },
            down: RADIUS,
        };
        let layout = layout(&loops.iter().map(state).collect::<Vec<_>>(), &edges)?;
        Ok(Self { layout, loops, texts })
    }

    fn write(&self, out: &mut String, left: f64, top: f64) -> fmt::Result {
        writeln!(out, "<g transform=\"translate({left:.1} {top:.1})\">")?;
        for (way, texts) in self.layout.ways.iter().zip(&self.texts) {
            write_way(out, &way.points)?;
            write_lines(out, way.label.0, way.label.1 - 4.0, texts)?;
        }
        let last = self.loops.len().wrapping_sub(1);
        for (state, (&(x, y), loops)) in self.layout.states.iter().zip(&self.loops).enumerate() {
            let bold = if state == 0 { 2.5 } else { 1.0 };
            writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" fill=\"none\" stroke=\"black\" stroke-width=\"{bold}\"/>"
            )?;
            if state == last {
                let inner = RADIUS - 3.0;
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{inner}\" fill=\"none\" stroke=\"black\"/>")?;
            }
            write_text(out, x, y + 4.0, "middle", &state.to_string())?;
            if !loops.is_empty() {
                let (rim, peak) = (y - RADIUS, y - RADIUS - LOOP - 4.0);
                writeln!(
                    out,
                    "<path d=\"M{:.1} {:.1}C{:.1} {peak:.1} {:.1} {peak:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"black\" \
                     marker-end=\"url(#arrow)\"/>",
                    x - 6.0,
                    rim + 1.2,
                    x - 14.0,
                    x + 14.0,
                    x + 6.0,
                    rim + 1.2
                )?;
                write_lines(out, x, rim - LOOP + 1.0, loops)?;
            }
        }
        writeln!(out, "</g>")
    }
}

/// Writes the arrow of an edge, whose first and last point are the centers of states.
fn write_way(out: &mut String, points: &[(f64, f64)]) -> fmt::Result {
    let [first, .., last] = points else { return Ok(()) };
    let forward = if first.0 <= last.0 { 1.0 } else { -1.0 };
    write!(out, "<path d=\"M{:.1} {:.1}", first.0 + forward * RADIUS, first.1)?;
    for (at, pair) in points.windows(2).enumerate() {
        let ((x0, y0), (mut x, y)) = (pair[0], pair[1]);
        if at + 2 == points.len() {
            x -= forward * RADIUS;
        }
        // Points come in pairs: straight through a layer, curved between two.
        if at % 2 == 0 {
            // Skips a layer no wider than the state: an arrowhead would have no direction.
            if (x - x0).abs() > 0.1 {
                write!(out, "L{x:.1} {y:.1}")?;
            }
        } else {
            let middle = (x0 + x) / 2.0;
            write!(out, "C{middle:.1} {y0:.1} {middle:.1} {y:.1} {x:.1} {y:.1}")?;
        }
    }
    writeln!(out, "\" fill=\"none\" stroke=\"black\" marker-end=\"url(#arrow)\"/>")
}

/// Writes lines of text, the last of which is at `y`.
fn write_lines(out: &mut String, x: f64, y: f64, texts: &[String]) -> fmt::Result {
    let mut y = y - lines(texts) + LINE;
    for text in texts {
        write_text(out, x, y, "middle", text)?;
        y += LINE;
    }
    Ok(())
}

fn write_text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) -> fmt::Result {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let visible = text.replace(char::is_control, " ");
    writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{visible}</text>")
}

fn lines(texts: &[String]) -> f64 {
    texts.iter().map(|_| LINE).sum()
}

fn widest(texts: &[String]) -> f64 {
    texts.iter().map(|text| text_width(text)).fold(0.0, f64::max)
}

/// Returns the approximate width of a text: characters of East Asia are as wide as high.
fn text_width(text: &str) -> f64 {
    text.chars().map(|c| if u32::from(c) < 0x1100 { 7.0 } else { 12.5 }).sum()
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
    use crate::error::Quantity;

    #[test]
    fn every_arc_is_drawn() {
        let fsa: Fsa = "0 1 1 0.5\n0 1 2\n0 0 3\n1 0 4\n1 2 0\n2 1 5\n2 3 -1 -2\n3".parse().unwrap();
        let graph = Graph::new(fsa).with_aux_labels(vec![10, 20, 30, 40, 0, 50, FINAL]).unwrap();
        let svg = Drawing::default().svg(&graph).unwrap();
        for text in ["1:10/0.5", "2:20", "3:30", "4:40", "0:0", "5:50", "-1:-1/-2"] {
            assert_eq!(svg.matches(&format!(">{text}</text>")).count(), 1, "{text} in {svg}");
        }
        assert_eq!(svg.matches("marker-end").count(), 6, "two arcs between the same states are one arrow");
        assert_eq!(svg, Drawing::default().svg(&graph).unwrap());
        assert_eq!(Drawing::default().dot(&graph).matches("->").count(), 7);
    }

    #[test]
    fn texts_cannot_leave_their_place() {
        let hostile: SymbolTable = "<a>&\"\\ 1".parse().unwrap();
        let graph = Graph::new("0 1 1\n1 2 -1\n2".parse::<Fsa>().unwrap());
        let drawing = Drawing::default().with_title("\"<b>").with_input_symbols(Some(&hostile));
        assert!(drawing.svg(&graph).unwrap().contains("&lt;a&gt;&amp;\"\\<"));
        assert!(drawing.dot(&graph).contains(r#"[label="<a>&\"\\"]"#) && drawing.dot(&graph).contains(r#""\"<b>""#));
    }

    #[test]
    fn nothing_and_too_much() {
        for vec in [FsaVec::empty(), Fsa::empty().into_vec(), Fsa::from_arcs(2, vec![]).unwrap().into_vec()] {
            assert!(Drawing::default().svg(&Graph::new(vec)).is_ok());
        }
        // Each of the arcs passes all layers.
        let states = 2000;
        let mut arcs = vec![];
        for state in 0..states - 1 {
            arcs.push(Arc::new(state, state + 1, if state + 2 == states { FINAL } else { 1 }, 0.0));
            if state + 2 < states {
                arcs.push(Arc::new(state, states - 1, FINAL, 0.0));
            }
        }
        let large = Graph::new(Fsa::from_arcs(2000, arcs).unwrap());
        // The states, the labels of arcs to the next layer, and all positions of the others.
        let found = 2000 + 1999 + (2..2000).map(|layers| 2 * layers - 1).sum::<i64>();
        let error = Error::OutOfRange { what: Quantity::DrawingPlaces, min: 0, max: 200_000, found };
        assert_eq!(Drawing::default().svg(&large), Err(error));
    }
}
