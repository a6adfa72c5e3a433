//! Networks ready to compute: functions in place of components, in the order of their dependencies.

use kaldera_base::gemm::{Operand, gemm};

use crate::config_line::MAX_DIM;
use crate::descriptor::{Descriptor, IndexVariable};
use crate::error::Error;
use crate::layer::{Function, Layer, Times};
use crate::nnet::{Nnet, NodeKind};
use crate::pointwise::Pointwise;
use crate::product::Product;

/// The columns of a node with rows to which a node of a descriptor refers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) node: usize,
    pub(crate) column: usize,
    pub(crate) width: usize,
}

/// Most columns of the rows of all nodes together.
const MAX_SIZE: usize = 1 << 24;

/// A node that has rows.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// Rows that the caller gives.
    Input,
    /// Rows that are computed.
    Computed { layer: Box<Layer>, input: Descriptor },
    /// A node that the output does not need, or that has become a part of another one.
    Unused,
}

/// The nodes that an output needs.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) names: Vec<String>,
    pub(crate) entries: Vec<Entry>,
    /// Columns of a row of each node.
    pub(crate) widths: Vec<usize>,
    references: Vec<Reference>,
    pub(crate) output: usize,
    /// The computed nodes, each after the nodes that it needs. Nodes that need each other are
    /// together.
    pub(crate) order: Vec<Vec<usize>>,
    /// Number of frames after which all descriptors repeat.
    pub(crate) modulus: u64,
}

impl Graph {
    /// Takes the nodes that an output needs.
    pub(crate) fn new(nnet: &Nnet, output: &str) -> Result<Self, Error> {
        let output = nnet.output(output)?;
        let count = nnet.nodes.len();
        let mut graph = Self {
            names: nnet.nodes.iter().map(|node| node.name.clone()).collect(),
            entries: vec![Entry::Unused; count],
            widths: vec![0; count],
            references: (0..count).map(|node| Reference { node, column: 0, width: 0 }).collect(),
            output,
            order: Vec::new(),
            modulus: 1,
        };
        graph.take_layers(nnet, output)?;
        graph.take_ranges(nnet)?;
        graph.check_widths(nnet)?;
        // All nodes count here, as in Kaldi.
        graph.modulus = nnet.modulus();
        graph.join_pointwise();
        graph.join_products();
        graph.fold_scales();
        graph.order = graph.components();
        Ok(graph)
    }

    /// Makes the functions of the nodes from which the output can be reached.
    fn take_layers(&mut self, nnet: &Nnet, output: usize) -> Result<(), Error> {
        let mut seen = vec![false; nnet.nodes.len()];
        let mut open = vec![output];
        let (mut size, mut taken) = (0_usize, vec![false; nnet.components.len()]);
        while let Some(number) = open.pop() {
            if std::mem::replace(&mut seen[number], true) {
                continue;
            }
            match &nnet.nodes[number].kind {
                NodeKind::Input { dim } => {
                    self.entries[number] = Entry::Input;
                    self.widths[number] = *dim;
                }
                NodeKind::DimRange { node, .. } => open.push(*node),
                NodeKind::Component { component, input } => {
                    // Weights are in the file once, and here once for each node.
                    let again = std::mem::replace(&mut taken[*component], true);
                    let (name, component) = &nnet.components[*component];
                    let invalid = |problem| Error::Invalid { component: name.clone(), problem };
                    let layer = Layer::of(component).map_err(invalid)?;
                    self.widths[number] = layer.outputs;
                    size = size.saturating_add(layer.size());
                    size = size.saturating_add(if again { layer.products() } else { 0 });
                    if size > MAX_SIZE {
                        return Err(Error::Unsupported {
                            problem: format!("its rows have more than {MAX_SIZE} columns"),
                        });
                    }
                    if layer.times != Times::None {
                        open.extend(input.nodes());
                    }
                    self.entries[number] = Entry::Computed { layer: Box::new(layer), input: input.clone() };
                }
                NodeKind::Output { input, .. } => {
                    open.extend(input.nodes());
                    // The width is known when all others are.
                    let layer = Box::new(Layer::identity(0));
                    self.entries[number] = Entry::Computed { layer, input: input.clone() };
                }
            }
        }
        for (number, &width) in self.widths.iter().enumerate() {
            self.references[number].width = width;
        }
        Ok(())
    }

