//! Speech without an end: utterances of live recognition.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::decoder::Segment;
use kaldera::decoder::graph::{EndpointRule, EndpointRules};
use kaldera::network::ParameterStore;
use kaldera::prelude::*;
use kaldera::recognizer::{LiveRecognizer, LiveUpdate, Recognizer};

use crate::recognizer::{samples, write_model};

fn opened(folder: &Path) -> Arc<Recognizer> {
    Arc::new(Recognizer::open(folder).unwrap())
}

/// The utterances of samples that come in chunks, and the results so far.
fn live(mut live: LiveRecognizer, samples: &[f32], chunk: usize) -> (Vec<Recognition>, Vec<Recognition>) {
    let (mut ended, mut so_far) = (vec![], vec![]);
    for samples in samples.chunks(chunk) {
        let update = live.accept(samples).unwrap();
        ended.extend(update.ended);
        so_far.extend(update.so_far);
    }
    ended.extend(live.finish().unwrap());
    (ended, so_far)
}

fn words(ended: &[Recognition]) -> Vec<&Segment> {
    ended.iter().filter_map(Recognition::best).flat_map(|best| &best.words).collect()
}

/// An utterance of a tenth of a second ends after a frame of silence, or after 0.4 s anyway.
fn short_utterances() -> EndpointRules {
    EndpointRules::new(vec![
        EndpointRule::new(true, 0.02, f32::INFINITY, 0.1),
        EndpointRule::new(false, 0.0, f32::INFINITY, 0.4),
    ])
}

#[test]
fn utterances_of_a_network_with_a_state_are_the_whole_cut_into_parts() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), false, "");
    let recognizer = opened(folder.path());
    let samples = samples(40_000);
    let whole = recognizer.transcribe(&Audio::new(&samples, 8000.0)).unwrap();
    let expected = words(std::slice::from_ref(&whole));
    let mut first: Option<Vec<Recognition>> = None;
    for chunk in [80, 333, 800, 8000, 40_000] {
        let begun = LiveRecognizer::new(Arc::clone(&recognizer), 8000.0).unwrap().with_rules(short_utterances());
        let (ended, _) = live(begun, &samples, chunk);
        let found = words(&ended);
        assert!(ended.len() > 3, "{}", ended.len());
        let names: Vec<String> = (1..=ended.len()).map(|number| format!("utt-{number}")).collect();
        assert_eq!(ended.iter().map(|one| one.utterance.clone()).collect::<Vec<_>>(), names);
        let frames = |words: &[&Segment]| words.iter().map(|word| word.frames.clone()).collect::<Vec<_>>();
        let texts = |words: &[&Segment]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
        assert_eq!((texts(&found), frames(&found)), (texts(&expected), frames(&expected)), "{chunk}");
        // Words are longer than their peaks, as far as their utterance goes.
        let peak = |word: &Segment| word.peak.clone().unwrap().start;
        assert!(found.iter().zip(&expected).all(|(a, b)| (peak(a) - peak(b)).abs() < 1e-9), "{chunk}");
        assert_eq!(*first.get_or_insert_with(|| ended.clone()), ended, "{chunk}");
    }
}

/// A model of a token for high samples and one for low samples, of 1000 Hz. It needs whole utterances.
fn write_stateless_model(folder: &Path) {
    let mut network = ParameterStore::new();
    network.insert("output.weight", &[3, 1], vec![0.0_f32, 10.0, -10.0]).unwrap();
    network.insert("output.bias", &[3], vec![0.0_f32, -15.0, -15.0]).unwrap();
    network.save(folder.join("network.safetensors")).unwrap();
    fs::write(folder.join("tokens.txt"), "<blk> 0\nhigh 1\nlow 2\n").unwrap();
    let text = "kind = 'ctc'\ntokens = 'tokens.txt'\nwords = 'tokens'\n\
                features = { kind = 'samples', sample-frequency = 1000, normalize = 'samples' }\n\
                [network]\nfile = 'network.safetensors'\n\
                layers = [{ kind = 'linear', name = 'output' }, { kind = 'log-softmax' }]\n";
    fs::write(folder.join("model.toml"), text).unwrap();
}

/// Sounds of 40 ms, high and low in turn, after pauses of these lengths in ms.
fn sounds(pauses: &[usize]) -> Vec<f32> {
    let sound = |(number, &pause): (usize, &usize)| {
        let value = if number % 2 == 0 { 1000.0 } else { -1000.0 };
        [vec![0.0; pause], vec![value; 40]].concat()
    };
    let all: Vec<f32> = pauses.iter().enumerate().flat_map(sound).collect();
    [all, vec![0.0; 200]].concat()
}

#[test]
fn every_word_is_found_once_and_where_it_is_by_a_network_without_a_state() {
    let folder = tempfile::tempdir().unwrap();
    write_stateless_model(folder.path());
    let recognizer = opened(folder.path());
    // 22 s without a pause that ends an utterance; pauses of 0.5 to 9 s.
    let close: Vec<usize> = (0..70).map(|i| 100 + i * 37 % 350).collect();
    let apart: Vec<usize> = (0..9).map(|i| 500 + i * 131 % 900).chain([9000, 5100, 800]).collect();
    for pauses in [&close, &apart] {
        let samples = sounds(pauses);
        for chunk in [10, 270, 100_000] {
            let begun = LiveRecognizer::new(Arc::clone(&recognizer), 1000.0).unwrap();
            let (ended, so_far) = live(begun, &samples, chunk);
            let found = words(&ended);
            assert!(ended.len() > 1 && !so_far.is_empty(), "{}", ended.len());
            assert_eq!(found.len(), pauses.len(), "{chunk}");
            let mut at = 0;
            for (number, (word, pause)) in found.iter().zip(pauses).enumerate() {
                at += pause;
                assert_eq!((&*word.text, word.frames.start), (["high", "low"][number % 2], at), "{chunk}");
                let peak = word.peak.clone().unwrap();
                assert!((peak.start - at as f64 / 1000.0).abs() < 1e-9 && word.start <= peak.start);
                at += 40;
            }
        }
    }
}

