//! Load of a server of live speech: many streams in real time over WebSocket, and uploads.
//!
//! ```text
//! kaldera serve digits=MODEL &
//! cargo run --release -p kaldera-benches --features serve --bin serve_load -- --streams 200 --pid $! digits.wav
//! ```
//!
//! Each stream sends recordings with pauses between them, a chunk each tenth of a second; it never
//! waits for an answer. Streams start at different times, spread over the first turn of recording
//! and pause. A chunk is due when its last sample has been spoken. Latencies count from there until
//! the answer has been read, so that a delay of this program counts too; it is in the table. All
//! streams run on one thread. Vosk's protocol answers each chunk once, which pairs them by order.
//!
//! sherpa-onnx answers each run of its network, not each chunk: run `k`, from 0, needs
//! `--first-ms + k * --step-ms` of audio. It wants samples as `f32`.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use kaldera::Recording;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

const USAGE: &str = "usage: serve_load [OPTIONS] RECORDING...
  --url URL           default ws://127.0.0.1:8000/vosk
  --protocol NAME     vosk (default) or sherpa
  --streams N         number of live streams, default 50
  --seconds S         a stream sends as many whole recordings as fit; default 60
  --chunk-ms MS       default 100
  --pause-ms MS       silence after each recording, default 1000
  --expect TEXT       the text of each recording
  --uploads N         files uploaded at the same time, again and again; default 0
  --upload FILE       the file
  --pid PID           the server's process, for its time and memory
  --idle              streams send nothing
  --first-ms MS       sherpa: audio that the first run of the network needs, default 100
  --step-ms MS        sherpa: audio that each further run needs, default 100";

/// A stream that is answered within this time at its end has kept up.
const KEPT_UP: Duration = Duration::from_secs(1);

/// Time that a server has to accept a connection, and to answer after the end of a stream.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval at which the server's memory is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Clock ticks per second in /proc.
const TICKS: f64 = 100.0;

/// Divides the parts of an upload.
const BOUNDARY: &str = "serve-load-0f4a8d1c";

