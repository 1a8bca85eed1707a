//! Refusals of requests.

use crate::control::Refusal;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::http::{header, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// Longest body of a request, in bytes.
pub(super) const BODY_BYTES: usize = 64 * 1024;

/// A refusal: a status and one sentence.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(super) status: StatusCode,
    what: String,
    /// The key of the body that is wrong, where it is one.
    key: Option<String>,
}

/// A refusal.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorDocument {
    /// What is wrong, where, and what is allowed.
    error: String,
    /// The key of the body that is wrong, where it is one: `error` then begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self { status, what: what.into(), key: None }
    }

    /// Of the key of the body that is wrong, where it is one.
    pub(super) fn about(self, key: Option<String>) -> Self {
        Self { key, ..self }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorDocument { error: self.what, key: self.key })).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal {
            Refusal::Wrong(_) | Refusal::Key(..) => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::Conflict(_) => StatusCode::CONFLICT,
            Refusal::Gone(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let key = match &refusal {
            Refusal::Key(key, _) => Some((*key).to_owned()),
            _ => None,
        };
        Self::new(status, refusal.to_string()).about(key)
    }
}

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> Self {
        let what = match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => format!("the body is too long; allowed: {BODY_BYTES} bytes"),
            _ => rejection.body_text(),
        };
        Self::new(rejection.status(), what)
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}
