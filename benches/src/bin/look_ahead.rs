//! Decoding with a lexicon and a language model that are composed on demand: words, costs, times
//! and peak memory.
//!
//! ```text
//! python3 benches/peers/look_ahead.py REALSET full        unpacks the network's output of shared/data/realset and runs this
//! ```

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use fsa::dense::{Backoff, DenseFsaVec, DenseOptions, LookAheadGraph, LookAheadOptions};
use fsa::graphs::{ArpaOptions, CtcTopology, Lexicon, LexiconOptions, NgramModel, OutOfVocabulary};
use fsa::io::SymbolTable;
use fsa::lattice::Lattice;
use fsa::{Arc, EPSILON, FINAL, Fsa, Graph, Limits};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "look_ahead FOLDER TOKENS LEXICON ARPA SEARCH_BEAM MAX_ACTIVE always|unseen
FOLDER has NAME.f32 for each recording, rows of scores for all tokens";

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [folder, tokens, lexicon, arpa, beam, max_active, backing_off] = &arguments[..] else {
        return Err(USAGE.into());
    };
    let mut clock = Clock(Instant::now());
    let mut tokens: SymbolTable = fs::read_to_string(tokens)?.parse()?;
    let num_classes = tokens.len();
    let mut words = SymbolTable::default();
    let boundary = tokens.find("<wb>").ok_or("there is no token <wb>")?;
    let lexicon = Lexicon::read(open(lexicon)?, &mut tokens, &mut words, &LexiconOptions::default())?;
    let hl = with_word_boundaries(&lexicon.to_minimal_graph(Limits::default())?, boundary)?;
    clock.tell(&format!("{} pronunciations: {}", lexicon.num_pronunciations(), sizes(hl.fsas())))?;
    let mut options = ArpaOptions::default();
    options.out_of_vocabulary = OutOfVocabulary::Skip;
    let model = NgramModel::read(open(arpa)?, &mut words, &options, &mut |_| {})?;
    clock.tell(&format!("{} n-grams", model.num_ngrams()))?;
    let grammar = model.to_fsa(lexicon.backoff_word())?;
    drop(model);
    clock.tell(&format!("G: {}", sizes(&grammar)))?;
    let backing_off = if backing_off == "unseen" { Backoff::Unseen } else { Backoff::Always };
    let options = LookAheadOptions::default().with_backing_off(backing_off);
    let topology = CtcTopology::new(num_classes - 1, false)?;
    let graph = LookAheadGraph::new(topology, &hl, &grammar, lexicon.backoff_word(), options)?;
    drop((hl, grammar));
    clock.tell(&format!("HL and G with look-ahead: {} MB", graph.num_bytes() >> 20))?;

    let options = DenseOptions::default().with_search_beam(beam.parse()?).with_max_active_states(max_active.parse()?);
    let mut names: Vec<_> = fs::read_dir(folder)?.collect::<std::io::Result<_>>()?;
    names.sort_by_key(fs::DirEntry::file_name);
    let (mut frames, mut seconds) = (0, 0.0);
    for name in names {
        let values: Vec<_> =
            fs::read(name.path())?.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        let dense = DenseFsaVec::from_frames(&values, num_classes)?;
        let start = Instant::now();
        let found = graph.intersect_dense_pruned(&dense, &options.clone().with_output_beam(0.0))?;
        let elapsed = start.elapsed().as_secs_f64();
        (frames, seconds) = (frames + values.len() / num_classes, seconds + elapsed);
        let lattice = Lattice::from_dense(&found)?;
        let cost = lattice.best_path(0)?.map_or(f64::INFINITY, |path| -path.score());
        let spoken = lattice.texts(&words)?.swap_remove(0).unwrap_or_default();
        let name = name.path();
        let name = name.file_stem().unwrap_or_default().display();
        println!("{name}\t{cost:.4}\t{elapsed:.2}\t{:?}\t{spoken}", found.outcomes()[0]);
    }
    clock.tell(&format!("{frames} frames, {:.0} a second", frames as f64 / seconds))
}

/// One boundary between two words, perhaps one before the first, and none after the last one. Words
/// of the graph end in its start.
fn with_word_boundaries(graph: &Graph<Fsa>, boundary: i32) -> Result<Graph<Fsa>> {
    let words = graph.aux_labels().ok_or("a lexicon outputs words")?;
    // A new start, the states as they were, that behind a word, and the final one.
    let behind = i32::try_from(graph.fsas().num_states())?;
    let last = behind + 1;
    let (mut arcs, mut aux_labels) =
        (vec![Arc::new(0, 1, boundary, 0.0), Arc::new(0, 1, EPSILON, 0.0)], vec![EPSILON; 2]);
    for (arc, &word) in graph.fsas().arcs().iter().zip(words) {
        let dest = match (arc.label, arc.dest_state) {
            (FINAL, _) => last,
            (_, 0) => behind,
            (_, state) => state + 1,
        };
        arcs.push(Arc::new(arc.src_state + 1, dest, arc.label, arc.score));
        aux_labels.push(word);
    }
    arcs.extend([Arc::new(behind, 1, boundary, 0.0), Arc::new(behind, last, FINAL, 0.0)]);
    aux_labels.extend([EPSILON, FINAL]);
    Ok(Graph::new(Fsa::from_arcs(graph.fsas().num_states() + 2, arcs)?).with_aux_labels(aux_labels)?)
}

fn sizes(fsa: &Fsa) -> String {
    format!("{} states, {} arcs", fsa.num_states(), fsa.num_arcs())
}

/// A text, unpacked by gunzip if its name ends in `.gz`.
fn open(name: &str) -> Result<Box<dyn BufRead>> {
    if Path::new(name).extension().is_none_or(|extension| extension != "gz") {
        return Ok(Box::new(BufReader::new(File::open(name)?)));
    }
    let command = Command::new("gunzip").args(["-c", name]).stdout(Stdio::piped()).spawn()?;
    Ok(Box::new(BufReader::new(command.stdout.ok_or("gunzip has no output")?)))
}

/// Since when.
struct Clock(Instant);

impl Clock {
    /// What has been done, in what time, and the peak of memory so far.
    fn tell(&mut self, what: &str) -> Result<()> {
        let status = fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim();
        println!("# {what}; {:.2} s, peak {peak}", self.0.elapsed().as_secs_f64());
        self.0 = Instant::now();
        Ok(())
    }
}
