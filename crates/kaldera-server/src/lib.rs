//! Speech recognition for programs that make requests: a server of the protocols that their clients
//! speak.
//!
//! ```text
//! POST /v1/audio/transcriptions  --- a file, its parts in turn ------.
//! WebSocket /v1/realtime         --.                                 |
//! WebSocket / and /vosk          --+-- Session: live speech -------- Pool: threads that compute
//! TCP, Wyoming                   --'                                     live speech first
//! ```
//!
//! | protocol | clients |
//! |---|---|
//! | OpenAI's transcriptions by HTTP, `/v1/models` | `openai` for Python and npm, most apps |
//! | OpenAI's realtime transcription | the same, LiveKit, pipecat |
//! | Vosk's WebSocket | `vosk-transcriber`, Jigasi, FreeSWITCH |
//! | Wyoming | Home Assistant |
//!
//! Sockets wait on tokio; a fixed set of threads computes. Work on these threads is short: a chunk
//! of live speech, or a part of a file of at most 30 s. The chunk that arrived first is next; files
//! come after live speech, the file with the fewest parts so far first, and one thread takes no
//! files. So no live stream waits for a file, and no short file for a long one. A connection has
//! one chunk in work; until it is done, no more is read from its socket, and its client has to
//! wait. A stream or upload beyond a limit is refused with 429 at once.
//!
//! Nothing that a client sends becomes a path, an address or a command. An upload is in memory up
//! to a size, and beyond it in a temporary file without a name, which is gone with the process.
//! Keys are compared in constant time. Web pages of other origins may not connect.
//!
//! The figures of `/metrics` belong to the server, not to the process, as `prometheus-client` has
//! it: several servers, as in tests, do not mix them.
//!
//! # When not to use this
//!
//! For one's own program: [`kaldera::recognizer`] has the recognisers without sockets. TLS and
//! several machines are a proxy's work: `DEPLOY.md`.
#![forbid(unsafe_code)]

mod error;
mod http;
mod keys;
mod metrics;
mod models;
mod openai;
mod options;
mod schedule;
mod server;
mod session;
mod socket;
mod state;
mod vosk;
mod wyoming;

pub use error::Error;
pub use kaldera::Recognizer;
pub use models::Models;
pub use options::ServerOptions;
pub use server::Server;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
