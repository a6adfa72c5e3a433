//! `POST /v1/audio/transcriptions`: words of a file.

use std::io::{self, Read, Seek as _, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{FromRequest as _, Request, State as Extract};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use futures_util::stream;
use kaldera::audio::{Pipes, ReadOptions, Recording};
use kaldera::base::text::with_causes;
use kaldera::decoder::align::{CaptionOptions, write_srt, write_vtt};
use kaldera::decoder::{Recognition, Segment};
use kaldera::recognizer::{LongTranscription, PauseOptions, Recognizer, Transcript};
use serde_json::{Value, json};
use tempfile::SpooledTempFile;
use tokio::sync::mpsc;

use crate::http::{DRAIN_TIME, DRAINED, drain};
use crate::metrics::{Reason, Result as Kind};
use crate::models::Model;
use crate::openai::ApiError;
use crate::schedule::Turn;
use crate::state::{Permit, State};

/// Maximum bytes of a field that is not the file.
const MAX_FIELD: usize = 1 << 16;

/// A pause of more seconds between two words divides segments.
const PAUSE: f64 = 1.0;

/// Maximum seconds of a segment.
const MAX_SEGMENT: f64 = 30.0;

/// The form of a request.
struct Form {
    file: SpooledTempFile,
    model: Model,
    format: Format,
    words: bool,
    segments: bool,
    stream: bool,
    language: Option<String>,
}

/// Format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    VerboseJson,
    Text,
    Srt,
    Vtt,
}

impl Format {
    const NAMES: [(&str, Self); 5] = [
        ("json", Self::Json),
        ("verbose_json", Self::VerboseJson),
        ("text", Self::Text),
        ("srt", Self::Srt),
        ("vtt", Self::Vtt),
    ];

    fn named(name: &str) -> Result<Self, ApiError> {
        let found = Self::NAMES.into_iter().find(|(own, _)| *own == name);
        let refuse = || {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            ApiError::bad(format!("response_format '{name}' is not one of {names}")).with_param("response_format")
        };
        Ok(found.ok_or_else(refuse)?.1)
    }
}

/// Answers a request.
pub(crate) async fn transcribe(Extract(state): Extract<State>, request: Request) -> Result<Response, ApiError> {
    let arrived = Instant::now();
    let Some(permit) = state.upload() else {
        drain(request.into_body()).await;
        return Err(ApiError::busy("too many uploads wait: try again later"));
    };
    let form = read_form(&state, request).await?;
    let (format, is_stream) = (form.format, form.stream);
    let (words, segments) = (form.words, form.segments);
    let language = form.language.clone().or_else(|| state.options.languages().first().map(|&first| first.to_owned()));
    let job = Job { state, turn: 0, arrived, _permit: permit };
    if is_stream {
        return Ok(job.stream(form));
    }
    let transcript = job.run(form, None).await?;
    let Transcript { recognition, seconds, .. } = &transcript;
    let text = recognition.text();
    let found = recognition.best().map_or(&[][..], |best| &best.words);
    let captions = CaptionOptions::default();
    let mut bytes = vec![];
    let written = match format {
        Format::Json => return Ok(Json(json!({ "text": text, "usage": usage(*seconds) })).into_response()),
        Format::VerboseJson => {
            let mut answer = json!({
                "task": "transcribe",
                "language": language.unwrap_or_else(|| "unknown".to_owned()),
                "duration": seconds,
                "text": text,
                "usage": usage(*seconds),
            });
            if segments {
                answer["segments"] = segments_of(recognition).into();
            }
            if words {
                answer["words"] = found.iter().map(word).collect();
            }
            return Ok(Json(answer).into_response());
        }
        Format::Text => writeln!(bytes, "{text}"),
        Format::Srt => write_srt(&mut bytes, found, &captions),
        Format::Vtt => write_vtt(&mut bytes, found, &captions),
    };
    written.map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], bytes).into_response())
}

