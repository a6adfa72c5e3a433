//! Plans: the rows of each node, their sources, and their order.

use std::collections::HashMap;

use crate::error::Error;
use crate::explore::{Explorer, Given, Grid, Index, MISSING, Term};
use crate::layer::{Function, Times};
use crate::network::{Entry, Graph};

/// Row numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rows {
    /// From the first one on, so many apart.
    Step { first: u32, step: u32 },
    /// These; [`MISSING`] for a row of zeros.
    List(Vec<u32>),
}

impl Rows {
    fn of(rows: Vec<u32>) -> Self {
        let step = match rows[..] {
            [first, second, ..] => second.wrapping_sub(first),
            _ => 1,
        };
        let regular = rows.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step && pair[1] > pair[0]);
        match rows.first() {
            Some(&first) if regular && !rows.contains(&MISSING) => Self::Step { first, step },
            _ => Self::List(rows),
        }
    }

    pub(crate) fn get(&self, place: usize) -> Option<usize> {
        let row = match self {
            Self::Step { first, step } => return Some(*first as usize + place * *step as usize),
            Self::List(rows) => rows[place],
        };
        (row != MISSING).then_some(row as usize)
    }
}

/// A row of a node for each row of a result, multiplied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermColumn {
    pub(crate) node: usize,
    /// The first column that is taken.
    pub(crate) column: usize,
    pub(crate) scale: f32,
    pub(crate) rows: Rows,
}

/// Columns of an input: a sum of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) width: usize,
    pub(crate) terms: Vec<TermColumn>,
    pub(crate) constant: f32,
}

impl Part {
    /// Returns the only term, if the part is nothing but rows of a node.
    pub(crate) fn plain(&self) -> Option<&TermColumn> {
        match &self.terms[..] {
            [term] if term.scale == 1.0 && self.constant == 0.0 => Some(term),
            _ => None,
        }
    }
}

/// Rows of a node that are computed at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    pub(crate) node: usize,
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The input: for each of a function's rows the parts, which are concatenated.
    pub(crate) slots: Vec<Vec<Part>>,
    /// Number of rows of a slot; `count` but for statistics, whose slot has the rows of all
    /// windows.
    pub(crate) slot_rows: usize,
    /// The rows of the slot that make a window of statistics.
    pub(crate) windows: Vec<Vec<u32>>,
    /// The block of columns of each row, of `DistributeComponent`.
    pub(crate) blocks: Vec<u32>,
}

/// The rows of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeRows {
    /// Rows of the chunk before that are still needed; they come first.
    pub(crate) kept: Vec<u32>,
    /// Number of rows after them.
    pub(crate) new: usize,
}

impl NodeRows {
    /// Returns the number of all rows.
    pub(crate) fn count(&self) -> usize {
        self.kept.len() + self.new
    }
}

/// The computation of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<NodeRows>,
    pub(crate) units: Vec<Unit>,
    /// Rows of the output node.
    pub(crate) outputs: Vec<u32>,
    /// For each unit, the nodes whose rows no later unit needs.
    pub(crate) last_uses: Vec<Vec<usize>>,
}

/// The problem of a network that cannot be planned.
pub(crate) const TOO_LONG: &str = "its statistics, or third indexes, are too many";

/// The most rows of a plan.
const MAX_ROWS: usize = 1 << 28;

/// The frames that come in and go out with a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// New frames of input nodes.
    pub(crate) given: Vec<(usize, Given)>,
    /// Frames of the output.
    pub(crate) outputs: Vec<i32>,
}

/// Makes the plans of chunk after chunk.
pub(crate) struct Planner<'g> {
    explorer: Explorer<'g>,
    /// The index of each row that there is, by node.
    pub(crate) held: Vec<Vec<Index>>,
    /// Rows of earlier chunks that the last plan uses, by node.
    pub(crate) used: Vec<Vec<Index>>,
    /// New rows of the last plan, by node.
    pub(crate) fresh: Vec<Vec<Index>>,
}

