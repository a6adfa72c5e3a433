//! Reads a background model and an extractor, and prints an i-vector of random features.
//!
//! ```text
//! cargo run --example speaker -- final.dubm final.ie
//! ```

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use kaldera_base::random::Philox;
use kaldi_ivector::{DiagGmm, IvectorExtractor, IvectorModel, IvectorOptions, IvectorTerms, OnlineIvector, codec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [ubm, extractor] = &files[..] else {
        return Err("usage: speaker <final.dubm> <final.ie>".into());
    };
    let ubm: DiagGmm = codec::read(&mut BufReader::new(File::open(ubm)?))?;
    let extractor: IvectorExtractor = codec::read(&mut BufReader::new(File::open(extractor)?))?;
    println!("{} Gaussians, i-vectors of {} elements", ubm.num_gaussians(), extractor.ivector_dim());

    let dim = ubm.dim();
    let terms = IvectorTerms::new(&extractor)?;
    let model = IvectorModel::new(ubm, terms, IvectorOptions::default().with_max_count(100.0))?;
    let mut stream = OnlineIvector::new(Arc::new(model));
    let mut frame = vec![0.0; dim];
    for number in 0..500 {
        frame.fill(0.0);
        Philox::new(1).add_gaussian(1.0, number * 1024, &mut frame);
        stream.accept(&frame, &frame)?;
    }
    let mut ivector = vec![0.0; stream.dim()];
    stream.ivector(499, &mut ivector)?;
    println!("{ivector:.3?}");
    println!("log-likelihood per frame: {:.3}", stream.log_likelihood_per_frame());
    Ok(())
}
