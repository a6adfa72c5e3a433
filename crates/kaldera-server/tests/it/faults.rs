//! Clients that do as they should not, and ends of the server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use kaldera_digits::{RECORDING, TRANSCRIPT};
use serde_json::json;
use tungstenite::Message;

use crate::server::{Answer, Running, connect, next_json, samples};

/// The server still answers.
fn check(server: &Running) {
    assert_eq!(server.upload(RECORDING, &[]).json()["text"], TRANSCRIPT);
}

#[test]
fn clients_vanish_and_send_garbage() {
    let server = Running::start(|options| options);
    for bytes in [&b""[..], b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[0xFF; 100_000]] {
        let _ = server.connect().write_all(bytes);
    }
    // Half a form, half a frame, half an event.
    let (head, body) = server.upload_request("", RECORDING, &[]);
    let mut stream = server.connect();
    stream.write_all(&[head.as_bytes(), &body[..body.len() / 2]].concat()).unwrap();
    drop(stream);
    let mut socket = server.websocket("/vosk");
    socket.send(Message::binary(samples()[..8000].to_vec())).unwrap();
    socket.get_mut().write_all(&[0x82, 0x7F, 0, 0, 0, 0]).unwrap();
    drop(socket);
    let mut stream = connect(server.wyoming);
    stream.write_all(b"{\"type\": \"audio-chunk\", \"payload_length\": 4000}\n\0\0").unwrap();
    drop(stream);
    check(&server);
}

#[test]
fn lengths_are_not_believed() {
    let server = Running::start(|options| options);
    // A frame of 2^60 bytes.
    let mut socket = server.websocket("/vosk");
    let begin = [&[0x82, 0xFF][..], &(1_u64 << 60).to_be_bytes(), &[0; 4]].concat();
    socket.get_mut().write_all(&begin).unwrap();
    assert!(socket.read().is_err() || !socket.can_read());
    for line in ["{\"type\": \"audio-chunk\", \"payload_length\": 4000000000}", "{\"type\": 3}", "no JSON"] {
        let mut stream = connect(server.wyoming);
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("\"error\""), "{answer}");
    }
    let mut stream = connect(server.wyoming);
    let _ = stream.write_all(&[b'{'; 100_000]);
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer);
    check(&server);
}

#[test]
fn slow_clients_are_cut_off() {
    let server = Running::start(|options| options.with_upload_time(0.5).with_idle(0.5));
    let (head, body) = server.upload_request("", RECORDING, &[]);
    let mut stream = server.connect();
    stream.write_all(&[head.as_bytes(), &body[..100]].concat()).unwrap();
    let begin = Instant::now();
    let mut byte = body[100..].iter();
    let answer = loop {
        if let Some(byte) = byte.next() {
            let _ = stream.write_all(std::slice::from_ref(byte));
        }
        thread::sleep(Duration::from_millis(50));
        if begin.elapsed() > Duration::from_millis(800) {
            break Answer::read(stream).unwrap();
        }
    };
    assert_eq!(answer.status, 408);
    let mut socket = server.websocket("/vosk");
    assert!(next_json(&mut socket)["error"]["message"].as_str().unwrap().contains("no message"));
    let mut socket = server.websocket("/v1/realtime");
    assert_eq!(next_json(&mut socket)["type"], "session.created");
    assert_eq!(next_json(&mut socket)["error"]["code"], "session_expired");
    check(&server);
}

#[test]
fn streams_and_uploads_beyond_the_limits_are_refused() {
    let server = Running::start(|options| options.with_max_streams(1).with_max_queue(1));
    let socket = server.websocket("/vosk");
    assert!(server.try_websocket("/v1/realtime").unwrap_err().contains("429"));
    assert_eq!(server.get("/ready").status, 503);
    drop(socket);
    let (head, body) = server.upload_request("", RECORDING, &[]);
    let mut first = server.connect();
    first.write_all(&[head.as_bytes(), &body[..100]].concat()).unwrap();
    while !server.get("/metrics").text.contains("kaldera_uploads 1\n") {
        thread::sleep(Duration::from_millis(5));
    }
    let refused = server.upload(RECORDING, &[]);
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (429, "1"));
    first.write_all(&body[100..]).unwrap();
    assert_eq!(Answer::read(first).unwrap().status, 200);
}

#[test]
fn two_thousand_connect_at_once() {
    let server = Running::start(|options| options);
    // As many as the descriptors of this process allow.
    let mut streams = vec![];
    while streams.len() < 2000
        && let Ok(stream) = TcpStream::connect(server.http)
    {
        streams.push(stream);
    }
    let number = streams.len();
    drop(streams.split_off(number - number.min(100)));
    check(&server);
    drop(streams);
    check(&server);
}

#[test]
fn running_work_finishes_when_the_server_ends() {
    let server = Running::start(|options| options);
    let mut socket = server.websocket("/vosk");
    socket.send(Message::text(json!({ "config": { "sample_rate": 8000 } }).to_string())).unwrap();
    socket.send(Message::binary(samples()[..8000].to_vec())).unwrap();
    next_json(&mut socket);
    server.stop();
    while TcpStream::connect(server.http).is_ok_and(|stream| stream.peer_addr().is_ok()) {
        thread::sleep(Duration::from_millis(20));
    }
    socket.send(Message::binary(samples()[8000..].to_vec())).unwrap();
    next_json(&mut socket);
    socket.send(Message::text("{\"eof\": 1}")).unwrap();
    assert_eq!(next_json(&mut socket)["text"], TRANSCRIPT);
    server.wait();
}

#[test]
fn work_beyond_the_grace_gets_an_error() {
    let server = Running::start(|options| options.with_grace(0.3));
    let mut vosk = server.websocket("/vosk");
    let mut realtime = server.websocket("/v1/realtime");
    next_json(&mut realtime);
    server.stop();
    assert!(next_json(&mut vosk)["error"]["message"].as_str().unwrap().contains("ending"));
    assert_eq!(next_json(&mut realtime)["error"]["type"], "server_error");
    server.wait();
}
