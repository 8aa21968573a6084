//! Definitions of the terms in answers: one page for each id.

use askama::{Template, filters::Safe};

use super::frame::shell;
use crate::{describe::about::Definition, pages::escaping::prose};

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
        (*id, shell(title, &page))
    })
}

pub(super) fn index(definitions: &[Definition]) -> String {
    shell("Definitions", &Index { definitions })
}
