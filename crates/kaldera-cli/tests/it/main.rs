//! The command in processes of its own: what it writes, what it says and how it ends.

mod feature_programs;
mod fst;
mod fst_graphs;
mod fst_tables;
mod inputs;
mod kaldi_face;
mod kaldi_tables;
mod manners;
mod people;
mod pipelines;
#[cfg(unix)]
mod recipe;
