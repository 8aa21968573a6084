//! Calls the API from inside the process, with the same checks, limits and errors as over the network.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Instant,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::ConnectInfo,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Request, StatusCode, Uri, header, request::Parts,
    },
    response::{IntoResponse, Response},
};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use tower::ServiceExt;
use tracing::Instrument;

use super::{
    ask::Answer,
    body,
    execute::{Caller, Input, execute},
    http::{CountedAnswer, PaidAnswer, ToolRequest, not_as_tool},
    parameters::{from_object, target_of},
};
use crate::{
    access::headers::{PAYMENT_REQUIRED, PAYMENT_RESPONSE},
    answers::{
        code::ErrorCode,
        error::{ApiError, Location, PROBLEM},
        meta::Meta,
    },
    config::HttpConfig,
    contract::{
        cost::Cost, input::Field, nearest, offer::Tier, operation::RegisteredOperation, output::JSON, tool::Effect,
    },
    describe::{discovery, openapi, paying::price_now, unions},
    limits::{
        admission::Permit,
        client::Client,
        size::{off_workers, units_of_body},
    },
    server::Server,
    transport::names::REQUEST_ID,
};

/// The API, for other interfaces such as MCP.
#[derive(Clone)]
pub struct Api {
    pub(crate) server: Arc<Server>,
    pub(crate) router: Router,
}

/// Description of an operation.
#[derive(Clone, Debug)]
pub struct OperationDescription {
    /// Unique name.
    pub name: &'static str,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Path template.
    pub path: &'static str,
    /// The path, prefixed with the method unless it is GET: `_meta.endpoint` of its answers.
    pub endpoint: String,
    /// Area.
    pub area: &'static str,
    /// One line.
    pub summary: &'static str,
    /// One paragraph.
    pub description: &'static str,
    /// True if it is paid after the beta.
    pub premium: bool,
    /// Name of its tool; `None` if it is not in the list of tools.
    pub tool: Option<&'static str>,
    /// The texts after "Use when" and "Not for"; empty if it is not in the list of tools.
    pub guidance: (&'static str, &'static str),
    /// Effect of a call.
    pub effect: Effect,
    /// The fields of the answer that the tool gives; empty: all.
    pub fields: &'static [&'static str],
    /// Cost class.
    pub cost: Cost,
    /// True if some requests need a wallet session.
    pub conditional: bool,
    /// The price of a call for the reader, if calls must be paid; `None` if they are free.
    pub paid: Option<String>,
    /// True if no part of its input is repeated.
    pub private: bool,
    /// JSON schema (2020-12) of its input: path, query and body parameters in one object.
    pub input_schema: Value,
    /// Groups of parameters of which exactly one is required.
    pub exactly_one: Vec<Vec<String>>,
    /// Groups of parameters of which at most one may be given.
    pub at_most_one: Vec<Vec<String>>,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Media type, with its parameters.
    pub media_type: String,
    /// Id of the request.
    pub request_id: Option<String>,
    /// Body.
    pub body: Bytes,
    /// URL of the same request over HTTP, without the body.
    pub url: String,
    /// True for a document or page: not the answer of an operation, and no error. Its body is left out.
    pub is_document: bool,
    /// True if a payment for this call opened it: the answer must reach its client whole.
    pub is_paid: bool,
    /// `PAYMENT-REQUIRED` and `PAYMENT-RESPONSE`, if it has them.
    pub payment_headers: HeaderMap,
}

/// A request that admission control let in. Its slot is free again when this is dropped.
#[derive(Debug)]
pub struct AdmittedRequest {
    _permit: Permit,
}

/// Maximum size of an answer in bytes. Operations have far lower limits.
const MAX_ANSWER: usize = 64 << 20;

/// Headers that belong to a request, not to its sender.
const OF_THE_REQUEST: [HeaderName; 9] = [
    header::HOST,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::TE,
    header::UPGRADE,
    header::EXPECT,
    header::RANGE,
    header::ORIGIN,
    header::CACHE_CONTROL,
];
const PREFIXES_OF_THE_REQUEST: [&str; 5] = ["accept", "content-", "if-", "mcp-", "sec-"];

impl Api {
    /// Configuration.
    #[must_use]
    pub fn config(&self) -> &HttpConfig {
        &self.server.config
    }

