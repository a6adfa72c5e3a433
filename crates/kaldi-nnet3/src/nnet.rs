//! Networks as they are in a file: components, and nodes that connect them.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use kaldi_matrix::codec::{self, FieldReader, FieldWriter};

use crate::config_line::Line;
use crate::descriptor::Descriptor;
use crate::error::Error;
use crate::fields::Component;
use crate::reader::Reader;
use crate::writer::write_component;

/// The objective of an output, which only training uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The output times the supervision.
    Linear,
    /// The squared distance, negated and halved.
    Quadratic,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NodeKind {
    /// Rows that the caller gives.
    Input {
        /// Number of columns.
        dim: usize,
    },
    /// The result of a component.
    Component {
        /// The component, by its number.
        component: usize,
        /// Its input.
        input: Descriptor,
    },
    /// Some columns of another node.
    DimRange {
        /// The node, by its number.
        node: usize,
        /// The first column.
        offset: usize,
        /// Number of columns.
        dim: usize,
    },
    /// Rows that the caller gets.
    Output {
        /// The rows.
        input: Descriptor,
        /// The objective of training.
        objective: Objective,
    },
}

/// A node: rows by frame, under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: NodeKind,
}

impl Node {
    /// Returns the descriptor of a node that has one.
    pub fn descriptor(&self) -> Option<&Descriptor> {
        match &self.kind {
            NodeKind::Component { input, .. } | NodeKind::Output { input, .. } => Some(input),
            NodeKind::Input { .. } | NodeKind::DimRange { .. } => None,
        }
    }
}

/// A network as it is in a `.raw` file.
///
/// ```
/// use kaldi_nnet3::Nnet;
///
/// let text = "<Nnet3> \ninput-node name=input dim=2\n\
///     component-node name=a component=a input=Append(Offset(input, -1), input)\n\
///     output-node name=output input=a objective=linear\n\n\
///     <NumComponents> 1 \n<ComponentName> a <FixedScaleComponent> \
///     <Scales>  [ 1 2 3 4 ]\n</FixedScaleComponent> \n</Nnet3> ";
/// let nnet = Nnet::read(&mut text.as_bytes())?;
/// assert_eq!(nnet.components()[0].1.kind(), "FixedScaleComponent");
/// let mut written = Vec::new();
/// nnet.write(&mut written, false)?;
/// assert_eq!(written, text.as_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Nnet {
    pub(crate) components: Vec<(String, Component)>,
    pub(crate) nodes: Vec<Node>,
}

impl Nnet {
    /// Returns the components with their names.
    pub fn components(&self) -> &[(String, Component)] {
        &self.components
    }

    /// Returns the nodes. Input and component nodes need not come before the nodes that use them.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the number of parameters that training changes.
    #[doc(alias = "NumParameters")]
    pub fn num_parameters(&self) -> usize {
        self.components.iter().map(|(_, component)| component.num_parameters()).sum()
    }

    /// Reads a network in binary or text, with a header or without one.
    ///
    /// # Errors
    /// [`Error`], which names the component or the line. Memory is in proportion to the input.
    pub fn read(input: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(input)?;
        let mut reader = Reader { fields: FieldReader::new(input, binary) };
        Self::read_body(&mut reader)
    }

