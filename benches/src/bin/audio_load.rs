//! Recordings to samples of 16 kHz, one channel, as models take them.
//!
//! ```text
//! python3 benches/peers/load.py       runs this and asrfront in turn
//! cargo run --release -p kaldera-benches --no-default-features --features symphonia --bin audio_load -- LIST OUT
//! ```
//!
//! LIST has a key and a path in each line, as a wav.scp; OUT gets the samples, from -1 to 1, as 32-bit
//! floating point, little-endian.

use std::fs;
use std::io::Write as _;

use kaldera::Recording;

const SAMP_FREQ: f32 = 16_000.0;
const FULL_SCALE: f32 = 32_768.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [list, out] = &paths[..] else { return Err("expected LIST OUT".into()) };
    let mut out = fs::File::create(out)?;
    let mut bytes = Vec::new();
    for line in fs::read_to_string(list)?.lines() {
        let (_, path) = line.split_once(' ').ok_or("a line without a path")?;
        let recording = Recording::open(path)?.into_mono(SAMP_FREQ)?;
        bytes.clear();
        bytes.extend(recording.samples().iter().flat_map(|sample| (sample / FULL_SCALE).to_le_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}
