//! Measures on demand: `benches/peers/recurrent.py` writes a line `TIMES NAME` and reads the seconds that doing it so often took. The line
//! `0 lengths` asks for the lengths of the mini-batch instead.

use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use kaldera_benches::recurrent::{Case, LENGTHS, case};

fn main() -> std::io::Result<()> {
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
        match &mut kept {
            Some((_, once)) => {
                let start = Instant::now();
                (0..times).for_each(|_| once());
                println!("{}", start.elapsed().as_secs_f64());
            }
            None if name == "lengths" => println!("{}", LENGTHS.map(|length| length.to_string()).join(" ")),
            None => println!("-"),
        }
        stdout().flush()?;
    }
    Ok(())
}
