//! Networks and models in words, as `nnet3-info` and `nnet3-am-info` print them.

use std::fmt::Write as _;

use kaldera_base::text::general;

use crate::am::AcousticModel;
use crate::component_info::component_info;
use crate::error::Error;
use crate::forward::Network;
use crate::layer::Layer;
use crate::nnet::{Nnet, NodeKind};

impl Nnet {
    /// Returns lines on contexts, size, nodes and components, as Kaldi prints them. Contexts are
    /// left out for networks with other inputs than `input` and `ivector`.
    ///
    /// # Errors
    /// [`Error`], which names a component or a node that does not fit.
    #[doc(alias = "Info")]
    pub fn info(&self) -> Result<String, Error> {
        let mut text = String::new();
        if self.is_simple() {
            let network = Network::new(self)?;
            let _ = writeln!(text, "left-context: {}", network.left_context());
            let _ = writeln!(text, "right-context: {}", network.right_context());
        }
        let _ = writeln!(text, "num-parameters: {}", self.num_parameters());
        let _ = writeln!(text, "modulus: {}", self.modulus());
        let dims = self.dims()?;
        for (node, line) in self.nodes.iter().zip(self.config_lines()) {
            let width = |input: &crate::Descriptor| {
                let width = input.dim(&|node| Ok(dims[node]));
                width.map_err(|problem| Error::Line { line: line.clone(), problem })
            };
            let line = match &node.kind {
                NodeKind::Component { component, input } => {
                    let outputs = Self::layer(&self.components[*component])?.outputs;
                    format!("{line} input-dim={} output-dim={outputs}", width(input)?)
                }
                NodeKind::Output { input, .. } => match line.rsplit_once(" objective=") {
                    Some((node, objective)) => format!("{node} dim={} objective={objective}", width(input)?),
                    None => line,
                },
                NodeKind::Input { .. } | NodeKind::DimRange { .. } => line,
            };
            let _ = writeln!(text, "{line}");
        }
        for (name, component) in &self.components {
            let info = component_info(component);
            let info = info.map_err(|problem| Error::Invalid { component: name.clone(), problem })?;
            let _ = writeln!(text, "component name={name} type={info}");
        }
        Ok(text)
    }

    /// Returns the number of frames after which the network repeats.
    pub(crate) fn modulus(&self) -> u64 {
        let descriptors = self.nodes.iter().filter_map(|node| node.descriptor());
        descriptors.fold(1, |modulus, descriptor| crate::descriptor::lcm(modulus, descriptor.modulus()))
    }

    /// Returns `true` if there is an `output`, and no inputs but `input` and perhaps `ivector`.
    fn is_simple(&self) -> bool {
        let inputs = self.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Input { .. })).count();
        let expected = if self.input("ivector").is_some() { 2 } else { 1 };
        self.output("output").is_ok() && self.input("input").is_some() && inputs == expected
    }

    fn layer((name, component): &(String, crate::Component)) -> Result<Layer, Error> {
        Layer::of(component).map_err(|problem| Error::Invalid { component: name.clone(), problem })
    }

    /// Returns the columns of each node; 0 for outputs, which are no inputs of other nodes.
    fn dims(&self) -> Result<Vec<usize>, Error> {
        let dim = |node: &crate::Node| {
            Ok(match &node.kind {
                NodeKind::Input { dim } | NodeKind::DimRange { dim, .. } => *dim,
                NodeKind::Component { component, .. } => Self::layer(&self.components[*component])?.outputs,
                NodeKind::Output { .. } => 0,
            })
        };
        self.nodes.iter().map(dim).collect()
    }
}

impl AcousticModel {
    /// Returns lines on dimensions and priors, and the lines of [`Nnet::info`], as Kaldi prints
    /// them.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "Info")]
    pub fn info(&self) -> Result<String, Error> {
        let input = |name: &str| self.nnet().input(name).map_or("-1".to_owned(), |(_, dim)| dim.to_string());
        let network = Network::new(self.nnet())?;
        let mut text = String::new();
        let _ = writeln!(text, "input-dim: {}", input("input"));
        let _ = writeln!(text, "ivector-dim: {}", input("ivector"));
        let _ = writeln!(text, "num-pdfs: {}", network.output_dim());
        let priors = self.priors();
        let _ = writeln!(text, "prior-dimension: {}", priors.len());
        if !priors.is_empty() {
            let sum: f32 = priors.iter().sum();
            let least = priors.iter().copied().fold(f32::INFINITY, f32::min);
            let most = priors.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for (name, value) in [("sum", sum), ("min", least), ("max", most)] {
                let _ = writeln!(text, "prior-{name}: {}", general(value.into(), 6));
            }
        }
        text.push_str("# Nnet info follows.\n");
        text.push_str(&self.nnet().info()?);
        Ok(text)
    }
}
