//! ARPA files that Kaldi accepts or refuses.

use std::fs;
use std::path::Path;

use super::{Verdicts, run as run_tool};
use crate::{Differences, Error, Settings, Stop, verdict};

pub(crate) fn run(settings: &Settings, folder: &Path) -> Verdicts {
    let results = fs::read_to_string(folder.join("results.tsv")).map_err(Error::Io)?;
    let mut all = Vec::new();
    for line in results.lines().skip(1) {
        let mut fields = line.split('\t');
        let (Some(case), Some(status)) = (fields.next(), fields.next()) else { continue };
        let judged = verdict::judge(|| judge(settings, folder, case, status == "0"));
        all.push((case.to_owned(), judged));
    }
    Ok(all)
}

fn judge(settings: &Settings, folder: &Path, case: &str, accepted: bool) -> Result<Vec<String>, Stop> {
    let mut differences = Differences::default();
    let out = tempfile::tempdir()?;
    let arpa = folder.join(format!("{case}.arpa"));
    if !arpa.exists() {
        return Err(Stop::NotRun);
    }
    let end = if case == "eos-too-large" { "--eos-symbol=9" } else { "--eos-symbol=2" };
    let args = ["--bos-symbol=1", end, &*arpa.to_string_lossy(), "G.carpa"];
    let (status, said) = run_tool(settings, out.path(), "arpa-to-const-arpa", &args)?;
    if !accepted {
        differences.check(status == Some(255), || format!("should be refused: {status:?}, {said}"));
        return Ok(differences.0);
    }
    differences.check(status == Some(0), || format!("should be accepted: {status:?}, {said}"));
    let known = folder.join(format!("{case}.carpa"));
    if status == Some(0) && known.exists() {
        let same = fs::read(&known)? == fs::read(out.path().join("G.carpa"))?;
        differences.check(same, || "other bytes".into());
    }
    Ok(differences.0)
}
