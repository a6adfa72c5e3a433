//! Losses, forward and backward: best and median times.
//!
//! ```text
//! python3 benches/peers/losses.py       runs this and the peers in turn, on one thread
//! RAYON_NUM_THREADS=1 cargo run --release -p kaldera-benches --bin losses
//! ```

use std::time::Instant;

use fsa::dense::DenseFsaVec;
use fsa::graphs::ctc_graph;
use kaldera::lod::LodTensor;
use kaldera::losses::rnnt::{
    do_rnnt_pruning, get_rnnt_prune_ranges, rnnt_loss_pruned, rnnt_loss_simple, rnnt_loss_smoothed,
};
use kaldera::losses::{
    CtcGraphOptions, CtcOptions, Projection, Reduction, RnntOptions, ctc_loss, ctc_loss_graph, ctc_loss_projected,
    rnnt_loss,
};
use ragged_core::Ragged;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const REPEATS: usize = 15;

fn main() -> Result<()> {
    ctc()?;
    // Many classes, where memory counts, and many labels, where the sums do.
    ctc_of("ctc 4x500x5000, 60 labels", [4, 500, 5000], 60)?;
    ctc_of("ctc 4x3000x500, 400 labels", [4, 3000, 500], 400)?;
    simple_and_pruned()?;
    full()?;
    large_vocabulary()
}

fn ctc_of(name: &str, [sequences, frames, classes]: [usize; 3], labels: usize) -> Result<()> {
    let logits = tensor(sequences, frames, classes)?;
    let labels = labels_of(sequences, labels, classes)?;
    let options = CtcOptions::default().with_reduction(Reduction::Sum);
    report(name, || {
        let (loss, saved) = ctc_loss(&logits, &labels, &options)?;
        Ok(loss[0] + first(saved.backward(&[1.0])?.values()))
    })
}

fn ctc() -> Result<()> {
    let (sequences, frames, classes, labels) = (16, 500, 500, 60);
    ctc_of("ctc 16x500x500, 60 labels", [sequences, frames, classes], labels)?;
    let logits = tensor(sequences, frames, classes)?;
    let labels = labels_of(sequences, labels, classes)?;
    let options = CtcOptions::default().with_reduction(Reduction::Sum);
    let mut gradient = vec![0.0; logits.values().len()];
    report("ctc 16x500x500 into memory of the caller", || {
        let (loss, saved) = ctc_loss(&logits, &labels, &options)?;
        saved.backward_into(&[1.0], &mut gradient)?;
        Ok(loss[0] + first(&gradient))
    })?;
    report("ctc 16x500x500, forward alone", || Ok(ctc_loss(&logits, &labels, &options)?.0[0]))?;
    let graph = ctc_graph(&labels, false)?;
    let dense = DenseFsaVec::from_padded(logits.values(), [sequences, frames, classes], &[frames; 16])?;
    report("ctc 16x500x500 over graphs, output beam 10", || {
        let (loss, saved) = ctc_loss_graph(&graph, &dense, &[60; 16], &CtcGraphOptions::default())?;
        Ok(loss[0] + saved.backward(&[1.0])?[0])
    })
}

fn simple_and_pruned() -> Result<()> {
    let (sequences, frames, classes, labels) = (8, 250, 500, 60);
    let (am, lm) = (tensor(sequences, frames, classes)?, tensor(sequences, labels + 1, classes)?);
    let labels = labels_of(sequences, labels, classes)?;
    let options = RnntOptions::default().with_reduction(Reduction::Sum);
    report("rnnt simple 8x250x60x500", || {
        let (loss, saved) = rnnt_loss_simple(&am, &lm, &labels, &options)?;
        Ok(loss[0] + first(saved.backward(&[1.0])?.0.values()))
    })?;
    report("rnnt smoothed 8x250x60x500", || {
        let (loss, saved) = rnnt_loss_smoothed(&am, &lm, &labels, 0.25, 0.1, &options)?;
        Ok(loss[0] + first(saved.backward(&[1.0])?.0.values()))
    })?;
    let occupations = rnnt_loss_simple(&am, &lm, &labels, &options)?.1;
    report("rnnt prune ranges, 5 symbols", || {
        Ok(get_rnnt_prune_ranges(occupations.occupations(), 5)?.begins(0)[0] as f64)
    })?;
    let ranges = get_rnnt_prune_ranges(occupations.occupations(), 5)?;
    let (of_am, of_lm, _) = do_rnnt_pruning(&am, &lm, &ranges)?;
    let logits = of_am.zip_map(&of_lm, |a, b| a + b)?;
    report("rnnt pruned 8x250x5x500", || {
        let (loss, saved) = rnnt_loss_pruned(&logits, &labels, &ranges, &options)?;
        Ok(loss[0] + first(saved.backward(&[1.0])?.values()))
    })
}

fn full() -> Result<()> {
    let (sequences, frames, classes, labels) = (2, 200, 500, 40);
    let logits = tensor(sequences, frames * (labels + 1), classes)?;
    let labels = labels_of(sequences, labels, classes)?;
    let options = RnntOptions::default().with_reduction(Reduction::Sum);
    report("rnnt full 2x200x41x500", || {
        let (loss, saved) = rnnt_loss(&logits, &labels, &options)?;
        Ok(loss[0] + first(saved.backward(&[1.0])?.values()))
    })?;
    let mut gradient = vec![0.0; logits.values().len()];
    report("rnnt full 2x200x41x500 into memory of the caller", || {
        let (loss, saved) = rnnt_loss(&logits, &labels, &options)?;
        saved.backward_into(&[1.0], &mut gradient)?;
        Ok(loss[0] + first(&gradient))
    })
}

fn large_vocabulary() -> Result<()> {
    let (sequences, frames, classes, dim) = (4, 250, 5000, 256);
    let states = tensor(sequences, frames, dim)?;
    let (weight, bias) = (numbers(classes * dim), vec![0.0; classes]);
    let labels = labels_of(sequences, 40, classes)?;
    let options = CtcOptions::default().with_reduction(Reduction::Sum);
    report("ctc 4x250x5000 from 256 dimensions", || {
        let projection = Projection { weight: &weight, bias: &bias };
        let (loss, saved) = ctc_loss_projected(&states, projection, &labels, &options)?;
        Ok(loss[0] + first(saved.backward(&[1.0])?.0.values()))
    })
}

fn first(values: &[f32]) -> f64 {
    f64::from(values[0])
}

/// Numbers of the same spread as a network's before training.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 22) as f32 - 2.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn tensor(sequences: usize, rows: usize, width: usize) -> Result<LodTensor<f32>> {
    Ok(LodTensor::from_lengths(&vec![rows; sequences], width, numbers(sequences * rows * width))?)
}

fn labels_of(sequences: usize, labels: usize, classes: usize) -> Result<Ragged<i32>> {
    let label = |i: usize| i32::try_from(1 + i * 7919 % (classes - 1));
    let list = |sequence: usize| (0..labels).map(|i| label(sequence * labels + i)).collect();
    let lists: std::result::Result<Vec<Vec<i32>>, _> = (0..sequences).map(list).collect();
    Ok(Ragged::from_lists(&lists?)?)
}

fn report(name: &str, mut run: impl FnMut() -> Result<f64>) -> Result<()> {
    let mut times = Vec::with_capacity(REPEATS);
    let mut value = run()?;
    for _ in 0..REPEATS {
        let start = Instant::now();
        value = run()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!("{name:50} {:8.2} ms best, {:8.2} median   ({value:.4})", times[0], times[REPEATS / 2]);
    Ok(())
}
