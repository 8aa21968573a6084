//! Search: the meanings of a text, and where their pages are. One hit leads to its page; several are listed; where
//! there is nothing, the page says what was understood. The search field sends its text in a body, so that the keys of
//! a wallet never stand in a URL.

mod hits;
mod meaning;

use std::sync::Arc;

use askama::Template;
use axum::{
    Form, Router,
    extract::{DefaultBodyLimit, State, rejection::FormRejection},
    http::{StatusCode, request::Parts},
    response::Response,
};
use cairn_http::segment;
use serde::Deserialize;

use self::{hits::Found, meaning::Meaning};
use crate::{
    answer::{Kind, Shown},
    format,
    query::Parameters,
    route::{PageRoutes, see},
    site::Site,
};

const PATH: &str = "/search";
/// Where the keys of a wallet and lists of addresses are sent.
const WALLET: &str = "/wallet";
/// Bytes of a text that is searched for: 100 addresses with their separators, or a descriptor.
const MOST_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
}

#[derive(Template)]
#[template(path = "search/search.html")]
struct Results<'a> {
    /// The text, unless it must not be repeated.
    text: Option<&'a str>,
    found: Found,
}

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new().form(PATH, get, post).layer(DefaultBodyLimit::max(MOST_BYTES))
}

/// A search by URL.
async fn get(State(site): State<Arc<Site>>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    answer(&site, &parts, parameters.get("q").unwrap_or_default()).await
}

/// A search from the field of a page.
async fn post(State(site): State<Arc<Site>>, parts: Parts, form: Result<Form<Asked>, FormRejection>) -> Response {
    let text = match form {
        Ok(Form(Asked { q })) => q,
        Err(error) => {
            let found = Found::understood(format!(
                "The text cannot be read ({}); at most {MOST_BYTES} bytes are allowed. Send less of it",
                error.status()
            ));
            return shown(&site, error.status(), None, found);
        }
    };
    match Meaning::of(&text) {
        // The browser sends the same form to the page of wallets.
        Meaning::Wallet | Meaning::Addresses(_) => see(StatusCode::TEMPORARY_REDIRECT, "wallet"),
        Meaning::Secret => answer(&site, &parts, &text).await,
        _ => see(StatusCode::SEE_OTHER, &format!("search?q={}", segment(text.trim()))),
    }
}

async fn answer(site: &Site, parts: &Parts, text: &str) -> Response {
    let text = text.trim();
    let found = match Meaning::of(text) {
        Meaning::Nothing => Found::understood("Nothing was searched for.".to_owned()),
        Meaning::Secret => {
            let found = Found::understood(
                "This looks like a private key or another secret, and was not looked up. Do not paste it anywhere; if \
                 it protects money, move that money to a new key."
                    .to_owned(),
            );
            return shown(site, StatusCode::BAD_REQUEST, None, found);
        }
        Meaning::Wallet => Found::of_wallet(),
        meaning => hits::find(site, parts, meaning).await,
    };
    match found.hits.as_slice() {
        [only] if only.is_certain => see(StatusCode::SEE_OTHER, &relative(&only.path)),
        [] if !found.is_wallet && !text.is_empty() => shown(site, StatusCode::NOT_FOUND, Some(text), found),
        _ => shown(site, StatusCode::OK, Some(text), found),
    }
}

/// A path relative to that of the search: a proxy may serve the pages below another path.
fn relative(path: &str) -> String {
    format!(".{path}")
}

fn shown(site: &Site, status: StatusCode, text: Option<&str>, found: Found) -> Response {
    let content = Results { text, found };
    Shown { title: "Search", place: "", kind: Kind::Private, status, scripts: &[], content: &content }.answer(site)
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;
    use crate::testing::{Canned, body_of, get, post};

    const ADDRESS: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";

    fn place(response: &Response) -> &str {
        response.headers()[header::LOCATION].to_str().unwrap()
    }

    #[tokio::test]
    async fn one_hit_leads_to_its_page() {
        let canned = || Canned::new().told("wallet_overview", &format!(r#"{{"canonical_address":"{ADDRESS}"}}"#));
        let response = get(canned(), &format!("/search?q=bitcoin:{}", ADDRESS.to_uppercase())).await;
        assert_eq!((response.status(), place(&response)), (StatusCode::SEE_OTHER, &*format!("./address/{ADDRESS}")));
        let hash = "ab".repeat(32);
        let canned = Canned::new().told("tx_status", r#"{"state":"confirmed"}"#);
        let response = get(canned, &format!("/search?q={hash}:3")).await;
        assert_eq!(place(&response), format!("./tx/{hash}?out=3#out-3"));
        let canned = Canned::new().told("block_detail", r#"{"height":7}"#);
        assert_eq!(place(&get(canned, "/search?q=7").await), "./block/7");
    }

    #[tokio::test]
    async fn keys_and_lists_go_to_the_wallet_in_a_body() {
        let key = "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8";
        let list = format!("{ADDRESS}%0A{ADDRESS}");
        for text in [key, &list] {
            let response = post(Canned::new(), "/search", &format!("q={text}")).await;
            assert_eq!((response.status(), place(&response)), (StatusCode::TEMPORARY_REDIRECT, "wallet"));
        }
        let html = body_of(get(Canned::new(), &format!("/search?q={key}")).await).await;
        assert!(html.contains("action=\"/wallet\"") && html.contains("method=\"post\""), "{html}");
    }

    #[tokio::test]
    async fn secrets_are_not_repeated() {
        let wif = "cMahea7zqjxrtgAbB7LSGbcQUr1uX1ojuat9jZodMN8rFTv2sfUK";
        let response = post(Canned::new(), "/search", &format!("q={wif}")).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert!(!body_of(response).await.contains(&wif[..10]));
    }

    #[tokio::test]
    async fn nothing_says_what_was_understood() {
        for (text, understood) in [
            ("%3Cb%3Ex", "words of a name"),
            (ADDRESS, "an address"),
            (&*"ab".repeat(32), "a transaction or a block"),
            ("99", "the height of a block"),
            ("2024-01-01", "a day"),
        ] {
            let response = get(Canned::new(), &format!("/search?q={text}")).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{text}");
            let html = body_of(response).await;
            assert!(html.contains(understood) && !html.contains("<b>x"), "{html}");
        }
    }

    #[tokio::test]
    async fn several_hits_are_listed() {
        let canned = Canned::new().told(
            "labels_search",
            r#"{"results":[{"name":"A <b>","kind":"entity","entity":"a","category":"exchange","address_count":2,"sample_addresses":[]},
                {"name":"B","kind":"label","entity":null,"category":"user","address_count":1,"sample_addresses":["x/y"]}],
                "truncated":false}"#,
        );
        let html = body_of(get(canned, "/search?q=a").await).await;
        assert!(html.contains("href=\"/entity/a\"") && html.contains("href=\"/address/x%2Fy\""), "{html}");
        assert!(html.contains("A &#60;b&#62;"), "{html}");
    }
}
