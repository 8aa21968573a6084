//! Definitions of the terms in answers: one page for each id.

use askama::{Template, filters::Safe};

use super::frame;
use crate::{describe::about::Definition, pages::escaping::prose};

/// Path of their list.
const PLACE: &str = "/api/reference/definitions/";

#[derive(Template)]
#[template(path = "reference/definition.html")]
struct Page {
    id: &'static str,
    paragraphs: Vec<Safe<String>>,
}

#[derive(Template)]
#[template(path = "reference/definitions.html")]
struct Index<'a> {
    definitions: &'a [Definition],
}

/// A page for each.
pub(super) fn pages(definitions: &'static [Definition]) -> impl Iterator<Item = (&'static str, String)> {
    definitions.iter().map(|Definition { id, title, text }| {
        let page = Page { id, paragraphs: text.iter().map(|text| prose(text)).collect() };
        (*id, frame::page(title, PLACE, &page))
    })
}

pub(super) fn index(definitions: &[Definition]) -> String {
    frame::page("Definitions", PLACE, &Index { definitions })
}
