//! `lattice-combine`, `lattice-interp`, `lattice-compose` and `lattice-project`: lattices of two
//! systems or more, and lattices with an FST.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::Limits;
use kaldera::fsa::lattice::{BackoffModel, Lattice};
use kaldera::io::Holder;
use kaldera::io::lattice::{self, CompactLattice};
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use tracing::{info, warn};

use super::Failure;
use super::driver::map_table;
use super::lattice_lmrescore::read_fst;
use super::lattices::{
    acoustic_scale, register_acoustic_scale, register_inv_acoustic_scale, register_write_compact, to_kaldi, told,
};
use crate::{Call, Tool};

pub(super) const COMBINE: Tool =
    Tool { name: "lattice-combine", about: "Unite the lattices of systems, by their weights", run: combine };
pub(super) const INTERP: Tool =
    Tool { name: "lattice-interp", about: "Interpolate the costs of two archives of lattices", run: interpolate };
pub(super) const COMPOSE: Tool =
    Tool { name: "lattice-compose", about: "Compose lattices with an FST, or with lattices of words", run: compose };
pub(super) const PROJECT: Tool =
    Tool { name: "lattice-project", about: "Make lattices of words, or of transition identifiers", run: project };

const COMBINE_USAGE: &str = "Scales the costs of lattices, divides the probabilities of each by their sum, multiplies them by a
weight of its archive, and computes the union of the lattices with the same key. The scales stay.
Usage: lattice-combine [options] <lattice-rspecifier1> <lattice-rspecifier2> [<lattice-rspecifier3> ...] <lattice-wspecifier>
For example: lattice-combine --acoustic-scale=0.1 ark:1.lats ark:2.lats ark:both.lats";

const INTERP_USAGE: &str =
    "Keeps the word sequences of both lattices with the same key: costs are alpha times the costs of the
first plus 1 - alpha times the costs of the second. Alignments are the ones of the first.
Usage: lattice-interp [options] <lattice-rspecifier1> <lattice-rspecifier2> <lattice-wspecifier>
For example: lattice-interp --alpha=0.4 ark:1.lats ark:2.lats ark:both.lats";

const COMPOSE_USAGE: &str = "Composes lattices with an FST, whose costs are graph costs; or with lattices of words, as
lattice-project writes them.
Usage: lattice-compose [options] <lattice-rspecifier> (<fst-rxfilename>|<lattice-rspecifier2>) <lattice-wspecifier>
For example: lattice-compose ark:1.lats 'fstproject --project_output=true G.fst|' ark:2.lats";

const PROJECT_USAGE: &str =
    "Replaces the transition identifiers of lattices by the words, or the words by the identifiers.
Usage: lattice-project [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-project ark:1.lats ark:words.lats";

struct CombineOptions {
    acoustic_scale: f32,
    inv_acoustic_scale: f32,
    lm_scale: f32,
    lat_weights: String,
}

impl Default for CombineOptions {
    fn default() -> Self {
        Self { acoustic_scale: 1.0, inv_acoustic_scale: 1.0, lm_scale: 1.0, lat_weights: String::new() }
    }
}

impl OptionSet for CombineOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_acoustic_scale(registry, &mut self.acoustic_scale);
        register_inv_acoustic_scale(registry, &mut self.inv_acoustic_scale);
        registry.add("lm-scale", &mut self.lm_scale, "Factor for graph costs");
        registry.add(
            "lat-weights",
            &mut self.lat_weights,
            "Weights of the archives with colons between, as in 0.2:0.8; equal weights if not given",
        );
    }
}

fn limits() -> Limits {
    Limits::default().with_max_bytes(Limits::half_of_memory())
}

/// Returns the weight of each of `count` archives.
fn weights(text: &str, count: usize) -> Result<Vec<f64>, Failure> {
    if text.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "a few archives")]
        return Ok(vec![1.0 / count as f64; count]);
    }
    let wrong = || Failure::Option {
        name: "lat-weights",
        value: text.to_owned(),
        expected: "a number above 0 for each archive, with colons between",
    };
    let all: Option<Vec<f64>> = text.split(':').map(|weight| weight.trim().parse().ok()).collect();
    let all = all.filter(|all| all.len() == count && all.iter().all(|&weight| weight > 0.0 && weight.is_finite()));
    let all = all.ok_or_else(wrong)?;
    let sum: f64 = all.iter().sum();
    if (sum - 1.0).abs() > 1e-6 {
        warn!("--lat-weights={text}: the weights sum to {sum}, and are divided by it");
    }
    Ok(all.into_iter().map(|weight| weight / sum).collect())
}

