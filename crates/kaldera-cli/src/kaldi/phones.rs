//! `ali-to-phones` and `lattice-to-phone-lattice`: transition identifiers in, phones out.

use std::fmt::Write as _;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::lattice::{CompactLattice, Lattice};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::transition_model::{Transition, TransitionModel};
use kaldera::io::wxfilename::Output;
use tracing::{info, warn};

use super::Failure;
use super::driver::map_table;
use super::lattices::register_frame_shift;
use crate::{Call, Tool};

pub(super) const ALIGNMENTS: Tool =
    Tool { name: "ali-to-phones", about: "Phones of alignments, their lengths or times", run: alignments };
pub(super) const LATTICES: Tool = Tool {
    name: "lattice-to-phone-lattice",
    about: "Replace the words of lattices, or the transition identifiers, by phones",
    run: lattices,
};

const ALIGNMENTS_USAGE: &str =
    "Converts alignments, lists of transition identifiers, to phones: a number for each phone, or for each
frame, pairs of a phone and its number of frames, or lines with times.
Usage: ali-to-phones [options] <model> <alignments-rspecifier> (<phones-wspecifier>|<ctm-wxfilename>)
For example: ali-to-phones final.mdl ark:1.ali ark,t:-";

const LATTICES_USAGE: &str =
    "Replaces the words of lattices by phones; or the transition identifiers, so that arcs keep their words.
Usage: lattice-to-phone-lattice [options] <model> <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-to-phone-lattice final.mdl ark:1.lats ark:phones.lats";

struct Options {
    ctm_output: bool,
    frame_shift: f32,
    per_frame: bool,
    write_lengths: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { ctm_output: false, frame_shift: 0.01, per_frame: false, write_lengths: false }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("ctm-output", &mut self.ctm_output, "Write lines of key, 1, start and duration in seconds, phone");
        register_frame_shift(registry, &mut self.frame_shift);
        registry.add("per-frame", &mut self.per_frame, "Write the phone of each frame");
        registry.add("write-lengths", &mut self.write_lengths, "Write pairs of a phone and its number of frames");
    }
}

fn alignments(call: Call<'_>) -> ExitCode {
    super::run_any(ALIGNMENTS.name, ALIGNMENTS_USAGE, call, Options::default(), 3..=3, |options, plain| {
        if options.per_frame && options.write_lengths {
            return Err(Failure::Exclusive { first: "per-frame", second: "write-lengths" });
        }
        let model = Model::new(TransitionModel::open(&plain[0])?);
        let (input, output) = (&plain[1], &plain[2]);
        if options.ctm_output {
            let mut out = Output::create(output)?;
            // As in Kaldi, 0.01 in single precision is less than in double precision.
            let digits = if f64::from(options.frame_shift) >= 0.01 { 2 } else { 3 };
            for_each(&model, input, |key, phones| {
                let (mut start, mut lines) = (0.0_f32, String::new());
                for (phone, frames) in phones {
                    #[expect(clippy::cast_precision_loss, reason = "a number of frames")]
                    let duration = options.frame_shift * frames as f32;
                    // Writing to a string does not fail.
                    let _ = writeln!(lines, "{key} 1 {start:.digits$} {duration:.digits$} {phone}");
                    start += duration;
                }
                Ok(out.put(lines.as_bytes())?)
            })?;
            out.close()?;
        } else if options.write_lengths {
            let mut writer = TableWriter::<Vec<(i32, i32)>>::open(output)?;
            for_each(&model, input, |key, phones| Ok(writer.write(key, &phones)?))?;
            writer.close()?;
        } else {
            let mut writer = TableWriter::<Vec<i32>>::open(output)?;
            for_each(&model, input, |key, phones| {
                let times = |frames: i32| if options.per_frame { usize::try_from(frames).unwrap_or(0) } else { 1 };
                let numbers: Vec<i32> =
                    phones.iter().flat_map(|&(phone, frames)| std::iter::repeat_n(phone, times(frames))).collect();
                Ok(writer.write(key, &numbers)?)
            })?;
            writer.close()?;
        }
        Ok(true)
    })
}

/// Calls `write` with the phones of each alignment, and their numbers of frames.
fn for_each(
    model: &Model,
    input: &str,
    mut write: impl FnMut(&str, Vec<(i32, i32)>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut done, mut failed) = (0_u64, 0_u64);
    for entry in SequentialReader::<Vec<i32>>::open(input)? {
        let (key, alignment) = entry?;
        match model.phones(&alignment) {
            Some(phones) => {
                write(&key, phones)?;
                done += 1;
            }
            None => {
                warn!("leaving out {key}: it has transition identifiers that the model does not have");
                failed += 1;
            }
        }
    }
    info!("phones of {done} alignments written; {failed} left out");
    Ok(())
}

