//! Requests to a running device over its Unix socket, for the command line.

use axum::body::Body;
use http_body_util::BodyExt;
use hyper::{header, Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;

/// For a request as a whole.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no answer that was hoped for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The configuration says `control.socket = "none"`.
    #[error("control.socket is \"none\": use HTTP on {0}")]
    NoSocket(String),
    /// Nobody is there.
    #[error(
        "{socket}: {source}; check that sojournd is running, that this user may open its socket, and that this is its \
         socket (`control.socket` of its configuration): --socket names another"
    )]
    Connect {
        /// Which socket.
        socket: String,
        /// Why.
        source: std::io::Error,
    },
    /// The connection broke.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    /// No answer in time, or none that can be read.
    #[error("no answer: {0}")]
    Unclear(String),
    /// The device refused, and said why.
    #[error("{what}")]
    Refused {
        /// The key of the request that is wrong, where it is one.
        key: Option<String>,
        /// What is wrong.
        what: String,
    },
}

/// What is asked.
#[derive(Debug)]
pub struct Question {
    /// `GET` to look.
    pub method: Method,
    /// `/status`.
    pub path: String,
    /// What is to be changed.
    pub body: Option<serde_json::Value>,
    /// What the answer is to be: `application/json`, or where there is one `text/plain`.
    pub accept: &'static str,
}

impl Question {
    /// One that is answered in JSON.
    #[must_use]
    pub fn json(method: Method, path: &str, body: Option<serde_json::Value>) -> Self {
        Self { method, path: path.to_owned(), body, accept: "application/json" }
    }
}

/// The text of the answer of the device that listens on `socket`.
///
/// # Errors
/// No answer, or a refusal.
pub fn ask(socket: &Path, question: Question) -> Result<String, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| ClientError::Unclear(e.to_string()))?;
    runtime.block_on(async {
        tokio::time::timeout(TIMEOUT, send(socket, question))
            .await
            .map_err(|_| ClientError::Unclear(format!("none within {} s", TIMEOUT.as_secs())))?
    })
}

async fn send(socket: &Path, question: Question) -> Result<String, ClientError> {
    let Question { method, path, body, accept } = question;
    let connect = |source| ClientError::Connect { socket: socket.display().to_string(), source };
    let stream = UnixStream::connect(socket).await.map_err(connect)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Its errors meet the request as well.
    tokio::spawn(connection);
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, accept)
        .body(body)
        .map_err(|e| ClientError::Unclear(e.to_string()))?;
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await?.to_bytes();
    let text = String::from_utf8(bytes.to_vec()).map_err(|e| ClientError::Unclear(e.to_string()))?;
    if status == StatusCode::OK {
        return Ok(text);
    }
    let refusal = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
    let word = |name: &str| Some(refusal[name].as_str()?.to_owned());
    Err(ClientError::Refused { key: word("key"), what: word("error").unwrap_or(text) })
}
