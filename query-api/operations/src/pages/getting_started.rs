//! The pages that answers link to: getting started, and the checkout. They use no script and no external resource.

use askama::{Template, filters::Safe};
use cairn_http::{Info, Method, RegisteredOperation, page as shell, segment};

use crate::config::ApiConfig;

/// The operations that need a session, as a sentence and a list.
#[derive(Template)]
#[template(path = "exceptions.html")]
struct Exceptions<'a> {
    live: bool,
    gates: bool,
    conditional: Vec<&'a Info>,
}

#[derive(Template)]
#[template(path = "getting_started.html")]
struct GettingStarted<'a> {
    live: bool,
    base: &'a str,
    path: String,
    exceptions: Safe<Exceptions<'a>>,
    /// How to pay, in live mode.
    paying: Safe<Paying<'a>>,
}

/// How a call is paid.
#[derive(Template)]
#[template(path = "paying.html")]
struct Paying<'a> {
    base: &'a str,
    /// True if calls can be paid over Lightning.
    sells: bool,
    /// Path of a call that must be paid.
    paid: &'a str,
}

#[derive(Template)]
#[template(path = "checkout.html")]
struct Checkout<'a> {
    live: bool,
    exceptions: Safe<Exceptions<'a>>,
}

fn exceptions<'a>(operations: &'a [RegisteredOperation], config: &ApiConfig) -> Safe<Exceptions<'a>> {
    let conditional = operations.iter().map(|op| &op.info).filter(|info| info.conditional).collect();
    Safe(Exceptions { live: config.http.access_mode.is_live(), gates: config.http.gates_enabled, conditional })
}

/// How to pay, with the first operation that must be paid and that a path alone asks for.
fn paying<'a>(operations: &'a [RegisteredOperation], config: &'a ApiConfig) -> Safe<Paying<'a>> {
    let is_example = |op: &&RegisteredOperation| {
        config.http.is_billable(op)
            && op.info.method == Method::Get
            && op.offer.price_sats.is_some()
            && !op.input.fields.iter().any(|field| field.required)
    };
    let paid = operations.iter().find(is_example).map_or("", |op| op.info.path);
    Safe(Paying { base: &config.http.base_url, sells: config.http.payment_backend().is_some(), paid })
}

pub(super) fn getting_started(operations: &[RegisteredOperation], config: &ApiConfig) -> String {
    let path = config.example_address().map_or("/v1/chain/recent-blocks".to_owned(), |address| {
        format!("/v1/wallets/{}/transactions?limit=5", segment(address))
    });
    let page = GettingStarted {
        live: config.http.access_mode.is_live(),
        base: &config.http.base_url,
        path,
        exceptions: exceptions(operations, config),
        paying: paying(operations, config),
    };
    shell("Getting started", "", &page)
}

pub(super) fn checkout(operations: &[RegisteredOperation], config: &ApiConfig) -> String {
    let live = config.http.access_mode.is_live();
    shell("Checkout", "", &Checkout { live, exceptions: exceptions(operations, config) })
}

#[cfg(test)]
mod tests {
    use cairn_http::{AccessMode, HttpConfig};

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

    #[test]
    fn payments_are_explained_in_live_mode() {
        let of = |access_mode, lightning| -> ApiConfig {
            HttpConfig { access_mode, lightning, base_url: "http://x".to_owned(), ..HttpConfig::default() }.into()
        };
        let (beta, live) = (of(AccessMode::Beta, Some("lnd")), of(AccessMode::Live, Some("lnd")));
        let (operations, unsold) = (registered(), of(AccessMode::Live, None));
        for page in [checkout, getting_started] {
            let html = page(&operations, &beta);
            assert!(html.contains("public beta") && !html.contains("L402"), "{html}");
            for config in [&live, &unsold] {
                let html = page(&operations, config);
                assert!(!html.contains("paused") && !html.contains("during the public beta"), "{html}");
                assert!(html.contains("/v1/wallets/{address}/transactions"), "{html}");
            }
        }
        let html = getting_started(&operations, &live);
        assert!(html.contains("curl -i 'http://x/v1/"), "{html}");
        assert!(
            html.contains("curl -H 'Authorization: L402 &lt;macaroon&gt;:&lt;preimage&gt;' 'http://x/v1/"),
            "{html}"
        );
        assert!(html.contains("curl -H 'X-WR-API-Key: cairn_key_…' 'http://x/v1/"), "{html}");
        let html = getting_started(&operations, &unsold);
        assert!(!html.contains("L402") && html.contains("no Lightning backend"), "{html}");
    }
}
