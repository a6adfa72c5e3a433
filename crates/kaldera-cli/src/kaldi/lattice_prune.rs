//! `lattice-prune`, `lattice-determinize-pruned`, `lattice-determinize` and `lattice-union`:
//! smaller lattices, and larger ones.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::Limits;
use kaldera::fsa::lattice::{DeterminizeOptions, Lattice};
use kaldera::io::lattice::{self, CompactLattice};
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use tracing::{info, warn};

use super::Failure;
use super::driver::{Counts, map_table};
use super::lattices::{
    acoustic_scale, check_invertible, register_acoustic_scale, register_beam, register_inv_acoustic_scale,
    register_write_compact, to_kaldi, told,
};
use crate::{Call, Tool};

pub(super) const PRUNE: Tool = Tool { name: "lattice-prune", about: "Prune lattices by a beam", run: prune };
pub(super) const DETERMINIZE: Tool = Tool {
    name: "lattice-determinize-pruned",
    about: "Keep the best path of each word sequence within a beam",
    run: determinize,
};
pub(super) const DETERMINIZE_WHOLE: Tool =
    Tool { name: "lattice-determinize", about: "Keep the best path of each word sequence", run: determinize_whole };
pub(super) const UNION: Tool =
    Tool { name: "lattice-union", about: "Unite the lattices of two archives, and determinize", run: union };

const PRUNE_USAGE: &str = "Keeps the states and arcs on paths within a beam of the best path.
Usage: lattice-prune [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-prune --acoustic-scale=0.1 --beam=4.0 ark:1.lats ark:pruned.lats";

const DETERMINIZE_USAGE: &str =
    "Determinizes lattices: each word sequence within a beam keeps its best path, and its alignment.
Usage: lattice-determinize-pruned [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-determinize-pruned --acoustic-scale=0.1 --beam=6.0 ark:in.lats ark:det.lats";

const WHOLE_USAGE: &str = "Determinizes lattices: each word sequence keeps its best path, and its alignment.
Usage: lattice-determinize [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-determinize --acoustic-scale=0.1 ark:in.lats ark:det.lats";

const UNION_USAGE: &str =
    "Computes the union of the lattices with the same key in two archives, and determinizes the result.
Usage: lattice-union [options] <lattice-rspecifier1> <lattice-rspecifier2> <lattice-wspecifier>
For example: lattice-union ark:den.lats ark:num.lats ark:union.lats";

struct PruneOptions {
    acoustic_scale: f32,
    inv_acoustic_scale: f32,
    beam: f32,
    write_compact: bool,
}

impl Default for PruneOptions {
    fn default() -> Self {
        Self { acoustic_scale: 1.0, inv_acoustic_scale: 1.0, beam: 10.0, write_compact: true }
    }
}

impl OptionSet for PruneOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_acoustic_scale(registry, &mut self.acoustic_scale);
        register_inv_acoustic_scale(registry, &mut self.inv_acoustic_scale);
        register_beam(registry, &mut self.beam);
        register_write_compact(registry, &mut self.write_compact);
    }
}

fn prune(call: Call<'_>) -> ExitCode {
    super::run(PRUNE.name, PRUNE_USAGE, call, PruneOptions::default(), |options, [input, output]| {
        let scale = acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?;
        check_invertible("acoustic-scale", scale)?;
        let counts = map_scaled(&input, &output, options.write_compact, scale, |key, lattice| {
            let pruned = told(key, lattice.prune(options.beam))?;
            let (before, after) = (lattice.fsas(), pruned.fsas());
            info!(
                "{key}: {} states and {} arcs become {} and {}",
                before.num_states(),
                before.num_arcs(),
                after.num_states(),
                after.num_arcs()
            );
            Some(pruned)
        })?;
        counts.log("pruned", "lattices");
        Ok(counts.any_done())
    })
}

/// Applies `change` to lattices with scaled acoustic costs, and writes the results without the
/// scale.
fn map_scaled(
    rspecifier: &str,
    wspecifier: &str,
    compact: bool,
    scale: f32,
    mut change: impl FnMut(&str, Lattice) -> Option<Lattice>,
) -> Result<Counts, Failure> {
    let mut change = |key: &str, lattice: CompactLattice| {
        let scaled = told(key, Lattice::try_from(&lattice).and_then(|lattice| lattice.scale(1.0, scale)));
        let changed = scaled.and_then(|lattice| change(key, lattice));
        changed.and_then(|lattice| told(key, lattice.scale(1.0, 1.0 / scale))).map(|lattice| to_kaldi(&lattice))
    };
    if compact {
        map_table(rspecifier, wspecifier, |key, lattice| Ok(change(key, lattice)))
    } else {
        map_table(rspecifier, wspecifier, |key, lattice| {
            Ok(change(key, lattice).map(|made| lattice::Lattice::from(&made)))
        })
    }
}

struct DetOptions {
    acoustic_scale: f32,
    inv_acoustic_scale: f32,
    beam: f32,
    delta: f32,
    max_mem: i32,
    max_arcs: i32,
    max_states: i32,
    max_loop: i32,
    retry_cutoff: f32,
    minimize: bool,
    write_compact: bool,
}

impl Default for DetOptions {
    fn default() -> Self {
        let DeterminizeOptions { beam, delta, retry_cutoff, .. } = DeterminizeOptions::default();
        Self {
            acoustic_scale: 1.0,
            inv_acoustic_scale: 1.0,
            beam,
            delta,
            max_mem: 50_000_000,
            max_arcs: -1,
            max_states: -1,
            max_loop: 0,
            retry_cutoff,
            minimize: false,
            write_compact: true,
        }
    }
}

impl OptionSet for DetOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_acoustic_scale(registry, &mut self.acoustic_scale);
        register_inv_acoustic_scale(registry, &mut self.inv_acoustic_scale);
        register_beam(registry, &mut self.beam);
        registry.add("delta", &mut self.delta, "Tolerance for the comparison of costs");
        registry.add(
            "max-mem",
            &mut self.max_mem,
            "Memory limit of a lattice in bytes; 0 for half of the memory. The beam is narrowed at the limit",
        );
        registry.add(
            "max-arcs",
            &mut self.max_arcs,
            "Maximum number of arcs of a lattice; -1 for no limit. The beam is narrowed at the limit",
        );
        registry.add(
            "max-states",
            &mut self.max_states,
            "Maximum number of states of a lattice; -1 for no limit. The beam is narrowed at the limit",
        );
        registry.add(
            "max-loop",
            &mut self.max_loop,
            "Accepted for compatibility with Kaldi; lattices with cycles are rejected immediately",
        );
        registry.add(
            "retry-cutoff",
            &mut self.retry_cutoff,
            "If a limit narrows the beam below this fraction, determinization is repeated with a smaller beam",
        );
        registry.add(
            "minimize",
            &mut self.minimize,
            "Not supported: lattices are not minimized, and a warning is logged",
        );
        register_write_compact(registry, &mut self.write_compact);
    }
}

