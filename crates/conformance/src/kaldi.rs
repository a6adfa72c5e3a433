//! Kaldi's programs: `kaldi/manifest.json`, whose cases are command lines with the files that Kaldi
//! wrote. Its matrix library is in [`matrix`].
//!
//! Each case runs the real command in a child process, in its own folder (`stage`). Its output is
//! compared with Kaldi's (`rules`), read by a reader of tables that shares no code with
//! `kaldi-io` (`table`).

mod case;
mod child;
mod matrix;
mod rules;
mod stage;
mod table;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::Path;

use serde::Deserialize;

use case::{ManifestCase, Output, Precision};
use child::Ending;
pub(crate) use matrix::judge_matrix;
use rules::Rule;
use stage::Stage;

use crate::{Case, Error, Settings, Verdict};

/// Runs cases of `manifest.json` in the folder of that file, several at a time.
pub(crate) fn run_manifest(settings: &Settings, file: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let precision = read_precision(&folder.join("precision.json"))?;
    let bench = Bench { settings, folder, stage: Stage::new(folder)?, precision };
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get).min(cases.len());
    let work = &|worker: usize| cases.iter().skip(worker).step_by(workers).map(|case| bench.judge(case));
    let verdicts: Vec<Vec<Verdict>> = std::thread::scope(|scope| {
        let work = |worker: usize| scope.spawn(move || work(worker).collect::<io::Result<_>>());
        let workers: Vec<_> = (0..workers).map(work).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<io::Result<_>>()
    })?;
    Ok((0..cases.len()).map(|i| verdicts[i % workers][i / workers].clone()).collect())
}

fn read_precision(path: &Path) -> Result<HashMap<String, Precision>, Error> {
    #[derive(Deserialize)]
    struct File {
        cases: HashMap<String, Precision>,
    }
    if !path.exists() {
        return Ok(HashMap::new());
    }
    let file: File = serde_json::from_str(&fs::read_to_string(path)?)
        .map_err(|source| Error::Companion { path: path.into(), source })?;
    Ok(file.cases)
}

/// Data shared by all cases of one file.
struct Bench<'a> {
    settings: &'a Settings,
    folder: &'a Path,
    stage: Stage,
    precision: HashMap<String, Precision>,
}

impl Bench<'_> {
    fn judge(&self, case: &Case) -> io::Result<Verdict> {
        let case = match ManifestCase::deserialize(&case.value) {
            Ok(case) => case,
            Err(error) => return Ok(Verdict::fails(format!("the case itself is damaged: {error}"))),
        };
        let Some(rule) = Rule::of(&case) else { return Ok(Verdict::NotRun) };
        if !kaldera_cli::kaldi_tools().contains(&case.tool.as_str()) {
            return Ok(Verdict::NotRun);
        }
        let set = self.stage.set_for(&case)?;
        let (ending, last_words) = child::run(self.settings, set.path(), &case)?;
        if case.is_free() {
            return Ok(Verdict::Free(ending.crash().map(|crash| format!("{crash}: {last_words}"))));
        }
        let mut differences = Vec::new();
        if ending != Ending::Exited(case.exit) {
            differences.push(format!("expected exit status {}, came {ending}: {last_words}", case.exit));
        }
        for output in &case.outputs {
            differences.extend(self.compare(&case, rule, output, &set.path().join(&output.path)).err());
        }
        differences.extend(self.stage.strays(&set, &case)?);
        Ok(Verdict::of(differences))
    }

    fn compare(&self, case: &ManifestCase, rule: Rule, output: &Output, actual: &Path) -> Result<(), String> {
        let path = &output.path;
        if output.absent {
            return if actual.exists() { Err(format!("{path}: expected no such file, came one")) } else { Ok(()) };
        }
        let expected = fs::read(self.folder.join(path))
            .map_err(|error| format!("{path}: the known answer is missing: {error}"))?;
        if output.bytes.is_some_and(|bytes| u64::try_from(expected.len()) != Ok(bytes)) {
            return Err(format!("{path}: the known answer is damaged: {} bytes", expected.len()));
        }
        let actual = fs::read(actual)
            .map_err(|error| format!("{path}: expected {} bytes, came no file: {error}", expected.len()))?;
        if case.bytes_nondeterministic {
            return Ok(());
        }
        let judge = rules::Judge { case, rule, precision: self.precision.get(&case.id), folder: self.folder };
        judge.compare(output, &expected, &actual).map_err(|difference| format!("{path}: {difference}"))
    }
}
