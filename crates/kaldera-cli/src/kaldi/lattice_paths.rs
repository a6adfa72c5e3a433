//! `lattice-best-path`, `lattice-1best`, `lattice-to-nbest`, and the programs that read single
//! paths: `nbest-to-linear`, `nbest-to-ctm`.

use std::fmt::Write as _;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::lattice::{Lattice, LatticePath};
use kaldera::fsa::paths::sample_paths;
use kaldera::io::lattice::{self, CompactLattice};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::wxfilename::Output;
use tracing::{info, warn};

use super::Failure;
use super::lattices::{
    Scales, read_words, register_frame_shift, register_word_symbol_table, register_write_lattices, say_words, to_kaldi,
    told,
};
use crate::{Call, Tool};

pub(super) const BEST_PATH: Tool =
    Tool { name: "lattice-best-path", about: "Words and alignments of the best paths of lattices", run: best_path };
pub(super) const ONE_BEST: Tool =
    Tool { name: "lattice-1best", about: "Best paths of lattices, as lattices", run: one_best };
pub(super) const N_BEST: Tool =
    Tool { name: "lattice-to-nbest", about: "The n best paths of lattices, as lattices", run: n_best };
pub(super) const LINEAR: Tool =
    Tool { name: "nbest-to-linear", about: "Alignments, words and costs of lattices of one path", run: linear };
pub(super) const CTM: Tool =
    Tool { name: "nbest-to-ctm", about: "Times of the words of lattices of one path", run: ctm };

const BEST_PATH_USAGE: &str = "Finds the best path of each lattice and writes its words and its alignment.
Usage: lattice-best-path [options] <lattice-rspecifier> [<transcriptions-wspecifier> [<alignments-wspecifier>]]
For example: lattice-best-path --acoustic-scale=0.1 ark:1.lats ark:1.tra ark:1.ali";

const ONE_BEST_USAGE: &str = "Finds the best path of each lattice and writes it as a lattice.
Usage: lattice-1best [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-1best --acoustic-scale=0.1 ark:1.lats ark:1best.lats";

const N_BEST_USAGE: &str =
    "Finds the n best paths of each lattice and writes each as a lattice, under the key with -1, -2 and so on.
Their words differ if the lattices are determinized.
Usage: lattice-to-nbest [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-to-nbest --acoustic-scale=0.1 --n=10 ark:1.lats ark:nbest.lats";

const LINEAR_USAGE: &str = "Writes the alignments, words, graph costs and acoustic costs of lattices with one path.
Usage: nbest-to-linear [options] <nbest-rspecifier> <alignments-wspecifier> [<transcriptions-wspecifier> [<lm-cost-wspecifier> [<ac-cost-wspecifier>]]]
For example: nbest-to-linear ark:nbest.lats ark,t:1.ali ark,t:1.tra";

const CTM_USAGE: &str = "Writes a line for each word of lattices with one path, whose arcs are aligned with words: key,
1, start and duration in seconds, word.
Usage: nbest-to-ctm [options] <aligned-linear-lattice-rspecifier> <ctm-wxfilename>
For example: nbest-to-ctm ark:aligned.lats 1.ctm";

#[derive(Default)]
struct BestPathOptions {
    scales: Scales,
    word_symbol_table: String,
    write_lattices: String,
}

impl OptionSet for BestPathOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.scales.register(registry);
        register_word_symbol_table(registry, &mut self.word_symbol_table);
        register_write_lattices(registry, &mut self.write_lattices);
    }
}

