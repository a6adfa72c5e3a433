//! OpenAI's realtime transcription over WebSocket: JSON both ways, samples in base64.
//!
//! Two shapes of `session.update` are in use, nested (since 2025) and flat (before); a client may
//! send either. Words of a delta do not change: a word is sent when two results in a row have it
//! and more words follow, or at the end of the utterance.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State as Extract};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kaldera::decoder::graph::{EndpointRule, EndpointRules};
use kaldera::decoder::{Recognition, Segment};
use kaldera::recognizer::LiveUpdate;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::models::Model;
use crate::openai::ApiError;
use crate::session::{Encoding, Session, SessionError, words};
use crate::socket::{Stop, close, limited, next_message, send};
use crate::state::{Permit, State};

/// Maximum bytes of a message, as OpenAI has it.
const MAX_MESSAGE: usize = 15 << 20;

/// Rate of PCM in Hz unless the client says another.
const PCM_RATE: f64 = 24_000.0;

/// Rate of G.711 in Hz.
const G711_RATE: f64 = 8_000.0;

/// The parameters of the address.
#[derive(Deserialize)]
pub(crate) struct Parameters {
    model: Option<String>,
}

/// Answers a request for a WebSocket.
pub(crate) async fn upgrade(
    Extract(state): Extract<State>,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> Response {
    let name = parameters.model.unwrap_or_default();
    let Some(model) = state.models.named(&name).cloned() else {
        return ApiError::no_model(&name, &state).into_response();
    };
    let Some(permit) = state.stream() else {
        return ApiError::busy("too many live streams: try again later").into_response();
    };
    let is_flat = headers.contains_key("openai-beta");
    let tasks = state.tasks.clone();
    let served = move |socket: WebSocket| {
        tasks.track_future(async move {
            let mut connection = Connection::new(socket, state, model, permit, is_flat);
            let stop = connection.serve().await.err();
            let code = match &stop {
                Some(Stop::Idle(_)) => Some("session_expired"),
                Some(Stop::Ending) => Some("server_error"),
                _ => None,
            };
            if let (Some(code), Some(stop)) = (code, &stop) {
                let _ = connection.tell(&Problem::new(code, stop.to_string()), None).await;
            }
            close(&mut connection.socket, stop).await;
        })
    };
    limited(socket, MAX_MESSAGE, "realtime").on_upgrade(served)
}

/// A problem that the client hears of; the connection goes on.
struct Problem {
    code: &'static str,
    message: String,
}

impl Problem {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A WebSocket with its speech.
struct Connection {
    socket: WebSocket,
    state: State,
    session: Session,
    /// The client has the flat shape of sessions.
    is_flat: bool,
    id: String,
    model: Model,
    encoding: Encoding,
    rate: f64,
    language: Option<String>,
    prompt: Option<String>,
    /// Detection of turns; without it the client says where speech ends.
    detection: Option<Value>,
    item: Item,
    last_item: Option<String>,
    /// Seconds of speech before the session's last end.
    before: f64,
}

/// Speech that becomes an item of the conversation.
struct Item {
    id: String,
    /// Words were found.
    has_begun: bool,
    /// Seconds in the session's speech at which it begins.
    start: f64,
    /// The words of utterances that have ended.
    ended: Vec<String>,
    /// Number of words that were sent.
    sent: usize,
    /// The words of the last result.
    last: Vec<String>,
}

impl Item {
    fn new(start: f64) -> Self {
        Self { id: new_id("item"), has_begun: false, start, ended: vec![], sent: 0, last: vec![] }
    }

    /// Returns new words that will not change, with the spaces before them.
    fn delta(&mut self, so_far: &Recognition) -> String {
        let words = texts(words(std::slice::from_ref(so_far)));
        let same = words.iter().zip(&self.last).take_while(|(new, old)| new == old).count();
        let sure = self.ended.len() + same.min(words.len().saturating_sub(1));
        self.last = words;
        let all = self.ended.iter().chain(&self.last).take(sure).skip(self.sent);
        let delta = joined(all, self.sent == 0);
        self.sent = self.sent.max(sure);
        delta
    }

    /// Adds an utterance that has ended, and returns the words that were not sent.
    fn end(&mut self, found: &Recognition) -> String {
        self.last.clear();
        self.ended.extend(texts(words(std::slice::from_ref(found))));
        let delta = joined(self.ended.iter().skip(self.sent), self.sent == 0);
        self.sent = self.ended.len();
        delta
    }
}

fn texts<'s>(words: impl Iterator<Item = &'s Segment>) -> Vec<String> {
    words.map(|word| word.text.clone()).collect()
}

fn joined<'s>(words: impl Iterator<Item = &'s String>, is_first: bool) -> String {
    let mut all = String::new();
    for word in words {
        if !(is_first && all.is_empty()) {
            all.push(' ');
        }
        all.push_str(word);
    }
    all
}