type Fallible<T> = Result<T, Box<dyn Error>>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("serve_load: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("serve_load: {error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Protocol {
    Vosk,
    Sherpa,
}

struct Options {
    url: String,
    protocol: Protocol,
    streams: usize,
    seconds: f64,
    chunk: Duration,
    pause: Duration,
    expect: Option<String>,
    uploads: usize,
    upload: Option<PathBuf>,
    pid: Option<u32>,
    idle: bool,
    first: Duration,
    step: Duration,
    recordings: Vec<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Fallible<Self> {
        let mut options = Self {
            url: "ws://127.0.0.1:8000/vosk".to_owned(),
            protocol: Protocol::Vosk,
            streams: 50,
            seconds: 60.0,
            chunk: Duration::from_millis(100),
            pause: Duration::from_millis(1000),
            expect: None,
            uploads: 0,
            upload: None,
            pid: None,
            idle: false,
            first: Duration::from_millis(100),
            step: Duration::from_millis(100),
            recordings: vec![],
        };
        while let Some(arg) = args.next() {
            let Some(name) = arg.strip_prefix("--") else {
                options.recordings.push(arg.into());
                continue;
            };
            if name == "idle" {
                options.idle = true;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("option --{name} needs a value"))?;
            let wrong = |reason: &dyn std::fmt::Display| format!("option --{name}: '{value}': {reason}");
            let number = || value.parse::<usize>().map_err(|error| wrong(&error));
            let millis = || number().map(|ms| Duration::from_millis(ms as u64));
            match name {
                "url" => options.url.clone_from(&value),
                "protocol" => {
                    options.protocol = match value.as_str() {
                        "vosk" => Protocol::Vosk,
                        "sherpa" => Protocol::Sherpa,
                        _ => return Err(wrong(&"it is neither vosk nor sherpa").into()),
                    };
                }
                "streams" => options.streams = number()?,
                "seconds" => options.seconds = value.parse::<f64>().map_err(|error| wrong(&error))?,
                "chunk-ms" => options.chunk = millis()?,
                "pause-ms" => options.pause = millis()?,
                "expect" => options.expect = Some(value),
                "uploads" => options.uploads = number()?,
                "upload" => options.upload = Some(value.into()),
                "pid" => options.pid = Some(value.parse::<u32>().map_err(|error| wrong(&error))?),
                "first-ms" => options.first = millis()?,
                "step-ms" => options.step = millis()?,
                _ => return Err(format!("there is no option --{name}").into()),
            }
        }
        if options.chunk.is_zero() || options.step.is_zero() {
            return Err("--chunk-ms and --step-ms must be 1 or more".into());
        }
        if options.streams == 0 || !(options.seconds > 0.0 && options.seconds <= 1e6) {
            return Err("--streams and --seconds must be more than 0".into());
        }
        if options.uploads > 0 && options.upload.is_none() {
            return Err("--uploads needs --upload FILE".into());
        }
        if options.recordings.is_empty() && !options.idle {
            return Err("there is no recording".into());
        }
        Ok(options)
    }

    /// Returns host and port of the server.
    fn address(&self) -> Fallible<&str> {
        let rest = self.url.strip_prefix("ws://").ok_or_else(|| format!("{}: it must begin with ws://", self.url))?;
        Ok(rest.split_once('/').map_or(rest, |(address, _)| address))
    }
}

/// Runs the load and prints the table. Returns `false` if a stream or an upload failed.
fn run(mut options: Options) -> Fallible<bool> {
    let program = std::process::id();
    options.address()?;
    let speech = Speech::read(&options)?;
    // A server that is not there is one error, not one for each stream.
    std::net::TcpStream::connect(options.address()?).map_err(|error| format!("{}: {error}", options.url))?;
    let upload = options.upload.take().filter(|_| options.uploads > 0);
    let upload = upload.map(|path| Upload::read(&path, options.address()?)).transpose()?.map(Arc::new);
    let before = options.pid.map(|pid| Ok::<_, Box<dyn Error>>((cpu_seconds(pid)?, memory_mb(pid)?))).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (options, speech) = (Arc::new(options), Arc::new(speech));
    let (begin, own) = (Instant::now(), cpu_seconds(program)?);
    for upload in upload.iter().flat_map(|upload| std::iter::repeat_n(upload, options.uploads)) {
        let upload = Arc::clone(upload);
        thread::spawn(move || upload.again_and_again());
    }
    let (tally, peak) = runtime.block_on(streams(&options, &speech, begin))?;
    let seconds = begin.elapsed().as_secs_f64();
    let mut text = tally.table(&options, seconds);
    let share = |cpu: f64| format!("{cpu:.2} s, {:.1} % of a core", 100.0 * cpu / seconds);
    if let (Some(pid), Some((cpu, memory))) = (options.pid, before) {
        let (cpu, streams) = (cpu_seconds(pid)? - cpu, options.streams as f64);
        row(&mut text, "CPU of the server", &share(cpu));
        if tally.seconds > 0.0 {
            row(&mut text, "streams per core by that", &format!("{:.0}", tally.seconds / cpu));
        }
        row(&mut text, "memory of the server before, at most", &format!("{memory:.1}, {peak:.1} MB"));
        row(&mut text, "memory per stream", &format!("{:.3} MB", (peak - memory) / streams));
    }
    row(&mut text, "CPU of this program", &share(cpu_seconds(program)? - own));
    let mut errors = tally.lost;
    if let Some(upload) = &upload {
        let uploads = upload.done.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, failed) = (uploads.times.len(), uploads.failed.len());
        let mean = uploads.times.iter().sum::<f64>() / done as f64;
        row(&mut text, "uploads done, failed, under way", &format!("{done}, {failed}, {}", options.uploads - failed));
        if done > 0 {
            let name = format!("an upload of {:.0} s", upload.seconds);
            row(&mut text, &name, &format!("{mean:.2} s, {:.0} times real time", upload.seconds / mean));
        }
        errors.extend_from_slice(&uploads.failed);
    }
    print!("{text}");
    errors.sort();
    for same in errors.chunk_by(|a, b| a == b) {
        eprintln!("serve_load: {} times: {}", same.len(), same[0]);
    }
    Ok(errors.is_empty())
}

/// Runs all streams to their end. Returns their figures, and the greatest memory of the server.
async fn streams(options: &Arc<Options>, speech: &Arc<Speech>, begin: Instant) -> Fallible<(Tally, f64)> {
    let spread = if options.idle { 1.0 } else { speech.turn_seconds() };
    let tasks: Vec<_> = (0..options.streams)
        .map(|number| {
            let start = begin + Duration::from_secs_f64(spread * number as f64 / options.streams as f64);
            tokio::spawn(stream(Arc::clone(options), Arc::clone(speech), number, start))
        })
        .collect();
    let all = async {
        let mut tally = Tally::default();
        for task in tasks {
            tally.add(task.await?);
        }
        Ok::<_, Box<dyn Error>>(tally)
    };
    let mut all = std::pin::pin!(all);
    let mut peak = 0.0_f64;
    loop {
        tokio::select! {
            tally = &mut all => return Ok((tally?, peak)),
            () = sleep(LOOK) => {}
        }
        if let Some(pid) = options.pid {
            peak = peak.max(memory_mb(pid)?);
        }
    }
}

/// Returns user and system time of a process so far.
fn cpu_seconds(pid: u32) -> Fallible<f64> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    // The name of the program, in brackets, may have spaces.
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).ok_or("no fields in /proc")?;
    let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / TICKS)
}

