//! Kaldi's archive and its index.

use std::io::Write;
use std::path::{Path, PathBuf};

use kaldi_matrix::SubMatrix;
use kaldi_matrix::codec::{self, KaldiWrite};

use super::FeatureSink;
use super::partial::Partial;
use crate::Error;

/// `x.ark` in binary form, and `x.scp` with a line `KEY x.ark:OFFSET` for each matrix.
#[derive(Debug)]
pub(super) struct ArkScp {
    ark: Partial,
    scp: Partial,
    ark_bytes: u64,
}

impl ArkScp {
    pub(super) fn create(ark: &Path) -> Result<Self, Error> {
        Ok(Self { ark: Partial::create(ark)?, scp: Partial::create(&ark.with_extension("scp"))?, ark_bytes: 0 })
    }

    /// The index comes last, so that it never names an archive that is not there.
    pub(super) fn finish(mut self) -> Result<Vec<PathBuf>, Error> {
        self.scp.flush().map_err(|source| self.scp.error(source))?;
        let ark = self.ark.finish()?;
        let scp = self.scp.finish().inspect_err(|_| {
            // The error of the index is the one to report.
            let _ = std::fs::remove_file(&ark);
        })?;
        Ok(vec![ark, scp])
    }
}

impl FeatureSink for ArkScp {
    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        let mut counted = Counted { inner: &mut self.ark, bytes: self.ark_bytes };
        let mut write_ark = || {
            write!(counted, "{key} ")?;
            let matrix_at = counted.bytes;
            codec::write_header(&mut counted, true)?;
            features.write_body(&mut counted, true)?;
            Ok((matrix_at, counted.bytes))
        };
        let (matrix_at, end) = write_ark().map_err(|source| self.ark.error(source))?;
        self.ark_bytes = end;

        let ark_name = self.ark.path().as_os_str().as_encoded_bytes();
        let mut write_scp = || {
            write!(self.scp, "{key} ")?;
            self.scp.write_all(ark_name)?;
            writeln!(self.scp, ":{matrix_at}")
        };
        write_scp().map_err(|source| self.scp.error(source))
    }
}

/// Counts what passes.
struct Counted<'a> {
    inner: &'a mut Partial,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
