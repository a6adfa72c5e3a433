//! Prints the key and the shape of each matrix of a table, whatever kind it is of, without loading
//! the elements.
//!
//! ```sh
//! cargo run --release -p kaldi-io --example shapes -- scp:feats.scp
//! ```
//!
//! Without an argument it makes a small archive first.

use std::error::Error;

use kaldi_io::{
    CompressedMatrix, CompressionMethod, GeneralMatrix, Matrix, MatrixHeader, SequentialReader, TableWriter,
};

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(rspecifier) = std::env::args().nth(1) {
        return print(SequentialReader::open(&rspecifier)?);
    }
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("feats.ark");
    let mut writer = TableWriter::<GeneralMatrix>::to_archive(&archive)?;
    let features = Matrix::from_fn(100, 80, |frame, bin| (frame + bin) as f32);
    writer.write("full", &features.clone().into())?;
    writer.write("compressed", &CompressedMatrix::new(&features, CompressionMethod::Automatic)?.into())?;
    writer.close()?;
    println!("{}, {} bytes:", archive.display(), std::fs::metadata(&archive)?.len());
    print(SequentialReader::from_archive(&archive)?)
}

fn print(table: SequentialReader<MatrixHeader>) -> Result<(), Box<dyn Error>> {
    let mut frames = 0;
    for entry in table {
        let (key, header) = entry?;
        println!("{key}: {} x {}, {:?}", header.rows, header.cols, header.storage);
        frames += header.rows;
    }
    println!("{frames} rows in all");
    Ok(())
}
