//! Answers lines `TIMES GRAPH, BEAM, RESULT` of dense.py with seconds, the best scores' sum and the number of arcs.

use std::fs;
use std::io::stdin;
use std::path::Path;
use std::time::Instant;

use sicada::fst::FstReadOptions;
use sicada::prelude::*;
use sicada_decode::{DecodeOptions, DenseFst, LatticeDecodeOptions, lattice_decode, viterbi_decode};

const FRAMES: usize = 500;
const CLASSES: usize = 500;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("give the folder of the unpacked arrays")?;
    let folder = Path::new(&folder);
    let graph = |name: &str| -> Result<StdVectorFst, Box<dyn std::error::Error>> {
        Ok(StdVectorFst::read(&mut &fs::read(folder.join(name))?[..], &FstReadOptions::default())?)
    };
    let (hlg, topology) = (graph("hlg.fst")?, graph("ctc_topo.fst")?);
    let bytes = fs::read(folder.join("dense_hlg_8x500x500.log_probs"))?;
    let costs: Vec<f32> = bytes.as_chunks().0.iter().map(|&bytes| -f32::from_le_bytes(bytes)).collect();

    for line in stdin().lines() {
        let line = line?;
        let (times, name) = line.split_once(' ').ok_or("TIMES CASE")?;
        let [graph, beam, result] = name.split(", ").collect::<Vec<_>>()[..] else { break };
        let graph = match graph {
            "HLG" => &hlg,
            "CTC topology" => &topology,
            _ => {
                println!("-");
                continue;
            }
        };
        let (beam, max_active, min_active) = match beam {
            "beam 20" => (20.0, 10_000, 30),
            "beam 10" => (10.0, 1000, 30),
            _ => (8.0, 10_000, 0),
        };
        let search = DecodeOptions { beam, max_active, min_active };
        let start = Instant::now();
        let (mut best, mut arcs) = (0.0, 0);
        for _ in 0..times.parse()? {
            (best, arcs) = (0.0, 0);
            for costs in costs.chunks(FRAMES * CLASSES) {
                let dense = DenseFst::<StdArc>::new(costs, FRAMES, CLASSES)?;
                if result == "one best" {
                    best -= viterbi_decode(graph, &dense, &search)?.map_or(f32::INFINITY, |found| found.weight.0);
                } else if let Some(lattice) =
                    lattice_decode(graph, &dense, &LatticeDecodeOptions { search, lattice_beam: 8.0 })?
                {
                    arcs += lattice.states().map(|state| lattice.num_arcs(state)).sum::<usize>();
                }
            }
        }
        println!("{} {best} {arcs}", start.elapsed().as_secs_f64());
    }
    Ok(())
}
