//! Live speech by each protocol.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use kaldera_digits::TRANSCRIPT;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::server::{Running, check_words, connect, next_json, samples};

/// Bytes of 100 ms at 8 kHz, and one: chunks may end within a sample.
const CHUNK: usize = 1601;

fn say(socket: &mut WebSocket<TcpStream>, value: &Value) {
    socket.send(Message::text(value.to_string())).unwrap();
}

#[test]
fn vosk_answers_each_chunk_once() {
    let server = Running::start(|options| options);
    let mut socket = server.websocket("/");
    say(&mut socket, &json!({ "config": { "sample_rate": 8000.0 } }));
    let (mut results, mut partials) = (vec![], 0);
    // Two utterances with a pause; times go on.
    let pause = vec![0; 32_000];
    for chunk in [samples(), &pause, samples()].concat().chunks(CHUNK) {
        socket.send(Message::binary(chunk.to_vec())).unwrap();
        let answer = next_json(&mut socket);
        match answer["partial"].as_str() {
            Some(text) => partials += usize::from(!text.is_empty()),
            None => results.push(answer),
        }
    }
    say(&mut socket, &json!({ "eof": 1 }));
    results.push(next_json(&mut socket));
    assert!(partials > 2 && socket.read().unwrap().is_close());
    let texts: Vec<_> = results.iter().filter_map(|result| result["text"].as_str()).collect();
    assert_eq!(texts, [TRANSCRIPT; 2]);
    check_words(results[0]["result"].as_array().unwrap(), 0.0);
    check_words(results[1]["result"].as_array().unwrap(), 4.0);
}

#[test]
fn vosk_has_alternatives_and_results_without_words() {
    let server = Running::start(|options| options);
    let finished = |config: Value| {
        let mut socket = server.websocket("/vosk");
        say(&mut socket, &json!({ "config": config }));
        socket.send(Message::binary(samples().to_vec())).unwrap();
        next_json(&mut socket);
        say(&mut socket, &json!({ "eof": 1 }));
        next_json(&mut socket)
    };
    assert_eq!(finished(json!({ "sample_rate": 8000, "words": false })), json!({ "text": TRANSCRIPT }));
    let found = finished(json!({ "sample_rate": 8000, "max_alternatives": 2 }));
    assert_eq!(found["alternatives"][0]["text"], TRANSCRIPT);
    check_words(found["alternatives"][0]["result"].as_array().unwrap(), 0.0);
}

/// Sends the recording in chunks of base64, and returns the events up to the last one of its kind.
fn events_until(socket: &mut WebSocket<TcpStream>, last: &str) -> Vec<Value> {
    let mut events = vec![];
    loop {
        let event = next_json(socket);
        let is_last = event["type"] == last;
        assert!(event["event_id"].is_string(), "{event}");
        events.push(event);
        if is_last {
            return events;
        }
    }
}

fn append(socket: &mut WebSocket<TcpStream>, bytes: &[u8]) {
    use base64::Engine as _;
    for chunk in bytes.chunks(CHUNK) {
        let audio = base64::engine::general_purpose::STANDARD.encode(chunk);
        say(socket, &json!({ "type": "input_audio_buffer.append", "audio": audio }));
    }
}

/// The type of the event with the final words.
const COMPLETED: &str = "conversation.item.input_audio_transcription.completed";

#[test]
fn realtime_finds_turns_or_is_told_their_end() {
    let server = Running::start(|options| options);
    let format = json!({ "type": "audio/pcm", "rate": 8000 });
    for detection in [json!({ "type": "server_vad", "silence_duration_ms": 600 }), Value::Null] {
        let mut socket = server.websocket("/v1/realtime?intent=transcription&model=digits");
        assert_eq!(next_json(&mut socket)["session"]["type"], "transcription");
        let input = json!({ "format": format, "turn_detection": detection });
        say(&mut socket, &json!({ "type": "session.update", "session": { "audio": { "input": input } } }));
        let updated = next_json(&mut socket);
        assert_eq!(updated["session"]["audio"]["input"]["turn_detection"], detection);
        append(&mut socket, samples());
        match detection.is_null() {
            true => say(&mut socket, &json!({ "type": "input_audio_buffer.commit" })),
            false => append(&mut socket, &[0; 24_000]),
        }
        let events = events_until(&mut socket, COMPLETED);
        assert_eq!(events[events.len() - 1]["transcript"], TRANSCRIPT);
        let deltas: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
        assert_eq!(deltas, TRANSCRIPT);
        let started = events.iter().find(|event| event["type"] == "input_audio_buffer.speech_started");
        assert_eq!(
            started.map(|event| event["audio_start_ms"].as_u64().unwrap() / 200),
            (!detection.is_null()).then_some(0)
        );
    }
}

