//! Cases that run when a script in `benches/peers` asks for them, so that ours and those of its
//! peers run in turn.

use std::io::{BufRead, Result, Write, stdin, stdout};
use std::time::Instant;

/// Reads lines `TIMES NAME` and answers each with one line: what `run` says when it has done the
/// case of this name so often, or `-` if there is no such case. The last case is kept, as making
/// its input may take long. Ends with the input, or at a line that reads otherwise.
///
/// # Errors
/// Those of reading and writing.
pub fn serve<C>(case: impl Fn(&str) -> Option<C>, run: impl Fn(&mut C, usize) -> String) -> Result<()> {
    let mut kept: Option<(String, C)> = None;
    for line in stdin().lock().lines() {
        let line = line?;
        let Some((Ok(times), name)) = line.split_once(' ').map(|(times, name)| (times.parse(), name)) else { break };
        if kept.as_ref().is_none_or(|(before, _)| before != name) {
            drop(kept.take());
            kept = case(name).map(|case| (name.to_owned(), case));
        }
        println!("{}", kept.as_mut().map_or_else(|| "-".to_owned(), |(_, case)| run(case, times)));
        stdout().flush()?;
    }
    Ok(())
}

/// How many seconds this takes.
pub fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}