/// Returns a name that this process has not used.
fn new_id(kind: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{kind}_{:08x}{:08x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0).round() as u64
}

impl Connection {
    fn new(socket: WebSocket, state: State, model: Model, permit: Permit, is_flat: bool) -> Self {
        let session = Session::new(&state, model.clone(), permit);
        Self {
            socket,
            state,
            session,
            is_flat,
            id: new_id("sess"),
            model,
            encoding: Encoding::Pcm,
            rate: PCM_RATE,
            language: None,
            prompt: None,
            detection: Some(json!({ "type": "server_vad" })),
            item: Item::new(0.0),
            last_item: None,
            before: 0.0,
        }
    }

    async fn send(&mut self, kind: &str, mut event: Value) -> Result<(), Stop> {
        event["type"] = json!(kind);
        event["event_id"] = json!(new_id("event"));
        send(&mut self.socket, &self.state, event.to_string()).await
    }

    async fn tell(&mut self, problem: &Problem, event_id: Option<&Value>) -> Result<(), Stop> {
        let kind = if problem.code == "server_error" { "server_error" } else { "invalid_request_error" };
        let error = json!({
            "type": kind, "code": problem.code, "message": problem.message, "param": null, "event_id": event_id,
        });
        self.send("error", json!({ "error": error })).await
    }

    /// Answers events until the client is gone.
    async fn serve(&mut self) -> Result<(), Stop> {
        if let Err(error) = self.session.set_format(self.encoding, self.rate, 1) {
            return Err(Stop::Wrong(error.to_string()));
        }
        let session = self.session_value();
        self.send("session.created", json!({ "session": session })).await?;
        loop {
            let event: Result<Value, _> = match next_message(&mut self.socket, &self.state).await? {
                Message::Text(text) => serde_json::from_str(&text),
                message => serde_json::from_slice(&message.into_data()),
            };
            let (answer, event_id) = match &event {
                Ok(event) => (self.answer(event).await?, event.get("event_id")),
                Err(error) => (Err(Problem::new("invalid_json", format!("the message is no JSON: {error}"))), None),
            };
            if let Err(problem) = answer {
                self.tell(&problem, event_id).await?;
            }
        }
    }

    async fn answer(&mut self, event: &Value) -> Result<Result<(), Problem>, Stop> {
        let kind = event["type"].as_str().unwrap_or_default();
        match kind {
            "session.update" | "transcription_session.update" => {
                let answer = match kind {
                    "session.update" => "session.updated",
                    _ => "transcription_session.updated",
                };
                if let Err(problem) = self.apply(&event["session"]).await? {
                    return Ok(Err(problem));
                }
                let session = self.session_value();
                self.send(answer, json!({ "session": session })).await?;
            }
            "input_audio_buffer.append" => {
                let Ok(bytes) = STANDARD.decode(event["audio"].as_str().unwrap_or_default()) else {
                    return Ok(Err(Problem::new("invalid_audio", "the field 'audio' is not base64")));
                };
                return self.take(&bytes).await;
            }
            "input_audio_buffer.commit" => return self.commit().await,
            "input_audio_buffer.clear" => {
                self.before += self.session.seconds();
                self.session.clear();
                self.item = Item::new(self.before);
                self.send("input_audio_buffer.cleared", json!({})).await?;
            }
            other => {
                let message = format!("the event '{other}' is not for transcription");
                return Ok(Err(Problem::new("unknown_event", message)));
            }
        }
        Ok(Ok(()))
    }

    /// Takes samples, and sends the words that they bring.
    async fn take(&mut self, bytes: &[u8]) -> Result<Result<(), Problem>, Stop> {
        let update = self.session.accept(bytes).await;
        self.send_words(update).await
    }

