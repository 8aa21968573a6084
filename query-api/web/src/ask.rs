//! Asks operations. A page shows the answer of an operation, or its refusal.

use axum::http::{StatusCode, request::Parts};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{meta::Source, operations::Request, site::Site};

/// An answer with where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Told<T> {
    pub(crate) data: T,
    pub(crate) source: Source,
}

/// Why there is no answer: an error of the operation, in its words.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    #[serde(rename = "error")]
    pub(crate) code: String,
    pub(crate) title: String,
    pub(crate) detail: String,
    /// Path of the same question to the API.
    #[serde(skip)]
    pub(crate) path: String,
    #[serde(skip)]
    pub(crate) retry_after: Option<u64>,
}

impl Default for Refused {
    fn default() -> Self {
        Refused {
            status: 500,
            code: "internal_error".to_owned(),
            title: "The answer cannot be shown".to_owned(),
            detail: "The server has logged why.".to_owned(),
            path: String::new(),
            retry_after: None,
        }
    }
}

impl Refused {
    pub(crate) fn http_status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

pub(crate) type Part<T> = Result<Told<T>, Refused>;

impl Site {
    /// Asks an operation. `input` is an object; members that are null are left out.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        from: &Parts,
        operation: &'static str,
        input: Value,
    ) -> Part<T> {
        let mut input = match input {
            Value::Object(input) => input,
            _ => Map::new(),
        };
        input.retain(|_, value| !value.is_null());
        let bytes = from.uri.path_and_query().map_or(0, |target| target.as_str().len());
        self.send(Request { operation, input, bytes, from, is_form: false }).await
    }

    /// The same with the size of a body that the parameters came in.
    pub(crate) async fn send<T: DeserializeOwned>(&self, request: Request<'_>) -> Part<T> {
        let operation = request.operation;
        let Some(reply) = self.operations.call(request).await else {
            tracing::error!(operation, "a page asks for an operation that does not exist");
            return Err(Refused::default());
        };
        let path = path_of(&reply.url);
        if !(200..300).contains(&reply.status) {
            return Err(Refused { path, ..serde_json::from_slice(&reply.body).unwrap_or_default() });
        }
        let read = serde_json::from_slice::<T>(&reply.body)
            .and_then(|data| Ok(Told { data, source: Source::read(&reply.body, path.clone())? }));
        read.map_err(|error| {
            tracing::error!(operation, %error, "a page cannot read an answer");
            Refused { path, ..Refused::default() }
        })
    }
}

/// The path with the query of a URL.
fn path_of(url: &str) -> String {
    let from_host = url.split_once("://").map_or(url, |(_, rest)| rest);
    from_host.find('/').map_or_else(|| "/".to_owned(), |at| from_host[at..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_urls() {
        for (url, path) in [("http://a:1/v1/x?y=/z", "/v1/x?y=/z"), ("/v1/x", "/v1/x"), ("https://a", "/"), ("", "/")] {
            assert_eq!(path_of(url), path);
        }
    }

    #[test]
    fn a_problem_is_read_from_its_body() {
        let body =
            r#"{"type":"t","title":"No such block","status":404,"error":"block_not_found","detail":"d","x":[1]}"#;
        let refused: Refused = serde_json::from_str(body).unwrap();
        assert!(refused.status == 404 && refused.code == "block_not_found" && refused.detail == "d");
        let broken: Refused = serde_json::from_str("[]").unwrap_or_default();
        assert_eq!((broken.status, broken.http_status()), (500, StatusCode::INTERNAL_SERVER_ERROR));
    }
}
