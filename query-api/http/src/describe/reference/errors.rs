//! The page of error codes.

use std::fmt::Write;

use super::{ROOT, shell};
use crate::{
    answers::code::ErrorCode,
    contract::{format::TextFormat, operation::Registered},
    describe::openapi::failures,
    pages::shell::prose,
};

/// The page.
pub(super) fn page(operations: &[Registered], formats: &[TextFormat]) -> String {
    let mut html = "<p>Every error is <code>application/problem+json</code>: <code>error</code> is a stable code, \
        <code>detail</code> explains it, <code>errors</code> lists all invalid fields, <code>retryable</code> is true \
        if the same request may succeed later, and <code>request_id</code> identifies it in the server's log.</p>\n\
        <table id=\"errors\"><tr><th>code</th><th>meaning</th></tr>\n"
        .to_owned();
    for code in ErrorCode::ALL {
        let raised = operations.iter().filter(|op| failures(op, formats).any(|failure| failure == *code));
        let raised: Vec<&str> = raised.map(|op| op.info.name).collect();
        let by = match raised.len() {
            0 => String::new(),
            all if all == operations.len() => "<br><span class=\"muted\">Any operation.</span>".to_owned(),
            _ => {
                let links: Vec<String> =
                    raised.iter().map(|name| format!("<a href=\"{ROOT}#{name}\">{name}</a>")).collect();
                format!("<br><span class=\"muted\">{}</span>", links.join(", "))
            }
        };
        let (status, name, meaning) = (code.status().as_u16(), code.name(), prose(code.meaning()));
        let _ = writeln!(html, "<tr id=\"{name}\"><td>{status} <code>{name}</code></td><td>{meaning}{by}</td></tr>");
    }
    html.push_str("</table>\n");
    shell("Errors", &html)
}
