//! Shows a table of features in the terminal: the first numbers of each matrix, and all of it as a picture.
//!
//! ```sh
//! cargo run --release --bin show_features -- scp:feats.scp
//! ```

use std::error::Error;

use kaldera::io::table::SequentialReader;
use kaldera::matrix::Matrix;

/// From little to much.
const SHADES: &[u8] = b" .:-=+*#%@";
const WIDTH: usize = 100;
const HEIGHT: usize = 24;

fn main() -> Result<(), Box<dyn Error>> {
    let rspecifier = std::env::args().nth(1).ok_or("usage: show_features RSPECIFIER, for example scp:feats.scp")?;
    for entry in SequentialReader::<Matrix<f32>>::open(&rspecifier)? {
        let (key, features) = entry?;
        println!("{key}: {} frames x {}", features.num_rows(), features.num_cols());
        print_numbers(&features);
        print_picture(&features);
    }
    Ok(())
}

/// The first eight columns of the first four frames.
fn print_numbers(features: &Matrix<f32>) {
    for frame in 0..features.num_rows().min(4) {
        let row = features.row(frame);
        let numbers: Vec<String> = row.data().iter().take(8).map(|value| format!("{value:8.3}")).collect();
        println!("  frame {frame}: {} ...", numbers.join(" "));
    }
}

/// Time goes to the right, the first column is at the bottom; each character is the mean over a block of the matrix.
fn print_picture(features: &Matrix<f32>) {
    let (frames, dim) = (features.num_rows(), features.num_cols());
    let (across, up) = (frames.div_ceil(WIDTH).max(1), dim.div_ceil(HEIGHT).max(1));
    let lines: Vec<Vec<f32>> = (0..dim)
        .step_by(up)
        .map(|col| (0..frames).step_by(across).map(|row| block_mean(features, row, across, col, up)).collect())
        .collect();
    let (least, most) =
        lines.iter().flatten().fold((f32::MAX, f32::MIN), |(least, most), &mean| (least.min(mean), most.max(mean)));
    let step = (most - least) / SHADES.len() as f32;
    for line in lines.iter().rev() {
        let shade = |&mean: &f32| char::from(SHADES[(((mean - least) / step) as usize).min(SHADES.len() - 1)]);
        println!("  |{}", line.iter().map(shade).collect::<String>().trim_end());
    }
    println!("  +{}> time, {across} frames a character", "-".repeat(frames.div_ceil(across)));
}

/// The mean of the block of `height` frames from `row` and `width` columns from `col`, as far as the matrix goes.
fn block_mean(features: &Matrix<f32>, row: usize, height: usize, col: usize, width: usize) -> f32 {
    let rows = row..(row + height).min(features.num_rows());
    let cols = col..(col + width).min(features.num_cols());
    let count = rows.len() * cols.len();
    let sum: f32 = rows.map(|row| features.row(row).data()[cols.clone()].iter().sum::<f32>()).sum();
    sum / count as f32
}
