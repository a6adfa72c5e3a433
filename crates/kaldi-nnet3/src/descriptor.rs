//! Descriptors: expressions of the rows that are the input of a node.
//!
//! ```text
//! Append(Offset(input, -1), input, ReplaceIndex(ivector, t, 0))
//! Sum(Scale(0.66, tdnn1), Failover(Offset(lstm, -3), IfDefined(tdnn1)))
//! ```

/// The index that [`Descriptor::ReplaceIndex`] sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexVariable {
    /// The frame.
    T,
    /// The third index, which only `DistributeComponent` counts.
    X,
}

/// An expression of rows of nodes, evaluated at an index: a frame t, and x, which usually is 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Descriptor {
    /// The row of a node, by its number, at the same index.
    Node(usize),
    /// Rows concatenated. Only outermost.
    Append(Vec<Descriptor>),
    /// A sum of rows.
    Sum(Vec<Descriptor>),
    /// The first, or the second if the first cannot be computed.
    Failover(Box<Descriptor>, Box<Descriptor>),
    /// The row, or zeros if it cannot be computed.
    IfDefined(Box<Descriptor>),
    /// The row `t` frames and `x` later.
    Offset {
        /// The rows.
        of: Box<Descriptor>,
        /// Number of frames.
        t: i32,
        /// Added to x.
        x: i32,
    },
    /// The one whose place is t modulo their number.
    Switch(Vec<Descriptor>),
    /// The row at the greatest multiple of `modulus` that is not greater than t.
    Round {
        /// The rows.
        of: Box<Descriptor>,
        /// The modulus, at least 1.
        modulus: i32,
    },
    /// The row at an index of which one part is fixed.
    ReplaceIndex {
        /// The rows.
        of: Box<Descriptor>,
        /// The part.
        variable: IndexVariable,
        /// Its value.
        value: i32,
    },
    /// The row, multiplied.
    Scale(f32, Box<Descriptor>),
    /// A row of `dim` equal values.
    Const {
        /// The value.
        value: f32,
        /// The number of values.
        dim: usize,
    },
}

/// Depth of expressions inside of expressions.
const MAX_DEPTH: usize = 64;

/// Largest offset in frames.
pub(crate) const MAX_OFFSET: i32 = 1 << 20;

impl Descriptor {
    /// Reads an expression. `node` finds the number of a node by its name.
    pub(crate) fn parse(text: &str, node: &dyn Fn(&str) -> Option<usize>) -> Result<Self, String> {
        let mut parser = Parser { rest: text, node };
        let parsed = parser.descriptor(0)?;
        match parser.next() {
            "" => Ok(parsed),
            more => Err(format!("`{more}` follows the descriptor")),
        }
    }

    /// Returns the text of the expression, where `name` gives the name of a node.
    pub(crate) fn text(&self, name: &dyn Fn(usize) -> String) -> String {
        let list = |kind: &str, parts: &[Self]| {
            let parts: Vec<String> = parts.iter().map(|part| part.text(name)).collect();
            format!("{kind}({})", parts.join(", "))
        };
        match self {
            Self::Node(node) => name(*node),
            Self::Append(parts) => list("Append", parts),
            Self::Sum(parts) => list("Sum", parts),
            Self::Switch(parts) => list("Switch", parts),
            Self::Failover(first, second) => format!("Failover({}, {})", first.text(name), second.text(name)),
            Self::IfDefined(of) => format!("IfDefined({})", of.text(name)),
            Self::Offset { of, t, x: 0 } => format!("Offset({}, {t})", of.text(name)),
            Self::Offset { of, t, x } => format!("Offset({}, {t}, {x})", of.text(name)),
            Self::Round { of, modulus } => format!("Round({}, {modulus})", of.text(name)),
            Self::ReplaceIndex { of, variable, value } => {
                let variable = if *variable == IndexVariable::T { 't' } else { 'x' };
                format!("ReplaceIndex({}, {variable}, {value})", of.text(name))
            }
            Self::Scale(scale, of) => format!("Scale({scale}, {})", of.text(name)),
            Self::Const { value, dim } => format!("Const({value}, {dim})"),
        }
    }

