//! Lattices from which one model was taken away, and to which another was added.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kaldera::fsa::graphs::ConstArpa;
use kaldera::fsa::io::OpenFstBinary;
use kaldera::fsa::openfst::Side;
use kaldera::fsa::{self, Limits};
use kaldera::io::lattice::CompactLattice;
use kaldera::io::{SequentialReader, TableWriter};

use super::{Verdicts, entries, name_of, succeed, text_of};
use crate::lattice::{Entry, paths};
use crate::{Differences, Settings, Stop, near, verdict};

/// Costs agree within this share of the cost, and this.
const RELATIVE: f64 = 2e-5;
const ABSOLUTE: f64 = 1e-4;
/// Costs that were printed with six digits.
const PRINTED: f64 = 1e-5;

/// The programs of a set.
enum Steps {
    /// `lattice-lmrescore-const-arpa` twice, with these scales.
    ConstArpa(&'static str, &'static str),
    /// `lattice-lmrescore` with the output labels of `G.fst`, then `lattice-lmrescore-const-arpa`.
    Recipe,
    /// The steps of Vosk's recogniser.
    Vosk,
    /// `lattice-lmrescore-pruned`.
    Pruned,
}

/// The sets of the README, with the models that they take away and add.
const SETS: &[(&str, Steps, &str, &str)] = &[
    ("r1-m03-m05", Steps::ConstArpa("-1.0", "1.0"), "m03", "m05"),
    ("r2-m05-m07", Steps::ConstArpa("-1.0", "1.0"), "m05", "m07"),
    ("r3-m04-m06", Steps::ConstArpa("-1.0", "1.0"), "m04", "m06"),
    ("r4-g03-m07", Steps::Recipe, "m03", "m07"),
    ("r5-half", Steps::ConstArpa("-0.5", "0.5"), "m03", "m05"),
    ("r6-vosk-g05-m07", Steps::Vosk, "m05", "m07"),
    ("r7-pruned-g03-m07", Steps::Pruned, "m03", "m07"),
    ("r8-same", Steps::ConstArpa("-1.0", "1.0"), "m05", "m05"),
];

pub(crate) fn run(settings: &Settings, folder: &Path) -> Verdicts {
    let mut all = Vec::new();
    for set in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let judged = verdict::judge(|| judge(settings, folder, &set));
        all.push((name_of(&set), judged));
    }
    let judged = verdict::judge(|| {
        let mut differences = Differences::default();
        compare(&folder.join("lats.txt"), &folder.join("in.paths"), &mut differences)?;
        Ok(differences.0)
    });
    all.push(("in.paths".into(), judged));
    Ok(all)
}

