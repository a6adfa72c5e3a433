//! Changes of networks, as `nnet3-copy` makes them.

use std::collections::HashMap;

use crate::config_line::Line;
use crate::error::Error;
use crate::fields::{Component, Field, Value};
use crate::nnet::{Nnet, NodeKind};

impl Nnet {
    /// Applies edits, one a line, with Kaldi's names and in their order: `remove-orphans`,
    /// `remove-orphan-nodes`, `remove-orphan-components`, `remove-output-nodes name=output-xent`,
    /// `rename-node old-name=a new-name=b`, `set-learning-rate name=* learning-rate=0.001`,
    /// `set-learning-rate-factor`, `set-dropout-proportion` and `convert-to-fixed-affine`. In names
    /// `*` stands for any text. `#` begins a comment.
    ///
    /// # Errors
    /// [`Error::Line`] for other edits, and for edits that name no node; earlier ones are done
    /// then.
    #[doc(alias = "ReadEditConfig")]
    pub fn edit(&mut self, edits: &str) -> Result<(), Error> {
        let lines = edits.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        lines.filter(|line| !line.is_empty()).try_for_each(|line| self.edit_line(&Line::parse(line)?))
    }

    fn edit_line(&mut self, line: &Line<'_>) -> Result<(), Error> {
        let pattern = line.get("name").unwrap_or("*");
        let number = |key: &str| -> Result<f32, Error> {
            let text = line.need(key)?;
            text.parse().map_err(|_| line.error(format!("`{key}={text}` is not a number")))
        };
        match line.kind {
            "remove-orphans" | "remove-orphan-nodes" => {
                line.only(&["remove-orphan-inputs"])?;
                let with_inputs = match line.get("remove-orphan-inputs").unwrap_or("false") {
                    "true" | "t" | "T" => true,
                    "false" | "f" | "F" => false,
                    other => return Err(line.error(format!("`{other}` is neither true nor false"))),
                };
                self.remove_orphan_nodes(with_inputs);
                if line.kind == "remove-orphans" {
                    self.remove_orphan_components();
                }
            }
            "remove-orphan-components" => {
                line.only(&[])?;
                self.remove_orphan_components();
            }
            "remove-output-nodes" => {
                line.only(&["name"])?;
                let pattern = line.need("name")?;
                let is_output = |kind: &NodeKind| matches!(kind, NodeKind::Output { .. });
                let stays = |node: &crate::Node| !is_output(&node.kind) || !matches_pattern(&node.name, pattern);
                let keep: Vec<bool> = self.nodes.iter().map(stays).collect();
                if !self.nodes.iter().zip(&keep).any(|(node, &keep)| keep && is_output(&node.kind)) {
                    return Err(line.error("it leaves no output"));
                }
                self.keep_nodes(&keep);
            }
            "rename-node" => {
                line.only(&["old-name", "new-name"])?;
                let (old, new) = (line.need("old-name")?, line.need("new-name")?);
                let place = |name: &str| self.nodes.iter().position(|node| node.name == name);
                let found = place(old).ok_or_else(|| line.error(format!("there is no node `{old}`")))?;
                if place(new).is_some() {
                    return Err(line.error(format!("there is a node `{new}` already")));
                }
                if !is_name(new) {
                    return Err(line.error(format!("`{new}` is no name of a node")));
                }
                new.clone_into(&mut self.nodes[found].name);
            }
            "set-learning-rate" => {
                line.only(&["name", "learning-rate"])?;
                let rate = number("learning-rate")?;
                self.components_named(pattern).for_each(|component| component.set_learning_rate(rate));
            }
            "set-learning-rate-factor" => {
                line.only(&["name", "learning-rate-factor"])?;
                let factor = number("learning-rate-factor")?;
                self.components_named(pattern).for_each(|component| component.set_learning_rate_factor(factor));
            }
            "set-dropout-proportion" => {
                line.only(&["name", "proportion"])?;
                let proportion = number("proportion")?;
                let set = |component: &mut Component| component.replace("DropoutProportion", Value::Real(proportion));
                self.components_named(pattern).for_each(set);
            }
            "convert-to-fixed-affine" => {
                line.only(&["name"])?;
                self.components_named(pattern).for_each(Component::become_fixed_affine);
            }
            other => return Err(line.error(format!("the edit `{other}` is not supported"))),
        }
        Ok(())
    }

    /// Sets the learning rate of all components that training changes, each times its factor.
    pub fn set_learning_rate(&mut self, rate: f32) {
        self.components_named("*").for_each(|component| component.set_learning_rate(rate));
    }

    /// Sets if batch norms use the statistics in the file. [`Network`](crate::Network) always does.
    #[doc(alias = "SetBatchnormTestMode")]
    pub fn set_batchnorm_test_mode(&mut self, test_mode: bool) {
        let norms = self.components_named("*").filter(|component| component.kind == "BatchNormComponent");
        norms.for_each(|component| component.replace("TestMode", Value::Bool(test_mode)));
    }

