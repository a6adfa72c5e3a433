//! OpenFst's algorithms: `openfst/openfst.json`.
//!
//! `operations` returns the points in which the result of a case differs. Reading is in `text`, the
//! rules of the README in `compare`; a transducer becomes an FSA with one final state, and is
//! counted as OpenFst counts.

mod compare;
mod operations;
mod text;

pub(crate) use operations::run;
