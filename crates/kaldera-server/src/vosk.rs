//! Vosk's protocol over WebSocket: `{"config": {...}}`, samples of 16 bits, `{"eof": 1}`.

use axum::extract::State as Extract;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse as _, Response};
use kaldera::decoder::{Recognition, Segment};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::openai::ApiError;
use crate::session::{Encoding, Session, SessionError, text, words};
use crate::socket::{Stop, close, limited, next_message, send, short};
use crate::state::{Permit, State};

/// Maximum bytes of a message: ten seconds of samples at 48 kHz.
const MAX_MESSAGE: usize = 1 << 20;

/// Subprotocol for clients that send a key as another one.
const PROTOCOL: &str = "kaldera";

/// A text of the client.
#[derive(Deserialize)]
struct Command {
    config: Option<Config>,
    eof: Option<Value>,
    reset: Option<Value>,
}

/// Properties of the speech that follows.
#[derive(Deserialize)]
struct Config {
    sample_rate: Option<f64>,
    words: Option<bool>,
    max_alternatives: Option<usize>,
    model: Option<String>,
    phrase_list: Option<Vec<String>>,
}

/// Answers a request for a WebSocket.
pub(crate) async fn upgrade(Extract(state): Extract<State>, socket: WebSocketUpgrade) -> Response {
    let Some(permit) = state.stream() else {
        return ApiError::busy("too many live streams: try again later").into_response();
    };
    let tasks = state.tasks.clone();
    let served = move |mut socket: WebSocket| {
        tasks.track_future(async move {
            let stop = serve(&mut socket, &state, permit).await.err();
            if let Some(stop @ (Stop::Idle(_) | Stop::Wrong(_) | Stop::Ending)) = &stop {
                let error = json!({ "error": { "message": stop.to_string() }, "text": "" });
                let _ = send(&mut socket, &state, error.to_string()).await;
            }
            close(&mut socket, stop).await;
        })
    };
    limited(socket, MAX_MESSAGE, PROTOCOL).on_upgrade(served)
}

impl From<SessionError> for Stop {
    fn from(error: SessionError) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// Answers messages until the end of the speech.
async fn serve(socket: &mut WebSocket, state: &State, permit: Permit) -> Result<(), Stop> {
    let mut session = Session::new(state, state.models.first().clone(), permit);
    let (mut with_words, mut alternatives, mut partial) = (true, 0, String::new());
    loop {
        let bytes = match next_message(socket, state).await? {
            Message::Binary(bytes) => bytes,
            Message::Text(text) => {
                let wrong = |error| Stop::Wrong(format!("the message '{}' is no command: {error}", short(&text)));
                let Command { config, eof, reset } = serde_json::from_str(&text).map_err(wrong)?;
                if let Some(config) = config {
                    with_words = config.words.unwrap_or(with_words);
                    alternatives = config.max_alternatives.unwrap_or(alternatives);
                    configure(&mut session, state, config).await?;
                }
                if eof.is_some() || reset.is_some() {
                    let last = session.finish().await?;
                    partial.clear();
                    let answer = result(&last, with_words, alternatives);
                    send(socket, state, answer.to_string()).await?;
                }
                if eof.is_some() {
                    return Ok(());
                }
                continue;
            }
            _ => return Err(Stop::Gone),
        };
        let update = session.accept(&bytes).await?;
        if !update.ended.is_empty() {
            partial.clear();
        }
        if let Some(found) = &update.so_far {
            partial = found.text();
        }
        let answer = match update.ended.as_slice() {
            [] => json!({ "partial": partial }),
            ended => result(ended, with_words, alternatives),
        };
        send(socket, state, answer.to_string()).await?;
    }
}

async fn configure(session: &mut Session, state: &State, config: Config) -> Result<(), Stop> {
    let name = config.model.filter(|name| *name != *session.model().name);
    let rate = config.sample_rate.filter(|rate| *rate as f32 != session.samp_freq());
    if session.seconds() > 0.0 && (name.is_some() || rate.is_some() || config.phrase_list.is_some()) {
        return Err(Stop::Wrong("the rate, the model and its phrases cannot change within speech".to_owned()));
    }
    if let Some(name) = name {
        let model = state.models.named(&name);
        let model = model.ok_or_else(|| Stop::Wrong(format!("there is no model '{name}'")))?;
        session.set_model(model.clone());
    }
    if let Some(phrases) = config.phrase_list {
        session.set_phrases(phrases).await?;
    }
    if let Some(rate) = rate {
        session.set_format(Encoding::Pcm, rate, 1)?;
    }
    Ok(())
}

/// Returns utterances as one result.
fn result(ended: &[Recognition], with_words: bool, alternatives: usize) -> Value {
    let one = |word: &Segment, with_confidence: bool| {
        let mut value = json!({ "word": word.text, "start": word.start, "end": word.end });
        if with_confidence {
            // Clients read it in each word; the best hypothesis has no rival if it is unknown.
            value["conf"] = json!(word.confidence.unwrap_or(1.0));
        }
        value
    };
    if alternatives > 0 {
        let [found] = ended else {
            let mut best = json!({ "text": text(ended), "confidence": 0.0 });
            if with_words {
                best["result"] = words(ended).map(|word| one(word, false)).collect();
            }
            return json!({ "alternatives": [best] });
        };
        let all = found.hypotheses.iter().take(alternatives).map(|hypothesis| {
            let mut value = json!({ "text": hypothesis.text(), "confidence": hypothesis.scores.total() });
            if with_words {
                value["result"] = hypothesis.words.iter().map(|word| one(word, false)).collect();
            }
            value
        });
        return json!({ "alternatives": all.collect::<Vec<_>>() });
    }
    let mut value = json!({ "text": text(ended) });
    let mut found = words(ended).peekable();
    if with_words && found.peek().is_some() {
        value["result"] = found.map(|word| one(word, true)).collect();
    }
    value
}
