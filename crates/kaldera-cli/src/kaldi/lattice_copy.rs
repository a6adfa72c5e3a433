//! `lattice-copy`, `lattice-copy-backoff`, `lattice-scale` and `lattice-add-penalty`: lattices
//! unchanged, or with other costs.

use std::collections::HashSet;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::Holder;
use kaldera::io::lattice::{CompactLattice, Lattice};
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use tracing::info;

use crate::kaldi::Failure;
use crate::kaldi::driver::map_table;
use crate::kaldi::lattices::{
    acoustic_scale, read_text, register_acoustic_scale, register_inv_acoustic_scale, register_write_compact,
};
use crate::{Call, Tool};

pub(super) const COPY: Tool = Tool { name: "lattice-copy", about: "Copy lattices, compact or not", run: copy };
pub(super) const SCALE: Tool =
    Tool { name: "lattice-scale", about: "Multiply the costs of lattices, or mix them", run: scale };

pub(super) const BACKOFF: Tool = Tool {
    name: "lattice-copy-backoff",
    about: "Copy lattices, from a second archive where it has them",
    run: backoff,
};
pub(super) const PENALTY: Tool =
    Tool { name: "lattice-add-penalty", about: "Add a cost to each word of lattices", run: penalty };

const COPY_USAGE: &str = "Copies lattices, and changes their form: text or binary, compact or not.
Usage: lattice-copy [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-copy --write-compact=false ark:1.lats ark,t:text.lats";

const SCALE_USAGE: &str =
    "Multiplies the costs of lattices. The output has the scaled costs, while many other programs scale only internally.
Usage: lattice-scale [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-scale --lm-scale=0.0 ark:1.lats ark:scaled.lats";

const BACKOFF_USAGE: &str = "Copies lattices of the second archive, and of the first for keys that are not there.
Usage: lattice-copy-backoff [options] <lattice-rspecifier1> <lattice-rspecifier2> <lattice-wspecifier>
For example: lattice-copy-backoff ark:complete.lats ark:better.lats ark:out.lats";

const PENALTY_USAGE: &str = "Adds a cost to the graph costs of each word of lattices.
Usage: lattice-add-penalty [options] <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-add-penalty --word-ins-penalty=1.0 ark:1.lats ark:2.lats";

struct CopyOptions {
    write_compact: bool,
    include: String,
    exclude: String,
    ignore_missing: bool,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self { write_compact: true, include: String::new(), exclude: String::new(), ignore_missing: false }
    }
}

impl OptionSet for CopyOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_write_compact(registry, &mut self.write_compact);
        registry.add("include", &mut self.include, "File with the keys to copy, the first word of each line");
        registry.add("exclude", &mut self.exclude, "File with the keys to skip, the first word of each line");
        registry.add(
            "ignore-missing",
            &mut self.ignore_missing,
            "With --include, exit with 0 even if nothing was copied",
        );
    }
}

struct ScaleOptions {
    write_compact: bool,
    acoustic_scale: f32,
    inv_acoustic_scale: f32,
    lm_scale: f32,
    acoustic2lm_scale: f32,
    lm2acoustic_scale: f32,
}

impl Default for ScaleOptions {
    fn default() -> Self {
        Self {
            write_compact: true,
            acoustic_scale: 1.0,
            inv_acoustic_scale: 1.0,
            lm_scale: 1.0,
            acoustic2lm_scale: 0.0,
            lm2acoustic_scale: 0.0,
        }
    }
}

impl OptionSet for ScaleOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_write_compact(registry, &mut self.write_compact);
        register_acoustic_scale(registry, &mut self.acoustic_scale);
        register_inv_acoustic_scale(registry, &mut self.inv_acoustic_scale);
        registry.add("lm-scale", &mut self.lm_scale, "Factor for graph costs");
        registry.add(
            "acoustic2lm-scale",
            &mut self.acoustic2lm_scale,
            "Fraction of the acoustic costs that is added to the graph costs",
        );
        registry.add(
            "lm2acoustic-scale",
            &mut self.lm2acoustic_scale,
            "Fraction of the graph costs that is added to the acoustic costs",
        );
    }
}

