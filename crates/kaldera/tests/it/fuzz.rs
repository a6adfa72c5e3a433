//! Damaged lists and models: errors may come of them, and nothing worse. How to search longer
//! stands in `kaldera-fuzz`.

use std::fs;

use kaldera::feat::Audio;
use kaldera::network::ParameterStore;
use kaldera::pipeline::Inputs;
use kaldera::recognizer::Recognizer;
use kaldera_fuzz::fuzz;

#[test]
fn lists() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let paths = [path("x.scp"), path("x.jsonl"), path("x.jsonl.gz"), data.clone()];
    fs::write(data.join("wav.scp"), "a a.wav\n").expect("a file");
    fuzz!("lists", |bytes| {
        for path in paths[..3].iter().chain(&[data.join("segments"), data.join("utt2spk")]) {
            fs::write(path, bytes).expect("a file");
        }
        for path in &paths {
            // Nothing that they name is opened or run.
            if let Ok(inputs) = Inputs::from_paths([path]) {
                assert!(inputs.len() + inputs.rejected().len() > 0);
                assert!(inputs.rejected().iter().all(|error| !error.to_string().is_empty()));
            }
        }
    });
}

#[test]
fn models() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let numbers = |count: u16| (0..count).map(|i| f32::from(i * 37 % 23) / 23.0 - 0.5).collect::<Vec<_>>();
    let mut weights = ParameterStore::new();
    for (name, shape) in [
        ("conv.weight", &[10, 10, 3][..]),
        ("encoder.weight_ih_l0", &[15, 10]),
        ("encoder.weight_hh_l0", &[15, 5]),
        ("encoder.bias_ih_l0", &[15]),
        ("encoder.bias_hh_l0", &[15]),
        ("output.weight", &[3, 5]),
        ("small.weight", &[3, 10]),
    ] {
        let count = u16::try_from(shape.iter().product::<usize>()).expect("few");
        weights.insert(name, shape, numbers(count)).expect("a tensor");
    }
    weights.save(path("network.safetensors")).expect("a file");
    let arpa = "\\data\\\nngram 1=4\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.7 yes\n-0.7 no\n\\end\\\n";
    for (name, text) in [
        ("tokens.txt", "<blk> 0\nyes 1\nno 2\n"),
        ("lexicon.txt", "yes yes\nno no\nno no no\n"),
        ("lm.arpa", arpa),
        ("graph.txt", "0 0 1 0\n0 1 2 7\n1 1 2 0\n1 0 1 0\n0\n1\n"),
        ("words.txt", "<eps> 0\nuno 7\n"),
    ] {
        fs::write(path(name), text).expect("a file");
    }
    let samples: Vec<f32> = (0_u16..1600).map(|i| f32::from(i * 31 % 199) * 20.0).collect();
    fuzz!("models", |bytes| {
        fs::write(path("model.toml"), bytes).expect("a file");
        match Recognizer::open(folder.path()) {
            Err(error) => assert!(error.to_string().contains("model.toml"), "{error}"),
            Ok(recognizer) => {
                let audio = Audio::new(&samples[..], 8000.0).with_key("u");
                let _ = recognizer.transcribe(&audio);
                let _ = recognizer.align(&audio, "yes no");
            }
        }
    });
}