/// Reads the form, after an error to its end within limits: a client that still writes reads no
/// answer. The file goes to memory, and from a size on to a temporary file without a name.
async fn read_form(state: &State, request: Request) -> Result<Form, ApiError> {
    let time = Duration::from_secs_f64(state.options.upload_time);
    let form = pin!(read_fields(state, request));
    let read = tokio::select! {
        read = tokio::time::timeout(time, form) => read,
        () = state.cut.cancelled() => return Err(ApiError::ending()),
    };
    read.unwrap_or_else(|_| {
        state.metrics.refuse(Reason::Slow);
        let message = format!("the upload did not arrive within {} s", time.as_secs_f64());
        Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message))
    })
}

async fn read_fields(state: &State, request: Request) -> Result<Form, ApiError> {
    let refused = |error: axum::extract::multipart::MultipartRejection| ApiError::bad(error.body_text());
    let mut multipart = Multipart::from_request(request, state).await.map_err(refused)?;
    let form = fill(state, &mut multipart).await;
    if form.is_err() {
        let rest = async {
            let mut size = 0;
            while size < DRAINED
                && let Ok(Some(mut field)) = multipart.next_field().await
            {
                while size < DRAINED
                    && let Ok(Some(chunk)) = field.chunk().await
                {
                    size += chunk.len();
                }
            }
        };
        let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
    }
    form
}

fn wrong_form(error: MultipartError) -> ApiError {
    ApiError::new(error.status(), error.body_text())
}

async fn fill(state: &State, multipart: &mut Multipart) -> Result<Form, ApiError> {
    let mut form = Form {
        file: tempfile::spooled_tempfile(state.options.memory_mb << 20),
        model: state.models.first().clone(),
        format: Format::Json,
        words: false,
        segments: false,
        stream: false,
        language: None,
    };
    let (mut has_file, mut prompt) = (false, String::new());
    while let Some(field) = multipart.next_field().await.map_err(wrong_form)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            has_file = true;
            save(state, field, &mut form.file).await?;
            continue;
        }
        let value = text_of(field).await?;
        match name.as_str() {
            "model" => {
                let model = state.models.named(&value);
                form.model = model.ok_or_else(|| ApiError::no_model(&value, state))?.clone();
            }
            "response_format" => form.format = Format::named(&value)?,
            "stream" => form.stream = matches!(value.as_str(), "true" | "True" | "1"),
            "prompt" => prompt = value,
            "language" => form.language = Some(value).filter(|language| !language.is_empty()),
            "timestamp_granularities[]" | "timestamp_granularities" => match value.as_str() {
                "word" => form.words = true,
                "segment" => form.segments = true,
                other => {
                    let message = format!("timestamp_granularities '{other}' is neither word nor segment");
                    return Err(ApiError::bad(message).with_param("timestamp_granularities"));
                }
            },
            // Options of other models, such as temperature.
            _ => {}
        }
    }
    if !has_file {
        return Err(ApiError::bad("the form has no field 'file'").with_param("file"));
    }
    if state.options.prompt_hotwords && !prompt.is_empty() {
        form.model = form.model.with_prompt(&prompt);
    }
    form.segments |= !form.words;
    Ok(form)
}

/// Reads a short field.
async fn text_of(mut field: Field<'_>) -> Result<String, ApiError> {
    let (name, mut bytes) = (field.name().unwrap_or_default().to_owned(), vec![]);
    while let Some(chunk) = field.chunk().await.map_err(wrong_form)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_FIELD {
            return Err(ApiError::bad(format!("the field '{name}' has more than {MAX_FIELD} bytes")));
        }
    }
    String::from_utf8(bytes).map_err(|_| ApiError::bad(format!("the field '{name}' is not UTF-8")))
}

