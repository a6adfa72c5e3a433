//! Errors, with the values that were wrong.

use kaldi_matrix::codec::CodecError;
use thiserror::Error;

/// A network that cannot be read, or an input that it cannot compute.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that are not a network.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Bytes of a component that are not of its type.
    #[error("component `{component}`: {source}")]
    Component {
        /// The name of the component.
        component: String,
        /// The problem.
        source: CodecError,
    },
    /// A type of component that is not supported.
    #[error("component `{component}` has the type {kind}, which is not supported")]
    UnknownType {
        /// The name of the component.
        component: String,
        /// The type, as in the file.
        kind: String,
    },
    /// A line of the network's configuration that has no meaning.
    #[error("line `{line}`: {problem}")]
    Line {
        /// The line.
        line: String,
        /// The problem, in words.
        problem: String,
    },
    /// A component with values that do not fit together.
    #[error("component `{component}`: {problem}")]
    Invalid {
        /// The name of the component.
        component: String,
        /// The problem, in words.
        problem: String,
    },
    /// A node whose input has another width than its component.
    #[error("node `{node}` has an input of {found} columns, its component `{component}` takes {expected}")]
    Width {
        /// The node.
        node: String,
        /// The component.
        component: String,
        /// Number of columns that the component takes.
        expected: usize,
        /// Number of columns that the descriptor has.
        found: usize,
    },
    /// A network without a node of this name.
    #[error("the network has no {kind} node `{name}`")]
    NoNode {
        /// The kind: `"input"` or `"output"`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A network that cannot be computed in this way.
    #[error("the network cannot be computed so: {problem}")]
    Unsupported {
        /// The problem, in words.
        problem: String,
    },
    /// An input with another number of columns than its node.
    #[error("input `{name}` has {found} columns, the network takes {expected}")]
    InputWidth {
        /// The input node.
        name: String,
        /// Number of columns that the network takes.
        expected: usize,
        /// Number of columns given.
        found: usize,
    },
    /// Priors of another number than the columns of the output.
    #[error("there are {found} priors, and the output has {expected} columns")]
    Priors {
        /// Number of columns.
        expected: usize,
        /// Number of priors.
        found: usize,
    },
    /// An input that the network has, and the call does not.
    #[error("the network takes an input `{name}`, which is missing")]
    NoInput {
        /// The input node.
        name: String,
    },
    /// I-vectors that end long before the features.
    #[error(
        "there is no i-vector for frame {frame}: {found} are there, for {period} frames each; is the period right?"
    )]
    TooFewIvectors {
        /// The frame in the middle of a chunk.
        frame: usize,
        /// Number of i-vectors.
        found: usize,
        /// Number of frames from one to the next.
        period: usize,
    },
    /// An output row whose inputs are not all there.
    #[error("output `{name}` cannot be computed at frame {frame} from the inputs given")]
    NotComputable {
        /// The output node.
        name: String,
        /// The frame.
        frame: i64,
    },
}