fn judge(settings: &Settings, folder: &Path, set: &Path) -> Result<Vec<String>, Stop> {
    let mut differences = Differences::default();
    let name = name_of(set);
    let (_, steps, old, new) = SETS.iter().find(|known| known.0 == name).ok_or(Stop::NotRun)?;
    let models = folder.with_file_name("models");
    let file = |model: &str, name: &str| -> Result<PathBuf, Stop> {
        let path = models.join(model).join(name);
        if path.exists() { Ok(path) } else { Err(Stop::NotRun) }
    };
    let out = tempfile::tempdir()?;
    let input = folder.join("lats.txt");
    let source = format!("ark:{}", input.display());
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let const_arpa = |scale: &str, input: &str, model: &str, output: &str| {
        let scale = format!("--lm-scale={scale}");
        succeed(settings, out.path(), "lattice-lmrescore-const-arpa", &[&scale, input, model, output])
    };
    match steps {
        Steps::ConstArpa(first, second) => {
            const_arpa(first, &source, &text(file(old, "G.carpa")?), "ark:stage1.ark")?;
            const_arpa(second, "ark:stage1.ark", &text(file(new, "G.carpa")?), "ark:out.ark")?;
        }
        Steps::Recipe => {
            let grammar = read_grammar(&file(old, "G.fst")?)?;
            let projected = OpenFstBinary::new(grammar).write()?;
            fs::write(out.path().join("projected.fst"), projected)?;
            let args = ["--lm-scale=-1.0", &source, "projected.fst", "ark:stage1.ark"];
            succeed(settings, out.path(), "lattice-lmrescore", &args)?;
            const_arpa("1.0", "ark:stage1.ark", &text(file(new, "G.carpa")?), "ark:out.ark")?;
        }
        Steps::Vosk => vosk(&input, &file(old, "G.fst")?, &file(new, "G.carpa")?, out.path())?,
        Steps::Pruned => {
            let (old, new) = (text(file(old, "G.fst")?), text(file(new, "G.carpa")?));
            let options = ["--add-const-arpa=true", "--lm-scale=1.0", "--acoustic-scale=0.1"];
            let args = [&options[..], &[&old, &new, &source, "ark:out.ark"]].concat();
            succeed(settings, out.path(), "lattice-lmrescore-pruned", &args)?;
        }
    }
    for stage in ["stage1", "out"] {
        let known = set.join(format!("{stage}.paths"));
        if known.exists() {
            let mut own = Differences::default();
            compare(&out.path().join(format!("{stage}.ark")), &known, &mut own)?;
            differences.0.extend(own.0.into_iter().map(|difference| format!("{stage}: {difference}")));
        }
    }
    best(settings, set, out.path(), &mut differences)?;
    Ok(differences.0)
}

/// The grammar of the output labels.
fn read_grammar(path: &Path) -> Result<fsa::Graph<fsa::Fsa>, Stop> {
    Ok(OpenFstBinary::read(&fs::read(path)?)?.graph.project(Side::Output)?)
}

/// Vosk's steps without its last one: the second model is added without a determinization, and a
/// lattice is left out if the first step leaves nothing.
fn vosk(input: &Path, old: &Path, new: &Path, out: &Path) -> Result<(), Stop> {
    let (old, new) = (read_grammar(old)?, ConstArpa::from_bytes(fs::read(new)?)?);
    let mut first = TableWriter::<CompactLattice>::open(&format!("ark:{}", out.join("stage1.ark").display()))?;
    let mut second = TableWriter::<CompactLattice>::open(&format!("ark:{}", out.join("out.ark").display()))?;
    for entry in SequentialReader::<CompactLattice>::from_archive(input)? {
        let (key, lattice) = entry?;
        let less = fsa::lattice::Lattice::try_from(&lattice)?.compose_best(&old, -1.0, Limits::default())?;
        let Some(compact) = CompactLattice::from_fsa(&less, 0).filter(|compact| compact.start().is_some()) else {
            continue;
        };
        first.write(&key, &compact)?;
        let made = less.rescore(&new, 1.0, Limits::default())?;
        second.write(&key, &CompactLattice::from_fsa(&made, 0).unwrap_or_default())?;
    }
    first.close()?;
    second.close()?;
    Ok(())
}

/// The paths of the lattices of a file, by their keys and sorted by words.
fn paths_of(archive: &Path) -> Result<BTreeMap<String, Vec<Entry>>, Stop> {
    let mut all = BTreeMap::new();
    for entry in SequentialReader::<CompactLattice>::from_archive(archive)? {
        let (key, lattice) = entry?;
        all.insert(key, paths(&lattice)?);
    }
    Ok(all)
}

