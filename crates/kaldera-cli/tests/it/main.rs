//! The command in processes of its own: what it writes, what it says and how it ends.

mod bench;
mod decoders;
#[cfg(unix)]
mod faults;
mod feature_programs;
mod fst;
mod fst_graphs;
mod fst_tables;
mod inputs;
mod ivectors;
mod kaldi_programs;
mod kaldi_tables;
mod lattices;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(feature = "digits")]
mod live_digits;
mod lm;
mod manifests;
mod manners;
mod native;
mod nnet3;
mod onnx;
#[cfg(unix)]
mod outputs;
mod pipelines;
mod realset;
#[cfg(unix)]
mod recipe;
mod recognition;
mod rescoring;
mod vosk_folders;
#[cfg(feature = "digits")]
mod word_times;
mod words_of_models;

#[path = "../../../kaldera/tests/it/online_folder.rs"]
mod online_folder;
