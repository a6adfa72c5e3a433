//! Decoding graphs in files: read back, they decode as in memory.

use fsa::graphs::{HlgOptions, Lexicon, Silence, WordBoundary, make_hlg};
use fsa::io::{K2Text, OpenFstBinary, OpenFstText, SymbolTable};
use fsa::{AUX_LABELS, EPSILON, FINAL, Fsa, Graph};
use proptest::prelude::*;

use crate::graphs::{Entries, WORDS, arpa, boundaries, entries, lexicon_of, lexicon_text};

/// The score of the best path with these labels, where arcs of `epsilon` take none.
fn best(fsa: &Fsa, labels: &[i32], epsilon: Option<i32>) -> f64 {
    let view = fsa.view();
    let mut now = vec![f64::NEG_INFINITY; fsa.num_states()];
    if let Some(start) = now.first_mut() {
        *start = 0.0;
    }
    for &label in labels.iter().chain(&[FINAL]) {
        // Epsilons make chains, as long as there are states at most.
        for _ in 0..fsa.num_states() {
            let before = now.clone();
            for arc in fsa.arcs().iter().filter(|arc| Some(arc.label) == epsilon) {
                let (src, dest) = (arc.src_state as usize, arc.dest_state as usize);
                now[dest] = now[dest].max(now[src] + f64::from(arc.score));
            }
            if now == before {
                break;
            }
        }
        let mut next = vec![f64::NEG_INFINITY; fsa.num_states()];
        for (state, score) in now.iter().enumerate().filter(|(_, score)| **score > f64::NEG_INFINITY) {
            for arc in view.arcs_of(state).iter().filter(|arc| arc.label == label) {
                let dest = arc.dest_state as usize;
                next[dest] = next[dest].max(score + f64::from(arc.score));
            }
        }
        now = next;
    }
    now.last().copied().unwrap_or(f64::NEG_INFINITY)
}

/// The tokens of a sentence as frames: each up to three times, blanks where `choices` say so.
fn frames(tokens: &[i32], choices: &mut impl Iterator<Item = u8>) -> Vec<i32> {
    let mut frames = vec![];
    let mut choose = |most: u8| choices.next().unwrap_or(0) % most;
    for &token in tokens {
        frames.extend((0..choose(3)).map(|_| EPSILON));
        frames.extend((0..=choose(3)).map(|_| token));
    }
    frames.extend((0..choose(2)).map(|_| EPSILON));
    frames
}

