//! Prints the nodes of a network, its contexts and its sizes, and times it as a stream.
//!
//! ```sh
//! cargo run --release -p kaldi-nnet3 --example info -- final.mdl
//! ```
//!
//! Without an argument it makes a small network first.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use kaldera_base::gemm::{Operand, gemm_fused};
use kaldi_nnet3::{AcousticModel, LoopedNetwork, LoopedOptions, Matrix, Network, Nnet};

const SMALL: &str = "<Nnet3> \ninput-node name=input dim=2\n\
    component-node name=sum component=sum input=Append(Offset(input, -1), input, Offset(input, 1))\n\
    output-node name=output input=sum objective=linear\n\n<NumComponents> 1 \n\
    <ComponentName> sum <SumGroupComponent> <Sizes> [ 2 2 2 ]\n</SumGroupComponent> \n</Nnet3> ";

fn main() -> Result<(), Box<dyn Error>> {
    let nnet = match std::env::args().nth(1) {
        Some(path) => open(&std::fs::read(path)?)?,
        None => Nnet::read(&mut SMALL.as_bytes())?,
    };
    nnet.config_lines().iter().for_each(|line| println!("{line}"));
    let network = Network::new(&nnet)?;
    println!(
        "{} parameters; context {} + 1 + {} frames, modulus {}; {} columns in, {} out",
        nnet.num_parameters(),
        network.left_context(),
        network.right_context(),
        network.modulus(),
        network.input_dim(),
        network.output_dim()
    );
    println!("a product of 768 x 768 x 768: {:.1} G/s", limit() / 1e9);
    let options = LoopedOptions::default().with_frames_per_chunk(24).with_frame_subsampling_factor(3);
    let started = Instant::now();
    let looped = Arc::new(LoopedNetwork::new(&nnet, &options)?);
    println!("prepared in {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
    let ivector = vec![0.1; looped.ivector_dim().unwrap_or(0)];
    let frames = 3000;
    let features = Matrix::from_fn(frames, looped.input_dim(), |t, k| ((t * 7 + k * 3) % 11) as f32 - 5.0);
    for streams in [1, 1, 4, 16] {
        let mut all: Vec<_> = (0..streams).map(|_| looped.stream()).collect();
        let started = Instant::now();
        for stream in &mut all {
            stream.push(&features)?;
            stream.end();
        }
        let ivectors = vec![&ivector[..]; streams];
        while looped.advance(&mut all.iter_mut().collect::<Vec<_>>(), &ivectors)? > 0 {}
        let seconds = started.elapsed().as_secs_f64() / streams as f64;
        let rows = all[0].num_output_rows();
        let products = looped.products_per_chunk() / (looped.frames_per_chunk() / looped.frame_subsampling_factor());
        println!(
            "{streams:2} streams: {:.1} us for an output row, {products} multiply-adds each, {:.1} G/s",
            seconds / rows as f64 * 1e6,
            products as f64 * rows as f64 / seconds / 1e9
        );
    }
    Ok(())
}

/// Returns the multiply-adds in a second of a product of matrices that stay in the caches.
fn limit() -> f64 {
    const SIDE: usize = 768;
    let values = vec![0.5_f32; SIDE * SIDE];
    let mut product = vec![0.0_f32; SIDE * SIDE];
    let operand = Operand { data: &values[..], row_step: SIDE, col_step: 1 };
    let seconds = (0..5).map(|_| {
        let started = Instant::now();
        gemm_fused(SIDE, SIDE, SIDE, 1.0, operand, operand, 0.0, &mut product, SIDE);
        started.elapsed().as_secs_f64()
    });
    SIDE.pow(3) as f64 / seconds.fold(f64::INFINITY, f64::min)
}

/// Reads a `.raw`, or a `.mdl` from its network on.
fn open(bytes: &[u8]) -> Result<Nnet, Box<dyn Error>> {
    if let Ok(nnet) = Nnet::read(&mut &bytes[..]) {
        return Ok(nnet);
    }
    let start = bytes.windows(7).position(|part| part == b"<Nnet3>").ok_or("no network in the file")?;
    Ok(AcousticModel::read(&mut &bytes[start..])?.into_nnet())
}
