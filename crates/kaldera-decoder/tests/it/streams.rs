//! Streams share the data of their decoder, so that a server can keep them in a map.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use fsa::graphs::NgramModel;
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, CtcStream};
use kaldera_decoder::graph::GraphStream;
use kaldera_decoder::transducer::{
    EncoderOutput, Fusion, GreedyStream, RnntStream, StatelessModel, TransducerOptions, TransducerStream,
    TransducerTopology, greedy_search, modified_beam_search,
};
use kaldera_decoder::{FrameTimes, LogProbs, Vocabulary};

const VALUES: [f32; 9] = [-2.0, -0.2, -3.0, -0.1, -3.0, -3.0, -2.0, -3.0, -0.3];

#[test]
fn streams_move_to_other_threads_and_borrow_nothing() {
    fn check<T: Send + Sync + 'static>() {}
    check::<CtcStream>();
    check::<CtcStream<NgramModel>>();
    check::<GraphStream>();
    check::<GreedyStream<Arc<StatelessModel>>>();
    check::<TransducerStream<Arc<StatelessModel>>>();
    check::<TransducerStream<Arc<StatelessModel>, NgramModel>>();
    check::<RnntStream>();
}

#[test]
fn ctc_streams_outlive_their_decoder() {
    let log_probs = LogProbs::new("u", &VALUES, 3).unwrap();
    let mut streams = HashMap::new();
    let expected = {
        let vocabulary = Vocabulary::new(["-", "a", "b"], 0).unwrap();
        let decoder = CtcDecoder::new(vocabulary, CtcDecoderOptions::default()).unwrap();
        let decoder = decoder.with_hot_texts(["ab"]).unwrap();
        streams.insert("u", decoder.stream("u"));
        decoder.decode(&log_probs).unwrap()
    };
    streams.get_mut("u").unwrap().accept(&log_probs.slice(0..1).unwrap()).unwrap();
    let mut stream = streams.remove("u").unwrap();
    let copy = stream.clone();
    let found = thread::spawn(move || {
        stream.accept(&LogProbs::new("u", &VALUES[3..], 3).unwrap()).unwrap();
        stream.finish()
    });
    assert_eq!(found.join().unwrap(), expected);
    assert_eq!(copy.num_frames(), 1);
}

#[test]
fn transducer_streams_outlive_the_model_of_the_caller() {
    let identity = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let model = Arc::new(StatelessModel::new(vec![], identity, vec![0.0; 3], 3, 0).unwrap());
    let encoder = EncoderOutput::new("u", &VALUES, 3).unwrap();
    let (options, times, topology) =
        (TransducerOptions::default(), FrameTimes::default(), TransducerTopology::Modified);
    let greedy = greedy_search(&*model, &encoder, &options, &times).unwrap();
    let expected = modified_beam_search(&*model, &encoder, &Fusion::NONE, &options, &times).unwrap();
    let one = GreedyStream::new("u", Arc::clone(&model), topology, &options, times).unwrap();
    let several = TransducerStream::new("u", model, &Fusion::NONE, topology, &options, times).unwrap();
    let found = thread::spawn(move || {
        let encoder = EncoderOutput::new("u", &VALUES, 3).unwrap();
        let (mut one, mut several) = (one, several);
        one.accept(&encoder).unwrap();
        several.accept(&encoder).unwrap();
        (one.finish(), several.finish())
    });
    let (one, several) = found.join().unwrap();
    assert_eq!((one.hypotheses, several), (vec![greedy], expected));
}