/// Returns the resident memory of a process.
fn memory_mb(pid: u32) -> Fallible<f64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb: f64 = line.ok_or("the server is gone")?.trim().trim_end_matches(" kB").parse()?;
    Ok(kb * 1024.0 / 1e6)
}

/// What streams say: all recordings one after the other, with pauses, in the server's encoding.
struct Speech {
    bytes: Vec<u8>,
    samp_freq: f32,
    /// Bytes of a sample.
    width: usize,
    /// Begins of the recordings, in bytes.
    begins: Vec<usize>,
}

impl Speech {
    fn read(options: &Options) -> Fallible<Self> {
        let width = if options.protocol == Protocol::Vosk { 2 } else { 4 };
        let mut speech = Self { bytes: vec![], samp_freq: 0.0, width, begins: vec![] };
        for path in &options.recordings {
            let recording = Recording::open(path)?.mean();
            let (own, first) = (recording.samp_freq(), speech.samp_freq);
            if first != 0.0 && first != own {
                return Err(format!("{}: {own} Hz; the recording before has {first} Hz", path.display()).into());
            }
            speech.samp_freq = own;
            if f64::from(recording.duration()) + options.pause.as_secs_f64() > options.seconds {
                return Err(format!("{}: with its pause it is longer than --seconds", path.display()).into());
            }
            speech.begins.push(speech.bytes.len());
            let silence = vec![0.0; (own * options.pause.as_secs_f32()) as usize];
            for sample in recording.samples().iter().chain(&silence) {
                match options.protocol {
                    Protocol::Vosk => speech.bytes.extend((*sample as i16).to_le_bytes()),
                    Protocol::Sherpa => speech.bytes.extend((sample / 32_768.0).to_le_bytes()),
                }
            }
        }
        Ok(speech)
    }

    fn seconds_of(&self, bytes: usize) -> f64 {
        (bytes / self.width) as f64 / f64::from(self.samp_freq)
    }

    /// Returns the mean duration of a recording and its pause.
    fn turn_seconds(&self) -> f64 {
        self.seconds_of(self.bytes.len()) / self.begins.len().max(1) as f64
    }

    /// Returns the bytes of the whole recordings that fit in this time, and their number. Streams
    /// begin with different recordings.
    fn of_stream(&self, number: usize, seconds: f64) -> (Vec<u8>, usize) {
        let (mut bytes, mut turns) = (vec![], 0);
        loop {
            let turn = (number + turns) % self.begins.len();
            let end = self.begins.get(turn + 1).map_or(self.bytes.len(), |&end| end);
            let next = &self.bytes[self.begins[turn]..end];
            if next.is_empty() || self.seconds_of(bytes.len() + next.len()) > seconds {
                return (bytes, turns);
            }
            bytes.extend_from_slice(next);
            turns += 1;
        }
    }
}

