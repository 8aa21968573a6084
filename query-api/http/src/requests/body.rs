//! Request bodies: JSON objects, parsed strictly, or plain text or a file if the operation accepts it.

use std::collections::BTreeMap;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use http_body_util::BodyExt;
use serde_json::{Value, error::Category, value::RawValue};

use crate::{
    answers::{
        code::ErrorCode,
        error::{ApiError, Location},
    },
    contract::{
        check::kind_of,
        input::Members,
        operation::{FileBody, Info},
    },
    limits::memory::{SMALL, Share},
};

/// Kind of a body, by its headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A JSON object.
    Json,
    /// Text for the field of this name.
    Text(&'static str),
    /// A file for a field, in base64.
    File(FileBody),
    /// Anything: the operation has no field in its body.
    Unread,
}

impl Kind {
    /// The kind that the headers declare. Text and files become a field, if the operation accepts them.
    ///
    /// # Errors
    /// Returns 415 for any other kind.
    pub(crate) fn of(headers: &HeaderMap, info: &Info) -> Result<Self, ApiError> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
            return Ok(Kind::Json);
        }
        let text = info.text_body.filter(|_| kind == "text/plain").map(Kind::Text);
        let file = info.file_body.filter(|file| kind == file.media).map(Kind::File);
        text.or(file).ok_or_else(unsupported)
    }

    /// The members of a body.
    ///
    /// # Errors
    /// Returns 400 `malformed_json`, or 422 for JSON that is not an object and for a file that is too long.
    pub(crate) fn members(self, bytes: &[u8]) -> Result<Members, ApiError> {
        match self {
            // The operation reports invalid text.
            Kind::Text(name) => Ok(only(name, String::from_utf8_lossy(bytes).into_owned())),
            Kind::File(file) if bytes.len() > file.max_fitting => {
                let message = format!("the file has {} bytes; at most {} are allowed", bytes.len(), file.max_bytes);
                Err(ApiError::validation(Location::Body, file.field, message))
            }
            Kind::File(file) => Ok(only(file.field, STANDARD.encode(bytes))),
            Kind::Json => json(bytes),
            Kind::Unread => Ok(Members::default()),
        }
    }
}

/// One field.
fn only(name: &str, text: String) -> Members {
    Members { values: [(name.to_owned(), Value::String(text))].into_iter().collect(), ..Members::default() }
}

/// Reads a body of at most `limit` bytes with any content. Its share of the memory grows as it comes.
///
/// # Errors
/// Returns 400 `incomplete_body`, 413, or 503 `overloaded`.
pub(crate) async fn bytes(mut body: Body, limit: usize, share: &Share) -> Result<Bytes, ApiError> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(part) = frame.map_err(|_| incomplete())?.into_data() else { continue };
        if read.len() + part.len() > limit {
            return Err(too_large(limit));
        }
        // The buffer doubles as it grows.
        let needed = (read.len() + part.len()) as u64 * 2;
        if needed > SMALL {
            share.hold(needed)?;
        }
        read.extend_from_slice(&part);
    }
    Ok(read.into())
}

fn unsupported() -> ApiError {
    let detail = "the body must be application/json, or another type that the operation's description lists";
    ApiError::new(ErrorCode::UnsupportedMediaType, detail)
}

/// 413.
pub(crate) fn too_large(limit: usize) -> ApiError {
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the body is larger than {limit} bytes"))
}

/// 400: the body could not be read.
fn incomplete() -> ApiError {
    let detail = "the body ended early, or its chunked encoding is broken";
    ApiError::new(ErrorCode::IncompleteBody, detail)
}

