//! Several utterances of different lengths as one batch: the frames lie one after the other,
//! nothing is padded, and the row splits say where each utterance begins.
//!
//! ```sh
//! cargo run --release -p kaldera-examples --example batch_to_row_splits
//! ```

use std::error::Error;

use kaldera::feat::{Audio, Mfcc, MfccOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mfcc = Mfcc::new(MfccOptions::default())?;

    let tones = [("low", 220.0, 8_000), ("middle", 440.0, 16_000), ("high", 880.0, 4_000)];
    let signals = tones.map(|(_, hertz, num_samples)| tone(hertz, num_samples));
    let batch: Vec<Audio> = signals.iter().map(|signal| Audio::new(signal, 16_000.0)).collect();

    let features = mfcc.compute_batch(&batch)?;
    println!("values: {} x {}", features.values.num_rows(), features.values.num_cols());
    println!("row splits: {:?}", features.row_splits);
    for ((name, ..), ends) in tones.iter().zip(features.row_splits.windows(2)) {
        println!("  {name:<6} frames {:>3} to {:>3}", ends[0], ends[1]);
    }
    Ok(())
}

/// A sine of `hertz` at 16 kHz; half of full scale of 16-bit samples, as Kaldi counts.
fn tone(hertz: f32, num_samples: u16) -> Vec<f32> {
    let step = std::f32::consts::TAU * hertz / 16_000.0;
    (0..num_samples).map(|time| 16_384.0 * (step * f32::from(time)).sin()).collect()
}
