//! A server of one model: `cargo run -p kaldera-server --example serve MODEL`. The command
//! `kaldera serve` has options.

use std::sync::atomic::AtomicBool;

use kaldera_server::{Models, Recognizer, Server, ServerOptions};

static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("give the folder of a model")?;
    let models = Models::new([("model", Recognizer::open(folder)?)])?;
    let server = Server::bind(models, ServerOptions::default())?;
    println!("http://{}", server.addr());
    server.run(&STOP);
    Ok(())
}
