//! Writes the model and the recording into a folder: `cargo run --example write_model -- FOLDER`.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("the folder is missing")?;
    kaldera_digits::write_model(Path::new(&folder))?;
    println!("try: kaldera transcribe {folder} {folder}/digits.wav ({})", kaldera_digits::TRANSCRIPT);
    Ok(())
}