    /// Sends the words of an update.
    async fn send_words(&mut self, update: Result<LiveUpdate, SessionError>) -> Result<Result<(), Problem>, Stop> {
        let update = match update {
            Ok(update) => update,
            Err(error) => return Ok(Err(Problem::new("server_error", error.to_string()))),
        };
        for ended in &update.ended {
            self.begin_item(ended).await?;
            let delta = self.item.end(ended);
            self.send_delta(delta).await?;
            if self.detection.is_some() {
                let end = words(std::slice::from_ref(ended)).last().map_or(0.0, |word| word.end);
                self.end_item(Some(self.before + end)).await?;
            }
        }
        if let Some(so_far) = &update.so_far
            && words(std::slice::from_ref(so_far)).next().is_some()
        {
            self.begin_item(so_far).await?;
            let delta = self.item.delta(so_far);
            self.send_delta(delta).await?;
        }
        Ok(Ok(()))
    }

    /// Ends the speech so far.
    async fn commit(&mut self) -> Result<Result<(), Problem>, Stop> {
        let seconds = self.session.seconds();
        if seconds == 0.0 {
            let message = "there is no audio since the last commit";
            return Ok(Err(Problem::new("input_audio_buffer_commit_empty", message)));
        }
        let update = self.session.flush().await;
        if let Err(problem) = self.send_words(update).await? {
            return Ok(Err(problem));
        }
        match self.session.finish().await {
            Ok(ended) => {
                for last in &ended {
                    self.begin_item(last).await?;
                    let delta = self.item.end(last);
                    self.send_delta(delta).await?;
                }
            }
            Err(error) => return Ok(Err(Problem::new("server_error", error.to_string()))),
        }
        let stopped = (self.detection.is_some() && self.item.has_begun).then_some(self.before + seconds);
        self.before += seconds;
        self.end_item(stopped).await?;
        Ok(Ok(()))
    }

    /// Says, once an item, that speech has started.
    async fn begin_item(&mut self, found: &Recognition) -> Result<(), Stop> {
        if self.item.has_begun {
            return Ok(());
        }
        let start = words(std::slice::from_ref(found)).next().map_or(0.0, |word| word.start);
        self.item.has_begun = true;
        self.item.start = self.before + start;
        if self.detection.is_none() {
            return Ok(());
        }
        let event = json!({ "item_id": self.item.id, "audio_start_ms": millis(self.item.start) });
        self.send("input_audio_buffer.speech_started", event).await
    }

    async fn send_delta(&mut self, delta: String) -> Result<(), Stop> {
        if delta.is_empty() {
            return Ok(());
        }
        let event = json!({ "item_id": self.item.id, "content_index": 0, "delta": delta });
        self.send("conversation.item.input_audio_transcription.delta", event).await
    }

    /// Completes the item; `stopped` is the end of its speech if the server detected it.
    async fn end_item(&mut self, stopped: Option<f64>) -> Result<(), Stop> {
        let end = stopped.unwrap_or(self.before);
        let item = std::mem::replace(&mut self.item, Item::new(end));
        let previous = self.last_item.replace(item.id.clone());
        if stopped.is_some() {
            let event = json!({ "item_id": item.id, "audio_end_ms": millis(end) });
            self.send("input_audio_buffer.speech_stopped", event).await?;
        }
        let place = json!({ "item_id": item.id, "previous_item_id": previous });
        self.send("input_audio_buffer.committed", place).await?;
        let transcript = joined(item.ended.iter(), true);
        let content = json!([{ "type": "input_audio", "transcript": null }]);
        let described = json!({
            "id": item.id, "object": "realtime.item", "type": "message", "role": "user", "status": "completed",
            "content": content,
        });
        let event = json!({ "previous_item_id": previous, "item": described });
        if self.is_flat {
            self.send("conversation.item.created", event).await?;
        } else {
            self.send("conversation.item.added", event.clone()).await?;
            self.send("conversation.item.done", event).await?;
        }
        let event = json!({
            "item_id": item.id, "content_index": 0, "transcript": transcript,
            "usage": { "type": "duration", "seconds": (end - item.start).max(0.0) },
        });
        self.send("conversation.item.input_audio_transcription.completed", event).await
    }

