//! Layouts of the input that has the rows of an utterance.

use crate::attention_cache::AttentionCache;
use crate::description::{Axis, Description, Element, TensorInfo, shown};
use crate::error::Error;
use crate::session::Tensor;
use crate::states::{Chunk, State};

/// The layout of the input with the utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Features `[N, T, F]`, as icefall and WeNet have them.
    Rows {
        /// F, unless the file leaves it open.
        width: Option<usize>,
    },
    /// Features `[N, F, T]`, as NeMo has them.
    Columns {
        /// F, unless the file leaves it open.
        width: Option<usize>,
    },
    /// Samples `[N, T]`.
    Samples,
    /// Samples `[N, 1, T]`.
    Channel,
    /// Samples `[N, T, 1]` as integers of 16 bits, as T-one has them.
    Integers,
}

/// The inputs: their positions in the file's order, and the layout of the first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inputs {
    pub(crate) layout: Layout,
    pub(crate) rows: usize,
    pub(crate) lengths: Option<usize>,
    /// Takes the number of frames of the result so far: for icefall's conformer.
    pub(crate) processed: Option<usize>,
    /// Takes a 1 for each row: wav2vec 2.0's `attention_mask` [N, T].
    pub(crate) mask: Option<usize>,
    pub(crate) cache: Option<AttentionCache>,
    /// Inputs that have the same value in each run.
    pub(crate) constants: Vec<(usize, Tensor)>,
    pub(crate) states: Vec<State>,
    /// Only for a network with states.
    pub(crate) chunk: Option<Chunk>,
}

/// The outputs: their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outputs {
    pub(crate) scores: usize,
    pub(crate) lengths: Option<usize>,
}

impl Layout {
    /// Returns the layout of a file's input that has the utterance.
    ///
    /// # Errors
    /// [`Error::NoInput`], [`Error::Input`] and [`Error::Fixed`]; [`Error::State`] and
    /// [`Error::Chunk`].
    pub fn of(description: &Description) -> Result<Self, Error> {
        let states = State::all(description)?;
        let chunk = Chunk::of(description)?.filter(|_| !states.is_empty());
        Self::find(description, &states, chunk).map(|(_, layout)| layout)
    }

    /// Returns the position of the input that has the utterance, and its layout: the first input of
    /// floating point that is no state, or of integers `[N, T, 1]`.
    fn find(description: &Description, states: &[State], chunk: Option<Chunk>) -> Result<(usize, Self), Error> {
        let is_rows = |&(position, input): &(usize, &TensorInfo)| {
            let is_utterance = input.element == Some(Element::Float) || input.has_integer_samples();
            is_utterance && states.iter().all(|state| state.input != position)
        };
        let (position, input) = description.inputs.iter().enumerate().find(is_rows).ok_or(Error::NoInput)?;
        let axes = input.axes.as_deref().filter(|axes| (2..=3).contains(&axes.len()));
        let axes = axes.ok_or_else(|| Error::Input { input: input.to_string() })?;
        Ok((position, Self::of_input(input, axes, chunk)?))
    }

    /// Returns the number of values per row, if the file gives it.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Rows { width } | Self::Columns { width } => width,
            Self::Samples | Self::Channel | Self::Integers => Some(1),
        }
    }

    /// Returns `true` if a row is a sample.
    pub fn takes_samples(self) -> bool {
        matches!(self, Self::Samples | Self::Channel | Self::Integers)
    }

    fn of_input(input: &TensorInfo, axes: &[Axis], chunk: Option<Chunk>) -> Result<Self, Error> {
        let size = |axis: &Axis| match axis {
            Axis::Fixed(size) => Some(*size),
            Axis::Symbolic(_) => None,
        };
        let sizes: Vec<Option<usize>> = axes.iter().map(size).collect();
        let (layout, time) = match sizes[..] {
            [_, _] => (Self::Samples, 1),
            [_, Some(1), None] => (Self::Channel, 2),
            _ if input.has_integer_samples() => (Self::Integers, 1),
            [_, _, Some(width)] => (Self::Rows { width: Some(width) }, 1),
            [_, Some(width), None] => (Self::Columns { width: Some(width) }, 2),
            // NeMo's name for it.
            [_, None, None] if input.name.starts_with("audio_signal") => (Self::Columns { width: None }, 2),
            [_, None, None] => (Self::Rows { width: None }, 1),
            _ => return Err(Error::Input { input: input.to_string() }),
        };
        for (axis, allowed) in [(0, Some(1)), (time, chunk.map(|chunk| chunk.rows))] {
            if let Some(size) = sizes[axis].filter(|&size| Some(size) != allowed) {
                return Err(Error::Fixed { input: input.to_string(), axis, size });
            }
        }
        Ok(layout)
    }
}

