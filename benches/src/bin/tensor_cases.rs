//! Answers `benches/peers/tensor.py` with the seconds that a case took, done so often.

use kaldera_benches::on_demand::{seconds, serve};
use kaldera_benches::tensor::{coordinates, large, small};

fn main() -> std::io::Result<()> {
    let find = |name: &str| small(name).or_else(|| coordinates(name)).or_else(|| large(name));
    serve(find, |case, times| seconds(|| (case.run)(times)).to_string())
}
