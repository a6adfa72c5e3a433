//! Decoding graphs of a real lexicon and a real language model, and the best paths of 14 recordings
//! through them, beside those that OpenFst and kaldi-decoder find.
//!
//! The data is not part of the project: `KALDERA_DATA` names the folder that has it in `realset`.
//! Without it, the test says that it was left out.
//!
//! ```text
//! KALDERA_DATA=../shared/data cargo test --release -p kaldera-cli --test it realset -- --nocapture
//! ```

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::read::DeflateDecoder;
use kaldera::fsa::dense::{DenseFsaVec, DenseOptions, Outcome, intersect_dense_pruned};
use kaldera::fsa::io::OpenFstBinary;
use kaldera::fsa::paths::total_scores;
use kaldera::fsa::{FINAL, Fsa, Graph, GraphLabels, Semiring};
use kaldera::matrix::SubMatrix;
use kaldera::pipeline::{FeatureFile, FeatureSink as _};
use serde_json::Value;

use crate::fst::Bench;

/// Costs of both sides are sums of some hundred numbers of single precision, and determinization
/// rounds what it leaves behind to 1/1024.
const TOLERANCE: f64 = 1e-2;

/// Classes of the network: blank, the word boundary, 39 phones.
const CLASSES: usize = 41;

/// The folder, below the one that `KALDERA_DATA` names from the project's root.
pub(crate) fn realset() -> Option<PathBuf> {
    let Some(data) = std::env::var_os("KALDERA_DATA").filter(|data| !data.is_empty()) else {
        println!("left out: KALDERA_DATA names no folder with realset");
        return None;
    };
    Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(data).join("realset"))
}

#[test]
fn best_paths_of_recordings_cost_what_they_do_elsewhere() {
    let Some(folder) = realset() else { return };
    let posteriors = arrays(&folder.join("posteriors.npz"));
    // The beams are those of the decoder there, the arcs those of OpenFst's graph.
    for (model, words, beam, most_arcs) in [("5k-tiny", "5k", 28.0, 1_129_502), ("20k-pruned", "20k", 20.0, 7_377_358)]
    {
        let graph = graph(&folder, model, words);
        assert!(graph.fsas().num_arcs() <= most_arcs, "{model}: {} arcs", graph.fsas().num_arcs());
        let golden = fs::read(folder.join(format!("golden-{model}.json"))).unwrap();
        let golden: Vec<Value> = serde_json::from_slice(&golden).unwrap();
        assert_eq!(golden.len(), 14);
        for expected in golden {
            let (id, cost) = (expected["id"].as_str().unwrap(), expected["total"].as_f64().unwrap());
            let began = Instant::now();
            let found = best_path(&graph, &posteriors[id], beam).expect("a final state is reached");
            let same = (found - cost).abs() <= TOLERANCE;
            println!(
                "{model} {id}: {found:.4}, {cost:.4} there{} ({:.1} s)",
                if same { "" } else { "; they differ" },
                began.elapsed().as_secs_f64()
            );
            // What is found is the cost of a path, so that less is better.
            assert!(found <= cost + TOLERANCE, "{model} {id}: {found}, {cost} there");
            let decoded = decoded(&graph, &posteriors[id], beam);
            assert!((decoded - found).abs() <= TOLERANCE, "{model} {id}: {decoded} by fsa::dense, {found}");
        }
    }
}

/// The most words of 106 that may be wrong, by a lexicon and a model of 20,000 words, and by a graph
/// of 5,000: 16 and 21 are, and 22 of the best paths through that graph by kaldi-decoder.
const MOST_WRONG: [usize; 2] = [17, 22];