fn json(bytes: &[u8]) -> Result<Members, ApiError> {
    let malformed = |detail: String| ApiError::new(ErrorCode::MalformedJson, detail);
    if bytes.trim_ascii().is_empty() {
        return Err(malformed("the body is empty: send a JSON object".to_owned()));
    }
    let value = cairn_json::parse(bytes).map_err(|e| {
        let what = match e.classify() {
            Category::Data => "the body has a duplicate field",
            Category::Eof => "the body ends early, within its JSON",
            Category::Syntax if e.to_string().starts_with("trailing characters") => {
                "the body is JSON with more after its end"
            }
            Category::Syntax | Category::Io => "the body is not JSON",
        };
        malformed(format!("{what}: line {}, column {}", e.line(), e.column()))
    })?;
    let values = match value {
        Value::Object(values) => values,
        other => {
            let message = format!("expected a JSON object, got {}", kind_of(&other));
            return Err(ApiError::validation(Location::Body, "body", message));
        }
    };
    let mut numbers = BTreeMap::new();
    if values.values().any(Value::is_f64) {
        // It has just been parsed as an object.
        let written: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes).unwrap_or_default();
        let floats = written.into_iter().filter(|(name, _)| values.get(name).is_some_and(Value::is_f64));
        numbers = floats.map(|(name, raw)| (name, raw.get().to_owned())).collect();
    }
    Ok(Members { values, numbers })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::{Strategy, any, prop, proptest};
    use serde_json::{Map, json};

    use super::*;
    use crate::{contract::operation::FileBody, limits::memory::FlightMemory};

    const PLAIN: Info = Info::get("name", "/path", "area");
    const OPEN: Info = Info {
        text_body: Some("text"),
        file_body: Some(FileBody { media: "application/vnd.test", field: "file", max_bytes: 30, max_fitting: 33 }),
        ..PLAIN
    };

    async fn members(headers: &HeaderMap, body: Body, limit: usize, info: &Info) -> Result<Members, ApiError> {
        let kind = Kind::of(headers, info)?;
        kind.members(&bytes(body, limit, &FlightMemory::new().share(None)).await?)
    }

    async fn read(kind: &'static str, bytes: &[u8], limit: usize) -> Result<Members, (u16, &'static str, String)> {
        let mut headers = HeaderMap::new();
        if !kind.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        let read = members(&headers, Body::from(bytes.to_vec()), limit, &OPEN).await;
        read.map_err(|e| (e.status.as_u16(), e.code.name(), e.detail.clone()))
    }

    async fn refusal(kind: &'static str, bytes: &[u8]) -> (u16, &'static str) {
        let (status, code, _) = read(kind, bytes, 1000).await.unwrap_err();
        (status, code)
    }

    const JSON: &str = "application/json";

    #[tokio::test]
    async fn bodies_are_json_objects() {
        for kind in [JSON, "application/JSON; charset=utf-8", "application/vnd.api+json"] {
            let found = read(kind, b" {\"a\": 1, \"b\": [null, {\"a\": \"x\"}]} ", 1000).await.unwrap();
            assert_eq!(Value::Object(found.values), json!({"a": 1, "b": [null, {"a": "x"}]}));
            assert!(found.numbers.is_empty());
        }
        for bytes in ["[]", "[{\"a\": 1}]", "1", "1.5", "null", "true", "\"{}\""] {
            assert_eq!(refusal(JSON, bytes.as_bytes()).await, (422, "validation_error"), "{bytes:?}");
        }
        let (_, _, detail) = read(JSON, b"[]", 100).await.unwrap_err();
        assert_eq!(detail, "body: expected a JSON object, got array");
        for bytes in ["", "{", "{\"a\"}", "{} {}", "{'a':1}", "{\"a\":01}", "{\"a\":NaN}", "\u{feff}{}"] {
            assert_eq!(refusal(JSON, bytes.as_bytes()).await, (400, "malformed_json"), "{bytes:?}");
        }
        for kind in ["", "text/html", "application/x-www-form-urlencoded", "multipart/form-data", "json", "é"] {
            let kind = if kind == "é" { "image/png" } else { kind };
            assert_eq!(refusal(kind, b"{}").await, (415, "unsupported_media_type"), "{kind}");
        }
    }

    #[tokio::test]
    async fn hostile_json_is_refused() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(400), "]".repeat(400));
        for bytes in [
            deep.as_bytes(),
            b"{\"a\":1,\"a\":1}",
            b"{\"x\":{\"a\":1,\"\\u0061\":2}}",
            b"{\"x\":[{\"a\":1.5,\"a\":2}]}",
            b"{\"a\":\"\xff\"}",
            b"{\"\xc3\x28\":1}",
            b"{\"a\":\"\\ud800\"}",
            b"{\"a\":1e400}",
            b"{\"a\":\"\n\"}",
        ] {
            assert_eq!(refusal(JSON, bytes).await, (400, "malformed_json"), "{}", String::from_utf8_lossy(bytes));
        }
        let (_, _, detail) = read(JSON, b"{\n\"a\":1,\n\"a\":1}", 100).await.unwrap_err();
        assert!(detail.starts_with("the body has a duplicate field: line 3"), "{detail}");
    }

    #[tokio::test]
    async fn numbers_keep_their_digits() {
        let body =
            br#"{"a":0.10000000000000000001,"b":123456789012345678901234567890,"c":1e-8,"d":7,"e":-1,"f":{"g":1.5}}"#;
        let found = read(JSON, body, 1000).await.unwrap();
        let kept: Vec<(&str, &str)> = found.numbers.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(kept, [("a", "0.10000000000000000001"), ("b", "123456789012345678901234567890"), ("c", "1e-8")]);
        assert_eq!((&found.values["d"], &found.values["e"]), (&7.into(), &(-1).into()));
    }

    #[tokio::test]
    async fn text_where_it_is_taken() {
        let found = read("text/plain; charset=utf-8", b"00ff\n", 1000).await.unwrap();
        assert_eq!(Value::Object(found.values), json!({"text": "00ff\n"}));
        assert!(read("text/plain", b"\xff\xfe", 1000).await.is_ok());
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        let refused = members(&headers, Body::from("00"), 1000, &PLAIN).await.unwrap_err();
        assert_eq!(refused.status, 415);
    }

    #[tokio::test]
    async fn files_where_they_are_taken() {
        let found = read("application/vnd.Test; a=b", b"\x00\xff{}", 1000).await.unwrap();
        assert_eq!(Value::Object(found.values), json!({"file": "AP97fQ=="}));
        assert_eq!(Value::Object(read("application/vnd.test", b"", 1000).await.unwrap().values), json!({"file": ""}));
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/vnd.test"));
        assert_eq!(members(&headers, Body::from("00"), 1000, &PLAIN).await.unwrap_err().status, 415);
    }

    #[tokio::test]
    async fn a_long_file_names_its_size_and_the_limit() {
        // The operation itself refuses what fits and is still too long.
        assert!(read("application/vnd.test", &[0; 33], 1000).await.is_ok());
        let (status, code, detail) = read("application/vnd.test", &[0; 34], 1000).await.unwrap_err();
        assert_eq!((status, code), (422, "validation_error"));
        assert_eq!(detail, "file: the file has 34 bytes; at most 30 are allowed");
    }

    #[tokio::test]
    async fn bodies_are_bounded() {
        assert!(read(JSON, b"{\"a\":\"bcdefghijkl\"}", 19).await.is_ok());
        for kind in [JSON, "text/plain", "application/vnd.test"] {
            assert_eq!(read(kind, b"{\"a\":\"bcdefghijkl\"}", 18).await.unwrap_err().0, 413);
        }
    }

    proptest! {
        /// Output of serde_json reads back unchanged.
        #[test]
        fn values_survive(members in prop::collection::btree_map(".{0,5}", value(), 0..6)) {
            let members: Map<String, Value> = members.into_iter().collect();
            let text = Value::Object(members.clone()).to_string();
            proptest::prop_assert_eq!(json(text.as_bytes()).unwrap().values, members);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = json(&bytes);
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = proptest::prop_oneof![
            proptest::strategy::Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            proptest::prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }
}
