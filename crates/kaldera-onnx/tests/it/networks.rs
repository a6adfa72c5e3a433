//! Small random networks, beside what ONNX Runtime computes of them: `tests/make-networks.py`.

use std::sync::Arc;

use kaldera_network::{Batch, Error as NetworkError, LodTensor, Network};
use kaldera_onnx::{Description, Error, Layout, OnnxNetwork, OnnxOptions, Runtime, weight_files};
use serde_json::Value;

use crate::{path, values};

/// Sums of some ten products of single precision, in another order.
const TOLERANCE: f32 = 1e-5;

fn network(name: &str) -> OnnxNetwork {
    network_on(Runtime::Rten, name)
}

fn network_on(runtime: Runtime, name: &str) -> OnnxNetwork {
    OnnxNetwork::open(path(&format!("{name}.onnx")), &OnnxOptions::default().with_runtime(runtime)).unwrap()
}

/// ONNX Runtime only where its library is.
fn runtimes() -> Vec<Runtime> {
    let has_library = std::env::var_os("ORT_DYLIB_PATH").is_some_and(|path| !path.is_empty());
    if cfg!(feature = "ort") && has_library {
        return vec![Runtime::Rten, Runtime::Ort];
    }
    println!("left out: ONNX Runtime, which needs the feature `ort` and its library in ORT_DYLIB_PATH");
    vec![Runtime::Rten]
}

#[test]
fn log_probabilities_equal_those_of_onnx_runtime() {
    let answers: Value = serde_json::from_slice(&std::fs::read(path("answers.json")).unwrap()).unwrap();
    for runtime in runtimes() {
        log_probabilities_equal(runtime, &answers);
    }
}

fn log_probabilities_equal(runtime: Runtime, answers: &Value) {
    for (name, layout, subsampling) in [
        ("icefall", Layout::Rows { width: Some(8) }, 2),
        ("nemo", Layout::Columns { width: Some(8) }, 2),
        ("samples", Layout::Samples, 160),
    ] {
        let network = network_on(runtime, name);
        assert_eq!(
            (network.layout(), network.num_outputs(), network.subsampling()),
            (layout, 5, subsampling),
            "{name}"
        );
        let width = network.num_inputs();
        // With one that has no rows.
        let utterances: Vec<(Vec<f32>, Vec<f32>)> = std::iter::once((vec![], vec![]))
            .chain(
                answers[name].as_array().unwrap().iter().map(|one| (values(&one["rows"]), values(&one["log_probs"]))),
            )
            .collect();
        let lengths: Vec<usize> = utterances.iter().map(|(rows, _)| rows.len() / width).collect();
        let names = ["", "a", "b", "c"];
        let values: Vec<f32> = utterances.iter().flat_map(|(rows, _)| rows).copied().collect();
        let rows = LodTensor::from_lengths(&lengths, width, values).unwrap();
        let found = network.log_probs(&Batch::new(&names[..lengths.len()], &rows).unwrap()).unwrap();
        for (found, (_, expected)) in found.sequences().zip(&utterances) {
            assert_eq!(found.len(), expected.len(), "{name}");
            let distance = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(distance <= TOLERANCE, "{name} on {runtime:?}: {distance}");
        }
        assert!(matches!(Arc::new(network).stream(), Err(NetworkError::NoStream { .. })));
    }
}

/// A process loads one library: all of this is one test.
#[test]
fn what_onnx_runtime_cannot_do_is_said() {
    let on = |runtime, file: &str| OnnxNetwork::open(path(file), &OnnxOptions::default().with_runtime(runtime));
    if !runtimes().contains(&Runtime::Ort) {
        let error = on(Runtime::Ort, "icefall.onnx").unwrap_err();
        let needed = if cfg!(feature = "ort") { "set ORT_DYLIB_PATH" } else { "with the feature `ort`" };
        assert!(error.to_string().contains(needed), "{error}");
        return;
    }
    assert!(on(Runtime::Ort, "streaming.onnx").unwrap_err().to_string().contains("cached_len_0 [N, 1, 8]"));
    for file in ["answers.json", "nowhere.onnx"] {
        assert!(matches!(on(Runtime::Ort, file), Err(Error::Load { .. })), "{file}");
    }
    // The library that pip installs has no CUDA.
    let without = on(Runtime::OrtCuda, "icefall.onnx").map(|_| ());
    println!("{without:?}");
    assert!(without.is_ok() || matches!(without, Err(Error::Load { .. })));
    // Utterances of several threads wait for each other.
    let network = network_on(Runtime::Ort, "icefall");
    let values: Vec<f32> = (0_u8..160).map(|i| f32::from(i % 13) / 13.0).collect();
    let rows = LodTensor::from_lengths(&[20], 8, values).unwrap();
    let run = || network.log_probs(&Batch::new(&["a"], &rows).unwrap()).unwrap();
    let alone = run();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        all.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), alone));
    });
}

