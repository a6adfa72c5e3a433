//! OpenFst's file types, `fst_types/read`, and composition with look-ahead, `fst_types/lookahead`.
//!
//! The cases are files `TYPE/N.fst`, beside `N.print` and `N.info`, the output of fstprint and
//! fstinfo; and `lookahead/N.left.fst` with `N.right.fst`, whose composition
//! `N.composed.unconnected` holds, with all states and arcs that look-ahead visits. The folder
//! keeps some numbers for acceptance; cases are the files that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fsa::io::{OpenFstBinary, SymbolTable, TransducerFile};
use fsa::on_demand::{Composition, CompositionOptions, LookAheadGrammar, LookAheadLexicon};
use fsa::{EPSILON, LabelReach, Limits, Transducer};
use serde_json::json;

use crate::case_file::{Case, Damage};
use crate::verdict::{Differences, Stop, caught};
use crate::{Error, Settings, Verdict};

/// Returns a case for each file in the folder of a type, or for each left side in `lookahead`.
pub(crate) fn cases(folder: &Path) -> Result<Vec<Case>, Damage> {
    let mut ids = Vec::new();
    if folder.ends_with("lookahead") {
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            ids.extend(name.to_str().and_then(|name| name.strip_suffix(".left.fst")).map(str::to_owned));
        }
        return Ok(made(ids));
    }
    for entry in fs::read_dir(folder)? {
        let kind = entry?.path();
        if !kind.is_dir() || kind.ends_with("lookahead") {
            continue;
        }
        for entry in fs::read_dir(&kind)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "fst") {
                let name = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
                ids.push(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(made(ids))
}

fn made(mut ids: Vec<String>) -> Vec<Case> {
    ids.sort();
    let case = |id: String| Case {
        names: id.split('/').next().map(str::to_owned).into_iter().collect(),
        value: json!({}),
        id,
    };
    ids.into_iter().map(case).collect()
}

/// Reads each file and compares it with the output of fstprint.
pub(crate) fn run_read(_: &Settings, folder: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    let judge = |case: &Case| caught(|| read(folder, &case.id)).unwrap_or_else(|stop| stop.verdict(""));
    Ok(cases.iter().map(judge).collect())
}

fn read(folder: &Path, id: &str) -> Result<Verdict, Stop> {
    let file = |ending: &str| fs::read(folder.join(format!("{id}.{ending}")));
    let bytes = file("fst")?;
    let came = TransducerFile::read(&bytes)?;
    let mut differences = Differences::default();
    let symbols = [&came.input_symbols, &came.output_symbols];
    compare_print(&String::from_utf8(file("print")?)?, &came.transducer, symbols, &mut differences);
    let info = String::from_utf8(file("info")?)?;
    let counts = [("# of states", came.transducer.num_states()), ("# of arcs", came.transducer.num_arcs())];
    for (what, found) in counts {
        if let Some(line) = info.lines().find(|line| line.starts_with(what)) {
            let expected = line.rsplit(' ').next().and_then(|number| number.parse().ok());
            differences.equal(what, expected, Some(found));
        }
    }
    if let Some(reach) = &came.label_reach {
        check_reach(&came.transducer, reach, &mut differences);
    }
    // The FSA has the same arcs, and one for each final state.
    let graph = OpenFstBinary::read(&bytes)?.graph;
    let finals = states(&came.transducer).filter(|&state| came.transducer.final_cost(state) < f32::INFINITY).count();
    let expected = came.transducer.start().map_or(0, |_| came.transducer.num_arcs() + finals);
    differences.equal("arcs of the FSA", expected, graph.fsas().num_arcs());
    differences.verdict()
}

/// Composes both sides and compares all states and arcs, in their order.
pub(crate) fn run_look_ahead(_: &Settings, folder: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    let judge = |case: &Case| caught(|| look_ahead(folder, &case.id)).unwrap_or_else(|stop| stop.verdict(""));
    Ok(cases.iter().map(judge).collect())
}

fn look_ahead(folder: &Path, id: &str) -> Result<Verdict, Stop> {
    let left = TransducerFile::open(folder.join(format!("{id}.left.fst")))?;
    let right = TransducerFile::open(folder.join(format!("{id}.right.fst")))?;
    let reach = left.label_reach.ok_or_else(|| Stop::Damaged("no labels to look ahead for".into()))?;
    let lexicon = LookAheadLexicon::new(left.transducer, reach)?;
    let grammar = LookAheadGrammar::new(right.transducer)?;
    let composition = Composition::new(lexicon.into(), grammar.into(), CompositionOptions::default());
    let mut differences = Differences::default();
    let print = fs::read_to_string(folder.join(format!("{id}.composed.unconnected")))?;
    compare_print(
        &print,
        &composition.compose(Limits::default())?,
        [&left.input_symbols, &right.output_symbols],
        &mut differences,
    );
    differences.verdict()
}

fn states(transducer: &Transducer) -> impl Iterator<Item = u32> {
    (0..).take(transducer.num_states())
}

/// A line of fstprint: all fields but the cost, and the cost.
type Line = (Vec<String>, f32);

/// Compares with the lines of fstprint, whose costs are exact: the states in order, the start
/// first.
fn compare_print(text: &str, it: &Transducer, symbols: [&Option<SymbolTable>; 2], differences: &mut Differences) {
    let expected: Vec<Line> = text.lines().map(|line| line_of(line.split('\t').map(str::to_owned).collect())).collect();
    let mut lines = Vec::new();
    let symbol = |symbols: &Option<SymbolTable>, label: i32| match symbols.as_ref().and_then(|it| it.get(label)) {
        Some(symbol) => symbol.to_owned(),
        None => label.to_string(),
    };
    let start = it.start();
    for state in start.into_iter().chain(states(it).filter(|&state| Some(state) != start)) {
        for arc in it.arcs(state) {
            let labels = [symbol(symbols[0], arc.ilabel), symbol(symbols[1], arc.olabel)];
            let [input, output] = labels;
            lines.push((vec![state.to_string(), arc.dest.to_string(), input, output], arc.cost));
        }
        if it.final_cost(state) < f32::INFINITY || it.arcs(state).is_empty() {
            lines.push((vec![state.to_string()], it.final_cost(state)));
        }
    }
    for (at, (expected, came)) in expected.iter().zip(&lines).enumerate() {
        differences.equal(&format!("line {at}"), expected, came);
    }
    differences.equal("lines", expected.len(), lines.len());
}

/// Takes the cost from the fields of a line, 0 if there is none.
fn line_of(mut fields: Vec<String>) -> Line {
    let cost = if matches!(fields.len(), 2 | 5) { fields.pop() } else { None };
    let cost = cost.map_or(Ok(0.0), |cost| if cost == "Infinity" { Ok(f32::INFINITY) } else { cost.parse() });
    (fields, cost.unwrap_or(f32::NAN))
}

/// Compares the intervals of each state with the labels of all arcs behind epsilons.
fn check_reach(it: &Transducer, reach: &LabelReach, differences: &mut Differences) {
    for state in states(it) {
        let (mut expected, mut seen, mut open) = (BTreeSet::new(), BTreeSet::from([state]), vec![state]);
        while let Some(state) = open.pop() {
            if it.final_cost(state) < f32::INFINITY {
                expected.insert(reach.final_label());
            }
            for arc in it.arcs(state) {
                match if reach.of_input() { arc.ilabel } else { arc.olabel } {
                    EPSILON if seen.insert(arc.dest) => open.push(arc.dest),
                    EPSILON => {}
                    label => _ = expected.insert(label),
                }
            }
        }
        let came = reach.intervals(state).iter().flat_map(|&[first, end]| first..end).collect();
        differences.equal(&format!("labels behind state {state}"), expected, came);
    }
}