impl<'g> Planner<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let count = graph.entries.len();
        let none = || vec![Vec::new(); count];
        Self { explorer: Explorer::new(graph), held: none(), used: none(), fresh: none() }
    }

    /// Plans a chunk. Rows of earlier ones stay if `keep` says so.
    pub(crate) fn plan(&mut self, request: &Request, keep: &dyn Fn(usize, Index) -> bool) -> Result<Plan, Error> {
        let graph = self.explorer.graph;
        let mut nodes = self.keep(keep);
        self.give(request);
        self.need(request)?;
        let levels = self.levels()?;
        for (node, fresh) in self.fresh.iter_mut().enumerate() {
            let level = |index: &Index| levels.get(&(node, *index)).copied().unwrap_or(0);
            fresh.sort_unstable_by_key(|index| (level(index), *index));
            for index in &*fresh {
                let row = u32::try_from(self.held[node].len()).unwrap_or(MISSING);
                self.explorer.rows[node].set(*index, row);
                self.held[node].push(*index);
            }
            nodes[node].new = fresh.len();
        }
        let mut units = Vec::new();
        for group in &graph.order {
            let mut steps: Vec<(usize, usize, Vec<Index>)> = Vec::new();
            for &node in group {
                for &index in &self.fresh[node] {
                    let level = levels.get(&(node, index)).copied().unwrap_or(0);
                    match steps.last_mut() {
                        Some(step) if step.0 == level && step.1 == node => step.2.push(index),
                        _ => steps.push((level, node, vec![index])),
                    }
                }
            }
            steps.sort_by_key(|step| step.0);
            let mut firsts: HashMap<usize, usize> = HashMap::new();
            for (_, node, indexes) in steps {
                let first = firsts.entry(node).or_insert(nodes[node].kept.len());
                units.push(self.unit(node, *first, &indexes));
                *first += indexes.len();
            }
        }
        let output = graph.output;
        let outputs = request.outputs.iter().map(|&t| self.explorer.rows[output].get(Index::at(t))).collect();
        self.note_uses(&nodes, &units);
        let last_uses = last_uses(graph, &units);
        Ok(Plan { nodes, units, outputs, last_uses })
    }

    /// Drops rows, and numbers those that stay anew.
    fn keep(&mut self, keep: &dyn Fn(usize, Index) -> bool) -> Vec<NodeRows> {
        let mut nodes = vec![NodeRows::default(); self.held.len()];
        for (node, held) in self.held.iter_mut().enumerate() {
            let mut rows = Grid::new(MISSING);
            let mut stay = Vec::new();
            for (row, &index) in held.iter().enumerate() {
                if keep(node, index) {
                    let row = u32::try_from(row).unwrap_or(MISSING);
                    rows.set(index, u32::try_from(stay.len()).unwrap_or(MISSING));
                    stay.push(index);
                    nodes[node].kept.push(row);
                }
            }
            *held = stay;
            self.explorer.rows[node] = rows;
            self.fresh[node].clear();
            self.used[node].clear();
        }
        nodes
    }

    /// Adds the rows of inputs.
    fn give(&mut self, request: &Request) {
        let (mut from, mut to) = (i32::MAX, i32::MIN);
        for &t in &request.outputs {
            (from, to) = (from.min(t), to.max(t));
        }
        for (node, given) in &request.given {
            let frames: Vec<i32> = match given {
                Given::Range(from, to) => (*from..*to).collect(),
                Given::Frames(frames) => frames.clone(),
                Given::Any => Vec::new(),
            };
            if let (Some(&first), Some(&last)) = (frames.first(), frames.last()) {
                (from, to) = (from.min(first), to.max(last));
            }
            self.fresh[*node] = frames.into_iter().map(Index::at).collect();
            self.explorer.given[*node] = Some(given.clone());
        }
        self.explorer.restart(from.min(to), to.max(from));
    }

    /// Finds all rows that the outputs need.
    fn need(&mut self, request: &Request) -> Result<(), Error> {
        let graph = self.explorer.graph;
        let mut seen = vec![Grid::new(false); graph.entries.len()];
        let mut open = Vec::new();
        for &t in &request.outputs {
            let index = Index::at(t);
            if !self.explorer.computable(graph.output, index) {
                let name = graph.names[graph.output].clone();
                return Err(Error::NotComputable { name, frame: t.into() });
            }
            open.push((graph.output, index));
        }
        let mut count = 0;
        let mut terms = Vec::new();
        while let Some((node, index)) = open.pop() {
            if seen[node].get(index) || self.explorer.rows[node].get(index) != MISSING {
                continue;
            }
            seen[node].set(index, true);
            self.fresh[node].push(index);
            count += 1;
            if count > MAX_ROWS {
                return Err(Error::Unsupported { problem: format!("it has more than {MAX_ROWS} rows") });
            }
            terms.clear();
            self.row_terms(node, index, &mut terms);
            for term in &terms {
                let node = graph.reference(term.node).node;
                if matches!(graph.entries[node], Entry::Computed { .. }) {
                    open.push((node, term.index));
                }
            }
            if self.explorer.is_exhausted() {
                return Err(Error::Unsupported { problem: TOO_LONG.into() });
            }
        }
        Ok(())
    }

    /// Appends the rows that a row needs.
    fn row_terms(&mut self, node: usize, index: Index, terms: &mut Vec<Term>) {
        let graph = self.explorer.graph;
        let Entry::Computed { input, .. } = &graph.entries[node] else { return };
        for index in self.explorer.input_indexes(node, index).into_iter().flatten() {
            self.explorer.terms(input, index, 1.0, terms);
        }
    }

    /// Numbers the rows of nodes that need each other: each row comes after those that it needs.
    fn levels(&mut self) -> Result<HashMap<(usize, Index), usize>, Error> {
        let graph = self.explorer.graph;
        let mut levels = HashMap::new();
        for group in &graph.order {
            let needs_itself = |node: usize| match &graph.entries[node] {
                Entry::Computed { layer, input } if layer.times != Times::None => {
                    input.nodes().iter().any(|&of| graph.reference(of).node == node)
                }
                _ => false,
            };
            if group.len() == 1 && !needs_itself(group[0]) {
                continue;
            }
            self.levels_of(group, &mut levels)?;
        }
        Ok(levels)
    }

    fn levels_of(&mut self, group: &[usize], levels: &mut HashMap<(usize, Index), usize>) -> Result<(), Error> {
        let graph = self.explorer.graph;
        let rows: Vec<(usize, Index)> =
            group.iter().flat_map(|&node| self.fresh[node].iter().map(move |&index| (node, index))).collect();
        let numbers: HashMap<_, _> = rows.iter().enumerate().map(|(number, &row)| (row, number)).collect();
        // Rows that wait for each row, and the number of rows that each one waits for.
        let (mut waiting, mut waits) = (vec![Vec::new(); rows.len()], vec![0_usize; rows.len()]);
        let mut terms = Vec::new();
        for (number, &(node, index)) in rows.iter().enumerate() {
            terms.clear();
            self.row_terms(node, index, &mut terms);
            for term in &terms {
                if let Some(&need) = numbers.get(&(graph.reference(term.node).node, term.index)) {
                    waiting[need].push(number);
                    waits[number] += 1;
                }
            }
        }
        let mut ready: Vec<usize> = (0..rows.len()).filter(|&row| waits[row] == 0).collect();
        let mut level = vec![0; rows.len()];
        let mut done = 0;
        while let Some(row) = ready.pop() {
            done += 1;
            levels.insert(rows[row], level[row]);
            for &other in &waiting[row] {
                level[other] = level[other].max(level[row] + 1);
                waits[other] -= 1;
                if waits[other] == 0 {
                    ready.push(other);
                }
            }
        }
        match done == rows.len() {
            true => Ok(()),
            false => Err(Error::Unsupported { problem: format!("node `{}` needs itself", graph.names[group[0]]) }),
        }
    }

    /// Finds the sources of rows of a node.
    fn unit(&mut self, node: usize, first: usize, indexes: &[Index]) -> Unit {
        let graph = self.explorer.graph;
        let mut unit = Unit {
            node,
            first,
            count: indexes.len(),
            slots: Vec::new(),
            slot_rows: indexes.len(),
            windows: Vec::new(),
            blocks: Vec::new(),
        };
        let Entry::Computed { layer, .. } = &graph.entries[node] else { return unit };
        match &layer.times {
            Times::None => {}
            Times::Block { .. } | Times::Window { .. } => {
                let mut places: HashMap<Index, u32> = HashMap::new();
                let mut all = Vec::new();
                for &index in indexes {
                    let window = self.explorer.input_indexes(node, index).into_iter().flatten().map(|index| {
                        *places.entry(index).or_insert_with(|| {
                            all.push(Some(index));
                            u32::try_from(all.len() - 1).unwrap_or(MISSING)
                        })
                    });
                    unit.windows.push(window.collect());
                }
                unit.slot_rows = all.len();
                unit.slots = vec![self.parts(node, &all)];
            }
            times => {
                let inputs: Vec<Vec<Option<Index>>> =
                    indexes.iter().map(|&index| self.explorer.input_indexes(node, index)).collect();
                let slots = inputs.first().map_or(0, Vec::len);
                unit.slots = (0..slots)
                    .map(|slot| {
                        let rows: Vec<Option<Index>> = inputs.iter().map(|indexes| indexes[slot]).collect();
                        self.parts(node, &rows)
                    })
                    .collect();
                if let (Times::Divided(parts), Function::Distribute) = (times, &layer.function) {
                    unit.blocks = indexes.iter().map(|index| index.x.rem_euclid(*parts).unsigned_abs()).collect();
                }
            }
        }
        unit
    }

    /// Finds the sources of input rows at some indexes.
    fn parts(&mut self, node: usize, indexes: &[Option<Index>]) -> Vec<Part> {
        let graph = self.explorer.graph;
        let Entry::Computed { input, .. } = &graph.entries[node] else { return Vec::new() };
        let width = |node: usize| Ok(graph.reference(node).width);
        let mut terms = Vec::new();
        let mut made = Vec::new();
        for part in input.parts() {
            let mut columns: Vec<(TermColumn, Vec<u32>)> = Vec::new();
            let mut constant = 0.0;
            for (place, index) in indexes.iter().enumerate() {
                terms.clear();
                if let Some(index) = index {
                    constant = self.explorer.terms(part, *index, 1.0, &mut terms);
                }
                for term in &terms {
                    let reference = graph.reference(term.node);
                    let row = self.explorer.rows[reference.node].get(term.index);
                    let fits = |(column, rows): &&mut (TermColumn, Vec<u32>)| {
                        rows.len() == place
                            && column.node == reference.node
                            && column.column == reference.column
                            && column.scale == term.scale
                    };
                    match columns.iter_mut().find(fits) {
                        Some((_, rows)) => rows.push(row),
                        None => {
                            let mut rows = vec![MISSING; place];
                            rows.push(row);
                            let (node, column, scale) = (reference.node, reference.column, term.scale);
                            let rows_later = Rows::List(Vec::new());
                            columns.push((TermColumn { node, column, scale, rows: rows_later }, rows));
                        }
                    }
                }
                columns.iter_mut().for_each(|(_, rows)| rows.resize(place + 1, MISSING));
            }
            let terms = columns.into_iter().map(|(column, rows)| TermColumn { rows: Rows::of(rows), ..column });
            made.push(Part { width: part.dim(&width).unwrap_or(0), terms: terms.collect(), constant });
        }
        made
    }

    /// Notes which kept rows units use.
    fn note_uses(&mut self, nodes: &[NodeRows], units: &[Unit]) {
        for unit in units {
            for term in unit.slots.iter().flatten().flat_map(|part| &part.terms) {
                for place in 0..unit.slot_rows {
                    if let Some(row) = term.rows.get(place)
                        && row < nodes[term.node].kept.len()
                    {
                        self.used[term.node].push(self.held[term.node][row]);
                    }
                }
            }
        }
        for used in &mut self.used {
            used.sort_unstable();
            used.dedup();
        }
    }
}

/// Returns, for each unit, the nodes whose rows no later unit needs. The output is never one.
fn last_uses(graph: &Graph, units: &[Unit]) -> Vec<Vec<usize>> {
    let mut last = vec![None; graph.entries.len()];
    for (number, unit) in units.iter().enumerate() {
        last[unit.node] = Some(number);
        for term in unit.slots.iter().flatten().flat_map(|part| &part.terms) {
            last[term.node] = Some(number);
        }
    }
    let mut uses = vec![Vec::new(); units.len()];
    for (node, last) in last.into_iter().enumerate() {
        if let Some(number) = last
            && node != graph.output
        {
            uses[number].push(node);
        }
    }
    uses
}