#[test]
fn what_does_not_fit_is_named() {
    let open = |name: &str, options: OnnxOptions| OnnxNetwork::open(path(name), &options).unwrap_err();
    assert!(open("streaming.onnx", OnnxOptions::default()).to_string().contains("cached_len_0 [N, 1, 8]"));
    let expected = Error::Width { input: "x [N, T, 8]".to_owned(), expected: 80, found: 8 };
    assert_eq!(open("icefall.onnx", OnnxOptions::default().with_inputs(80)), expected);
    assert!(matches!(open("answers.json", OnnxOptions::default()), Error::Load { .. }));
    assert!(matches!(open("nowhere.onnx", OnnxOptions::default()), Error::Load { .. }));
    // A file that ends early.
    let whole = std::fs::read(path("icefall.onnx")).unwrap();
    let folder = std::env::temp_dir().join(format!("kaldera-onnx-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for end in (0..whole.len()).step_by(97) {
        std::fs::write(folder.join("cut.onnx"), &whole[..end]).unwrap();
        assert!(OnnxNetwork::open(folder.join("cut.onnx"), &OnnxOptions::default()).is_err(), "{end}");
    }
    std::fs::remove_dir_all(&folder).unwrap();

    let network = network("icefall");
    let rows = LodTensor::from_lengths(&[2], 3, vec![0.0; 6]).unwrap();
    let refused = network.log_probs(&Batch::new(&["a"], &rows).unwrap());
    assert_eq!(refused, Err(NetworkError::Rows { expected: 8, found: 3 }));
    let rows = LodTensor::from_lengths(&[1, 2], 8, [vec![0.0; 16], vec![f32::NAN; 8]].concat()).unwrap();
    let refused = network.log_probs(&Batch::new(&["a", "b"], &rows).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("b: ") && refused.contains("row 1: NaN"), "{refused}");
}

#[test]
fn metadata_and_shapes_are_those_of_the_file() {
    let description = Description::read(path("nemo.onnx"), Runtime::default()).unwrap();
    assert_eq!(description.metadata("normalize_type"), Some("per_feature"));
    assert_eq!(description.metadata("nothing"), None);
    let shown: Vec<String> = description.inputs.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["audio_signal [B, 8, T]", "length [B]"]);
    assert_eq!(description.outputs[0].name, "logprobs");
}

#[test]
fn weights_may_be_in_files_of_any_name() {
    let network = network("beside/model");
    let rows = LodTensor::from_lengths(&[20], 8, vec![0.5; 160]).unwrap();
    let run = |network: &OnnxNetwork| network.log_probs(&Batch::new(&["a"], &rows).unwrap()).unwrap();
    assert_eq!(run(&network), run(&self::network("icefall")));
    assert_eq!(weight_files(path("beside/model.onnx")).unwrap(), [path("beside/weights.data")]);
    assert!(weight_files(path("icefall.onnx")).unwrap().is_empty());

    // A name that RTen does not take.
    let folder = std::env::temp_dir().join(format!("kaldera-onnx-beside-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let whole = std::fs::read(path("beside/model.onnx")).unwrap();
    let (old, new) = (b"weights.data", b"data.weights");
    let mut renamed = whole.clone();
    for at in 0..whole.len() - old.len() {
        if whole[at..].starts_with(old) {
            renamed[at..at + new.len()].copy_from_slice(new);
        }
    }
    std::fs::write(folder.join("model.onnx"), renamed).unwrap();
    std::fs::copy(path("beside/weights.data"), folder.join("data.weights")).unwrap();
    assert_eq!(weight_files(folder.join("model.onnx")).unwrap(), [folder.join("data.weights")]);
    let error = OnnxNetwork::open(folder.join("model.onnx"), &OnnxOptions::default()).unwrap_err().to_string();
    assert!(error.contains("*.data and *.onnx_data") && error.contains("\"ort\""), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn described_subsampling_is_taken() {
    let options = OnnxOptions::default().with_subsampling(Some(4));
    let network = OnnxNetwork::open(path("icefall.onnx"), &options).unwrap();
    assert_eq!((network.subsampling(), network.num_outputs()), (4, 5));
}
