//! Small random transducers and networks with states, beside what ONNX Runtime and the searches of
//! `tests/make-transducers.py` find.

use std::path::PathBuf;
use std::sync::Arc;

use kaldera_decoder::transducer::{
    EncoderOutput, Fusion, TransducerModel, TransducerOptions, modified_beam_search, tdt_greedy_search,
};
use kaldera_decoder::{Error as DecoderError, FrameTimes, Segment};
use kaldera_network::{Batch, Error as NetworkError, LodTensor, Network, NetworkStream, Predictor, PredictorState};
use kaldera_onnx::{Chunk, Error, OnnxDecoderJoint, OnnxNetwork, OnnxOptions, OnnxPredictor, PredictorOptions};
use serde_json::Value;

use crate::{path, values};

/// Sums of some ten products of single precision, in another order, over a few layers.
const TOLERANCE: f32 = 1e-4;

const WIDTH: usize = 8;

fn answers(name: &str) -> Value {
    let all: Value = serde_json::from_slice(&std::fs::read(path("transducers.json")).unwrap()).unwrap();
    all[name].clone()
}

fn integers<T: TryFrom<i64>>(of: &Value) -> Vec<T> {
    let integer = |value: &Value| T::try_from(value.as_i64().unwrap()).unwrap_or_else(|_| panic!("{value}"));
    of.as_array().unwrap().iter().map(integer).collect()
}

fn encoder(name: &str) -> OnnxNetwork {
    OnnxNetwork::open(path(name), &OnnxOptions::default().with_encoder(true)).unwrap()
}

fn run(network: &OnnxNetwork, rows: &[f32]) -> Vec<f32> {
    let rows = LodTensor::from_lengths(&[rows.len() / WIDTH], WIDTH, rows.to_vec()).unwrap();
    network.log_probs(&Batch::new(&["a"], &rows).unwrap()).unwrap().values().to_vec()
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let distance = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(distance <= TOLERANCE, "{distance}");
}

/// A predictor and a joiner for the searches.
struct Model {
    predictor: Box<dyn Predictor>,
    durations: Vec<usize>,
    blank: i32,
}

impl Model {
    fn icefall(folder: &str) -> Self {
        let file = |part: &str| path(&format!("{folder}/{part}-epoch-1-avg-1.onnx"));
        let predictor = OnnxPredictor::open(file("decoder"), file("joiner"), &PredictorOptions::default()).unwrap();
        assert_eq!(predictor.context(), 2);
        Self { predictor: Box::new(predictor), durations: vec![], blank: 0 }
    }
}

fn failed(error: NetworkError) -> DecoderError {
    DecoderError::Model { part: "test", reason: error.to_string() }
}

impl TransducerModel for Model {
    type State = PredictorState;

    fn num_tokens(&self) -> usize {
        self.predictor.num_scores() - self.durations.len()
    }

    fn blank(&self) -> i32 {
        self.blank
    }

    fn durations(&self) -> &[usize] {
        &self.durations
    }

    fn start(&self) -> Result<PredictorState, DecoderError> {
        self.predictor.start().map_err(failed)
    }

    fn advance(&self, state: &PredictorState, token: i32) -> Result<PredictorState, DecoderError> {
        self.predictor.advance(state, token).map_err(failed)
    }

    fn join(&self, row: &[f32], state: &PredictorState, scores: &mut [f32]) -> Result<(), DecoderError> {
        self.predictor.join(row, state, scores).map_err(failed)
    }
}

fn assert_found(tokens: &[Segment], answer: &Value) {
    assert_eq!(tokens.iter().map(|token| token.id).collect::<Vec<_>>(), integers::<i32>(&answer["tokens"]));
    assert_eq!(tokens.iter().map(|token| token.frames.start).collect::<Vec<_>>(), integers::<usize>(&answer["frames"]));
}

