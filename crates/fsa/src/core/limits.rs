//! Limits for the size of results.

use std::fs;
use std::sync::OnceLock;

use crate::error::{Error, Limited, Operation};

/// Limits for algorithms whose result, or whose work, can grow without bound. They hold for each
/// FSA of the result.
///
/// Without a limit of bytes the limit is half of the memory, [`Limits::half_of_memory`]; without a
/// limit of states there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Limits {
    /// The largest number of bytes for states, arcs, arc maps and the work; an operation that needs
    /// more is refused, before it takes more.
    pub max_bytes: Option<usize>,
    /// The largest number of states; an operation that needs more is refused.
    pub max_states: Option<usize>,
}

impl Limits {
    /// Sets the largest number of bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: impl Into<Option<usize>>) -> Self {
        self.max_bytes = max_bytes.into();
        self
    }

    /// Sets the largest number of states.
    #[must_use]
    pub fn with_max_states(mut self, max_states: impl Into<Option<usize>>) -> Self {
        self.max_states = max_states.into();
        self
    }

    /// Returns half of the memory of the machine, or of the memory that the process may have by its
    /// control group or its limit of address space, if that is less. 4 GiB if none of these is
    /// known.
    pub fn half_of_memory() -> usize {
        static HALF: OnceLock<usize> = OnceLock::new();
        *HALF.get_or_init(|| memory().map_or(UNKNOWN, |bytes| usize::try_from(bytes / 2).unwrap_or(usize::MAX)))
    }

    /// Returns the largest number of bytes.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        self.max_bytes.unwrap_or_else(Self::half_of_memory)
    }

    /// Returns the largest number of states.
    #[inline]
    pub(crate) fn states(self) -> usize {
        self.max_states.unwrap_or(usize::MAX)
    }

    /// Checks that `bytes` and `states` are within the limits; the operation has made so many arcs.
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

/// Returns the bytes of a list that has room for `more` elements. A list without that room grows to
/// at least twice its size, which is more than it needs: limits are checked before it does.
pub(crate) fn bytes_with<T>(list: &Vec<T>, more: usize) -> usize {
    let needed = list.len().saturating_add(more);
    let capacity = match list.capacity() {
        enough if enough >= needed => enough,
        small => needed.max(small.saturating_mul(2)),
    };
    capacity.saturating_mul(size_of::<T>())
}

/// Limit if the size of memory is unknown: 4 GiB, or half of the address space.
const UNKNOWN: usize = if usize::BITS > 32 { 1 << 32 } else { usize::MAX >> 1 };

/// Returns the least of the limits of this process's memory, in bytes.
fn memory() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let number = |path: &str| read(path).trim().parse().ok();
    let groups = read("/proc/self/cgroup");
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let of_machine = field(&read("/proc/meminfo"), "MemTotal:").and_then(|kib| kib.checked_mul(1024));
    [
        of_machine,
        field(&read("/proc/self/limits"), "Max address space"),
        number(&format!("/sys/fs/cgroup{group}/memory.max")),
        number("/sys/fs/cgroup/memory.max"),
        number("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ]
    .into_iter()
    .flatten()
    .min()
}

/// Returns the number behind a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_system_are_found_or_are_no_limit() {
        assert_eq!(field("MemFree: 7 kB\nMemTotal:  16 kB\n", "MemTotal:"), Some(16));
        assert_eq!(
            field("Max address space         unlimited            unlimited  bytes\n", "Max address space"),
            None
        );
        assert_eq!(field("", "MemTotal:"), None);
    }

    #[test]
    fn lists_are_no_larger_than_was_said() {
        let mut list = Vec::new();
        for more in [0, 1, 2, 9, 1, 1, 100, 3, 7] {
            let expected = bytes_with(&list, more);
            list.extend(std::iter::repeat_n(0_u32, more));
            assert!(list.capacity() * 4 <= expected.max(16), "{} {expected}", list.capacity());
        }
    }

    #[test]
    fn the_default_limit_is_half_of_memory() {
        let half = Limits::half_of_memory();
        assert!(half > 0 && Limits::default().bytes() == half);
        assert_eq!(Limits::default().with_max_bytes(7).bytes(), 7);
        assert!(matches!(
            Limits::default().check(Operation::Composition, half + 1, 0, 0),
            Err(Error::Limit { limit, .. }) if limit == half
        ));
    }
}