    /// All implemented operations that tools may call, in listing order.
    #[must_use]
    pub fn operations(&self) -> Vec<OperationDescription> {
        let allowed = self.server.operations.iter().filter(|op| op.is_for_tools(&self.server.config));
        allowed.map(|op| described(op, &self.server)).collect()
    }

    /// JSON schema (2020-12) of an operation's JSON answer; `None` if there is no such operation.
    #[must_use]
    pub fn answer_schema(&self, name: &str) -> Option<AnswerSchema> {
        let op = self.server.operations.iter().find(|op| op.info.name == name)?;
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|s| s.meta_schema = None);
        let mut generator = settings.into_generator();
        let output = op.output_schema(&mut generator).to_value();
        let meta = generator.subschema_for::<Meta<'_>>().to_value();
        let mut definitions = generator.take_definitions(true);
        openapi::relax(op, &mut definitions);
        definitions.values_mut().for_each(unions::words);
        let answer = match op.has_json() {
            // A file has no `_meta`. Callers that cannot pass on bytes wrap it.
            false => json!({
                "type": "object",
                "properties": {
                    "content_type": {"type": "string"},
                    "text": {"type": "string", "description": "The file, if it is text."},
                    "base64": {"type": "string", "description": "The bytes of the file, if it is not."},
                },
                "required": ["content_type"],
            }),
            true => json!({"allOf": [
                output,
                {"type": "object", "required": ["_meta"], "properties": {"_meta": meta}},
            ]}),
        };
        Some(AnswerSchema { answer, definitions })
    }

    /// Calls an operation with its parameters in one object; `None` if there is no such operation.
    /// `bytes` is the size of the message with the parameters.
    pub async fn call(&self, name: &str, input: Map<String, Value>, bytes: usize, from: &Parts) -> Option<Reply> {
        let server = &self.server;
        let at = server.operations.iter().position(|op| op.info.name == name)?;
        if let Some(op) = server.operations.get(at).filter(|op| !op.is_for_tools(&server.config)) {
            return Some(self.refused(not_as_tool(), op.info.path).await);
        }
        self.execute(at, input, bytes, from).await
    }

    /// Executes the operation at `at` of the list; `None` if there is none.
    pub(super) async fn execute(
        &self,
        at: usize,
        input: Map<String, Value>,
        bytes: usize,
        from: &Parts,
    ) -> Option<Reply> {
        let server = &self.server;
        let shared = Arc::clone(server);
        let prepared = off_workers(bytes, move || {
            let op = shared.operations.get(at)?;
            Some((target_of(op, &input), from_object(op, input)))
        });
        let (target, raw) = match prepared.await {
            Ok(prepared) => prepared?,
            Err(error) => return Some(self.refused(error, "").await),
        };
        let id = server.new_id().to_string();
        let caller = Caller {
            client: client_of(from, server),
            paid: 0,
            headers: &from.headers,
            is_own: false,
            is_head: false,
            alias: None,
            if_none_match: None,
            id: &id,
            began: Instant::now(),
        };
        let span = tracing::info_span!("request", %id);
        // Boxed: it is deep, and so are the futures of those who call.
        let result = Box::pin(execute(server, at, Input::Ready(raw), caller)).instrument(span).await;
        let (mut is_paid, mut payment_headers) = (false, HeaderMap::new());
        let (status, media_type, body) = match result {
            Ok(Answer::Body { media_type, content, notes, .. }) => {
                is_paid = notes.is_paid;
                payment_headers.extend(notes.headers);
                let status = if notes.is_accepted { StatusCode::ACCEPTED } else { StatusCode::OK };
                (status, media_type, content.into_bytes())
            }
            // The caller has no earlier version.
            Ok(Answer::NotModified { .. }) => (StatusCode::NOT_MODIFIED, JSON, Vec::new()),
            Err(error) => {
                let path = target.split('?').next().unwrap_or_default();
                payment_headers.extend(error.headers.iter().cloned());
                (error.status, PROBLEM, error.body(&server.config.base_url, &id, path))
            }
        };
        Some(Reply {
            status: status.as_u16(),
            media_type: media_type.to_owned(),
            request_id: Some(id),
            body: body.into(),
            url: self.url(&target),
            is_document: false,
            is_paid,
            payment_headers: of_payment(&payment_headers),
        })
    }

    /// Answers a request to any route of the API: a path, with a query string if there is one, and a JSON body for
    /// POST. `bytes` is the size of the message with both.
    pub async fn request(&self, method: &str, target: &str, body: Option<Value>, bytes: usize, from: &Parts) -> Reply {
        let method = HttpMethod::from_bytes(method.as_bytes()).ok();
        let uri = Uri::try_from(target).ok().filter(|uri| uri.scheme().is_none() && uri.authority().is_none());
        let (Some(method), Some(uri)) = (method, uri) else {
            return self.refused(unreadable(target), "").await;
        };
        let has_body = body.is_some();
        let written = off_workers(bytes, || body.map_or_else(Body::empty, |body| Body::from(body.to_string()))).await;
        let body = match written {
            Ok(body) => body,
            Err(error) => return self.refused(error, "").await,
        };
        let mut request = Request::new(body);
        (*request.method_mut(), *request.uri_mut()) = (method, uri);
        if has_body {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.send(request, from).await
    }

    /// The client that a request is counted for: the peer of the connection, or the client behind trusted proxies; the
    /// /64 of an IPv6 address. `None` without a connection.
    #[must_use]
    pub fn client(&self, from: &Parts) -> Option<IpAddr> {
        client_of(from, &self.server).map(Client::network)
    }

    async fn send(&self, mut request: Request<Body>, from: &Parts) -> Reply {
        for (name, value) in &from.headers {
            let of_the_request = OF_THE_REQUEST.contains(name)
                || PREFIXES_OF_THE_REQUEST.iter().any(|prefix| name.as_str().starts_with(prefix));
            if !of_the_request {
                request.headers_mut().append(name, value.clone());
            }
        }
        if let Some(peer) = from.extensions.get::<ConnectInfo<SocketAddr>>() {
            request.extensions_mut().insert(*peer);
        }
        request.extensions_mut().insert(ToolRequest);
        let url = self.url(request.uri().path_and_query().map_or("", |target| target.as_str()));
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        read(response, url).await
    }

    fn url(&self, target: &str) -> String {
        format!("{}{target}", self.server.config.base_url)
    }

    /// The answer to an invalid request.
    async fn refused(&self, error: ApiError, path: &str) -> Reply {
        let id = self.server.new_id().to_string();
        read(error.render(&self.server.config.base_url, &id, path), self.url(path)).await
    }

    /// An error of another interface to the API. The layers around the routes give it the same body as every error.
    #[must_use]
    pub fn problem(code: ErrorCode, detail: &str, retry_after: Option<u32>) -> Response {
        let error = ApiError::new(code, detail);
        match retry_after {
            Some(seconds) => error.retryable(Some(seconds)).into_response(),
            None => error.into_response(),
        }
    }

    /// Reads the body of a request up to the configured size, and charges its client for the size.
    ///
    /// # Errors
    /// Returns the answer 400 `incomplete_body`, 413 `payload_too_large` or 429 `rate_limited`.
    pub async fn body(&self, body: Body, from: &Parts) -> Result<Bytes, Box<Response>> {
        let share = self.server.flight.share(client_of(from, &self.server).as_ref());
        let read = body::bytes(body, self.server.config.max_body_bytes, &share).await;
        let charged = read.and_then(|bytes| self.charge(units_of_body(bytes.len()), from).map(|()| bytes));
        charged.map_err(|error| Box::new(error.into_response()))
    }

    /// Charges units to the client of a request. Without a connection nobody is charged.
    ///
    /// # Errors
    /// Returns 429 `rate_limited`.
    pub fn charge(&self, units: u32, from: &Parts) -> Result<(), ApiError> {
        match client_of(from, &self.server) {
            Some(client) if units > 0 => self.server.charge(&client, units),
            _ => Ok(()),
        }
    }

    /// Waits for a place for other work that is as cheap as a light operation.
    ///
    /// # Errors
    /// Returns 503 `overloaded`.
    pub async fn admit(&self, from: &Parts) -> Result<AdmittedRequest, ApiError> {
        let (client, limit) = (client_of(from, &self.server), self.server.config.request_timeout);
        let entered = self.server.admission.enter(Cost::Light, client.as_ref(), limit).await;
        entered.map(|permit| AdmittedRequest { _permit: permit })
    }

    /// Runs `work`, which takes time in proportion to `bytes`: on a blocking thread if they are many.
    ///
    /// # Errors
    /// Returns 500 if `work` panicked.
    pub async fn off_workers<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        off_workers(bytes, work).await
    }

    /// How clients authenticate, and what needs it: the same in every document.
    #[must_use]
    pub fn authentication(&self) -> Value {
        discovery::authentication(&self.server.operations, &self.server.config)
    }

    /// The nearest of some names to one that does not exist, if one is near enough.
    #[must_use]
    pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        nearest::nearest(name, names)
    }

    /// 405 with the supported methods.
    #[must_use]
    pub fn method_not_allowed(method: &HttpMethod, allow: &str) -> Response {
        ApiError::method_not_allowed(method, allow.to_owned()).into_response()
    }
}