fn determinize(call: Call<'_>) -> ExitCode {
    super::run(DETERMINIZE.name, DETERMINIZE_USAGE, call, DetOptions::default(), |options, [input, output]| {
        let scale = acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?;
        check_invertible("acoustic-scale", scale)?;
        if options.minimize {
            warn!("--minimize=true: lattices are determinized, and not minimized");
        }
        let limit = |value: i32| usize::try_from(value).ok().filter(|&value| value > 0);
        let limits = Limits::default()
            .with_max_bytes(limit(options.max_mem).unwrap_or_else(Limits::half_of_memory))
            .with_max_states(limit(options.max_states));
        let det = DeterminizeOptions::kaldi()
            .with_beam(options.beam)
            .with_delta(options.delta)
            .with_retry_cutoff(options.retry_cutoff)
            .with_limits(limits)
            .with_max_arcs(limit(options.max_arcs));
        let mut narrowed = 0_u64;
        let counts = map_scaled(&input, &output, options.write_compact, scale, |key, lattice| {
            let (made, beams) = told(key, lattice.determinize(&det))?;
            if beams.first().is_some_and(|&beam| beam < options.beam) {
                warn!("{key}: a limit narrowed the beam to {}", beams[0]);
                narrowed += 1;
            }
            if made.fsas().num_states() == 0 {
                warn!("{key}: the determinized lattice is empty, as the lattice has no path");
            }
            Some(made)
        })?;
        counts.log("determinized", "lattices");
        info!("{narrowed} of them with a narrower beam");
        Ok(counts.any_done())
    })
}

