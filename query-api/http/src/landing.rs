//! The page at `/`: what this is, and links that work.

use std::fmt::Write;

use crate::{
    config::ApiConfig,
    operation::{Method, Registered},
};

/// Shared by all pages.
pub(crate) const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --soft: #8882 }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem }
h1 { margin: 0; font-size: 1.9rem } h2 { margin: 2.2rem 0 .6rem; font-size: 1.2rem }
a { color: light-dark(#0a58ca, #8ab8ff) } code { font: .86em ui-monospace, monospace; overflow-wrap: anywhere }
ul.cards { list-style: none; padding: 0; display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)) }
ul.cards li { border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .45rem .6rem .45rem 0; vertical-align: top }
p.note { background: var(--soft); border-radius: .6rem; padding: .7rem 1rem }
@media (max-width: 40rem) { td { display: block; padding-left: 0 } td + td { border: 0; padding-top: 0 } }
";

/// The page.
pub(crate) fn page(operations: &[Registered], config: &ApiConfig) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Cairn</title>\
         <style>{STYLE}</style></head><body>\n<h1>Cairn</h1>\n\
         <p>A Bitcoin chain index with a read-only HTTP API: balances, histories, transactions and blocks, each answer \
         with the block that it is true for.</p>\n"
    );
    if !config.featured.is_empty() {
        html.push_str("<h2>Try these</h2>\n<ul class=\"cards\">\n");
        for example in &config.featured {
            let path = format!("/v1/wallets/{}", segment(&example.address));
            let _ = writeln!(
                html,
                "<li><strong>{title}</strong><br>{description}<br><code>{address}</code><br>\
                 <a href=\"{path}/overview\">overview</a> · <a href=\"{path}/transactions\">transactions</a> · \
                 <a href=\"{path}/balance-history\">balance history</a></li>",
                title = escape(&example.title),
                description = escape(&example.description),
                address = escape(&example.address),
            );
        }
        html.push_str("</ul>\n");
    }
    html.push_str("<h2>Operations</h2>\n<table>\n");
    for op in operations {
        let path = escape(op.info.path);
        let asks = op.input.fields.iter().any(|field| field.required);
        let shown = if asks || op.info.method != Method::Get {
            format!("<code>{path}</code>")
        } else {
            format!("<a href=\"{path}\"><code>{path}</code></a>")
        };
        let (method, summary) = (op.info.method.name(), escape(op.info.summary));
        let _ = writeln!(html, "<tr><td><code>{method}</code> {shown}</td><td>{summary}</td></tr>");
    }
    html.push_str(
        "</table>\n<p class=\"note\">The whole interface: <a href=\"/openapi.json\"><code>/openapi.json</code></a>. \
         State of the service: <a href=\"/api/health\"><code>/api/health</code></a>. \
         <a href=\"/getting-started\">Getting started</a>.</p>\n</body></html>\n",
    );
    html
}

pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Featured, routes};

    #[test]
    fn examples_are_linked_and_escaped() {
        let featured =
            vec![Featured { title: "<Pool>".to_owned(), description: "a & b".to_owned(), address: "x/\"y".to_owned() }];
        let html = page(&routes::operations(), &ApiConfig { featured, ..ApiConfig::default() });
        assert!(html.contains("&lt;Pool&gt;") && html.contains("a &amp; b"));
        assert!(html.contains("/v1/wallets/x%2F%22y/overview"));
        assert!(html.contains("/v1/chain/recent-blocks"));
        assert!(!html.contains("http://") && !html.contains("https://"));
    }
}
