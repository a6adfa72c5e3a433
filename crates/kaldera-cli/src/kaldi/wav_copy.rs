//! `wav-copy`: recordings between tables, or from one file to another.

use std::process::ExitCode;

use kaldera::io::specifier::{Rspecifier, Wspecifier};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::wave::WaveData;
use kaldera::io::{read_object, write_object};

use crate::kaldi::{Failure, NoOptions};
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "wav-copy", about: "Copy recordings between tables or files", run };

const USAGE: &str = "Copies recordings: a table of them, or a single one.
Usage: wav-copy [options] <wav-rspecifier> <wav-wspecifier>
   or: wav-copy [options] <wav-rxfilename> <wav-wxfilename>
For example: wav-copy scp:wav.scp ark:wav.ark";

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, NoOptions, |NoOptions, [input, output]| {
        match (Rspecifier::parse(&input), Wspecifier::parse(&output)) {
            (Ok(_), Ok(_)) => copy_table(&input, &output),
            (Err(_), Err(_)) => copy_file(&input, &output),
            _ => Err(Failure::Mixed { input, output }),
        }
    })
}

fn copy_table(rspecifier: &str, wspecifier: &str) -> Result<bool, Failure> {
    let reader = SequentialReader::<WaveData>::open(rspecifier)?;
    let mut writer = TableWriter::open(wspecifier)?;
    let mut copied = 0_u64;
    for entry in reader {
        let (key, wave) = entry?;
        writer.write(&key, &wave)?;
        copied += 1;
    }
    writer.close()?;
    tracing::info!("{copied} recordings copied");
    Ok(copied > 0)
}

fn copy_file(rxfilename: &str, wxfilename: &str) -> Result<bool, Failure> {
    write_object(wxfilename, &read_object::<WaveData>(rxfilename)?, true)?;
    Ok(true)
}