fn best_path(call: Call<'_>) -> ExitCode {
    super::run_with_outputs(
        BEST_PATH.name,
        BEST_PATH_USAGE,
        call,
        BestPathOptions::default(),
        (1..=3, 1),
        |options, plain| {
            let argument = |i: usize| plain.get(i).map_or("", String::as_str);
            let reader = SequentialReader::<CompactLattice>::open(argument(0))?;
            let mut lattices = super::open_if_given::<CompactLattice>(&options.write_lattices)?;
            let mut transcriptions = super::open_if_given::<Vec<i32>>(argument(1))?;
            let mut alignments = super::open_if_given::<Vec<i32>>(argument(2))?;
            let words = read_words(&options.word_symbol_table)?;
            let (mut done, mut failed, mut frames, mut costs) = (0_u64, 0_u64, 0_usize, [0.0; 2]);
            for entry in reader {
                let (key, compact) = entry?;
                let scaled = options.scales.apply(&key, &compact);
                let Some((lattice, path)) = scaled.and_then(|lattice| best_of(&key, lattice)) else {
                    failed += 1;
                    continue;
                };
                info!(
                    "For utterance {key}, best cost {} + {} = {} over {} frames.",
                    -path.graph_score,
                    -path.acoustic_score,
                    -path.score(),
                    path.alignment.len()
                );
                costs = [costs[0] - path.graph_score, costs[1] - path.acoustic_score];
                if let Some(writer) = &mut transcriptions {
                    writer.write(&key, &path.words)?;
                }
                if let Some(writer) = &mut alignments {
                    writer.write(&key, &path.alignment)?;
                }
                say_words(&key, &path.words, words.as_ref())?;
                if let Some(writer) = &mut lattices {
                    options.scales.check_invertible()?;
                    if let Some(linear) = unscaled(&key, &options.scales, &lattice, &path) {
                        writer.write(&key, &merged(&linear))?;
                    }
                }
                done += 1;
                frames += path.alignment.len();
            }
            super::close_if_given(transcriptions)?;
            super::close_if_given(alignments)?;
            super::close_if_given(lattices)?;
            #[expect(clippy::cast_precision_loss, reason = "a mean over frames, to be read")]
            let [graph, acoustic] = costs.map(|cost| cost / frames as f64);
            let all = graph + acoustic;
            info!("Overall cost per frame is {all} = {graph} [graph] + {acoustic} [acoustic] over {frames} frames.");
            info!("Done {done} lattices, failed for {failed}");
            Ok(done > 0)
        },
    )
}

/// Returns the best path and the lattice; logs a warning if the lattice has no path.
fn best_of(key: &str, lattice: Lattice) -> Option<(Lattice, LatticePath)> {
    let path = told(key, lattice.best_path(0))?;
    if path.is_none() {
        warn!("leaving out {key}: the lattice has no path");
    }
    Some((lattice, path?))
}

/// Returns a path as a lattice with its unscaled scores.
fn unscaled(key: &str, scales: &Scales, lattice: &Lattice, path: &LatticePath) -> Option<Lattice> {
    let linear = lattice.linear(0, path);
    told(key, linear.and_then(|linear| linear.scale(1.0 / scales.lm_scale, 1.0 / scales.acoustic_scale)))
}

/// Returns a path in Kaldi's form: arcs without words are merged into the arcs before them.
fn merged(lattice: &Lattice) -> CompactLattice {
    CompactLattice::from(&lattice::Lattice::from(&to_kaldi(lattice)))
}

#[derive(Default)]
struct OneBestOptions {
    scales: Scales,
    word_ins_penalty: f32,
}

impl OptionSet for OneBestOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.scales.register(registry);
        registry.add(
            "word-ins-penalty",
            &mut self.word_ins_penalty,
            "Extra cost of each word in the search for the best path, after scaling; no effect unless above 0",
        );
    }
}