#[test]
fn greedy_search_and_sums_over_all_alignments_are_those_of_onnx_runtime() {
    let (answer, model) = (answers("transducer"), Model::icefall("transducer"));
    let encoder = encoder("transducer/encoder-epoch-1-avg-1.onnx");
    assert_eq!((encoder.num_outputs(), encoder.subsampling(), encoder.chunk()), (6, 2, None));
    assert_eq!((model.predictor.encoder_dim(), model.predictor.num_scores()), (6, 5));
    let (times, options) = (FrameTimes::default(), TransducerOptions::default().with_unk(Some(2)));

    let rows = run(&encoder, &values(&answer["rows"]));
    let rows = EncoderOutput::new("a", &rows, 6).unwrap();
    let options = options.with_beam(1);
    let found = modified_beam_search(&model, &rows, &Fusion::NONE, &options, &times).unwrap();
    assert_found(&found.hypotheses[0].tokens, &answer["greedy"]);

    let rows = run(&encoder, &values(&answer["short"]));
    let rows = EncoderOutput::new("a", &rows, 6).unwrap();
    let expected = answer["best"].as_array().unwrap();
    let options = options.with_beam(10_000).with_n_best(expected.len());
    let found = modified_beam_search(&model, &rows, &Fusion::NONE, &options, &times).unwrap();
    for (found, expected) in found.hypotheses.iter().zip(expected) {
        assert_eq!(found.token_ids(), integers::<i32>(&expected["tokens"]));
        let distance = (found.scores.total() - expected["score"].as_f64().unwrap()).abs();
        assert!(distance < f64::from(TOLERANCE), "{distance}");
    }
    assert_eq!(found.hypotheses.len(), expected.len());
}

