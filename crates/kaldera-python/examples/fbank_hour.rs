//! What `bench.py` measures from Python, of the library alone: fbank-80 of an hour in memory.

use std::time::Instant;

use kaldi_feat::{Audio, Fbank, FbankOptions};

fn main() -> Result<(), kaldi_feat::Error> {
    let samples: Vec<i16> = (0..3600 * 16_000_i32).map(|i| ((i * 7919) % 4001 - 2000) as i16).collect();
    let fbank = Fbank::new(FbankOptions::default().with_num_mel_bins(80).with_dither(0.0))?;
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let began = Instant::now();
        let features = fbank.compute(&Audio::new(&samples, 16_000.0))?;
        assert_eq!(features.num_cols(), 80);
        best = best.min(began.elapsed().as_secs_f64());
    }
    println!("fbank-80 of an hour, the library: {best:.3} s, best of 7");
    Ok(())
}