struct WholeOptions {
    acoustic_scale: f32,
    beam: f32,
    delta: f32,
    prune: bool,
    max_mem: i32,
    max_loop: i32,
    beam_ratio: f32,
    num_loops: i32,
    minimize: bool,
}

impl Default for WholeOptions {
    fn default() -> Self {
        let DeterminizeOptions { beam, delta, .. } = DeterminizeOptions::default();
        Self {
            acoustic_scale: 1.0,
            beam,
            delta,
            prune: false,
            max_mem: 50_000_000,
            max_loop: 500_000,
            beam_ratio: 0.9,
            num_loops: 20,
            minimize: false,
        }
    }
}

impl OptionSet for WholeOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        const NO_EFFECT: &str = "Accepted for compatibility with Kaldi; has no effect";
        register_acoustic_scale(registry, &mut self.acoustic_scale);
        register_beam(registry, &mut self.beam);
        registry.add("delta", &mut self.delta, "Tolerance for the comparison of costs");
        registry.add("prune", &mut self.prune, "Prune the result by --beam");
        registry.add(
            "max-mem",
            &mut self.max_mem,
            "Memory limit of a lattice in bytes; 0 for half of the memory. A beam is used at the limit",
        );
        registry.add("max-loop", &mut self.max_loop, NO_EFFECT);
        registry.add("beam-ratio", &mut self.beam_ratio, NO_EFFECT);
        registry.add("num-loops", &mut self.num_loops, NO_EFFECT);
        registry.add(
            "minimize",
            &mut self.minimize,
            "Not supported: lattices are not minimized, and a warning is logged",
        );
    }
}

fn determinize_whole(call: Call<'_>) -> ExitCode {
    let tool = DETERMINIZE_WHOLE.name;
    super::run(tool, WHOLE_USAGE, call, WholeOptions::default(), |options, [input, output]| {
        check_invertible("acoustic-scale", options.acoustic_scale)?;
        if options.minimize {
            warn!("--minimize=true: lattices are determinized, and not minimized");
        }
        let bytes = usize::try_from(options.max_mem).ok().filter(|&bytes| bytes > 0);
        let det = DeterminizeOptions::kaldi()
            .with_beam(f32::INFINITY)
            .with_delta(options.delta)
            .with_limits(Limits::default().with_max_bytes(bytes.unwrap_or_else(Limits::half_of_memory)));
        let counts = map_scaled(&input, &output, true, options.acoustic_scale, |key, lattice| {
            let (made, beams) = told(key, lattice.determinize(&det))?;
            if beams.first().is_some_and(|beam| beam.is_finite()) {
                warn!("{key}: the limit of memory makes a beam of {}", beams[0]);
            }
            if options.prune { told(key, made.prune(options.beam)) } else { Some(made) }
        })?;
        counts.log("determinized", "lattices");
        Ok(counts.any_done())
    })
}

fn union(call: Call<'_>) -> ExitCode {
    super::run(UNION.name, UNION_USAGE, call, super::NoOptions, |_, [first, second, output]| {
        let reader = SequentialReader::<CompactLattice>::open(&first)?;
        let mut others = RandomAccessReader::<CompactLattice>::open(&second)?;
        let mut writer = TableWriter::<CompactLattice>::open(&output)?;
        let limits = Limits::default().with_max_bytes(Limits::half_of_memory());
        let everything = DeterminizeOptions::default().with_beam(f32::INFINITY).with_limits(limits);
        let (mut united, mut written) = (0_u64, 0_u64);
        for entry in reader {
            let (key, compact) = entry?;
            let Some(mut lattice) = told(&key, Lattice::try_from(&compact)) else { continue };
            if others.has_key(&key)? {
                let both = Lattice::try_from(others.value(&key)?)
                    .and_then(|other| Lattice::cat(&[&lattice, &other]))
                    .and_then(|both| both.union());
                let Some(both) = told(&key, both) else { continue };
                lattice = both;
                united += 1;
            } else {
                warn!("{key} is not in {second}: its first lattice is determinized and written");
            }
            let Some((made, _)) = told(&key, lattice.determinize(&everything)) else { continue };
            writer.write(&key, &to_kaldi(&made))?;
            written += 1;
        }
        writer.close()?;
        info!("{written} lattices written, {united} of them united from two");
        Ok(written > 0)
    })
}
