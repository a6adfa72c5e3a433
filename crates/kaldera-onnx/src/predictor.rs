//! The predictor and the joiner of a transducer on the runtime.

use std::fmt;
use std::path::Path;

use kaldera_base::setters;
use kaldera_network::{Error as NetworkError, Predictor, PredictorState};

use crate::description::{Axis, Description, Element, TensorInfo, shown};
use crate::error::Error;
use crate::session::{Runtime, Session, Tensor, load};
use crate::states::State;

/// Largest number of tokens that a predictor may look back at, and largest number of values per
/// row.
const MAX_CONTEXT: usize = 1 << 10;
const MAX_WIDTH: usize = 1 << 16;

const PREDICTOR: &str = "predictor";
const JOINER: &str = "joiner";

/// Settings that the files of a predictor and a joiner may leave open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PredictorOptions {
    /// The blank, which precedes the first token.
    pub blank: usize,
    /// The runtime that computes them.
    pub runtime: Runtime,
}

setters! {
    PredictorOptions:
    blank, with_blank: usize, "Sets [`blank`](Self::blank).";
    runtime, with_runtime: Runtime, "Sets [`runtime`](Self::runtime).";
}

/// The predictor and the joiner of a transducer, one file each.
///
/// ```text
///   icefall: y [N, context] -> decoder_out [N, D]
///            encoder_out [N, D], decoder_out [N, D] -> logit [N, V]
///   NeMo:    targets [N, 1], target_length [N], states -> outputs [N, H, 1], lengths, states
///            encoder_outputs [N, D, 1], decoder_outputs [N, H, 1]
///                -> outputs [N, 1, 1, V + durations]
/// ```
///
/// Inputs are found by type and shape, not by name: tokens are integers of two axes, states are
/// floating point. The outputs of the states are the last ones of the file, in the same order.
pub struct OnnxPredictor {
    predictor: Box<dyn Session>,
    inputs: TokenInputs,
    output: usize,
    joiner: Box<dyn Session>,
    rows: [RowInput; 2],
    blank: i32,
    num_scores: usize,
}

/// The inputs of a predictor, by position.
#[derive(Debug)]
pub(crate) struct TokenInputs {
    tokens: usize,
    context: usize,
    lengths: Option<usize>,
    pub(crate) states: Vec<State>,
}

/// An input of a joiner: its position, the number of values per row, and its shape for one row.
#[derive(Debug)]
pub(crate) struct RowInput {
    pub(crate) position: usize,
    pub(crate) width: usize,
    shape: Vec<usize>,
}

impl fmt::Debug for OnnxPredictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, rows, num_scores, .. } = self;
        let mut shown = f.debug_struct("OnnxPredictor");
        shown.field("inputs", inputs).field("rows", rows).field("num_scores", num_scores).finish_non_exhaustive()
    }
}

impl OnnxPredictor {
    /// Opens the files of a predictor (`decoder.onnx`) and a joiner, and runs both once, so that a
    /// network that the runtime cannot run is an error here.
    ///
    /// # Errors
    /// [`Error::Load`], [`Error::Part`] and [`Error::State`]; the errors of the runtime.
    pub fn open(
        predictor: impl AsRef<Path>,
        joiner: impl AsRef<Path>,
        options: &PredictorOptions,
    ) -> Result<Self, Error> {
        let (predictor_path, joiner_path) = (predictor.as_ref(), joiner.as_ref());
        let of_predictor = |reason| part(predictor_path, PREDICTOR, reason);
        let of_joiner = |reason| part(joiner_path, JOINER, reason);
        let predictor = load(predictor_path, options.runtime)?;
        let description = predictor.description();
        let inputs = TokenInputs::new(&description, None)?.map_err(of_predictor)?;
        let output = inputs.output(&description).map_err(of_predictor)?;
        let blank = first_token(options.blank).map_err(of_predictor)?;
        let joiner = load(joiner_path, options.runtime)?;
        let joined = joiner.description();
        let rows = RowInput::both(&joined).map_err(of_joiner)?;
        let mut made = Self { predictor, inputs, output, joiner, rows, blank, num_scores: 0 };
        let state = made.first().map_err(of_predictor)?;
        let expected = made.rows[1].width;
        if state.output.len() != expected {
            let found = state.output.len();
            return Err(of_joiner(format!("rows of {expected} values of the predictor, which gives {found}")));
        }
        made.num_scores = made.scores(&vec![0.0; made.rows[0].width], &state).map_err(of_joiner)?.len();
        check_scores(made.num_scores, &[&description, &joined]).map_err(of_joiner)?;
        Ok(made)
    }

    /// Returns the number of tokens that the predictor looks back at; 1 if it has states.
    pub fn context(&self) -> usize {
        self.inputs.context
    }

