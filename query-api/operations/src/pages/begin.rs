//! The pages that answers link to: getting started, and the checkout. They use no script and no external resource.

use std::fmt::Write;

use cairn_http::{CHECKOUT_PAGE, GETTING_STARTED_PAGE, Registered, escape, page as shell, segment};

use crate::config::ApiConfig;

/// The operations that need a session, as a sentence and a list.
fn exceptions(operations: &[Registered], config: &ApiConfig) -> String {
    if !config.http.gates_enabled {
        return "<p>This server requires no key: its operator has disabled the gates.</p>\n".to_owned();
    }
    let mut html =
        "<p>Some requests need a wallet session or a key, except for the showcase addresses:</p>\n<ul>\n".to_owned();
    for op in operations.iter().filter(|op| op.info.conditional) {
        let _ = writeln!(html, "<li><code>{}</code>: {}</li>", escape(op.info.path), escape(op.info.summary));
    }
    html.push_str(
        "</ul>\n<p>The description of each operation says which requests these are. For transactions, they are all pages \
         after the first. Without a session they return <code>402</code> with the same information as this page.</p>\n",
    );
    html
}

pub(super) fn getting_started(operations: &[Registered], config: &ApiConfig) -> String {
    let base = escape(&config.http.base_url);
    let path = config.example_address().map_or("/v1/chain/recent-blocks".to_owned(), |address| {
        format!("/v1/wallets/{}/transactions?limit=5", escape(&segment(address)))
    });
    let gated = "/v1/wallets/&lt;address&gt;/transactions?offset=25";
    let exceptions = exceptions(operations, config);
    shell(
        "Getting started",
        "",
        &format!(
            "<p>During the public beta every operation is free and needs no account. Nothing is billed, and nothing \
             can be bought. Rate limits apply; response headers give the remaining units.</p>\n\
             <h2>A first request</h2>\n<pre class=\"command\"><code>curl '{base}{path}'</code></pre>\n\
             <p>In each answer, <code>_meta.tip</code> names the block at which it is valid, and \
             <code>_meta.warnings</code> lists limitations.</p>\n\
             <h2>What needs a key</h2>\n{exceptions}\
             <h2>Getting a key</h2>\n\
             <p>Keys are not sold while the <a href=\"{CHECKOUT_PAGE}\">checkout</a> is paused. The operator of this \
             server can issue one for you on the server's machine:</p>\n\
             <pre class=\"command\"><code>cairn keys issue --kind session --label 'for Ann' --expires 31d</code></pre>\n\
             <p>A key is shown once, when it is issued. The server stores only a hash of it, so a lost key cannot be \
             recovered; ask for a new one.</p>\n\
             <h2>Using a key</h2>\n\
             <p>Send a wallet session (<code>cairn_ses_…</code>) in <code>Authorization</code>:</p>\n\
             <pre class=\"command\"><code>curl -H 'Authorization: Bearer cairn_ses_…' '{base}{gated}'</code></pre>\n\
             <p>Send a bridge key (<code>cairn_key_…</code>) in <code>X-WR-API-Key</code>:</p>\n\
             <pre class=\"command\"><code>curl -H 'X-WR-API-Key: cairn_key_…' '{base}{gated}'</code></pre>\n\
             <p>Both give the same access. An expired, revoked or mistyped key counts as absent, and \
             <code>_meta.warnings</code> says why. Do not put keys into URLs or into pages that others can read.</p>\n"
        ),
    )
}

pub(super) fn checkout(operations: &[Registered], config: &ApiConfig) -> String {
    let exceptions = exceptions(operations, config);
    shell(
        "Checkout",
        "",
        &format!(
            "<p><strong>The checkout is paused during the public beta.</strong> Nothing can be bought here, nothing is \
             billed, and no payment is taken in any currency.</p>\n\
             <h2>What a pass is for</h2>\n{exceptions}\
             <h2>What will be sold</h2>\n\
             <p>The plan <code>wallet-monthly</code>: a bridge pass for 31 days, payable in bitcoin. After the beta a \
             free tier remains, and other access is paid per call.</p>\n\
             <h2>Until then</h2>\n\
             <p>The operator of this server can issue keys and wallet sessions. \
             <a href=\"{GETTING_STARTED_PAGE}\">Getting started</a> explains how to use them.</p>\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use cairn_http::HttpConfig;

    use super::*;
    use crate::{config::Featured, registry::registered};

    #[test]
    fn pages_are_whole_in_themselves_and_escaped() {
        let featured = vec![Featured { title: String::new(), description: String::new(), address: "x<y".to_owned() }];
        let http = HttpConfig { base_url: "http://a&b".to_owned(), ..HttpConfig::default() };
        let config = ApiConfig { featured, ..http.into() };
        let operations = registered();
        for page in [checkout, getting_started] {
            let html = page(&operations, &config);
            assert!(html.contains("/v1/wallets/{address}/transactions"), "{html}");
            for absent in ["<script", " src=", "href=\"http", "x<y", "http://a&b", "url(", "@import"] {
                assert!(!html.contains(absent), "{absent}: {html}");
            }
            let open = HttpConfig { gates_enabled: false, ..config.http.clone() };
            let open = page(&operations, &ApiConfig { http: open, ..config.clone() });
            assert!(open.contains("disabled the gates") && !open.contains("<li>"), "{open}");
        }
        assert!(getting_started(&operations, &config).contains("curl 'http://a&amp;b/v1/wallets/x%3Cy/transactions"));
    }
}
