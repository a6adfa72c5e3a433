//! Layouts of the input that has the rows of an utterance.

use crate::description::{Axis, Description, Element, TensorInfo};
use crate::error::Error;
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
}

/// The inputs: their positions in the file's order, and the layout of the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub(crate) layout: Layout,
    pub(crate) rows: usize,
    pub(crate) lengths: Option<usize>,
    /// Takes the number of frames of the result so far: for icefall's conformer.
    pub(crate) processed: Option<usize>,
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
    /// [`Error::NoInput`], [`Error::Input`] and [`Error::Fixed`].
    pub fn of(description: &Description) -> Result<Self, Error> {
        Inputs::of(description).map(|inputs| inputs.layout)
    }

    /// Returns the number of values per row, if the file gives it.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Rows { width } | Self::Columns { width } => width,
            Self::Samples | Self::Channel => Some(1),
        }
    }

    /// Returns `true` if a row is a sample.
    pub fn takes_samples(self) -> bool {
        matches!(self, Self::Samples | Self::Channel)
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
    pub(crate) fn of(description: &Description) -> Result<Self, Error> {
        let states = State::all(description)?;
        let chunk = Chunk::of(description)?.filter(|_| !states.is_empty());
        let (mut rows, mut lengths, mut processed) = (None, None, None);
        for (position, input) in description.inputs.iter().enumerate() {
            if states.iter().any(|state| state.input == position) {
                continue;
            }
            let axes = input.axes.as_deref().unwrap_or_default();
            match (input.element, axes) {
                (Some(Element::Float), [_, _] | [_, _, _]) if rows.is_none() => {
                    rows = Some((position, Layout::of_input(input, axes, chunk)?));
                }
                (Some(Element::Integer), [_]) if chunk.is_some() && input.name.starts_with("processed") => {
                    processed = Some(position);
                }
                (Some(Element::Integer), [_]) if lengths.is_none() => lengths = Some(position),
                _ => return Err(Error::Input { input: input.to_string() }),
            }
        }
        let (rows, layout) = rows.ok_or(Error::NoInput)?;
        match (states.first(), chunk) {
            (Some(state), None) => Err(Error::NoChunk { input: description.inputs[state.input].to_string() }),
            _ => Ok(Self { layout, rows, lengths, processed, states, chunk }),
        }
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
        let scores = scores.ok_or_else(|| {
            let outputs = outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            Error::NoOutput { outputs }
        })?;
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

    fn layout(inputs: &[TensorInfo]) -> Result<Layout, Error> {
        Layout::of(&Description { inputs: inputs.to_vec(), outputs: vec![], metadata: vec![] })
    }

    #[test]
    fn layouts_are_told_by_shape() {
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
        assert_eq!(layout(&[]), Err(Error::NoInput));
    }

    #[test]
    fn scores_are_told_by_name_and_else_by_type() {
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