impl Inputs {
    /// Finds the inputs of a file. The inputs with the names of `constants` get their values.
    pub(crate) fn new(description: &Description, constants: &[(String, i64)]) -> Result<Self, Error> {
        let states = State::all(description)?;
        let chunk = Chunk::of(description)?.filter(|_| !states.is_empty());
        if let (Some(state), None) = (states.first(), chunk) {
            return Err(Error::NoChunk { input: description.inputs[state.input].to_string() });
        }
        let cache = AttentionCache::find(description)?.filter(|_| chunk.is_some());
        let (rows, layout) = Layout::find(description, &states, chunk)?;
        let (mut lengths, mut processed, mut mask, mut found) = (None, None, None, vec![]);
        for (position, input) in description.inputs.iter().enumerate() {
            let is_state = states.iter().any(|state| state.input == position);
            if position == rows || is_state || cache.is_some_and(|cache| cache.has(position)) {
                continue;
            }
            let constant = constants.iter().find(|(name, _)| *name == input.name);
            match (input.element, input.axes.as_deref(), constant) {
                (Some(Element::Integer), Some(axes @ ([] | [_])), Some((_, value))) => {
                    found.push((position, Tensor::Integer(vec![1; axes.len()], vec![*value])));
                }
                (Some(Element::Integer), Some([_]), None) if chunk.is_some() && input.name.starts_with("processed") => {
                    processed = Some(position);
                }
                (Some(Element::Integer), Some([_]), None) if lengths.is_none() => lengths = Some(position),
                (Some(Element::Integer), Some([_, _]), None) if mask.is_none() => mask = Some(position),
                _ => return Err(Error::Input { input: input.to_string() }),
            }
        }
        if let Some((name, _)) = constants.iter().find(|(name, _)| description.inputs.iter().all(|i| i.name != *name)) {
            return Err(Error::Constant { name: name.clone(), inputs: shown(&description.inputs) });
        }
        Ok(Self { layout, rows, lengths, processed, mask, cache, constants: found, states, chunk })
    }
}

