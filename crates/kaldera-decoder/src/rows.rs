//! Checked rows of an utterance.

use crate::error::Error;

/// The rows of an utterance, one per frame. Every error has the name of the utterance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) utterance: &'a str,
    pub(crate) values: &'a [f32],
    pub(crate) width: usize,
}

impl<'a> Rows<'a> {
    /// Creates rows of `width` values each. Each value must satisfy `is_allowed`.
    ///
    /// # Errors
    /// [`Error::NoTokens`], [`Error::Rows`], [`Error::Value`].
    pub(crate) fn new(
        utterance: &'a str,
        values: &'a [f32],
        width: usize,
        is_allowed: impl Fn(f32) -> bool,
    ) -> Result<Self, Error> {
        if width == 0 {
            return Err(Error::NoTokens { utterance: utterance.into() });
        }
        if !values.len().is_multiple_of(width) {
            return Err(Error::Rows { utterance: utterance.into(), values: values.len(), num_tokens: width });
        }
        if let Some(at) = values.iter().position(|&value| !is_allowed(value)) {
            let (frame, token) = (at / width, at % width);
            return Err(Error::Value { utterance: utterance.into(), frame, token, value: values[at] });
        }
        Ok(Self { utterance, values, width })
    }

    pub(crate) fn num_frames(&self) -> usize {
        self.values.len() / self.width
    }

    pub(crate) fn frames(&self) -> std::slice::ChunksExact<'a, f32> {
        self.values.chunks_exact(self.width)
    }

    pub(crate) fn frame(&self, frame: usize) -> &'a [f32] {
        &self.values[frame * self.width..][..self.width]
    }
}