/// A file for `POST /v1/audio/transcriptions`.
struct Upload {
    address: String,
    body: Vec<u8>,
    seconds: f64,
    done: Mutex<Uploads>,
}

/// The uploads so far.
#[derive(Default)]
struct Uploads {
    times: Vec<f64>,
    failed: Vec<String>,
}

impl Upload {
    fn read(path: &Path, address: &str) -> Fallible<Self> {
        let seconds = f64::from(Recording::open(path)?.duration());
        let file = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let part = "Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"";
        let mut body = format!("--{BOUNDARY}\r\n{part}\r\n\r\n").into_bytes();
        body.extend_from_slice(&file);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        Ok(Self { address: address.to_owned(), body, seconds, done: Mutex::default() })
    }

    /// Uploads the file until an upload fails.
    fn again_and_again(&self) {
        loop {
            let begin = Instant::now();
            let done = self.once();
            let mut uploads = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            match done {
                Ok(()) => uploads.times.push(begin.elapsed().as_secs_f64()),
                Err(error) => return uploads.failed.push(format!("an upload: {error}")),
            }
        }
    }

    fn once(&self) -> Fallible<()> {
        let mut stream = std::net::TcpStream::connect(&self.address)?;
        let head = format!(
            "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            self.body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if answer.starts_with("HTTP/1.1 200 ") { Ok(()) } else { Err(answer.into()) }
    }
}

/// The figures of streams; times are in seconds.
#[derive(Default)]
struct Tally {
    /// From the time when a chunk was due until it was sent.
    late: Vec<f64>,
    partials: Vec<f64>,
    /// The partial answers with other words than the answer before.
    news: Vec<f64>,
    finals: Vec<f64>,
    /// From the end of a word until the first answer with so many words.
    words_late: Vec<f64>,
    words: usize,
    turns: usize,
    right: usize,
    wrong: usize,
    opened: usize,
    kept_up: usize,
    refused: usize,
    /// Seconds of audio.
    seconds: f64,
    lost: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.late.extend(other.late);
        self.partials.extend(other.partials);
        self.news.extend(other.news);
        self.finals.extend(other.finals);
        self.words_late.extend(other.words_late);
        self.words += other.words;
        self.turns += other.turns;
        self.right += other.right;
        self.wrong += other.wrong;
        self.opened += other.opened;
        self.kept_up += other.kept_up;
        self.refused += other.refused;
        self.seconds += other.seconds;
        self.lost.extend(other.lost);
    }

    fn table(&self, options: &Options, seconds: f64) -> String {
        let mut text = String::new();
        if !options.idle {
            text.push_str("| ms | number | p50 | p95 | p99 | largest |\n|---|--:|--:|--:|--:|--:|\n");
            let rows = [
                ("partial answer to a chunk", &self.partials),
                ("partial answer with other words", &self.news),
                ("final result", &self.finals),
                ("word, since its end", &self.words_late),
                ("chunk sent, since it was due", &self.late),
            ];
            for (name, times) in rows.into_iter().filter(|(_, times)| !times.is_empty()) {
                let mut times = times.clone();
                times.sort_by(f64::total_cmp);
                let at = |part: f64| 1000.0 * times[((times.len() - 1) as f64 * part).round() as usize];
                let number = times.len();
                let _ = writeln!(
                    text,
                    "| {name} | {number} | {:.1} | {:.1} | {:.1} | {:.1} |",
                    at(0.5),
                    at(0.95),
                    at(0.99),
                    at(1.0)
                );
            }
            text.push('\n');
        }
        text.push_str("| | |\n|---|--:|\n");
        let (wanted, lost) = (options.streams, self.lost.len());
        row(
            &mut text,
            "streams wanted, opened, refused, lost",
            &format!("{wanted}, {}, {}, {lost}", self.opened, self.refused),
        );
        if !options.idle {
            row(&mut text, "streams that kept up", &format!("{} of {wanted}", self.kept_up));
            row(&mut text, "recordings sent, words received", &format!("{}, {}", self.turns, self.words));
        }
        if options.expect.is_some() {
            row(&mut text, "utterances right, wrong", &format!("{}, {}", self.right, self.wrong));
        }
        row(&mut text, "seconds; seconds of audio", &format!("{seconds:.1}; {:.0}", self.seconds));
        text
    }
}

