//! The page about the API: what the service is, with working links.

use askama::Template;
use cairn_http::{Info, Method, Page as Shell, RegisteredOperation, segment};

use crate::config::{ApiConfig, Featured};

pub(super) const ABOUT: &str = "/about";

#[derive(Template)]
#[template(path = "landing.html")]
struct Landing<'a> {
    /// Each with where its pages begin.
    examples: Vec<(&'a Featured, String)>,
    /// Addresses whose whole history is public, each with where its pages begin.
    showcase: Vec<(&'a str, String)>,
    /// Each with whether a link alone opens it.
    operations: Vec<(&'a Info, bool)>,
}

pub(crate) fn page(operations: &[RegisteredOperation], config: &ApiConfig) -> String {
    let examples = config.featured.iter();
    let opens =
        |op: &RegisteredOperation| op.info.method == Method::Get && !op.input.fields.iter().any(|field| field.required);
    let begin = |address: &str| format!("/v1/wallets/{}", segment(address));
    let landing = Landing {
        examples: examples.map(|one| (one, begin(&one.address))).collect(),
        showcase: config.showcase_addresses.iter().map(|address| (address.as_str(), begin(address))).collect(),
        operations: operations.iter().map(|op| (&op.info, opens(op))).collect(),
    };
    Shell { title: "Cairn's API", place: ABOUT, scripts: &[], styles: &[], content: &landing }.html()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Featured, registry::registered};

    #[test]
    fn showcase_addresses_are_listed() {
        let config = ApiConfig { showcase_addresses: vec!["a<b".to_owned()], ..ApiConfig::default() };
        let html = page(&registered(), &config);
        assert!(html.contains("<a href=\"/v1/wallets/a%3Cb/transactions\"><code>a&lt;b</code></a>"), "{html}");
        assert!(!page(&registered(), &ApiConfig::default()).contains("Showcase"));
    }

    #[test]
    fn examples_are_linked_and_escaped() {
        let featured = vec![Featured {
            title: "<Pool>".to_owned(),
            description: "a & b".to_owned(),
            address: "x/\"y".to_owned(),
            account_key: None,
        }];
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
