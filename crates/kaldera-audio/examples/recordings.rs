//! Reports the format, the rate, the channels and the length of each file, or its error.
//!
//! ```text
//! cargo run -p kaldera-audio --example recordings --features symphonia,opus -- FILE...
//! ```

use std::fs::File;
use std::io::Read;

use kaldera_audio::{FORMAT_HEAD, Recording, format_name};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let mut head = vec![];
        File::open(&path)?.take(FORMAT_HEAD as u64).read_to_end(&mut head)?;
        let format = format_name(&head).unwrap_or("unknown format");
        match Recording::open(&path) {
            Ok(recording) => println!(
                "{path}: {format}, {} Hz, {} channels, {:.2} s",
                recording.samp_freq(),
                recording.num_channels(),
                recording.duration()
            ),
            // It begins with the path.
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