proptest! {
    /// In memory, in OpenFst's binary file, in its text with symbols, and in k2's text, all frames
    /// of random sentences cost the same; in all topologies, with epsilons and without.
    #[test]
    fn files_of_decoding_graphs_decode_as_in_memory(
        entries in lexicon_text(), (order, ngrams) in entries(), modified: bool, silence: bool, topology: bool,
        boundary in boundaries(), remove_epsilon: bool,
        sentences in prop::collection::vec((prop::collection::vec(any::<prop::sample::Index>(), 0..5), any::<[u8; 32]>()), 8),
    ) {
        let ngrams: Entries = ngrams.into_iter().map(|(ngram, (p, bow))| (ngram, (p, bow.min(0.0)))).collect();
        let text = lexicon_of(&entries, |word| WORDS[word + 1].to_owned());
        let mut options = HlgOptions::default();
        (options.modified, options.topology, options.remove_epsilon) = (modified, topology, remove_epsilon);
        options.lexicon.word_boundary = boundary.clone();
        options.lexicon.silence = silence.then(|| Silence { token: "SIL".into(), probability: 0.5 });
        let none = SymbolTable::default();
        let arpa = arpa(order, &ngrams);
        let hlg = make_hlg(none.clone(), none.clone(), text.as_bytes(), arpa.as_bytes(), &options, &mut |_| {}).unwrap();

        let written = hlg.to_openfst().unwrap();
        let binary = OpenFstBinary::read(&written.write().unwrap()).unwrap();
        let (isymbols, osymbols) = (binary.input_symbols.clone().unwrap(), binary.output_symbols.clone().unwrap());
        prop_assert_eq!(isymbols.get(EPSILON), Some("<eps>"));
        let openfst = OpenFstText::default().with_input_symbols(Some(&isymbols)).with_output_symbols(Some(&osymbols));
        let openfst = openfst.read(&openfst.print(&binary.graph).unwrap()).unwrap();
        let k2 = K2Text::for_graph(&hlg.graph);
        let k2 = k2.read(&k2.print(&hlg.graph).unwrap()).unwrap();
        prop_assert_eq!(k2.attributes().get(AUX_LABELS), hlg.graph.attributes().get(AUX_LABELS));

        let (mut tokens, mut words) = (none.clone(), none);
        let lexicon = Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &options.lexicon).unwrap();
        let labels = hlg.labels().unwrap();
        // Which numbers tokens have in memory and in a file, their tables say.
        let epsilon = labels.find("<eps>");
        prop_assert_eq!(epsilon.is_none(), topology && remove_epsilon);
        let numbers = |table: &SymbolTable, string: &[i32]| -> Vec<i32> {
            let name = |token| if token == EPSILON { "<blk>" } else { tokens.get(token).unwrap() };
            string.iter().map(|&token| table.find(name(token)).unwrap()).collect()
        };
        for (sentence, choices) in sentences {
            let mut choices = choices.into_iter();
            let mut choose = |token: i32| Some(token).filter(|&token| token > 0 && choices.next() > Some(127));
            let token = lexicon.word_boundary_token().filter(|_| !sentence.is_empty());
            let may = |at: fn(&WordBoundary) -> bool| token.filter(|_| boundary.as_ref().is_some_and(at));
            let mut string: Vec<i32> = choose(lexicon.silence_token()).into_iter().collect();
            string.extend(may(|boundary| boundary.at_start).and_then(&mut choose));
            for (place, word) in sentence.iter().enumerate() {
                string.extend(token.filter(|_| place > 0));
                string.extend_from_slice(lexicon.tokens().row(word.index(lexicon.num_pronunciations())));
                string.extend(choose(lexicon.silence_token()));
            }
            string.extend(may(|boundary| boundary.at_end).and_then(&mut choose));
            if topology {
                string = frames(&string, &mut choices);
            }
            let expected = best(hlg.graph.fsas(), &numbers(&labels, &string), epsilon);
            let in_file = numbers(&isymbols, &string);
            prop_assert_eq!(best(binary.graph.fsas(), &in_file, Some(EPSILON)), expected, "binary file, {:?}", string);
            prop_assert_eq!(best(openfst.fsas(), &in_file, Some(EPSILON)), expected, "text, {:?}", string);
            prop_assert_eq!(best(k2.fsas(), &numbers(&labels, &string), epsilon), expected, "k2's text, {:?}", string);
            if !topology || modified {
                // Nothing need stand between the tokens of a sentence.
                prop_assert!(expected > f64::NEG_INFINITY, "{string:?} has no path");
            }
        }
    }
}

/// A word without a path because the same label is blank and epsilon, or a path too many: what the
/// file of O09 had.
#[test]
fn a_blank_between_repeats_is_kept_in_files() {
    let (lexicon, arpa) =
        ("A x\nB y\nC x x\n", "\\data\\\nngram 1=5\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.6 A\n-0.7 B\n-0.8 C\n\\end\\\n");
    let tokens = "<blk> 0\nx 1\ny 2\n".parse::<SymbolTable>().unwrap();
    let how = HlgOptions::default();
    let hlg = make_hlg(tokens.clone(), SymbolTable::default(), lexicon.as_bytes(), arpa.as_bytes(), &how, &mut |_| {})
        .unwrap();
    let file = hlg.to_openfst().unwrap();
    let table = file.input_symbols.unwrap();
    assert_eq!(hlg.labels().unwrap(), table);
    assert_eq!(table.to_string(), "<eps>\t0\n<blk>\t1\nx\t2\ny\t3\n");
    let cost = |graph: &Graph<Fsa>, frames: &[&str]| {
        let labels: Vec<_> = frames.iter().map(|name| table.find(name).unwrap()).collect();
        -best(graph.fsas(), &labels, Some(EPSILON)) / std::f64::consts::LN_10
    };
    for (frames, expected) in [(&["x"][..], 1.1), (&["x", "x"], 1.1), (&["x", "y"], 1.8), (&["x", "<blk>", "x"], 1.3)] {
        let found = cost(&file.graph, frames);
        assert!((found - expected).abs() < 0.01, "{frames:?}: {found}");
    }
}
