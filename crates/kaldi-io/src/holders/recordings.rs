//! WAV files and their headers.

use crate::holders::*;
use crate::wave::{WaveData, WaveError, WaveInfo};

/// A RIFF file without `\0B`.
impl Holder for WaveData {
    const WHAT: &'static str = "recordings";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(WaveData::read(reader)?)
    }

    fn skip_in_archive(reader: &mut dyn Skip) -> Result<(), Error> {
        <WaveInfo as Holder>::read_in_archive(reader).map(drop)
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        if !binary {
            return Err(Error::Unwritable { what: Self::WHAT, how: "as text: leave the option 't' out" });
        }
        WaveData::write(self, writer).map_err(|error| match error {
            WaveError::Write(source) => Error::Stream { source },
            other => Error::Wave(other),
        })
    }
}

/// Only the header; in an archive the samples are skipped.
impl Holder for WaveInfo {
    const WHAT: &'static str = "headers of recordings";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(WaveInfo::read(reader)?)
    }

    fn read_in_archive(reader: &mut dyn Skip) -> Result<Self, Error> {
        let info = WaveInfo::read(&mut *reader)?;
        info.skip_data(reader)?;
        Ok(info)
    }

    fn write(&self, _writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        Err(Error::Unwritable { what: Self::WHAT, how: "without their samples" })
    }
}
