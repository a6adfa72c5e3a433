//! The program `compute-wer`, run as a command.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use crate::{CHILD, Settings};

/// Runs the program in each mode and compares the lines that it prints. If the split into
/// insertions, deletions and substitutions is `ambiguous`, only the other lines are compared.
pub(super) fn check(
    settings: &Settings,
    reference: &[(String, String)],
    hypothesis: &[(String, String)],
    modes: &HashMap<String, Option<Vec<String>>>,
    ambiguous: bool,
    differences: &mut Vec<String>,
) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let write = |name: &str, lines: &[(String, String)]| {
        let text: String = lines.iter().map(|(id, text)| format!("{id} {text}\n")).collect();
        std::fs::write(folder.path().join(name), text).map_err(|error| error.to_string())
    };
    write("ref", reference)?;
    write("hyp", hypothesis)?;
    for (mode, expected) in modes {
        let output = Command::new(&settings.program)
            .args([CHILD, "compute-wer", "--text", &format!("--mode={mode}"), "ark:ref", "ark:hyp"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let came: Vec<String> = said.lines().map(|line| shown(line, ambiguous)).collect();
        match expected {
            None if output.status.success() => differences.push(format!("compute-wer, {mode}: expected a failure")),
            None => {}
            Some(lines) => {
                let expected: Vec<String> = lines.iter().map(|line| shown(line, ambiguous)).collect();
                if came != expected {
                    differences.push(format!("compute-wer, {mode}: expected {expected:?}, came {came:?}"));
                }
            }
        }
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
