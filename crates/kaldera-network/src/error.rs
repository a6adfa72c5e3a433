//! Errors of networks and of their inputs.

/// The errors of this crate, with the values that were wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A layer that cannot be created or run.
    #[error("layer {number} ({kind}): {source}")]
    Layer {
        /// Its number, counted from 0.
        number: usize,
        /// Its kind, as the description spells it.
        kind: &'static str,
        /// The defect.
        source: Box<Error>,
    },
    /// A stream that is given to another network than its own.
    #[error("a stream belongs to another network: give it to the network that created it")]
    OtherNetwork,
    /// A network without layers.
    #[error("a network needs at least one layer")]
    NoLayers,
    /// An invalid option.
    #[error("{key} = {found}: {expected}")]
    Option {
        /// The key in the description.
        key: &'static str,
        /// Its value.
        found: String,
        /// The values that are valid.
        expected: &'static str,
    },
    /// A tensor that does not fit the output of the layer before it.
    #[error("{tensor} takes rows of {found} values, but there are rows of {expected}")]
    Width {
        /// The tensor.
        tensor: String,
        /// Number of values of a row.
        expected: usize,
        /// Number of values that the tensor takes.
        found: usize,
    },
    /// A layer whose rows have no values.
    #[error("its rows would have no values")]
    NoColumns,
    /// Layers whose result has another shape than their input, to which it is added.
    #[error("{found} {what} cannot be added to {expected}")]
    Residual {
        /// Rows, values of a row, or rows that become one.
        what: &'static str,
        /// Their number in the input of the layers.
        expected: usize,
        /// Their number in the result.
        found: usize,
    },
    /// A tensor of another number of axes than the layer needs.
    #[error("{tensor} must have {expected} axes, but its shape is {found:?}")]
    Axes {
        /// The tensor.
        tensor: String,
        /// Number of axes that it must have.
        expected: usize,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A variance below 0.
    #[error("{tensor} holds {found} at position {position}: a variance and epsilon must be above 0 together")]
    Variance {
        /// The tensor.
        tensor: String,
        /// The position of the value.
        position: usize,
        /// The value.
        found: f32,
    },
    /// Rows of another width than the network's.
    #[error("the network takes rows of {expected} values, but these have {found}")]
    Rows {
        /// Number of values of the network's rows.
        expected: usize,
        /// Number of values of a row; for a stream, number of values that are not whole rows.
        found: usize,
    },
    /// A batch with another number of names than utterances.
    #[error("{names} names for {utterances} utterances")]
    Names {
        /// Number of names.
        names: usize,
        /// Number of utterances of the rows.
        utterances: usize,
    },
    /// A network that needs the whole utterance.
    #[error("it needs whole utterances, a stream has chunks: {because}")]
    NoStream {
        /// The reason.
        because: &'static str,
    },
    /// A failure of another runtime; in a stream, without the utterance.
    #[error("{utterance}: the network cannot be run: {reason}")]
    Runtime {
        /// The utterance.
        utterance: String,
        /// The runtime's message.
        reason: String,
    },
    /// A part of a transducer that cannot be run.
    #[error("the {part} cannot be run: {reason}")]
    Part {
        /// The predictor or the joiner.
        part: &'static str,
        /// The reason.
        reason: String,
    },
    /// A list of tokens whose length differs from the number of outputs.
    #[error("tokens for {found} outputs, and the network has {expected}")]
    Outputs {
        /// Number of outputs of the network.
        expected: usize,
        /// Length of the list.
        found: usize,
    },
    /// A token without an output, or one out of range.
    #[error("token {token} of {num_tokens}: no output of the network is it")]
    Token {
        /// Its number, counted from 0.
        token: usize,
        /// Number of tokens.
        num_tokens: usize,
    },
    /// A frame in which all outputs with a token are impossible.
    #[error("{utterance}: frame {frame}: no token has a probability")]
    NoToken {
        /// The utterance; empty in a stream.
        utterance: String,
        /// The frame, counted from 0; in a stream, from the start of the last chunk.
        frame: usize,
    },
    /// An error of `recurrent`.
    #[error(transparent)]
    Recurrent(#[from] recurrent::Error),
    /// An error of `lod`.
    #[error(transparent)]
    Lod(#[from] lod::Error),
}

impl Error {
    /// Sets the name of the utterance if the error has none: a stream does not know it.
    #[must_use]
    pub fn of_utterance(mut self, name: &str) -> Self {
        if let Self::Runtime { utterance, .. } | Self::NoToken { utterance, .. } = &mut self
            && utterance.is_empty()
        {
            name.clone_into(utterance);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_streams_get_the_name_of_the_utterance_once() {
        let of = |utterance: &str| Error::NoToken { utterance: utterance.to_owned(), frame: 3 };
        assert_eq!(of("").of_utterance("a").of_utterance("b"), of("a"));
        let error = Error::Runtime { utterance: String::new(), reason: "row 2: NaN is not finite".to_owned() };
        assert_eq!(error.of_utterance("a").to_string(), "a: the network cannot be run: row 2: NaN is not finite");
        assert_eq!(Error::NoLayers.of_utterance("a"), Error::NoLayers);
    }
}