    /// Returns the concatenated expressions; one if there is no [`Self::Append`].
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Append(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    /// Returns the expressions inside of this one.
    pub fn inner(&self) -> &[Self] {
        match self {
            Self::Node(_) | Self::Const { .. } => &[],
            Self::Append(parts) | Self::Sum(parts) | Self::Switch(parts) => parts,
            Self::Failover(first, _) => std::slice::from_ref(first),
            Self::IfDefined(of)
            | Self::Offset { of, .. }
            | Self::Round { of, .. }
            | Self::ReplaceIndex { of, .. }
            | Self::Scale(_, of) => std::slice::from_ref(of),
        }
    }

    /// Calls `visit` with this expression and all inside of it.
    pub fn walk(&self, visit: &mut dyn FnMut(&Self)) {
        visit(self);
        self.inner().iter().for_each(|part| part.walk(visit));
        if let Self::Failover(_, second) = self {
            second.walk(visit);
        }
    }

    /// Returns the numbers of the nodes, each as often as it occurs.
    pub fn nodes(&self) -> Vec<usize> {
        let mut nodes = Vec::new();
        self.walk(&mut |part| {
            if let Self::Node(node) = part {
                nodes.push(*node);
            }
        });
        nodes
    }

    /// Calls `change` with this expression and all inside of it, the outer one first.
    pub(crate) fn walk_mut(&mut self, change: &mut dyn FnMut(&mut Self)) {
        change(self);
        match self {
            Self::Node(_) | Self::Const { .. } => {}
            Self::Append(parts) | Self::Sum(parts) | Self::Switch(parts) => {
                parts.iter_mut().for_each(|part| part.walk_mut(change));
            }
            Self::Failover(first, second) => {
                first.walk_mut(change);
                second.walk_mut(change);
            }
            Self::IfDefined(of)
            | Self::Offset { of, .. }
            | Self::Round { of, .. }
            | Self::ReplaceIndex { of, .. }
            | Self::Scale(_, of) => of.walk_mut(change),
        }
    }

    /// Returns the width of the rows, where `dim` gives the width of a node. Widths that differ
    /// inside of a sum are an error.
    pub(crate) fn dim(&self, dim: &dyn Fn(usize) -> Result<usize, String>) -> Result<usize, String> {
        let equal = |parts: &mut dyn Iterator<Item = &Self>| {
            let mut widths = parts.map(|part| part.dim(dim));
            let first = widths.next().unwrap_or(Ok(0))?;
            widths.try_fold(first, |first, width| match width? {
                width if width == first => Ok(first),
                width => Err(format!("rows of {first} and of {width} columns are added or exchanged")),
            })
        };
        match self {
            Self::Node(node) => dim(*node),
            Self::Const { dim, .. } => Ok(*dim),
            Self::Append(parts) => parts.iter().try_fold(0, |sum, part| Ok(sum + part.dim(dim)?)),
            Self::Failover(first, second) => equal(&mut [&**first, &**second].into_iter()),
            _ => equal(&mut self.inner().iter()),
        }
    }

    /// Returns the number of frames after which the expression's meaning repeats.
    pub(crate) fn modulus(&self) -> u64 {
        let mut modulus = 1;
        self.walk(&mut |part| {
            let own = match part {
                Self::Round { modulus, .. } => u64::from(modulus.unsigned_abs()),
                Self::Switch(parts) => parts.len() as u64,
                _ => 1,
            };
            modulus = lcm(modulus, own);
        });
        modulus
    }
}

/// Returns the least common multiple, saturated.
pub(crate) fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a.max(1) / x).saturating_mul(b.max(1))
}

struct Parser<'a> {
    rest: &'a str,
    node: &'a dyn Fn(&str) -> Option<usize>,
}

