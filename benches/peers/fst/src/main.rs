//! One operation of one program on OpenFst's binary files: `peer-fst PROGRAM OPERATION INPUT...
//! OUTPUT` prints its processor time in milliseconds and by how many megabytes the memory has grown
//! at its peak. `peer-fst prepare LANGUAGE FOLDER` makes the files to begin with, `peer-fst
//! make-hlg LANGUAGE` measures H o L o G.

use std::error::Error;
use std::fs;
use std::path::Path;

use kaldera_benches::fsa::{Language, lattice};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["prepare", language, folder] => prepare(Path::new(language), Path::new(folder)),
        ["make-hlg", language] => make_hlg(Path::new(language)),
        ["ours", operation, ref inputs @ .., output] => ours::run(operation, inputs, output),
        ["rustfst", operation, ref inputs @ .., output] => rust_fst::run(operation, inputs, output),
        ["sicada", operation, ref inputs @ .., output] => sicada_fst::run(operation, inputs, output),
        _ => {
            Err("usage: peer-fst ours|rustfst|sicada OPERATION INPUT... OUTPUT, or peer-fst prepare LANGUAGE FOLDER"
                .into())
        }
    }
}

/// The lexicon with symbols for disambiguation, the grammar with `#0` for backing off, and a
/// lattice.
fn prepare(language: &Path, folder: &Path) -> Outcome<()> {
    use fsa::graphs::{ArpaOptions, Lexicon, LexiconOptions, NgramModel};
    use fsa::io::{OpenFstBinary, SymbolTable};
    let files = Language::large().write(language)?;
    let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
    let lexicon = fs::read(files.lexicon)?;
    let lexicon = Lexicon::read(&lexicon[..], &mut tokens, &mut words, &LexiconOptions::default())?;
    let arpa = fs::read(files.arpa)?;
    let model = NgramModel::read(&arpa[..], &mut words, &ArpaOptions::default(), &mut |_| {})?;
    let grammar = model.to_fsa(lexicon.backoff_word())?;
    for (name, graph) in [
        ("L", lexicon.to_disambiguated_graph()?),
        ("G", fsa::Graph::new(grammar)),
        ("lattice", fsa::Graph::new(lattice())),
    ] {
        fs::write(folder.join(name).with_extension("fst"), OpenFstBinary::new(graph).write()?)?;
    }
    Ok(())
}

/// H o L o G of the lexicon and the model, reading included.
fn make_hlg(language: &Path) -> Outcome<()> {
    use fsa::graphs::{HlgOptions, make_hlg};
    use fsa::io::SymbolTable;
    let open = |name: &str| -> Outcome<_> { Ok(std::io::BufReader::new(fs::File::open(language.join(name))?)) };
    let (lexicon, arpa) = (open("lexicon.txt")?, open("lm.arpa")?);
    let start = std::time::Instant::now();
    let mut report =
        |progress: fsa::graphs::Progress| eprintln!("{:8.3} s  {progress:?}", start.elapsed().as_secs_f64());
    let empty = SymbolTable::default();
    let hlg = measured(|| Ok(make_hlg(empty.clone(), empty, lexicon, arpa, &HlgOptions::default(), &mut report)?))?;
    for step in hlg.steps {
        println!("{}: {} states, {} arcs", step.graph, step.num_states, step.num_arcs);
    }
    Ok(())
}

/// Does `operation` and prints what it took.
fn measured<T>(operation: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let memory = |name: &str| -> Outcome<f64> {
        let status = fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find(|line| line.starts_with(name)).ok_or("Linux tells no memory")?;
        Ok(line.split_whitespace().nth(1).ok_or("Linux tells no memory")?.parse::<f64>()? / 1024.0)
    };
    let milliseconds = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a structure that lives.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
        time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
    };
    fs::write("/proc/self/clear_refs", "5")?; // the peak begins anew
    let (before, start) = (memory("VmRSS")?, milliseconds());
    let result = operation()?;
    println!("{:.3} {:.1}", milliseconds() - start, memory("VmHWM")? - before);
    Ok(result)
}

mod ours {
    use fsa::k2::{ComposeOptions, compose};
    use fsa::io::OpenFstBinary;
    use fsa::openfst::{DeterminizeOptions, MinimizeOptions, Unique, determinize, minimize, shortest_paths};
    use fsa::{Fsa, Graph};

    use super::{Outcome, fs, measured};

    fn read(path: &str) -> Outcome<Graph<Fsa>> {
        Ok(OpenFstBinary::read(&fs::read(path)?)?.graph)
    }