struct PenaltyOptions {
    word_ins_penalty: f32,
}

impl OptionSet for PenaltyOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("word-ins-penalty", &mut self.word_ins_penalty, "Cost of a word");
    }
}

fn penalty(call: Call<'_>) -> ExitCode {
    let options = PenaltyOptions { word_ins_penalty: 0.0 };
    super::run(PENALTY.name, PENALTY_USAGE, call, options, |options, [input, output]| {
        let cost = options.word_ins_penalty;
        let written = change::<CompactLattice>(&input, &output, |_| true, |lattice| lattice.add_to_words(cost))?;
        Ok(written > 0)
    })
}

fn backoff(call: Call<'_>) -> ExitCode {
    super::run(BACKOFF.name, BACKOFF_USAGE, call, super::NoOptions, |_, [first, second, output]| {
        let mut better = RandomAccessReader::<CompactLattice>::open(&second)?;
        let mut absent = 0_u64;
        let counts = map_table(&first, &output, |key, lattice: CompactLattice| {
            if better.has_key(key)? {
                return Ok(Some(better.value(key)?.clone()));
            }
            absent += 1;
            Ok(Some(lattice))
        })?;
        info!("{} lattices written, {absent} of them of the first archive", counts.done);
        Ok(counts.any_done())
    })
}

fn copy(call: Call<'_>) -> ExitCode {
    super::run(COPY.name, COPY_USAGE, call, CopyOptions::default(), |options, [input, output]| {
        if !options.include.is_empty() && !options.exclude.is_empty() {
            return Err(Failure::Exclusive { first: "include", second: "exclude" });
        }
        let (included, excluded) = (read_keys(&options.include)?, read_keys(&options.exclude)?);
        let wanted = |key: &str| {
            included.as_ref().is_none_or(|keys| keys.contains(key))
                && excluded.as_ref().is_none_or(|keys| !keys.contains(key))
        };
        let copied = if options.write_compact {
            change::<CompactLattice>(&input, &output, wanted, |_| ())?
        } else {
            change::<Lattice>(&input, &output, wanted, |_| ())?
        };
        Ok(copied > 0 || options.ignore_missing)
    })
}

fn scale(call: Call<'_>) -> ExitCode {
    super::run(SCALE.name, SCALE_USAGE, call, ScaleOptions::default(), |options, [input, output]| {
        let acoustic = acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?;
        let row = |graph: f32, acoustic: f32| [f64::from(graph), f64::from(acoustic)];
        let scale = [row(options.lm_scale, options.acoustic2lm_scale), row(options.lm2acoustic_scale, acoustic)];
        let scaled = if options.write_compact {
            change::<CompactLattice>(&input, &output, |_| true, |lattice| lattice.scale(scale))?
        } else {
            change::<Lattice>(&input, &output, |_| true, |lattice| lattice.scale(scale))?
        };
        Ok(scaled > 0)
    })
}

/// Applies `change` to the lattices of wanted keys and writes them; returns their number.
fn change<L: Holder>(
    rspecifier: &str,
    wspecifier: &str,
    wanted: impl Fn(&str) -> bool,
    change: impl Fn(&mut L),
) -> Result<u64, Failure> {
    let reader = SequentialReader::<L>::open(rspecifier)?;
    let mut writer = TableWriter::<L>::open(wspecifier)?;
    let mut written = 0;
    for entry in reader {
        let (key, mut lattice) = entry?;
        if wanted(&key) {
            change(&mut lattice);
            writer.write(&key, &lattice)?;
            written += 1;
        }
    }
    writer.close()?;
    info!("{written} lattices written");
    Ok(written)
}

/// Reads the first word of each line of a text; `None` without a file name.
fn read_keys(rxfilename: &str) -> Result<Option<HashSet<String>>, Failure> {
    if rxfilename.is_empty() {
        return Ok(None);
    }
    let text = read_text(rxfilename)?;
    let keys = text.lines().filter_map(|line| line.split_ascii_whitespace().next());
    Ok(Some(keys.map(str::to_owned).collect()))
}
