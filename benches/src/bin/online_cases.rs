//! CPU time of a Vosk folder: loading, the start of a recogniser, recordings in chunks.
//!
//! ```text
//! cargo run --release -p kaldera-benches --bin online_cases -- MODEL STREAMS WAV...
//! ```
//!
//! Each of STREAMS recognisers gets the recordings, each from another one on, chunk by chunk in turn
//! with the others. Prints JSON for `benches/peers/online.py`, which does the same with libvosk: a
//! line for loading, a line for each recording, and the total. Linux only.

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;

use kaldera::io::wave::WaveData;
use kaldera::kaldi_online::{OnlineModel, OnlineModelOptions};

/// Samples of a chunk, as in Vosk's programs.
const CHUNK: usize = 4000;
/// Seconds of audio after which the first words may come: the network needs 57 frames for its first
/// rows.
const FIRST: f32 = 0.6;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, streams, files @ ..] = &args[..] else {
        eprintln!("usage: online_cases MODEL STREAMS WAV...");
        return ExitCode::from(2);
    };
    let Ok(streams @ 1..) = streams.parse() else {
        eprintln!("STREAMS must be a number, 1 or more");
        return ExitCode::from(2);
    };
    match run(model, streams, files) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{model}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(model: &str, streams: usize, files: &[String]) -> Fallible<()> {
    let before = cpu_seconds()?;
    let model = Arc::new(OnlineModel::open(model, &OnlineModelOptions::default())?);
    println!("{{\"load\": {:.4}, \"megabytes\": {}}}", cpu_seconds()? - before, megabytes()?);
    let waves = files.iter().map(WaveData::open).collect::<Result<Vec<_>, _>>()?;
    let (begin, mut seconds) = (cpu_seconds()?, 0.0);
    for (round, file) in files.iter().enumerate() {
        let wave_of = |stream: usize| &waves[(round + stream) % waves.len()];
        let length: f64 = (0..streams).map(|stream| f64::from(wave_of(stream).duration())).sum();
        seconds += length;
        let (before, mut first) = (cpu_seconds()?, None);
        let recognizer = |stream| {
            let wave = wave_of(stream);
            let mut recognizer = model.recognizer(wave.samp_freq)?;
            recognizer.set_words(true);
            Ok::<_, kaldera::Error>((recognizer, wave.channel(0)))
        };
        let mut all = (0..streams).map(recognizer).collect::<Result<Vec<_>, _>>()?;
        let mut results = vec![];
        for at in (0..waves.iter().map(WaveData::num_samples).max().unwrap_or(0)).step_by(CHUNK) {
            for (number, (recognizer, samples)) in all.iter_mut().enumerate() {
                let chunk = &samples[at.min(samples.len())..(at + CHUNK).min(samples.len())];
                if !chunk.is_empty() && recognizer.accept(chunk)? {
                    let result = recognizer.result()?;
                    results.extend((number == 0).then(|| recognizer.json(&result)));
                }
            }
            if first.is_none() && (at + CHUNK) as f32 / waves[round].samp_freq >= FIRST {
                first = Some(cpu_seconds()? - before);
            }
        }
        let last = all.iter_mut().map(|(recognizer, _)| recognizer.final_result()).collect::<Result<Vec<_>, _>>()?;
        results.push(all[0].0.json(&last[0]));
        let cpu = cpu_seconds()? - before;
        let first = first.unwrap_or(cpu) / streams as f64;
        let results = results.join(", ").replace('\n', " ");
        println!(
            "{{\"file\": {file:?}, \"seconds\": {length:.3}, \"cpu\": {cpu:.4}, \"first\": {first:.4}, \"results\": [{results}]}}"
        );
    }
    let cpu = cpu_seconds()? - begin;
    println!("{{\"seconds\": {seconds:.3}, \"cpu\": {cpu:.4}, \"megabytes\": {}}}", megabytes()?);
    Ok(())
}

/// Returns the CPU seconds of all threads that live.
fn cpu_seconds() -> Fallible<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += text.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// Returns the resident memory.
fn megabytes() -> Fallible<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    Ok(kilobytes.ok_or("no VmRSS in /proc/self/status")?.parse::<u64>()? / 1024)
}