/// Schema of an answer.
#[derive(Clone, Debug)]
pub struct AnswerSchema {
    /// The answer with its `_meta`. References begin with `#/$defs/`.
    pub answer: Value,
    /// The referenced schemas.
    pub definitions: Map<String, Value>,
}

/// The headers about a payment.
fn of_payment(headers: &HeaderMap) -> HeaderMap {
    let kept = [PAYMENT_REQUIRED, PAYMENT_RESPONSE];
    kept.into_iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone()))).collect()
}

async fn read(response: Response, url: String) -> Reply {
    let (parts, body) = response.into_parts();
    let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (media_type, request_id) = (text(header::CONTENT_TYPE).unwrap_or_default(), text(REQUEST_ID));
    let is_document = parts.status.is_success() && parts.extensions.get::<CountedAnswer>().is_none();
    let is_paid = parts.extensions.get::<PaidAnswer>().is_some();
    let reply = Reply {
        status: parts.status.as_u16(),
        media_type,
        request_id,
        body: Bytes::new(),
        url,
        is_document,
        is_paid,
        payment_headers: of_payment(&parts.headers),
    };
    if is_document {
        return reply;
    }
    match to_bytes(body, MAX_ANSWER).await {
        Ok(body) => Reply { body, ..reply },
        Err(error) => {
            tracing::error!(%error, "cannot read an answer to its end");
            Reply { status: 500, media_type: String::new(), is_paid: false, ..reply }
        }
    }
}

