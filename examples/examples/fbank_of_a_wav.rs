//! Filterbank features of one WAV file, without tables and without the command.
//!
//! ```sh
//! cargo run --release -p kaldera-examples --example fbank_of_a_wav [FILE.wav]
//! ```

use std::error::Error;

use kaldera::feat::{Audio, Fbank, FbankOptions};
use kaldera::io::wave::WaveData;

fn main() -> Result<(), Box<dyn Error>> {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/audio/hello.wav");
    let path = std::env::args().nth(1).unwrap_or_else(|| shipped.to_owned());
    let wave = WaveData::open(&path)?;

    // Kaldi's defaults, but for these. An extractor is planned once and may be shared by any number
    // of threads.
    let mut options = FbankOptions::default();
    options.frame.samp_freq = wave.samp_freq;
    options.mel.num_bins = 40;
    let fbank = Fbank::new(options)?;

    let samples = wave.channel(0);
    let features = fbank.compute(&Audio::new(&samples, wave.samp_freq))?;

    let (frames, dim) = (features.num_rows(), features.num_cols());
    println!("{path}: {:.2} s, {frames} frames of {dim} log energies", wave.duration());
    for frame in 0..frames.min(5) {
        let row = features.row(frame);
        let first: Vec<String> = row.data().iter().take(8).map(|value| format!("{value:7.3}")).collect();
        println!("  frame {frame}: {} ...", first.join(" "));
    }
    Ok(())
}
