//! Bodies of requests: JSON, read as the configuration is, so that a mistake is answered as well.

use super::error::ApiError;
use crate::control::Change;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{header, StatusCode};
use serde::de::DeserializeOwned;
use serde::Deserialize;
use sojourn_document::tree;
use sojourn_document::{line_and_column, read, Error, Path, Quantity, Scheme};
use sojourn_units::{BitRate, Span};
use utoipa::ToSchema;

/// A change of one direction; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct ChangeDocument {
    /// Another scheme over what waits, as tc writes it or as an object with `kind`.
    #[schema(value_type = Option<Object>, example = "fq_codel target 5ms")]
    scheme: Option<Scheme>,
    /// Its name in windows and metrics; the name of the algorithm where absent.
    label: Option<String>,
    /// Another shaped rate.
    #[schema(value_type = Option<String>, example = "100 Mbit/s")]
    rate: Option<Quantity<BitRate>>,
    /// Another delay line.
    #[schema(value_type = Option<String>, example = "10 ms")]
    delay: Option<Quantity<Span>>,
}

impl From<ChangeDocument> for Change {
    fn from(document: ChangeDocument) -> Self {
        Self {
            scheme: document.scheme,
            label: document.label,
            rate: document.rate.map(|rate| rate.0),
            delay: document.delay.map(|delay| delay.0),
        }
    }
}

/// A body of JSON.
pub(super) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        // A form of a page from elsewhere cannot say this.
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let what = "the body is not declared as JSON; allowed: the header Content-Type: application/json";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
        }
        let bytes = Bytes::from_request(request, state).await?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "the body is not UTF-8"))?;
        parse(text).map(Self).map_err(|e| {
            let key = Some(e.key().to_string()).filter(|key| !key.is_empty());
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, e.to_string()).about(key)
        })
    }
}

/// A mistake is named by its key, as whoever wrote it knows it. The place in the text is said where there is no key: the body of
/// `sojournd set` was made by the program.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let refused = |at, what: String| {
        let (line, column) = line_and_column(text, at);
        Error::new(Path::default(), what).at(format!("the body, line {line}, column {column}"))
    };
    if !text.trim_start().starts_with('{') {
        return Err(refused(0, "is no JSON object; allowed: as in {\"rate\": \"10 Mbit/s\"}".to_owned()));
    }
    let root = tree::parse(text).map_err(|e| refused(e.at, e.why))?;
    read(&root).map_err(|e| {
        let (path, _, what) = e.into_parts();
        Error::new(path, what)
    })
}
