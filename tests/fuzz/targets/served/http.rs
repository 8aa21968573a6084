//! HTTP requests: every one is answered with a documented status and a body of its type.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Method, Request, Uri},
};

use super::world::World;

/// A request as on the wire, with lines that end in LF: method and target, headers, an empty line, the body. Bytes that
/// are not a request do not reach the router.
pub fn run(bytes: &[u8]) {
    if let Some(request) = parse(bytes) {
        let is_head = *request.method() == Method::HEAD;
        let answer = World::get().ask(request);
        answer.assert_documented();
        assert!(!is_head || answer.body.is_empty(), "the answer to HEAD has a body");
        assert!(answer.headers.contains_key("x-request-id"), "an answer without an id: {:?}", answer.headers);
    }
}

fn parse(bytes: &[u8]) -> Option<Request<Body>> {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let first = lines.next()?;
    let at = first.iter().position(|byte| *byte == b' ')?;
    let mut request =
        Request::builder().method(Method::from_bytes(&first[..at]).ok()?).uri(Uri::try_from(&first[at + 1..]).ok()?);
    let mut rest = lines.next().unwrap_or_default();
    loop {
        let mut lines = rest.splitn(2, |byte| *byte == b'\n');
        let line = lines.next().unwrap_or_default();
        rest = lines.next().unwrap_or_default();
        if line.is_empty() {
            break;
        }
        let at = line.iter().position(|byte| *byte == b':')?;
        let value = line[at + 1..].trim_ascii();
        request = request.header(HeaderName::from_bytes(&line[..at]).ok()?, HeaderValue::from_bytes(value).ok()?);
    }
    request.body(Body::from(rest.to_vec())).ok()
}
