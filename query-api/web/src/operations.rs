//! Questions of pages to operations. The API of this server answers them, or a test.

use std::{future::Future, pin::Pin};

use axum::http::{HeaderMap, request::Parts};
use cairn_http::{Api, Reply};
use serde_json::{Map, Value};

/// A question to an operation.
#[derive(Debug)]
pub struct Request<'r> {
    /// Name of the operation.
    pub operation: &'static str,
    /// Its parameters in one object.
    pub input: Map<String, Value>,
    /// Size of the message that the parameters came in.
    pub bytes: usize,
    /// The request for the page. Its client is charged.
    pub from: &'r Parts,
    /// True if a form of a page has the parameters. It may ask operations whose input is private, and is refused if a
    /// page of another site has sent it.
    pub is_form: bool,
}

/// Whatever answers operations.
pub trait Operations: Send + Sync {
    /// Calls an operation; `None` if there is no such operation.
    fn call<'r>(&'r self, request: Request<'r>) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'r>>;
}

impl Operations for Api {
    fn call<'r>(&'r self, request: Request<'r>) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'r>> {
        Box::pin(async move {
            let Request { operation, input, bytes, from, is_form } = request;
            if !is_form {
                return Api::call(self, operation, input, bytes, from).await;
            }
            match self.call_for_form(operation, input, bytes, from).await {
                Ok(reply) => reply,
                Err(error) => Some(Reply {
                    status: error.status.as_u16(),
                    media_type: String::new(),
                    request_id: None,
                    body: error.body("", "", "").into(),
                    url: String::new(),
                    is_document: false,
                    is_paid: false,
                    payment_headers: HeaderMap::new(),
                }),
            }
        })
    }
}
