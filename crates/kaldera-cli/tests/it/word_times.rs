//! Times of words beside known ones: digits of FSDD with pauses of known lengths between them.
//!
//! The data is not part of the project: `KALDERA_DATA` names the folder that has it in `fsdd`. Without
//! it, the test says that it was left out.
//!
//! ```text
//! KALDERA_DATA=../shared/data cargo test -p kaldera-cli --features digits --test it word_times -- --nocapture
//! ```

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use kaldera::io::wave::WaveData;
use serde_json::Value;

use crate::bench::Bench;

const SPEAKERS: [&str; 6] = ["george", "jackson", "lucas", "nicolas", "theo", "yweweler"];
const DIGITS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const RATE: f64 = 8000.0;
/// Takes that the shipped model was not trained on.
const TAKES: usize = 5;

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Writes a recording of digits with pauses of so many samples, and returns when each is said.
fn write(
    path: &Path,
    fsdd: &Path,
    speaker: &str,
    pauses: Range<usize>,
    numbers: &mut Numbers,
) -> Vec<(String, f64, f64)> {
    let mut samples = vec![0; 2000 + numbers.below(3000)];
    let mut words = vec![];
    for _ in 0..2 + numbers.below(4) {
        let digit = numbers.below(10);
        let take = format!("recordings/{digit}_{speaker}_{}.wav", numbers.below(TAKES));
        let wave = WaveData::read(&fs::read(fsdd.join(take)).unwrap()[..]).unwrap();
        let begin = samples.len() as f64 / RATE;
        samples.extend(wave.samples);
        words.push((DIGITS[digit].to_owned(), begin, samples.len() as f64 / RATE));
        samples.resize(samples.len() + pauses.start + numbers.below(pauses.len()), 0);
    }
    // A faint noise, of a standard deviation of 3.
    let noise = |numbers: &mut Numbers| (0..4).map(|_| numbers.below(6) as i16).sum::<i16>() - 10;
    let samples = samples.into_iter().map(|sample: i16| sample.saturating_add(noise(numbers))).collect();
    let mut bytes = vec![];
    WaveData { samp_freq: RATE as f32, num_channels: 1, samples }.write(&mut bytes).unwrap();
    fs::write(path, bytes).unwrap();
    words
}

/// Errors in seconds: of starts and ends of words, and of their peaks.
#[derive(Default)]
struct Errors([Vec<f64>; 4]);

impl Errors {
    fn mean(&self, kind: usize) -> f64 {
        self.0[kind].iter().sum::<f64>() / self.0[kind].len() as f64
    }

    fn near(&self, kind: usize) -> f64 {
        self.0[kind].iter().filter(|&&error| error < 0.05).count() as f64 / self.0[kind].len() as f64
    }
}

#[test]
fn words_are_where_they_are_heard() {
    let Some(data) = std::env::var_os("KALDERA_DATA").filter(|data| !data.is_empty()) else {
        println!("left out: KALDERA_DATA names no folder with fsdd");
        return;
    };
    let fsdd: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(data).join("fsdd");
    let bench = Bench::new();
    bench.run(&["model", "digits", "-o", "digits"]).with(0);
    // Pauses of 0.15 to 1 s, and of up to 0.12 s.
    for (name, pauses, most) in [("pauses", 1200..8000, 0.03), ("connected", 0..960, 0.05)] {
        fs::create_dir(bench.path(name)).unwrap();
        let (mut numbers, mut text, mut said) = (Numbers(1), String::new(), vec![]);
        for number in 0..60 {
            let path = bench.path(&format!("{name}/{number:02}.wav"));
            let words = write(&path, &fsdd, SPEAKERS[number % SPEAKERS.len()], pauses.clone(), &mut numbers);
            let texts: Vec<&str> = words.iter().map(|(word, _, _)| &**word).collect();
            text += &format!("{number:02} {}\n", texts.join(" "));
            said.push(words);
        }
        bench.file("text", &text);
        for command in [&["transcribe"][..], &["align", "--text=text"]] {
            let args = [command, &["-q", "--format=jsonl", "-o", "x.jsonl", "digits", name]].concat();
            bench.run(&args).with(0);
            let mut errors = Errors::default();
            for (line, said) in bench.text("x.jsonl").lines().zip(&said) {
                let value: Value = serde_json::from_str(line).unwrap();
                let found = value["words"].as_array().unwrap();
                // A string with a wrong word has no times to compare.
                if !found.iter().map(|word| &word["text"]).eq(said.iter().map(|(word, _, _)| word)) {
                    continue;
                }
                for (word, (_, start, end)) in found.iter().zip(said) {
                    let keys = [("start", start), ("end", end), ("peak_start", start), ("peak_end", end)];
                    for (errors, (key, expected)) in errors.0.iter_mut().zip(keys) {
                        errors.push((word[key].as_f64().unwrap() - expected).abs());
                    }
                }
            }
            let millis = [0, 1, 2, 3].map(|kind| (errors.mean(kind) * 1000.0).round());
            let near = [0, 1, 2, 3].map(|kind| (errors.near(kind) * 100.0).round());
            let [start, end, peak_start, peak_end] = millis;
            println!(
                "{name} {}: {} words; starts {peak_start} -> {start} ms ({} -> {} % within 50 ms), ends {peak_end} -> \
                {end} ms ({} -> {} %)",
                command[0],
                errors.0[0].len(),
                near[2],
                near[0],
                near[3],
                near[1]
            );
            assert!(errors.mean(0) < most && errors.mean(1) < most, "{name} {command:?}");
        }
    }
}
