//! WebSockets of live speech.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};

use crate::state::Shared;

/// Buffer for reading: each open socket has it. Longer messages still fit.
const READ_BUFFER: usize = 1 << 12;

/// Time in which a client answers the end of a connection.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// Reason for the end of a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error("the client is gone")]
    Gone,
    #[error("no message for {0} s")]
    Idle(f64),
    #[error("{0}")]
    Wrong(String),
    #[error("the server is ending")]
    Ending,
}

/// Sets the limits of a socket, and the subprotocol that it agrees to.
pub(crate) fn limited(socket: WebSocketUpgrade, max_message: usize, protocol: &'static str) -> WebSocketUpgrade {
    let socket = socket.read_buffer_size(READ_BUFFER).protocols([protocol]);
    socket.max_message_size(max_message).max_frame_size(max_message)
}

/// Returns the next text or binary message. Pings are answered, and do not keep an idle connection.
pub(crate) async fn next_message(socket: &mut WebSocket, state: &Shared) -> Result<Message, Stop> {
    let idle = state.options.idle;
    let next = async {
        loop {
            match socket.recv().await {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => return Ok(message),
                None | Some(_) => return Err(Stop::Gone),
            }
        }
    };
    tokio::select! {
        next = tokio::time::timeout(Duration::from_secs_f64(idle), next) => next.unwrap_or(Err(Stop::Idle(idle))),
        () = state.cut.cancelled() => Err(Stop::Ending),
    }
}

/// Sends a text. A client that does not read is gone after the time of an idle one.
pub(crate) async fn send(socket: &mut WebSocket, state: &Shared, text: String) -> Result<(), Stop> {
    let time = Duration::from_secs_f64(state.options.idle);
    let sent = tokio::time::timeout(time, socket.send(Message::text(text))).await;
    sent.map_err(|_| Stop::Gone)?.map_err(|_| Stop::Gone)
}

/// Closes a socket.
pub(crate) async fn close(socket: &mut WebSocket, stop: Option<Stop>) {
    let (code, reason) = match &stop {
        None => (close_code::NORMAL, String::new()),
        Some(Stop::Gone) => return,
        Some(stop @ Stop::Ending) => (close_code::AWAY, stop.to_string()),
        Some(stop) => (close_code::POLICY, stop.to_string()),
    };
    let farewell = async {
        let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: short(&reason).into() }))).await;
        // If the connection is dropped before the client answers, it is reset, and the client
        // loses messages that it has not read.
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _ = tokio::time::timeout(CLOSE_TIME, farewell).await;
}

/// Returns the beginning of a text that fits in a close frame.
pub(crate) fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(text.len().min(120))]
}
