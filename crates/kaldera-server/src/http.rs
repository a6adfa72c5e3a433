//! HTTP connections: routes, keys, origins, the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody as _};
use axum::extract::{DefaultBodyLimit, FromRequestParts as _, Request, State as Extract, WebSocketUpgrade};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::StreamExt as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::net::TcpListener;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

use crate::metrics::Reason;
use crate::openai::{self, ApiError};
use crate::state::State;
use crate::vosk;

/// The page of the server.
const PAGE: &str = include_str!("page.html");

/// Policy of the page, which speaks only to this server; its recorder is a module from a blob.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:; \
                           connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Time for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Time before the next attempt to accept a connection, if the system has no descriptors left.
const RETRY: Duration = Duration::from_millis(100);

/// Maximum bytes, and time, of a body that is read only so that the client reads the refusal.
pub(crate) const DRAINED: usize = 1 << 28;
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(10);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Returns the routes.
///
/// # Errors
/// The problem with the origin of the options.
pub(crate) fn router(state: State) -> Result<Router, String> {
    let mut router = Router::new()
        .route("/", get(page))
        .route("/vosk", get(vosk::upgrade))
        .route("/v1/audio/transcriptions", post(openai::transcriptions::transcribe))
        .route("/v1/realtime", get(openai::realtime::upgrade))
        .route("/v1/models", get(openai::models))
        .route("/v1/models/{name}", get(openai::model))
        .route("/health", get(|| async { Json(json!({ "status": "ok" })) }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .fallback(|| async { ApiError::new(StatusCode::NOT_FOUND, "there is no such address") })
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&state), guard));
    if let Some(origin) = &state.options.allow_origin {
        let origin = match origin.as_str() {
            "*" => AllowOrigin::from(Any),
            origin => origin.parse::<HeaderValue>().map_err(|error| error.to_string())?.into(),
        };
        // A wildcard does not cover `Authorization`.
        let headers = AllowHeaders::mirror_request();
        router = router.layer(CorsLayer::new().allow_origin(origin).allow_methods(Any).allow_headers(headers));
    }
    Ok(router.layer(middleware::from_fn(log)).with_state(state))
}

/// Answers `GET /`: the page, or Vosk's protocol for a WebSocket.
async fn page(state: Extract<State>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    match WebSocketUpgrade::from_request_parts(&mut parts, &state.0).await {
        Ok(socket) => vosk::upgrade(state, socket).await,
        Err(_) => {
            let head = [(header::CONTENT_SECURITY_POLICY, PAGE_POLICY), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
            (head, Html(PAGE)).into_response()
        }
    }
}

/// Answers `GET /ready`: is a new stream taken?
async fn ready(Extract(state): Extract<State>) -> Response {
    match state.refusal() {
        None => Json(json!({ "ready": true })).into_response(),
        Some(reason) => {
            (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "ready": false, "reason": reason }))).into_response()
        }
    }
}

/// Answers `GET /metrics`.
async fn metrics(Extract(state): Extract<State>) -> Response {
    let head = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    (head, state.metrics.text(state.pool.num_waiting())).into_response()
}

/// Refuses requests without a key, and requests of web pages of other origins.
async fn guard(Extract(state): Extract<State>, request: Request, next: Next) -> Response {
    let (path, is_upgrade) = (request.uri().path(), request.headers().contains_key(header::UPGRADE));
    let is_open = matches!(path, "/health" | "/ready" | "/metrics") || (path == "/" && !is_upgrade);
    let refused = if !is_of_origin(request.headers(), state.options.allow_origin.as_deref()) {
        state.metrics.refuse(Reason::Origin);
        ApiError::new(StatusCode::FORBIDDEN, "web pages of this origin may not connect: see --allow-origin")
    } else if request.method() != Method::OPTIONS && !is_open && !state.keys.allow(request.headers(), request.uri()) {
        state.metrics.refuse(Reason::Key);
        let message = "a key is needed, and this one is not known: send 'Authorization: Bearer KEY'";
        ApiError::new(StatusCode::UNAUTHORIZED, message).with_code("invalid_api_key")
    } else {
        return next.run(request).await;
    };
    drain(request.into_body()).await;
    refused.into_response()
}

/// Returns `true` unless the request comes from a web page of another origin. Browsers let any page
/// connect to a WebSocket, and send forms.
fn is_of_origin(headers: &HeaderMap, allowed: Option<&str>) -> bool {
    let Some(origin) = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()) else { return true };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let is_own = origin.split_once("://").is_some_and(|(_, own)| Some(own) == host);
    is_own || allowed.is_some_and(|allowed| allowed == "*" || allowed == origin)
}

/// Reads the rest of a body, within limits: a client that still writes does not read an answer.
pub(crate) async fn drain(body: Body) {
    if body.is_end_stream() {
        return;
    }
    let read = async {
        let (mut chunks, mut size) = (body.into_data_stream(), 0);
        while let Some(Ok(chunk)) = chunks.next().await
            && size < DRAINED
        {
            size += chunk.len();
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME, read).await;
}

/// Gives each request a number, unless it has one, and writes it to the log.
async fn log(mut request: Request, next: Next) -> Response {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let is_plain = |id: &&HeaderValue| id.len() <= 128 && id.as_bytes().iter().all(u8::is_ascii_graphic);
    let given = request.headers().get(REQUEST_ID).filter(is_plain).cloned();
    let id = given.unwrap_or_else(|| {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        HeaderValue::from_str(&format!("{:08x}-{count}", std::process::id())).expect("ASCII")
    });
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let (method, path, begin) = (request.method().clone(), request.uri().path().to_owned(), Instant::now());
    let mut response = next.run(request).await;
    let (status, ms) = (response.status().as_u16(), begin.elapsed().as_millis());
    match path.as_str() {
        "/health" | "/ready" | "/metrics" => tracing::debug!(%method, path, status, ms, id = ?id, "request"),
        _ => tracing::info!(%method, path, status, ms, id = ?id, "request"),
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Serves connections until the server ends.
pub(crate) async fn serve(listener: TcpListener, router: Router, state: State) {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    while let Some(stream) = accept(&listener, &state).await {
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let own = Arc::clone(&state);
        state.tasks.spawn(async move {
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => return,
                () = own.ending.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            tokio::select! {
                _ = connection => {}
                () = own.cut.cancelled() => {}
            }
        });
    }
}

/// Returns the next connection; `None` when the server ends.
pub(crate) async fn accept(listener: &TcpListener, state: &State) -> Option<tokio::net::TcpStream> {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = state.ending.cancelled() => return None,
        };
        match accepted {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                return Some(stream);
            }
            Err(error) => {
                tracing::warn!("a connection was not accepted: {error}");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
