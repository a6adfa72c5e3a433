//! `linear-to-nbest`: alignments, words and costs in, lattices of one path out.

use std::process::ExitCode;

use kaldera::io::Holder;
use kaldera::io::lattice::{CompactLattice, Lattice, LatticeArc, LatticeState, LatticeWeight};
use kaldera::io::table::RandomAccessReader;

use super::Failure;
use super::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "linear-to-nbest", about: "Lattices of one path from alignments, words and costs", run };

const USAGE: &str = "Makes lattices of one path of alignments, words, graph costs and acoustic costs, as nbest-to-linear
writes them. Costs are 0 if '' stands for their table.
Usage: linear-to-nbest [options] <alignments-rspecifier> <transcriptions-rspecifier> (<lm-cost-rspecifier>|'') (<ac-cost-rspecifier>|'') <nbest-wspecifier>
For example: linear-to-nbest ark:1.ali ark:1.tra '' '' ark:nbest.lats";

fn run(call: Call<'_>) -> ExitCode {
    super::run_any(TOOL.name, USAGE, call, super::NoOptions, 5..=5, |_, plain| {
        let [alignments, transcriptions, graph, acoustic, output] = &plain[..] else { return Ok(false) };
        let mut words = RandomAccessReader::<Vec<i32>>::open(transcriptions)?;
        let (mut graph, mut acoustic) = (Costs::open(graph)?, Costs::open(acoustic)?);
        let counts = map_table(alignments, output, |key, alignment: Vec<i32>| {
            let words = value(&mut words, key)?;
            let weight = LatticeWeight::new(graph.of(key)?, acoustic.of(key)?);
            Ok(Some(linear(&alignment, words, weight)))
        })?;
        counts.log("made", "lattices of one path");
        Ok(counts.any_done())
    })
}

/// A table of costs, which may be left out.
struct Costs(Option<RandomAccessReader<f32>>);

impl Costs {
    fn open(rspecifier: &str) -> Result<Self, Failure> {
        Ok(Self(if rspecifier.is_empty() { None } else { Some(RandomAccessReader::open(rspecifier)?) }))
    }

    fn of(&mut self, key: &str) -> Result<f32, Failure> {
        self.0.as_mut().map_or(Ok(0.0), |costs| value(costs, key).copied())
    }
}

fn value<'a, T: Holder>(table: &'a mut RandomAccessReader<T>, key: &str) -> Result<&'a T, Failure> {
    if !table.has_key(key)? {
        return Err(Failure::Argument { value: key.to_owned(), expected: "a key of all tables" });
    }
    Ok(table.value(key)?)
}

/// Returns the lattice of a path: frame and word `i` are on arc `i`.
fn linear(alignment: &[i32], words: &[i32], weight: LatticeWeight) -> CompactLattice {
    let len = alignment.len().max(words.len());
    let at = |labels: &[i32], i: usize| labels.get(i).copied().unwrap_or(0);
    let mut states: Vec<LatticeState<LatticeWeight>> = (0..len)
        .map(|i| {
            let weight = LatticeWeight::default();
            let arc = LatticeArc { ilabel: at(alignment, i), olabel: at(words, i), weight, next_state: i + 1 };
            LatticeState { final_weight: None, arcs: vec![arc] }
        })
        .collect();
    states.push(LatticeState { final_weight: Some(weight), arcs: vec![] });
    // Each arc enters the next state.
    CompactLattice::from(&Lattice::new(Some(0), states).unwrap_or_default())
}