fn one_best(call: Call<'_>) -> ExitCode {
    super::run(ONE_BEST.name, ONE_BEST_USAGE, call, OneBestOptions::default(), |options, [input, output]| {
        let OneBestOptions { scales, word_ins_penalty } = options;
        scales.check_invertible()?;
        let penalty = if word_ins_penalty > 0.0 { word_ins_penalty / scales.lm_scale } else { 0.0 };
        let counts = super::driver::map_table(&input, &output, |key, mut compact: CompactLattice| {
            compact.add_to_words(penalty);
            let found = scales.apply(key, &compact).and_then(|lattice| best_of(key, lattice));
            let Some((lattice, path)) = found else { return Ok(None) };
            let Some(best) = unscaled(key, &scales, &lattice, &path) else { return Ok(None) };
            let mut best = to_kaldi(&best);
            best.add_to_words(-penalty);
            Ok(Some(best))
        })?;
        counts.log("best paths found in", "lattices");
        Ok(counts.any_done())
    })
}

struct NBestOptions {
    scales: Scales,
    n: i32,
    random: bool,
    srand: i32,
}

impl Default for NBestOptions {
    fn default() -> Self {
        Self { scales: Scales::default(), n: 1, random: false, srand: 0 }
    }
}

impl OptionSet for NBestOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.scales.register(registry);
        registry.add("n", &mut self.n, "Number of paths");
        registry.add("random", &mut self.random, "Sample paths by their probability instead of the best paths");
        registry.add("srand", &mut self.srand, "Seed of the random number generator");
    }
}

fn n_best(call: Call<'_>) -> ExitCode {
    super::run(N_BEST.name, N_BEST_USAGE, call, NBestOptions::default(), |options, [input, output]| {
        let n = usize::try_from(options.n).ok().filter(|&n| n > 0).ok_or_else(|| Failure::Option {
            name: "n",
            value: options.n.to_string(),
            expected: "a number above 0",
        })?;
        options.scales.check_invertible()?;
        let reader = SequentialReader::<CompactLattice>::open(&input)?;
        let mut writer = TableWriter::<CompactLattice>::open(&output)?;
        let (mut done, mut written) = (0_u64, 0_usize);
        for entry in reader {
            let (key, compact) = entry?;
            let Some(lattice) = options.scales.apply(&key, &compact) else { continue };
            let paths = if options.random {
                let seed = u64::from(options.srand.cast_unsigned());
                let paths = told(&key, sample_paths(lattice.fsas(), n, seed));
                paths.map(|paths| {
                    paths.rows().map(|arcs| LatticePath { arcs: arcs.to_vec(), ..LatticePath::default() }).collect()
                })
            } else {
                told(&key, lattice.n_best_paths(0, n))
            };
            let Some(paths): Option<Vec<LatticePath>> = paths else { continue };
            if paths.is_empty() {
                warn!("{key} has no path");
                continue;
            }
            let before = written;
            for (path, number) in paths.iter().zip(1..) {
                let Some(linear) = unscaled(&key, &options.scales, &lattice, path) else { continue };
                writer.write(&format!("{key}-{number}"), &merged(&linear))?;
                written += 1;
            }
            done += u64::from(written > before);
        }
        writer.close()?;
        info!("{written} paths of {done} lattices written");
        Ok(done > 0)
    })
}

/// Returns the only path of a lattice. Logs a warning and returns `None` if it has more or none.
fn only_path(key: &str, compact: &CompactLattice) -> Option<(Lattice, LatticePath)> {
    let lattice = told(key, Lattice::try_from(compact))?;
    let is_linear = (0..lattice.fsas().num_states()).all(|state| lattice.fsas().fsa(0).arcs_of(state).len() <= 1);
    let path = if is_linear { told(key, lattice.best_path(0))? } else { None };
    if path.is_none() {
        warn!(
            "leaving out {key}: it has not exactly one path; make lattices of one path with lattice-1best or lattice-to-nbest"
        );
    }
    Some((lattice, path?))
}

