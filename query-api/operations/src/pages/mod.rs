//! The pages for people that answers send them to. Each is made once, when the server starts, and is whole in itself:
//! no script, nothing from elsewhere. The forms of the checkout are answered with pages, too.

pub(crate) mod checkout;
mod exceptions;
mod getting_started;
mod landing;

use cairn_domain::evidence::keys_document;
use cairn_http::{Document, GETTING_STARTED_PAGE, RegisteredOperation};

use crate::config::ApiConfig;

/// Path of the public keys that evidence packs are signed with.
pub(crate) const EVIDENCE_KEYS: &str = "/.well-known/cairn-evidence-keys.json";

pub(crate) fn all(operations: &[RegisteredOperation], config: &ApiConfig) -> Vec<Document> {
    vec![
        Document::page(landing::ABOUT, landing::page(operations, config)),
        checkout::document(operations, config),
        Document::page(GETTING_STARTED_PAGE, getting_started::getting_started(operations, config)),
        Document::json(EVIDENCE_KEYS, &keys_document(&config.evidence.published())),
    ]
}

#[cfg(test)]
mod tests {
    use cairn_http::{AccessMode, HttpConfig, PassMethod, PassOffer, X402Gate};

    use super::{checkout::html as checkout, getting_started::getting_started};
    use crate::{
        config::{ApiConfig, Featured},
        registry::registered,
    };

    #[test]
    fn pages_are_whole_in_themselves_and_escaped() {
        let featured = vec![Featured {
            title: String::new(),
            description: String::new(),
            address: "x<y".to_owned(),
            account_key: None,
        }];
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
        assert!(!html.contains("PAYMENT-SIGNATURE"), "{html}");
        let html = getting_started(&operations, &unsold);
        assert!(!html.contains("L402") && html.contains("no Lightning backend"), "{html}");
        let by_x402 =
            |config: &ApiConfig| -> ApiConfig { HttpConfig { x402: X402Gate::Open, ..config.http.clone() }.into() };
        for (config, over_lightning) in [(by_x402(&live), true), (by_x402(&unsold), false)] {
            let html = getting_started(&operations, &config);
            let command = "curl -H 'PAYMENT-SIGNATURE: &lt;payment&gt;' 'http://x/v1/chain/awakenings'";
            assert!(html.contains(command), "{html}");
            assert_eq!(html.contains("Authorization: L402"), over_lightning, "{html}");
            assert_eq!(html.contains("no Lightning backend"), !over_lightning, "{html}");
        }
    }

    #[test]
    fn a_pass_that_is_sold_has_forms() {
        let pass = Some(PassOffer { price_sats: 9_000, methods: vec![PassMethod::Onchain, PassMethod::Lightning] });
        let http = HttpConfig {
            pass,
            access_mode: AccessMode::Live,
            base_url: "http://x".to_owned(),
            ..HttpConfig::default()
        };
        let (config, operations) = (ApiConfig::from(http), registered());
        let html = checkout(&operations, &config);
        for part in
            ["9000 sats", "action=\"/checkout/open\"", "value=\"onchain\" checked", "value=\"lightning\" required"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("not sold") && !html.contains("<script"), "{html}");
        let html = getting_started(&operations, &config);
        assert!(html.contains("Buy a pass") && !html.contains("not sold"), "{html}");
    }
}