    fn components_named(&mut self, pattern: &str) -> impl Iterator<Item = &mut Component> {
        let named = self.components.iter_mut().filter(move |(name, _)| matches_pattern(name, pattern));
        named.map(|(_, component)| component)
    }

    fn remove_orphan_nodes(&mut self, with_inputs: bool) {
        let keep_by_kind = |kind: &NodeKind| match kind {
            NodeKind::Output { .. } => true,
            NodeKind::Input { .. } => !with_inputs,
            _ => false,
        };
        let mut keep = vec![false; self.nodes.len()];
        let mut open: Vec<usize> = (0..keep.len()).filter(|&node| keep_by_kind(&self.nodes[node].kind)).collect();
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut keep[node], true) {
                continue;
            }
            match &self.nodes[node].kind {
                NodeKind::Input { .. } => {}
                NodeKind::DimRange { node, .. } => open.push(*node),
                NodeKind::Component { input, .. } | NodeKind::Output { input, .. } => open.extend(input.nodes()),
            }
        }
        self.keep_nodes(&keep);
    }

    /// Drops the other nodes, on which no node that is kept depends.
    fn keep_nodes(&mut self, keep: &[bool]) {
        let numbers = new_numbers(keep);
        let mut kept = keep.iter();
        self.nodes.retain(|_| kept.next().copied().unwrap_or(false));
        for node in &mut self.nodes {
            match &mut node.kind {
                NodeKind::Input { .. } => {}
                NodeKind::DimRange { node, .. } => *node = numbers[node],
                NodeKind::Component { input, .. } | NodeKind::Output { input, .. } => input.walk_mut(&mut |part| {
                    if let crate::Descriptor::Node(node) = part {
                        *node = numbers[node];
                    }
                }),
            }
        }
    }

    fn remove_orphan_components(&mut self) {
        let mut keep = vec![false; self.components.len()];
        for node in &self.nodes {
            if let NodeKind::Component { component, .. } = node.kind {
                keep[component] = true;
            }
        }
        let numbers = new_numbers(&keep);
        let mut kept = keep.iter();
        self.components.retain(|_| kept.next().copied().unwrap_or(false));
        for node in &mut self.nodes {
            if let NodeKind::Component { component, .. } = &mut node.kind {
                *component = numbers[component];
            }
        }
    }
}

/// Returns the new numbers of the things that are kept.
fn new_numbers(keep: &[bool]) -> HashMap<usize, usize> {
    let kept = keep.iter().enumerate().filter(|&(_, &keep)| keep);
    kept.enumerate().map(|(new, (old, _))| (old, new)).collect()
}

impl Component {
    /// Sets all values of a name.
    fn replace(&mut self, name: &str, value: Value) {
        self.fields.iter_mut().filter(|field| field.name == name).for_each(|field| field.value = value.clone());
    }

    fn set_learning_rate(&mut self, rate: f32) {
        if !crate::schema::is_updatable(self.kind) {
            return;
        }
        let rate = rate * self.real("LearningRateFactor").unwrap_or(1.0);
        if self.get("LearningRate").is_none() {
            let is_common = |field: &Field| crate::schema::COMMON.iter().any(|entry| entry.name == field.name);
            let place = self.fields.iter().take_while(|field| is_common(field)).count();
            self.fields.insert(place, Field { name: "LearningRate", value: Value::Real(rate) });
        }
        self.replace("LearningRate", Value::Real(rate));
        for field in &mut self.fields {
            if let Value::Components(parts) = &mut field.value {
                parts.iter_mut().for_each(|part| part.set_learning_rate(rate));
            }
        }
    }

    fn set_learning_rate_factor(&mut self, factor: f32) {
        if !crate::schema::is_updatable(self.kind) {
            return;
        }
        // It comes first, and is left out if it is 1.
        self.fields.retain(|field| field.name != "LearningRateFactor");
        if factor != 1.0 {
            self.fields.insert(0, Field { name: "LearningRateFactor", value: Value::Real(factor) });
        }
    }

    fn become_fixed_affine(&mut self) {
        if matches!(self.kind, "AffineComponent" | "NaturalGradientAffineComponent") {
            self.kind = "FixedAffineComponent";
            self.fields.retain(|field| matches!(field.name, "LinearParams" | "BiasParams"));
        }
    }
}

