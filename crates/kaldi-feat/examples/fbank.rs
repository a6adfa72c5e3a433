//! Filterbank features of stereo samples in memory: of the whole signal, and in chunks as a
//! microphone gives them.
//!
//! ```sh
//! cargo run --release -p kaldi-feat --example fbank
//! ```

use std::sync::Arc;

use kaldi_feat::{Audio, Error, Fbank, FbankOptions, FeatureStream, Interleaved};

const RATE: f32 = 16_000.0;

fn main() -> Result<(), Error> {
    // Two seconds of stereo: a tone that rises on the left, silence on the right. Samples are on
    // the scale of 16-bit integers.
    let left = |i: u16| (8000.0 * (f32::from(i) * f32::from(i) * 1e-5).sin()) as i16;
    let interleaved: Vec<i16> = (0..32_000).flat_map(|i| [left(i), 0]).collect();
    let mono = Interleaved::new(&interleaved, 2)?.mean();

    // Kaldi's defaults, but for these. An extractor is planned once and shared by any number of
    // threads and streams.
    let options = FbankOptions::default().with_num_mel_bins(40).with_dither(0.0);
    let fbank = Arc::new(Fbank::new(options)?);
    let features = fbank.compute(&Audio::new(&mono, RATE))?;
    println!("{} frames of {} log energies", features.num_rows(), features.num_cols());
    for (frame, row) in features.rows().enumerate().step_by(40) {
        let (bin, energy) = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).expect("40 bins");
        println!("  frame {frame:3}: the loudest filter is {bin:2} with {energy:.2}");
    }

    // The same in chunks of 100 ms: the same bits.
    let (mut stream, mut rows) = (FeatureStream::new(fbank), Vec::new());
    for chunk in mono.chunks(1600) {
        stream.accept(chunk)?;
        let new = stream.take_rows(&mut rows);
        print!("{new} ");
    }
    stream.finish();
    stream.take_rows(&mut rows);
    println!("frames with each chunk; bits as before: {}", rows == features.data());
    Ok(())
}
