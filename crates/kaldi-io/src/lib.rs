//! Kaldi's tables (`ark`, `scp`), its files and pipes, and WAV.
//!
//! A table is a sequence of keys, usually names of utterances, each with an object: a matrix of
//! features, a recording, a word. Programs name tables in one line of text, so that the same
//! program reads a file, a part of an archive or the output of another program. An archive has a
//! simple format, and a script file gives the locations of objects:
//!
//! ```text
//! feats.ark                                                  feats.scp
//! ┌──────┬───┬──────────────────────────┬──────┬───┬─────    ┌──────────────────────────┐
//! │ utt1 │ ␣ │ \0B FM␣ rows cols floats │ utt2 │ ␣ │ \0B…    │ utt1 feats.ark:5         │
//! └──────┴───┴──────────────────────────┴──────┴───┴─────    │ utt2 feats.ark:6421      │
//!              ↑ byte 5                          ↑ 6421      └──────────────────────────┘
//! ```
//!
//! Text objects have no `\0B` and end with their line; both kinds may be mixed. Every kind of
//! object is a [`Holder`].
//!
//! ```
//! use kaldi_io::{Matrix, RandomAccessReader, SequentialReader, TableWriter};
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
//! Paths and methods can replace specifiers:
//!
//! - `ark:FILE`, `scp:FILE`:
//!   [`SequentialReader::from_archive`](table::SequentialReader::from_archive),
//!   [`from_script`](table::SequentialReader::from_script), likewise for [`RandomAccessReader`].
//! - Options `p`, `bg`: [`.permissive()`](table::SequentialReader::permissive),
//!   [`.in_background()`](table::SequentialReader::in_background).
//! - Options `s`, `cs`, `o`: [`.sorted()`](table::RandomAccessReader::sorted),
//!   [`.called_sorted()`](table::RandomAccessReader::called_sorted),
//!   [`.once()`](table::RandomAccessReader::once).
//! - `ark:FILE`, `ark,scp:FILE,FILE` to write:
//!   [`TableWriter::to_archive`](table::TableWriter::to_archive),
//!   [`to_archive_and_script`](table::TableWriter::to_archive_and_script).
//! - Options `t`, `nf`: [`.text()`](table::TableWriter::text),
//!   [`.unflushed()`](table::TableWriter::unflushed).
//!
//! Without a specifier there are also:
//!
//! - some keys of a table: [`.only()`](table::SequentialReader::only);
//! - any `BufRead` or `Write`: [`Input::from_reader`](rxfilename::Input::from_reader),
//!   [`Output::from_writer`](wxfilename::Output::from_writer);
//! - an archive that is mapped into memory: [`IndexedArchive`].
//!
//! # Objects
//!
//! - `Matrix<f32>`, `Vector<f32>`, and of `f64`: Kaldi's `Matrix`, `Vector`. Either precision and
//!   compressed ones are read, and converted.
//! - `CompressedMatrix`, `GeneralMatrix`: as they are, byte for byte. A general one has the kind of
//!   the file.
//! - `SpMatrix`, `TpMatrix`, `SparseMatrix`, `SparseVector`: the same.
//! - [`MatrixHeader`]: the shape of a matrix of any kind, without its elements.
//! - `i32` and the other integers, `f32`, `f64`, `bool`: `BasicHolder`.
//! - `Vec<i32>`, `Vec<Vec<i32>>`, `Vec<(i32, i32)>`, and of the others: `BasicVectorHolder`,
//!   `BasicVectorVectorHolder`, `BasicPairVectorHolder`.
//! - `Vec<Vec<(i32, f32)>>`: `PosteriorHolder`.
//! - `String`, `Vec<String>`: `TokenHolder`, `TokenVectorHolder`.
//! - [`WaveData`], [`WaveInfo`]: `WaveHolder`, `WaveInfoHolder`.
//! - [`HtkMatrix`], [`SphinxMatrix`]: `HtkMatrixHolder`, `SphinxMatrixHolder`.
//! - [`lattice::CompactLattice`], [`lattice::Lattice`]: `CompactLattice`, `Lattice` (feature
//!   `lattice`).
//! - [`IntegerVector`]: the vectors of `ReadIntegerVector`, for files of their own.
//!
//! # Specifiers
//!
//! To read:
//!
//! - `ark:FILE`: an archive.
//! - `scp:FILE`: a script file, with lines of `key FILE`. FILE may be `a.ark:123` or a command, and
//!   may end with a range `[0:9]` or `[0:9,2:5]` (rows, columns; last one included).
//! - Option `p`: leave out objects that cannot be read, with a warning; in an archive, also all
//!   objects after them. A wrong range is always an error.
//! - Options `s`, `cs`, for random access: the keys are sorted; they are requested in sorted order.
//!   Together they keep one object in memory.
//! - Option `o`, for random access: each key is requested once.
//! - Option `bg`, for one pass: read ahead in another thread.
//!
//! To write:
//!
//! - `ark:FILE`: an archive.
//! - `ark,scp:FILE,FILE`: an archive and a script file that points into it.
//! - `scp:FILE`: each object into the file of its key in the script file, which must exist.
//! - Options `t`, `b`: text; binary (the default).
//! - Options `nf`, `f`: flush when the buffer is full; after each object (the default).
//! - Option `p`: with `scp:`, leave out keys that are not in the script file.
//!
//! FILE is a path, `-` for standard input or output, or a command: `gunzip -c a.gz |` to read, `|
//! gzip -c > a.gz` to write.
//!
//! # Design
//!
//! - This crate does not know the meaning of a matrix. The bytes of a matrix are in `kaldi-matrix`,
//!   lattices in `fsa`, and the archives of lattices here (feature `lattice`).
//! - The 44 bytes of a WAV header are written here and not by hound: archives are streams, and
//!   hound must seek. Tests check the result with hound.
//! - A mapped archive gives several threads random access to archives that are larger than memory.
//!
//! # Coming from Kaldi
//!
//! - `SequentialTableReader<H>`: [`table::SequentialReader`], an iterator. Its last item is an
//!   error if Kaldi would throw.
//! - `RandomAccessTableReader<H>`, `...Mapped<H>`: [`table::RandomAccessReader`],
//!   [`table::MappedReader`].
//! - `TableWriter<H>`: [`table::TableWriter`].
//! - `KaldiObjectHolder<T>`, `BasicHolder<T>`, `TokenHolder`, `WaveHolder`, ...: [`Holder`],
//!   implemented for the objects themselves.
//! - `Input`, `Output`: [`rxfilename::Input`], [`wxfilename::Output`].
//! - `segments` files, which each program of Kaldi reads for itself: [`segments::Segments`].
//! - `ReadKaldiObject`, `WriteKaldiObject`: [`read_object`], [`write_object`].
//! - `WaveData`, `WaveInfo`: [`wave::WaveData`], [`wave::WaveInfo`].
//!
//! Two differences are intended. Damage in an archive that is read by key is an error when it is
//! reached, not when the reader is closed. `ark,scp` into a pipe is refused when it is opened, not
//! at the first object.
//!
//! # Limitations
//!
//! Archives are made for one pass and for other Kaldi programs. For columns, random access to parts
//! of large matrices or other people's tools, use a format with an index, such as `.npz` or
//! safetensors. [`WaveData`] reads WAV as Kaldi does, only 16-bit PCM. The crate `kaldera-audio`
//! reads the other widths, and AIFF, AU, CAF, Wave64, NIST SPHERE and compressed formats.
//!
//! # Damaged input
//!
//! Byte order marks and carriage returns, which editors on Windows leave in texts, are not part of
//! keys and words. Invalid input gives an error: no panic, and no allocation out of proportion to
//! the bytes of the file. Fuzz tests (`tests/it/fuzz.rs`) check that. The only unsafe code is the
//! call that maps a file into memory; the caller is responsible for it: see
//! [`IndexedArchive::map`](table::IndexedArchive::map).
#![deny(unsafe_code)]

