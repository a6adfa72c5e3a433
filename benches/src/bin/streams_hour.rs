//! CPU time of an hour of audio in chunks of 10 ms, each row asked for as soon as its samples are
//! there, beside the same hour a recording at a time. Both read the same WAV and write the same
//! kind of archive, on one thread.
//!
//! ```text
//! cargo run --release -p kaldera-benches --bin streams_hour -- FOLDER [ROUNDS [KIND ..]]
//! ```
//!
//! FOLDER is better one in memory, such as /dev/shm. The hour is written there first: 360
//! recordings of ten seconds, the same in every run. The two ways take turns; the table has
//! medians, and the least and greatest quotient of a round.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use kaldera::base::random::Philox;
use kaldera::feat::{
    Audio, Extractor, Fbank, FbankOptions, FeatureStream, Kind, LogMel, LogMelOptions, Mfcc, MfccOptions,
    PitchExtractionOptions, PitchExtractor, Plp, PlpOptions, Spectrogram, SpectrogramOptions, Workspace,
};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::wave::WaveData;
use kaldera::matrix::Matrix;

const SAMP_FREQ: f32 = 16000.0;
const SECONDS: usize = 10;
const RECORDINGS: usize = 360;
/// Samples of 10 ms.
const CHUNK: usize = 160;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (folder, rounds) = (args.next(), args.next().unwrap_or_else(|| "7".to_owned()));
    let (Some(folder), Ok(rounds @ 1..)) = (folder, rounds.parse()) else {
        eprintln!("usage: streams_hour FOLDER [ROUNDS [KIND ..]]");
        return ExitCode::from(2);
    };
    match run(Path::new(&folder), rounds, &args.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, rounds: usize, kinds: &[String]) -> Fallible<()> {
    let hour = Hour::write(folder)?;
    println!("CPU seconds of an hour, medians of {rounds} rounds\n");
    println!("| | whole | rows at once | times | from, to |\n|---|--:|--:|--:|--:|");
    let mut without_dither = (FbankOptions::default(), MfccOptions::default(), PlpOptions::default());
    let (fbank, mfcc, plp) = (&mut without_dither.0, &mut without_dither.1, &mut without_dither.2);
    fbank.mel.num_bins = 80;
    let mut spectrogram = SpectrogramOptions::default();
    for frame in [&mut fbank.frame, &mut mfcc.frame, &mut plp.frame, &mut spectrogram.frame] {
        frame.dither = 0.0;
    }
    let (fbank, mfcc, plp) = without_dither;
    let passes: [(&str, Box<dyn Passes>); 7] = [
        ("fbank-80", Box::new(Features::new(Fbank::new(fbank)?))),
        ("MFCC-13", Box::new(Features::new(Mfcc::new(mfcc)?))),
        ("PLP-13", Box::new(Features::new(Plp::new(plp)?))),
        ("spectrogram", Box::new(Features::new(Spectrogram::new(spectrogram)?))),
        ("Whisper-80", Box::new(Features::new(LogMel::new(LogMelOptions::whisper(80))?))),
        ("librosa-128", Box::new(Features::new(LogMel::new(LogMelOptions::librosa(SAMP_FREQ))?))),
        ("pitch", Box::new(Pitch(PitchExtractor::new(PitchExtractionOptions::default())?))),
    ];
    for (name, mut passes) in passes {
        if !kinds.is_empty() && !kinds.iter().any(|kind| name.contains(kind.as_str())) {
            continue;
        }
        let mut times = Vec::new();
        // The first round fills caches, and pages of the workspace.
        for _ in 0..=rounds {
            let whole = hour.pass(|samples, rows| passes.whole(samples, rows))?;
            let chunks = hour.pass(|samples, rows| passes.in_chunks(samples, rows))?;
            times.push([whole, chunks]);
        }
        report(name, &times[1..]);
    }
    Ok(())
}

