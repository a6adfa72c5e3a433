//! Utilities that are independent of FSAs: indexes, hash tables, threads.

pub(crate) mod adjacency;
pub(crate) mod ids;
pub(crate) mod interner;
pub(crate) mod pair_interner;
#[expect(unsafe_code, reason = "several threads fill one vector, whose length is set once they have")]
pub(crate) mod slots;
pub(crate) mod sweep;
pub(crate) mod symbols;
pub(crate) mod threads;
pub(crate) mod walks;
