//! `lattice-arc-post`, `lattice-depth` and `lattice-depth-per-frame`: posteriors of arcs, and the
//! number of parallel arcs.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::lattice::Lattice;
use kaldera::io::lattice::CompactLattice;
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::transition_model::TransitionModel;
use kaldera::io::wxfilename::Output;
use kaldera::matrix::codec::push_number;
use tracing::{info, warn};

use super::lattices::{Scales, check_invertible, told};
use crate::{Call, Tool};

pub(super) const ARC_POST: Tool =
    Tool { name: "lattice-arc-post", about: "Posteriors of the arcs of lattices, with times", run: arc_post };
pub(super) const DEPTH: Tool =
    Tool { name: "lattice-depth", about: "Average number of arcs per frame of lattices", run: depth };

pub(super) const DEPTH_PER_FRAME: Tool =
    Tool { name: "lattice-depth-per-frame", about: "Number of arcs that cross each frame of lattices", run: depths };

const ARC_POST_USAGE: &str =
    "Writes a line for each arc: key, first frame, number of frames, posterior, word, separated by
tabs. The times of words are exact only if lattices are aligned with words. With a model, the phones
that end on the arc follow, separated by spaces.
Usage: lattice-arc-post [options] [<model>] <lattices-rspecifier> <output-wxfilename>
For example: lattice-arc-post --acoustic-scale=0.1 ark:1.lats post.txt";

const DEPTH_USAGE: &str = "Writes the depth of each lattice: the average number of arcs that cross a frame.
Usage: lattice-depth [options] <lattice-rspecifier> [<depth-wspecifier>]
For example: lattice-depth ark:1.lats ark,t:-";

const DEPTHS_USAGE: &str =
    "Writes for each lattice the number of arcs that cross each frame, and the lattices unchanged.
Usage: lattice-depth-per-frame [options] <lattice-rspecifier> <depth-wspecifier> [<lattice-wspecifier>]
For example: lattice-depth-per-frame ark:1.lats ark,t:-";

struct Options {
    scales: Scales,
    print_alignment: bool,
    min_post: f32,
}

impl Default for Options {
    fn default() -> Self {
        Self { scales: Scales::default(), print_alignment: false, min_post: 1e-4 }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.scales.register(registry);
        registry.add("print-alignment", &mut self.print_alignment, "Add the transition identifiers of each arc");
        registry.add("min-post", &mut self.min_post, "Skip arcs with posteriors up to this value");
    }
}

fn arc_post(call: Call<'_>) -> ExitCode {
    super::run_any(ARC_POST.name, ARC_POST_USAGE, call, Options::default(), 2..=3, |options, plain| {
        check_invertible("acoustic-scale", options.scales.acoustic_scale)?;
        let (model, [input, output]) = match plain.as_slice() {
            [model, input, output] => (Some(TransitionModel::open(model)?), [input, output]),
            plain => (None, [&plain[0], &plain[1]]),
        };
        let mut output = Output::create(output)?;
        let (mut done, mut failed) = (0_u64, 0_u64);
        for entry in SequentialReader::<CompactLattice>::open(input)? {
            let (key, compact) = entry?;
            let scaled = options.scales.apply(&key, &compact);
            let lines = scaled
                .and_then(|lattice| told(&key, lines(&key, &lattice, &options, model.as_ref())))
                .unwrap_or_default();
            if lines.is_empty() {
                warn!("{key} has no arc with a higher posterior than --min-post");
                failed += 1;
            } else {
                done += 1;
            }
            output.put(&lines)?;
        }
        output.close()?;
        info!("posteriors of {done} lattices written; {failed} have none");
        Ok(done > 0)
    })
}

fn lines(
    key: &str,
    lattice: &Lattice,
    options: &Options,
    model: Option<&TransitionModel>,
) -> Result<Vec<u8>, kaldera::fsa::Error> {
    let (posteriors, times) = (lattice.arc_posteriors(), lattice.state_times(0)?);
    let mut lines = Vec::new();
    for ((i, arc), posterior) in lattice.fsas().arcs().iter().enumerate().zip(posteriors) {
        let time = usize::try_from(arc.src_state).ok().and_then(|state| times[state]);
        let (Some(time), true) = (time, arc.label >= 0 && posterior > f64::from(options.min_post)) else { continue };
        let labels = &lattice.alignment().values()[lattice.alignment().shape().row_splits(1).row(i)];
        lines.extend(format!("{key}\t{time}\t{}\t", labels.len()).bytes());
        push_number(&mut lines, posterior.min(1.0));
        lines.extend(format!("\t{}", arc.label).bytes());
        if options.print_alignment {
            let labels: Vec<_> = labels.iter().map(i32::to_string).collect();
            lines.extend(format!("\t{}", labels.join(",")).bytes());
        }
        if let Some(model) = model {
            let ends = labels.iter().filter_map(|&label| model.get(label)).filter(|transition| transition.is_final);
            let phones: Vec<_> = ends.map(|transition| transition.phone.to_string()).collect();
            lines.extend(format!("\t{}", phones.join(" ")).bytes());
        }
        lines.push(b'\n');
    }
    Ok(lines)
}

fn depth(call: Call<'_>) -> ExitCode {
    super::run_any(DEPTH.name, DEPTH_USAGE, call, super::NoOptions, 1..=2, |_, plain| {
        let reader = SequentialReader::<CompactLattice>::open(&plain[0])?;
        let mut writer = super::open_if_given::<f32>(plain.get(1).map_or("", String::as_str))?;
        let (mut done, mut all, mut labels) = (0_u64, 0_usize, 0.0);
        for entry in reader {
            let (key, compact) = entry?;
            let depth = told(&key, Lattice::try_from(&compact).and_then(|lattice| lattice.depth(0)));
            let Some((depth, frames)) = depth else { continue };
            if let Some(writer) = &mut writer {
                #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
                writer.write(&key, &(depth as f32))?;
            }
            all += frames;
            #[expect(clippy::cast_precision_loss, reason = "a mean")]
            {
                labels += depth * frames as f64;
            }
            done += 1;
        }
        super::close_if_given(writer)?;
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let mean = labels / all.max(1) as f64;
        info!("Done {done} lattices.");
        info!("Overall density is {mean} over {all} frames.");
        Ok(done > 0)
    })
}

fn depths(call: Call<'_>) -> ExitCode {
    super::run_with_outputs(DEPTH_PER_FRAME.name, DEPTHS_USAGE, call, super::NoOptions, (2..=3, 1), |_, plain| {
        let reader = SequentialReader::<CompactLattice>::open(&plain[0])?;
        let mut depths = TableWriter::<Vec<i32>>::open(&plain[1])?;
        let mut lattices = super::open_if_given::<CompactLattice>(plain.get(2).map_or("", String::as_str))?;
        let mut done = 0_u64;
        for entry in reader {
            let (key, compact) = entry?;
            let own = told(&key, Lattice::try_from(&compact).and_then(|lattice| lattice.depth_per_frame(0)));
            let Some(own) = own else { continue };
            depths.write(&key, &own.into_iter().map(i32::try_from).collect::<Result<Vec<_>, _>>()?)?;
            if let Some(writer) = &mut lattices {
                writer.write(&key, &compact)?;
            }
            done += 1;
        }
        depths.close()?;
        super::close_if_given(lattices)?;
        info!("depths of {done} lattices written");
        Ok(done > 0)
    })
}