    fn take_ranges(&mut self, nnet: &Nnet) -> Result<(), Error> {
        for (number, node) in nnet.nodes.iter().enumerate() {
            let NodeKind::DimRange { node: of, offset, dim } = node.kind else { continue };
            if matches!(self.entries[of], Entry::Unused) {
                continue;
            }
            if offset + dim > self.widths[of] {
                let line = nnet.config_lines()[number].clone();
                return Err(Error::Line {
                    line,
                    problem: format!("`{}` has {} columns", nnet.nodes[of].name, self.widths[of]),
                });
            }
            self.references[number] = Reference { node: of, column: offset, width: dim };
        }
        Ok(())
    }

    fn check_widths(&mut self, nnet: &Nnet) -> Result<(), Error> {
        for number in 0..self.entries.len() {
            let Entry::Computed { layer, input } = &self.entries[number] else { continue };
            if layer.times == Times::None {
                continue;
            }
            let dim = |node: usize| Ok(self.references[node].width);
            let found = input
                .dim(&dim)
                .map_err(|problem| Error::Line { line: nnet.config_lines()[number].clone(), problem })?;
            match &nnet.nodes[number].kind {
                NodeKind::Component { component, .. } if found != layer.inputs => {
                    return Err(Error::Width {
                        node: self.names[number].clone(),
                        component: nnet.components[*component].0.clone(),
                        expected: layer.inputs,
                        found,
                    });
                }
                NodeKind::Output { .. } if found > MAX_DIM => {
                    let line = nnet.config_lines()[number].clone();
                    return Err(Error::Line { line, problem: format!("its rows have more than {MAX_DIM} columns") });
                }
                NodeKind::Output { .. } => {
                    self.widths[number] = found;
                    self.references[number].width = found;
                    if let Entry::Computed { layer, .. } = &mut self.entries[number] {
                        **layer = Layer::identity(found);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes i-vectors those of blocks of frames: in each component's input, the first replacement
    /// of an index by frame 0 becomes a rounded frame.
    pub(crate) fn set_ivector_period(&mut self, nnet: &Nnet, period: i32) {
        for (entry, node) in self.entries.iter_mut().zip(&nnet.nodes) {
            let (Entry::Computed { input, .. }, NodeKind::Component { .. }) = (entry, &node.kind) else { continue };
            let mut done = false;
            input.walk_mut(&mut |part| {
                let Descriptor::ReplaceIndex { of, variable: IndexVariable::T, value: 0 } = part else { return };
                if !std::mem::replace(&mut done, true) {
                    *part = Descriptor::Round { of: of.clone(), modulus: period };
                }
            });
        }
    }

    /// Returns the columns to which a node of a descriptor refers.
    pub(crate) fn reference(&self, node: usize) -> Reference {
        self.references[node]
    }

    /// Returns how often each node is referred to.
    fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.entries.len()];
        for entry in &self.entries {
            if let Entry::Computed { input, layer } = entry
                && layer.times != Times::None
            {
                input.nodes().into_iter().for_each(|node| uses[self.references[node].node] += 1);
            }
        }
        uses
    }

    /// Returns the node whose whole rows at the same index are the input of a node, if nothing else
    /// uses it.
    fn only_input(&self, number: usize, uses: &[usize]) -> Option<usize> {
        let Entry::Computed { layer, input: Descriptor::Node(of) } = &self.entries[number] else { return None };
        let Reference { node, width, .. } = self.references[*of];
        let whole = width == self.widths[node] && uses[node] == 1 && node != number;
        let computed = matches!(self.entries[node], Entry::Computed { .. });
        (layer.times == Times::Same && whole && computed).then_some(node)
    }

    /// Makes operations in place, such as a rectifier and a batch norm, a part of the function
    /// before them.
    fn join_pointwise(&mut self) {
        let mut uses = self.uses();
        for number in 0..self.entries.len() {
            let Some(before) = self.only_input(number, &uses) else { continue };
            match &self.entries[number] {
                Entry::Computed { layer, .. } if matches!(layer.function, Function::Identity) => {}
                _ => continue,
            }
            let Entry::Computed { layer, .. } = std::mem::replace(&mut self.entries[number], Entry::Unused) else {
                continue;
            };
            if let Entry::Computed { layer: first, .. } = &mut self.entries[before] {
                first.post.extend(layer.post);
            }
            uses[before] = uses[number];
            for reference in &mut self.references {
                if reference.node == number {
                    reference.node = before;
                }
            }
            if self.output == number {
                self.output = before;
            }
        }
    }

    /// Makes one product of two, where that is less to compute.
    fn join_products(&mut self) {
        let uses = self.uses();
        for number in 0..self.entries.len() {
            let Some(before) = self.only_input(number, &uses) else { continue };
            let (Entry::Computed { layer: first, input, .. }, Entry::Computed { layer: second, .. }) =
                (&self.entries[before], &self.entries[number])
            else {
                continue;
            };
            let (Function::Product(a), Function::Product(b)) = (&first.function, &second.function) else { continue };
            let apart = a.inputs() * a.outputs() + b.inputs() * b.outputs();
            if !first.post.is_empty() || a.inputs() * b.outputs() > apart {
                continue;
            }
            let product = joined(a, b);
            let layer = Layer {
                function: Function::Product(product),
                post: second.post.clone(),
                times: first.times.clone(),
                inputs: first.inputs,
                outputs: second.outputs,
            };
            let input = input.clone();
            self.entries[before] = Entry::Unused;
            self.entries[number] = Entry::Computed { layer: Box::new(layer), input };
        }
    }

    /// Multiplies scales into the weights before them.
    fn fold_scales(&mut self) {
        for entry in &mut self.entries {
            let Entry::Computed { layer, .. } = entry else { continue };
            while let (Function::Product(product), Some(Pointwise::Affine { scale, offset })) =
                (&layer.function, layer.post.first())
            {
                let (mut weights, mut bias) = product.unpacked();
                let (scale, offset) = (scale.iter().cycle(), offset.iter().cycle());
                for (row, scale) in weights.chunks_exact_mut(product.inputs()).zip(scale.clone()) {
                    row.iter_mut().for_each(|weight| *weight *= scale);
                }
                for ((bias, scale), offset) in bias.iter_mut().zip(scale).zip(offset) {
                    *bias = *bias * scale + offset;
                }
                layer.function = Function::Product(Product::new(&weights, product.inputs(), &bias));
                layer.post.remove(0);
            }
        }
    }

    /// Returns the nodes that a computed node needs.
    fn needs(&self, node: usize) -> Vec<usize> {
        match &self.entries[node] {
            Entry::Computed { layer, input } if layer.times != Times::None => {
                input.nodes().into_iter().map(|node| self.references[node].node).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the strongly connected components, in the order of their dependencies: Tarjan's
    /// algorithm with a stack of its own.
    fn components(&self) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let count = self.entries.len();
        let (mut index, mut low, mut on_stack) = (vec![NEW; count], vec![0; count], vec![false; count]);
        let (mut next, mut stack, mut found) = (0, Vec::new(), Vec::new());
        let mut calls: Vec<(usize, Vec<usize>)> = vec![(self.output, self.needs(self.output))];
        while let Some((node, rest)) = calls.last_mut() {
            let node = *node;
            if index[node] == NEW {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            match rest.pop() {
                Some(need) if index[need] == NEW => {
                    let needs = self.needs(need);
                    calls.push((need, needs));
                }
                Some(need) if on_stack[need] => low[node] = low[node].min(index[need]),
                Some(_) => {}
                None => {
                    calls.pop();
                    if let Some((caller, _)) = calls.last() {
                        low[*caller] = low[*caller].min(low[node]);
                    }
                    if low[node] == index[node] {
                        let start = stack.iter().rposition(|&other| other == node).unwrap_or(0);
                        let mut group = stack.split_off(start);
                        group.iter().for_each(|&node| on_stack[node] = false);
                        group.retain(|&node| matches!(self.entries[node], Entry::Computed { .. }));
                        group.sort_unstable();
                        if !group.is_empty() {
                            found.push(group);
                        }
                    }
                }
            }
        }
        found
    }
}

/// Returns the product of x ↦ A x + a and then y ↦ B y + b.
fn joined(a: &Product, b: &Product) -> Product {
    let ((a_weights, a_bias), (b_weights, b_bias)) = (a.unpacked(), b.unpacked());
    let (inputs, middle, outputs) = (a.inputs(), a.outputs(), b.outputs());
    let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let (a_weights, b_weights) = (wide(&a_weights), wide(&b_weights));
    let mut weights = vec![0.0; inputs * outputs];
    let operand = |data, row_step| Operand { data, row_step, col_step: 1 };
    let (a_rows, b_rows) = (operand(&a_weights[..], inputs), operand(&b_weights[..], middle));
    gemm(outputs, inputs, middle, 1.0, b_rows, a_rows, 0.0, &mut weights, inputs);
    let weights: Vec<f32> = weights.into_iter().map(|x| x as f32).collect();
    let bias = b_weights.chunks_exact(middle).zip(&b_bias).map(|(row, &bias)| {
        let terms = row.iter().zip(&a_bias).map(|(b, &a)| b * f64::from(a));
        (f64::from(bias) + terms.sum::<f64>()) as f32
    });
    let bias: Vec<f32> = bias.collect();
    Product::new(&weights, inputs, &bias)
}
