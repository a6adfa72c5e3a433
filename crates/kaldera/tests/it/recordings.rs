//! Lists of recordings: commands, damaged files, channels.

use std::fs;

use kaldera::feat::FbankOptions;
use kaldera::io::wave::WaveData;
use kaldera::pipeline::{Inputs, Pipeline, Pipes, ReadOptions, Source, Span, Utterance};
use tempfile::TempDir;

fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn wav(num_samples: usize) -> Vec<u8> {
    let samples = (0..num_samples).map(|i| i16::try_from(i % 2000).unwrap()).collect();
    let mut bytes = Vec::new();
    WaveData { samp_freq: 16_000.0, num_channels: 1, samples }.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_file_that_is_cut_short_fails_unless_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a.wav", &wav(1000)[..1044]);
    let run = |options| {
        let inputs = Inputs::new(vec![Utterance::new("a", path.as_path())]).unwrap();
        let mut features = Vec::new();
        let pipeline = Pipeline::fbank(FbankOptions::default()).unwrap().with_reading(options);
        pipeline.run(&inputs, &mut features).unwrap().utterances
    };
    assert_eq!(run(ReadOptions::default()), 0);
    assert_eq!(run(ReadOptions::default().with_allow_truncated(true)), 1);
}

#[test]
fn contents_tell_the_format_and_not_the_ending() {
    let folder = tempfile::tempdir().unwrap();
    file(&folder, "a.wav", b".snd\0\0\0\x18\0\0\0\x02\0\0\0\x03\0\0\x3E\x80\0\0\0\x01\0\x07");
    let inputs = Inputs::from_paths([folder.path()]).unwrap();
    assert_eq!((inputs.len(), inputs.rejected().len()), (1, 0));
}

#[test]
fn commands_are_refused_by_name_without_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a.wav", &wav(8000));
    let script = format!("a {}\nb cat {} |\n", path.display(), path.display());
    let list = file(&folder, "wav.scp", script.as_bytes());
    let inputs = Inputs::from_paths([&list]).unwrap();
    let mut features = Vec::new();
    let pipeline = Pipeline::fbank(FbankOptions::default()).unwrap();
    let summary =
        pipeline.with_reading(ReadOptions::default().with_pipes(Pipes::Never)).run(&inputs, &mut features).unwrap();
    assert_eq!((summary.utterances, summary.failures.len()), (1, 1));
    let error = summary.failures[0].to_string();
    assert!(error.contains("'cat ") && error.contains("is not run"), "{error}");
}

#[test]
fn what_a_failed_command_wrote_is_not_counted_as_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a.wav", &wav(8000));
    let path = path.display();
    let run = |command: String| {
        let utterance = Utterance::new("a", Source::Script(command));
        let inputs = Inputs::new(vec![utterance]).unwrap();
        let pipeline = Pipeline::fbank(FbankOptions::default()).unwrap();
        let summary = pipeline.run(&inputs, &mut Vec::new()).unwrap();
        summary.failures.first().map(ToString::to_string)
    };
    assert_eq!(run(format!("cat {path} |")), None);
    // What comes behind the samples is read, so that the command can end.
    assert_eq!(run(format!("cat {path} {path} |")), None);
    for (command, status) in [
        (format!("cat {path}; exit 3 |"), "exit status: 3"),
        ("cat /no/such/file 2>&- |".to_owned(), "exit status: 1"),
        ("exit 7 |".to_owned(), "exit status: 7"),
        (format!("head -c 1000 {path}; kill -9 $$ |"), "signal: 9"),
    ] {
        let error = run(command).unwrap();
        assert!(error.contains("the command") && error.contains("failed") && error.contains(status), "{error}");
    }
}

#[test]
fn a_command_that_fails_runs_once_for_all_of_its_segments() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let source = Source::Script(format!("echo >> {}; exit 3 |", ran.display()));
    let mut segments: Vec<_> = (0..5).map(|i| Utterance::new(i.to_string(), source.clone())).collect();
    segments.iter_mut().for_each(|segment| segment.span = Some(Span { start: 0.0, end: None }));
    let inputs = Inputs::new(segments).unwrap();
    let pipeline = Pipeline::fbank(FbankOptions::default()).unwrap().with_jobs(1);
    let summary = pipeline.run(&inputs, &mut Vec::new()).unwrap();
    assert_eq!(summary.failures.len(), 5);
    assert!(summary.failures.iter().all(|failure| failure.to_string().contains("exit status: 3")));
    assert_eq!(std::fs::read_to_string(ran).unwrap(), "\n");
}

#[cfg(feature = "opus")]
#[test]
fn a_folder_is_searched_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.opus", "b.ogg", "c.OGA"] {
        file(&folder, name, include_bytes!("../../../kaldera-audio/tests/it/audio/tone.opus"));
    }
    let inputs = Inputs::from_paths([folder.path()]).unwrap();
    assert_eq!((inputs.len(), inputs.rejected().len()), (3, 0));
}