fn row(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "| {name} | {value} |");
}

/// Runs a stream from its start to its end.
async fn stream(options: Arc<Options>, speech: Arc<Speech>, number: usize, start: Instant) -> Tally {
    let mut tally = Tally::default();
    sleep_until(start.into()).await;
    // The default of 128 KiB is cleared for each message.
    let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
    let connect = connect_async_with_config(options.url.as_str(), Some(config), true);
    let mut socket = match timeout(PATIENCE, connect).await {
        Ok(Ok((socket, _))) => socket,
        Ok(Err(tungstenite::Error::Http(response))) if response.status() == 429 => {
            tally.refused += 1;
            return tally;
        }
        Ok(Err(error)) => {
            tally.lost.push(format!("{}: {error}", options.url));
            return tally;
        }
        Err(_) => {
            tally.lost.push(format!("{}: not opened within {PATIENCE:?}", options.url));
            return tally;
        }
    };
    tally.opened += 1;
    let ended = if options.idle {
        stay(&mut socket, options.seconds).await
    } else {
        let (bytes, turns) = speech.of_stream(number, options.seconds);
        tally.turns += turns;
        tally.seconds += speech.seconds_of(bytes.len());
        let mut talk = Talk {
            options: &options,
            tally: &mut tally,
            start: Instant::now(),
            due: VecDeque::new(),
            answers: 0,
            partial: String::new(),
            seen: vec![],
        };
        talk.run(&mut socket, &speech, &bytes).await
    };
    if let Err(error) = ended {
        tally.lost.push(error.to_string());
    }
    tally
}

type Ended = Result<(), Box<dyn Error + Send + Sync>>;

/// Stays without a word.
async fn stay(socket: &mut Socket, seconds: f64) -> Ended {
    match timeout(Duration::from_secs_f64(seconds), socket.next()).await {
        Err(_) => Ok(socket.close(None).await?),
        Ok(Some(Ok(message))) => Err(format!("the server did not wait: {message:?}").into()),
        Ok(Some(Err(error))) => Err(error.into()),
        Ok(None) => Err("the server did not wait".into()),
    }
}

/// A stream that speaks.
struct Talk<'a> {
    options: &'a Options,
    tally: &'a mut Tally,
    start: Instant,
    /// The times when chunks without an answer were due.
    due: VecDeque<Instant>,
    /// Number of answers.
    answers: u32,
    /// The words of the last answer.
    partial: String,
    /// The times when the first, second, ... word of the utterance was seen.
    seen: Vec<Instant>,
}