#[test]
fn realtime_takes_the_flat_shape_and_goes_on_after_errors() {
    let server = Running::start(|options| options);
    let mut socket = server.websocket("/v1/realtime?intent=transcription");
    next_json(&mut socket);
    let session = json!({ "input_audio_format": "g711_ulaw", "turn_detection": null });
    say(&mut socket, &json!({ "type": "transcription_session.update", "session": session }));
    let updated = next_json(&mut socket);
    assert_eq!(updated["type"], "transcription_session.updated");
    assert_eq!(updated["session"]["input_audio_format"], "g711_ulaw");
    say(&mut socket, &json!({ "type": "response.create", "event_id": "mine" }));
    assert_eq!(next_json(&mut socket)["error"]["event_id"], "mine");
    say(&mut socket, &json!({ "type": "input_audio_buffer.commit" }));
    assert_eq!(next_json(&mut socket)["error"]["code"], "input_audio_buffer_commit_empty");
    say(&mut socket, &json!({ "type": "input_audio_buffer.append", "audio": "?" }));
    assert_eq!(next_json(&mut socket)["error"]["code"], "invalid_audio");
    socket.send(Message::text("{")).unwrap();
    assert_eq!(next_json(&mut socket)["error"]["code"], "invalid_json");
    append(&mut socket, &[0xFF; 8000]);
    say(&mut socket, &json!({ "type": "input_audio_buffer.commit" }));
    let events = events_until(&mut socket, COMPLETED);
    assert_eq!(events[events.len() - 1]["transcript"], "");
    append(&mut socket, &[0xFF; 800]);
    say(&mut socket, &json!({ "type": "input_audio_buffer.clear" }));
    assert_eq!(next_json(&mut socket)["type"], "input_audio_buffer.cleared");
}

#[test]
fn an_update_within_speech_loses_no_word() {
    let server = Running::start(|options| options);
    let (first, second) = samples().split_at(16_000);
    // Another language changes nothing; another way to find turns ends the item.
    for (update, expected) in [
        (json!({ "audio": { "input": { "transcription": { "language": "en" } } } }), TRANSCRIPT),
        (
            json!({ "audio": { "input": { "turn_detection": { "type": "server_vad", "silence_duration_ms": 700 } } } }),
            "five nine",
        ),
    ] {
        let mut socket = server.websocket("/v1/realtime");
        next_json(&mut socket);
        let input = json!({ "format": { "type": "audio/pcm", "rate": 8000 }, "turn_detection": null });
        say(&mut socket, &json!({ "type": "session.update", "session": { "audio": { "input": input } } }));
        append(&mut socket, first);
        say(&mut socket, &json!({ "type": "session.update", "session": update }));
        append(&mut socket, second);
        say(&mut socket, &json!({ "type": "input_audio_buffer.commit" }));
        let mut transcripts = vec![];
        while transcripts.last().is_none_or(|last: &String| !last.ends_with("nine")) {
            let events = events_until(&mut socket, COMPLETED);
            transcripts.push(events[events.len() - 1]["transcript"].as_str().unwrap().to_owned());
        }
        assert_eq!((transcripts.join(" ").as_str(), transcripts.last().unwrap().as_str()), (TRANSCRIPT, expected));
    }
}

/// A client of Wyoming.
struct Wyoming(BufReader<TcpStream>);

impl Wyoming {
    fn connect(server: &Running) -> Self {
        Self(BufReader::new(connect(server.wyoming)))
    }

    fn send(&mut self, kind: &str, data: &Value, payload: &[u8]) {
        let head = json!({ "type": kind, "data": data, "payload_length": payload.len() });
        let stream = self.0.get_mut();
        stream.write_all(format!("{head}\n").as_bytes()).unwrap();
        stream.write_all(payload).unwrap();
    }

    fn next(&mut self) -> (String, Value) {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let head: Value = serde_json::from_str(&line).unwrap();
        let mut data = vec![0; usize::try_from(head["data_length"].as_u64().unwrap()).unwrap()];
        self.0.read_exact(&mut data).unwrap();
        (head["type"].as_str().unwrap().to_owned(), serde_json::from_slice(&data).unwrap())
    }
}

#[test]
fn wyoming_describes_and_transcribes() {
    let server = Running::start(|options| options.with_language("en".to_owned()));
    let mut client = Wyoming::connect(&server);
    client.send("describe", &json!({}), &[]);
    let (kind, info) = client.next();
    assert_eq!((kind.as_str(), &info["asr"][0]["models"][0]["languages"]), ("info", &json!(["en"])));
    let format = json!({ "rate": 8000, "width": 2, "channels": 1 });
    for _ in 0..2 {
        client.send("transcribe", &json!({ "name": "digits" }), &[]);
        client.send("audio-start", &format, &[]);
        for chunk in samples().chunks(CHUNK) {
            client.send("audio-chunk", &format, chunk);
        }
        client.send("audio-stop", &json!({}), &[]);
        assert_eq!(client.next().0, "transcript-start");
        let mut chunks = String::new();
        loop {
            match client.next() {
                (kind, data) if kind == "transcript-chunk" => chunks.push_str(data["text"].as_str().unwrap()),
                (kind, data) => {
                    assert_eq!((kind.as_str(), &data["text"]), ("transcript", &TRANSCRIPT.into()));
                    break;
                }
            }
        }
        assert_eq!((chunks.as_str(), client.next().0.as_str()), (TRANSCRIPT, "transcript-stop"));
    }
    // Two channels, one of them silent: their mean.
    let both: Vec<u8> = samples().chunks(2).flat_map(|sample| [sample, &[0, 0]].concat()).collect();
    client.send("audio-chunk", &json!({ "rate": 8000, "width": 2, "channels": 2 }), &both);
    client.send("audio-stop", &json!({}), &[]);
    let kinds: Vec<(String, Value)> = (0..4).map(|_| client.next()).collect();
    assert_eq!((kinds[2].0.as_str(), &kinds[2].1["text"]), ("transcript", &TRANSCRIPT.into()));
    client.send("audio-chunk", &json!({ "rate": 8000, "width": 4, "channels": 1 }), &[0; 8]);
    assert_eq!(client.next().0, "transcript-start");
    assert_eq!(client.next().0, "error");
}
