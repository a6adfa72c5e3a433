//! The command in processes of its own: what it writes, what it says and how it ends.

mod feature_programs;
mod fst;
mod inputs;
mod kaldi_face;
mod kaldi_tables;
mod lattices;
mod manners;
mod people;
mod pipelines;
#[cfg(unix)]
mod recipe;
