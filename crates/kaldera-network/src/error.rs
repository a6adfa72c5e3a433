//! What can be wrong with a network or with what is given to it.

/// Everything that this crate refuses, with the numbers that were wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A layer that cannot be made or run.
    #[error("layer {number} ({kind}): {source}")]
    Layer {
        /// Its number, counted from 0.
        number: usize,
        /// Its kind, as the description spells it.
        kind: &'static str,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A network without layers.
    #[error("a network needs at least one layer")]
    NoLayers,
    /// An option that makes no sense.
    #[error("{key} = {found}: {expected}")]
    Option {
        /// The key in the description.
        key: &'static str,
        /// What it is set to.
        found: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A tensor that does not fit what the layer before it gives.
    #[error("{tensor} takes rows of {found} values, but there are rows of {expected}")]
    Width {
        /// The tensor.
        tensor: String,
        /// How many values a row has.
        expected: usize,
        /// How many the tensor is made for.
        found: usize,
    },
    /// A layer whose rows have no values.
    #[error("its rows would have no values")]
    NoColumns,
    /// Layers whose result has another shape than what it is added to.
    #[error("{found} {what} cannot be added to {expected}")]
    Residual {
        /// Rows, values of a row, or rows that become one.
        what: &'static str,
        /// How many there are in what the layers are given.
        expected: usize,
        /// How many there are in their result.
        found: usize,
    },
    /// A tensor of another number of axes than the layer's.
    #[error("{tensor} must have {expected} axes, but its shape is {found:?}")]
    Axes {
        /// The tensor.
        tensor: String,
        /// How many axes it must have.
        expected: usize,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A variance below 0.
    #[error("{tensor} holds {found} at position {position}: a variance and epsilon must be above 0 together")]
    Variance {
        /// The tensor.
        tensor: String,
        /// Which of its values.
        position: usize,
        /// The value.
        found: f32,
    },
    /// Rows of another width than the network's.
    #[error("the network takes rows of {expected} values, but these have {found}")]
    Rows {
        /// How many values the network's rows have.
        expected: usize,
        /// How many there are; of a stream, values that are not whole rows.
        found: usize,
    },
    /// A batch with another number of names than utterances.
    #[error("{names} names for {utterances} utterances")]
    Names {
        /// How many names there are.
        names: usize,
        /// How many utterances the rows have.
        utterances: usize,
    },
    /// A network that needs the whole utterance.
    #[error("it needs whole utterances, a stream has chunks: {because}")]
    NoStream {
        /// Why it needs them.
        because: &'static str,
    },
    /// An utterance of which nothing has been recorded.
    #[error("there are no log-probabilities of utterance {utterance}")]
    NotRecorded {
        /// The utterance.
        utterance: String,
    },
    /// Recorded log-probabilities that are not rows of all tokens.
    #[error("{utterance}: {values} log-probabilities are no rows of {num_tokens} tokens each")]
    NotRows {
        /// The utterance.
        utterance: String,
        /// How many values there are.
        values: usize,
        /// How many a row has.
        num_tokens: usize,
    },
    /// What a runtime from elsewhere refuses; of a stream, without the utterance.
    #[error("{utterance}: the network cannot be run: {reason}")]
    Runtime {
        /// The utterance.
        utterance: String,
        /// What the runtime says.
        reason: String,
    },
    /// A part of a transducer that cannot be run.
    #[error("the {part} cannot be run: {reason}")]
    Part {
        /// The predictor or the joiner.
        part: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Tokens for another number of outputs than the network has.
    #[error("tokens for {found} outputs, and the network has {expected}")]
    Outputs {
        /// How many outputs the network has.
        expected: usize,
        /// How many have a token, or none by intent.
        found: usize,
    },
    /// A token that no output is, or that there is not.
    #[error("token {token} of {num_tokens}: no output of the network is it")]
    Token {
        /// Its number, counted from 0.
        token: usize,
        /// How many tokens there are.
        num_tokens: usize,
    },
    /// A frame in which all outputs that are tokens are impossible.
    #[error("{utterance}: frame {frame}: no token has a probability")]
    NoToken {
        /// The utterance; of a stream, nothing.
        utterance: String,
        /// The frame, counted from 0; of a stream, from the last chunk on.
        frame: usize,
    },
    /// Tensors that `recurrent` refuses.
    #[error(transparent)]
    Recurrent(#[from] recurrent::Error),
    /// Sequences that `lod` refuses.
    #[error(transparent)]
    Lod(#[from] lod::Error),
}

impl Error {
    /// With the name of the utterance, where there is none: a stream does not know it.
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
