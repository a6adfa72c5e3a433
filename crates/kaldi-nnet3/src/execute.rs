//! Computes the rows of a plan, for one stream or for several at once.

use crate::buffers::Buffers;
use crate::explore::MISSING;
use crate::layer::{Function, Layer, extract, repeat};
use crate::network::{Entry, Graph};
use crate::plan::{Part, Plan, Unit};

/// Input rows of a unit, of all streams.
enum Input<'a> {
    /// Rows of a node.
    Rows(&'a Part),
    /// Rows that were added up.
    Sums { values: Vec<f32>, width: usize },
}

/// Computes a plan for streams whose buffers have the rows of inputs. Of the rows that no later
/// unit needs, those stay that the plan `next` keeps.
pub(crate) fn execute(graph: &Graph, plan: &Plan, next: Option<&Plan>, streams: &mut [&mut Buffers]) {
    for (unit, last) in plan.units.iter().zip(&plan.last_uses) {
        let Entry::Computed { layer, .. } = &graph.entries[unit.node] else { continue };
        for stream in &mut *streams {
            // Rows of earlier chunks may be needed before a node has new ones.
            let terms = unit.slots.iter().flatten().flat_map(|part| &part.terms);
            terms.for_each(|term| stream.open(graph, plan, term.node));
            stream.open(graph, plan, unit.node);
        }
        run(graph, layer, unit, streams);
        for stream in &mut *streams {
            last.iter().for_each(|&node| stream.close(graph, node, next));
        }
    }
}

/// Computes a unit.
fn run(graph: &Graph, layer: &Layer, unit: &Unit, streams: &mut [&mut Buffers]) {
    // Sums first, and rows of the node itself, as its buffer is taken away then.
    let inputs: Vec<Vec<Input<'_>>> = unit
        .slots
        .iter()
        .map(|parts| parts.iter().map(|part| input(graph, layer, unit, part, streams)).collect())
        .collect();
    let width = layer.outputs;
    let mut own: Vec<Vec<f32>> =
        streams.iter_mut().map(|stream| std::mem::take(&mut stream.nodes[unit.node])).collect();
    let range = unit.first * width..(unit.first + unit.count) * width;
    let mut y: Vec<&mut [f32]> =
        own.iter_mut().flat_map(|buffer| buffer[range.clone()].chunks_exact_mut(width)).collect();
    let zeros = vec![0.0; widest(unit)];
    let source = Source { graph, unit, streams: &*streams, zeros: &zeros };
    compute(layer, &source, &inputs, &mut y);
    for (stream, buffer) in streams.iter_mut().zip(own) {
        stream.nodes[unit.node] = buffer;
    }
}

fn widest(unit: &Unit) -> usize {
    unit.slots.iter().flatten().map(|part| part.width).max().unwrap_or(0)
}

/// Adds up the rows of a part, unless they are rows of another node.
fn input<'a>(graph: &Graph, layer: &Layer, unit: &Unit, part: &'a Part, streams: &[&mut Buffers]) -> Input<'a> {
    let itself = part.terms.iter().any(|term| term.node == unit.node);
    // The result of an identity is the place for the sum.
    let in_place = matches!(layer.function, Function::Identity) && !itself;
    if in_place || (part.plain().is_some() && !itself) {
        return Input::Rows(part);
    }
    let mut values = vec![0.0; streams.len() * unit.slot_rows * part.width];
    if part.width > 0 {
        let mut rows = values.chunks_exact_mut(part.width);
        for stream in streams {
            for (place, row) in rows.by_ref().take(unit.slot_rows).enumerate() {
                add_up(graph, part, stream, place, row);
            }
        }
    }
    Input::Sums { values, width: part.width }
}

/// Writes the sum of a part's rows.
fn add_up(graph: &Graph, part: &Part, stream: &Buffers, place: usize, to: &mut [f32]) {
    let mut rest = &part.terms[..];
    match part.terms.first().map(|term| (term, term.rows.get(place))) {
        Some((term, Some(row))) if part.constant == 0.0 => {
            let from = &stream.row(term.node, row, graph.widths[term.node])[term.column..][..to.len()];
            match term.scale {
                1.0 => to.copy_from_slice(from),
                scale => to.iter_mut().zip(from).for_each(|(to, from)| *to = from * scale),
            }
            rest = &part.terms[1..];
        }
        _ => to.fill(part.constant),
    }
    for term in rest {
        if let Some(row) = term.rows.get(place) {
            let from = &stream.row(term.node, row, graph.widths[term.node])[term.column..][..to.len()];
            match term.scale {
                1.0 => to.iter_mut().zip(from).for_each(|(to, from)| *to += from),
                scale => to.iter_mut().zip(from).for_each(|(to, from)| *to += from * scale),
            }
        }
    }
}

/// The rows that a unit reads.
struct Source<'a> {
    graph: &'a Graph,
    unit: &'a Unit,
    streams: &'a [&'a mut Buffers],
    zeros: &'a [f32],
}