#[test]
fn streams_are_kept_in_maps_and_moved_to_threads() {
    struct Session {
        live: LiveRecognizer,
        ended: Vec<Recognition>,
    }
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), false, "");
    let recognizer = opened(folder.path());
    let begun = |_: &u32| LiveRecognizer::new(Arc::clone(&recognizer), 8000.0).unwrap();
    let mut sessions: HashMap<u32, Session> =
        (0..3).map(|number| (number, Session { live: begun(&number), ended: vec![] })).collect();
    drop(recognizer);
    // As microphones give them.
    let samples: Vec<i16> = (0..16_000_i32).map(|i| (i * i % 2000 - 1000) as i16).collect();
    std::thread::scope(|scope| {
        for session in sessions.values_mut() {
            scope.spawn(|| {
                for chunk in samples.chunks(700) {
                    session.ended.extend(session.live.accept(chunk).unwrap().ended);
                }
            });
        }
    });
    let mut all = vec![];
    for (_, session) in sessions {
        assert!((session.live.seconds() - 2.0).abs() < 1e-9);
        all.push([session.ended, session.live.finish().unwrap().into_iter().collect()].concat());
    }
    assert!(!all[0].is_empty() && all.iter().all(|one| *one == all[0]), "{all:?}");
}

/// Streams of two models, in chunks of other lengths; one of them has a sample that is no number.
#[test]
fn streams_that_are_accepted_together_are_as_alone() {
    let (folder, stateless) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_model(folder.path(), false, "");
    write_stateless_model(stateless.path());
    let recognizers = [opened(folder.path()), opened(stateless.path())];
    let begun = |number: usize| {
        let live = LiveRecognizer::new(Arc::clone(&recognizers[number % 2]), [8000.0, 1000.0][number % 2]).unwrap();
        live.with_rules(short_utterances())
    };
    let mut recordings: Vec<Vec<f32>> = (0..6).map(|number| samples(6000 + 1700 * number)).collect();
    recordings[4][5000] = f32::INFINITY;
    let chunks: Vec<Vec<&[f32]>> =
        recordings.iter().enumerate().map(|(number, samples)| samples.chunks(500 + 90 * number).collect()).collect();
    let alone = chunks.iter().enumerate().map(|(number, chunks)| {
        let mut live = begun(number);
        chunks.iter().map(|&chunk| live.accept(chunk).map_err(|error| error.to_string())).collect::<Vec<_>>()
    });
    let alone: Vec<_> = alone.collect();

    let mut streams: Vec<LiveRecognizer> = (0..recordings.len()).map(begun).collect();
    let mut together = vec![vec![]; streams.len()];
    for turn in 0.. {
        let mut now = vec![];
        for ((live, chunks), results) in streams.iter_mut().zip(&chunks).zip(&mut together) {
            now.extend(chunks.get(turn).map(|&chunk| ((live, chunk.into()), results)));
        }
        if now.is_empty() {
            break;
        }
        let (mut pairs, results): (Vec<_>, Vec<_>) = now.into_iter().unzip();
        for (results, found) in results.into_iter().zip(LiveRecognizer::accept_all(&mut pairs)) {
            results.push(found.map_err(|error| error.to_string()));
        }
    }
    assert_eq!(together, alone);
    assert!(
        together[4].iter().any(Result::is_err) && together.iter().flatten().filter(|found| found.is_err()).count() < 3
    );
    assert!(together.iter().flatten().flatten().filter(|update| !update.ended.is_empty()).count() > 10);
}

#[test]
fn samples_that_are_no_numbers_are_errors_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), false, "");
    let mut live = LiveRecognizer::new(opened(folder.path()), 8000.0).unwrap();
    assert_eq!(live.accept(&[] as &[f32]).unwrap(), LiveUpdate::default());
    live.accept(&vec![0.0; 4321]).unwrap();
    let mut samples = vec![1.0; 2000];
    samples[1500] = f32::NAN;
    let error = live.accept(&samples).unwrap_err();
    assert!(
        matches!(error, kaldera::Error::Audio(kaldera::audio::Error::NotFiniteSample { sample: 5821, .. })),
        "{error}"
    );
}

#[test]
fn silence_is_no_utterance() {
    let folder = tempfile::tempdir().unwrap();
    write_stateless_model(folder.path());
    let begun = LiveRecognizer::new(opened(folder.path()), 1000.0).unwrap();
    let (ended, _) = live(begun, &[0.0; 30_000], 100);
    assert_eq!(ended, []);
    // A word behind it is the first utterance, and has its own time.
    let begun = LiveRecognizer::new(opened(folder.path()), 1000.0).unwrap();
    let (ended, _) = live(begun, &sounds(&[23_456]), 100);
    assert_eq!((&*ended[0].utterance, words(&ended)[0].frames.start), ("utt-1", 23_456));
}
