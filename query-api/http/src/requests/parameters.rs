//! Parameters from an HTTP request or from one object.

use axum::{
    extract::{FromRequestParts, Query, RawPathParams},
    http::{HeaderMap, Uri, request::Parts},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::{
    answers::{
        code::ErrorCode,
        error::{ApiError, Location},
    },
    contract::{
        input::{Members, Raw},
        method::Method,
        operation::RegisteredOperation,
        secret_header::SecretHeader,
    },
};

/// Parameters that a query string may have.
const MAX_PARAMETERS: usize = 100;

/// Path and query parameters, decoded, and the secret in its header.
pub(super) async fn from_request(parts: &mut Parts, secret: Option<SecretHeader>) -> Result<Raw, ApiError> {
    let path = RawPathParams::from_request_parts(parts, &())
        .await
        .map_err(|_| ApiError::new(ErrorCode::InvalidPath, "the path is not valid UTF-8"))?;
    let path = path.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let unreadable = |detail: &str| ApiError::new(ErrorCode::InvalidQuery, detail);
    // Before they are parsed: each is decoded, compared and perhaps warned of.
    if parts.uri.query().is_some_and(|query| query.split('&').nth(MAX_PARAMETERS).is_some()) {
        let detail = format!("the query string has more than {MAX_PARAMETERS} parameters; no operation has as many");
        return Err(unreadable(&detail));
    }
    let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map_err(|_| unreadable("the query string cannot be read"))?;
    // Invalid UTF-8 has been replaced by other text.
    if query.iter().any(|(_, value)| value.contains(char::REPLACEMENT_CHARACTER)) && !is_text(&parts.uri) {
        return Err(unreadable("the query string is not valid UTF-8"));
    }
    Ok(Raw { path, query, secret: secret_in(&parts.headers, secret), ..Raw::default() })
}

/// The value of a header with a secret. A header that is given more than once has none.
fn secret_in(headers: &HeaderMap, header: Option<SecretHeader>) -> Option<String> {
    let mut values = headers.get_all(header?.name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok().map(|text| text.trim().to_owned())
}

/// True if the decoded query string is UTF-8.
fn is_text(uri: &Uri) -> bool {
    percent_decode(uri.query().unwrap_or_default().as_bytes()).decode_utf8().is_ok()
}

/// The parameters of one object, by their locations. Unknown ones are passed on, so that they give a warning. Null, and
/// empty text in the path, count as not given.
pub(crate) fn from_object(op: &RegisteredOperation, members: Map<String, Value>) -> Raw {
    let mut raw = Raw::default();
    for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
        let at = |location| op.input.fields.iter().any(|f| f.location == location && f.name == name);
        match op.info.method {
            _ if at(Location::Header) => raw.secret = Some(text_of(&value)),
            _ if at(Location::Path) => {
                let text = text_of(&value);
                if !text.is_empty() {
                    raw.path.push((name, text));
                }
            }
            Method::Get => raw.query.push((name, text_of(&value))),
            Method::Post => insert(&mut raw.body, name, value),
        }
    }
    raw
}

fn insert(body: &mut Members, name: String, value: Value) {
    if value.is_f64() {
        body.numbers.insert(name.clone(), value.to_string());
    }
    body.values.insert(name, value);
}

/// The same request over HTTP: a path with an optional query string, without the body.
pub(super) fn target_of(op: &RegisteredOperation, members: &Map<String, Value>) -> String {
    // No valid request is this long: the template says enough.
    let is_get = op.info.method == Method::Get;
    if is_get && (members.len() > TOO_MANY || members.values().map(length_of).sum::<usize>() > TOO_LONG) {
        return op.info.path.to_owned();
    }
    let mut target = String::new();
    let at = |location, name: &str| op.input.fields.iter().any(|f| f.location == location && f.name == name);
    let is_elsewhere = |name: &str| at(Location::Path, name) || at(Location::Header, name);
    for segment in op.info.path.split('/').skip(1) {
        target.push('/');
        match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            None => target.push_str(segment),
            Some(name) => match members.get(name).map(text_of).filter(|text| !text.is_empty()) {
                Some(text) => target.extend(utf8_percent_encode(&text, KEPT)),
                None => target.push('-'),
            },
        }
    }
    if op.info.method == Method::Get {
        let others = members.iter().filter(|(name, value)| !is_elsewhere(name) && !value.is_null());
        for (at, (name, value)) in others.enumerate() {
            target.push(if at == 0 { '?' } else { '&' });
            target.extend(utf8_percent_encode(name, KEPT));
            target.push('=');
            target.extend(utf8_percent_encode(&text_of(value), KEPT));
        }
    }
    target
}

/// More arguments, or longer ones in all, are not written as a URL.
const TOO_MANY: usize = 64;
const TOO_LONG: usize = 4096;

/// About the length of a value as text, without writing it.
fn length_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(_) | Value::Object(_) => TOO_LONG,
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// Characters besides letters and digits that are not percent-encoded.
pub(crate) const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// A parameter as text of a URL.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
