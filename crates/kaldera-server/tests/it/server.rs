//! A running server with the model of digits, and a small client of HTTP.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kaldera::Recognizer;
use kaldera_server::{Models, Server, ServerOptions};
use tungstenite::{Message, WebSocket};

/// The times at which the words of the recording begin.
pub(crate) const STARTS: [f64; 4] = [0.13, 0.525, 0.97, 1.61];

/// Maximum difference of times between a whole recording and a stream.
pub(crate) const TIME: f64 = 0.1;

/// A client that waits longer has found a fault.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server; it ends when it is dropped.
pub(crate) struct Running {
    pub(crate) http: SocketAddr,
    pub(crate) wyoming: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a server on free ports with changed options.
    pub(crate) fn start(change: impl FnOnce(ServerOptions) -> ServerOptions) -> Self {
        let options = ServerOptions::default()
            .with_listen("127.0.0.1:0".to_owned())
            .with_wyoming(Some("127.0.0.1:0".to_owned()))
            .with_jobs(2)
            .with_grace(5.0);
        let models = Models::new([("digits", digits())]).unwrap();
        let server = Server::bind(models, change(options)).unwrap();
        let (http, wyoming) = (server.addr(), server.wyoming_addr().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&stop);
        let thread = Some(thread::spawn(move || server.run(&own)));
        Self { http, wyoming, stop, thread }
    }

    /// Asks the server to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until the server has ended.
    pub(crate) fn wait(mut self) {
        self.thread.take().unwrap().join().unwrap();
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.http)
    }

    pub(crate) fn websocket(&self, path: &str) -> WebSocket<TcpStream> {
        self.try_websocket(path).unwrap()
    }

    pub(crate) fn try_websocket(&self, path: &str) -> Result<WebSocket<TcpStream>, String> {
        let url = format!("ws://{}{path}", self.http);
        tungstenite::client(url, self.connect()).map(|(socket, _)| socket).map_err(|error| error.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.http), &[])
    }

    /// Uploads a file with other fields.
    pub(crate) fn upload(&self, file: &[u8], fields: &[(&str, &str)]) -> Answer {
        self.upload_with("", file, fields)
    }

    pub(crate) fn upload_with(&self, headers: &str, file: &[u8], fields: &[(&str, &str)]) -> Answer {
        let (head, body) = self.upload_request(headers, file, fields);
        self.send(&head, &body)
    }

    /// Returns the head and the body of an upload.
    pub(crate) fn upload_request(&self, headers: &str, file: &[u8], fields: &[(&str, &str)]) -> (String, Vec<u8>) {
        let mut body = vec![];
        for (name, value) in fields {
            write!(body, "--limit\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").unwrap();
        }
        body.extend(b"--limit\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n");
        body.extend(file);
        body.extend(b"\r\n--limit--\r\n");
        let head = format!(
            "POST /v1/audio/transcriptions HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}\
             content-type: multipart/form-data; boundary=limit\r\ncontent-length: {}\r\n\r\n",
            self.http,
            body.len()
        );
        (head, body)
    }

    pub(crate) fn send(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        Answer::read(stream).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// An answer of HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) text: String,
}

impl Answer {
    /// Reads an answer to the end of the connection.
    pub(crate) fn read(mut stream: TcpStream) -> io::Result<Self> {
        let mut bytes = vec![];
        stream.read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(io::Error::other)?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let headers: HashMap<_, _> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let text = if headers.contains_key("transfer-encoding") { unchunked(body) } else { body.to_owned() };
        Ok(Self { status: status.ok_or(io::ErrorKind::InvalidData)?, headers, text })
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        whole.push_str(&rest[..length]);
        body = rest[length..].trim_start_matches("\r\n");
    }
    whole
}

/// Returns the recogniser of the model of digits.
pub(crate) fn digits() -> Recognizer {
    let read = |name: &str| match name {
        "model.toml" => Ok(kaldera_digits::MODEL_TOML.into()),
        "tokens.txt" => Ok(kaldera_digits::TOKENS.into()),
        "network.safetensors" => Ok(kaldera_digits::NETWORK.into()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    Recognizer::from_files(read, |options| options).unwrap()
}

/// Returns the samples of the recording of digits, 16 bits at 8 kHz.
pub(crate) fn samples() -> &'static [u8] {
    &kaldera_digits::RECORDING[44..]
}

/// Checks the words and the times of the recording.
pub(crate) fn check_words<'w>(words: impl IntoIterator<Item = &'w serde_json::Value>, shift: f64) {
    let words: Vec<_> = words.into_iter().collect();
    let texts: Vec<_> = words.iter().map(|word| word["word"].as_str().unwrap()).collect();
    assert_eq!(texts.join(" "), kaldera_digits::TRANSCRIPT);
    for (word, start) in words.iter().zip(STARTS) {
        let found = word["start"].as_f64().unwrap() - shift;
        assert!((found - start).abs() < TIME, "{word}: {start}");
    }
}

/// Returns the next text of a WebSocket.
pub(crate) fn next_json(socket: &mut WebSocket<TcpStream>) -> serde_json::Value {
    loop {
        match socket.read().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}
