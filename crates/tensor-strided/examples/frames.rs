//! Audio cut into overlapping frames without copying a sample, windowed, and written as a `.npy`
//! file that NumPy reads.
//!
//! `cargo run -p tensor-strided --example frames`

use std::f64::consts::TAU;

use tensor_strided::{Error, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A second of a tone of 440 Hz at 16 kHz.
    let samples: Tensor<f64> = (0..16_000).map(|i| (TAU * 440.0 * f64::from(i) / 16_000.0).sin()).collect();

    // Frames of 25 ms, one every 10 ms: another layout of the same memory.
    let frames = samples.windows(0, 400, 160)?;
    println!("frames: shape {}, strides {}", frames.shape(), frames.strides());

    // Python's slices: every tenth frame, last one first, and the first 5 samples of each.
    let few = frames.slice("::-10, :5")?;
    println!("some samples:\n{few:.3}");

    let window: Tensor<f64> = (0..400).map(|i| 0.5 - 0.5 * (TAU * f64::from(i) / 399.0).cos()).collect();
    let windowed = frames.zip_map(&window.view(), |x, w| x * w)?;
    let energies: Vec<f64> = windowed.view().lanes(1)?.map(|frame| frame.iter().map(|x| x * x).sum()).collect();
    println!("energy of frame 0: {:.2}, of frame 50: {:.2}", energies[0], energies[50]);

    let path = std::env::temp_dir().join("frames.npy");
    windowed.save_npy(&path)?;
    assert_eq!(Tensor::load_npy(&path)?, windowed);
    println!("written to {}", path.display());

    // What does not fit is an error with its numbers, not a panic.
    let refused: Result<_, Error> = samples.reshape([3, -1]);
    println!("refused: {}", refused.unwrap_err());
    Ok(())
}
