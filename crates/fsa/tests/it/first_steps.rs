//! What somebody who has not read the documentation tries first.

use fsa::graphs::{ContextGraph, Lexicon, NgramModel, ctc_topo};
use fsa::io::SymbolTable;
use fsa::k2::{linear_fsa, linear_fsas};
use fsa::paths::{Nbest, shortest_path, total_scores};
use fsa::{Arc, Error, Fsa, FsaOrVec, FsaVec, Graph, Properties, Ragged, RaggedShape, Semiring};

#[test]
fn an_fsa_comes_from_text_and_goes_back() {
    let fsa: Fsa = "0 1 7 0.5\n1 2 -1 0\n2".parse().unwrap();
    assert_eq!(fsa, Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)]).unwrap());
    assert_eq!(fsa.to_string().parse::<Fsa>().unwrap(), fsa);
    assert_eq!(shortest_path(&fsa).unwrap().0.labels(), [7, -1]);
}

#[test]
fn lists_of_labels_become_fsas() {
    let words = linear_fsas(&Ragged::from(vec![vec![1, 2], vec![3]])).unwrap();
    assert_eq!((words.num_fsas(), words.get(0).unwrap()), (2, linear_fsa(&[1, 2]).unwrap()));
    let shape: &RaggedShape = words.shape();
    assert_eq!(shape.num_axes(), 3);
    let graph = Graph::new(linear_fsa(&[1, 2]).unwrap());
    let readings = ctc_topo(2, false).unwrap().compose(&graph).unwrap();
    assert!(readings.fsas().num_arcs() > 0 && readings.aux_labels().is_some());
    let totals: Vec<f64> = total_scores(&words, Semiring::Tropical).unwrap();
    assert_eq!(totals, [0.0, 0.0]);
}

#[cfg(feature = "serde")]
#[test]
fn options_are_read_and_written() {
    use fsa::graphs::HlgOptions;
    use fsa::k2::{ComposeOptions, Epsilons};
    use fsa::openfst::DeterminizeOptions;

    let compose: ComposeOptions = serde_json::from_str(r#"{"epsilons": "AsSymbol"}"#).unwrap();
    assert_eq!(compose, ComposeOptions::default().with_epsilons(Epsilons::AsSymbol));
    let determinize: DeterminizeOptions = serde_json::from_str(r#"{"beam": 8.0}"#).unwrap();
    assert_eq!(determinize, DeterminizeOptions::default().with_beam(8.0));
    assert_eq!(
        serde_json::from_value::<DeterminizeOptions>(serde_json::to_value(&determinize).unwrap()).unwrap(),
        determinize
    );
    let text = r#"{"lexicon": {"silence": {"token": "SIL", "probability": 0.5}, "words": "Skip"}, "max_token": 500}"#;
    let hlg: HlgOptions = serde_json::from_str(text).unwrap();
    assert_eq!((hlg.max_token, hlg.lexicon.silence.map(|silence| silence.token)), (Some(500), Some("SIL".into())));
    assert!(serde_json::from_str::<HlgOptions>(r#"{"max_tokens": 500}"#).is_err());
}

#[test]
fn debug_of_a_large_batch_is_short() {
    let lists: Ragged<i32> = (0..1000).map(|i| vec![1; i % 7]).collect();
    let text = format!("{:?}", linear_fsas(&lists).unwrap());
    assert!(text.len() < 3000, "{text}");
}

#[test]
fn what_lasts_crosses_threads() {
    const fn send_and_sync<T: Send + Sync>() {}
    const _: () = {
        send_and_sync::<Fsa>();
        send_and_sync::<FsaVec>();
        send_and_sync::<FsaOrVec>();
        send_and_sync::<Graph<Fsa>>();
        send_and_sync::<Graph<FsaVec>>();
        send_and_sync::<Properties>();
        send_and_sync::<SymbolTable>();
        send_and_sync::<Lexicon>();
        send_and_sync::<NgramModel>();
        send_and_sync::<ContextGraph>();
        send_and_sync::<Nbest>();
        send_and_sync::<Error>();
    };
}