impl Outputs {
    /// Finds the scores: the output with a name for scores, or else the first one of floating
    /// point, which is also the output of an encoder. States are skipped.
    pub(crate) fn of(description: &Description, states: &[State]) -> Result<Self, Error> {
        let outputs = &description.outputs;
        let is_length = |output: &TensorInfo| output.name.contains("len");
        let is_named = |output: &TensorInfo| {
            let name = output.name.to_lowercase();
            ["log_prob", "logprob", "logit"].iter().any(|known| name.contains(known)) && !is_length(output)
        };
        let place = |is: &dyn Fn(&TensorInfo) -> bool| {
            let mut all = outputs.iter().enumerate();
            all.find(|&(place, output)| is(output) && states.iter().all(|state| state.output != place))
                .map(|(place, _)| place)
        };
        let is_float = |output: &TensorInfo| {
            output.element.is_none_or(|element| element == Element::Float)
                && output.axes.as_ref().is_none_or(|axes| (2..=3).contains(&axes.len()))
                && !is_length(output)
        };
        let scores = place(&is_named).or_else(|| place(&is_float));
        let scores = scores.ok_or_else(|| Error::NoOutput { outputs: shown(outputs) })?;
        let is_lengths =
            |output: &TensorInfo| is_length(output) && output.axes.as_ref().is_none_or(|axes| axes.len() == 1);
        Ok(Self { scores, lengths: place(&is_lengths) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, axes: &str, element: Element) -> TensorInfo {
        let axis = |text: &str| text.parse().map_or(Axis::Symbolic(text.to_owned()), Axis::Fixed);
        let axes = Some(axes.split(' ').map(axis).collect());
        TensorInfo { name: name.to_owned(), axes, element: Some(element) }
    }

    fn inputs(inputs: &[TensorInfo], constants: &[(String, i64)]) -> Result<Inputs, Error> {
        Inputs::new(&Description { inputs: inputs.to_vec(), outputs: vec![], metadata: vec![] }, constants)
    }

    fn layout(given: &[TensorInfo]) -> Result<Layout, Error> {
        inputs(given, &[]).map(|inputs| inputs.layout)
    }

    #[test]
    fn constants_are_integers_of_the_file() {
        let x = tensor("x", "N T 560", Element::Float);
        let integer = |name: &str, axes: &str| tensor(name, axes, Element::Integer);
        let given = [x.clone(), integer("x_length", "N"), integer("language", "N"), integer("text_norm", "N")];
        let constant = |name: &str, value| (name.to_owned(), value);
        let found = inputs(&given, &[constant("text_norm", 15), constant("language", 3)]).unwrap();
        assert_eq!(found.lengths, Some(1));
        let one = |value| Tensor::Integer(vec![1], vec![value]);
        assert_eq!(found.constants, [(2, one(3)), (3, one(15))]);
        let error = inputs(&given, &[constant("language", 3)]).unwrap_err().to_string();
        assert!(error.contains("text_norm [N]") && error.contains("constants"), "{error}");
        let error = inputs(&given[..2], &[constant("language", 3)]).unwrap_err().to_string();
        assert!(error.contains("no input language") && error.contains("x_length [N]"), "{error}");
        assert!(matches!(inputs(&given, &[constant("x", 3)]), Err(Error::Input { .. })));
        let masked = [tensor("input_values", "N T", Element::Float), integer("attention_mask", "N T")];
        assert_eq!(inputs(&masked, &[]).unwrap().mask, Some(1));
    }

    #[test]
    fn layouts_follow_shapes() {
        let float = |name: &str, axes: &str| tensor(name, axes, Element::Float);
        for (name, axes, expected) in [
            ("x", "N T 80", Layout::Rows { width: Some(80) }),
            ("x", "1 T F", Layout::Rows { width: None }),
            ("audio_signal", "N 80 T", Layout::Columns { width: Some(80) }),
            ("audio_signal", "N F T", Layout::Columns { width: None }),
            ("waveform", "N T", Layout::Samples),
            ("wav", "N 1 T", Layout::Channel),
        ] {
            let lengths = tensor("lens", "N", Element::Integer);
            assert_eq!(layout(&[float(name, axes), lengths.clone()]), Ok(expected), "{axes}");
            assert_eq!(layout(&[lengths, float(name, axes)]), Ok(expected), "{axes}");
        }
        assert!(matches!(layout(&[float("x", "N 100 80")]), Err(Error::Fixed { axis: 1, size: 100, .. })));
        assert!(matches!(layout(&[float("x", "4 T 80")]), Err(Error::Fixed { axis: 0, size: 4, .. })));
        assert!(matches!(layout(&[float("x", "N 16000")]), Err(Error::Fixed { axis: 1, size: 16_000, .. })));
        assert!(matches!(layout(&[float("x", "N T 80"), float("cache", "2 N 64")]), Err(Error::Input { .. })));
        assert!(matches!(layout(&[float("x", "N A B C")]), Err(Error::Input { .. })));
        assert_eq!(layout(&[tensor("signal", "N T 1", Element::Integer)]), Ok(Layout::Integers));
        assert_eq!(layout(&[]), Err(Error::NoInput));
    }

    #[test]
    fn scores_are_found_by_name_and_else_by_type() {
        let of = |outputs: &[TensorInfo]| {
            Outputs::of(&Description { inputs: vec![], outputs: outputs.to_vec(), metadata: vec![] }, &[])
        };
        let float = |name: &str, axes: &str| tensor(name, axes, Element::Float);
        let lengths = |name: &str| tensor(name, "N", Element::Integer);
        let both = [lengths("log_probs_len"), float("encoder_out", "N T 64"), float("log_probs", "N T 500")];
        assert_eq!(of(&both), Ok(Outputs { scores: 2, lengths: Some(0) }));
        assert_eq!(of(&[float("y", "N T 5")]), Ok(Outputs { scores: 0, lengths: None }));
        assert!(matches!(of(&[lengths("out_lengths")]), Err(Error::NoOutput { .. })));
    }
}