/// Reads `KEY states N arcs N paths N` and lines of words, costs and transition identifiers.
fn known_paths(text: &str) -> Result<BTreeMap<String, Vec<Entry>>, Stop> {
    let damaged = |line: &str| Stop::Damaged(format!("no path: {line}"));
    let ints = |text: &str, between: char| -> Result<Vec<i32>, Stop> {
        let numbers = text.split(between).filter(|number| !number.is_empty());
        numbers.map(|number| number.parse().map_err(|_| damaged(text))).collect()
    };
    let mut all: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    let mut last = None;
    for line in text.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        if let [words, graph, acoustic, alignment] = fields[..] {
            let number = |text: &str| text.parse::<f64>().map_err(|_| damaged(line));
            let entry = Entry {
                words: ints(words, ' ')?,
                graph: number(graph)?,
                acoustic: number(acoustic)?,
                alignment: ints(alignment, '_')?,
            };
            let own: &mut Vec<Entry> = last.as_ref().and_then(|key| all.get_mut(key)).ok_or_else(|| damaged(line))?;
            own.push(entry);
        } else {
            let key = line.split(' ').next().unwrap_or_default().to_owned();
            all.insert(key.clone(), Vec::new());
            last = Some(key);
        }
    }
    Ok(all)
}

fn is_near(known: f64, came: f64) -> bool {
    near(known, came, RELATIVE * known.abs() + ABSOLUTE)
}

/// Compares the paths of lattices: each known one is there once, and no other.
fn compare(archive: &Path, known: &Path, differences: &mut Differences) -> Result<(), Stop> {
    let (known, came) = (known_paths(&fs::read_to_string(known)?)?, paths_of(archive)?);
    let keys = |of: &BTreeMap<String, Vec<Entry>>| of.keys().cloned().collect::<Vec<_>>();
    differences.equal("keys", keys(&known), keys(&came));
    for (key, known) in &known {
        let mut left: Vec<&Entry> = came.get(key).into_iter().flatten().collect();
        differences.equal(&format!("{key}: paths"), known.len(), left.len());
        for path in known {
            let same = |other: &&Entry| {
                (&path.words, &path.alignment) == (&other.words, &other.alignment)
                    && is_near(path.graph, other.graph)
                    && is_near(path.acoustic, other.acoustic)
            };
            match left.iter().position(same) {
                Some(at) => drop(left.swap_remove(at)),
                None => differences.check(false, || {
                    let near: Vec<_> = left.iter().filter(|other| other.words == path.words).collect();
                    format!("{key}: no path as {path:?}; with its words: {near:?}")
                }),
            }
        }
    }
    Ok(())
}

/// Compares the best paths, with the alignments and the costs.
fn best(settings: &Settings, set: &Path, out: &Path, differences: &mut Differences) -> Result<(), Stop> {
    succeed(settings, out, "lattice-best-path", &["ark:out.ark", "ark,t:best.words", "ark,t:best.ali"])?;
    for name in ["best.words", "best.ali"] {
        if let Some(known) = text_of(&set.join(name))? {
            let came = fs::read_to_string(out.join(name))?;
            let line = known.lines().zip(came.lines()).find(|(known, came)| known.trim() != came.trim());
            let same = line.is_none() && known.lines().count() == came.lines().count();
            differences.check(same, || format!("{name}: first other line: {line:?}"));
        }
    }
    let Some(known) = text_of(&set.join("best.costs"))? else { return Ok(()) };
    let came: BTreeMap<String, CompactLattice> =
        SequentialReader::from_archive(out.join("out.ark"))?.collect::<Result<_, _>>()?;
    for line in known.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [key, numbers @ ..] = &fields[..] else { continue };
        let numbers: Vec<f64> = numbers.iter().map(|number| number.parse().unwrap_or(f64::NAN)).collect();
        let Some(lattice) = came.get(*key) else {
            differences.check(false, || format!("best.costs: no {key}"));
            continue;
        };
        let path = fsa::lattice::Lattice::try_from(lattice)?.best_path(0)?.unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "a number of frames")]
        let own = [-path.graph_score, -path.acoustic_score, -path.score(), path.alignment.len() as f64];
        let same = numbers.len() == own.len()
            && numbers
                .iter()
                .zip(own)
                .all(|(&known, own)| near(known, own, (RELATIVE + PRINTED) * known.abs() + ABSOLUTE));
        differences.check(same, || format!("best.costs: {line}: came {own:?}"));
    }
    Ok(())
}
