//! OpenAI's transcription of files.

use kaldera_digits::{RECORDING, TRANSCRIPT};

use crate::server::{Running, check_words};

#[test]
fn every_format_of_an_answer_has_the_words() {
    let server = Running::start(|options| options);
    let answer = server.upload(RECORDING, &[("model", "digits"), ("temperature", "0")]);
    assert_eq!((answer.status, answer.json()["text"].as_str()), (200, Some(TRANSCRIPT)));
    assert!(answer.headers.contains_key("x-request-id"));

    let fields = [
        ("response_format", "verbose_json"),
        ("timestamp_granularities[]", "word"),
        ("timestamp_granularities[]", "segment"),
        ("language", "en"),
    ];
    let answer = server.upload(RECORDING, &fields).json();
    assert_eq!((&answer["text"], &answer["language"]), (&TRANSCRIPT.into(), &"en".into()));
    check_words(answer["words"].as_array().unwrap(), 0.0);
    let segment = &answer["segments"][0];
    assert_eq!((&segment["text"], segment["tokens"].as_array().unwrap().len()), (&TRANSCRIPT.into(), 4));
    for key in ["id", "seek", "start", "end", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob"] {
        assert!(segment[key].is_number(), "{key}");
    }

    for (format, begin) in [("text", TRANSCRIPT), ("srt", "1\n00:00:00,130 --> "), ("vtt", "WEBVTT\n\n00:00:00.130")] {
        let answer = server.upload(RECORDING, &[("response_format", format)]);
        assert!(answer.text.starts_with(begin), "{format}: {}", answer.text);
        assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    }

    let answer = server.upload(RECORDING, &[("stream", "true")]);
    let events = answer.text.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    let events: Vec<serde_json::Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    let deltas: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!((deltas.as_str(), &events[events.len() - 1]["text"]), (TRANSCRIPT, &TRANSCRIPT.into()));
}

#[test]
fn a_long_file_is_transcribed_in_parts() {
    let server = Running::start(|options| options.with_memory_mb(0));
    let second = vec![0_u8; 16_000];
    let mut wave = RECORDING[..40].to_vec();
    let samples = [crate::server::samples(), &second].concat().repeat(30);
    wave.extend((samples.len() as u32).to_le_bytes());
    wave.extend(&samples);
    wave[4..8].copy_from_slice(&(samples.len() as u32 + 36).to_le_bytes());
    let answer = server.upload(&wave, &[("stream", "true")]);
    let deltas = answer.text.matches("transcript.text.delta").count();
    assert!(deltas > 2 && answer.text.contains("transcript.text.done"), "{}", answer.text);
    let answer = server.upload(&wave, &[("response_format", "verbose_json")]).json();
    assert_eq!(answer["text"].as_str().unwrap().split(' ').count(), 120);
    assert_eq!(answer["segments"].as_array().unwrap().len(), 30);
}

#[test]
fn wrong_requests_have_the_errors_of_openai() {
    let server = Running::start(|options| options.with_max_upload_mb(1).with_max_duration(2.5));
    let error = |answer: crate::server::Answer| {
        let error = answer.json()["error"].clone();
        (answer.status, error["code"].clone(), error["message"].as_str().unwrap().to_owned())
    };
    let (status, code, message) = error(server.upload(RECORDING, &[("model", "whisper-1")]));
    assert_eq!((status, code.as_str()), (404, Some("model_not_found")));
    assert!(message.contains("digits"), "{message}");
    // The answer comes before the file is read.
    assert_eq!(server.upload(&vec![0; 1 << 19], &[("model", "whisper-1")]).status, 404);
    let (status, _, message) = error(server.upload(&RECORDING[..1000], &[]));
    assert!(status == 400 && message.contains("truncated"), "{status} {message}");
    let (status, _, message) = error(server.upload(b"hello", &[]));
    assert!(status == 400 && message.contains("the file cannot be used"), "{status} {message}");
    let (status, _, message) = error(server.upload(RECORDING, &[("response_format", "xml")]));
    assert!(status == 400 && message.contains("verbose_json"), "{message}");
    let (status, _, message) = error(server.upload(&vec![0; 2 << 20], &[]));
    assert!(status == 413 && message.contains("1 MB"), "{message}");
    let twice = [&RECORDING[..40], &64_000_u32.to_le_bytes(), &[0; 64_000]].concat();
    let (status, _, message) = error(server.upload(&twice, &[]));
    assert!(status == 413 && message.contains("at most 2.5 s"), "{message}");
    let (status, ..) = error(server.get("/v1/nothing"));
    assert_eq!(status, 404);
    let head = format!("POST /v1/audio/transcriptions HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", server.http);
    let (status, ..) = error(server.send(&format!("{head}content-length: 2\r\n\r\n"), b"{}"));
    assert_eq!(status, 400);
}

#[test]
fn the_phrases_of_a_prompt_are_hot_words_if_the_option_says_so() {
    let server = Running::start(|options| options.with_prompt_hotwords(true));
    let said = |prompt: &str| server.upload(RECORDING, &[("prompt", prompt)]).json()["text"].clone();
    assert_eq!(said("nine five, five\ntwo"), TRANSCRIPT);
    // No token spells this.
    assert_eq!(said("Kaldera, "), TRANSCRIPT);
}

#[test]
fn models_are_listed() {
    let server = Running::start(|options| options);
    assert_eq!(server.get("/v1/models").json()["data"][0]["id"], "digits");
    assert_eq!(server.get("/v1/models/digits").json()["object"], "model");
    assert_eq!(server.get("/v1/models/other").status, 404);
    assert_eq!(server.get("/ready").status, 200);
    server.upload(RECORDING, &[]);
    let figures = server.get("/metrics").text;
    assert!(figures.contains("kaldera_latency_seconds_count{result=\"File\"} 1"), "{figures}");
    assert!(server.get("/").text.contains("<html"));
}

#[test]
fn keys_and_origins_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(&file, "# of the office\nsecret-1\n\nsecret-2\n").unwrap();
    let server = Running::start(|options| options.with_api_key_file(Some(file)));
    assert_eq!(server.upload(RECORDING, &[]).status, 401);
    assert_eq!(server.upload_with("authorization: Bearer secret\r\n", RECORDING, &[]).status, 401);
    assert_eq!(server.upload_with("authorization: Bearer secret-2\r\n", RECORDING, &[]).status, 200);
    assert!(server.try_websocket("/vosk").unwrap_err().contains("401"));
    assert!(server.try_websocket("/").unwrap_err().contains("401"));
    assert!(server.try_websocket("/vosk?api_key=secret-1").is_ok());
    assert_eq!(server.get("/health").status, 200);
    let foreign = "authorization: Bearer secret-2\r\norigin: http://other.example\r\n";
    assert_eq!(server.upload_with(foreign, RECORDING, &[]).status, 403);
    let allowed = Running::start(|options| options.with_allow_origin(Some("http://other.example".to_owned())));
    let preflight = format!(
        "OPTIONS /v1/audio/transcriptions HTTP/1.1\r\nhost: {}\r\nconnection: close\r\norigin: http://other.example\r\n\
         access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n\r\n",
        allowed.http
    );
    let answer = allowed.send(&preflight, b"");
    assert_eq!((answer.status, answer.headers["access-control-allow-headers"].as_str()), (200, "authorization"));
    let own = format!("authorization: Bearer secret-2\r\norigin: http://{}\r\n", server.http);
    assert_eq!(server.upload_with(&own, RECORDING, &[]).status, 200);
}
