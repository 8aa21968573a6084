//! Operations with answers from a test.

use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc};

use axum::{
    body::Body,
    http::{self, HeaderMap},
    response::Response,
};
use cairn_http::Reply;
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::operations::{Operations, Request};

/// Answers by the name of the operation. All others answer 404.
#[derive(Default)]
pub(crate) struct Canned(BTreeMap<&'static str, (u16, String)>);

impl Canned {
    pub(crate) fn new() -> Self {
        Canned::default()
    }

    /// An answer (a JSON object) of an operation. It gets a `_meta`.
    pub(crate) fn told(mut self, operation: &'static str, answer: &str) -> Self {
        let (start, _) = answer.rsplit_once('}').unwrap();
        let comma = if start.trim().ends_with('{') { "" } else { "," };
        let meta = r#""_meta":{"endpoint":"/v1/test","tip":{"height":7,"hash":"ab"},"warnings":[]}}"#;
        self.0.insert(operation, (200, format!("{start}{comma}{meta}")));
        self
    }

    pub(crate) fn refused(mut self, operation: &'static str, status: u16, code: &str, detail: &str) -> Self {
        let problem = serde_json::json!({"status": status, "error": code, "title": "Refused", "detail": detail});
        self.0.insert(operation, (status, problem.to_string()));
        self
    }
}

impl Operations for Canned {
    fn call<'r>(&'r self, request: Request<'r>) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'r>> {
        let absent = || (404, r#"{"status":404,"error":"not_found","title":"Not found","detail":"absent"}"#.to_owned());
        let (status, body) = self.0.get(request.operation).cloned().unwrap_or_else(absent);
        Box::pin(async move {
            Some(Reply {
                status,
                media_type: "application/json".to_owned(),
                request_id: None,
                body: body.into(),
                url: format!("http://test/v1/{}", request.operation),
                is_document: false,
                is_paid: false,
                payment_headers: HeaderMap::new(),
            })
        })
    }
}

pub(crate) async fn get(canned: Canned, target: &str) -> Response {
    send(canned, http::Request::get(target).body(Body::empty()).unwrap()).await
}

pub(crate) async fn post(canned: Canned, target: &str, form: &str) -> Response {
    let request = http::Request::post(target).header("content-type", "application/x-www-form-urlencoded");
    send(canned, request.body(Body::from(form.to_owned())).unwrap()).await
}

async fn send(canned: Canned, request: http::Request<Body>) -> Response {
    crate::routes(Arc::new(canned), crate::Options::default()).oneshot(request).await.unwrap()
}

pub(crate) async fn body_of(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}
