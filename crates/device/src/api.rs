//! The control interface: HTTP on loopback and on a Unix socket.

mod access;
mod body;
mod error;
mod metrics;
mod page;
mod places;
mod serve;
mod text;

pub use access::{Peer, Sessions, Token};
pub use serve::{bind_tcp, bind_unix, serve, Interface, Interfaces, Listen, HEADERS};

use crate::config::DirectionName;
use crate::control::{Change, Control, Done, Recent};
use crate::schedule;
use crate::status::Status;
use crate::store::Health;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{header, HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{middleware, Json, Router};
use body::JsonBody;
use error::{ApiError, ErrorDocument, BODY_BYTES};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use utoipa::{OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What a request accepts that wants a table for people.
pub const TEXT: &str = "text/plain";
/// Windows of an answer that asks for no number.
const WINDOWS: usize = 20;

/// What requests are answered from.
#[derive(Debug)]
pub struct Api {
    /// The running device.
    pub control: Control,
    /// Of the page.
    pub sessions: Sessions,
    /// How the sockets fare.
    pub interfaces: Mutex<Interfaces>,
    /// Lets in, once it is known.
    token: OnceLock<Token>,
}

impl Api {
    /// The device behind `control`, closed to TCP until [`Api::know_token`].
    #[must_use]
    pub fn new(control: Control) -> Self {
        Self { control, sessions: Sessions::default(), interfaces: Mutex::default(), token: OnceLock::new() }
    }

    /// From now on whoever has the token of `open` is let in; nothing when one is known.
    ///
    /// # Errors
    /// As `open`.
    pub fn know_token<E>(&self, open: impl FnOnce() -> Result<Token, E>) -> Result<(), E> {
        if self.token.get().is_none() {
            // Set in between: by whoever asked for the same.
            let _ = self.token.set(open()?);
        }
        Ok(())
    }

    fn lets_in(&self, given: &str) -> bool {
        self.token.get().is_some_and(|token| token.is(given))
    }

    fn interfaces(&self) -> Interfaces {
        self.interfaces.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is missing at the wire and beside it, a sentence each.
    fn troubles(&self, status: &Status) -> Vec<String> {
        let ports = status.ports.iter().filter_map(|port| port.advice.clone());
        let Interfaces { tcp, unix } = self.interfaces();
        let store = self.control.store();
        let closed = [tcp, unix].into_iter().flatten().filter_map(|interface| interface.error);
        let nothing = store.iter().filter_map(|store| {
            let what = store.error.as_ref()?;
            Some(format!("Nothing is stored now ({} windows wait, {} are lost): {what}", store.waiting, store.lost))
        });
        let aside =
            store.iter().filter_map(|store| Some(format!("A file was set aside as {}", store.set_aside.as_ref()?)));
        let schedule = self.control.schedule().and_then(|schedule| schedule.error);
        ports
            .chain(nothing)
            .chain(aside)
            .chain(closed)
            .chain(schedule.map(|error| format!("schedule: {error}")))
            .collect()
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "sojournd",
        description = "Control of a running sojournd. On TCP every request but `/healthz` and `/login` needs the header \
                       `Authorization: Bearer TOKEN`; on the Unix socket the file's permissions protect. A refusal is a \
                       JSON object whose `error` says what is wrong, and then nothing was changed."
    ),
    modifiers(&Bearer)
)]
struct Description;

struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_with(Default::default).add_security_scheme("token", scheme);
        openapi.security = Some(vec![SecurityRequirement::new("token", [] as [&str; 0])]);
    }
}

/// Everything that is answered. A request must carry its [`Peer`] as an extension.
pub fn router(api: Arc<Api>) -> Router {
    let (router, description) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(healthz))
        .routes(routes!(status))
        .routes(routes!(windows))
        .routes(routes!(change))
        .routes(routes!(reload))
        .routes(routes!(schedule_state))
        .routes(routes!(start_schedule))
        .routes(routes!(stop_schedule))
        .routes(routes!(metrics))
        .routes(routes!(openapi))
        .split_for_parts();
    let description = Arc::new(description.to_json().unwrap_or_default());
    router
        .merge(page::routes())
        .fallback(|| async { ApiError::new(StatusCode::NOT_FOUND, "is not found; see /openapi.json") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "does not take this method; see /openapi.json")
        })
        .layer(axum::Extension(Text(description)))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&api), access::admit))
        .layer(middleware::map_response(protect))
        .with_state(api)
}

#[derive(Clone)]
struct Text(Arc<String>);

/// What browsers are to keep to.
async fn protect(mut response: Response) -> Response {
    const HEADERS: [(header::HeaderName, &str); 4] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

type Shared = State<Arc<Api>>;

fn not_yet() -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the packet thread has not shown its state yet")
}

/// Whether the packet thread runs.
#[utoipa::path(get, path = "/healthz", security(()), responses(
    (status = 200, description = "It does", body = String),
    (status = 503, description = "It has not begun", body = ErrorDocument),
))]
async fn healthz(State(api): Shared) -> Result<&'static str, ApiError> {
    api.control.status().map(|_| "ok\n").ok_or_else(not_yet)
}

