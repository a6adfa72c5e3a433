//! The operations: OpenFst's, on FSTs that have been read.

use std::fmt::Write as _;

use kaldera::fsa::io::{Drawing, OpenFstText};
use kaldera::fsa::k2::{ComposeOptions, Epsilons};
use kaldera::fsa::openfst::{DeterminizeOptions, LazyComposition, LazyOptions, MinimizeOptions, PushTo, Side, Unique};
use kaldera::fsa::paths::sample_paths;
use kaldera::fsa::{Arc, EPSILON, Equivalence, Error, FINAL, Fsa, Graph, Limits, Quantity, Semiring, k2, openfst};

use super::files::{Format, FstFile, as_transducer, in_file, read_symbols, read_text};
use super::options::Options;
use super::{DRAW, Inputs, Made, Operation, Trouble, graphs, graphviz, output_format};

macro_rules! usage {
    ($about:literal, $arguments:literal $(, $more:literal)?) => {
        concat!($about, "\nUsage: kaldera fst ", $arguments, $("\n", $more)?)
    };
}

/// All operations.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "compile",
        usage: usage!("Make a binary file of OpenFst's text", "compile [OPTIONS] [TEXT [OUT]]"),
        example: "--isymbols=tokens --osymbols=words lexicon.txt L.fst",
        inputs: Inputs::Other(1),
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
        run: compile,
    },
    Operation {
        name: "print",
        usage: usage!(
            "Print an FST as OpenFst's text",
            "print [OPTIONS] [IN [OUT]]",
            "Symbols in the file are used, unless others are named."
        ),
        example: "L.fst L.txt",
        inputs: Inputs::Fsts(1),
        options: &["acceptor", "isymbols", "osymbols", "ssymbols"],
        run: print,
    },
    Operation {
        name: "convert",
        usage: usage!(
            "Write an FST in another format",
            "convert [--format=k2|text|binary] [--fst-type=const] [IN [OUT]]"
        ),
        example: "--format=k2 L.fst L.txt",
        inputs: Inputs::Fsts(1),
        options: &["format", "fst-type"],
        run: |_, mut files| Ok(Made::Fst(take(&mut files))),
    },
    Operation {
        name: "info",
        usage: usage!("Show sizes and properties of FSTs", "info IN..."),
        example: "L.fst G.fst",
        inputs: Inputs::Any,
        options: &[],
        run: info,
    },
    Operation {
        name: DRAW,
        usage: usage!(
            "Draw an FST: SVG, or text for Graphviz",
            "draw [OPTIONS] [IN [OUT]]",
            "OUT that ends in .dot, or --format=dot, is for Graphviz."
        ),
        example: "--title=lexicon L.fst L.svg",
        inputs: Inputs::Fsts(1),
        options: &["format", "isymbols", "layout", "osymbols", "title"],
        run: draw,
    },
    Operation {
        name: "arcsort",
        usage: usage!("Sort the arcs of each state", "arcsort [--sort-type=ilabel|olabel] [IN [OUT]]"),
        example: "--sort-type=olabel L.fst sorted.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "sort-type"],
        run: arcsort,
    },
    Operation {
        name: "connect",
        usage: usage!("Leave out states that lie on no path", "connect [IN [OUT]]"),
        example: "L.fst connected.fst",
        inputs: Inputs::Fsts(1),
        options: &["format"],
        run: |_, mut files| fst(take(&mut files).connect()),
    },
    Operation {
        name: "topsort",
        usage: usage!(
            "Number states so that all arcs go to later ones",
            "topsort [IN [OUT]]",
            "States that lie on no path are left out. An FST with a cycle is refused."
        ),
        example: "G.fst sorted.fst",
        inputs: Inputs::Fsts(1),
        options: &["format"],
        run: |_, mut files| fst(take(&mut files).connect().and_then(|graph| graph.top_sort())),
    },
    Operation {
        name: "compose",
        usage: usage!("Put what the first FST puts out into the second", "compose [OPTIONS] A B [OUT]"),
        example: "L.fst G.fst LG.fst",
        inputs: Inputs::Fsts(2),
        options: &["format", "connect", "compose-filter", "look-ahead", "max-mem"],
        run: compose,
    },
    Operation {
        name: "intersect",
        usage: usage!("Accept what both acceptors accept", "intersect [OPTIONS] A B [OUT]"),
        example: "G.fst G.fst both.fst",
        inputs: Inputs::Fsts(2),
        options: &["format", "connect"],
        run: intersect,
    },
    Operation {
        name: "difference",
        usage: usage!(
            "Accept what the first acceptor accepts and the second does not",
            "difference [OPTIONS] A B [OUT]",
            "B must be deterministic and without epsilons."
        ),
        example: "G.fst G.fst rest.fst",
        inputs: Inputs::Fsts(2),
        options: &["format"],
        run: difference,
    },
    Operation {
        name: "determinize",
        usage: usage!(
            "Make an equivalent FST with one arc at most for each label of a state",
            "determinize [OPTIONS] [IN [OUT]]",
            "Epsilons are symbols like others, unless --remove-epsilons."
        ),
        example: "G.fst det.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "delta", "det-type", "remove-epsilons", "weight", "nstate"],
        run: determinize,
    },
    Operation {
        name: "epsnormalize",
        usage: usage!(
            "Make an equivalent FST whose epsilons come behind everything else",
            "epsnormalize [OPTIONS] [IN [OUT]]",
            "Those are meant that take nothing, or with --eps-norm-output those that put out nothing."
        ),
        example: "det.fst normal.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "eps-norm-output"],
        run: epsnormalize,
    },
    Operation {
        name: "minimize",
        usage: usage!("Make the smallest equivalent deterministic FST", "minimize [OPTIONS] [IN [OUT]]"),
        example: "det.fst min.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "delta", "allow-nondet"],
        run: minimize,
    },
    Operation {
        name: "push",
        usage: usage!("Push weights to the start or to the final states", "push [OPTIONS] [IN [OUT]]"),
        example: "--to-final G.fst pushed.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "to-final"],
        run: push,
    },
    Operation {
        name: "rmepsilon",
        usage: usage!(
            "Make an equivalent FST without arcs that take and put out nothing",
            "rmepsilon [OPTIONS] [IN [OUT]]"
        ),
        example: "L.fst free.fst",
        inputs: Inputs::Fsts(1),
        options: &["format"],
        run: rmepsilon,
    },
    Operation {
        name: "shortestpath",
        usage: usage!("Find the best paths", "shortestpath [OPTIONS] [IN [OUT]]"),
        example: "--nshortest=2 G.fst best.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "nshortest", "unique"],
        run: shortestpath,
    },
    Operation {
        name: "randgen",
        usage: usage!(
            "Draw random paths",
            "randgen [OPTIONS] [IN [OUT]]",
            "A path is drawn as often as its weight says. An FST with a cycle is refused."
        ),
        example: "--npath=5 --seed=1 G.fst paths.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "npath", "seed", "weighted"],
        run: randgen,
    },
    Operation {
        name: "equivalent",
        usage: usage!(
            "Tell whether two FSTs accept the same with the same weights",
            "equivalent [--delta=...] A B",
            "Exit status: 0 if they do, 2 if not. Epsilons must be removed before."
        ),
        example: "G.fst G.fst",
        inputs: Inputs::Fsts(2),
        options: &["delta"],
        run: equivalent,
    },
    Operation {
        name: "reverse",
        usage: usage!("Accept strings backwards", "reverse [IN [OUT]]"),
        example: "G.fst reversed.fst",
        inputs: Inputs::Fsts(1),
        options: &["format"],
        run: |_, mut files| fst(take(&mut files).reverse()),
    },
    Operation {
        name: "invert",
        usage: usage!("Exchange labels taken and put out", "invert [IN [OUT]]"),
        example: "L.fst inverted.fst",
        inputs: Inputs::Fsts(1),
        options: &["format"],
        run: |_, mut files| fst(as_transducer(take(&mut files))?.invert()),
    },
    Operation {
        name: "project",
        usage: usage!(
            "Make an acceptor of the labels taken, or put out",
            "project [--project-type=input|output] [IN [OUT]]"
        ),
        example: "--project-type=output L.fst words.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "project-output", "project-type"],
        run: project,
    },
    Operation {
        name: "closure",
        usage: usage!("Accept strings any number of times", "closure [--closure-plus] [IN [OUT]]"),
        example: "G.fst any.fst",
        inputs: Inputs::Fsts(1),
        options: &["format", "closure-plus"],
        run: closure,
    },
    Operation {
        name: "union",
        usage: usage!("Accept what either accepts", "union A B [OUT]"),
        example: "G.fst G.fst either.fst",
        inputs: Inputs::Fsts(2),
        options: &["format"],
        run: union,
    },
    Operation {
        name: "concat",
        usage: usage!("Accept what the first accepts and then what the second does", "concat A B [OUT]"),
        example: "G.fst G.fst twice.fst",
        inputs: Inputs::Fsts(2),
        options: &["format"],
        run: |_, mut files| {
            let (a, b) = take_two(&mut files);
            let (a, b) = both(a, b)?;
            fst(concat(&a, &b))
        },
    },
    graphs::ARPA2FST,
    graphs::MAKE_HLG,
];