#[test]
fn networks_with_states_give_in_any_chunks_what_onnx_runtime_gives() {
    for (name, file, key) in [
        ("streaming", "streaming/encoder-epoch-1-avg-1.onnx", "encoder_out"),
        ("streaming-ctc", "streaming-ctc.onnx", "log_probs"),
    ] {
        let answer = answers(name);
        let options = OnnxOptions::default().with_encoder(key == "encoder_out");
        let network = Arc::new(OnnxNetwork::open(path(file), &options).unwrap());
        let Chunk { rows, shift, .. } = network.chunk().unwrap();
        assert_eq!((rows, shift, network.subsampling()), (8, 6, 2));
        let (rows, expected) = (values(&answer["rows"]), values(&answer[key]));
        let whole = run(&network, &rows);
        assert_close(&whole, &expected);
        let mut stream = Arc::clone(&network).stream().unwrap();
        for chunk in [1, 5, 6, 8, 100] {
            // One after another in the same stream, which begins again.
            let mut found = vec![];
            for rows in rows.chunks(chunk * WIDTH) {
                found.extend(stream.accept(rows).unwrap());
            }
            found.extend(stream.finish(&[]).unwrap());
            assert_eq!(found, whole, "{name} {chunk}");
        }
        assert!(stream.finish(&[]).unwrap().is_empty());
        assert!(matches!(stream.accept(&[0.0; 9]), Err(NetworkError::Rows { expected: 8, found: 9 })));
        stream.accept(&[0.0; 8 * WIDTH]).unwrap();
        let error = stream.accept(&[0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap_err().to_string();
        assert!(error.contains("row 8: NaN"), "{error}");
    }
    let (answer, model) = (answers("streaming"), Model::icefall("streaming"));
    let rows = run(&encoder("streaming/encoder-epoch-1-avg-1.onnx"), &values(&answer["rows"]));
    let rows = EncoderOutput::new("a", &rows, 6).unwrap();
    let options = TransducerOptions::default().with_beam(1).with_unk(Some(2));
    let found = modified_beam_search(&model, &rows, &Fusion::NONE, &options, &FrameTimes::default()).unwrap();
    assert_found(&found.hypotheses[0].tokens, &answer["greedy"]);
}

#[test]
fn cache_aware_networks_of_nemo_give_in_any_chunks_what_onnx_runtime_gives() {
    let answer = answers("nemo-streaming");
    let network = OnnxNetwork::open(path("nemo-streaming.onnx"), &OnnxOptions::default()).unwrap();
    let Chunk { rows, shift, .. } = network.chunk().unwrap();
    assert_eq!((rows, shift, network.subsampling(), network.num_outputs()), (9, 8, 2, 5));
    let network = Arc::new(network.with_tail(values(&answer["tail"])).unwrap());
    let rows = values(&answer["rows"]);
    let whole = run(&network, &rows);
    assert_close(&whole, &values(&answer["log_probs"]));
    let mut stream = Arc::clone(&network).stream().unwrap();
    for chunk in [1, 7, 8, 9, 100] {
        let mut found = vec![];
        for rows in rows.chunks(chunk * WIDTH) {
            found.extend(stream.accept(rows).unwrap());
        }
        found.extend(stream.finish(&[]).unwrap());
        assert_eq!(found, whole, "{chunk}");
    }
    drop(stream);
    let error = Arc::into_inner(network).unwrap().with_tail(vec![0.0; WIDTH + 1]).unwrap_err();
    assert_eq!(error, Error::Tail { width: WIDTH, found: WIDTH + 1, finite: WIDTH + 1 });
}

/// Streams of utterances of other lengths; a damaged row ends its own stream only.
#[test]
fn streams_in_one_pass_are_as_alone() {
    for (file, max_streams) in [
        ("streaming-together.onnx", 8),
        // Their batches fail, or change results.
        ("streaming/encoder-epoch-1-avg-1.onnx", 1),
        ("nemo-streaming.onnx", 1),
        ("streaming-mixed.onnx", 1),
    ] {
        let options = OnnxOptions::default().with_encoder(file.starts_with("streaming/"));
        let network: Arc<dyn Network> = Arc::new(OnnxNetwork::open(path(file), &options).unwrap());
        assert_eq!(network.max_streams(), max_streams, "{file}");
        let stream = || Arc::clone(&network).stream().unwrap();
        let value = |place: usize| (place as f32 * 0.7).sin();
        let utterances: Vec<Vec<f32>> =
            (0..11).map(|number| (0..(5 * number) * WIDTH).map(|i| value(i + number)).collect()).collect();
        let alone: Vec<Vec<f32>> = utterances.iter().map(|rows| stream().accept(rows).unwrap()).collect();
        let mut streams: Vec<_> = utterances.iter().map(|_| stream()).collect();
        let mut together = vec![vec![]; streams.len()];
        for turn in 0..8 {
            let part = |rows: &[f32]| rows.chunks(7 * WIDTH).nth(turn).unwrap_or_default().to_vec();
            let parts: Vec<Vec<f32>> = utterances.iter().map(|rows| part(rows)).collect();
            let pairs = streams.iter_mut().zip(&parts).map(|(stream, rows)| (&mut **stream, &rows[..]));
            let found = network.accept_all(&mut pairs.collect::<Vec<_>>());
            together.iter_mut().zip(found).for_each(|(all, found)| all.extend(found.unwrap()));
        }
        alone.iter().zip(&together).for_each(|(alone, together)| assert_close(together, alone));

        let rows = [vec![0.5; 9 * WIDTH], vec![f32::NAN; 9 * WIDTH], vec![0.5; 9 * WIDTH + 1], vec![0.5; 9 * WIDTH]];
        let mut streams: Vec<_> = rows.iter().map(|_| stream()).collect();
        let pairs = streams.iter_mut().zip(&rows).map(|(stream, rows)| (&mut **stream, &rows[..]));
        let found = network.accept_all(&mut pairs.collect::<Vec<_>>());
        assert_close(found[0].as_ref().unwrap(), found[3].as_ref().unwrap());
        assert!(
            matches!(found[1], Err(NetworkError::Runtime { .. })) && matches!(found[2], Err(NetworkError::Rows { .. }))
        );
        assert!(!found[0].as_ref().unwrap().is_empty());
    }
}

#[test]
fn a_stream_of_another_network_is_an_error() {
    let open = || Arc::new(OnnxNetwork::open(path("streaming-ctc.onnx"), &OnnxOptions::default()).unwrap());
    let (network, mut other) = (open(), open().stream().unwrap());
    let mut own: Box<dyn NetworkStream> = Arc::clone(&network).stream().unwrap();
    let rows = [0.5; 8 * WIDTH];
    let found = network.accept_all(&mut [(&mut *other, &rows[..]), (&mut *own, &rows)]);
    assert!(matches!(found[..], [Err(NetworkError::OtherNetwork), Ok(_)]), "{found:?}");
}

#[test]
fn tokens_and_durations_are_those_of_onnx_runtime() {
    let answer = answers("tdt");
    let options = PredictorOptions::default().with_blank(4);
    let split = OnnxPredictor::open(path("tdt/decoder.onnx"), path("tdt/joiner.onnx"), &options).unwrap();
    let fused = OnnxDecoderJoint::open(path("tdt-fused/decoder_joint-model.onnx"), &options).unwrap();
    let predictors: [(&str, Box<dyn Predictor>); 2] =
        [("tdt/encoder.onnx", Box::new(split)), ("tdt-fused/encoder-model.onnx", Box::new(fused))];
    for (file, predictor) in predictors {
        assert_eq!((predictor.encoder_dim(), predictor.num_scores()), (6, 8));
        let model = Model { predictor, durations: vec![0, 1, 2], blank: 4 };
        let rows = run(&encoder(file), &values(&answer["rows"]));
        let rows = EncoderOutput::new("a", &rows, 6).unwrap();
        let options = TransducerOptions::default().with_max_symbols_per_frame(10);
        let found = tdt_greedy_search(&model, &rows, &options, &FrameTimes::default()).unwrap();
        assert_found(&found.tokens, &answer["greedy"]);
    }
}

#[test]
fn files_that_are_no_parts_of_a_transducer_are_named() {
    let file = |part: &str| path(&format!("transducer/{part}-epoch-1-avg-1.onnx"));
    let open = |predictor: PathBuf, joiner: PathBuf| {
        OnnxPredictor::open(predictor, joiner, &PredictorOptions::default()).unwrap_err()
    };
    let swapped = open(file("joiner"), file("decoder"));
    assert!(matches!(&swapped, Error::Part { part: "predictor", .. }), "{swapped}");
    assert!(swapped.to_string().contains("joiner-epoch-1-avg-1.onnx"), "{swapped}");
    let no_joiner = open(file("decoder"), file("encoder")).to_string();
    assert!(no_joiner.contains("as the joiner of a transducer"), "{no_joiner}");
    let of_another = open(file("decoder"), path("tdt/joiner.onnx")).to_string();
    assert!(of_another.contains("rows of 4 values of the predictor, which gives 6"), "{of_another}");
    assert!(matches!(open(file("decoder"), path("nowhere.onnx")), Error::Load { .. }));

    let model = Model::icefall("transducer");
    let state = model.start().unwrap();
    let wrong = model.predictor.join(&[0.0; 5], &state, &mut [0.0; 5]).unwrap_err().to_string();
    assert!(wrong.contains("a row of 5 values, where 6 are taken"), "{wrong}");
    let wrong = model.predictor.join(&[0.0; 6], &state, &mut [0.0; 4]).unwrap_err().to_string();
    assert!(wrong.contains("5 scores, and 4 are wanted"), "{wrong}");
    // A token that the embedding has not.
    assert!(matches!(model.predictor.advance(&state, 5), Err(NetworkError::Part { part: "predictor", .. })));
}
