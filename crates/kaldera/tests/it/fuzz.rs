//! Damaged recordings and lists: errors may come of them, and nothing worse. How to search longer
//! stands in `kaldera-fuzz`.

use std::fs;

use kaldera::Recording;
use kaldera::pipeline::{Inputs, ReadOptions};
use kaldera_fuzz::fuzz;

#[test]
fn recordings() {
    fuzz!("recordings", |bytes| {
        for allow_truncated in [false, true] {
            let read = Recording::read(bytes, &ReadOptions::default().with_allow_truncated(allow_truncated));
            if let Ok(recording) = read {
                assert!(recording.num_channels() > 0 && recording.samp_freq() > 0.0);
                let channel = recording.channel(recording.num_channels() - 1).expect("a channel");
                assert_eq!(channel.num_samples(), recording.num_samples());
            }
        }
    });
}

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
