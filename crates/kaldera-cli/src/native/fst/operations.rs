//! OpenFst's operations, on FSTs that have been read.

use std::collections::VecDeque;
use std::fmt::Write as _;

use kaldera::fsa::io::{Drawing, OpenFstText, SymbolTable};
use kaldera::fsa::k2::{ComposeOptions, Epsilons, IntersectOptions};
use kaldera::fsa::openfst::{DeterminizeOptions, MinimizeOptions, PushTo, Side, Unique};
use kaldera::fsa::paths::sample_paths;
use kaldera::fsa::{
    Arc, EPSILON, Equivalence, Error, FINAL, Fsa, Graph, Limited, Limits, Operation as FsaOperation, Quantity,
    Semiring, k2, openfst,
};

use crate::native::files::{in_file, read_text};
use crate::native::fst::files::{Format, FstFile, as_transducer, format_name, read_symbols};
use crate::native::fst::options::Options;
use crate::native::fst::tables::{Tables, arc_type};
use crate::native::fst::{CliError, DRAW, FstOutput, Inputs, Operation, Runner, graphs, graphviz, output_format};

macro_rules! usage {
    ($about:literal, $arguments:literal $(, $more:literal)?) => {
        concat!($about, "\nUsage: kaldera fst ", $arguments, $("\n", $more)?)
    };
}

