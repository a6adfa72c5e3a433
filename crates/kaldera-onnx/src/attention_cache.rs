//! The inputs with which WeNet's streaming networks use their cache of attention.

use crate::description::{Description, Element};
use crate::error::Error;
use crate::session::Tensor;

/// Largest number of frames of the cache and a chunk: it bounds the memory of the mask.
const MAX_FRAMES: usize = 1 << 16;

/// The inputs `offset` (frames before the chunk, with the cache), `required_cache_size` (frames of
/// the cache) and `attn_mask` (frames of the cache and the chunk that may be used), by position.
/// The cache is as long from the first chunk on, and its frames before the utterance are masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttentionCache {
    offset: usize,
    size: usize,
    mask: usize,
    /// Number of frames of the result of a chunk.
    chunk: usize,
    /// Number of frames of the cache.
    cached: usize,
}

impl AttentionCache {
    /// Finds the inputs; `None` for other networks.
    pub(crate) fn find(description: &Description) -> Result<Option<Self>, Error> {
        let place = |name: &str, rank: usize| {
            description.inputs.iter().position(|input| {
                let is_integer = !matches!(input.element, Some(Element::Float));
                input.name == name && is_integer && input.axes.as_ref().is_some_and(|axes| axes.len() == rank)
            })
        };
        let places = (place("offset", 1), place("required_cache_size", 1), place("attn_mask", 3));
        let (Some(offset), Some(size), Some(mask)) = places else { return Ok(None) };
        let number = |key: &str| description.number(key);
        let (chunk, left) = (number("chunk_size").unwrap_or(0), number("left_chunks").unwrap_or(0));
        match chunk.checked_mul(left).filter(|cached| (1..=MAX_FRAMES).contains(cached)) {
            Some(cached) => Ok(Some(Self { offset, size, mask, chunk, cached })),
            None => Err(Error::AttentionCache { chunk, left, most: MAX_FRAMES }),
        }
    }

    /// Returns `true` if the input at this position is one of its inputs.
    pub(crate) fn has(&self, input: usize) -> bool {
        [self.offset, self.size, self.mask].contains(&input)
    }

    /// Returns the chunks of such a network.
    pub(crate) fn chunks(description: &Description) -> Option<(usize, usize)> {
        let number = |key: &str| description.number(key);
        let (chunk, factor) = (number("chunk_size")?, number("subsampling_factor")?);
        let shift = chunk.checked_mul(factor)?;
        let rows = chunk.checked_sub(1)?.checked_mul(factor)?.checked_add(number("right_context")?)?.checked_add(1)?;
        Some((rows, shift))
    }

    /// Returns the size of an axis of one of WeNet's caches, by the metadata.
    pub(crate) fn size(description: &Description, cache: &str, axis: usize) -> Option<usize> {
        let number = |key: &str| description.number(key);
        match (cache, axis) {
            ("attn_cache" | "conv_cache", 0) => number("num_blocks"),
            ("attn_cache", 1) => number("head"),
            ("attn_cache", 2) => number("chunk_size")?.checked_mul(number("left_chunks")?),
            ("attn_cache", 3) => number("output_size")?.checked_div(number("head")?)?.checked_mul(2),
            ("conv_cache", 1) => Some(1),
            ("conv_cache", 2) => number("output_size"),
            ("conv_cache", 3) => number("cnn_module_kernel")?.checked_sub(1),
            _ => None,
        }
    }

    /// Returns the inputs for the chunk after this number of frames of the result.
    pub(crate) fn tensors(&self, frames: usize) -> Result<[(usize, Tensor); 3], String> {
        let Self { offset, size, mask, chunk, cached } = *self;
        let integer = |value: usize| {
            let value = i64::try_from(value).map_err(|_| format!("{value} frames are too many"))?;
            Ok::<_, String>(Tensor::Integer(vec![1], vec![value]))
        };
        let empty = cached.saturating_sub(frames);
        let values = (0..cached + chunk).map(|frame| i64::from(frame >= empty)).collect();
        Ok([
            (offset, integer(cached + frames)?),
            (size, integer(cached)?),
            (mask, Tensor::Integer(vec![1, 1, cached + chunk], values)),
        ])
    }
}