/// Writes the file of a form.
async fn save(state: &State, mut field: Field<'_>, to: &mut SpooledTempFile) -> Result<(), ApiError> {
    let (limit, mut size) = (state.options.max_upload_mb << 20, 0_usize);
    while let Some(chunk) = field.chunk().await.map_err(wrong_form)? {
        size += chunk.len();
        if size > limit {
            state.metrics.refuse(Reason::Size);
            let message = format!("the file has more than {} MB", state.options.max_upload_mb);
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message).with_param("file"));
        }
        let written = match to.is_rolled() {
            true => tokio::task::block_in_place(|| to.write_all(&chunk)),
            false => to.write_all(&chunk),
        };
        written.map_err(|error| {
            ApiError::new(StatusCode::INSUFFICIENT_STORAGE, format!("the file cannot be kept: {error}"))
        })?;
    }
    Ok(())
}

/// The work on a file, which runs on the threads of the pool part by part.
struct Job {
    state: State,
    /// Number of parts so far.
    turn: usize,
    arrived: Instant,
    _permit: Permit,
}

impl Job {
    /// Transcribes the file; `deltas` gets the text of each part.
    async fn run(mut self, form: Form, mut deltas: Option<&mut Deltas>) -> Result<Transcript, ApiError> {
        let (most, model, state) = (self.state.options.max_duration, form.model.clone(), self.state.clone());
        let _decoded = tokio::select! {
            permit = state.decoded.acquire() => permit,
            () = state.cut.cancelled() => return Err(ApiError::ending()),
        };
        let mut long = self.step(move || begin(form.file, model.recognizer, most)).await?;
        loop {
            let (next, text) = self
                .step(move || {
                    let part = long.next_part().map_err(|error| recognition_failed(&error))?;
                    let text = part.map(Recognition::text);
                    Ok((long, text))
                })
                .await?;
            long = next;
            match (text, &mut deltas) {
                (None, _) => break,
                (Some(text), Some(deltas)) => deltas.send(&text).await,
                (Some(_), None) => {}
            }
        }
        let transcript = self.step(move || Ok(long.finish())).await?;
        self.state.metrics.add_latency(Kind::File, self.arrived.elapsed());
        self.state.metrics.add_audio(Kind::File, transcript.seconds, Duration::ZERO);
        if self.state.options.log_words {
            let words = transcript.recognition.text();
            tracing::info!(model = &*form.model.name, words, "recognised");
        }
        Ok(transcript)
    }

    /// Runs one part of the work on a thread of the pool.
    async fn step<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = Turn::File(self.turn);
        self.turn += 1;
        let metrics = self.state.metrics.clone();
        let timed = move || {
            let begin = Instant::now();
            let done = work();
            metrics.add_audio(Kind::File, 0.0, begin.elapsed());
            done
        };
        tokio::select! {
            done = self.state.pool.run(turn, timed) => {
                done.map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?
            }
            () = self.state.cut.cancelled() => Err(ApiError::ending()),
        }
    }

    /// Returns an answer of server-sent events: the text of each part, then the whole.
    fn stream(self, form: Form) -> Response {
        let (tell, told) = mpsc::channel::<String>(1);
        let tracker = self.state.tasks.clone();
        tracker.spawn(async move {
            let mut deltas = Deltas { tell, whole: String::new() };
            let gone = deltas.tell.clone();
            let transcript = tokio::select! {
                transcript = self.run(form, Some(&mut deltas)) => transcript,
                () = gone.closed() => return,
            };
            let last = match transcript {
                Ok(_) => json!({ "type": "transcript.text.done", "text": deltas.whole }),
                Err(error) => json!({ "error": error.value() }),
            };
            let _ = deltas.tell.send(frame(&last)).await;
        });
        let frames = stream::unfold(told, |mut told| async {
            let frame = told.recv().await?;
            Some((Ok::<_, io::Error>(frame), told))
        });
        let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
        (head, Body::from_stream(frames)).into_response()
    }
}

/// The text of an answer of server-sent events.
struct Deltas {
    tell: mpsc::Sender<String>,
    whole: String,
}

impl Deltas {
    /// Sends the text of a part, with a space between it and the text before.
    async fn send(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let delta = if self.whole.is_empty() { text.to_owned() } else { format!(" {text}") };
        self.whole.push_str(&delta);
        // A client that is gone ends the work.
        let _ = self.tell.send(frame(&json!({ "type": "transcript.text.delta", "delta": delta }))).await;
    }
}

