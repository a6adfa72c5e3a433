//! How labels are read follows a graph through files and operations, so that decoding needs not be
//! told.

use fsa::dense::{DenseFsaVec, DenseOptions, OnlineDecoder};
use fsa::graphs::{CtcTopology, HlgOptions, make_hlg};
use fsa::io::{GraphFile, GraphFormat, K2Text, OpenFstBinary, OpenFstText, SymbolTable};
use fsa::lattice::Lattice;
use fsa::openfst::Side;
use fsa::{Error, Fsa, Graph, GraphLabels, Limits, Ragged};

const LEXICON: &str = "A x\nB y\nC x x\n";
const ARPA: &str = "\\data\\\nngram 1=5\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.6 A\n-0.6 B\n-0.7 C\n\\end\\\n";
const CLASSES: usize = 3;

/// The words of the best path where each frame has one class.
fn words_of(graph: &Graph<Fsa>, words: &SymbolTable, classes: &[usize]) -> String {
    let values: Vec<f32> = classes
        .iter()
        .flat_map(|&best| (0..CLASSES).map(move |class| if class == best { 0.0 } else { -9.0 }))
        .collect();
    let dense = DenseFsaVec::from_frames(&values, CLASSES).unwrap();
    let lattices = graph.intersect_dense_pruned(&dense, &DenseOptions::default()).unwrap();
    Lattice::from_dense(&lattices).unwrap().texts(words).unwrap().swap_remove(0).unwrap()
}

#[test]
fn what_make_hlg_makes_and_writes_is_decoded_as_it_is() {
    let tokens: SymbolTable = "<blk> 0\nx 1\ny 2\n".parse().unwrap();
    for remove_epsilon in [false, true] {
        let mut options = HlgOptions::default();
        options.remove_epsilon = remove_epsilon;
        let (lexicon, arpa) = (LEXICON.as_bytes(), ARPA.as_bytes());
        let hlg = make_hlg(tokens.clone(), SymbolTable::default(), lexicon, arpa, &options, &mut |_| {}).unwrap();
        let expected = if remove_epsilon { GraphLabels::Class } else { GraphLabels::ClassPlusOne };
        assert_eq!(hlg.graph.graph_labels(), expected);
        let file = hlg.to_openfst().unwrap();
        let k2 = K2Text::for_graph(&hlg.graph).print(&hlg.graph).unwrap();
        let text = OpenFstText::default().print(&file.graph).unwrap();
        let mut all = vec![hlg.graph.clone(), hlg.graph.clone().into_class_plus_one().unwrap(), file.graph.clone()];
        // k2's text is of graphs without epsilons.
        let mut files = vec![(file.write().unwrap(), GraphFormat::Binary), (text.into_bytes(), GraphFormat::Text)];
        files.extend(remove_epsilon.then(|| (k2.into_bytes(), GraphFormat::K2)));
        for (bytes, format) in files {
            let read = GraphFile::read(&bytes).unwrap();
            assert_eq!(read.format, format);
            all.push(read.graph);
        }
        for graph in all {
            let said = |classes: &[usize]| words_of(&graph, &hlg.words, classes);
            assert_eq!(said(&[1]), "A");
            assert_eq!(said(&[1, 1]), "A");
            assert_eq!(said(&[1, 2]), "A B");
            // log10 -0.7 of C beside twice -0.6 of A A.
            assert_eq!(said(&[1, 0, 1]), "C");
        }
    }
}

