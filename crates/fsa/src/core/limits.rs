//! How large a result may become.

use crate::error::{Error, Limited, Operation};

/// Limits for algorithms whose result, or whose work, can grow without bound: for each FSA of the
/// result.
///
/// `None` is the limit that the algorithm names, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Limits {
    /// The largest number of bytes for states, arcs, arc maps and the work; what needs more is
    /// refused, before it takes more.
    pub max_bytes: Option<usize>,
    /// The largest number of states; what needs more is refused.
    pub max_states: Option<usize>,
}

impl Limits {
    /// With at most this number of bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: impl Into<Option<usize>>) -> Self {
        self.max_bytes = max_bytes.into();
        self
    }

    /// With at most this number of states.
    #[must_use]
    pub fn with_max_states(mut self, max_states: impl Into<Option<usize>>) -> Self {
        self.max_states = max_states.into();
        self
    }

    /// The largest number of bytes.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        self.max_bytes.unwrap_or(usize::MAX)
    }

    /// The largest number of states.
    #[inline]
    pub(crate) fn states(self) -> usize {
        self.max_states.unwrap_or(usize::MAX)
    }

    /// With this limit of bytes, unless there is another.
    pub(crate) fn or_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes: self.max_bytes.or(Some(max_bytes)), ..self }
    }

    /// `bytes` and `states` are within the limits; the operation has made so many arcs.
    ///
    /// # Errors
    /// [`Error::Limit`].
    #[inline]
    pub(crate) fn check(self, operation: Operation, bytes: usize, states: usize, arcs: usize) -> Result<(), Error> {
        let (limited, limit, needed) = if bytes > self.bytes() {
            (Limited::Bytes, self.bytes(), bytes)
        } else if states > self.states() {
            (Limited::States, self.states(), states)
        } else {
            return Ok(());
        };
        Err(Error::Limit { operation, limited, limit, needed, states, arcs })
    }
}

/// 8 GiB, for what would otherwise take all memory.
pub(crate) fn eight_gib() -> usize {
    usize::try_from(8_u64 << 30).unwrap_or(usize::MAX)
}
