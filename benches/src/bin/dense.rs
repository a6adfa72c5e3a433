//! Decoding against network output: best times of one thread, and what was found.
//!
//! ```text
//! python3 benches/peers/dense.py FOLDER       unpacks the inputs (FOLDER has hlg_384k.npz, dense_hlg_8x500x500.npz, symbols_64x60.npz) and runs this
//! ```

use std::path::Path;
use std::time::Instant;

use fsa::dense::{
    CtcGraph, DenseFsaVec, DenseLattices, DenseOptions, Ending, LatticePruning, OnlineDecoder, Outcome, Segment,
    intersect_dense, intersect_dense_pruned,
};
use fsa::graphs::{CtcTopology, ctc_graph, ctc_topo, trivial_graph};
use fsa::paths::total_scores;
use fsa::{Arc, Fsa, Graph, Ragged, Semiring};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const UTTERANCES: usize = 8;
const FRAMES: usize = 500;
const CLASSES: usize = 500;
const REPEATS: usize = 9;

fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).ok_or("give the folder of the unpacked arrays")?;
    let read = |name: &str| std::fs::read(Path::new(&folder).join(name));
    let ints = |name: &str| Ok::<_, std::io::Error>(numbers(&read(name)?, i32::from_le_bytes));
    let floats = |name: &str| Ok::<_, std::io::Error>(numbers(&read(name)?, f32::from_le_bytes));

    let (rows, scores) = (ints("hlg_384k.arcs")?, floats("hlg_384k.scores")?);
    let arcs = rows.as_chunks::<3>().0.iter().zip(&scores);
    let arcs: Vec<_> = arcs.map(|(&[src, dest, label], &score)| Arc::new(src, dest, label, score)).collect();
    let num_states = ints("hlg_384k.row_splits2")?.len() - 1;
    let hlg = Graph::new(Fsa::from_arcs(num_states, arcs)?).with_aux_labels(ints("hlg_384k.aux_labels")?)?;
    let values = floats("dense_hlg_8x500x500.log_probs")?;
    let dense = DenseFsaVec::from_padded(&values, [UTTERANCES, FRAMES, CLASSES], &[FRAMES; UTTERANCES])?;

    let options = DenseOptions::default;
    let narrow = options().with_search_beam(10.0).with_max_active_states(1000);
    for (name, options) in [
        ("HLG, beam 20, max 10000, one best", options().with_output_beam(0.0)),
        ("HLG, beam 20, max 10000, lattice", options()),
        ("HLG, beam 20, max 10000, lattice by chunks", options().with_pruning(LatticePruning::Chunkwise)),
        ("HLG, beam 10, max 1000, one best", narrow.clone().with_output_beam(0.0)),
        ("HLG, beam 10, max 1000, lattice", narrow),
    ] {
        report(name, || intersect_dense_pruned(&hlg, &dense, &options))?;
    }
    let decoder = OnlineDecoder::new(hlg, options())?;
    report("HLG, beam 20, max 10000, online, 10 frames a chunk", || online(&decoder, &dense))?;

    let narrow = options().with_search_beam(8.0).with_min_active_states(0);
    let implicit = CtcGraph::new(CtcTopology::new(CLASSES - 1, false)?, trivial_graph(CLASSES - 1)?, None)?;
    let explicit = ctc_topo(CLASSES - 1, false)?;
    for (name, options) in [("one best", narrow.clone().with_output_beam(0.0)), ("lattice", narrow)] {
        let name = format!("CTC topology of {CLASSES} tokens, beam 8, {name}");
        report(&name, || implicit.intersect_dense_pruned(&dense, &options))?;
        report(&format!("{name}, explicit"), || intersect_dense_pruned(&explicit, &dense, &options))?;
    }

    let symbols = ints("symbols_64x60.symbols")?;
    let symbols: Vec<_> = symbols.chunks(60).take(UTTERANCES).map(<[i32]>::to_vec).collect();
    let graphs = ctc_graph(&Ragged::from_lists(&symbols)?, false)?;
    report("CTC graphs of 60 tokens, exact, beam 10", || intersect_dense(&graphs, &dense, 10.0))
}

fn numbers<T, const N: usize>(bytes: &[u8], of: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|&bytes| of(bytes)).collect()
}

fn online(decoder: &OnlineDecoder, dense: &DenseFsaVec<'_>) -> std::result::Result<DenseLattices, fsa::Error> {
    const CHUNK: usize = 10;
    let mut streams = vec![decoder.stream(); UTTERANCES];
    for start in (0..FRAMES).step_by(CHUNK) {
        let segment = |sequence| Segment { sequence, start, duration: CHUNK };
        let chunks = dense.clone().with_segments((0..UTTERANCES).map(segment).collect());
        let mut streams: Vec<_> = streams.iter_mut().collect();
        decoder.decode(&mut streams, &chunks)?.into_iter().collect::<std::result::Result<(), _>>()?;
    }
    decoder.lattices(&streams.iter().collect::<Vec<_>>(), Ending::Final)
}

/// The best time of some runs, and what came of them.
fn report(name: &str, run: impl Fn() -> std::result::Result<DenseLattices, fsa::Error>) -> Result<()> {
    let mut came = run()?;
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let start = Instant::now();
        came = run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let fsas = came.graph().fsas();
    let total: f64 = total_scores::<f64, _>(fsas, Semiring::Tropical)?.into_iter().sum();
    let complete = came.outcomes().iter().filter(|&outcome| *outcome == Outcome::Final).count();
    println!(
        "{name}: {:.1} ms, {} arcs, best scores {total:.3}, {complete} of {UTTERANCES} complete",
        1e3 * best,
        fsas.num_arcs()
    );
    Ok(())
}