/// One line of the table.
fn report(name: &str, times: &[[f64; 2]]) {
    let sorted = |of: fn(&[f64; 2]) -> f64| {
        let mut all: Vec<_> = times.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (whole, chunks, ratios) = (sorted(|t| t[0]), sorted(|t| t[1]), sorted(|t| t[1] / t[0]));
    let middle = times.len() / 2;
    println!(
        "| {name} | {:.3} | {:.3} | {:.2} | {:.2}, {:.2} |",
        whole[middle],
        chunks[middle],
        chunks[middle] / whole[middle],
        ratios[0],
        ratios[ratios.len() - 1]
    );
}

/// An archive of recordings, and where their features go.
struct Hour {
    recordings: PathBuf,
    features: PathBuf,
}

impl Hour {
    /// A voice that comes and goes, gliding, on noise that is another one in each recording.
    fn write(folder: &Path) -> Fallible<Self> {
        let hour = Self { recordings: folder.join("hour.wav.ark"), features: folder.join("hour.features.ark") };
        let mut writer = TableWriter::to_archive(&hour.recordings)?;
        let voice: Vec<_> = (0..SECONDS * SAMP_FREQ as usize).map(|i| voice(i as f32 / SAMP_FREQ)).collect();
        for i in 0..RECORDINGS {
            let mut samples = voice.clone();
            Philox::new(i as u64).add_gaussian(100.0, 0, &mut samples);
            let samples = samples.iter().map(|&x| x as i16).collect();
            writer.write(&format!("recording-{i}"), &WaveData { samp_freq: SAMP_FREQ, num_channels: 1, samples })?;
        }
        writer.close()?;
        Ok(hour)
    }

    /// Has `compute` make rows of each recording, and writes them. Gives the CPU seconds of it all.
    fn pass(&self, mut compute: impl FnMut(&[i16], &mut Vec<f32>) -> Fallible<usize>) -> Fallible<f64> {
        // Left over from the pass before, which might have been longer: to free it is not this
        // one's work.
        if self.features.exists() {
            fs::remove_file(&self.features)?;
        }
        let begin = cpu_seconds()?;
        let mut writer = TableWriter::to_archive(&self.features)?;
        let mut values = Vec::new();
        for entry in SequentialReader::<WaveData>::from_archive(&self.recordings)? {
            let (key, wave) = entry?;
            let dim = compute(&wave.channel(0), &mut values)?;
            let rows = Matrix::from_vec(values.len() / dim, dim, values)?;
            writer.write(&key, &rows)?;
            values = rows.into_vec();
        }
        writer.close()?;
        Ok(cpu_seconds()? - begin)
    }
}

/// A voice at a time in seconds.
fn voice(t: f32) -> f32 {
    let phase = std::f32::consts::TAU * (150.0 * t + 8.0 * (2.0 * t).sin());
    let loud = 4000.0 * (4.0 * t).sin().max(0.0);
    loud * (phase.sin() + 0.6 * (2.0 * phase).sin() + 0.4 * (3.0 * phase).cos() + 0.2 * (5.0 * phase).sin())
}

/// User and system time of this thread so far.
fn cpu_seconds() -> Fallible<f64> {
    // Has the kernel bring its count up to date.
    thread::yield_now();
    let counts = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = counts.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 * 1e-9)
}

/// Features of a recording in two ways, to `rows` in place of what is there. Both give the number
/// of columns.
trait Passes {
    fn whole(&mut self, samples: &[i16], rows: &mut Vec<f32>) -> Fallible<usize>;
    fn in_chunks(&mut self, samples: &[i16], rows: &mut Vec<f32>) -> Fallible<usize>;
}

struct Features<K: Kind> {
    extractor: Arc<Extractor<K>>,
    workspace: Workspace,
}

impl<K: Kind> Features<K> {
    fn new(extractor: Extractor<K>) -> Self {
        Self { extractor: Arc::new(extractor), workspace: Workspace::default() }
    }
}

impl<K: Kind> Passes for Features<K> {
    fn whole(&mut self, samples: &[i16], rows: &mut Vec<f32>) -> Fallible<usize> {
        self.extractor.compute_into(&mut self.workspace, &Audio::new(samples, SAMP_FREQ), rows)?;
        Ok(self.extractor.dim())
    }

    fn in_chunks(&mut self, samples: &[i16], rows: &mut Vec<f32>) -> Fallible<usize> {
        let mut stream = FeatureStream::new(Arc::clone(&self.extractor)).with_sample_rate(SAMP_FREQ)?;
        rows.clear();
        for chunk in samples.chunks(CHUNK) {
            stream.accept(chunk)?;
            stream.take_rows(rows);
        }
        stream.finish();
        stream.take_rows(rows);
        Ok(stream.dim())
    }
}

struct Pitch(PitchExtractor);

impl Passes for Pitch {
    fn whole(&mut self, samples: &[i16], rows: &mut Vec<f32>) -> Fallible<usize> {
        let found = self.0.compute(&Audio::new(samples, SAMP_FREQ))?;
        *rows = found.into_vec();
        Ok(2)
    }

    fn in_chunks(&mut self, samples: &[i16], rows: &mut Vec<f32>) -> Fallible<usize> {
        let mut stream = self.0.stream();
        rows.clear();
        for chunk in samples.chunks(CHUNK) {
            stream.accept(chunk)?;
            // Frames as they look now; what they are in the end is written.
            for frame in rows.len() / 2..stream.num_frames_ready() {
                rows.extend(stream.frame(frame).ok_or("a frame that is ready")?);
            }
        }
        stream.finish();
        rows.clear();
        for frame in 0..stream.num_frames_ready() {
            rows.extend(stream.frame(frame).ok_or("a frame that is ready")?);
        }
        Ok(stream.dim())
    }
}
