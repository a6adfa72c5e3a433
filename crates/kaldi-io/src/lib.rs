//! Kaldi's tables (`ark`, `scp`), its files and pipes, and WAV.
//!
//! A table is a sequence of keys, usually names of utterances, each with an object: a matrix of features, a recording, a word.
//! Programs name tables in one line of text, so that the same program reads a file, a part of an archive or the output of
//! another program. An archive is as simple as it can be, and a script file says where objects are:
//!
//! ```text
//! feats.ark                                                  feats.scp
//! ┌──────┬───┬──────────────────────────┬──────┬───┬─────    ┌──────────────────────────┐
//! │ utt1 │ ␣ │ \0B FM␣ rows cols floats │ utt2 │ ␣ │ \0B…    │ utt1 feats.ark:5         │
//! └──────┴───┴──────────────────────────┴──────┴───┴─────    │ utt2 feats.ark:6421      │
//!              ↑ byte 5                          ↑ 6421      └──────────────────────────┘
//! ```
//!
//! Text objects have no `\0B` and end with their line; both kinds may be mixed. Every kind of object is a [`Holder`].
//!
//! ```
//! use kaldi_io::table::{RandomAccessReader, SequentialReader, TableWriter};
//! use kaldi_matrix::Matrix;
//!
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! let mut writer = TableWriter::open("ark,scp:feats.ark,feats.scp")?;
//! writer.write("utt1", &Matrix::<f32>::zeros(100, 80))?;
//! writer.write("utt2", &Matrix::<f32>::zeros(200, 80))?;
//! writer.close()?;
//!
//! for entry in SequentialReader::<Matrix<f32>>::open("ark:cat feats.ark |")? {
//!     let (key, feats) = entry?;
//!     println!("{key}: {} frames", feats.num_rows());
//! }
//! let mut feats = RandomAccessReader::<Matrix<f32>>::open("scp:feats.scp")?;
//! assert_eq!(feats.value("utt2")?.num_rows(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Specifiers
//!
//! | to read | means |
//! |---|---|
//! | `ark:FILE` | an archive |
//! | `scp:FILE` | a script file: lines of `key FILE`, where FILE may be `a.ark:123`, a command, and end with a range `[0:9]` or `[0:9,2:5]` (rows, columns; last one included) |
//! | option `p` | leave out what cannot be read, with a warning; of an archive, all that follows. A wrong range is always an error |
//! | options `s`, `cs` | random access: the keys are sorted; they are asked for in sorted order. Together they keep one object in memory |
//! | option `o` | random access: each key is asked for once |
//! | option `bg` | one pass: read ahead in another thread |
//!
//! | to write | means |
//! |---|---|
//! | `ark:FILE` | an archive |
//! | `ark,scp:FILE,FILE` | an archive and a script file that points into it |
//! | `scp:FILE` | each object into the file that the script file, which exists, names for its key |
//! | options `t`, `b` | text; binary (without either) |
//! | options `nf`, `f` | write when the buffer is full; after each object (without either) |
//! | option `p` | with `scp:`, leave out keys that the script file does not have |
//!
//! FILE is a path, `-` for standard input or output, or a command: `gunzip -c a.gz |` to read, `| gzip -c > a.gz` to write.
//!
//! # Coming from Kaldi
//!
//! | Kaldi | here |
//! |---|---|
//! | `SequentialTableReader<H>` | [`table::SequentialReader`], an iterator; where Kaldi throws, its last item is an error |
//! | `RandomAccessTableReader<H>`, `...Mapped<H>` | [`table::RandomAccessReader`], [`table::MappedReader`] |
//! | `TableWriter<H>` | [`table::TableWriter`] |
//! | `KaldiObjectHolder<T>`, `BasicHolder<T>`, `TokenHolder`, `WaveHolder`, ... | [`Holder`], implemented for the objects themselves |
//! | `Input`, `Output` | [`rxfilename::Input`], [`wxfilename::Output`] |
//! | `ReadKaldiObject`, `WriteKaldiObject` | [`read_object`], [`write_object`] |
//! | `WaveData`, `WaveInfo` | [`wave::WaveData`], [`wave::WaveInfo`] |
//!
//! Two differences are meant. A damaged archive that is read by key is an error when the damage is met, not when the reader is
//! closed. `ark,scp` into a pipe is refused when it is opened, not at the first object.
//!
//! # When not to use this
//!
//! Archives are made for one pass and for other Kaldi programs. For columns, random access to parts of large matrices or other
//! people's tools take a format with an index, such as `.npz` or safetensors. WAV is read as Kaldi reads it, 16-bit PCM and
//! nothing else; the `hound` and `symphonia` crates know more.
#![deny(unsafe_code)]

mod error;
mod holders;
mod object;
mod range;
pub mod rxfilename;
pub mod segments;
pub mod specifier;
pub mod table;
pub mod wave;
pub mod wxfilename;

pub use error::Error;
pub use holders::{Basic, Holder, HtkMatrix, IntegerVector, SphinxMatrix, is_token};
pub use object::{read_object, write_object};
