//! mel_spec (pure Rust) does the job of the peers: `peer-mel-spec fbank WAV_SCP OUTPUT`.
//! It has no MFCC. Its numbers are near Kaldi's, not Kaldi's.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use mel_spec::fbank::{Fbank, FbankConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let [_, _kind, scp, output] =
        std::env::args().collect::<Vec<_>>().try_into().map_err(|_| "usage: fbank WAV_SCP OUTPUT")?;
    let fbank = Fbank::new(FbankConfig { num_mel_bins: 80, apply_cmn: false, ..FbankConfig::default() });
    let mut out = BufWriter::new(File::create(output)?);
    for line in std::fs::read_to_string(scp)?.lines() {
        let (_, path) = line.split_once(' ').ok_or("a line of the scp has no path")?;
        let samples: Vec<f32> = hound::WavReader::open(path)?
            .samples::<i16>()
            .map(|sample| sample.map(f32::from))
            .collect::<Result<_, _>>()?;
        for value in &fbank.compute(&samples) {
            out.write_all(&value.to_le_bytes())?;
        }
    }
    Ok(out.flush()?)
}