/// Returns `true` if a node may have this name.
fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Returns `true` if `pattern`, where `*` stands for any text, describes `name`.
#[doc(alias = "NameMatchesPattern")]
fn matches_pattern(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<Nnet3> \ninput-node name=input dim=2\ninput-node name=ivector dim=1\n\
        component-node name=a component=a input=Append(input, ReplaceIndex(ivector, t, 0))\n\
        component-node name=b component=b input=input\n\
        output-node name=output-xent input=b objective=linear\n\
        output-node name=output input=a objective=linear\n\n<NumComponents> 3 \n\
        <ComponentName> b <NaturalGradientAffineComponent> <LearningRateFactor> 0.5 <LearningRate> 0.1 \
        <LinearParams>  [\n  1 2 ]\n<BiasParams>  [ 3 ]\n\
        <RankIn> 1 <RankOut> 1 <UpdatePeriod> 4 <NumSamplesHistory> 2000 <Alpha> 4 </NaturalGradientAffineComponent> \n\
        <ComponentName> unused <FixedBiasComponent> <Bias>  [ 1 ]\n</FixedBiasComponent> \n\
        <ComponentName> a <BatchNormComponent> <Dim> 3 <BlockDim> 3 <Epsilon> 0.001 <TargetRms> 1 <TestMode> T \
        <Count> 10 <StatsMean>  [ 0 0 0 ]\n<StatsVar>  [ 1 1 1 ]\n</BatchNormComponent> \n</Nnet3> ";

    fn edited(edits: &str) -> Result<String, String> {
        let mut nnet = Nnet::read(&mut TEXT.as_bytes()).unwrap();
        nnet.edit(edits).map_err(|error| error.to_string())?;
        let mut text = Vec::new();
        nnet.write(&mut text, false).unwrap();
        // It is read again as it is.
        assert_eq!(Nnet::read(&mut &text[..]).unwrap(), nnet);
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn nothing_changes_without_edits() {
        assert_eq!(edited("\n # nothing\n").unwrap(), TEXT);
        assert_eq!(edited("remove-orphan-nodes").unwrap(), TEXT);
    }

    #[test]
    fn nodes_and_components_go() {
        let text = edited("remove-output-nodes name=*xent\nremove-orphans # the rest").unwrap();
        assert!(text.contains("component-node name=a component=a input=Append(input, ReplaceIndex(ivector, t, 0))\n"));
        assert!(text.contains("<NumComponents> 1 \n<ComponentName> a "), "{text}");
        assert!(!text.contains("xent") && !text.contains("name=b"), "{text}");
        let text = edited("remove-output-nodes name=output\nremove-orphan-nodes remove-orphan-inputs=true").unwrap();
        assert!(!text.contains("ivector") && text.contains("<NumComponents> 3 "), "{text}");
        assert!(edited("remove-orphan-components").unwrap().contains("<NumComponents> 2 "));
        assert!(edited("remove-output-nodes name=*").unwrap_err().contains("no output"));
    }

    #[test]
    fn names_change_and_values_are_set() {
        let text = edited("rename-node old-name=a new-name=tdnn1.x").unwrap();
        assert!(text.contains("name=tdnn1.x component=a") && text.contains("input=tdnn1.x objective"), "{text}");
        assert!(edited("set-learning-rate name=b* learning-rate=0.4").unwrap().contains("<LearningRate> 0.2 "));
        let text = edited("set-learning-rate-factor learning-rate-factor=1").unwrap();
        assert!(text.contains("<NaturalGradientAffineComponent> <LearningRate> 0.1 <"), "{text}");
        let text = edited("convert-to-fixed-affine name=b").unwrap();
        assert!(
            text.contains("<FixedAffineComponent> <LinearParams>  [\n  1 2 ]\n<BiasParams>  [ 3 ]\n</Fixed"),
            "{text}"
        );
        let mut nnet = Nnet::read(&mut TEXT.as_bytes()).unwrap();
        nnet.set_batchnorm_test_mode(false);
        assert_eq!(nnet.components()[2].1.get("TestMode"), Some(&Value::Bool(false)));
    }

    #[test]
    fn edits_without_sense_are_refused() {
        for (edits, problem) in [
            ("apply-svd name=b bottleneck-dim=2", "`apply-svd` is not supported"),
            ("rename-node old-name=c new-name=d", "no node `c`"),
            ("rename-node old-name=a new-name=b", "`b` already"),
            ("rename-node old-name=a new-name=7", "no name"),
            ("set-learning-rate name=a", "`learning-rate=` is missing"),
            ("set-learning-rate learning-rate=much", "not a number"),
            ("remove-orphans depth=3", "`depth=`"),
        ] {
            let error = edited(edits).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn patterns() {
        for (name, pattern, expected) in [
            ("output", "output", true),
            ("output", "*", true),
            ("output-xent", "output*", true),
            ("output-xent", "*put*ent", true),
            ("output", "out", false),
            ("aa", "a*a*a", false),
            ("abcabc", "a*c*c", true),
            ("", "*", true),
        ] {
            assert_eq!(matches_pattern(name, pattern), expected, "{name} {pattern}");
        }
    }
}