    fn first(&self) -> Result<PredictorState, String> {
        let memory = self.inputs.states.iter().map(State::first).collect();
        self.predict(PredictorState::first_tokens(self.inputs.context, self.blank), memory)
    }

    /// Computes the state after these tokens.
    fn predict(&self, tokens: Vec<i32>, memory: Vec<Tensor>) -> Result<PredictorState, String> {
        let inputs = self.inputs.tensors(&tokens, memory.into_iter());
        let mut results = self.predictor.run(inputs, &self.inputs.outputs(self.output))?.into_iter();
        let output = floats(results.next().ok_or("there is no output")?)?;
        Ok(PredictorState::new(tokens, self.inputs.memory(results)?, output))
    }

    fn scores(&self, row: &[f32], state: &PredictorState) -> Result<Vec<f32>, String> {
        let inputs = self.rows.iter().zip([row, &state.output]);
        let inputs =
            inputs.map(|(input, row)| Ok((input.position, input.tensor(row)?))).collect::<Result<Vec<_>, String>>()?;
        floats(self.joiner.run(inputs, &[0])?.into_iter().next().ok_or("there is no output")?)
    }
}

pub(crate) fn part(path: &Path, part: &'static str, reason: String) -> Error {
    Error::Part { path: path.to_owned(), part, reason }
}

pub(crate) fn floats(tensor: Tensor) -> Result<Vec<f32>, String> {
    match tensor {
        Tensor::Float(_, values) => Ok(values),
        Tensor::Integer(shape, _) => Err(format!("integers of shape {shape:?}, and floating point is expected")),
    }
}

/// Returns the blank as the first token.
pub(crate) fn first_token(blank: usize) -> Result<i32, String> {
    i32::try_from(blank).map_err(|_| format!("a blank of {blank}"))
}

/// Checks the number of scores of a row; the files of these descriptions may give it.
pub(crate) fn check_scores(found: usize, descriptions: &[&Description]) -> Result<(), String> {
    let given = descriptions.iter().find_map(|description| description.metadata("vocab_size"));
    match given.and_then(|size| size.trim().parse::<usize>().ok()) {
        Some(size) if size != found => Err(format!("{found} scores, and the metadata have a vocab_size of {size}")),
        _ if found == 0 => Err("there are no scores".to_owned()),
        _ => Ok(()),
    }
}

/// Writes the scores of a run of this part.
pub(crate) fn write_scores(
    found: Result<Vec<f32>, String>,
    scores: &mut [f32],
    part: &'static str,
) -> Result<(), NetworkError> {
    let found = found.and_then(|found| match found.len() == scores.len() {
        true => Ok(found),
        false => Err(format!("{} scores, and {} are wanted", found.len(), scores.len())),
    });
    scores.copy_from_slice(&found.map_err(|reason| NetworkError::Part { part, reason })?);
    Ok(())
}

impl TokenInputs {
    /// Finds the inputs of a file, except the input of a joiner at the position `row`. The inner
    /// error says why it is not a predictor.
    pub(crate) fn new(description: &Description, row: Option<usize>) -> Result<Result<Self, String>, Error> {
        let (mut tokens, mut lengths, mut floats) = (None, None, vec![]);
        for (position, input) in description.inputs.iter().enumerate().filter(|&(position, _)| Some(position) != row) {
            match (input.element, input.axes.as_deref()) {
                (Some(Element::Integer), Some([_, size])) if tokens.is_none() => tokens = Some((position, size)),
                (Some(Element::Integer), Some([_])) if lengths.is_none() => lengths = Some(position),
                (Some(Element::Float), _) => floats.push(position),
                _ => return Ok(Err(format!("input {input}: neither tokens [N, context], nor lengths, nor a state"))),
            }
        }
        let Some((tokens, size)) = tokens else {
            return Ok(Err(format!("no input has tokens [N, context]: there are {}", shown(&description.inputs))));
        };
        // The states are the last outputs, after at least one other.
        let Some(first) = description.outputs.len().checked_sub(floats.len()).filter(|&first| first > 0) else {
            return Ok(Err(format!("{} states for the outputs {}", floats.len(), shown(&description.outputs))));
        };
        let states = floats.iter().zip(first..).map(|(&input, output)| State::new(description, input, output));
        let states = states.collect::<Result<Vec<_>, _>>()?;
        let said = description.metadata("context_size").map(|size| size.trim().parse().unwrap_or(0));
        let context = match (size, said) {
            _ if !states.is_empty() => 1,
            (Axis::Fixed(size), _) => *size,
            (Axis::Symbolic(_), said) => said.unwrap_or(1),
        };
        if !(1..=MAX_CONTEXT).contains(&context) {
            return Ok(Err(format!("a context of {context} tokens, and 1 to {MAX_CONTEXT} are possible")));
        }
        Ok(Ok(Self { tokens, context, lengths, states }))
    }