fn combine(call: Call<'_>) -> ExitCode {
    super::run_any(COMBINE.name, COMBINE_USAGE, call, CombineOptions::default(), 3..=64, |options, plain| {
        let acoustic = acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?;
        let (output, inputs) = plain.split_last().unwrap_or((&plain[0], &[]));
        let weights = weights(&options.lat_weights, inputs.len())?;
        let mut others = Vec::new();
        for rspecifier in &inputs[1..] {
            others.push(RandomAccessReader::<CompactLattice>::open(rspecifier)?);
        }
        // Each path's probability becomes its share, times the weight.
        let normalized = |compact: &CompactLattice, weight: f64| {
            let lattice = Lattice::try_from(compact)?.scale(options.lm_scale, acoustic)?;
            let total = lattice.total_scores().first().copied().unwrap_or(f64::NEG_INFINITY);
            let added = weight.ln() - total;
            #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
            let graph = lattice
                .graph_scores()
                .iter()
                .zip(lattice.fsas().arcs())
                .map(|(&score, arc)| if arc.label < 0 { (f64::from(score) + added) as f32 } else { score });
            lattice.with_scores(graph.collect(), lattice.acoustic_scores().to_vec())
        };
        let mut missing = 0_u64;
        let counts = map_table(&inputs[0], output, |key, compact: CompactLattice| {
            let Some(first) = told(key, normalized(&compact, weights[0])) else { return Ok(None) };
            let mut all = vec![first];
            for ((other, rspecifier), &weight) in others.iter_mut().zip(&inputs[1..]).zip(&weights[1..]) {
                if other.has_key(key)? {
                    all.extend(told(key, normalized(other.value(key)?, weight)));
                } else {
                    warn!("{key} is not in {rspecifier}");
                    missing += 1;
                }
            }
            let united = Lattice::cat(&all.iter().collect::<Vec<_>>()).and_then(|all| all.union());
            Ok(told(key, united).map(|united| to_kaldi(&united)))
        })?;
        counts.log("combined", "lattices");
        // As in Kaldi, most lattices must be in all archives.
        Ok(counts.done > 0 && missing < counts.done.saturating_sub(missing))
    })
}

struct InterpOptions {
    alpha: f32,
}

impl OptionSet for InterpOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("alpha", &mut self.alpha, "Factor for the costs of the first lattices, from 0 to 1");
    }
}

fn interpolate(call: Call<'_>) -> ExitCode {
    let options = InterpOptions { alpha: 0.5 };
    super::run(INTERP.name, INTERP_USAGE, call, options, |options, [first, second, output]| {
        let mut others = RandomAccessReader::<CompactLattice>::open(&second)?;
        let (alpha, rest) = (options.alpha, 1.0 - options.alpha);
        let counts = map_table(&first, &output, |key, compact: CompactLattice| {
            if !others.has_key(key)? {
                warn!("leaving out {key}: it is not in {second}");
                return Ok(None);
            }
            let other = others.value(key)?;
            let made = Lattice::try_from(&compact)
                .and_then(|lattice| lattice.scale(alpha, alpha))
                .and_then(|first| first.compose_lattices(&Lattice::try_from(other)?.scale(rest, rest)?, limits()));
            Ok(told(key, made).and_then(|made| filled(key, &made)))
        })?;
        counts.log("interpolated", "lattices");
        Ok(counts.any_done())
    })
}

/// Returns a lattice, or logs a warning that it has no path.
fn filled(key: &str, made: &Lattice) -> Option<CompactLattice> {
    if made.fsas().num_states() == 0 {
        warn!("leaving out {key}: no path of the lattice is one of the other");
        return None;
    }
    Some(to_kaldi(made))
}

struct ComposeOptions {
    write_compact: bool,
    num_states_cache: i32,
    phi_label: i32,
    rho_label: i32,
    compose_with_fst: String,
}

impl Default for ComposeOptions {
    fn default() -> Self {
        Self {
            write_compact: true,
            num_states_cache: 50_000,
            phi_label: -1,
            rho_label: -1,
            compose_with_fst: "auto".into(),
        }
    }
}

impl OptionSet for ComposeOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_write_compact(registry, &mut self.write_compact);
        registry.add(
            "phi-label",
            &mut self.phi_label,
            "If above 0, the label of arcs that back off, taken only if a state has no arc of the word",
        );
        registry.add("rho-label", &mut self.rho_label, "Not supported: values above 0 are rejected");
        registry.add(
            "num-states-cache",
            &mut self.num_states_cache,
            "Accepted for compatibility with Kaldi; has no effect",
        );
        registry.add(
            "compose-with-fst",
            &mut self.compose_with_fst,
            "auto, or true or false as auto finds it: a file is an FST, a table has lattices",
        );
    }
}

