//! Answers `benches/peers/dense.py` with the seconds that a case took, the best scores' sum and the
//! number of arcs found: `dense_cases FOLDER`, which has the unpacked arrays. With `write` before
//! the folder, this writes the graphs for the peers there, as OpenFst's files with label + 1.

use std::path::Path;

use fsa::dense::{
    CtcGraph, DenseFsaVec, DenseLattices, DenseOptions, Ending, LatticePruning, OnlineDecoder, Segment,
    intersect_dense, intersect_dense_pruned,
};
use fsa::graphs::{CtcTopology, ctc_graph, ctc_topo, trivial_graph};
use fsa::io::OpenFstBinary;
use fsa::paths::total_scores;
use fsa::{Arc, FINAL, Fsa, Graph, Ragged, Semiring};
use kaldera_benches::on_demand::{seconds, serve};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const UTTERANCES: usize = 8;
const FRAMES: usize = 500;
const CLASSES: usize = 500;

fn main() -> Fallible<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match &arguments[..] {
        [write, folder] if write == "write" => {
            let folder = Path::new(folder);
            write_for_peers(read_hlg(folder)?, &folder.join("hlg.fst"))?;
            write_for_peers(ctc_topo(CLASSES - 1, false)?, &folder.join("ctc_topo.fst"))
        }
        [folder] => {
            let folder = Path::new(folder);
            let (hlg, values) = (read_hlg(folder)?, read(folder, "dense_hlg_8x500x500.log_probs", f32::from_le_bytes)?);
            let symbols = read(folder, "symbols_64x60.symbols", i32::from_le_bytes)?;
            let dense = DenseFsaVec::from_padded(&values, [UTTERANCES, FRAMES, CLASSES], &[FRAMES; UTTERANCES])?;
            serve(|name| case(name, &hlg, &symbols), |case, times| answer(case, &dense, times))?;
            Ok(())
        }
        _ => Err("give the folder of the unpacked arrays".into()),
    }
}

type Case = Box<dyn Fn(&DenseFsaVec<'_>) -> Result<DenseLattices, fsa::Error>>;

fn case(name: &str, hlg: &Graph<Fsa>, symbols: &[i32]) -> Option<Case> {
    let (task, found) = name.rsplit_once(", ")?;
    let options = match task.rsplit_once(", ")?.1 {
        "beam 20" => DenseOptions::default(),
        "beam 10" => DenseOptions::default().with_search_beam(10.0).with_max_active_states(1000),
        "beam 8" => DenseOptions::default().with_search_beam(8.0).with_min_active_states(0),
        _ => return None,
    };
    let options = match found {
        "one best" => options.with_output_beam(0.0),
        "lattice" => options,
        "lattice by chunks" => options.with_pruning(LatticePruning::Chunkwise),
        _ => return None,
    };
    let case: Case = match task.split_once(", ")?.0 {
        "HLG" => {
            let hlg = hlg.clone();
            Box::new(move |dense| intersect_dense_pruned(&hlg, dense, &options))
        }
        "HLG online" => {
            let decoder = OnlineDecoder::new(hlg.clone(), options).ok()?;
            Box::new(move |dense| online(&decoder, dense))
        }
        "CTC topology" => {
            let topology = ctc_topo(CLASSES - 1, false).ok()?;
            Box::new(move |dense| intersect_dense_pruned(&topology, dense, &options))
        }
        "CTC implicit" => {
            let topology = CtcTopology::new(CLASSES - 1, false).ok()?;
            let topology = CtcGraph::new(topology, trivial_graph(CLASSES - 1).ok()?, None).ok()?;
            Box::new(move |dense| topology.intersect_dense_pruned(dense, &options))
        }
        "CTC graphs of 60 tokens" => {
            let symbols: Vec<_> = symbols.chunks(60).take(UTTERANCES).map(<[i32]>::to_vec).collect();
            let graphs = ctc_graph(&Ragged::from_lists(&symbols).ok()?, false).ok()?;
            Box::new(move |dense| intersect_dense(&graphs, dense, options.search_beam))
        }
        _ => return None,
    };
    Some(case)
}

fn answer(case: &mut Case, dense: &DenseFsaVec<'_>, times: usize) -> String {
    let mut found = None;
    let seconds = seconds(|| (0..times).for_each(|_| found = Some(case(dense).expect("a lattice"))));
    let Some(found) = found else { return "0 0 0".to_owned() };
    let fsas = found.graph().fsas();
    let best: f64 = total_scores::<f64, _>(fsas, Semiring::Tropical).expect("scores").into_iter().sum();
    format!("{seconds} {best} {}", fsas.num_arcs())
}

fn online(decoder: &OnlineDecoder, dense: &DenseFsaVec<'_>) -> Result<DenseLattices, fsa::Error> {
    const CHUNK: usize = 10;
    let mut streams = vec![decoder.stream(); UTTERANCES];
    for start in (0..FRAMES).step_by(CHUNK) {
        let segment = |sequence| Segment { sequence, start, duration: CHUNK };
        let chunks = dense.clone().with_segments((0..UTTERANCES).map(segment).collect());
        let mut streams: Vec<_> = streams.iter_mut().collect();
        decoder.decode(&mut streams, &chunks)?.into_iter().collect::<Result<(), _>>()?;
    }
    decoder.lattices(&streams.iter().collect::<Vec<_>>(), Ending::Final)
}

fn read<T, const N: usize>(folder: &Path, name: &str, of: fn([u8; N]) -> T) -> Fallible<Vec<T>> {
    let bytes = std::fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
    Ok(bytes.as_chunks().0.iter().map(|&bytes| of(bytes)).collect())
}

fn read_hlg(folder: &Path) -> Fallible<Graph<Fsa>> {
    let rows = read(folder, "hlg_384k.arcs", i32::from_le_bytes)?;
    let scores = read(folder, "hlg_384k.scores", f32::from_le_bytes)?;
    let num_states = read(folder, "hlg_384k.row_splits2", i32::from_le_bytes)?.len() - 1;
    let arcs = rows.as_chunks::<3>().0.iter().zip(&scores);
    let arcs = arcs.map(|(&[src, dest, label], &score)| Arc::new(src, dest, label, score)).collect::<Vec<_>>();
    let words = read(folder, "hlg_384k.aux_labels", i32::from_le_bytes)?;
    Ok(Graph::new(Fsa::from_arcs(num_states, arcs)?).with_aux_labels(words)?)
}

fn write_for_peers(graph: Graph<Fsa>, path: &Path) -> Fallible<()> {
    let (fsa, attributes) = graph.into_parts();
    let one_more = |arc: &Arc| Arc { label: if arc.label == FINAL { FINAL } else { arc.label + 1 }, ..*arc };
    let fsa = Fsa::from_arcs(fsa.num_states(), fsa.arcs().iter().map(one_more).collect::<Vec<_>>())?;
    Ok(std::fs::write(path, OpenFstBinary::new(Graph::from_parts(fsa, attributes)?).write()?)?)
}