/// The FST that was made, or why not.
pub(super) fn fst(made: Result<Graph<Fsa>, Error>) -> Result<Made, Trouble> {
    made.map(Made::Fst).map_err(failed)
}

/// What the library says, on one line but for texts, whose places need several.
pub(super) fn failed(error: Error) -> Trouble {
    Trouble::Failed(error.to_string())
}

fn take(files: &mut Vec<FstFile>) -> Graph<Fsa> {
    files.pop().map_or_else(|| Graph::new(Fsa::empty()), |file| file.graph)
}

fn take_two(files: &mut Vec<FstFile>) -> (Graph<Fsa>, Graph<Fsa>) {
    let b = take(files);
    (take(files), b)
}

/// Two acceptors, or two transducers.
fn both(a: Graph<Fsa>, b: Graph<Fsa>) -> Result<(Graph<Fsa>, Graph<Fsa>), Trouble> {
    if is_acceptor(&a) && is_acceptor(&b) { Ok((a, b)) } else { Ok((as_transducer(a)?, as_transducer(b)?)) }
}

fn is_acceptor(graph: &Graph<Fsa>) -> bool {
    graph.attributes().get(kaldera::fsa::AUX_LABELS).is_none()
}

fn acceptors(a: Graph<Fsa>, b: Graph<Fsa>) -> Result<(Fsa, Fsa), Trouble> {
    if is_acceptor(&a) && is_acceptor(&b) {
        return Ok((a.into_parts().0, b.into_parts().0));
    }
    Err(Trouble::Failed("both must be acceptors, which put out what they take; project them first".to_owned()))
}