/// A transition model that tells transition states apart.
struct Model {
    model: TransitionModel,
    /// Number of the transition state of each identifier, from 1.
    states: Vec<usize>,
}

impl Model {
    /// Numbers transition states: a state has the identifiers of the transitions of a phone's state
    /// with a pdf, in a row. Where there are self-loops, each state has one.
    fn new(model: TransitionModel) -> Self {
        let all: Vec<Transition> =
            (1..).map_while(|identifier| model.get(identifier)).take(model.num_transition_ids()).collect();
        let (mut states, mut next) = (Vec::with_capacity(all.len()), 0);
        for run in all.chunk_by(|a, b| (a.phone, a.state) == (b.phone, b.state)) {
            let loops = run.iter().filter(|transition| transition.is_self_loop).count().max(1);
            let each = (run.len() / loops).max(1);
            states.extend((0..run.len()).map(|i| next + i / each));
            next += run.len().div_ceil(each);
        }
        Self { model, states }
    }

    fn state(&self, identifier: i32) -> Option<usize> {
        self.states.get(usize::try_from(identifier).ok()?.checked_sub(1)?).copied()
    }

    /// Returns the phones of an alignment with their numbers of frames; `None` for unknown
    /// identifiers. As in Kaldi, a phone that does not end before another one begins ends there.
    fn phones(&self, alignment: &[i32]) -> Option<Vec<(i32, i32)>> {
        let frames: Option<Vec<(usize, Transition)>> =
            alignment.iter().map(|&identifier| Some((self.state(identifier)?, self.model.get(identifier)?))).collect();
        let frames = frames?;
        let loops_last = loops_last(&frames);
        let (mut phones, mut first, mut at) = (Vec::new(), 0, 0);
        while at < frames.len() {
            let (state, transition) = frames[at];
            if transition.is_final && loops_last {
                while frames.get(at + 1).is_some_and(|(_, next)| next.is_self_loop) {
                    at += 1;
                }
            }
            let changes = |next: &(usize, Transition)| next.0 != state && next.1.phone != transition.phone;
            if transition.is_final || frames.get(at + 1).is_none_or(changes) {
                phones.push((frames[first].1.phone, i32::try_from(at + 1 - first).ok()?));
                first = at + 1;
            }
            at += 1;
        }
        Some(phones)
    }
}

/// Returns `true` if self-loops come behind the other transition of their state, as in graphs of
/// chain models and with `--reorder=true`.
fn loops_last(frames: &[(usize, Transition)]) -> bool {
    for pair in frames.windows(2).filter(|pair| pair[0].0 != pair[1].0) {
        if pair[0].1.is_self_loop {
            return true;
        }
        if pair[1].1.is_self_loop {
            return false;
        }
    }
    // One state.
    let is_loop = |frame: Option<&(usize, Transition)>| frame.is_some_and(|frame| frame.1.is_self_loop);
    !is_loop(frames.first()) && is_loop(frames.last())
}

struct LatticeOptions {
    replace_words: bool,
}

impl OptionSet for LatticeOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "replace-words",
            &mut self.replace_words,
            "Replace the words; if false, replace the transition identifiers",
        );
    }
}

fn lattices(call: Call<'_>) -> ExitCode {
    let options = LatticeOptions { replace_words: true };
    super::run(LATTICES.name, LATTICES_USAGE, call, options, |options, [model, input, output]| {
        let model = TransitionModel::open(&model)?;
        let counts = map_table(&input, &output, |_, mut lattice: CompactLattice| {
            if options.replace_words {
                return Ok(Some(with_phones(&model, &Lattice::from(&lattice))));
            }
            let phone = |&identifier: &i32| model.get(identifier).filter(|it| it.is_final).map(|it| it.phone);
            for weight in lattice.weights_mut() {
                weight.alignment = weight.alignment.iter().filter_map(phone).collect();
            }
            Ok(Some(lattice))
        })?;
        counts.log("converted", "lattices");
        Ok(counts.any_done())
    })
}

/// Replaces words by phones: each stands on the transition that leaves the first state of it.
fn with_phones(model: &TransitionModel, lattice: &Lattice) -> CompactLattice {
    let phone = |identifier: i32| {
        let first = model.get(identifier).filter(|it| it.state == 0 && !it.is_self_loop);
        first.map_or(0, |it| it.phone)
    };
    let states = lattice.states().iter().map(|state| {
        let mut state = state.clone();
        state.arcs.iter_mut().for_each(|arc| arc.olabel = phone(arc.ilabel));
        state
    });
    // The states that arcs enter are the same.
    let made = Lattice::new(lattice.start(), states.collect()).unwrap_or_default();
    CompactLattice::from(&made)
}