impl Talk<'_> {
    async fn run(&mut self, socket: &mut Socket, speech: &Speech, bytes: &[u8]) -> Ended {
        let is_vosk = self.options.protocol == Protocol::Vosk;
        if is_vosk {
            let config = json!({ "config": { "sample_rate": speech.samp_freq } });
            socket.send(Message::text(config.to_string())).await?;
        }
        let chunk = self.options.chunk;
        let size = (f64::from(speech.samp_freq) * chunk.as_secs_f64()).round() as usize * speech.width;
        let mut chunks = bytes.chunks(size.max(speech.width));
        self.start = Instant::now();
        let (mut next, mut is_sent) = (self.start + chunk, false);
        loop {
            let wake = if is_sent { next + PATIENCE } else { next };
            let message = tokio::select! {
                () = sleep_until(wake.into()) => None,
                message = socket.next() => Some(message.ok_or("the server ended the stream")??),
            };
            match message {
                None if is_sent => return Err(format!("no answer within {PATIENCE:?} after the end").into()),
                None => {
                    self.tally.late.push(next.elapsed().as_secs_f64());
                    self.due.push_back(next);
                    let message = match chunks.next() {
                        Some(bytes) => Message::binary(bytes.to_vec()),
                        None => {
                            is_sent = true;
                            Message::text(if is_vosk { "{\"eof\" : 1}" } else { "Done" })
                        }
                    };
                    socket.send(message).await?;
                    if chunks.len() > 0 {
                        next += chunk;
                    }
                }
                Some(Message::Text(text)) => {
                    let is_last = match self.options.protocol {
                        Protocol::Vosk => self.vosk(&text)? && is_sent && self.due.is_empty(),
                        Protocol::Sherpa => self.sherpa(&text)?,
                    };
                    if is_last {
                        self.tally.kept_up += usize::from(next.elapsed() <= KEPT_UP);
                        // The server may have closed it.
                        let _ = socket.close(None).await;
                        return Ok(());
                    }
                }
                Some(Message::Close(frame)) => {
                    let reason = frame.map(|frame| frame.to_string()).unwrap_or_default();
                    return Err(format!("the server closed the stream: {reason}").into());
                }
                Some(_) => {}
            }
        }
    }

    /// Takes an answer in Vosk's protocol and returns `true` if it is a result.
    fn vosk(&mut self, text: &str) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let now = Instant::now();
        let answer: Value = serde_json::from_str(text)?;
        if let Some(error) = answer.get("error") {
            return Err(format!("the server's error: {error}").into());
        }
        let due = self.due.pop_front().ok_or_else(|| format!("an answer to nothing: {text}"))?;
        let latency = now.duration_since(due).as_secs_f64();
        if let Some(partial) = answer.get("partial").and_then(Value::as_str) {
            self.partial(partial, latency, now);
            return Ok(false);
        }
        let result = answer.get("text").and_then(Value::as_str).ok_or_else(|| format!("no words: {text}"))?;
        let ends = answer.get("result").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (word, end) in ends.iter().enumerate() {
            let end = end.get("end").and_then(Value::as_f64).ok_or("a word without its end")?;
            let seen = self.seen.get(word).copied().unwrap_or(now);
            self.tally.words_late.push(seen.duration_since(self.start).as_secs_f64() - end);
        }
        self.result(result, latency);
        Ok(true)
    }

    /// Takes an answer of sherpa-onnx and returns `true` if it is the last one.
    fn sherpa(&mut self, text: &str) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let now = Instant::now();
        if text == "Done!" {
            return Ok(true);
        }
        let answer: Value = serde_json::from_str(text)?;
        let is = |key: &str| answer.get(key).and_then(Value::as_bool).unwrap_or(false);
        let words = answer.get("text").and_then(Value::as_str).ok_or_else(|| format!("no words: {text}"))?.trim();
        let audio = self.options.first + self.options.step * self.answers;
        self.answers += 1;
        let chunks = audio.as_secs_f64() / self.options.chunk.as_secs_f64();
        let at = (chunks.ceil() as usize).saturating_sub(1).min(self.due.len().saturating_sub(1));
        let due = *self.due.get(at).ok_or("an answer to nothing")?;
        let latency = now.duration_since(due).as_secs_f64();
        if is("is_final") || is("is_eof") {
            self.result(words, latency);
        } else {
            self.partial(words, latency, now);
        }
        Ok(false)
    }

    fn partial(&mut self, words: &str, latency: f64, now: Instant) {
        self.tally.partials.push(latency);
        if words != self.partial {
            self.tally.news.push(latency);
            words.clone_into(&mut self.partial);
            self.seen.resize(words.split_whitespace().count(), now);
        }
    }

    fn result(&mut self, words: &str, latency: f64) {
        self.partial.clear();
        self.seen.clear();
        if words.is_empty() {
            return;
        }
        self.tally.finals.push(latency);
        self.tally.words += words.split_whitespace().count();
        if let Some(expected) = &self.options.expect {
            let is_right = words == expected;
            self.tally.right += usize::from(is_right);
            self.tally.wrong += usize::from(!is_right);
        }
    }
}
