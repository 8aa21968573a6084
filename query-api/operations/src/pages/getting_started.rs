//! The pages that answers link to: getting started, and the checkout. They use no script and no external resource.

use askama::{Template, filters::Safe};
use cairn_http::{Info, RegisteredOperation, page as shell, segment};

use crate::config::ApiConfig;

/// The operations that need a session, as a sentence and a list.
#[derive(Template)]
#[template(path = "exceptions.html")]
struct Exceptions<'a> {
    gates: bool,
    conditional: Vec<&'a Info>,
}

#[derive(Template)]
#[template(path = "getting_started.html")]
struct GettingStarted<'a> {
    base: &'a str,
    path: String,
    exceptions: Safe<Exceptions<'a>>,
}

#[derive(Template)]
#[template(path = "checkout.html")]
struct Checkout<'a> {
    exceptions: Safe<Exceptions<'a>>,
}

fn exceptions<'a>(operations: &'a [RegisteredOperation], config: &ApiConfig) -> Safe<Exceptions<'a>> {
    let conditional = operations.iter().map(|op| &op.info).filter(|info| info.conditional).collect();
    Safe(Exceptions { gates: config.http.gates_enabled, conditional })
}

pub(super) fn getting_started(operations: &[RegisteredOperation], config: &ApiConfig) -> String {
    let path = config.example_address().map_or("/v1/chain/recent-blocks".to_owned(), |address| {
        format!("/v1/wallets/{}/transactions?limit=5", segment(address))
    });
    let exceptions = exceptions(operations, config);
    shell("Getting started", "", &GettingStarted { base: &config.http.base_url, path, exceptions })
}

pub(super) fn checkout(operations: &[RegisteredOperation], config: &ApiConfig) -> String {
    shell("Checkout", "", &Checkout { exceptions: exceptions(operations, config) })
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