fn compose(call: Call<'_>) -> ExitCode {
    super::run(COMPOSE.name, COMPOSE_USAGE, call, ComposeOptions::default(), |options, [input, second, output]| {
        if options.rho_label > 0 {
            let (name, value) = ("rho-label", options.rho_label.to_string());
            return Err(Failure::Option { name, value, expected: "-1: arcs for all other words are not supported" });
        }
        let is_table = Rspecifier::parse(&second).is_ok();
        let expected = match &*options.compose_with_fst.to_lowercase() {
            "auto" => is_table,
            "true" => false,
            "false" => true,
            _ => !is_table,
        };
        if expected != is_table {
            let (name, value) = ("compose-with-fst", options.compose_with_fst);
            let expected = "auto; or true with the file of an FST, false with a table of lattices";
            return Err(Failure::Option { name, value, expected });
        }
        let compact = options.write_compact;
        if is_table {
            if options.phi_label > 0 {
                let (name, value) = ("phi-label", options.phi_label.to_string());
                return Err(Failure::Option { name, value, expected: "-1 with a table of lattices" });
            }
            let mut others = RandomAccessReader::<lattice::Lattice>::open(&second)?;
            return compose_table(&input, &output, compact, |key, lattice| {
                if !others.has_key(key)? {
                    warn!("leaving out {key}: it is not in {second}");
                    return Ok(None);
                }
                let Some(words) = words_of(others.value(key)?) else {
                    warn!("leaving out {key}: the lattice in {second} is not one of words: use lattice-project");
                    return Ok(None);
                };
                let other = Lattice::try_from(&words);
                Ok(told(key, other.and_then(|other| lattice.compose_lattices(&other, limits()))))
            });
        }
        let grammar = read_fst(&second)?;
        if options.phi_label > 0 {
            let model = BackoffModel::new(grammar.fsas(), options.phi_label);
            return compose_table(&input, &output, compact, |key, lattice| {
                Ok(told(key, lattice.rescore(&model, 1.0, limits())))
            });
        }
        compose_table(&input, &output, compact, |key, lattice| Ok(told(key, lattice.compose(&grammar, limits()))))
    })
}

/// Composes the lattices of a table, and writes them in either form.
fn compose_table(
    input: &str,
    output: &str,
    compact: bool,
    mut compose: impl FnMut(&str, Lattice) -> Result<Option<Lattice>, Failure>,
) -> Result<bool, Failure> {
    let mut made = |key: &str, lattice: CompactLattice| -> Result<Option<CompactLattice>, Failure> {
        let Some(lattice) = told(key, Lattice::try_from(&lattice)) else { return Ok(None) };
        Ok(compose(key, lattice)?.and_then(|made| filled(key, &made)))
    };
    let counts = if compact {
        map_table(input, output, made)?
    } else {
        map_table(input, output, |key, lattice| Ok(made(key, lattice)?.map(|made| lattice::Lattice::from(&made))))?
    };
    counts.log("composed", "lattices");
    Ok(counts.any_done())
}

/// Returns the compact lattice without identifiers of a lattice whose arcs have a word on both
/// sides; `None` for another one.
fn words_of(lattice: &lattice::Lattice) -> Option<CompactLattice> {
    let mut arcs = lattice.states().iter().flat_map(|state| &state.arcs);
    if !arcs.all(|arc| arc.ilabel == arc.olabel) {
        return None;
    }
    let states = lattice.states().iter().map(|state| lattice::LatticeState {
        final_weight: state.final_weight.map(without_identifiers),
        arcs: state
            .arcs
            .iter()
            .map(|arc| lattice::LatticeArc {
                ilabel: arc.olabel,
                olabel: arc.olabel,
                weight: without_identifiers(arc.weight),
                next_state: arc.next_state,
            })
            .collect(),
    });
    CompactLattice::new(lattice.start(), states.collect()).ok()
}

fn without_identifiers(weight: lattice::LatticeWeight) -> lattice::CompactLatticeWeight {
    lattice::CompactLatticeWeight { weight, alignment: Vec::new() }
}

struct ProjectOptions {
    project_output: bool,
}

impl OptionSet for ProjectOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "project-output",
            &mut self.project_output,
            "Keep the words; if false, keep the transition identifiers",
        );
    }
}

fn project(call: Call<'_>) -> ExitCode {
    let options = ProjectOptions { project_output: true };
    super::run(PROJECT.name, PROJECT_USAGE, call, options, |options, [input, output]| {
        let projected = if options.project_output {
            each(&input, &output, |mut lattice: CompactLattice| {
                lattice.weights_mut().for_each(|weight| weight.alignment.clear());
                relabelled(&lattice::Lattice::from(&lattice), |arc| arc.olabel)
            })?
        } else {
            each(&input, &output, |lattice: lattice::Lattice| relabelled(&lattice, |arc| arc.ilabel))?
        };
        info!("{projected} lattices projected");
        Ok(projected > 0)
    })
}

/// Writes the lattice that is made of each.
fn each<L: Holder>(input: &str, output: &str, make: impl Fn(L) -> lattice::Lattice) -> Result<u64, Failure> {
    let mut writer = TableWriter::<lattice::Lattice>::open(output)?;
    let mut written = 0;
    for entry in SequentialReader::<L>::open(input)? {
        let (key, lattice) = entry?;
        writer.write(&key, &make(lattice))?;
        written += 1;
    }
    writer.close()?;
    Ok(written)
}

/// Returns a lattice with the same label on both sides of each arc.
fn relabelled(
    lattice: &lattice::Lattice,
    label: impl Fn(&lattice::LatticeArc<lattice::LatticeWeight>) -> i32,
) -> lattice::Lattice {
    let states = lattice.states().iter().map(|state| {
        let mut state = state.clone();
        for arc in &mut state.arcs {
            let label = label(arc);
            (arc.ilabel, arc.olabel) = (label, label);
        }
        state
    });
    // The states that arcs enter are the same.
    lattice::Lattice::new(lattice.start(), states.collect()).unwrap_or_default()
}
