//! The states that a network carries from one run to the next.

use crate::attention_cache::AttentionCache;
use crate::description::{Axis, Description, Element, TensorInfo};
use crate::error::Error;
use crate::session::Tensor;

/// Largest number of values of a state, and of all states.
const MAX_VALUES: usize = 1 << 26;

/// An input that takes an output of the run before, and zeros in the first run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) input: usize,
    pub(crate) output: usize,
    /// The axis of utterances, if it is dynamic.
    pub(crate) utterances: Option<usize>,
    shape: Vec<usize>,
    is_float: bool,
}

impl State {
    /// Creates the state of the input and the output at these positions. Sizes of symbolic axes are
    /// in the metadata, as `cache_last_channel_dim2` of NeMo. The first symbolic axis without a
    /// size there counts utterances: its size is 1.
    pub(crate) fn new(description: &Description, input: usize, output: usize) -> Result<Self, Error> {
        let info = &description.inputs[input];
        let refuse = |reason: &str| Error::State { input: info.to_string(), reason: reason.to_owned() };
        let axes = info.axes.as_deref().ok_or_else(|| refuse("the file does not tell its shape"))?;
        let key = |at: usize| format!("{}_dim{at}", info.name);
        let said =
            |at: usize| description.number(&key(at)).or_else(|| AttentionCache::size(description, &info.name, at));
        let is_open = |(at, axis): (usize, &Axis)| matches!(axis, Axis::Symbolic(_)) && said(at).is_none();
        let utterances = axes.iter().enumerate().position(is_open);
        let size = |(at, axis): (usize, &Axis)| match axis {
            Axis::Fixed(size) => Ok(*size),
            Axis::Symbolic(_) if utterances == Some(at) => Ok(1),
            Axis::Symbolic(_) => said(at).ok_or_else(|| {
                let reason = "more than one of its axes is dynamic: export it with that of utterances alone, or with";
                refuse(&format!("{reason} the size {} in the metadata", key(at)))
            }),
        };
        let shape = axes.iter().enumerate().map(size).collect::<Result<Vec<usize>, _>>()?;
        let values = shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size));
        if values.is_none_or(|values| values > MAX_VALUES) {
            return Err(refuse("it has more than 2^26 values"));
        }
        let is_float = match info.element {
            Some(Element::Float) => true,
            Some(Element::Integer) => false,
            _ => return Err(refuse("its values must be floating point or integers of 32 or 64 bits")),
        };
        Ok(Self { input, output, utterances, shape, is_float })
    }

    /// Returns the states of a file: pairs of an input NAME and an output `new_NAME` or
    /// `next_NAME`, as in icefall, or `NAME_next`, as in NeMo, where `cache_last_channel_len`
    /// becomes `cache_last_channel_next_len`. WeNet's `attn_cache` becomes `next_att_cache`.
    pub(crate) fn all(description: &Description) -> Result<Vec<Self>, Error> {
        let pairs = description.inputs.iter().enumerate().filter_map(|(input, info)| {
            let is_next = |output: &TensorInfo| {
                let own = output.name.strip_prefix("new_").or_else(|| output.name.strip_prefix("next_"));
                let around = output.name.split_once("_next").filter(|(_, end)| end.is_empty() || end.starts_with('_'));
                own == Some(&info.name)
                    || own == Some(&info.name.replace("attn_", "att_"))
                    || around.is_some_and(|(begin, end)| info.name.strip_prefix(begin) == Some(end))
            };
            Some((input, description.outputs.iter().position(is_next)?))
        });
        let mut states = vec![];
        let mut values = 0;
        for (input, output) in pairs {
            let state = Self::new(description, input, output)?;
            values += state.num_values();
            if values > MAX_VALUES {
                let reason = "the states have more than 2^26 values together".to_owned();
                return Err(Error::State { input: description.inputs[input].to_string(), reason });
            }
            states.push(state);
        }
        Ok(states)
    }

    /// Returns its number of values.
    pub(crate) fn num_values(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns its value before the first run.
    pub(crate) fn first(&self) -> Tensor {
        let values = self.num_values();
        match self.is_float {
            true => Tensor::Float(self.shape.clone(), vec![0.0; values]),
            false => Tensor::Integer(self.shape.clone(), vec![0; values]),
        }
    }

    /// Returns a value of floating point.
    pub(crate) fn value(&self, values: Vec<f32>) -> Tensor {
        Tensor::Float(self.shape.clone(), values)
    }

    /// Checks that the input can take a value.
    pub(crate) fn check(&self, value: &Tensor) -> Result<(), String> {
        let is_float = matches!(value, Tensor::Float(..));
        match value.shape() == self.shape && is_float == self.is_float {
            true => Ok(()),
            false => Err(format!("a state of shape {:?} became one of shape {:?}", self.shape, value.shape())),
        }
    }
}

/// Chunks of a network with states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Number of rows of a run.
    pub rows: usize,
    /// Number of rows from the start of a run to the start of the next one; the rows after them are
    /// used again.
    pub shift: usize,
}

impl Chunk {
    /// The keys of the metadata of icefall and of NeMo. WeNet's network has its
    /// [`AttentionCache`], and T-one's the shape of its input.
    const KEYS: [(&str, &str); 2] = [("T", "decode_chunk_len"), ("window_size", "chunk_shift")];