/// All operations.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "compile",
        usage: usage!("Convert OpenFst's text to a binary file", "compile [OPTIONS] [TEXT [OUT]]"),
        examples: &["--isymbols=tokens --osymbols=words lexicon.txt L.fst"],
        inputs: Inputs::Files(1),
        options: &[
            "acceptor",
            "isymbols",
            "osymbols",
            "ssymbols",
            "keep-isymbols",
            "keep-osymbols",
            "arc-type",
            "fst-type",
            "format",
        ],
        run: Runner::Files(compile),
    },
    Operation {
        name: "print",
        usage: usage!(
            "Print an FST as OpenFst's text",
            "print [OPTIONS] [IN [OUT]]",
            "Symbol tables in the file are used unless others are given."
        ),
        examples: &["L.fst L.txt"],
        inputs: Inputs::Files(1),
        options: &["acceptor", "isymbols", "osymbols", "ssymbols"],
        run: Runner::Fsts(Tables::Own, print),
    },
    Operation {
        name: "convert",
        usage: usage!(
            "Write an FST in another format",
            "convert [--format=k2|text|binary] [--fst-type=const] [IN [OUT]]"
        ),
        examples: &["--format=k2 L.fst L.txt"],
        inputs: Inputs::Files(1),
        options: &["format", "fst-type"],
        run: Runner::Fsts(Tables::Kept, |_, mut files| Ok(FstOutput::Fst(take(&mut files)))),
    },
    Operation {
        name: "info",
        usage: usage!("Show sizes and properties of FSTs", "info IN..."),
        examples: &["L.fst G.fst"],
        inputs: Inputs::Any,
        options: &[],
        run: Runner::Fsts(Tables::Own, info),
    },
    Operation {
        name: DRAW,
        usage: usage!(
            "Draw an FST: text for Graphviz, or SVG that its 'dot' makes",
            "draw [OPTIONS] [IN [OUT]]",
            "OUT that ends in .dot, or --format=dot, is text for Graphviz; SVG needs Graphviz installed."
        ),
        examples: &["--title=lexicon L.fst L.dot"],
        inputs: Inputs::Files(1),
        options: &["format", "isymbols", "osymbols", "title"],
        run: Runner::Fsts(Tables::Own, draw),
    },
    Operation {
        name: "arcsort",
        usage: usage!("Sort the arcs of each state", "arcsort [--sort-type=ilabel|olabel] [IN [OUT]]"),
        examples: &["--sort-type=olabel L.fst sorted.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "sort-type"],
        run: Runner::Fsts(Tables::Kept, arcsort),
    },
    Operation {
        name: "connect",
        usage: usage!("Remove states that are not on a path", "connect [IN [OUT]]"),
        examples: &["L.fst connected.fst"],
        inputs: Inputs::Files(1),
        options: &["format"],
        run: Runner::Fsts(Tables::Kept, |_, mut files| fst(take(&mut files).connect())),
    },
    Operation {
        name: "topsort",
        usage: usage!(
            "Renumber states so that all arcs go to later states",
            "topsort [IN [OUT]]",
            "States that are not on a path are removed. An FST with a cycle is an error."
        ),
        examples: &["G.fst sorted.fst"],
        inputs: Inputs::Files(1),
        options: &["format"],
        run: Runner::Fsts(Tables::Kept, |_, mut files| {
            fst(take(&mut files).connect().and_then(|graph| graph.top_sort()))
        }),
    },
    Operation {
        name: "compose",
        usage: usage!(
            "Compose two FSTs: the output of the first is the input of the second",
            "compose [OPTIONS] A B [OUT]"
        ),
        examples: &["L.fst G.fst LG.fst"],
        inputs: Inputs::Files(2),
        options: &["format", "connect", "compose-filter", "look-ahead", "max-mem"],
        run: Runner::Fsts(Tables::Chained, compose),
    },
    Operation {
        name: "intersect",
        usage: usage!("Intersect two acceptors", "intersect [OPTIONS] A B [OUT]"),
        examples: &["G.fst G.fst both.fst"],
        inputs: Inputs::Files(2),
        options: &["format", "connect", "max-mem"],
        run: Runner::Fsts(Tables::Common, intersect),
    },
    Operation {
        name: "difference",
        usage: usage!(
            "Subtract the strings of the second acceptor from the first",
            "difference [OPTIONS] A B [OUT]",
            "B must be deterministic and without epsilons."
        ),
        examples: &["G.fst G.fst rest.fst"],
        inputs: Inputs::Files(2),
        options: &["format"],
        run: Runner::Fsts(Tables::Common, difference),
    },
    Operation {
        name: "determinize",
        usage: usage!(
            "Make an equivalent FST with at most one arc for each label of a state",
            "determinize [OPTIONS] [IN [OUT]]",
            "Epsilons are treated as ordinary symbols unless --remove-epsilons is given."
        ),
        examples: &["G.fst det.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "delta", "det-type", "remove-epsilons", "weight", "nstate", "max-mem"],
        run: Runner::Fsts(Tables::Kept, determinize),
    },
    Operation {
        name: "epsnormalize",
        usage: usage!(
            "Make an equivalent FST with the epsilons at the ends of paths",
            "epsnormalize [OPTIONS] [IN [OUT]]",
            "Epsilons are arcs without an input label, or with --eps-norm-output arcs without an output label."
        ),
        examples: &["det.fst normal.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "eps-norm-output", "max-mem"],
        run: Runner::Fsts(Tables::Kept, epsnormalize),
    },
    Operation {
        name: "minimize",
        usage: usage!("Make the smallest equivalent deterministic FST", "minimize [OPTIONS] [IN [OUT]]"),
        examples: &["det.fst min.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "delta", "allow-nondet", "max-mem"],
        run: Runner::Fsts(Tables::Kept, minimize),
    },
    Operation {
        name: "push",
        usage: usage!("Push weights to the start or to the final states", "push [OPTIONS] [IN [OUT]]"),
        examples: &["--to-final G.fst pushed.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "to-final"],
        run: Runner::Fsts(Tables::Kept, push),
    },
    Operation {
        name: "rmepsilon",
        usage: usage!("Make an equivalent FST without epsilon arcs", "rmepsilon [OPTIONS] [IN [OUT]]"),
        examples: &["L.fst free.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "max-mem"],
        run: Runner::Fsts(Tables::Kept, rmepsilon),
    },
    Operation {
        name: "shortestpath",
        usage: usage!("Find the best paths", "shortestpath [OPTIONS] [IN [OUT]]"),
        examples: &["--nshortest=2 G.fst best.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "nshortest", "unique", "max-mem"],
        run: Runner::Fsts(Tables::Kept, shortestpath),
    },
    Operation {
        name: "randgen",
        usage: usage!(
            "Generate random paths",
            "randgen [OPTIONS] [IN [OUT]]",
            "Paths are sampled by their weights. An FST with a cycle is an error."
        ),
        examples: &["--npath=5 --seed=1 G.fst paths.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "npath", "seed", "weighted", "max-mem"],
        run: Runner::Fsts(Tables::Kept, randgen),
    },
    Operation {
        name: "equivalent",
        usage: usage!(
            "Test two FSTs for equivalence: the same strings with the same weights",
            "equivalent [--delta=...] A B",
            "Exit status: 0 if they are equivalent, 2 if not. Epsilons do not count as labels. A transducer with several outputs for one string is an error."
        ),
        examples: &["G.fst G.fst"],
        inputs: Inputs::Files(2),
        options: &["delta"],
        run: Runner::Fsts(Tables::Merged, equivalent),
    },
    Operation {
        name: "reverse",
        usage: usage!("Reverse the strings of an FST", "reverse [IN [OUT]]"),
        examples: &["G.fst reversed.fst"],
        inputs: Inputs::Files(1),
        options: &["format"],
        run: Runner::Fsts(Tables::Kept, |_, mut files| fst(take(&mut files).reverse())),
    },
    Operation {
        name: "invert",
        usage: usage!("Exchange input and output labels", "invert [IN [OUT]]"),
        examples: &["L.fst inverted.fst"],
        inputs: Inputs::Files(1),
        options: &["format"],
        run: Runner::Fsts(Tables::Swapped, |_, mut files| fst(as_transducer(take(&mut files))?.invert())),
    },
    Operation {
        name: "project",
        usage: usage!(
            "Make an acceptor from the input labels or the output labels",
            "project [--project-type=input|output] [IN [OUT]]"
        ),
        examples: &["--project-type=output L.fst words.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "project-output", "project-type"],
        run: Runner::Fsts(Tables::Projected, project),
    },
    Operation {
        name: "closure",
        usage: usage!("Make the closure: repetitions of the strings of an FST", "closure [--closure-plus] [IN [OUT]]"),
        examples: &["G.fst any.fst"],
        inputs: Inputs::Files(1),
        options: &["format", "closure-plus"],
        run: Runner::Fsts(Tables::Kept, closure),
    },
    Operation {
        name: "union",
        usage: usage!("Make the union of two FSTs", "union A B [OUT]"),
        examples: &["G.fst G.fst either.fst"],
        inputs: Inputs::Files(2),
        options: &["format"],
        run: Runner::Fsts(Tables::Merged, union),
    },
    Operation {
        name: "concat",
        usage: usage!("Concatenate two FSTs", "concat A B [OUT]"),
        examples: &["G.fst G.fst twice.fst"],
        inputs: Inputs::Files(2),
        options: &["format"],
        run: Runner::Fsts(Tables::Merged, |_, mut files| {
            let (a, b) = take_two(&mut files);
            let (a, b) = both(a, b)?;
            fst(concat(&a, &b))
        }),
    },
    graphs::ARPA2FST,
    graphs::MAKE_HLG,
];

/// Converts the result of the library.
pub(super) fn fst(made: Result<Graph<Fsa>, Error>) -> Result<FstOutput, CliError> {
    made.map(FstOutput::Fst).map_err(failed)
}

/// Converts an error of the library. It has one line, or several for a place in a text.
pub(super) fn failed(error: Error) -> CliError {
    CliError::Failed(error.to_string())
}

/// Returns the semiring of the arcs; tropical if no file gives a type.
fn semiring(files: &[FstFile]) -> Semiring {
    files.iter().find_map(|file| file.semiring).unwrap_or_default()
}

/// Returns an error for arcs of the type log if an operation needs best paths.
fn refuse_log(files: &[FstFile], operation: FsaOperation) -> Result<(), CliError> {
    match semiring(files) {
        Semiring::Tropical => Ok(()),
        Semiring::Log => Err(failed(Error::LogSemiring { operation })),
    }
}

fn take(files: &mut Vec<FstFile>) -> Graph<Fsa> {
    files.pop().map_or_else(|| Graph::new(Fsa::empty()), |file| file.graph)
}

fn take_two(files: &mut Vec<FstFile>) -> (Graph<Fsa>, Graph<Fsa>) {
    let b = take(files);
    (take(files), b)
}

/// Returns two acceptors or two transducers.
fn both(a: Graph<Fsa>, b: Graph<Fsa>) -> Result<(Graph<Fsa>, Graph<Fsa>), CliError> {
    if is_acceptor(&a) && is_acceptor(&b) { Ok((a, b)) } else { Ok((as_transducer(a)?, as_transducer(b)?)) }
}

fn is_acceptor(graph: &Graph<Fsa>) -> bool {
    graph.attributes().get(kaldera::fsa::AUX_LABELS).is_none()
}

fn acceptors(a: Graph<Fsa>, b: Graph<Fsa>) -> Result<(Fsa, Fsa), CliError> {
    if is_acceptor(&a) && is_acceptor(&b) {
        return Ok((a.into_parts().0, b.into_parts().0));
    }
    Err(CliError::Failed(
        "both must be acceptors, with output labels equal to input labels; project them first".to_owned(),
    ))
}

fn compile(options: &Options) -> Result<FstOutput, CliError> {
    let [input] = &options.arguments[..] else { return Err(CliError::Usage("one text is compiled".to_owned())) };
    let (isymbols, osymbols) = (read_symbols(&options.isymbols)?, read_symbols(&options.osymbols)?);
    let ssymbols = read_symbols(&options.ssymbols)?;
    let text = OpenFstText::default()
        .with_acceptor(options.acceptor)
        .with_input_symbols(isymbols.as_ref())
        .with_output_symbols(osymbols.as_ref())
        .with_state_symbols(ssymbols.as_ref());
    let graph = text.read(&read_text(input)?).map_err(|error| in_file(input, &error))?;
    let mut file = FstFile::new(graph, Format::Binary);
    file.semiring = match &*options.arc_type {
        "standard" => Some(Semiring::Tropical),
        "log" => Some(Semiring::Log),
        other => return Err(CliError::Usage(format!("option --arc-type: '{other}' is neither standard nor log"))),
    };
    file.set_fst_type(&options.fst_type)?;
    file.format = output_format(&options.output, &options.format, file.format)?;
    file.input_symbols = isymbols.filter(|_| options.keep_isymbols);
    file.output_symbols = osymbols.filter(|_| options.keep_osymbols);
    file.write(&options.output)?;
    Ok(FstOutput::Nothing)
}

fn print(options: &Options, files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let ssymbols = read_symbols(&options.ssymbols)?;
    let (isymbols, osymbols) = (read_symbols(&options.isymbols)?, read_symbols(&options.osymbols)?);
    let mut text = String::new();
    for file in files {
        let format = OpenFstText::default()
            .with_acceptor(options.acceptor)
            .with_semiring(file.semiring.unwrap_or_default())
            .with_input_symbols(isymbols.as_ref().or(file.input_symbols.as_ref()))
            .with_output_symbols(osymbols.as_ref().or(file.output_symbols.as_ref()))
            .with_state_symbols(ssymbols.as_ref());
        text += &format.print(&file.graph).map_err(failed)?;
    }
    Ok(FstOutput::Text(text))
}

fn info(options: &Options, files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let mut text = String::new();
    for (name, file) in options.arguments.iter().zip(&files) {
        if files.len() > 1 {
            let _ = writeln!(text, "{name}");
        }
        let sizes = Sizes::count(&file.graph);
        let symbols = |table: &Option<SymbolTable>| {
            table.as_ref().map_or_else(|| "none".to_owned(), |table| format!("{} symbols", table.len()))
        };
        let transducer = !is_acceptor(&file.graph);
        for (what, value) in [
            ("format", format_name(file.format).to_owned()),
            ("arc type", arc_type(file.semiring.unwrap_or_default()).to_owned()),
            ("kind", if transducer { "transducer" } else { "acceptor" }.to_owned()),
            ("input symbols", symbols(&file.input_symbols)),
            ("output symbols", symbols(&file.output_symbols)),
            ("states", sizes.states.to_string()),
            ("arcs", sizes.arcs.to_string()),
            ("initial state", if sizes.states == 0 { "-1" } else { "0" }.to_owned()),
            ("final states", sizes.finals.to_string()),
            ("input/output epsilons", sizes.epsilons.to_string()),
            ("input epsilons", sizes.input_epsilons.to_string()),
            ("output epsilons", sizes.output_epsilons.to_string()),
            ("accessible states", sizes.accessible.to_string()),
            ("coaccessible states", sizes.coaccessible.to_string()),
            ("connected states", sizes.connected.to_string()),
            ("properties", file.graph.fsas().properties().to_string()),
        ] {
            let _ = writeln!(text, "{what:<21} {value}");
        }
    }
    Ok(FstOutput::Text(text))
}

/// The counts of OpenFst's `fstinfo`: final costs are not counted as arcs, nor the state that they
/// lead to as a state.
#[derive(Default)]
struct Sizes {
    states: usize,
    arcs: usize,
    finals: usize,
    epsilons: usize,
    input_epsilons: usize,
    output_epsilons: usize,
    accessible: usize,
    coaccessible: usize,
    connected: usize,
}

impl Sizes {
    fn count(graph: &Graph<Fsa>) -> Self {
        let (view, aux_labels) = (graph.fsas().view(), graph.aux_labels());
        let mut sizes = Self::default();
        let Some(last) = view.final_state() else { return sizes };
        // A final arc with an output is an arc to an additional state, as in files.
        let mut loud = false;
        let mut entering = vec![Vec::new(); last + 1];
        for state in 0..last {
            let mut is_final = false;
            for at in view.arc_range(state) {
                let arc = view.arcs()[at];
                let output = aux_labels.map_or(arc.label, |aux_labels| aux_labels[at]);
                entering[ends(&arc).1].push(state);
                if arc.label == FINAL && (output == FINAL || output == EPSILON) {
                    is_final |= arc.score > f32::NEG_INFINITY;
                    continue;
                }
                let label = if arc.label == FINAL { EPSILON } else { arc.label };
                loud |= arc.label == FINAL;
                sizes.arcs += 1;
                sizes.epsilons += usize::from(label == EPSILON && output == EPSILON);
                sizes.input_epsilons += usize::from(label == EPSILON);
                sizes.output_epsilons += usize::from(output == EPSILON);
            }
            sizes.finals += usize::from(is_final);
        }
        sizes.finals += usize::from(loud);
        sizes.states = last + usize::from(loud);
        let forward = reached(last + 1, 0, |state| view.arcs_of(state).iter().map(|arc| ends(arc).1));
        let backward = reached(last + 1, last, |state| entering[state].iter().copied());
        let counted = 0..sizes.states;
        sizes.accessible = counted.clone().filter(|&state| forward[state]).count();
        sizes.coaccessible = counted.clone().filter(|&state| backward[state]).count();
        sizes.connected = counted.filter(|&state| forward[state] && backward[state]).count();
        sizes
    }
}

/// Returns the states that an arc leaves and enters.
fn ends(arc: &Arc) -> (usize, usize) {
    let state = |state: i32| usize::try_from(state).unwrap_or_default();
    (state(arc.src_state), state(arc.dest_state))
}

/// Marks the states that are reachable from `from`.
fn reached<I: Iterator<Item = usize>>(num_states: usize, from: usize, next: impl Fn(usize) -> I) -> Vec<bool> {
    let (mut seen, mut waiting) = (vec![false; num_states], vec![from]);
    seen[from] = true;
    while let Some(state) = waiting.pop() {
        for state in next(state) {
            if !std::mem::replace(&mut seen[state], true) {
                waiting.push(state);
            }
        }
    }
    seen
}

fn draw(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let (isymbols, osymbols) = (read_symbols(&options.isymbols)?, read_symbols(&options.osymbols)?);
    let Some(file) = files.pop() else { return Ok(FstOutput::Nothing) };
    let drawing = Drawing::default()
        .with_title(&options.title)
        .with_input_symbols(isymbols.as_ref().or(file.input_symbols.as_ref()))
        .with_output_symbols(osymbols.as_ref().or(file.output_symbols.as_ref()));
    let text = drawing.dot(&file.graph);
    if options.format == "dot" { Ok(FstOutput::Text(text)) } else { graphviz::svg(text).map(FstOutput::Text) }
}

fn arcsort(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let graph = take(&mut files);
    match &*options.sort_type {
        "ilabel" => fst(graph.arc_sort()),
        "olabel" if is_acceptor(&graph) => fst(graph.arc_sort()),
        // The FST is inverted, sorted, and inverted again.
        "olabel" => fst(graph.invert().and_then(|graph| graph.arc_sort()).and_then(|graph| graph.invert())),
        other => Err(CliError::Usage(format!("option --sort-type: '{other}' is neither ilabel nor olabel"))),
    }
}

fn connected(made: Graph<Fsa>, options: &Options) -> Result<FstOutput, CliError> {
    if options.connect { fst(made.connect()) } else { Ok(FstOutput::Fst(made)) }
}

fn compose(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let (a, b) = take_two(&mut files);
    let epsilons = match &*options.compose_filter {
        "auto" | "sequence" | "alt_sequence" | "match" => Epsilons::Sequenced,
        "trivial" => Epsilons::AnyOrder,
        "null" => Epsilons::AsSymbol,
        other => return Err(CliError::Usage(format!("option --compose-filter: '{other}' is no filter"))),
    };
    let limits = options.limits();
    let acceptor = is_acceptor(&a) && is_acceptor(&b);
    let (a, b) = if acceptor { (a, b) } else { (as_transducer(a)?, as_transducer(b)?) };
    let how = ComposeOptions::default().with_epsilons(epsilons).with_look_ahead(options.look_ahead).with_limits(limits);
    let made = a.compose_with(&b, &how).map_err(failed)?;
    connected(if acceptor { made.without(kaldera::fsa::AUX_LABELS) } else { made }, options)
}

fn intersect(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let (a, b) = take_two(&mut files);
    let (a, b) = acceptors(a, b)?;
    let (a, b) = (k2::arc_sort(&a).map_err(failed)?.0, k2::arc_sort(&b).map_err(failed)?.0);
    let how = IntersectOptions::from(Epsilons::Sequenced).with_limits(options.limits());
    connected(Graph::new(k2::intersect(&a, &b, how).map_err(failed)?.0), options)
}

fn difference(_: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let (a, b) = take_two(&mut files);
    let (a, b) = acceptors(a, b)?;
    fst(openfst::difference(&a, &b).map(|(made, _)| Graph::new(made)))
}

fn determinize(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let disambiguate = match &*options.det_type {
        "functional" => false,
        "disambiguate" => true,
        other => {
            return Err(CliError::Usage(format!(
                "option --det-type: '{other}' is neither functional nor disambiguate"
            )));
        }
    };
    let mut how = DeterminizeOptions::default().with_disambiguate(disambiguate).with_semiring(semiring(&files));
    how.remove_epsilons = options.remove_epsilons;
    how.delta = options.delta;
    how.limits = options.limits();
    if let Some(weight) = options.weight.filter(|weight| weight.is_finite()) {
        how = how.with_beam(weight);
    }
    if let Some(Ok(most)) = options.nstate.map(usize::try_from) {
        how.limits = how.limits.with_max_states(most);
    }
    fst(openfst::determinize(&take(&mut files), &how))
}

fn epsnormalize(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    refuse_log(&files, FsaOperation::EpsilonNormalize)?;
    let side = if options.eps_norm_output { Side::Output } else { Side::Input };
    fst(openfst::epsilon_normalize(&take(&mut files), side, options.limits()))
}

fn minimize(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let mut how = MinimizeOptions::default().with_allow_nondet(options.allow_nondet).with_limits(options.limits());
    how.semiring = semiring(&files);
    how.delta = options.delta;
    fst(openfst::minimize(&take(&mut files), &how))
}

fn push(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let semiring = semiring(&files);
    let graph = take(&mut files);
    let to = if options.to_final { PushTo::Final } else { PushTo::Initial };
    fst(match semiring {
        Semiring::Tropical => graph.push_weights(to),
        Semiring::Log => graph.push_weights_log(to),
    })
}

fn rmepsilon(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let semiring = semiring(&files);
    let graph = take(&mut files);
    let without = |fsa: &Fsa| match semiring {
        Semiring::Log => k2::remove_epsilon_log(fsa, options.limits()),
        Semiring::Tropical => k2::remove_epsilon_without_map(fsa, options.limits()),
    };
    if is_acceptor(&graph) {
        return fst(without(graph.fsas()).and_then(|made| Graph::new(made).connect()));
    }
    // Pairs of labels are encoded as one label, so that arcs with an output stay.
    let encoded = openfst::encode(&graph, false);
    fst(encoded.and_then(|(fsa, encoder)| encoder.decode(&without(&fsa)?)?.connect()))
}

fn shortestpath(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    refuse_log(&files, FsaOperation::ShortestPaths)?;
    let graph = take(&mut files);
    let number = usize::try_from(options.nshortest)
        .map_err(|_| CliError::Usage(format!("option --nshortest: {} is below 0", options.nshortest)))?;
    let unique = match (options.unique, is_acceptor(&graph)) {
        (false, _) => Unique::Paths,
        (true, true) => Unique::Labels,
        (true, false) => {
            return Err(CliError::Failed("unique paths need an acceptor; project the FST first".to_owned()));
        }
    };
    if unique == Unique::Paths {
        // A number of paths that is known to be too large is refused before the work.
        let (num_paths, shortest) = count_paths(&graph).map_err(failed)?;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let least = num_paths.min(number as f64);
        check_paths(options, FsaOperation::ShortestPaths, least, shortest)?;
    }
    let paths = openfst::shortest_paths(&graph, number, unique).map_err(failed)?;
    check_arcs(options, FsaOperation::ShortestPaths, paths.num_elements())?;
    fst(paths_as_fst(&graph, paths.rows(), true))
}

fn randgen(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let graph = take(&mut files).connect().and_then(|graph| graph.top_sort()).map_err(failed)?;
    let number = usize::try_from(options.npath)
        .map_err(|_| CliError::Usage(format!("option --npath: {} is below 0", options.npath)))?;
    let (_, shortest) = count_paths(&graph).map_err(failed)?;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    check_paths(options, FsaOperation::RandomPaths, number as f64, shortest)?;
    let paths = sample_paths(graph.fsas(), number, options.seed).map_err(failed)?;
    check_arcs(options, FsaOperation::RandomPaths, paths.num_elements())?;
    fst(paths_as_fst(&graph, paths.rows(), options.weighted))
}

/// Returns the number of paths, infinite with a cycle, and the number of arcs of the shortest path.
fn count_paths(graph: &Graph<Fsa>) -> Result<(f64, usize), Error> {
    let connected = k2::connect(graph.fsas())?.0;
    let view = connected.view();
    let Some(last) = view.final_state() else { return Ok((0.0, 0)) };
    let mut lengths = vec![usize::MAX; last + 1];
    let mut waiting = VecDeque::from([0]);
    lengths[0] = 0;
    while let Some(state) = waiting.pop_front() {
        for arc in view.arcs_of(state) {
            let dest = ends(arc).1;
            if lengths[dest] == usize::MAX {
                lengths[dest] = lengths[state] + 1;
                waiting.push_back(dest);
            }
        }
    }
    let sorted = match k2::top_sort(&connected) {
        Ok((sorted, _)) if sorted.arcs().iter().all(|arc| arc.src_state < arc.dest_state) => sorted,
        Ok(_) | Err(Error::Cycle { .. }) => return Ok((f64::INFINITY, lengths[last])),
        Err(error) => return Err(error),
    };
    let mut paths = vec![0.0; last + 1];
    paths[0] = 1.0;
    for arc in sorted.arcs() {
        let (src, dest) = ends(arc);
        paths[dest] += paths[src];
    }
    Ok((paths[last], lengths[last]))
}

/// Bytes of an arc of a path: in the path, in an FST, and in a file.
const BYTES_OF_PATH_ARC: usize = 80;
/// Bytes of a path.
const BYTES_OF_PATH: usize = 32;

/// Checks the memory limit for this number of paths with at least `shortest` arcs each.
fn check_paths(options: &Options, operation: FsaOperation, num_paths: f64, shortest: usize) -> Result<(), CliError> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and above 0")]
    let num_paths = num_paths as usize;
    let arcs = num_paths.saturating_mul(shortest);
    let needed = arcs.saturating_mul(BYTES_OF_PATH_ARC).saturating_add(num_paths.saturating_mul(BYTES_OF_PATH));
    within(options, operation, needed, arcs)
}

/// Checks the memory limit for paths with this number of arcs in total.
fn check_arcs(options: &Options, operation: FsaOperation, arcs: usize) -> Result<(), CliError> {
    within(options, operation, arcs.saturating_mul(BYTES_OF_PATH_ARC), arcs)
}

fn within(options: &Options, operation: FsaOperation, needed: usize, arcs: usize) -> Result<(), CliError> {
    let limit = options.limits().max_bytes.unwrap_or_else(Limits::half_of_memory);
    if needed <= limit {
        return Ok(());
    }
    Err(failed(Error::Limit { operation, limited: Limited::Bytes, limit, needed, states: arcs, arcs }))
}

/// Returns an FST of parallel paths from the start to the final state. Each path is a list of arc
/// indexes.
fn paths_as_fst<'a>(
    graph: &Graph<Fsa>,
    paths: impl Iterator<Item = &'a [i32]> + Clone,
    weighted: bool,
) -> Result<Graph<Fsa>, Error> {
    let paths = || paths.clone().filter(|path| !path.is_empty());
    if paths().next().is_none() {
        return graph.carry((Fsa::empty(), vec![]));
    }
    let too_large = |size: usize| Error::TooLarge { what: Quantity::States, size: size as u64 };
    let num_states = paths().map(|path| path.len() - 1).sum::<usize>() + 2;
    let last = i32::try_from(num_states - 1).map_err(|_| too_large(num_states))?;
    // The first arcs of all paths leave the start; each path then has its own states.
    let (mut arcs, mut map, mut next) = (vec![], vec![], 1);
    let mut put = |src: i32, dest: i32, from: i32| {
        let arc =
            usize::try_from(from).ok().and_then(|from| graph.fsas().arcs().get(from).copied()).unwrap_or_default();
        let score = if weighted { arc.score } else { 0.0 };
        arcs.push(Arc::new(src, dest, arc.label, score));
        map.push(from);
    };
    for path in paths() {
        put(0, if path.len() == 1 { last } else { next }, path[0]);
        next += i32::try_from(path.len() - 1).map_err(|_| too_large(path.len()))?;
    }
    next = 1;
    for path in paths() {
        for (at, &from) in path.iter().enumerate().skip(1) {
            put(next, if at + 1 == path.len() { last } else { next + 1 }, from);
            next += 1;
        }
    }
    graph.carry((Fsa::from_arcs(num_states, arcs)?, map))
}

fn equivalent(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let how = Equivalence::Structure { delta: options.delta, semiring: semiring(&files) };
    let (a, b) = take_two(&mut files);
    a.equivalent(&b, how).map(FstOutput::Answer).map_err(failed)
}

/// Returns the side that `project` keeps.
pub(super) fn project_side(options: &Options) -> Result<Side, CliError> {
    match (&*options.project_type, options.project_output) {
        ("input", false) => Ok(Side::Input),
        ("output", _) | ("input", true) => Ok(Side::Output),
        (other, _) => Err(CliError::Usage(format!("option --project-type: '{other}' is neither input nor output"))),
    }
}

fn project(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let side = project_side(options)?;
    fst(openfst::project(&take(&mut files), side).map(|(made, _)| Graph::new(made)))
}

fn closure(options: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let graph = take(&mut files);
    // If arcs enter the start, marking it as final would accept too many strings.
    let entered = graph.fsas().arcs().iter().any(|arc| arc.dest_state == 0);
    let base =
        if entered { Graph::cat(&[&graph]).and_then(|graph| graph.union()).map_err(failed)? } else { graph.clone() };
    let star = base.closure().map_err(failed)?;
    if options.closure_plus { fst(concat(&graph, &star)) } else { Ok(FstOutput::Fst(star)) }
}

fn union(_: &Options, mut files: Vec<FstFile>) -> Result<FstOutput, CliError> {
    let (a, b) = take_two(&mut files);
    let (a, b) = both(a, b)?;
    fst(Graph::cat(&[&a, &b]).and_then(|both| both.union()))
}

/// Concatenates two FSTs; both are transducers, or both are acceptors.
fn concat(a: &Graph<Fsa>, b: &Graph<Fsa>) -> Result<Graph<Fsa>, Error> {
    let (fsa, from_a, from_b) = k2::concat(a.fsas(), b.fsas())?;
    let (Some(of_a), Some(of_b)) = (a.aux_labels(), b.aux_labels()) else { return Ok(Graph::new(fsa)) };
    let of = |labels: &[i32], from: i32| usize::try_from(from).ok().and_then(|from| labels.get(from).copied());
    let label = |((from_a, from_b), arc): ((&i32, &i32), &Arc)| {
        let label = of(of_a, *from_a).or_else(|| of(of_b, *from_b)).unwrap_or(EPSILON);
        // The arc from the end of `a` has no output.
        if label == FINAL && arc.label != FINAL { EPSILON } else { label }
    };
    let aux_labels: Vec<i32> = from_a.iter().zip(&from_b).zip(fsa.arcs()).map(label).collect();
    Graph::new(fsa).with_aux_labels(aux_labels)
}