    /// Writes the network, with its header.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut dyn Write, binary: bool) -> io::Result<()> {
        codec::write_header(out, binary)?;
        self.write_body(&mut FieldWriter::new(out, binary))
    }

    /// Reads after the header. The first number says whether the file is binary.
    pub(crate) fn read_body(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let expected = "<Nnet3>, the start of a network";
        reader.skip_whitespace()?;
        let word = reader.fields.token(expected)?;
        if word.bytes != b"<Nnet3>" {
            return Err(word.unexpected(expected).into());
        }
        if !reader.line()?.trim().is_empty() {
            return Err(word.unexpected("a line end after <Nnet3>").into());
        }
        let mut lines = Vec::new();
        loop {
            match reader.line()? {
                line if line.is_empty() => break,
                line => lines.push(line),
            }
        }
        reader.fields.expect("<NumComponents>")?;
        if !reader.fields.is_binary() {
            reader.skip_space()?;
            // In text, a digit or more white space follows.
            let binary = reader.peek()? == Some(4);
            reader.fields.set_binary(binary);
        }
        let count = reader.fields.size("a number of components")?;
        let mut components = Vec::new();
        for _ in 0..count {
            reader.fields.expect("<ComponentName>")?;
            let name = reader.fields.token("the name of a component")?;
            let name = String::from_utf8(name.bytes.clone()).map_err(|_| name.unexpected("a name"))?;
            let component = reader.component(&name, 0)?;
            components.push((name, component));
        }
        reader.fields.expect("</Nnet3>")?;
        let nodes = nodes_of(&lines, &components)?;
        Ok(Self { components, nodes })
    }

    pub(crate) fn write_body(&self, fields: &mut FieldWriter<'_>) -> io::Result<()> {
        fields.token("<Nnet3>")?;
        fields.bytes(b"\n")?;
        for line in self.config_lines() {
            fields.bytes(line.as_bytes())?;
            fields.bytes(b"\n")?;
        }
        fields.bytes(b"\n")?;
        fields.token("<NumComponents>")?;
        fields.size(self.components.len())?;
        fields.line_end()?;
        for (name, component) in &self.components {
            fields.token("<ComponentName>")?;
            fields.token(name)?;
            write_component(fields, component)?;
            fields.line_end()?;
        }
        fields.token("</Nnet3>")
    }

    /// Returns the lines of the network's configuration: one for each node.
    #[doc(alias = "GetConfigLines")]
    pub fn config_lines(&self) -> Vec<String> {
        let name = |node: usize| self.nodes[node].name.clone();
        let line = |node: &Node| match &node.kind {
            NodeKind::Input { dim } => format!("input-node name={} dim={dim}", node.name),
            NodeKind::Component { component, input } => {
                let component = &self.components[*component].0;
                format!("component-node name={} component={component} input={}", node.name, input.text(&name))
            }
            NodeKind::DimRange { node: of, offset, dim } => {
                format!("dim-range-node name={} input-node={} dim-offset={offset} dim={dim}", node.name, name(*of))
            }
            NodeKind::Output { input, objective } => {
                let objective = if *objective == Objective::Linear { "linear" } else { "quadratic" };
                format!("output-node name={} input={} objective={objective}", node.name, input.text(&name))
            }
        };
        self.nodes.iter().map(line).collect()
    }

    /// Returns the number of the output node of a name.
    pub(crate) fn output(&self, name: &str) -> Result<usize, Error> {
        let found = |node: &Node| node.name == name && matches!(node.kind, NodeKind::Output { .. });
        let missing = || Error::NoNode { kind: "output", name: name.to_owned() };
        self.nodes.iter().position(found).ok_or_else(missing)
    }

    /// Returns the number of the input node of a name, and its number of columns.
    pub(crate) fn input(&self, name: &str) -> Option<(usize, usize)> {
        self.nodes.iter().enumerate().find_map(|(number, node)| match node.kind {
            NodeKind::Input { dim } if node.name == name => Some((number, dim)),
            _ => None,
        })
    }
}

/// Reads the nodes from lines.
fn nodes_of(lines: &[String], components: &[(String, Component)]) -> Result<Vec<Node>, Error> {
    let lines: Vec<Line<'_>> = lines.iter().map(|line| Line::parse(line)).collect::<Result<_, _>>()?;
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        if numbers.insert(line.need("name")?, number).is_some() {
            return Err(line.error("a node of this name stands above"));
        }
    }
    let mut component_numbers: HashMap<&str, usize> = HashMap::new();
    for (number, (name, _)) in components.iter().enumerate() {
        if component_numbers.insert(name, number).is_some() {
            let problem = "a component of this name stands before it".into();
            return Err(Error::Invalid { component: name.clone(), problem });
        }
    }
    let find = |name: &str| numbers.get(name).copied();
    let descriptor = |line: &Line<'_>| {
        let parsed = Descriptor::parse(line.need("input")?, &find).map_err(|problem| line.error(problem))?;
        let is_output = |node: &usize| lines[*node].kind == "output-node";
        match parsed.nodes().iter().any(is_output) {
            true => Err(line.error("an output node is no input of another node")),
            false => Ok(parsed),
        }
    };
    let kind = |line: &Line<'_>| {
        Ok(match line.kind {
            "input-node" => {
                line.only(&["name", "dim"])?;
                NodeKind::Input { dim: line.size("dim", 1)? }
            }
            "component-node" => {
                line.only(&["name", "component", "input", "input-dim", "output-dim"])?;
                let component = line.need("component")?;
                let number = component_numbers.get(component);
                let component = *number.ok_or_else(|| line.error(format!("there is no component `{component}`")))?;
                NodeKind::Component { component, input: descriptor(line)? }
            }
            "dim-range-node" => {
                line.only(&["name", "input-node", "dim-offset", "dim"])?;
                let name = line.need("input-node")?;
                let usable = |node: &usize| matches!(lines[*node].kind, "input-node" | "component-node");
                let node = find(name).filter(usable);
                let node = node.ok_or_else(|| line.error(format!("`{name}` is no input or component node")))?;
                NodeKind::DimRange { node, offset: line.size("dim-offset", 0)?, dim: line.size("dim", 1)? }
            }
            "output-node" => {
                line.only(&["name", "input", "objective", "dim"])?;
                let objective = match line.get("objective") {
                    None | Some("linear") => Objective::Linear,
                    Some("quadratic") => Objective::Quadratic,
                    Some(other) => return Err(line.error(format!("`{other}` is no objective"))),
                };
                NodeKind::Output { input: descriptor(line)?, objective }
            }
            other => return Err(line.error(format!("`{other}` is no kind of node"))),
        })
    };
    lines.iter().map(|line| Ok(Node { name: line.need("name")?.to_owned(), kind: kind(line)? })).collect()
}
