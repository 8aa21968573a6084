//! Documentation of the service: OpenAPI document, documents for agents, reference for people. All of it is made once,
//! when the server starts, from the operations and from [`About`].

pub(crate) mod about;
pub(crate) mod discovery;
pub(crate) mod openapi;
pub(crate) mod paying;
mod problem;
pub(crate) mod reference;
mod security;
pub(crate) mod unions;

use about::About;

use crate::{
    answers::document::Document,
    config::HttpConfig,
    contract::{format::TextFormat, operation::RegisteredOperation},
};

pub(crate) fn documents(
    operations: &[RegisteredOperation],
    about: &About,
    formats: &[TextFormat],
    config: &HttpConfig,
) -> Vec<Document> {
    let openapi = openapi::describe(operations, about, formats, config);
    let mut all = vec![Document::json("/openapi.json", &openapi)];
    all.extend(discovery::documents(operations, about, &openapi, config));
    all.extend(reference::documents(operations, about, formats, &openapi, config));
    all
}