fn compile(options: &Options, _: Vec<FstFile>) -> Result<Made, Trouble> {
    let [input] = &options.arguments[..] else { return Err(Trouble::Usage("one text is compiled".to_owned())) };
    let (isymbols, osymbols) = (read_symbols(&options.isymbols)?, read_symbols(&options.osymbols)?);
    let ssymbols = read_symbols(&options.ssymbols)?;
    let text = OpenFstText::default()
        .acceptor(options.acceptor)
        .input_symbols(isymbols.as_ref())
        .output_symbols(osymbols.as_ref())
        .state_symbols(ssymbols.as_ref());
    let graph = text.read(&read_text(input)?).map_err(|error| in_file(input, &error))?;
    let mut file = FstFile::new(graph, Format::Binary);
    file.semiring = match &*options.arc_type {
        "standard" => Semiring::Tropical,
        "log" => Semiring::Log,
        other => return Err(Trouble::Usage(format!("option --arc-type: '{other}' is neither standard nor log"))),
    };
    file.set_fst_type(&options.fst_type)?;
    file.format = output_format(&options.output, &options.format, file.format)?;
    file.input_symbols = isymbols.filter(|_| options.keep_isymbols);
    file.output_symbols = osymbols.filter(|_| options.keep_osymbols);
    file.write(&options.output)?;
    Ok(Made::Nothing)
}

