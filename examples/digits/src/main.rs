//! `cargo run --release -p kaldera-train-digits -- --help`

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use kaldera_train_digits::Error;
use kaldera_train_digits::corpus::Corpus;
use kaldera_train_digits::evaluation::{evaluate, test_strings};
use kaldera_train_digits::export::{save_model, save_text};
use kaldera_train_digits::training::{Options, Trainer};
use recurrent::Parameters;

/// Of all recordings, Hz; those of another rate are resampled.
const SAMPLE_RATE: f32 = 8000.0;

fn main() -> ExitCode {
    match run(&command().get_matches()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Command {
    let options = Options::default();
    let with_default = |name: &'static str, kind: &'static str, default: &dyn Display, help: &str| {
        Arg::new(name).long(name).value_name(kind).help(format!("{help} [default: {default}]"))
    };
    let count =
        |name, default: usize, help| with_default(name, "NUMBER", &default, help).value_parser(value_parser!(usize));
    let real = |name: &'static str, default: f64, help: &str| {
        with_default(name, "NUMBER", &default, help).value_parser(value_parser!(f64))
    };
    let takes = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("FIRST-LAST").value_parser(parse_takes).default_value(default).help(help)
    };
    let folder = |name: &'static str| Arg::new(name).value_name("FOLDER").value_parser(value_parser!(PathBuf));
    Command::new("train-digits")
        .about("Trains a recogniser of connected digits on recordings DIGIT_SPEAKER_TAKE.wav")
        .arg(folder("recordings").num_args(1..).required(true).help("Of recordings, such as fsdd/recordings"))
        .arg(
            folder("out")
                .short('o')
                .long("out")
                .default_value("target/digits")
                .help("For the checkpoint after each epoch, and the model and its errors at the end"),
        )
        .arg(takes("train-takes", "10-49", "Takes to learn from"))
        .arg(takes("test-takes", "5-9", "Takes to test with"))
        .arg(
            Arg::new("leave-out")
                .long("leave-out")
                .value_name("SPEAKER")
                .help("Learn from all others, and test with this speaker"),
        )
        .arg(count("hidden", options.hidden, "Hidden units of each direction"))
        .arg(count("epochs", options.epochs, "How often each recording is used"))
        .arg(count("curriculum", options.curriculum, "Epochs with one or two digits to a string, before 3 to 7"))
        .arg(count("batch", options.batch, "Strings of a batch"))
        .arg(real("learning-rate", options.learning_rate, "The highest one"))
        .arg(real("dropout", options.dropout, "Its probability, before the output layer"))
        .arg(real("clip", options.clip, "The length of the longest gradient"))
        .arg(
            Arg::new("augment")
                .long("augment")
                .action(ArgAction::SetTrue)
                .help("Another speed, voice, room, microphone and noise for each string"),
        )
        .arg(with_default("seed", "NUMBER", &options.seed, "Of all random numbers").value_parser(value_parser!(u64)))
}

fn parse_takes(text: &str) -> Result<RangeInclusive<u32>, String> {
    let ends = text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    ends.map(|(first, last)| first..=last).ok_or_else(|| "two numbers with - between, such as 10-49".into())
}

fn options(arguments: &ArgMatches) -> Options {
    let defaults = Options::default();
    let count = |name: &str, default: usize| arguments.get_one(name).copied().unwrap_or(default);
    let real = |name: &str, default: f64| arguments.get_one(name).copied().unwrap_or(default);
    Options {
        hidden: count("hidden", defaults.hidden),
        epochs: count("epochs", defaults.epochs),
        curriculum: count("curriculum", defaults.curriculum),
        batch: count("batch", defaults.batch),
        learning_rate: real("learning-rate", defaults.learning_rate),
        dropout: real("dropout", defaults.dropout),
        clip: real("clip", defaults.clip),
        augment: arguments.get_flag("augment"),
        seed: arguments.get_one("seed").copied().unwrap_or(defaults.seed),
    }
}

fn run(arguments: &ArgMatches) -> Result<(), Error> {
    let options = options(arguments);
    let takes = |name: &str| arguments.get_one::<RangeInclusive<u32>>(name).cloned().ok_or("no takes");
    let out: &PathBuf = arguments.get_one("out").ok_or("no value")?;
    fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let (checkpoint, strings) = (out.join("checkpoint.safetensors"), out.join("strings.tsv"));

    let start = Instant::now();
    let folders: Vec<&PathBuf> = arguments.get_many("recordings").ok_or("no value")?.collect();
    let corpus = Corpus::read(&folders, SAMPLE_RATE)?;
    let (train, test) = (takes("train-takes")?, takes("test-takes")?);
    let left_out = arguments.get_one::<String>("leave-out");
    let (chosen, tested) = corpus.divide(&train, &test, left_out.map(String::as_str))?;
    println!("{} recordings to learn from, {} to test with", chosen.len(), tested.len());

    let mut trainer = Trainer::new(&corpus, chosen, options.clone())?;
    println!("{} parameters", trainer.network().num_values());
    if checkpoint.exists() {
        trainer.resume(&checkpoint)?;
        println!("resumed after epoch {}: {}", trainer.epoch(), checkpoint.display());
    }
    while !trainer.is_done() {
        let name = format!("epoch {}/{}", trainer.epoch() + 1, options.epochs);
        let bar = ProgressBar::new(0).with_prefix(name.clone());
        bar.set_style(ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} batches, loss {msg}, {eta} left")?);
        let epoch = trainer.learn_epoch(|done, count, loss| {
            bar.set_length(count as u64);
            bar.set_position(done as u64);
            bar.set_message(format!("{loss:.3}"));
        })?;
        bar.finish_and_clear();
        trainer.save(&checkpoint)?;
        println!("{name}: loss {:.4}, {:.0} s of audio, {}", epoch.loss, epoch.seconds, times(start));
    }

    let result = evaluate(trainer.network(), trainer.front_end(), &corpus, &tested)?;
    save_text(&strings, &result.lines)?;
    println!(
        "{:.2} % of the digits wrong ({} of {}), {} of {} strings with an error, {}",
        result.error_rate(),
        result.errors,
        result.digits,
        result.wrong_strings,
        result.strings,
        times(start)
    );
    let (model, recording) = (out.join("model"), out.join("string.wav"));
    if let Some(string) = test_strings(&corpus, &tested).first() {
        string.recording(&corpus).save(&recording)?;
    }
    save_model(&model, trainer.network(), trainer.front_end())?;
    println!("written to {}; try kaldera transcribe {} {}", out.display(), model.display(), recording.display());
    Ok(())
}

/// The time that has passed, and the processor's time, where Linux says it.
fn times(start: Instant) -> String {
    let passed = format!("{:.1} s", start.elapsed().as_secs_f64());
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User time is the 14th field, in hundredths of a second; the second field ends with a bracket.
    let ticks = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)?.parse::<f64>().ok());
    match ticks {
        Some(ticks) => format!("{passed}, {:.1} s of CPU", ticks / 100.0),
        None => passed,
    }
}
