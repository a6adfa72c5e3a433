//! The memory of rows while a plan is computed.

use crate::network::{Entry, Graph};
use crate::plan::Plan;

/// The rows of each node, of one stream.
///
/// A node has memory from its first row to its last use; the next node takes over the memory, which
/// the caches still have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    /// Rows of nodes that are open; there may be more values than rows.
    pub(crate) nodes: Vec<Vec<f32>>,
    open: Vec<bool>,
    free: Vec<Vec<f32>>,
    /// Rows of earlier chunks that the chunk needs; then those that the next chunk needs.
    pub(crate) kept: Vec<Vec<f32>>,
}

impl Buffers {
    pub(crate) fn new(graph: &Graph) -> Self {
        let none = || vec![Vec::new(); graph.entries.len()];
        Self { nodes: none(), open: vec![false; graph.entries.len()], free: Vec::new(), kept: none() }
    }

    /// Opens the nodes whose rows are there before anything is computed.
    pub(crate) fn begin(&mut self, graph: &Graph, plan: &Plan) {
        for (node, rows) in plan.nodes.iter().enumerate() {
            let is_input = matches!(graph.entries[node], Entry::Input);
            if is_input || (rows.new == 0 && !rows.kept.is_empty()) {
                self.open(graph, plan, node);
            }
        }
    }

    /// Gives a node memory for its rows, and the rows that were kept, unless it has them.
    pub(crate) fn open(&mut self, graph: &Graph, plan: &Plan, node: usize) {
        if std::mem::replace(&mut self.open[node], true) {
            return;
        }
        let mut rows = self.free.pop().unwrap_or_default();
        let values = plan.nodes[node].count() * graph.widths[node];
        if rows.len() < values {
            rows.resize(values, 0.0);
        }
        let kept = &self.kept[node];
        rows[..kept.len()].copy_from_slice(kept);
        self.nodes[node] = rows;
    }

    /// Returns the new rows of an input.
    pub(crate) fn new_rows(&mut self, graph: &Graph, plan: &Plan, node: usize) -> &mut [f32] {
        let (rows, width) = (&plan.nodes[node], graph.widths[node]);
        &mut self.nodes[node][rows.kept.len() * width..rows.count() * width]
    }

    pub(crate) fn row(&self, node: usize, row: usize, width: usize) -> &[f32] {
        &self.nodes[node][row * width..][..width]
    }

    /// Takes the memory of a node, but for rows that the plan `next` keeps.
    pub(crate) fn close(&mut self, graph: &Graph, node: usize, next: Option<&Plan>) {
        if !std::mem::replace(&mut self.open[node], false) {
            return;
        }
        let (rows, width) = (std::mem::take(&mut self.nodes[node]), graph.widths[node]);
        self.kept[node].clear();
        for &row in next.iter().flat_map(|next| &next.nodes[node].kept) {
            self.kept[node].extend_from_slice(&rows[row as usize * width..][..width]);
        }
        self.free.push(rows);
    }

    /// Closes all nodes.
    pub(crate) fn end(&mut self, graph: &Graph, next: Option<&Plan>) {
        (0..self.nodes.len()).for_each(|node| self.close(graph, node, next));
    }
}