    /// Applies the fields of an update of either shape; fields that are absent stay.
    async fn apply(&mut self, session: &Value) -> Result<Result<(), Problem>, Stop> {
        let wrong = |message: String| Ok(Err(Problem::new("invalid_value", message)));
        let input = &session["audio"]["input"];
        let is_flat = ["input_audio_format", "input_audio_transcription", "turn_detection"]
            .iter()
            .any(|key| session.get(key).is_some());
        self.is_flat |= is_flat;
        let (mut encoding, mut rate) = (self.encoding, self.rate);
        match session["input_audio_format"].as_str().or(input["format"]["type"].as_str()) {
            None => {}
            Some("pcm16" | "audio/pcm") => {
                (encoding, rate) = (Encoding::Pcm, input["format"]["rate"].as_f64().unwrap_or(PCM_RATE));
            }
            Some("g711_ulaw" | "audio/pcmu") => (encoding, rate) = (Encoding::MuLaw, G711_RATE),
            Some("g711_alaw" | "audio/pcma") => (encoding, rate) = (Encoding::ALaw, G711_RATE),
            Some(other) => return wrong(format!("the audio format '{other}' is not pcm, pcmu or pcma")),
        }
        let transcription = match session.get("input_audio_transcription") {
            Some(flat) => flat,
            None => &input["transcription"],
        };
        let mut model = self.model.clone();
        if let Some(name) = transcription["model"].as_str().filter(|name| !name.is_empty()) {
            match self.state.models.named(name) {
                Some(found) => model = found.clone(),
                None => return wrong(format!("there is no model '{name}'")),
            }
        }
        let detection = match (session.get("turn_detection"), input.get("turn_detection")) {
            (Some(detection), _) | (None, Some(detection)) => Some(detection).filter(|one| !one.is_null()).cloned(),
            (None, None) => self.detection.clone(),
        };
        let silence = |detection: &Option<Value>| detection.as_ref()?["silence_duration_ms"].as_f64();
        let (old, new) = (silence(&self.detection), silence(&detection));
        let text = |key: &str| transcription[key].as_str().map(ToOwned::to_owned);
        let (language, prompt) = (text("language").or(self.language.clone()), text("prompt").or(self.prompt.clone()));
        let is_new = (encoding, rate) != (self.encoding, self.rate)
            || model.name != self.model.name
            || old != new
            || (self.state.options.prompt_hotwords && prompt != self.prompt);
        if is_new && self.session.seconds() > 0.0 {
            // No word of the speech so far is lost.
            if let Err(problem) = self.commit().await? {
                return Ok(Err(problem));
            }
        }
        if is_new {
            if let Err(error) = self.session.set_format(encoding, rate, 1) {
                return wrong(error.to_string());
            }
            let prompt = prompt.as_deref().filter(|_| self.state.options.prompt_hotwords);
            self.session.set_model(prompt.map_or_else(|| model.clone(), |prompt| model.with_prompt(prompt)));
            self.session.set_rules(new.map(rules));
        }
        (self.encoding, self.rate, self.model, self.detection) = (encoding, rate, model, detection);
        (self.language, self.prompt) = (language, prompt);
        Ok(Ok(()))
    }

    /// Returns the session as its events show it.
    fn session_value(&self) -> Value {
        let transcription = json!({ "model": *self.model.name, "language": self.language, "prompt": self.prompt });
        if self.is_flat {
            let format = match self.encoding {
                Encoding::Pcm => "pcm16",
                Encoding::MuLaw => "g711_ulaw",
                Encoding::ALaw => "g711_alaw",
            };
            return json!({
                "id": self.id,
                "object": "realtime.transcription_session",
                "input_audio_format": format,
                "input_audio_transcription": transcription,
                "turn_detection": self.detection,
                "client_secret": null,
            });
        }
        let format = match self.encoding {
            Encoding::Pcm => json!({ "type": "audio/pcm", "rate": self.rate as u64 }),
            Encoding::MuLaw => json!({ "type": "audio/pcmu" }),
            Encoding::ALaw => json!({ "type": "audio/pcma" }),
        };
        json!({
            "type": "transcription",
            "id": self.id,
            "object": "realtime.transcription_session",
            "audio": { "input": {
                "format": format,
                "transcription": transcription,
                "turn_detection": self.detection,
                "noise_reduction": null,
            } },
            "include": null,
        })
    }
}

/// Returns endpoint rules for a silence of this many milliseconds.
fn rules(silence: f64) -> EndpointRules {
    let any = f32::INFINITY;
    EndpointRules::new(vec![
        EndpointRule::new(false, 5.0, any, 0.0),
        EndpointRule::new(true, (silence / 1000.0) as f32, any, 0.0),
        EndpointRule::new(false, 0.0, any, 20.0),
    ])
}