impl<'a> Parser<'a> {
    /// Returns the next token: a word, or one of `(),`; empty at the end.
    fn next(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let is_mark = |c: char| matches!(c, '(' | ')' | ',');
        let ends = |c: char| c.is_whitespace() || is_mark(c);
        let len = match self.rest.chars().next() {
            Some(first) if is_mark(first) => 1,
            _ => self.rest.find(ends).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(len);
        self.rest = rest;
        token
    }

    fn expect(&mut self, mark: &str) -> Result<(), String> {
        match self.next() {
            token if token == mark => Ok(()),
            "" => Err(format!("the descriptor ends where `{mark}` should follow")),
            token => Err(format!("`{token}` stands where `{mark}` should")),
        }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let token = self.next();
        token.parse().map_err(|_| format!("`{token}` is not a number of this descriptor"))
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Descriptor>, String> {
        let mut parts = vec![self.descriptor(depth + 1)?];
        loop {
            match self.next() {
                "," => parts.push(self.descriptor(depth + 1)?),
                ")" => return Ok(parts),
                token => return Err(format!("`{token}` stands where `,` or `)` should")),
            }
        }
    }

    fn boxed(&mut self, depth: usize) -> Result<Box<Descriptor>, String> {
        self.descriptor(depth + 1).map(Box::new)
    }

    fn offset(&mut self) -> Result<i32, String> {
        let value: i32 = self.number()?;
        match value.unsigned_abs() <= MAX_OFFSET.unsigned_abs() {
            true => Ok(value),
            false => Err(format!("an offset of {value} is beyond {MAX_OFFSET}")),
        }
    }

    fn descriptor(&mut self, depth: usize) -> Result<Descriptor, String> {
        if depth > MAX_DEPTH {
            return Err(format!("descriptors are read up to a depth of {MAX_DEPTH}"));
        }
        let name = self.next();
        let known = matches!(
            name,
            "Append"
                | "Sum"
                | "Switch"
                | "Failover"
                | "IfDefined"
                | "Offset"
                | "Round"
                | "ReplaceIndex"
                | "Scale"
                | "Const"
        );
        if !known {
            let node = (self.node)(name).ok_or_else(|| format!("`{name}` is neither a descriptor nor a node"))?;
            return Ok(Descriptor::Node(node));
        }
        self.expect("(")?;
        let parsed = match name {
            "Append" if depth > 0 => return Err("Append stands inside of another descriptor".into()),
            "Append" => return self.list(depth).map(Descriptor::Append),
            "Sum" => return self.list(depth).map(Descriptor::Sum),
            "Switch" => return self.list(depth).map(Descriptor::Switch),
            "Failover" => {
                let first = self.boxed(depth)?;
                self.expect(",")?;
                Descriptor::Failover(first, self.boxed(depth)?)
            }
            "IfDefined" => Descriptor::IfDefined(self.boxed(depth)?),
            "Offset" => {
                let of = self.boxed(depth)?;
                self.expect(",")?;
                let t = self.offset()?;
                let mut x = 0;
                match self.next() {
                    ")" => return Ok(Descriptor::Offset { of, t, x }),
                    "," => x = self.offset()?,
                    token => return Err(format!("`{token}` stands where `,` or `)` should")),
                }
                Descriptor::Offset { of, t, x }
            }
            "Round" => {
                let of = self.boxed(depth)?;
                self.expect(",")?;
                match self.offset()? {
                    modulus if modulus >= 1 => Descriptor::Round { of, modulus },
                    modulus => return Err(format!("Round takes a modulus of at least 1, not {modulus}")),
                }
            }
            "ReplaceIndex" => {
                let of = self.boxed(depth)?;
                self.expect(",")?;
                let variable = match self.next() {
                    "t" => IndexVariable::T,
                    "x" => IndexVariable::X,
                    token => return Err(format!("ReplaceIndex takes `t` or `x`, not `{token}`")),
                };
                self.expect(",")?;
                Descriptor::ReplaceIndex { of, variable, value: self.offset()? }
            }
            "Scale" => {
                let scale = self.number()?;
                self.expect(",")?;
                Descriptor::Scale(scale, self.boxed(depth)?)
            }
            _ => {
                let value = self.number()?;
                self.expect(",")?;
                let dim = self.number()?;
                if dim == 0 || dim > crate::config_line::MAX_DIM {
                    return Err(format!("Const takes from 1 to {} columns, not {dim}", crate::config_line::MAX_DIM));
                }
                Descriptor::Const { value, dim }
            }
        };
        self.expect(")")?;
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["input", "a.b", "ivector"];

    fn parse(text: &str) -> Result<Descriptor, String> {
        Descriptor::parse(text, &|name| NAMES.iter().position(|&known| known == name))
    }

    #[test]
    fn text_is_read_and_written() {
        for text in [
            "input",
            "Append(Offset(input, -1), input, ReplaceIndex(ivector, t, 0))",
            "Sum(Scale(0.66, a.b), Sum(Offset(a.b, -3), Const(0.25, 6)))",
            "Failover(Offset(a.b, -6, 2), IfDefined(Round(a.b, 3)))",
            "Switch(input, Offset(a.b, -2))",
            "ReplaceIndex(a.b, x, 1)",
        ] {
            let parsed = parse(text).unwrap();
            assert_eq!(parsed.text(&|node| NAMES[node].into()), text);
        }
        assert_eq!(parse(" Offset(input,1) ").unwrap(), parse("Offset( input , 1)").unwrap());
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "other",
            "Append(",
            "Append()",
            "Sum(input",
            "Offset(input)",
            "Offset(input, x)",
            "Offset(input, 2000000000)",
            "Round(input, 0)",
            "ReplaceIndex(input, n, 0)",
            "Const(1, 0)",
            "Scale(input, 2)",
            "input input",
            "Sum(Append(input, input), input)",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = "IfDefined(".repeat(100_000);
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn widths_of_sums_are_equal() {
        let dim = |node: usize| Ok([4, 2, 3][node]);
        assert_eq!(parse("Append(input, ivector)").unwrap().dim(&dim), Ok(7));
        assert!(parse("Sum(input, ivector)").unwrap().dim(&dim).is_err());
        assert!(parse("Failover(input, ivector)").unwrap().dim(&dim).is_err());
    }
}