    /// Largest number of rows of a run: it bounds the memory of a trial run.
    const MAX_ROWS: usize = 1 << 12;

    /// Reads the metadata; none if they do not have the keys.
    pub(crate) fn of(description: &Description) -> Result<Option<Self>, Error> {
        let number = |key: &str| description.metadata(key).map(|text| text.trim().parse::<usize>().unwrap_or(0));
        let both = |&(rows, shift): &(&str, &str)| Some((number(rows)?, number(shift)?));
        let found = Self::KEYS.iter().find_map(both).or_else(|| AttentionCache::chunks(description));
        // Chunks of samples do not overlap.
        let samples = || description.inputs.iter().find(|input| input.has_integer_samples())?.axes.as_ref()?.get(1);
        let found = found.or_else(|| match samples()? {
            Axis::Fixed(samples) => Some((*samples, *samples)),
            Axis::Symbolic(_) => None,
        });
        let Some((rows, shift)) = found else { return Ok(None) };
        match (1..=rows).contains(&shift) && rows <= Self::MAX_ROWS {
            true => Ok(Some(Self { rows, shift })),
            false => Err(Error::Chunk { rows, shift, most: Self::MAX_ROWS }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, axes: &[Axis], element: Element) -> TensorInfo {
        TensorInfo { name: name.to_owned(), axes: Some(axes.to_vec()), element: Some(element) }
    }

    fn utterances() -> Axis {
        Axis::Symbolic("N".to_owned())
    }

    #[test]
    fn states_are_pairs_by_name() {
        let state = |name: &str| tensor(name, &[Axis::Fixed(2), utterances()], Element::Float);
        let mut description = Description::new(
            vec![state("x"), state("cached_key_0"), state("h0"), state("cache_len")],
            vec![state("encoder_out"), state("cache_len_next"), state("new_cached_key_0"), state("next_h0")],
            vec![],
        );
        let found = State::all(&description).unwrap();
        let pairs: Vec<_> = found.iter().map(|state| (state.input, state.output)).collect();
        assert_eq!(pairs, [(1, 2), (2, 3), (3, 1)]);
        assert_eq!(found[0].first(), Tensor::Float(vec![2, 1], vec![0.0; 2]));
        assert!(found[0].check(&Tensor::Float(vec![2, 1], vec![1.0; 2])).is_ok());
        assert!(found[0].check(&Tensor::Float(vec![1, 2], vec![1.0; 2])).unwrap_err().contains("[2, 1]"));
        assert!(found[0].check(&Tensor::Integer(vec![2, 1], vec![1; 2])).is_err());
        for (axes, element, said) in [
            (vec![utterances(), utterances()], Element::Float, "the size h0_dim1 in the metadata"),
            (vec![Axis::Fixed(1 << 40), Axis::Fixed(1 << 40)], Element::Float, "2^26"),
            (vec![utterances()], Element::Byte, "integers of 32"),
        ] {
            description.inputs[2] = tensor("h0", &axes, element);
            let error = State::all(&description).unwrap_err().to_string();
            assert!(error.contains("h0 [") && error.contains(said), "{error}");
        }
    }

    #[test]
    fn sizes_of_dynamic_axes_are_in_the_metadata() {
        let dynamic = |name: &str| Axis::Symbolic(name.to_owned());
        let channel = [dynamic("axes_1"), Axis::Fixed(17), dynamic("axes_2"), Axis::Fixed(512)];
        let inputs = vec![
            tensor("cache_last_channel", &channel, Element::Float),
            tensor("cache_last_channel_len", &[dynamic("axes_1")], Element::Integer),
        ];
        let outputs = vec![
            tensor("cache_last_channel_next_len", &[dynamic("axes_1")], Element::Integer),
            tensor("cache_last_channel_next", &channel, Element::Float),
        ];
        let metadata = vec![("cache_last_channel_dim2".to_owned(), "70".to_owned())];
        let found = State::all(&Description::new(inputs, outputs, metadata)).unwrap();
        let all: Vec<_> = found.iter().map(|state| (state.input, state.output, state.shape.clone())).collect();
        assert_eq!(all, [(0, 1, vec![1, 17, 70, 512]), (1, 0, vec![1])]);
    }

    #[test]
    fn chunks_follow_the_metadata() {
        let of = |keys: &[(&str, &str)]| {
            let metadata = keys.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            Chunk::of(&Description::new(vec![], vec![], metadata))
        };
        assert_eq!(of(&[("T", "45"), ("decode_chunk_len", "32")]), Ok(Some(Chunk { rows: 45, shift: 32 })));
        assert_eq!(of(&[("window_size", "121"), ("chunk_shift", "112")]), Ok(Some(Chunk { rows: 121, shift: 112 })));
        assert_eq!(of(&[("T", "45")]), Ok(None));
        for (rows, shift) in [("45", "46"), ("45", "0"), ("99999999", "1"), ("45", "-1"), ("x", "32")] {
            assert!(
                matches!(of(&[("T", rows), ("decode_chunk_len", shift)]), Err(Error::Chunk { .. })),
                "{rows} {shift}"
            );
        }
    }
}
