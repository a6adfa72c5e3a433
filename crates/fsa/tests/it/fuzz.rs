//! Damaged input for every reader: errors may come of it, and nothing worse. How to search longer
//! stands in `kaldera-fuzz`.

use std::fmt::Debug;

use fsa::graphs::{
    ArpaOptions, ConstArpa, ConstArpaForm, ConstArpaOptions, Lexicon, LexiconOptions, NgramModel, OutOfVocabulary,
    Silence,
};
use fsa::io::{K2Text, OpenFstBinary, OpenFstText, SymbolTable, TransducerFile};
use fsa::lattice::LanguageModel;
use fsa::on_demand::{Composition, CompositionOptions, LookAheadGrammar, LookAheadLexicon};
use fsa::{EPSILON, Fsa, Fsas, Graph, LabelReach, Limits};
use kaldera_fuzz::fuzz;

/// Nothing is made that the input has no bytes for: `number` of what is named by it may at most be
/// `times` its length, besides a few.
#[track_caller]
fn in_proportion(number: usize, times: usize, input: &[u8]) {
    const FEW: usize = 1 << 17;
    assert!(number <= times * input.len() + FEW, "{number} of {} bytes", input.len());
}

#[track_caller]
fn same<T: PartialEq + Debug>(once: &T, again: &T) {
    assert!(once == again, "{once:?} was written, {again:?} read");
}

#[test]
fn openfst_binary() {
    fuzz!("fst", |bytes| {
        transducer_file(bytes);
        let Ok(file) = OpenFstBinary::read(bytes) else { return };
        in_proportion(file.graph.fsas().num_arcs() + file.graph.fsas().num_states(), 1, bytes);
        let written = file.write().expect("what was read can be written");
        let again = OpenFstBinary::read(&written).expect("what was written can be read");
        assert_eq!(again.write().expect("once more"), written);
        let constant = OpenFstBinary::read(&file.write_const().expect("as the other type"));
        same(&constant.expect("what was written can be read"), &again);
        same(&(&again.input_symbols, &again.output_symbols), &(&file.input_symbols, &file.output_symbols));
    });
}

/// Reads a file as a transducer and composes it with itself.
fn transducer_file(bytes: &[u8]) {
    let Ok(file) = TransducerFile::read(bytes) else { return };
    let it = file.transducer;
    in_proportion(it.num_arcs() + it.num_states(), 1, bytes);
    in_proportion(file.label_reach.as_ref().map_or(0, LabelReach::num_bytes), 2, bytes);
    let limits = Limits::default().with_max_bytes(1 << 16);
    let lexicon = match file.label_reach {
        Some(reach) => LookAheadLexicon::new(it.clone(), reach),
        None => LookAheadLexicon::with_reach(it.clone(), limits),
    };
    let (Ok(lexicon), Ok(grammar)) = (lexicon, LookAheadGrammar::new(it)) else { return };
    let graph = Composition::new(lexicon.into(), grammar.into(), CompositionOptions::default().with_cache_bytes(0));
    // A limit may come of it.
    _ = graph.compose(limits);
}

/// Text that was read, printed and read.
fn text_reads_back(
    text: &str,
    read: impl Fn(&str) -> Result<Graph<Fsa>, fsa::Error>,
    print: impl Fn(&Graph<Fsa>) -> String,
) {
    let Ok(graph) = read(text) else { return };
    in_proportion(graph.fsas().num_arcs() + graph.fsas().num_states(), 1, text.as_bytes());
    let printed = print(&graph);
    let again = read(&printed).unwrap_or_else(|error| panic!("{printed:?} came of {text:?}, which gives {error}"));
    assert_eq!(print(&again), printed);
}

#[test]
fn k2_text() {
    let formats = [
        K2Text::acceptor(),
        K2Text::transducer(),
        K2Text::acceptor().with_labels(2),
        K2Text::acceptor().with_list_names(["ragged"]),
        K2Text::transducer().with_list_names(["ragged"]),
        K2Text::acceptor().with_openfst(true),
        K2Text::transducer().with_openfst(true),
    ];
    fuzz!("k2_text", |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        for format in &formats {
            let print = |graph: &Graph<Fsa>| format.print(graph).expect("what was read can be printed");
            // k2 prints nothing for a start without arcs, so that with costs another state is then
            // taken for it.
            let starts = |graph: &Graph<Fsa>| graph.fsas().arcs().first().is_none_or(|arc| arc.src_state == 0);
            if format.read(text).is_ok_and(|graph| starts(&graph)) {
                text_reads_back(text, |text| format.read(text), print);
            }
        }
    });
}

