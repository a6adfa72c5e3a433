//! Wyoming, the protocol of Home Assistant: events over TCP, a line of JSON each, with more JSON
//! and samples after it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::http::accept;
use crate::session::{Encoding, Session, text};
use crate::state::State;

/// Maximum bytes of the line of an event, and of the JSON after it.
const MAX_JSON: u64 = 1 << 16;

/// Maximum bytes of samples of an event.
const MAX_PAYLOAD: u64 = 1 << 20;

/// The version of the protocol.
const VERSION: &str = "1.10.2";

/// The line of an event.
#[derive(Deserialize)]
struct Head {
    r#type: String,
    #[serde(default)]
    data: Option<Map<String, Value>>,
    #[serde(default)]
    data_length: Option<u64>,
    #[serde(default)]
    payload_length: Option<u64>,
}

/// An event.
struct Event {
    kind: String,
    data: Map<String, Value>,
    payload: Vec<u8>,
}

impl Event {
    fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key)?.as_str()
    }

    fn number(&self, key: &str, default: u64) -> u64 {
        self.data.get(key).and_then(Value::as_u64).unwrap_or(default)
    }
}

/// Reads the next event; `None` at the end of the connection.
async fn read_event(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Event>> {
    let wrong = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    let mut line = vec![];
    if (&mut *input).take(MAX_JSON).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if !line.ends_with(b"\n") {
        return Err(wrong(format!("an event begins with a line of JSON of at most {MAX_JSON} bytes")));
    }
    let head: Head = serde_json::from_slice(&line).map_err(|error| wrong(format!("a line is no event: {error}")))?;
    let mut data = head.data.unwrap_or_default();
    let more = read_bytes(input, head.data_length, MAX_JSON).await?;
    if !more.is_empty() {
        let more: Map<String, Value> = serde_json::from_slice(&more)
            .map_err(|error| wrong(format!("the data of an event is no JSON: {error}")))?;
        data.extend(more);
    }
    let payload = read_bytes(input, head.payload_length, MAX_PAYLOAD).await?;
    Ok(Some(Event { kind: head.r#type, data, payload }))
}

async fn read_bytes(input: &mut (impl AsyncBufRead + Unpin), length: Option<u64>, most: u64) -> io::Result<Vec<u8>> {
    let length = length.unwrap_or(0);
    if length > most {
        let reason = format!("an event has a part of {length} bytes, and at most {most} are taken");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let mut bytes = vec![];
    (&mut *input).take(length).read_to_end(&mut bytes).await?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// A connection.
struct Connection {
    input: BufReader<TcpStream>,
    state: State,
    /// The name of the model, for the speech that follows.
    model: Option<String>,
    turn: Option<Turn>,
}

/// Speech from its start to its stop.
struct Turn {
    session: Session,
    format: (Encoding, f64, usize),
    /// The text so far.
    text: String,
}

impl Connection {
    async fn send(&mut self, kind: &str, data: &Value) -> io::Result<()> {
        let data = data.to_string();
        let head = json!({ "type": kind, "version": VERSION, "data_length": data.len() });
        let (event, time) = (format!("{head}\n{data}"), Duration::from_secs_f64(self.state.options.idle));
        // A client that does not read is gone.
        tokio::time::timeout(time, self.input.get_mut().write_all(event.as_bytes())).await?
    }

    /// Sends an error and ends: a client waits for the end of the connection.
    async fn refuse(&mut self, reason: &str) -> io::Result<()> {
        self.send("error", &json!({ "text": reason, "code": "kaldera" })).await?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// Answers events until the client is gone.
    async fn serve(&mut self) -> io::Result<()> {
        let idle = Duration::from_secs_f64(self.state.options.idle);
        loop {
            let state = Arc::clone(&self.state);
            let event = tokio::select! {
                event = tokio::time::timeout(idle, read_event(&mut self.input)) => event,
                () = state.cut.cancelled() => return self.refuse("the server is ending").await,
                // Between two turns nothing is lost.
                () = state.ending.cancelled(), if self.turn.is_none() => return Ok(()),
            };
            match event {
                Err(_) => return self.refuse(&format!("no event for {} s", idle.as_secs_f64())).await,
                Ok(Ok(None)) => return Ok(()),
                Ok(Ok(Some(event))) => self.answer(event).await?,
                Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                    return self.refuse(&error.to_string()).await;
                }
                Ok(Err(error)) => return Err(error),
            }
        }
    }

    async fn answer(&mut self, event: Event) -> io::Result<()> {
        match event.kind.as_str() {
            "describe" => {
                let info = self.info();
                self.send("info", &info).await
            }
            "ping" => {
                let text = event.text("text").map(ToOwned::to_owned);
                self.send("pong", &json!({ "text": text })).await
            }
            "transcribe" => {
                self.model = event.text("name").map(ToOwned::to_owned).or(self.model.take());
                Ok(())
            }
            "audio-start" => self.begin().await,
            "audio-chunk" => self.take(&event).await,
            "audio-stop" => self.end().await,
            // Of other services.
            _ => Ok(()),
        }
    }

    async fn begin(&mut self) -> io::Result<()> {
        self.turn = None;
        let Some(permit) = self.state.stream() else {
            return self.refuse("too many live streams: try again later").await;
        };
        let name = self.model.clone().unwrap_or_default();
        let Some(model) = self.state.models.named(&name).cloned() else {
            return self.refuse(&format!("there is no model '{name}'")).await;
        };
        let session = Session::new(&self.state, model, permit);
        self.turn = Some(Turn { session, format: (Encoding::Pcm, 0.0, 0), text: String::new() });
        self.send("transcript-start", &json!({})).await
    }

    async fn take(&mut self, chunk: &Event) -> io::Result<()> {
        if self.turn.is_none() {
            self.begin().await?;
        }
        let Some(turn) = &mut self.turn else { return Ok(()) };
        let channels = usize::try_from(chunk.number("channels", 1)).unwrap_or(usize::MAX);
        let format = (Encoding::Pcm, chunk.number("rate", 16_000) as f64, channels);
        let width = chunk.number("width", 2);
        if width != 2 {
            let reason = format!("samples of {width} bytes are not taken: send 2, signed and little-endian");
            return self.refuse(&reason).await;
        }
        if turn.format != format {
            if turn.format.2 != 0 {
                return self.refuse("the rate or the number of channels changes within the speech").await;
            }
            let (encoding, rate, channels) = format;
            if let Err(error) = turn.session.set_format(encoding, rate, channels) {
                return self.refuse(&error.to_string()).await;
            }
            turn.format = format;
        }
        match turn.session.accept(&chunk.payload).await {
            Ok(update) => self.tell(&text(&update.ended)).await,
            Err(error) => self.refuse(&error.to_string()).await,
        }
    }

    /// Sends words that will not change.
    async fn tell(&mut self, new: &str) -> io::Result<()> {
        let Some(turn) = self.turn.as_mut().filter(|_| !new.is_empty()) else { return Ok(()) };
        let delta = if turn.text.is_empty() { new.to_owned() } else { format!(" {new}") };
        turn.text.push_str(&delta);
        self.send("transcript-chunk", &json!({ "text": delta })).await
    }

    async fn end(&mut self) -> io::Result<()> {
        let Some(turn) = &mut self.turn else {
            return self.send("transcript", &json!({ "text": "" })).await;
        };
        match turn.session.finish().await {
            Ok(last) => self.tell(&text(&last)).await?,
            Err(error) => return self.refuse(&error.to_string()).await,
        }
        let whole = self.turn.take().map(|turn| turn.text).unwrap_or_default();
        self.send("transcript", &json!({ "text": whole })).await?;
        self.send("transcript-stop", &json!({})).await
    }

    /// Returns the description of the server.
    fn info(&self) -> Value {
        let attribution = json!({ "name": "Kaldera", "url": "" });
        let languages = self.state.options.languages();
        let models = self.state.models.iter().map(|model| {
            json!({
                "name": *model.name,
                "attribution": attribution,
                "installed": true,
                "languages": languages,
                "description": *model.name,
                "version": null,
            })
        });
        let models: Vec<Value> = models.collect();
        json!({ "asr": [{
            "name": "kaldera",
            "attribution": attribution,
            "installed": true,
            "description": "Kaldera",
            "version": env!("CARGO_PKG_VERSION"),
            "models": models,
            "supports_transcript_streaming": true,
            "requires_external_vad": true,
        }] })
    }
}

/// Serves connections until the server ends.
pub(crate) async fn serve(listener: TcpListener, state: State) {
    while let Some(stream) = accept(&listener, &state).await {
        let own = Arc::clone(&state);
        state.tasks.spawn(async move {
            let mut connection = Connection { input: BufReader::new(stream), state: own, model: None, turn: None };
            if let Err(error) = connection.serve().await {
                tracing::debug!("a Wyoming connection ended: {error}");
            }
        });
    }
}