mod error;
mod holders;
#[cfg(feature = "lattice")]
pub mod lattice;
pub mod lines;
mod object;
pub mod overwrite;
mod range;
pub mod rxfilename;
pub mod segments;
pub mod specifier;
pub mod table;
pub mod transition_model;
pub mod wave;
pub mod wxfilename;

pub use error::Error;
pub use holders::{Basic, Holder, HtkMatrix, IntegerVector, SphinxMatrix, is_token};
pub use kaldi_matrix::codec::{CodecError, MatrixHeader, MatrixStorage};
pub use kaldi_matrix::{
    CompressedMatrix, CompressionMethod, GeneralMatrix, Matrix, Real, SpMatrix, SparseMatrix, SparseVector, SubMatrix,
    SubVector, TpMatrix, Vector,
};
pub use object::{read_object, write_object};
pub use segments::{Segment, Segments};
pub use table::{IndexedArchive, MappedReader, RandomAccessReader, SequentialReader, TableWriter};
pub use wave::{WaveData, WaveError, WaveInfo};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Types that threads may share, and types that they may pass on.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    const fn is_send<T: Send>() {}
    is_send_and_sync::<WaveData>();
    is_send_and_sync::<WaveInfo>();
    is_send_and_sync::<IndexedArchive<Matrix<f32>>>();
    is_send_and_sync::<specifier::Rspecifier>();
    is_send_and_sync::<specifier::Wspecifier>();
    is_send_and_sync::<Error>();
    is_send::<SequentialReader<Matrix<f32>>>();
    is_send::<RandomAccessReader<Matrix<f32>>>();
    is_send::<MappedReader<f32>>();
    is_send::<TableWriter<Matrix<f32>>>();
    is_send::<Segments>();
    is_send::<rxfilename::Input>();
    is_send::<wxfilename::Output>();
};