    pub fn run(operation: &str, inputs: &[&str], output: &str) -> Outcome<()> {
        let first = read(inputs[0])?;
        let best = |n: usize| measured(|| Ok(shortest_paths(&first, n, Unique::Paths)?));
        let made = match operation {
            "compose" => {
                let second = read(inputs[1])?;
                measured(|| Ok(compose(&first, &second, &ComposeOptions::default())?))?
            }
            "look-ahead-compose" => {
                let second = read(inputs[1])?;
                measured(|| Ok(compose(&first, &second, &ComposeOptions { look_ahead: true, ..ComposeOptions::default() })?))?
            }
            "connect" => measured(|| Ok(first.connect()?))?,
            "determinize" => measured(|| Ok(determinize(&first, &DeterminizeOptions::default())?))?,
            "minimize" => measured(|| Ok(minimize(&first, &MinimizeOptions::default().with_allow_nondet(true))?))?,
            // The paths as arcs, not written.
            "shortestpath" => return best(1).map(drop),
            "100-best" => return best(100).map(drop),
            _ => return Err("ours has no such operation".into()),
        };
        Ok(fs::write(output, OpenFstBinary::new(made).write()?)?)
    }
}

mod rust_fst {
    use rustfst::algorithms::compose::compose;
    use rustfst::algorithms::determinize::{DeterminizeConfig, DeterminizeType, determinize_with_config};
    use rustfst::algorithms::{
        MinimizeConfig, ShortestPathConfig, connect, minimize_with_config, shortest_path_with_config,
    };
    use rustfst::prelude::*;

    use super::{Outcome, measured};

    type Fst = VectorFst<TropicalWeight>;
    const DELTA: f32 = 1.0 / 1024.0;

    pub fn run(operation: &str, inputs: &[&str], output: &str) -> Outcome<()> {
        let mut first = Fst::read(inputs[0])?;
        let made: Fst = match operation {
            "compose" => {
                let second = Fst::read(inputs[1])?;
                measured(|| Ok(compose::<_, Fst, Fst, _, _, _>(first, second)?))?
            }
            "connect" => {
                measured(|| Ok(connect(&mut first)?))?;
                first
            }
            "determinize" => measured(|| {
                let config = DeterminizeConfig::new(DELTA, DeterminizeType::DeterminizeFunctional);
                Ok(determinize_with_config(&first, config)?)
            })?,
            "minimize" => {
                measured(|| Ok(minimize_with_config(&mut first, MinimizeConfig::new(DELTA, true))?))?;
                first
            }
            "shortestpath" | "100-best" => measured(|| {
                let nshortest = if operation == "100-best" { 100 } else { 1 };
                let config = ShortestPathConfig { nshortest, ..ShortestPathConfig::default() };
                Ok(shortest_path_with_config(&first, config)?)
            })?,
            _ => return Err("rustfst has no such operation".into()),
        };
        Ok(made.write(output)?)
    }
}

mod sicada_fst {
    use sicada::fst::{FstReadOptions, FstWriteOptions};
    use sicada::prelude::*;

    use super::{Outcome, fs, measured};

    const DELTA: f32 = 1.0 / 1024.0;

    fn read(path: &str) -> Outcome<StdVectorFst> {
        Ok(StdVectorFst::read(&mut &fs::read(path)?[..], &FstReadOptions::default())?)
    }

    pub fn run(operation: &str, inputs: &[&str], output: &str) -> Outcome<()> {
        let mut first = read(inputs[0])?;
        let mut made = StdVectorFst::new();
        match operation {
            "compose" => {
                let second = read(inputs[1])?;
                measured(|| Ok(compose(&first, &second, &mut made)?))?;
            }
            "connect" => {
                measured(|| {
                    connect(&mut first);
                    Ok(())
                })?;
                made = first;
            }
            "determinize" => measured(|| Ok(determinize(&first, &mut made, &DeterminizeOptions::default())?))?,
            "minimize" => {
                measured(|| Ok(minimize(&mut first, DELTA, true)?))?;
                made = first;
            }
            "shortestpath" | "100-best" => measured(|| {
                let nshortest = if operation == "100-best" { 100 } else { 1 };
                let options = ShortestPathOptions { nshortest, ..ShortestPathOptions::default() };
                Ok(shortest_path(&first, &mut made, &options)?)
            })?,
            _ => return Err("sicada has no such operation".into()),
        }
        Ok(made.write(&mut fs::File::create(output)?, &FstWriteOptions::default())?)
    }
}
