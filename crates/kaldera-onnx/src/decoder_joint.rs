//! The predictor and the joiner of a transducer in one file on the runtime.

use std::fmt;
use std::path::Path;

use kaldera_network::{Error as NetworkError, Predictor, PredictorState};

use crate::description::{Description, shown};
use crate::error::Error;
use crate::predictor::{
    PredictorOptions, RowInput, TokenInputs, check_scores, first_token, floats, part, write_scores,
};
use crate::session::{Session, load};
use crate::states::State;

const PART: &str = "predictor and joiner";

/// The predictor and the joiner of a transducer in one file, which NeMo exports as `decoder_joint`.
///
/// ```text
///   encoder_outputs [N, D, 1], targets [N, 1], target_length [N], states
///       -> outputs [N, 1, 1, V + durations], lengths, states
/// ```
///
/// The row of the encoder is the input with `enc` in its name. The other inputs and the states are
/// found as in [`OnnxPredictor`](crate::OnnxPredictor).
///
/// The predictor runs again for each row that is joined. The state of a token is the memory before
/// it, and `output` is empty. An [`advance`](Predictor::advance) is one run more, over a row of
/// zeros.
pub struct OnnxDecoderJoint {
    session: Box<dyn Session>,
    inputs: TokenInputs,
    row: RowInput,
    output: usize,
    blank: i32,
    num_scores: usize,
}

impl fmt::Debug for OnnxDecoderJoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, row, num_scores, .. } = self;
        let mut shown = f.debug_struct("OnnxDecoderJoint");
        shown.field("inputs", inputs).field("row", row).field("num_scores", num_scores).finish_non_exhaustive()
    }
}

impl OnnxDecoderJoint {
    /// Opens a file, and runs it once, so that a network that the runtime cannot run is an error
    /// here.
    ///
    /// # Errors
    /// [`Error::Load`], [`Error::Part`] and [`Error::State`]; the errors of the runtime.
    pub fn open(path: impl AsRef<Path>, options: &PredictorOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        let refuse = |reason| part(path, PART, reason);
        let session = load(path, options.runtime)?;
        let description = session.description();
        let place = encoder_input(&description).map_err(refuse)?;
        let row = RowInput::new(&description.inputs[place], place, None).map_err(refuse)?;
        let inputs = TokenInputs::new(&description, Some(place))?.map_err(refuse)?;
        if inputs.states.is_empty() {
            return Err(refuse(format!("no input is a state: there are {}", shown(&description.inputs))));
        }
        let output = inputs.output(&description).map_err(refuse)?;
        let blank = first_token(options.blank).map_err(refuse)?;
        let opened = Self { session, inputs, row, output, blank, num_scores: 0 };
        let (scores, _) = opened.run(&vec![0.0; opened.row.width], &opened.first()).map_err(refuse)?;
        check_scores(scores.len(), &[&description]).map_err(refuse)?;
        Ok(Self { num_scores: scores.len(), ..opened })
    }

    fn first(&self) -> PredictorState {
        let zeros = |state: &State| vec![0.0; state.num_values()];
        let memory = self.inputs.states.iter().map(zeros).collect();
        PredictorState::new(PredictorState::first_tokens(1, self.blank), memory, vec![])
    }

    /// Returns the scores for a row, and the memory after the token of the state.
    fn run(&self, row: &[f32], state: &PredictorState) -> Result<(Vec<f32>, Vec<Vec<f32>>), String> {
        let memory = self.inputs.states.iter().zip(&state.memory).map(|(state, values)| state.value(values.clone()));
        let mut inputs = self.inputs.tensors(&state.tokens, memory);
        inputs.push((self.row.position, self.row.tensor(row)?));
        let mut results = self.session.run(inputs, &self.inputs.outputs(self.output))?.into_iter();
        let scores = floats(results.next().ok_or("there is no output")?)?;
        Ok((scores, self.inputs.memory(results)?))
    }
}

/// Returns the position of the input with the row of the encoder.
fn encoder_input(description: &Description) -> Result<usize, String> {
    let found = description.inputs.iter().position(|input| input.name.contains("enc"));
    let inputs = || shown(&description.inputs);
    found.ok_or_else(|| format!("no input has rows of the encoder: there are {}; its joiner is another file", inputs()))
}

impl Predictor for OnnxDecoderJoint {
    fn encoder_dim(&self) -> usize {
        self.row.width
    }

    fn num_scores(&self) -> usize {
        self.num_scores
    }

    fn start(&self) -> Result<PredictorState, NetworkError> {
        Ok(self.first())
    }

    fn advance(&self, state: &PredictorState, token: i32) -> Result<PredictorState, NetworkError> {
        let found = self.run(&vec![0.0; self.row.width], state);
        let (_, memory) = found.map_err(|reason| NetworkError::Part { part: PART, reason })?;
        Ok(PredictorState::new(state.tokens_and(token), memory, vec![]))
    }

    fn join(&self, row: &[f32], state: &PredictorState, scores: &mut [f32]) -> Result<(), NetworkError> {
        write_scores(self.run(row, state).map(|(found, _)| found), scores, PART)
    }
}
