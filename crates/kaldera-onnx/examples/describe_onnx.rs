//! Prints what an ONNX file says of its network.

use kaldera_network::Network;
use kaldera_onnx::{Description, Layout, OnnxNetwork, OnnxOptions, Runtime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = std::env::args_os().nth(1) else { return Err("usage: describe_onnx FILE.onnx".into()) };
    let description = Description::read(&path, Runtime::default())?;
    for input in &description.inputs {
        println!("input  {input}");
    }
    for output in &description.outputs {
        println!("output {output}");
    }
    for (key, value) in &description.metadata {
        println!("{key}: {value}");
    }
    println!("layout: {:?}", Layout::of(&description)?);
    let network = OnnxNetwork::open(&path, &OnnxOptions::default())?;
    println!("{} tokens, a frame for {} rows", network.num_outputs(), network.subsampling());
    Ok(())
}
