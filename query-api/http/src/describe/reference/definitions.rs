//! Definitions of the terms in answers: one page for each id.

use std::fmt::Write;

use super::{ROOT, shell};
use crate::{describe::about::Definition, pages::shell::prose};

/// A page for each.
pub(super) fn pages(definitions: &'static [Definition]) -> impl Iterator<Item = (&'static str, String)> {
    definitions.iter().map(|definition| {
        let paragraphs: String = definition.text.iter().map(|text| format!("<p>{}</p>\n", prose(text))).collect();
        let id = format!("<p class=\"muted\">Id in answers: <code>{}</code></p>\n", definition.id);
        (definition.id, shell(definition.title, &(id + &paragraphs)))
    })
}

/// The list of them.
pub(super) fn index(definitions: &[Definition]) -> String {
    let mut html = "<p>Answers that use one of these definitions give its id.</p>\n<ul>\n".to_owned();
    for Definition { id, title, .. } in definitions {
        let _ = writeln!(html, "<li><a href=\"{ROOT}definitions/{id}\">{title}</a> (<code>{id}</code>)</li>");
    }
    html.push_str("</ul>\n");
    shell("Definitions", &html)
}