#[test]
fn words_of_recordings_are_mostly_right() {
    let Some(folder) = realset() else { return };
    let file = |name: &str| folder.join(name).display().to_string();
    let bench = crate::bench::Bench::new();
    let mut archive = FeatureFile::create(bench.path("posteriors.ark")).unwrap();
    for (key, frames) in arrays(&folder.join("posteriors.npz")) {
        archive.write(&key, SubMatrix::new(&frames, frames.len() / CLASSES, CLASSES, CLASSES).unwrap()).unwrap();
    }
    archive.finish().unwrap();
    let make_hlg = [
        "fst",
        "make-hlg",
        "--word-boundary=<wb>",
        &format!("--tokens={}", file("lexicon/tokens.txt")),
        &file("lexicon/lexicon-g2p-5k.txt"),
        &file("lm/en-us-5k-tiny.arpa.gz"),
        "HLG.fst",
    ];
    bench.run(&make_hlg).with(0);
    let lexicon = file("lexicon/lexicon-g2p-20k.txt");
    let by_lexicon = format!(
        "separator = '<wb>'\nlexicon = '{lexicon}'\nlanguage-model = '{}'",
        file("lm/en-us-20k-pruned.arpa.gz")
    );
    let by_graph = format!("graph = '{}'", bench.path("HLG.fst").display());
    // The transcript of this one is not known.
    let known = |text: &str| {
        text.lines().filter(|line| !line.starts_with("numbers")).fold(String::new(), |all, line| all + line + "\n")
    };
    let references = fs::read_to_string(folder.join("transcripts.txt")).unwrap().replace("MISTER", "MR");
    fs::write(bench.path("ref.txt"), known(&references)).unwrap();
    for (decoder, most_wrong) in [by_lexicon, by_graph].iter().zip(MOST_WRONG) {
        fs::create_dir_all(bench.path("model")).unwrap();
        let description = format!(
            "kind = 'ctc'\ntokens = '{}'\nframe-shift = 0.02\n{decoder}\n[network]\nfile = '../posteriors.ark'\n\
             [decoding]\nbeam = 200\n",
            file("lexicon/tokens.txt")
        );
        fs::write(bench.path("model/model.toml"), description).unwrap();
        let words = bench.run(&["transcribe", "-q", "model", &file("audio")]).with(0).stdout;
        fs::write(bench.path("hyp.txt"), known(&words)).unwrap();
        let told = bench.run(&["score", "--ignore-case", "ref.txt", "hyp.txt"]).with(0).stdout;
        let last = told.lines().last().unwrap();
        println!("{last}");
        let wrong = last.split_whitespace().nth(3).and_then(|wrong| wrong.parse::<usize>().ok());
        assert!(last.contains("/ 106,") && wrong.is_some_and(|wrong| wrong <= most_wrong), "{told}");
    }
}