/// The client that a request is counted for.
pub(super) fn client_of(from: &Parts, server: &Server) -> Option<Client> {
    let ConnectInfo(peer) = from.extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(Client::of(*peer, &from.headers, &server.config))
}

fn described(op: &RegisteredOperation, server: &Server) -> OperationDescription {
    let info = &op.info;
    OperationDescription {
        name: info.name,
        method: info.method.name(),
        path: info.path,
        endpoint: info.endpoint(),
        area: info.area,
        summary: info.summary,
        description: info.description,
        premium: op.offer.tier == Tier::Premium,
        tool: info.tool.listed.then(|| info.tool.name.unwrap_or(info.name)),
        guidance: (info.tool.when, info.tool.not_for),
        effect: info.tool.effect,
        fields: info.tool.fields,
        cost: info.cost,
        conditional: info.conditional && server.config.gates_enabled,
        paid: price_now(op, &server.config),
        private: info.private,
        input_schema: input_schema(op, server),
        exactly_one: op.input.exactly_one.clone(),
        at_most_one: op.input.at_most_one.clone(),
    }
}

fn input_schema(op: &RegisteredOperation, server: &Server) -> Value {
    let schema = |field: &Field| {
        let mut schema = field.schema.clone();
        openapi::leave_out_null(&mut schema);
        if let (Some(example), Some(members)) = (server.about.example(&schema), schema.as_object_mut()) {
            members.insert("examples".to_owned(), json!([example]));
        }
        schema
    };
    let properties: Map<String, Value> = op.input.fields.iter().map(|f| (f.name.clone(), schema(f))).collect();
    let needed = |f: &&Field| f.required || f.location == Location::Path;
    let required: Vec<&str> = op.input.fields.iter().filter(needed).map(|f| f.name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn unreadable(target: &str) -> ApiError {
    let (length, max) = (target.len(), usize::from(u16::MAX));
    if length > max {
        let detail = format!("the path and its parameters have {length} bytes; at most {max} are allowed");
        ApiError::new(ErrorCode::UriTooLong, detail)
    } else {
        ApiError::new(ErrorCode::InvalidPath, "expected a method and a path that begins with a slash")
    }
}
