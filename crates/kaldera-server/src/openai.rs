//! OpenAI's protocols: transcription by HTTP, and by WebSocket while one speaks.

pub(crate) mod realtime;
pub(crate) mod transcriptions;

use axum::Json;
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::models::Model;
use crate::state::{Shared, State};

/// An error in OpenAI's JSON, with its HTTP status.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    code: Option<&'static str>,
    param: Option<&'static str>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: None, param: None }
    }

    /// The request is wrong.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// There is too much to do.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, message).with_code("rate_limit_exceeded")
    }

    /// The server ends before the work is done.
    pub(crate) fn ending() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending: send the request again")
    }

    pub(crate) fn no_model(name: &str, state: &Shared) -> Self {
        let names: Vec<&str> = state.models.iter().map(|model| &*model.name).collect();
        let message = format!("there is no model '{name}'; there are: {}", names.join(", "));
        Self::new(StatusCode::NOT_FOUND, message).with_code("model_not_found").with_param("model")
    }

    pub(crate) fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(crate) fn with_param(self, param: &'static str) -> Self {
        Self { param: Some(param), ..self }
    }

    /// Returns the error as OpenAI's JSON.
    pub(crate) fn value(&self) -> Value {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "message": self.message, "type": kind, "param": self.param, "code": self.code })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.value() }))).into_response();
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Answers `GET /v1/models`.
pub(crate) async fn models(Extract(state): Extract<State>) -> Json<Value> {
    let models: Vec<Value> = state.models.iter().map(|model| described(model, &state)).collect();
    Json(json!({ "object": "list", "data": models }))
}

/// Answers `GET /v1/models/NAME`.
pub(crate) async fn model(Extract(state): Extract<State>, Path(name): Path<String>) -> Result<Json<Value>, ApiError> {
    let model = state.models.named(&name).ok_or_else(|| ApiError::no_model(&name, &state))?;
    Ok(Json(described(model, &state)))
}

fn described(model: &Model, state: &Shared) -> Value {
    json!({ "id": *model.name, "object": "model", "created": state.started, "owned_by": "kaldera" })
}
