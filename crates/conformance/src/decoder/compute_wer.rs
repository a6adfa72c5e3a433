//! The program `compute-wer`, run as a command.

use std::collections::HashMap;

use crate::{Differences, Settings, Stop};

/// Runs the program in each mode and compares the lines that it prints. If the split into
/// insertions, deletions and substitutions is `ambiguous`, only the other lines are compared.
pub(super) fn check(
    settings: &Settings,
    [reference, hypothesis]: [&[(String, String)]; 2],
    modes: &HashMap<String, Option<Vec<String>>>,
    ambiguous: bool,
    differences: &mut Differences,
) -> Result<(), Stop> {
    let folder = tempfile::tempdir()?;
    for (name, lines) in [("ref", reference), ("hyp", hypothesis)] {
        let text: String = lines.iter().map(|(id, text)| format!("{id} {text}\n")).collect();
        std::fs::write(folder.path().join(name), text)?;
    }
    for (mode, expected) in modes {
        let args = ["--text", &format!("--mode={mode}"), "ark:ref", "ark:hyp"];
        let output = settings.command("compute-wer", folder.path()).args(args).output()?;
        let Some(expected) = expected else {
            differences.check(!output.status.success(), || format!("compute-wer, {mode}: expected a failure"));
            continue;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let came: Vec<String> = said.lines().map(|line| shown(line, ambiguous)).collect();
        let expected: Vec<String> = expected.iter().map(|line| shown(line, ambiguous)).collect();
        differences.equal(&format!("compute-wer, {mode}"), expected, came);
    }
    Ok(())
}

/// A line, without the split of errors if that is free.
fn shown(line: &str, ambiguous: bool) -> String {
    match (line.strip_prefix("%WER"), line.split_once(", ")) {
        (Some(_), Some((before, after))) if ambiguous => {
            format!("{before}{}", after.split_once(']').map_or("", |(_, rest)| rest))
        }
        _ => line.trim_end().to_owned(),
    }
}