    /// Returns the inputs for the last tokens and the memory before the last of them.
    pub(crate) fn tensors(&self, tokens: &[i32], memory: impl Iterator<Item = Tensor>) -> Vec<(usize, Tensor)> {
        let values = tokens.iter().map(|&token| token.into()).collect();
        let mut inputs = vec![(self.tokens, Tensor::Integer(vec![1, self.context], values))];
        inputs.extend(self.lengths.map(|lengths| (lengths, Tensor::Integer(vec![1], vec![1]))));
        inputs.extend(self.states.iter().zip(memory).map(|(state, value)| (state.input, value)));
        inputs
    }

    /// Returns the positions of an output and the states.
    pub(crate) fn outputs(&self, output: usize) -> Vec<usize> {
        std::iter::once(output).chain(self.states.iter().map(|state| state.output)).collect()
    }

    /// Returns the values of the states, which a run returned.
    pub(crate) fn memory(&self, results: impl Iterator<Item = Tensor>) -> Result<Vec<Vec<f32>>, String> {
        let checked =
            self.states.iter().zip(results).map(|(state, value)| state.check(&value).and_then(|()| floats(value)));
        checked.collect()
    }

    /// Returns the position of the output: the first one of floating point.
    pub(crate) fn output(&self, description: &Description) -> Result<usize, String> {
        let own = description.outputs.len() - self.states.len();
        let is_float = |output: &TensorInfo| {
            let is_length = output.axes.as_ref().is_some_and(|axes| axes.len() < 2);
            output.element.is_none_or(|element| element == Element::Float) && !is_length
        };
        let found = description.outputs[..own].iter().position(is_float);
        found.ok_or_else(|| format!("no output has rows: there are {}", shown(&description.outputs)))
    }
}

impl RowInput {
    /// Returns the inputs for the rows of the encoder and of the predictor, in this order.
    fn both(description: &Description) -> Result<[Self; 2], String> {
        let [first, second] = &description.inputs[..] else {
            return Err(format!("it must have two inputs, and there are {}", shown(&description.inputs)));
        };
        let said = description.metadata("joiner_dim").and_then(|dim| dim.trim().parse().ok());
        let (first, second) = (Self::new(first, 0, said)?, Self::new(second, 1, said)?);
        // By name if the names are clear; else the encoder's is the first.
        let is_swapped = description.inputs[0].name.contains("dec") && description.inputs[1].name.contains("enc");
        Ok(if is_swapped { [second, first] } else { [first, second] })
    }

    /// Returns an input for rows; `said` is their width if the file does not give it.
    pub(crate) fn new(input: &TensorInfo, position: usize, said: Option<usize>) -> Result<Self, String> {
        let axes = input.axes.as_deref().unwrap_or_default();
        let is_float = input.element.is_none_or(|element| element == Element::Float);
        let (width, axis, rank) = match axes {
            [_, Axis::Fixed(width)] => (Some(*width), 1, 2),
            [_, Axis::Symbolic(_)] => (said, 1, 2),
            [_, Axis::Fixed(width), Axis::Symbolic(_) | Axis::Fixed(1)] => (Some(*width), 1, 3),
            [_, _, Axis::Fixed(width)] => (Some(*width), 2, 3),
            _ => (None, 0, 0),
        };
        match width.filter(|width| is_float && (1..=MAX_WIDTH).contains(width)) {
            Some(width) => {
                let mut shape = vec![1; rank];
                shape[axis] = width;
                Ok(Self { position, width, shape })
            }
            None => Err(format!("input {input}: neither rows [N, D] nor [N, D, T] of floating point, of a fixed D")),
        }
    }

    /// Returns a row as its input.
    pub(crate) fn tensor(&self, row: &[f32]) -> Result<Tensor, String> {
        match row.len() == self.width {
            true => Ok(Tensor::Float(self.shape.clone(), row.to_vec())),
            false => Err(format!("a row of {} values, where {} are taken", row.len(), self.width)),
        }
    }
}

impl Predictor for OnnxPredictor {
    fn encoder_dim(&self) -> usize {
        self.rows[0].width
    }

    fn num_scores(&self) -> usize {
        self.num_scores
    }

    fn start(&self) -> Result<PredictorState, NetworkError> {
        self.first().map_err(|reason| NetworkError::Part { part: PREDICTOR, reason })
    }

    fn advance(&self, state: &PredictorState, token: i32) -> Result<PredictorState, NetworkError> {
        let memory = self.inputs.states.iter().zip(&state.memory).map(|(of, values)| of.value(values.clone()));
        let found = self.predict(state.tokens_and(token), memory.collect());
        found.map_err(|reason| NetworkError::Part { part: PREDICTOR, reason })
    }

    fn join(&self, row: &[f32], state: &PredictorState, scores: &mut [f32]) -> Result<(), NetworkError> {
        write_scores(self.scores(row, state), scores, JOINER)
    }
}