/// The graph that the command makes and writes.
fn graph(folder: &Path, model: &str, words: &str) -> Graph<Fsa> {
    let bench = Bench::new();
    let file = |name: String| folder.join(name).display().to_string();
    let ended = bench.fst_args(&[
        "make-hlg",
        "--word-boundary=<wb>",
        &format!("--tokens={}", file("lexicon/tokens.txt".to_owned())),
        &file(format!("lexicon/lexicon-g2p-{words}.txt")),
        &file(format!("lm/en-us-{model}.arpa.gz")),
        "HLG.fst",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    println!("{}", ended.stderr);
    OpenFstBinary::read(&fs::read(bench.path("HLG.fst")).unwrap()).unwrap().graph
}

/// The cost of the best path that the library finds.
fn decoded(graph: &Graph<Fsa>, frames: &[f32], beam: f64) -> f64 {
    let options =
        DenseOptions::default().with_search_beam(beam as f32).with_output_beam(0.0).with_max_active_states(usize::MAX);
    let dense = DenseFsaVec::from_frames(frames, CLASSES).unwrap();
    let lattices = intersect_dense_pruned(graph, &dense, &options).unwrap();
    assert_eq!(lattices.outcomes(), [Outcome::Final]);
    -total_scores::<f64, _>(lattices.graph().fsas(), Semiring::Tropical).unwrap()[0]
}

/// The cost of the best path, from frame to frame, among states whose cost is within the beam:
/// written to be believed, not to be fast.
fn best_path(graph: &Graph<Fsa>, frames: &[f32], beam: f64) -> Option<f64> {
    let (view, labels) = (graph.fsas().view(), GraphLabels::ClassPlusOne);
    let last = view.final_state()?;
    let mut now = Costs::new(view.num_states());
    let mut next = Costs::new(view.num_states());
    now.reach(0, 0.0);
    for frame in frames.chunks_exact(CLASSES) {
        now.follow_epsilons(graph, beam);
        let most = now.least() + beam;
        for &state in &now.reached {
            for arc in view.arcs_of(state).iter().filter(|_| now.costs[state] <= most) {
                if let Some(class) = labels.class(arc.label) {
                    let cost = now.costs[state] - f64::from(arc.score) - f64::from(frame[class]);
                    next.reach(usize::try_from(arc.dest_state).unwrap(), cost);
                }
            }
        }
        std::mem::swap(&mut now, &mut next);
        next.clear();
    }
    now.follow_epsilons(graph, beam);
    let finals = now.reached.iter().flat_map(|&state| view.arcs_of(state).iter().map(move |arc| (state, arc)));
    let finals = finals.filter(|(_, arc)| arc.label == FINAL);
    assert!(finals.clone().all(|(_, arc)| usize::try_from(arc.dest_state) == Ok(last)));
    finals.map(|(state, arc)| now.costs[state] - f64::from(arc.score)).min_by(f64::total_cmp)
}

/// The states that are reached, and what the best path to each costs.
struct Costs {
    costs: Vec<f64>,
    reached: Vec<usize>,
}

impl Costs {
    fn new(num_states: usize) -> Self {
        Self { costs: vec![f64::INFINITY; num_states], reached: vec![] }
    }

    /// Whether that is less than before.
    fn reach(&mut self, state: usize, cost: f64) -> bool {
        if cost < self.costs[state] {
            if self.costs[state] == f64::INFINITY {
                self.reached.push(state);
            }
            self.costs[state] = cost;
            return true;
        }
        false
    }

    fn least(&self) -> f64 {
        self.reached.iter().map(|&state| self.costs[state]).fold(f64::INFINITY, f64::min)
    }

    fn follow_epsilons(&mut self, graph: &Graph<Fsa>, beam: f64) {
        let (view, most) = (graph.fsas().view(), self.least() + beam);
        let mut waiting = self.reached.clone();
        while let Some(state) = waiting.pop() {
            let cost = self.costs[state];
            for arc in view.arcs_of(state).iter().take_while(|_| cost <= most) {
                let dest = usize::try_from(arc.dest_state).unwrap();
                if GraphLabels::ClassPlusOne.is_epsilon(arc.label) && self.reach(dest, cost - f64::from(arc.score)) {
                    waiting.push(dest);
                }
            }
        }
    }

    fn clear(&mut self) {
        for state in self.reached.drain(..) {
            self.costs[state] = f64::INFINITY;
        }
    }
}

/// The arrays of a compressed archive of NumPy, row by row.
pub(crate) fn arrays(file: &Path) -> HashMap<String, Vec<f32>> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let number =
        |at: usize, size: usize| bytes[at..at + size].iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte));
    // The directory of a zip archive, at its end, says where each file begins.
    let end = (0..bytes.len() - 21).rfind(|&at| bytes[at..].starts_with(b"PK\x05\x06")).unwrap();
    let (mut at, mut arrays) = (number(end + 16, 4), HashMap::new());
    for _ in 0..number(end + 10, 2) {
        let [size, name, extra, comment] =
            [(20, 4), (28, 2), (30, 2), (32, 2)].map(|(place, size)| number(at + place, size));
        let key = String::from_utf8(bytes[at + 46..at + 46 + name].to_vec()).unwrap();
        let head = number(at + 42, 4);
        let data = head + 30 + number(head + 26, 2) + number(head + 28, 2);
        let mut array = Vec::new();
        DeflateDecoder::new(&bytes[data..data + size]).read_to_end(&mut array).unwrap();
        let values = array[10 + usize::from(u16::from_le_bytes([array[8], array[9]]))..].chunks_exact(4);
        let values = values.map(|value| f32::from_le_bytes(value.try_into().unwrap()));
        arrays.insert(key.trim_end_matches(".npy").to_owned(), values.collect());
        at += 46 + name + extra + comment;
    }
    arrays
}