#[test]
fn how_labels_are_read_follows_each_operation() {
    let fsa: Fsa = "0 1 1 -1\n0 1 2 -2\n1 2 1 -1\n2 3 -1 0\n3".parse().unwrap();
    let acceptor = Graph::new(fsa).with_graph_labels(GraphLabels::ClassPlusOne);
    let transducer = acceptor.clone().with_aux_labels(vec![1, 2, 1, -1]).unwrap();
    let limits = Limits::default();
    for graph in [acceptor, transducer] {
        let again = Graph::cat(&[&graph, &graph]).unwrap();
        let made = [
            graph.connect(),
            graph.top_sort(),
            graph.arc_sort(),
            graph.compose(&graph),
            graph.remove_epsilon(),
            graph.remove_epsilon_self_loops(),
            graph.project(Side::Output),
            graph.push_weights(fsa::openfst::PushTo::Initial),
            graph.set_scores_stochastic(),
            graph.random_paths(1).map(|paths| Graph::cat(&[paths.paths()]).unwrap().union().unwrap()),
            graph.determinize(Default::default()),
            graph.determinize_openfst(&Default::default()),
            graph.minimize(&Default::default()),
            graph.shortest_path(),
            graph.reverse(),
            graph.closure(),
            graph.concat(&graph),
            graph.add_epsilon_self_loops(),
            again.union(),
            fsa::openfst::optimize(&graph),
            fsa::openfst::epsilon_normalize(&graph, Side::Output, limits),
            CtcTopology::new(2, false).unwrap().compose(&graph, GraphLabels::ClassPlusOne, None, limits),
        ];
        for (number, made) in made.into_iter().enumerate() {
            assert_eq!(made.unwrap().graph_labels(), GraphLabels::ClassPlusOne, "{number}");
        }
        assert_eq!(again.graph_labels(), GraphLabels::ClassPlusOne);
        let (codes, encoder) = fsa::openfst::encode(&graph, false).unwrap();
        assert_eq!(encoder.decode(&codes).unwrap().graph_labels(), GraphLabels::ClassPlusOne);
        let other = graph.clone().with_graph_labels(GraphLabels::Class);
        assert!(matches!(Graph::cat(&[&graph, &other]), Err(Error::Attribute { .. })));
        assert!(matches!(graph.concat(&other), Err(Error::Attribute { .. })));
    }
}

#[test]
fn a_stream_reads_labels_as_whole_utterances() {
    let graph = GraphFile::read(b"0 0 1 0\n0 1 2 1\n1 1 3 2\n1\n").unwrap().graph;
    let values = [0.0, -9.0, -9.0, 0.0];
    let dense = DenseFsaVec::from_frames(&values, 2).unwrap();
    let decoder = OnlineDecoder::new(graph.clone(), DenseOptions::default()).unwrap();
    // Label 3 is the third class, which the scores lack.
    let mut stream = decoder.stream();
    assert!(matches!(decoder.decode(&mut [&mut stream], &dense), Err(Error::DenseLabel { label: 3, .. })));
    let whole = graph.intersect_dense_pruned(&dense, &DenseOptions::default());
    assert!(matches!(whole, Err(Error::DenseLabel { label: 3, .. })));
}

#[test]
fn lists_of_words_become_chains_that_take_no_frame() {
    let lists = Ragged::from_lists(&[vec![1, 2], vec![-1]]).unwrap();
    let graph = Graph::new("0 1 0 0\n1 2 -1 0\n2".parse::<Fsa>().unwrap()).with_aux_labels(lists).unwrap();
    let made = graph.into_class_plus_one().unwrap();
    assert_eq!((made.graph_labels(), made.fsas().labels()), (GraphLabels::ClassPlusOne, vec![1, 0, -1]));
    assert_eq!(made.aux_labels(), Some(&[1, 2, -1][..]));
    assert_eq!(made.clone().into_class_plus_one().unwrap(), made);
    let file = OpenFstBinary::new(made.clone()).write().unwrap();
    assert_eq!(GraphFile::read(&file).unwrap().graph, made);
}

#[test]
fn a_graph_without_words_is_an_error() {
    let made = |lexicon: &str| {
        let (none, options) = (SymbolTable::default(), HlgOptions::default());
        make_hlg(none.clone(), none, lexicon.as_bytes(), ARPA.as_bytes(), &options, &mut |_| {}).map(drop)
    };
    assert_eq!(made("A x\nq y\n"), Ok(()));
    let error = |wanted: &str, other_case| {
        Err(Error::NoSharedWord { wanted: wanted.to_owned(), own: "A".to_owned(), other_case })
    };
    assert_eq!(made("p x\nq y\n"), error("p", false));
    assert_eq!(made("p x\nb y\n"), error("b", true));
    assert_eq!(made(""), Err(Error::NoWords));
    // The unknown word is a word where it is spelled.
    let arpa = ARPA.replace("=5", "=6").replace("-0.6 A", "-0.6 A\n-0.9 <unk>");
    let (none, options) = (SymbolTable::default(), HlgOptions::default());
    let lexicon = "p x\n<unk> y\n";
    assert!(make_hlg(none.clone(), none, lexicon.as_bytes(), arpa.as_bytes(), &options, &mut |_| {}).is_ok());
}