fn print(options: &Options, files: Vec<FstFile>) -> Result<Made, Trouble> {
    let ssymbols = read_symbols(&options.ssymbols)?;
    let (isymbols, osymbols) = (read_symbols(&options.isymbols)?, read_symbols(&options.osymbols)?);
    let mut text = String::new();
    for file in files {
        let format = OpenFstText::default()
            .acceptor(options.acceptor)
            .semiring(file.semiring)
            .input_symbols(isymbols.as_ref().or(file.input_symbols.as_ref()))
            .output_symbols(osymbols.as_ref().or(file.output_symbols.as_ref()))
            .state_symbols(ssymbols.as_ref());
        text += &format.print(&file.graph).map_err(failed)?;
    }
    Ok(Made::Text(text))
}

fn info(options: &Options, files: Vec<FstFile>) -> Result<Made, Trouble> {
    let mut text = String::new();
    for (name, file) in options.arguments.iter().zip(&files) {
        if files.len() > 1 {
            let _ = writeln!(text, "{name}");
        }
        let fsa = file.graph.fsas();
        let aux_labels = file.graph.aux_labels();
        let finals = fsa.arcs().iter().filter(|arc| arc.label == FINAL).count();
        let epsilons = fsa.arcs().iter().filter(|arc| arc.label == EPSILON).count();
        let silent = aux_labels.map_or(epsilons, |labels| labels.iter().filter(|&&label| label == EPSILON).count());
        let semiring = if file.semiring == Semiring::Log { "log" } else { "standard" };
        let symbols = |table: &Option<_>| {
            table.as_ref().map_or_else(
                || "none".to_owned(),
                |table: &kaldera::fsa::io::SymbolTable| format!("{} symbols", table.len()),
            )
        };
        for (what, value) in [
            ("format", file.format.name().to_owned()),
            ("arc type", semiring.to_owned()),
            ("kind", if aux_labels.is_some() { "transducer" } else { "acceptor" }.to_owned()),
            ("input symbols", symbols(&file.input_symbols)),
            ("output symbols", symbols(&file.output_symbols)),
            ("states", fsa.num_states().to_string()),
            ("arcs", fsa.num_arcs().to_string()),
            ("final arcs", finals.to_string()),
            ("input epsilons", epsilons.to_string()),
            ("output epsilons", silent.to_string()),
            ("properties", fsa.properties().to_string()),
        ] {
            let _ = writeln!(text, "{what:<16} {value}");
        }
    }
    Ok(Made::Text(text))
}

fn draw(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let (isymbols, osymbols) = (read_symbols(&options.isymbols)?, read_symbols(&options.osymbols)?);
    let Some(file) = files.pop() else { return Ok(Made::Nothing) };
    let drawing = Drawing::default()
        .title(&options.title)
        .input_symbols(isymbols.as_ref().or(file.input_symbols.as_ref()))
        .output_symbols(osymbols.as_ref().or(file.output_symbols.as_ref()));
    match (&*options.format, &*options.layout) {
        ("dot", _) => Ok(Made::Text(drawing.dot(&file.graph))),
        (_, "own") => drawing.svg(&file.graph).map(Made::Text).map_err(failed),
        (_, "graphviz") => graphviz::svg(drawing.dot(&file.graph)).map(Made::Text),
        (_, other) => Err(Trouble::Usage(format!("option --layout: '{other}' is neither own nor graphviz"))),
    }
}

fn arcsort(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let graph = take(&mut files);
    match &*options.sort_type {
        "ilabel" => fst(graph.arc_sort()),
        "olabel" if is_acceptor(&graph) => fst(graph.arc_sort()),
        // Turned round, sorted, and turned back.
        "olabel" => fst(graph.invert().and_then(|graph| graph.arc_sort()).and_then(|graph| graph.invert())),
        other => Err(Trouble::Usage(format!("option --sort-type: '{other}' is neither ilabel nor olabel"))),
    }
}

