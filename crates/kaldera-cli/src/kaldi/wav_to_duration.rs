//! `wav-to-duration`: the durations of recordings in seconds.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::wave::{WaveData, WaveInfo};

use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "wav-to-duration", about: "Durations of recordings, in seconds", run };

const USAGE: &str = "Writes the durations of recordings in seconds.
Usage: wav-to-duration [options] <wav-rspecifier> <duration-wspecifier>
For example: wav-to-duration scp:wav.scp ark,t:-";

#[derive(Default)]
struct Options {
    read_entire_file: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "read-entire-file",
            &mut self.read_entire_file,
            "Count the samples instead of trusting the header",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [recordings, durations]| {
        let writer = TableWriter::open(&durations)?;
        if options.read_entire_file {
            let reader = SequentialReader::<WaveData>::open(&recordings)?;
            write_durations(reader.map(|entry| entry.map(|(key, wave)| (key, Some(wave.duration())))), writer)
        } else {
            let reader = SequentialReader::<WaveInfo>::open(&recordings)?;
            write_durations(reader.map(|entry| entry.map(|(key, info)| (key, info.duration()))), writer)
        }
    })
}

fn write_durations(
    durations: impl Iterator<Item = Result<(String, Option<f32>), kaldera::io::Error>>,
    mut writer: TableWriter<f32>,
) -> Result<bool, Failure> {
    let mut statistics = Statistics::default();
    for entry in durations {
        let (key, duration) = entry?;
        let Some(duration) = duration else { return Err(Failure::NoDuration { key }) };
        writer.write(&key, &duration)?;
        statistics.add(duration);
    }
    writer.close()?;
    statistics.log();
    Ok(statistics.count > 0)
}

#[derive(Default)]
struct Statistics {
    count: u64,
    sum: f64,
    /// Shortest and longest duration.
    extremes: Option<(f32, f32)>,
}

impl Statistics {
    fn add(&mut self, duration: f32) {
        self.count += 1;
        self.sum += f64::from(duration);
        let (shortest, longest) = self.extremes.unwrap_or((duration, duration));
        self.extremes = Some((shortest.min(duration), longest.max(duration)));
    }

    fn log(&self) {
        tracing::info!("durations of {} recordings written", self.count);
        if let Some((shortest, longest)) = self.extremes {
            let mean = self.sum / self.count as f64;
            tracing::info!("{mean} s on average, {shortest} s the shortest, {longest} s the longest");
        }
    }
}