/// State of the device and its counters since the start, consistent to the packet.
#[derive(Serialize, ToSchema)]
struct StatusDocument {
    /// Version of the program.
    version: &'static str,
    #[serde(flatten)]
    status: Status,
    /// Windows closed since the start, A to B and B to A.
    windows_closed: [u64; 2],
    /// How the store fares; `null` without one.
    store: Option<Health>,
    /// How the schedule fares; `null` without one.
    schedule: Option<schedule::State>,
    /// How the sockets of this interface fare.
    control: Interfaces,
}

/// State and counters; as a table where the request accepts `text/plain` alone.
#[utoipa::path(get, path = "/status", responses(
    (status = 200, description = "As of the last look, `run.status_every` apart",
     content((StatusDocument = "application/json"), (String = "text/plain"))),
    (status = 401, description = "No token or a wrong one", body = ErrorDocument),
))]
async fn status(State(api): Shared, headers: HeaderMap) -> Result<Response, ApiError> {
    let status = api.control.status().ok_or_else(not_yet)?;
    let troubles = api.troubles(&status);
    let document = StatusDocument {
        version: env!("CARGO_PKG_VERSION"),
        status,
        windows_closed: api.control.windows_closed(),
        store: api.control.store(),
        schedule: api.control.schedule(),
        control: api.interfaces(),
    };
    let table = headers.get(header::ACCEPT).is_some_and(|accept| accept.as_bytes() == TEXT.as_bytes());
    Ok(if table { text::table(&document, &troubles).into_response() } else { Json(document).into_response() })
}

/// Which windows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    limit: Option<usize>,
}

/// The last measurement windows, the newest first; all of them are in the store.
#[utoipa::path(get, path = "/windows", params(
    ("limit" = Option<usize>, Query, description = "At most so many; 20 where absent, up to 256"),
), responses(
    (status = 200, description = "One object a window: what was in force and what was measured", body = Vec<Object>),
    (status = 400, description = "`limit` is no number", body = ErrorDocument),
))]
async fn windows(
    State(api): Shared,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<Vec<Recent>>, ApiError> {
    let Query(wanted) = wanted?;
    Ok(Json(api.control.windows(wanted.limit.unwrap_or(WINDOWS))))
}

/// Changes scheme, rate or delay of a direction: all that is given at one instant, without losing a queued packet that the
/// new scheme can hold.
#[utoipa::path(patch, path = "/directions/{direction}", params(
    ("direction" = String, Path, description = "`a_to_b` or `b_to_a`"),
), request_body = body::ChangeDocument, responses(
    (status = 200, description = "In force", body = Done),
    (status = 404, description = "No such direction", body = ErrorDocument),
    (status = 409, description = "Does not fit what is in force", body = ErrorDocument),
    (status = 422, description = "The body is wrong", body = ErrorDocument),
))]
async fn change(
    State(api): Shared,
    Path(direction): Path<String>,
    JsonBody(change): JsonBody<body::ChangeDocument>,
) -> Result<Json<Done>, ApiError> {
    let direction = DirectionName::try_from(direction).map_err(|what| ApiError::new(StatusCode::NOT_FOUND, what))?;
    let change = Change::from(change);
    Ok(Json(api.control.change(direction.into(), &change).await?))
}

/// Reads the file again and puts in force what can change without a restart.
#[utoipa::path(post, path = "/reload", responses(
    (status = 200, description = "In force", body = Done),
    (status = 409, description = "Something else changed, which needs a restart", body = ErrorDocument),
    (status = 422, description = "The file is wrong", body = ErrorDocument),
))]
async fn reload(State(api): Shared) -> Result<Json<Done>, ApiError> {
    Ok(Json(api.control.reload().await?))
}

fn no_schedule() -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "the configuration has no [schedule]")
}

/// How the schedule fares.
#[utoipa::path(get, path = "/schedule", responses(
    (status = 200, description = "As of now", body = schedule::State),
    (status = 409, description = "There is none", body = ErrorDocument),
))]
async fn schedule_state(State(api): Shared) -> Result<Json<schedule::State>, ApiError> {
    api.control.schedule().map(Json).ok_or_else(no_schedule)
}

/// Starts the schedule: the scheme of the slot that is due comes into force.
#[utoipa::path(post, path = "/schedule/start", responses(
    (status = 200, description = "Asked for", body = Done),
    (status = 409, description = "There is none", body = ErrorDocument),
))]
async fn start_schedule(State(api): Shared) -> Result<Json<Done>, ApiError> {
    api.control.run_schedule(true).await?;
    Ok(Json(Done { changed: vec!["schedule started".into()], ..Done::default() }))
}

/// Stops the schedule: the scheme in force stays.
#[utoipa::path(post, path = "/schedule/stop", responses(
    (status = 200, description = "Asked for", body = Done),
    (status = 409, description = "There is none", body = ErrorDocument),
))]
async fn stop_schedule(State(api): Shared) -> Result<Json<Done>, ApiError> {
    api.control.run_schedule(false).await?;
    Ok(Json(Done { changed: vec!["schedule stopped".into()], ..Done::default() }))
}

/// Metrics for Prometheus.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "OpenMetrics", content_type = metrics::CONTENT_TYPE, body = String),
))]
async fn metrics(State(api): Shared) -> Result<Response, ApiError> {
    let status = api.control.status().ok_or_else(not_yet)?;
    let text = metrics::encode(status, api.control.windows_closed(), api.control.store(), api.interfaces())
        .map_err(|e| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
}

/// This description.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn openapi(axum::Extension(Text(text)): axum::Extension<Text>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.as_str().to_owned()).into_response()
}