#[test]
fn openfst_text() {
    let symbols: SymbolTable = "<eps> 0\na 1\nb 2\nx 7\n".parse().expect("a table");
    let plain = OpenFstText::default();
    let formats = [
        plain,
        plain.with_acceptor(true),
        plain.with_input_symbols(Some(&symbols)).with_output_symbols(Some(&symbols)),
        plain.with_state_symbols(Some(&symbols)),
    ];
    fuzz!("openfst_text", |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        for format in &formats {
            let print = |graph: &Graph<Fsa>| format.print(graph).unwrap_or_default();
            text_reads_back(text, |text| format.read(text), print);
        }
    });
}

#[test]
fn symbol_tables() {
    fuzz!("symbols", |bytes| {
        let Ok(table) = String::from_utf8_lossy(bytes).parse::<SymbolTable>() else { return };
        in_proportion(table.len(), 1, bytes);
        same(&table, &table.to_string().parse().expect("what was printed can be read"));
        for (symbol, label) in table.iter() {
            assert_eq!((table.find(symbol), table.get(label)), (Some(label), Some(symbol)));
        }
    });
}

#[test]
fn arpa() {
    fuzz!("arpa", |bytes| {
        for out_of_vocabulary in [OutOfVocabulary::Add, OutOfVocabulary::Skip, OutOfVocabulary::Refuse] {
            let mut words: SymbolTable = "<eps> 0\nhello 1\n".parse().expect("a table");
            let mut options = ArpaOptions::default();
            options.out_of_vocabulary = out_of_vocabulary;
            let Ok(model) = NgramModel::read(bytes, &mut words, &options, &mut |_| {}) else { continue };
            in_proportion(words.len() + model.num_ngrams(), 1, bytes);
            assert!(!model.score(&[1, 1, 2]).is_nan());
            if let Ok(grammar) = model.to_fsa(EPSILON) {
                in_proportion(grammar.num_arcs(), 2, bytes);
            }
        }
    });
}

#[test]
fn const_arpa() {
    /// Bytes that a printed n-gram takes at most, for the 8 bytes of its entry.
    const PRINTED: usize = 32;
    let options = ConstArpaOptions::new(1, 2).with_limits(Limits::default().with_max_bytes(1 << 20));
    fuzz!("const_arpa", |bytes| {
        // Damage of text, and of the binary files.
        let made = ConstArpa::from_arpa(bytes, &options.with_max_distance(9), &mut |_, _| {});
        for model in [made, ConstArpa::from_bytes(bytes.to_vec())].into_iter().flatten() {
            let mut states = vec![model.start(), model.null_context()];
            for at in 0..20 {
                let Some(&state) = states.get(at) else { break };
                let _ = model.end(state);
                states.extend((-1..9).filter_map(|word| model.step(state, word)).map(|(next, _)| next));
            }
            for form in [ConstArpaForm::Named, ConstArpaForm::Old] {
                let written = model.to_bytes(form).expect("a small model");
                let again = ConstArpa::from_bytes(written.clone()).expect("what was written can be read");
                assert_eq!(again.to_bytes(form).expect("once more"), written);
                if ConstArpa::is_one(model.as_bytes()) == (form == ConstArpaForm::Named) {
                    assert_eq!(model.as_bytes(), written);
                }
            }
            let mut printed = Vec::new();
            model.write_arpa(&mut printed).expect("into memory");
            in_proportion(printed.len(), PRINTED, model.as_bytes());
        }
    });
}

#[test]
fn lexicon() {
    let mut with_silence = LexiconOptions::default();
    with_silence.silence = Some(Silence { token: "SIL".into(), probability: 0.5 });
    let mut with_probabilities = LexiconOptions::default();
    with_probabilities.probabilities = Some(true);
    let all = [LexiconOptions::default(), with_silence, with_probabilities];
    fuzz!("lexicon", |bytes| {
        for options in &all {
            let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
            let Ok(lexicon) = Lexicon::read(bytes, &mut tokens, &mut words, options) else { continue };
            in_proportion(lexicon.num_pronunciations() + tokens.len() + words.len(), 3, bytes);
            for graph in [lexicon.to_graph(), lexicon.to_disambiguated_graph()] {
                let graph = graph.expect("words are paths");
                in_proportion(graph.fsas().num_arcs(), 3, bytes);
                assert_eq!(graph.fsas().as_fsa_vec().num_fsas(), 1);
            }
        }
    });
}

#[cfg(feature = "npz")]
#[test]
fn npz() {
    use fsa::io::{read_npz, write_npz};

    fuzz!("npz", |bytes| {
        let Ok(graph) = read_npz(std::io::Cursor::new(bytes)) else { return };
        in_proportion(graph.fsas().as_fsa_vec().num_arcs() + graph.fsas().as_fsa_vec().num_states(), 1, bytes);
        let mut written = std::io::Cursor::new(Vec::new());
        write_npz(&graph, &mut written).expect("what was read can be written");
        same(&graph, &read_npz(written).expect("what was written can be read"));
    });
}