impl<'a> Source<'a> {
    /// Returns a row of a part, of a stream.
    fn row<'b>(&'b self, input: &'b Input<'_>, stream: usize, place: usize) -> &'b [f32] {
        match input {
            Input::Sums { values, width } => &values[(stream * self.unit.slot_rows + place) * width..][..*width],
            Input::Rows(part) => {
                let term = part.plain().filter(|term| term.node != self.unit.node);
                let row = term.and_then(|term| Some((term, term.rows.get(place)?)));
                match row {
                    Some((term, row)) => {
                        let row = self.streams[stream].row(term.node, row, self.graph.widths[term.node]);
                        &row[term.column..][..part.width]
                    }
                    None => &self.zeros[..part.width],
                }
            }
        }
    }

    /// Returns the segments of all rows: slot by slot and part by part.
    fn segments<'b>(&'b self, inputs: &'b [Vec<Input<'_>>]) -> Vec<&'b [f32]> {
        let mut segments = Vec::new();
        for stream in 0..self.streams.len() {
            for place in 0..self.unit.slot_rows {
                segments.extend(inputs.iter().flatten().map(|input| self.row(input, stream, place)));
            }
        }
        segments
    }

    /// Returns the rows of each slot: as they lie, if a slot has one part, or copied into
    /// `scratch`.
    fn rows<'b>(&'b self, inputs: &'b [Vec<Input<'_>>], scratch: &'b mut Vec<f32>) -> Vec<&'b [f32]> {
        if inputs.iter().all(|parts| parts.len() == 1) {
            return self.segments(inputs);
        }
        let mut widths = Vec::new();
        for stream in 0..self.streams.len() {
            for place in 0..self.unit.slot_rows {
                for parts in inputs {
                    let before = scratch.len();
                    parts.iter().for_each(|input| scratch.extend_from_slice(self.row(input, stream, place)));
                    widths.push(scratch.len() - before);
                }
            }
        }
        let mut rest = &scratch[..];
        let mut rows = Vec::with_capacity(widths.len());
        for width in widths {
            let (row, more) = rest.split_at(width);
            rows.push(row);
            rest = more;
        }
        rows
    }
}

fn compute(layer: &Layer, source: &Source<'_>, inputs: &[Vec<Input<'_>>], y: &mut [&mut [f32]]) {
    let unit = source.unit;
    let mut scratch = Vec::new();
    match &layer.function {
        Function::Product(product) => {
            let lengths: Vec<usize> = unit.slots.iter().flatten().map(|part| part.width).collect();
            product.apply(&source.segments(inputs), &lengths, y);
            layer.finish(y);
        }
        Function::Identity => {
            for (stream, y) in y.chunks_mut(unit.count.max(1)).enumerate() {
                for (place, y) in y.iter_mut().enumerate() {
                    let mut rest = &mut **y;
                    for input in inputs.iter().flatten() {
                        let width = match input {
                            Input::Rows(part) => part.width,
                            Input::Sums { width, .. } => *width,
                        };
                        let (to, more) = rest.split_at_mut(width);
                        match input {
                            Input::Rows(part) => add_up(source.graph, part, source.streams[stream], place, to),
                            Input::Sums { .. } => to.copy_from_slice(source.row(input, stream, place)),
                        }
                        rest = more;
                    }
                }
            }
            layer.finish(y);
        }
        Function::Constant(values) => {
            y.iter_mut().for_each(|y| repeat(values, y));
            layer.finish(y);
        }
        Function::TimeHeight(convolution) => {
            convolution.apply(&source.rows(inputs, &mut scratch), y);
            layer.finish(y);
        }
        Function::Attention(attention) => {
            let rows = source.rows(inputs, &mut scratch);
            for (rows, y) in rows.chunks_exact(unit.slots.len()).zip(&mut *y) {
                attention.row(rows, y);
            }
            layer.finish(y);
        }
        Function::Extraction { .. } | Function::Pooling(_) => {
            let rows = source.rows(inputs, &mut scratch);
            for (rows, y) in rows.chunks(unit.slot_rows.max(1)).zip(y.chunks_mut(unit.count.max(1))) {
                for (window, y) in unit.windows.iter().zip(y) {
                    let rows = window.iter().filter(|&&row| row != MISSING).map(|&row| rows[row as usize]);
                    match &layer.function {
                        Function::Pooling(pooling) => pooling.apply(rows, y),
                        _ => extract(rows, matches!(layer.function, Function::Extraction { variance: true }), y),
                    }
                }
            }
            layer.finish(y);
        }
        Function::Distribute => {
            let rows = source.rows(inputs, &mut scratch);
            let blocks = unit.blocks.iter().cycle();
            for ((row, y), &block) in rows.iter().zip(&mut *y).zip(blocks) {
                y.copy_from_slice(&row[block as usize * layer.outputs..][..layer.outputs]);
            }
            layer.finish(y);
        }
        _ => layer.apply_rows(&source.rows(inputs, &mut scratch), y),
    }
}