/// Returns a server-sent event.
fn frame(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// Reads the recording, and cuts it into parts.
fn begin(
    mut file: SpooledTempFile,
    recognizer: Arc<Recognizer>,
    max_seconds: f64,
) -> Result<LongTranscription<Arc<Recognizer>>, ApiError> {
    let wrong = |error: &dyn std::error::Error| {
        ApiError::bad(format!("the file cannot be used: {}", with_causes(error))).with_param("file")
    };
    file.rewind().map_err(|error| wrong(&error))?;
    let options = ReadOptions::default().with_pipes(Pipes::Never).with_max_samples(Some(max_samples(max_seconds)));
    let recording = Recording::read(io::BufReader::new(file).by_ref(), &options).map_err(|error| wrong(&error))?;
    if f64::from(recording.duration()) > max_seconds {
        let message =
            format!("the file has {:.0} s of audio, and at most {max_seconds} s are taken", recording.duration());
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message).with_param("file"));
    }
    let recording = if recording.num_channels() == 1 { recording } else { recording.mean() };
    let audio = recording.audio().map_err(|error| wrong(&error))?;
    LongTranscription::new(recognizer, &audio, &PauseOptions::default()).map_err(|error| wrong(&error))
}

/// Returns the number of samples of this duration in two channels at 48 kHz.
fn max_samples(seconds: f64) -> u64 {
    (seconds * 96_000.0) as u64
}

fn recognition_failed(error: &kaldera::Error) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

fn usage(seconds: f64) -> Value {
    json!({ "type": "duration", "seconds": seconds })
}

fn word(word: &Segment) -> Value {
    json!({ "word": word.text, "start": millis(word.start), "end": millis(word.end) })
}

/// Returns the words in segments: cut at pauses, and before they get too long.
fn segments_of(recognition: &Recognition) -> Vec<Value> {
    let Some(best) = recognition.best() else { return vec![] };
    let mut segments: Vec<&[Segment]> = vec![];
    let mut begin = 0;
    for end in 1..=best.words.len() {
        let ends = best.words.get(end).is_none_or(|next| {
            next.start - best.words[end - 1].end > PAUSE || next.end - best.words[begin].start > MAX_SEGMENT
        });
        if ends {
            segments.push(&best.words[begin..end]);
            begin = end;
        }
    }
    segments.into_iter().enumerate().map(|(number, words)| segment(number, words, &best.tokens)).collect()
}

/// Returns a segment with the fields that clients require. Kaldera's search has no temperature and
/// no probability that nobody speaks: they are 0.
fn segment(number: usize, words: &[Segment], tokens: &[Segment]) -> Value {
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let (start, end) = (words.first().map_or(0.0, |word| word.start), words.last().map_or(0.0, |word| word.end));
    let frames = words.first().map_or(0, |word| word.frames.start)..words.last().map_or(0, |word| word.frames.end);
    let own: Vec<&Segment> = tokens.iter().filter(|token| frames.contains(&token.frames.start)).collect();
    let confidences: Vec<f64> = own.iter().filter_map(|token| token.confidence).filter(|&one| one > 0.0).collect();
    let log_prob = confidences.iter().map(|one| one.ln()).sum::<f64>() / confidences.len().max(1) as f64;
    json!({
        "id": number,
        "seek": (start * 100.0).round() as u64,
        "start": millis(start),
        "end": millis(end),
        "text": text,
        "tokens": own.iter().map(|token| token.id).collect::<Vec<_>>(),
        "temperature": 0.0,
        "avg_logprob": log_prob,
        "compression_ratio": compression_ratio(&text),
        "no_speech_prob": 0.0,
    })
}

/// Returns the number of bytes of a text per byte of its compression by zlib, as Whisper has it.
fn compression_ratio(text: &str) -> f64 {
    let mut encoder = ZlibEncoder::new(vec![], Compression::default());
    let compressed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).unwrap_or_default();
    text.len() as f64 / compressed.len().max(1) as f64
}

/// Rounds to milliseconds.
fn millis(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}
