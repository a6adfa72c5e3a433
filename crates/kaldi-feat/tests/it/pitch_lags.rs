//! Pitch of 3,000 recordings of digits against Kaldi's: how many frames are on another lag.
//!
//! The recordings are those of the Free Spoken Digit Dataset. They are not part of the project:
//! `KALDERA_DATA` names the folder that has them in `fsdd/recordings`, and what Kaldi made of them
//! in `fsdd/pitch`. Without it, the test says that it was left out.
//!
//! ```text
//! KALDERA_DATA=../shared/data cargo test --release -p kaldi-feat --test it pitch_lags -- --nocapture
//! ```

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use kaldi_feat::{Audio, PitchExtractionOptions, PitchExtractor, PitchWorkspace};

/// Frames in a million that may be on another lag. Kaldi's own builds on other BLAS kernels differ
/// in 5 to 120 of a million.
const ALLOWED: usize = 200;

/// Two pitches that are not on the same lag differ by 0.5 %, `delta-pitch`.
const SAME_LAG: f32 = 1e-4;

#[test]
fn pitch_of_fsdd_is_on_kaldis_lags() {
    let Some(data) = std::env::var_os("KALDERA_DATA").filter(|data| !data.is_empty()) else {
        println!("left out: KALDERA_DATA names no folder with fsdd/recordings and fsdd/pitch");
        return;
    };
    // From the project's root, unless the path is absolute.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(data).join("fsdd");
    for (name, snip_edges) in [("snip", true), ("nosnip", false)] {
        let options = PitchExtractionOptions::default().with_sample_frequency(8000.0).with_snip_edges(snip_edges);
        let extractor = PitchExtractor::new(options).unwrap();
        let mut workspace = PitchWorkspace::default();
        let (mut recordings, mut frames, mut elsewhere, mut farthest) = (0, 0, 0, 0.0_f32);
        for (key, expected) in pitches(&folder.join(format!("pitch/{name}_float.ark.gz"))) {
            let samples = samples(&folder.join(format!("recordings/{key}.wav")));
            let found = extractor.compute_with(&mut workspace, &Audio::new(&samples[..], 8000.0)).unwrap();
            assert_eq!(found.num_rows(), expected.len(), "frames of {key}");
            for (row, &[nccf, hz]) in expected.iter().enumerate() {
                if (found[(row, 1)] - hz).abs() > SAME_LAG * hz {
                    elsewhere += 1;
                } else {
                    farthest = farthest.max((found[(row, 0)] - nccf).abs());
                }
            }
            recordings += 1;
            frames += expected.len();
        }
        let share = 100.0 * f64::from(elsewhere) / frames as f64;
        println!(
            "{name}: of {frames} frames of {recordings} recordings, {elsewhere} ({share:.4} %) are on another lag"
        );
        println!("{name}: the NCCF of the others differs by {farthest:.1e} at most");
        assert_eq!(recordings, 3000);
        assert!(elsewhere as usize * 1_000_000 <= ALLOWED * frames, "{name}: {elsewhere} of {frames} frames");
    }
}

/// The matrices of a gzipped archive of binary float matrices, with their keys.
fn pitches(path: &Path) -> Vec<(String, Vec<[f32; 2]>)> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut bytes = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    let mut pitches = Vec::new();
    while !rest.is_empty() {
        let space = rest.iter().position(|&byte| byte == b' ').expect("a key");
        let key = String::from_utf8(take(&mut rest, space).to_vec()).unwrap();
        assert_eq!(take(&mut rest, 7), b" \0BFM \x04");
        let rows = i32::from_le_bytes(take(&mut rest, 4).try_into().unwrap());
        assert_eq!(take(&mut rest, 5), [4, 2, 0, 0, 0]);
        let values = take(&mut rest, 8 * usize::try_from(rows).unwrap());
        let (floats, []) = values.as_chunks::<4>() else { panic!("whole numbers") };
        let (frames, []) = floats.as_chunks::<2>() else { panic!("whole frames") };
        pitches.push((key, frames.iter().map(|frame| frame.map(f32::from_le_bytes)).collect()));
    }
    pitches
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
    rest.split_off(..count).expect("whole matrices")
}

/// The samples of a WAV of 16 bits: what its `data` chunk has.
fn samples(path: &Path) -> Vec<i16> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut rest = &bytes[12..];
    loop {
        let name = take(&mut rest, 4);
        let size = u32::from_le_bytes(take(&mut rest, 4).try_into().unwrap()) as usize;
        let chunk = take(&mut rest, size);
        if name == b"data" {
            return chunk.as_chunks().0.iter().map(|&bytes| i16::from_le_bytes(bytes)).collect();
        }
    }
}
