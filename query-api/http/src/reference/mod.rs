//! The reference at `/api/reference/`: the interface for people, with its errors and definitions. Whole in itself, and
//! readable without scripts; the one script there is tries operations out.

mod definitions;
mod errors;
mod operations;

use serde_json::Value;

use crate::{
    config::ApiConfig,
    documents::Document,
    landing::{STYLE, escape},
    operation::Registered,
};

/// Where it begins.
pub(crate) const ROOT: &str = "/api/reference/";

/// The address of what is said about an error.
pub(crate) fn of_error(base_url: &str, code: &str) -> String {
    format!("{base_url}{ROOT}errors/#{}", if errors::is_known(code) { code } else { "errors" })
}

/// All pages.
pub(crate) fn documents(operations: &[Registered], openapi: &Value, config: &ApiConfig) -> Vec<Document> {
    let mut all = vec![
        Document::page(ROOT, operations::page(operations, openapi, config)),
        Document::page(format!("{ROOT}errors/"), errors::page(operations)),
        Document::page(format!("{ROOT}definitions/"), definitions::index()),
        Document::new(format!("{ROOT}try.js"), "text/javascript; charset=utf-8", include_str!("try.js").to_owned()),
    ];
    all.extend(definitions::pages().map(|(id, html)| Document::page(format!("{ROOT}definitions/{id}"), html)));
    all
}

/// More than the landing page needs.
const MORE_STYLE: &str = "
body { max-width: 72rem } h3 { margin: 0; font-size: 1.02rem; overflow-wrap: anywhere } h4 { margin: 1.1rem 0 .3rem; font-size: .95rem }
section.op { border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem; margin: .9rem 0 }
section.op > p { margin: .4rem 0 } .muted { opacity: .75; font-size: .88rem }
.method { font-weight: 700; font-family: ui-monospace, monospace }
pre { background: var(--soft); border-radius: .5rem; padding: .7rem .9rem; overflow: auto; max-height: 26rem; font-size: .82rem }
th { text-align: left; font-size: .85rem; padding: .3rem .6rem .3rem 0 } details > summary { cursor: pointer; margin: .5rem 0 }
nav.toc ul { columns: 2; padding-left: 1.1rem } form.try label { display: block; margin: .35rem 0 }
form.try input { font: inherit; width: min(100%, 34rem); box-sizing: border-box; padding: .25rem .45rem }
form.try button { font: inherit; padding: .3rem 1rem; margin-top: .3rem } [hidden] { display: none }
@media (max-width: 40rem) { nav.toc ul { columns: 1 } th { display: none } section.op { padding: .7rem .8rem } }
";

/// A page with this title and content.
fn shell(title: &str, content: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title} · Cairn</title>\
         <link rel=\"icon\" href=\"data:,\"><style>{STYLE}{MORE_STYLE}</style></head><body>\n\
         <p class=\"muted\"><a href=\"/\">Cairn</a> · <a href=\"{ROOT}\">Reference</a> · \
         <a href=\"{ROOT}errors/\">Errors</a> · <a href=\"{ROOT}definitions/\">Definitions</a> · \
         <a href=\"/openapi.json\">OpenAPI</a></p>\n<main>\n<h1>{title}</h1>\n{content}</main>\n</body></html>\n"
    )
}

#[cfg(test)]
mod tests;