fn connected(made: Graph<Fsa>, options: &Options) -> Result<Made, Trouble> {
    if options.connect { fst(made.connect()) } else { Ok(Made::Fst(made)) }
}

fn compose(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let (a, b) = take_two(&mut files);
    let epsilons = match &*options.compose_filter {
        "auto" | "sequence" | "alt_sequence" | "match" => Epsilons::Sequenced,
        "trivial" => Epsilons::AnyOrder,
        "null" => Epsilons::AsSymbol,
        other => return Err(Trouble::Usage(format!("option --compose-filter: '{other}' is no filter"))),
    };
    let limits = Limits::default().with_max_bytes(options.max_bytes());
    let acceptor = is_acceptor(&a) && is_acceptor(&b);
    let (a, b) = if acceptor { (a, b) } else { (as_transducer(a)?, as_transducer(b)?) };
    let made = if options.look_ahead {
        let how = LazyOptions::default().with_epsilons(epsilons).with_limits(limits);
        LazyComposition::new(&a, &b, &how).and_then(|composition| composition.to_graph(None))
    } else {
        a.compose_with(&b, &ComposeOptions { epsilons, limits, ..ComposeOptions::default() })
    };
    let made = made.map_err(failed)?;
    connected(if acceptor { made.without(kaldera::fsa::AUX_LABELS) } else { made }, options)
}

fn intersect(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let (a, b) = take_two(&mut files);
    let (a, b) = acceptors(a, b)?;
    let (a, b) = (k2::arc_sort(&a).map_err(failed)?.0, k2::arc_sort(&b).map_err(failed)?.0);
    connected(Graph::new(k2::intersect(&a, &b, Epsilons::Sequenced).map_err(failed)?.0), options)
}

fn difference(_: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let (a, b) = take_two(&mut files);
    let (a, b) = acceptors(a, b)?;
    fst(openfst::difference(&a, &b).map(|(made, _)| Graph::new(made)))
}

fn determinize(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let disambiguate = match &*options.det_type {
        "functional" => false,
        "disambiguate" => true,
        other => {
            return Err(Trouble::Usage(format!("option --det-type: '{other}' is neither functional nor disambiguate")));
        }
    };
    let mut how = DeterminizeOptions::default().with_disambiguate(disambiguate);
    how.remove_epsilons = options.remove_epsilons;
    how.delta = options.delta;
    if options.weight.is_finite() {
        how = how.with_beam(options.weight);
    }
    if let Ok(most) = usize::try_from(options.nstate) {
        how.limits = how.limits.with_max_states(most);
    }
    fst(openfst::determinize(&take(&mut files), &how))
}

fn epsnormalize(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let side = if options.eps_norm_output { Side::Output } else { Side::Input };
    fst(openfst::epsilon_normalize(&take(&mut files), side))
}

fn minimize(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let mut how = MinimizeOptions::default().with_allow_nondet(options.allow_nondet);
    how.delta = options.delta;
    fst(openfst::minimize(&take(&mut files), &how))
}

fn push(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let graph = take(&mut files);
    let to = if options.to_final { PushTo::Final } else { PushTo::Initial };
    fst(openfst::push_weights(graph.fsas(), to).and_then(|made| graph.carry(made)))
}

fn rmepsilon(_: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let graph = take(&mut files);
    let without = |fsa: &Fsa| k2::remove_epsilon(fsa).map(|(made, _)| made);
    if is_acceptor(&graph) {
        return fst(without(graph.fsas()).and_then(|made| Graph::new(made).connect()));
    }
    // Pairs of labels as one, so that arcs that put something out stay.
    let encoded = openfst::encode(&graph, false);
    fst(encoded.and_then(|(fsa, encoder)| encoder.decode(&without(&fsa)?)?.connect()))
}

