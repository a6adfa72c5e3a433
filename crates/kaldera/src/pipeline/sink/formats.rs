//! Formats of files of features.

mod ark_scp;
pub(super) mod keys;
mod npz;
mod safetensors;

use std::path::Path;

use kaldi_matrix::SubMatrix;

pub(super) use self::ark_scp::Ark;
use self::ark_scp::ArkScp;
use self::npz::Npz;
use self::safetensors::Safetensors;
use crate::Error;
use crate::pipeline::sink::durability::partial::PartialFile;

/// A file that is being written.
#[derive(Debug)]
pub(super) enum Format {
    ArkScp(ArkScp),
    Npz(Npz),
    Safetensors(Safetensors),
}

impl Format {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        Ok(match path.extension().and_then(|ending| ending.to_str()) {
            Some("ark") => Self::ArkScp(ArkScp::create(path)?),
            Some("npz") => Self::Npz(Npz::create(path)?),
            Some("safetensors") => Self::Safetensors(Safetensors::create(path)?),
            _ => return Err(Error::UnknownFormat { path: path.to_owned() }),
        })
    }

    pub(super) fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        match self {
            Self::ArkScp(file) => file.write(key, features),
            Self::Npz(file) => file.write(key, features),
            Self::Safetensors(file) => file.write(key, features),
        }
    }

    /// The complete files, which only need their names, in the order in which they are to get
    /// them.
    pub(super) fn complete(self) -> Result<Vec<PartialFile>, Error> {
        Ok(match self {
            Self::ArkScp(file) => file.complete(),
            Self::Npz(file) => vec![file.complete()?],
            Self::Safetensors(file) => vec![file.complete()?],
        })
    }
}
