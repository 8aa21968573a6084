//! Checks before the protocol server: hosts, size limits, batches, and the old transport.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};
use cairn_http::{Api, ErrorCode, Hosts};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService, streamable_http_server::session::never::NeverSessionManager,
};
use serde_json::Value;
use tower::{Service, ServiceExt};

use crate::{
    Options,
    handler::Handler,
    rpc::{self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, RpcError},
    streams::Streams,
};

/// Headers that identify clients of Streamable HTTP.
pub(crate) const SESSION: &str = "mcp-session-id";
pub(crate) const VERSION: &str = "mcp-protocol-version";

/// The newest protocol revision with batches. A request without the header counts as this revision.
const LAST_WITH_BATCHES: &str = "2025-03-26";

/// State shared by the routes.
pub(crate) struct Front {
    pub(crate) api: Api,
    pub(crate) hosts: Hosts,
    pub(crate) options: Options,
    pub(crate) streams: Arc<Streams>,
    protocol: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Front {
    pub(crate) fn new(api: Api, options: Options) -> Self {
        let handler = Handler::new(api.clone(), options.max_answer_bytes);
        let config = StreamableHttpServerConfig::default()
            // Stateless: no data is kept between requests, so none must be bounded or shared between machines.
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(api.config().max_body_bytes)
            // Hosts and origins are checked here, for both transports.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        Front {
            hosts: Hosts::of(&api.config().base_url),
            streams: Arc::new(Streams::default()),
            protocol: StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config),
            api,
            options,
        }
    }

    /// Answers the body of a POST: one message or a batch.
    pub(crate) async fn answer(&self, parts: &Parts, body: Bytes) -> Response {
        let message: Value = match serde_json::from_slice(&body) {
            Ok(message) => message,
            Err(error) => {
                let text = format!("Parse error: line {}, column {}", error.line(), error.column());
                return RpcError::new(PARSE_ERROR, text).response(StatusCode::BAD_REQUEST, None);
            }
        };
        match message {
            Value::Array(messages) => self.batch(parts, messages).await,
            message => match rpc::check(&message) {
                Ok(()) => self.forward(parts, rpc::id_of(&message), body).await,
                Err(error) => error.response(StatusCode::BAD_REQUEST, rpc::id_of(&message)),
            },
        }
    }

    /// Answers the messages of a batch, one after the other.
    async fn batch(&self, parts: &Parts, messages: Vec<Value>) -> Response {
        let refused = |text: String| {
            RpcError::new(INVALID_REQUEST, format!("Invalid Request: {text}")).response(StatusCode::BAD_REQUEST, None)
        };
        let version = parts.headers.get(VERSION).map_or(Some(LAST_WITH_BATCHES), |v| v.to_str().ok());
        if version.is_none_or(|version| version > LAST_WITH_BATCHES) {
            return refused("this protocol revision does not support batches".to_owned());
        }
        if messages.is_empty() || messages.len() > self.options.max_batch {
            return refused(format!("a batch must have 1 to {} messages", self.options.max_batch));
        }
        let mut answers = Vec::new();
        for message in messages {
            let id = rpc::id_of(&message).cloned();
            let fault = match rpc::check(&message) {
                Err(error) => Some(error),
                Ok(()) if message["method"] == "initialize" => {
                    Some(RpcError::new(INVALID_REQUEST, "Invalid Request: initialize must not be in a batch"))
                }
                Ok(()) => None,
            };
            if let Some(fault) = fault {
                answers.push(fault.answer(id.as_ref()));
                continue;
            }
            let reply = self.forward(parts, id.as_ref(), message.to_string().into()).await;
            if rpc::is_request(&message) {
                answers.push(read(reply).await.unwrap_or_else(|error| error.answer(id.as_ref())));
            }
        }
        if answers.is_empty() {
            return accepted();
        }
        rpc::json_response(StatusCode::OK, Value::Array(answers).to_string())
    }

    /// Passes a message to the protocol server.
    async fn forward(&self, parts: &Parts, id: Option<&Value>, body: Bytes) -> Response {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = parts.headers.clone();
        let headers = request.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.remove(header::TRANSFER_ENCODING);
        // The answer is always one JSON text, independent of the client's Accept header.
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(peer) = parts.extensions.get::<ConnectInfo<SocketAddr>>() {
            request.extensions_mut().insert(*peer);
        }
        let mut protocol = self.protocol.clone();
        let answered = match ServiceExt::<Request>::ready(&mut protocol).await {
            Ok(protocol) => protocol.call(request).await,
            Err(never) => match never {},
        };
        let (parts, body) = match answered {
            Ok(response) => response.into_parts(),
            Err(never) => match never {},
        };
        let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        if parts.status.is_success() || is_json {
            return Response::from_parts(parts, Body::new(body));
        }
        // Plain text becomes a message.
        let text = to_bytes(Body::new(body), 4096).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        tracing::debug!(status = parts.status.as_u16(), reason = %text, "a message was refused");
        let (status, error) = match parts.status {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                (StatusCode::BAD_REQUEST, RpcError::new(INVALID_PARAMS, "Invalid params: they do not match the method"))
            }
            status if status.is_server_error() => {
                tracing::error!(reason = %text, "the protocol's server failed");
                (status, RpcError::new(INTERNAL_ERROR, "Internal error"))
            }
            status => (status, RpcError::new(INVALID_REQUEST, text)),
        };
        error.response(status, id)
    }
}

/// The message in an answer.
pub(crate) async fn read(response: Response) -> Result<Value, RpcError> {
    let failed = || RpcError::new(INTERNAL_ERROR, "Internal error");
    let body = to_bytes(response.into_body(), 256 << 20).await.map_err(|_| failed())?;
    serde_json::from_slice(&body).map_err(|_| failed())
}

pub(crate) fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The body of a POST; an answer with the error if its type or length is wrong.
pub(crate) async fn post_body(api: &Api, headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let detail = "messages must have the type application/json";
        return Err(Api::problem(ErrorCode::UnsupportedMediaType, detail, None));
    }
    api.body(body).await.map_err(|refused| *refused)
}

/// The supported protocol revisions, newest first.
#[must_use]
pub fn protocol_versions() -> Vec<String> {
    rmcp::model::ProtocolVersion::KNOWN_VERSIONS.iter().rev().map(ToString::to_string).collect()
}
