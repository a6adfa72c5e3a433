//! Measures on demand: `benches/peers/k2_fsa.py` writes a line `TIMES NAME` and reads the seconds that each of so many runs took. Called with the name of a
//! folder, this writes the inputs there instead.

use std::io::{BufRead, Write, stdin, stdout};
use std::path::Path;

use kaldera_benches::fsa::{Case, case, write_inputs};

fn main() -> std::io::Result<()> {
    if let Some(folder) = std::env::args_os().nth(1) {
        return write_inputs(Path::new(&folder));
    }
    let mut kept: Option<(String, Case)> = None;
    for line in stdin().lock().lines() {
        let line = line?;
        let Some((Ok(times), name)) = line.split_once(' ').map(|(times, name)| (times.parse::<u32>(), name)) else {
            break;
        };
        if kept.as_ref().is_none_or(|(before, _)| before != name) {
            drop(kept.take());
            kept = case(name).map(|case| (name.to_owned(), case));
        }
        let Some((_, once)) = &mut kept else { break };
        let seconds: Vec<_> = (0..times).map(|_| once().to_string()).collect();
        println!("{}", seconds.join(" "));
        stdout().flush()?;
    }
    Ok(())
}