fn linear(call: Call<'_>) -> ExitCode {
    super::run_with_outputs(LINEAR.name, LINEAR_USAGE, call, super::NoOptions, (2..=5, 1), |_, plain| {
        let argument = |i: usize| plain.get(i).map_or("", String::as_str);
        let reader = SequentialReader::<CompactLattice>::open(argument(0))?;
        let mut alignments = super::open_if_given::<Vec<i32>>(argument(1))?;
        let mut transcriptions = super::open_if_given::<Vec<i32>>(argument(2))?;
        let mut graph_costs = super::open_if_given::<f32>(argument(3))?;
        let mut acoustic_costs = super::open_if_given::<f32>(argument(4))?;
        let (mut done, mut failed) = (0_u64, 0_u64);
        for entry in reader {
            let (key, compact) = entry?;
            let Some((_, path)) = only_path(&key, &compact) else {
                failed += 1;
                continue;
            };
            if let Some(writer) = &mut alignments {
                writer.write(&key, &path.alignment)?;
            }
            if let Some(writer) = &mut transcriptions {
                writer.write(&key, &path.words)?;
            }
            for (writer, score) in [(&mut graph_costs, path.graph_score), (&mut acoustic_costs, path.acoustic_score)] {
                if let Some(writer) = writer {
                    #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
                    writer.write(&key, &((0.0 - score) as f32))?;
                }
            }
            done += 1;
        }
        super::close_if_given(alignments)?;
        super::close_if_given(transcriptions)?;
        super::close_if_given(graph_costs)?;
        super::close_if_given(acoustic_costs)?;
        info!("{done} paths written; {failed} left out");
        Ok(done > 0)
    })
}

struct CtmOptions {
    print_silence: bool,
    frame_shift: f32,
    precision: i32,
}

impl Default for CtmOptions {
    fn default() -> Self {
        Self { print_silence: false, frame_shift: 0.01, precision: 2 }
    }
}

impl OptionSet for CtmOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("print-silence", &mut self.print_silence, "Write arcs without a word as word 0");
        register_frame_shift(registry, &mut self.frame_shift);
        registry.add(
            "precision",
            &mut self.precision,
            "Number of decimals of times; at least 3 if --frame-shift is 0.01 or less, and 4 if it is below 0.001",
        );
    }
}

impl CtmOptions {
    /// Returns the number of decimals of times. As in Kaldi the shift is single precision: 0.01 is
    /// then less than 0.01 in double precision and needs 3 digits, unless `precision` is larger.
    fn digits(&self) -> usize {
        let needed = match f64::from(self.frame_shift) {
            ..0.001 if self.precision <= 3 => 4,
            ..0.01 if self.precision <= 2 => 3,
            _ => self.precision,
        };
        usize::try_from(needed).unwrap_or(6).min(20)
    }
}

fn ctm(call: Call<'_>) -> ExitCode {
    super::run(CTM.name, CTM_USAGE, call, CtmOptions::default(), |options, [input, output]| {
        let digits = options.digits();
        let reader = SequentialReader::<CompactLattice>::open(&input)?;
        let mut output = Output::create(&output)?;
        let (mut done, mut failed) = (0_u64, 0_u64);
        for entry in reader {
            let (key, compact) = entry?;
            let Some((lattice, path)) = only_path(&key, &compact) else {
                failed += 1;
                continue;
            };
            let mut lines = String::new();
            let mut frame = 0_usize;
            for &arc in &path.arcs {
                let at = usize::try_from(arc)?;
                let frames = lattice.alignment().shape().row_splits(1).row(at).len();
                let word = lattice.fsas().arcs()[at].label;
                if word > 0 || (word == 0 && options.print_silence) {
                    #[expect(clippy::cast_precision_loss, reason = "seconds")]
                    let seconds = |frames: usize| options.frame_shift * frames as f32;
                    let (start, duration) = (seconds(frame), seconds(frames));
                    let _ = writeln!(lines, "{key} 1 {start:.digits$} {duration:.digits$} {word}");
                }
                frame += frames;
            }
            output.put(lines.as_bytes())?;
            done += 1;
        }
        output.close()?;
        info!("times of {done} paths written; {failed} left out");
        Ok(done > 0)
    })
}