fn shortestpath(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let graph = take(&mut files);
    let number = usize::try_from(options.nshortest)
        .map_err(|_| Trouble::Usage(format!("option --nshortest: {} is below 0", options.nshortest)))?;
    let unique = match (options.unique, is_acceptor(&graph)) {
        (false, _) => Unique::Paths,
        (true, true) => Unique::Labels,
        (true, false) => {
            return Err(Trouble::Failed("unique paths are those of acceptors; project the FST first".to_owned()));
        }
    };
    let paths = openfst::shortest_paths(&graph, number, unique).map_err(failed)?;
    fst(paths_as_fst(&graph, paths.rows(), true))
}

fn randgen(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let graph = take(&mut files).connect().and_then(|graph| graph.top_sort()).map_err(failed)?;
    let number = usize::try_from(options.npath)
        .map_err(|_| Trouble::Usage(format!("option --npath: {} is below 0", options.npath)))?;
    let paths = sample_paths(graph.fsas(), number, options.seed).map_err(failed)?;
    fst(paths_as_fst(&graph, paths.rows(), options.weighted))
}

/// An FST of these paths, each a list of places of arcs, side by side from the start to the final state.
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
    // The first arcs of all paths leave the start, then each path has states of its own.
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

fn equivalent(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let (a, b) = take_two(&mut files);
    let has_epsilons = |graph: &Graph<Fsa>| {
        let silent = |(at, arc): (usize, &Arc)| {
            arc.label == EPSILON && graph.aux_labels().is_none_or(|aux_labels| aux_labels[at] == EPSILON)
        };
        graph.fsas().arcs().iter().enumerate().any(silent)
    };
    if has_epsilons(&a) || has_epsilons(&b) {
        return Err(Trouble::Failed("epsilons must be removed before; rmepsilon does".to_owned()));
    }
    a.equivalent(&b, Equivalence::Structure { delta: options.delta }).map(Made::Answer).map_err(failed)
}

fn project(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let side = match (&*options.project_type, options.project_output) {
        ("input", false) => Side::Input,
        ("output", _) | ("input", true) => Side::Output,
        (other, _) => {
            return Err(Trouble::Usage(format!("option --project-type: '{other}' is neither input nor output")));
        }
    };
    fst(openfst::project(&take(&mut files), side).map(|(made, _)| Graph::new(made)))
}

fn closure(options: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let graph = take(&mut files);
    // A start that arcs enter would be an end where no string ends.
    let entered = graph.fsas().arcs().iter().any(|arc| arc.dest_state == 0);
    let base =
        if entered { Graph::cat(&[&graph]).and_then(|graph| graph.union()).map_err(failed)? } else { graph.clone() };
    let star = base.closure().map_err(failed)?;
    if options.closure_plus { fst(concat(&graph, &star)) } else { Ok(Made::Fst(star)) }
}

fn union(_: &Options, mut files: Vec<FstFile>) -> Result<Made, Trouble> {
    let (a, b) = take_two(&mut files);
    let (a, b) = both(a, b)?;
    fst(Graph::cat(&[&a, &b]).and_then(|both| both.union()))
}

/// One behind the other; both put something out, or none.
fn concat(a: &Graph<Fsa>, b: &Graph<Fsa>) -> Result<Graph<Fsa>, Error> {
    let (fsa, from_a, from_b) = k2::concat(a.fsas(), b.fsas())?;
    let (Some(of_a), Some(of_b)) = (a.aux_labels(), b.aux_labels()) else { return Ok(Graph::new(fsa)) };
    let of = |labels: &[i32], from: i32| usize::try_from(from).ok().and_then(|from| labels.get(from).copied());
    let label = |((from_a, from_b), arc): ((&i32, &i32), &Arc)| {
        let label = of(of_a, *from_a).or_else(|| of(of_b, *from_b)).unwrap_or(EPSILON);
        // What was the end of `a` puts nothing out.
        if label == FINAL && arc.label != FINAL { EPSILON } else { label }
    };
    let aux_labels: Vec<i32> = from_a.iter().zip(&from_b).zip(fsa.arcs()).map(label).collect();
    Graph::new(fsa).with_aux_labels(aux_labels)
}
