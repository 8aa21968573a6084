//! Checks before the protocol server: hosts, size limits, batches, and the old transport.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};
use cairn_http::{Api, ErrorCode, Hosts, StreamSlots};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService, streamable_http_server::session::never::NeverSessionManager,
};
use tower::{Service, ServiceExt};

use crate::{
    Options,
    batch::{self, BatchHandler},
    bound::Sizes,
    exchange::{AnsweredMessage, Exchange, Form},
    handler::Handler,
    message::{self, Incoming, MAX_FRAME, Message},
    rpc::{self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError},
    streams::Outlet,
};

/// The header with the session of a client of Streamable HTTP.
pub(crate) const SESSION: &str = "mcp-session-id";

/// Maximum size of an answer of the protocol server in bytes: pictures are the longest part of any.
const MAX_PROTOCOL_ANSWER: usize = 2 << 20;

/// State shared by the routes.
pub(crate) struct Front {
    pub(crate) api: Api,
    pub(crate) hosts: Hosts,
    pub(crate) options: Options,
    pub(crate) streams: Arc<StreamSlots<Outlet>>,
    protocol: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Front {
    pub(crate) fn new(api: Api, options: Options) -> Self {
        let handler =
            Handler::new(api.clone(), Sizes { short: options.short_answer_bytes, long: options.max_answer_bytes });
        let config = StreamableHttpServerConfig::default()
            // Stateless: no data is kept between requests, so none must be bounded or shared between machines.
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(api.config().max_body_bytes)
            // Hosts and origins are checked here, for both transports.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        Front {
            hosts: Hosts::new(&api.config().base_url, &api.config().browser_origins),
            streams: Arc::default(),
            protocol: StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config),
            api,
            options,
        }
    }

    /// Answers the body of a POST: one message or a batch.
    pub(crate) async fn answer(self: &Arc<Self>, parts: &Parts, body: Bytes) -> Response {
        let parsed = self.api.off_workers(body.len(), move || message::parse(&body)).await;
        let incoming = parsed.unwrap_or_else(|_| Err(RpcError::new(INTERNAL_ERROR, "Internal error")));
        match incoming {
            Err(error) => error.response(StatusCode::BAD_REQUEST, None),
            Ok(Incoming::Batch(messages)) => batch::answer(self, parts, messages).await,
            Ok(Incoming::One(message)) => match rpc::check(&message.value) {
                Ok(()) => self.forward(parts, message).await.into_response(),
                Err(error) => error.response(StatusCode::BAD_REQUEST, rpc::id_of(&message.value)),
            },
        }
    }

    /// Passes a message to the protocol server.
    pub(crate) async fn forward(&self, parts: &Parts, message: Message) -> AnsweredMessage {
        let id = rpc::id_of(&message.value).cloned();
        let (is_request, is_call) = (message.is_request(), message.is_call());
        let Some(frame) = message.frame else {
            let text = format!(
                "Invalid Request: without the arguments of a tool, a message must have at most {MAX_FRAME} bytes"
            );
            return RpcError::new(INVALID_REQUEST, text).answered(StatusCode::BAD_REQUEST, id.as_ref());
        };
        // The call of a tool takes the place of its operation.
        let place = if is_request && !is_call { Some(self.api.admit(parts).await) } else { None };
        if let Some(Err(error)) = place {
            return RpcError::of(&error).answered(error.status, id.as_ref());
        }
        let exchange = Exchange::new(message.bytes, Form::of(parts), message.arguments);
        let mut request = Request::new(Body::from(frame));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = parts.headers.clone();
        let headers = request.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.remove(header::TRANSFER_ENCODING);
        // The answer is always one JSON text, independent of the client's Accept header.
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.extensions_mut().insert(Arc::clone(&exchange));
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
        // Long parts of the answer have bypassed it.
        let body = to_bytes(Body::new(body), MAX_PROTOCOL_ANSWER).await;
        let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        let text = match body {
            Ok(body) if parts.status.is_success() || is_json => {
                return AnsweredMessage {
                    status: parts.status,
                    headers: parts.headers,
                    pieces: exchange.complete(body),
                };
            }
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "the protocol's server failed");
                let failed = RpcError::new(INTERNAL_ERROR, "Internal error");
                return failed.answered(StatusCode::INTERNAL_SERVER_ERROR, id.as_ref());
            }
        };
        // Plain text becomes a message.
        let text: String = String::from_utf8_lossy(&text).chars().take(4096).collect();
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
        error.answered(status, id.as_ref())
    }
}

impl BatchHandler for Arc<Front> {
    fn options(&self) -> &Options {
        &self.options
    }

    fn charge(&self, units: u32, parts: &Parts) -> Result<(), RpcError> {
        self.api.charge(units, parts).map_err(|error| RpcError::of(&error))
    }

    fn answer(&self, parts: &Parts, message: Message) -> impl Future<Output = AnsweredMessage> + Send {
        self.forward(parts, message)
    }
}

/// The body of a POST; an answer with the error if its type or length is wrong.
pub(crate) async fn post_body(api: &Api, parts: &Parts, body: Body) -> Result<Bytes, Response> {
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let detail = "messages must have the type application/json";
        return Err(Api::problem(ErrorCode::UnsupportedMediaType, detail, None));
    }
    api.body(body, parts).await.map_err(|refused| *refused)
}

/// The supported protocol revisions, newest first.
#[must_use]
pub fn protocol_versions() -> Vec<String> {
    rmcp::model::ProtocolVersion::KNOWN_VERSIONS.iter().rev().map(ToString::to_string).collect()
}
