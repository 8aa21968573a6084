//! Calls of operations for the forms of this server's own pages.

use axum::http::request::Parts;
use serde_json::{Map, Value};

use super::inside::{Api, Reply};
use crate::answers::error::ApiError;

impl Api {
    /// Calls an operation for a form that a page of this server has sent, with its parameters in one object. Unlike
    /// agents' tools, forms may call operations whose input is private. `None` if there is no such operation.
    ///
    /// # Errors
    /// Returns 403 `origin_not_allowed` if a page of another site has sent the form.
    pub async fn call_for_form(
        &self,
        name: &str,
        input: Map<String, Value>,
        bytes: usize,
        from: &Parts,
    ) -> Result<Option<Reply>, ApiError> {
        self.server.hosts.origin(&from.uri, &from.headers)?;
        match self.server.operations.iter().position(|op| op.info.name == name) {
            Some(at) => Ok(self.execute(at, input, bytes, from).await),
            None => Ok(None),
        }
    }
}
