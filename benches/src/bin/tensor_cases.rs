//! Measures on demand: `benches/peers/tensor.py` writes a line `TIMES NAME` and reads the seconds that doing it so often took.

use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use kaldera_benches::tensor::{Case, coordinates, large, small};

fn main() -> std::io::Result<()> {
    let mut kept: Option<Case> = None;
    for line in stdin().lock().lines() {
        let line = line?;
        let Some((Ok(times), name)) = line.split_once(' ').map(|(times, name)| (times.parse(), name)) else { break };
        if kept.as_ref().is_none_or(|case| case.name != name) {
            drop(kept.take());
            kept = small(name).or_else(|| coordinates(name)).or_else(|| large(name));
        }
        match &mut kept {
            Some(case) => {
                let start = Instant::now();
                (case.run)(times);
                println!("{}", start.elapsed().as_secs_f64());
            }
            None => println!("-"),
        }
        stdout().flush()?;
    }
    Ok(())
}
