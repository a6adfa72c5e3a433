//! `feat-to-dim`, `feat-to-len` and `matrix-dim`: the sizes of matrices. Elements are skipped if
//! the file permits it.

use std::process::ExitCode;

use kaldera::io::read_object;
use kaldera::io::specifier::{Rspecifier, Wspecifier};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::wxfilename::Output;
use kaldera::matrix::codec::MatrixHeader;
use tracing::warn;

use crate::kaldi::driver::{map_between, map_table};
use crate::kaldi::{Failure, NoOptions};
use crate::{Call, Tool};

pub(super) const FEAT_TO_DIM: Tool = Tool { name: "feat-to-dim", about: "The dimension of features", run: feat_to_dim };
pub(super) const FEAT_TO_LEN: Tool =
    Tool { name: "feat-to-len", about: "Number of frames of each utterance, or in total", run: feat_to_len };
pub(super) const MATRIX_DIM: Tool = Tool { name: "matrix-dim", about: "Rows and columns of matrices", run: matrix_dim };

const FEAT_TO_DIM_USAGE: &str = "Writes the dimension of features: of each utterance to a table, or of the first one.
Usage: feat-to-dim [options] <feats-rspecifier> <dim-wspecifier>
   or: feat-to-dim [options] <feats-rspecifier> <dim-wxfilename>
For example: feat-to-dim scp:feats.scp -";

const FEAT_TO_LEN_USAGE: &str = "Writes the number of frames of each utterance into a table, or shows their sum.
Usage: feat-to-len [options] <feats-rspecifier> [<length-wspecifier>]
For example: feat-to-len scp:feats.scp ark,t:utt2num_frames";

const MATRIX_DIM_USAGE: &str =
    "Prints the numbers of rows and columns, separated by a tab: of each matrix in a table, after its key, or of one matrix.
Usage: matrix-dim [options] <matrix-rspecifier>
   or: matrix-dim [options] <matrix-rxfilename>
For example: matrix-dim final.mat";

fn feat_to_dim(call: Call<'_>) -> ExitCode {
    super::run(FEAT_TO_DIM.name, FEAT_TO_DIM_USAGE, call, NoOptions, |NoOptions, [features, dims]| {
        if Wspecifier::parse(&dims).is_ok() {
            map_table(&features, &dims, |_key, header: MatrixHeader| Ok(Some(i32::try_from(header.cols)?)))?;
            return Ok(true);
        }
        let Some(first) = SequentialReader::<MatrixHeader>::open(&features)?.next() else {
            return Err(Failure::Empty { file: features });
        };
        let (_, header) = first?;
        write_text(&dims, &format!("{}\n", header.cols))?;
        Ok(true)
    })
}

fn feat_to_len(call: Call<'_>) -> ExitCode {
    super::run_any(FEAT_TO_LEN.name, FEAT_TO_LEN_USAGE, call, NoOptions, 1..=2, |NoOptions, plain| {
        if let [features, lengths] = &plain[..] {
            let writer = TableWriter::open(lengths)?;
            let reader = SequentialReader::open(features)?;
            map_between(reader, writer, |_key, header: MatrixHeader| Ok(Some(i32::try_from(header.rows)?)))?;
        } else {
            let headers = SequentialReader::<MatrixHeader>::open(&plain[0])?;
            let total = headers.map(|entry| entry.map(|(_, header)| header.rows as u64)).sum::<Result<u64, _>>()?;
            write_text("-", &format!("{total}\n"))?;
        }
        Ok(true)
    })
}

fn matrix_dim(call: Call<'_>) -> ExitCode {
    super::run(MATRIX_DIM.name, MATRIX_DIM_USAGE, call, NoOptions, |NoOptions, [input]| {
        if Rspecifier::parse(&input).is_err() {
            let header: MatrixHeader = read_object(&input)?;
            write_text("-", &format!("{}\t{}\n", header.rows, header.cols))?;
            return Ok(true);
        }
        let mut out = Output::create("-")?;
        let mut found = false;
        for entry in SequentialReader::<MatrixHeader>::open(&input)? {
            let (key, header) = entry?;
            out.put(format!("{key}\t{}\t{}\n", header.rows, header.cols).as_bytes())?;
            found = true;
        }
        out.close()?;
        if !found {
            warn!("there is no matrix in {input}");
        }
        Ok(found)
    })
}

fn write_text(wxfilename: &str, text: &str) -> Result<(), Failure> {
    let mut out = Output::create(wxfilename)?;
    out.put(text.as_bytes())?;
    Ok(out.close()?)
}
