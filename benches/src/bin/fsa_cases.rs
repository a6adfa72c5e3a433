//! Answers `benches/peers/k2_fsa.py` with the seconds that each run of an operation took. Called
//! with the name of a folder, this writes the inputs there instead.

use std::path::Path;

use kaldera_benches::fsa::{case, write_inputs};
use kaldera_benches::on_demand::serve;

fn main() -> std::io::Result<()> {
    if let Some(folder) = std::env::args_os().nth(1) {
        return write_inputs(Path::new(&folder));
    }
    serve(case, |once, times| (0..times).map(|_| once().to_string()).collect::<Vec<_>>().join(" "))
}
