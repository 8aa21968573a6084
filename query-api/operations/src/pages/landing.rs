//! The page at `/`: what the service is, with working links.

use std::fmt::Write;

use cairn_http::{Method, Registered, escape, page as shell, segment};

use crate::config::ApiConfig;

/// Styles in addition to those of all pages.
const MORE_STYLE: &str = "
ul.cards { list-style: none; padding: 0; display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)) }
ul.cards li { border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; display: flex; flex-direction: column; gap: .4rem }
ul.cards p { margin: 0 } ul.cards p:last-child { margin-top: auto; display: flex; flex-wrap: wrap; gap: 0 1rem }
ul.cards strong::first-letter { text-transform: uppercase }
td:first-child { width: 24rem } @media (max-width: 40rem) { td:first-child { width: auto } }
";

/// The page.
pub(crate) fn page(operations: &[Registered], config: &ApiConfig) -> String {
    let mut html =
        "<p>A Bitcoin chain index with a read-only HTTP API: balances, histories, transactions and blocks. Each \
        answer names the block at which it is valid.</p>\n"
            .to_owned();
    if !config.featured.is_empty() {
        html.push_str("<h2>Try these</h2>\n<ul class=\"cards\">\n");
        for example in &config.featured {
            let path = format!("/v1/wallets/{}", segment(&example.address));
            let _ = writeln!(
                html,
                "<li><strong>{title}</strong>\n<p>{description}</p>\n<p><code>{address}</code></p>\n\
                 <p><a href=\"{path}/overview\">Overview</a> <a href=\"{path}/transactions\">Transactions</a> \
                 <a href=\"{path}/balance-history\">Balance history</a></p></li>",
                title = escape(&example.title),
                description = escape(&example.description),
                address = escape(&example.address),
            );
        }
        html.push_str("</ul>\n");
    }
    html.push_str("<h2>Operations</h2>\n<table>\n");
    for op in operations {
        let (path, name) = (escape(op.info.path), op.info.name);
        let (method, summary) = (op.info.method.name(), escape(op.info.summary));
        let asks = op.info.method != Method::Get || op.input.fields.iter().any(|field| field.required);
        let open =
            if asks { String::new() } else { format!(" <a href=\"{path}\" aria-label=\"Open {path}\">open</a>") };
        let _ = writeln!(
            html,
            "<tr><td><code>{method}</code> <a href=\"/api/reference/#{name}\"><code>{path}</code></a></td><td>{summary}{open}</td></tr>"
        );
    }
    let _ = writeln!(
        html,
        "</table>\n<p class=\"note\">Try them out in the <a href=\"/api/reference/\">reference</a>. For programs: \
         <a href=\"/openapi.json\">OpenAPI</a>, <a href=\"/llms.txt\">llms.txt</a>, \
         <a href=\"/v1/capabilities\">capabilities</a>.</p>"
    );
    shell("Cairn", MORE_STYLE, &html)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Featured, registry::registered};

    #[test]
    fn examples_are_linked_and_escaped() {
        let featured =
            vec![Featured { title: "<Pool>".to_owned(), description: "a & b".to_owned(), address: "x/\"y".to_owned() }];
        let html = page(&registered(), &ApiConfig { featured, ..ApiConfig::default() });
        assert!(html.contains("&lt;Pool&gt;") && html.contains("a &amp; b"));
        assert!(html.contains("/v1/wallets/x%2F%22y/overview"));
        assert!(html.contains("href=\"/api/reference/#health\"><code>/api/health</code>"), "{html}");
        assert!(
            html.contains("<a href=\"/api/health\" aria-label") && !html.contains("href=\"/v1/tx/verify\""),
            "{html}"
        );
        assert!(!html.contains("http://") && !html.contains("https://"));
    }
}
