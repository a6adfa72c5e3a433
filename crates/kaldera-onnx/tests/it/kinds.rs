//! Small random networks of WeNet, T-one and Paraformer, against ONNX Runtime
//! (`tests/make-kinds.py`).

use std::sync::Arc;

use kaldera_network::{Batch, LodTensor, Network};
use kaldera_onnx::{Error, Layout, OnnxNetwork, OnnxOptions};
use serde_json::Value;

use crate::path;

/// Sums of some hundred products of single precision, in another order, over a few layers.
const TOLERANCE: f32 = 1e-3;

fn answer(name: &str) -> Value {
    let all: Value = serde_json::from_slice(&std::fs::read(path("kinds/kinds.json")).unwrap()).unwrap();
    all[name].clone()
}

/// The input of the script.
fn wave(count: u32) -> Vec<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "values are from -0.5 to 0.5")]
    let value = |place: f64| (0.5 * (0.37 * place + 0.001 * place * place).sin()) as f32;
    (0..count).map(|place| value(place.into())).collect()
}

fn computed(network: &OnnxNetwork, rows: &[f32]) -> Vec<f32> {
    let width = network.num_inputs();
    let rows = LodTensor::from_lengths(&[rows.len() / width], width, rows.to_vec()).unwrap();
    network.log_probs(&Batch::new(&["a"], &rows).unwrap()).unwrap().values().to_vec()
}

/// Compares the best token of each row and its log-probability.
fn assert_best<'r>(rows: impl ExactSizeIterator<Item = &'r [f32]>, answer: &Value) {
    let (tokens, scores) = (answer["tokens"].as_array().unwrap(), answer["scores"].as_array().unwrap());
    assert_eq!(rows.len(), tokens.len());
    for ((place, row), (token, score)) in rows.enumerate().zip(tokens.iter().zip(scores)) {
        let token = usize::try_from(token.as_u64().unwrap()).unwrap();
        let distance = f64::from(row[token]) - score.as_f64().unwrap();
        assert!(distance.abs() <= TOLERANCE.into(), "row {place}: {distance}");
        assert!(row.iter().all(|&other| other <= row[token] + TOLERANCE), "row {place}: another token is better");
    }
}

#[test]
fn streams_of_wenet_and_t_one_give_the_scores_of_onnx_runtime() {
    for (name, rows, chunk) in [("wenet", wave(150 * 80), (67, 64)), ("t-one", wave(6000), (2400, 2400))] {
        let network = OnnxNetwork::open(path(&format!("kinds/{name}.onnx")), &OnnxOptions::default()).unwrap();
        let network = Arc::new(network);
        let found = network.chunk().unwrap();
        assert_eq!((found.rows, found.shift), chunk);
        let whole = computed(&network, &rows);
        assert_best(whole.chunks_exact(network.num_outputs()), &answer(name));
        let mut stream = Arc::clone(&network).stream().unwrap();
        let mut found = vec![];
        for rows in rows.chunks(7 * network.num_inputs()) {
            found.extend(stream.accept(rows).unwrap());
        }
        found.extend(stream.finish(&[]).unwrap());
        assert_eq!(found, whole, "{name}");
    }
    let network = OnnxNetwork::open(path("kinds/t-one.onnx"), &OnnxOptions::default()).unwrap();
    assert_eq!(network.layout(), Layout::Integers);
}

#[test]
fn tokens_of_paraformer_stand_at_their_peaks() {
    let options = OnnxOptions::default().with_end_token(Some(2));
    let network = OnnxNetwork::open(path("kinds/paraformer.onnx"), &options).unwrap();
    assert_eq!((network.subsampling(), network.upsampling()), (1, 6));
    let rows: Vec<f32> = wave(40 * 560).iter().map(|value| 4.0 * value).collect();
    let found = computed(&network, &rows);
    let columns = network.num_outputs();
    assert_eq!(found.len(), 40 * 6 * columns);
    let expected = answer("paraformer");
    let peaks =
        expected["peaks"].as_array().unwrap().iter().map(|peak| usize::try_from(peak.as_u64().unwrap()).unwrap());
    let count = expected["tokens"].as_array().unwrap().len();
    let frames: Vec<usize> = peaks.map(|peak| 2 * peak).take(count).collect();
    assert_best(frames.iter().map(|&frame| &found[frame * columns..(frame + 1) * columns]), &expected);
    for (frame, row) in found.chunks_exact(columns).enumerate().filter(|(frame, _)| !frames.contains(frame)) {
        assert!(row[0] == 0.0, "frame {frame} is blank");
    }
    let error = OnnxNetwork::open(path("icefall.onnx"), &options).unwrap_err();
    assert!(matches!(error, Error::NoPeaks { .. }), "{error}");
}
