//! The reference at `/api/reference/`: operations, errors and definitions for people. It uses no external resource and
//! is readable without scripts; its only script runs the "Try it" forms.

mod definitions;
mod errors;
mod frame;
mod operations;

use serde_json::Value;

pub(crate) use self::frame::ROOT;
use crate::{
    answers::{code, document::Document},
    config::HttpConfig,
    contract::{format::TextFormat, operation::RegisteredOperation},
    describe::about::About,
};

/// All pages.
pub(crate) fn documents(
    operations: &[RegisteredOperation],
    about: &About,
    formats: &[TextFormat],
    openapi: &Value,
    config: &HttpConfig,
) -> Vec<Document> {
    let mut all = vec![
        Document::page(ROOT, operations::page(operations, openapi, about, config)),
        Document::page(code::PAGE, errors::page(operations, formats, config)),
        Document::page(format!("{ROOT}definitions/"), definitions::index(about.definitions)),
        Document::new(format!("{ROOT}try.js"), "text/javascript; charset=utf-8", include_str!("try.js").to_owned()),
    ];
    all.extend(
        definitions::pages(about.definitions).map(|(id, html)| Document::page(format!("{ROOT}definitions/{id}"), html)),
    );
    all
}
