//! The page of the chain as it is now: tip, price, fees, projected and newest blocks, alerts, flows of exchanges.

mod blocks;
mod figures;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde_json::json;
use tokio::join;

use self::{
    blocks::{Projection, Recent},
    figures::{Alerts, Fees, Flows, Stress, Summary},
};
use crate::{
    answer::{self, Kind, Shown},
    ask::Part,
    assets::HOME_SCRIPT,
    format, links,
    route::PageRoutes,
    site::{Site, Story},
};

/// Newest blocks and alerts that are listed.
const BLOCKS: u32 = 10;
const ALERTS: u32 = 6;

#[derive(Template)]
#[template(path = "home/home.html")]
struct Home<'s> {
    stories: &'s [Story],
    summary: Part<Summary>,
    fees: Part<Fees>,
    stress: Part<Stress>,
    projected: Part<Projection>,
    recent: Part<Recent>,
    alerts: Part<Alerts>,
    flows: Part<Flows>,
}

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new().page("/", home)
}

async fn home(State(site): State<Arc<Site>>, parts: Parts) -> Response {
    let from = &parts;
    let (summary, fees, stress, projected, recent, alerts, flows) = join!(
        site.ask(from, "network_summary", json!({})),
        site.ask(from, "fees_recommended", json!({})),
        site.ask(from, "mempool_stress", json!({})),
        site.ask(from, "projected_blocks", json!({"txids_limit": 0})),
        site.ask(from, "recent_blocks", json!({"limit": BLOCKS})),
        site.ask(from, "whale_alerts", json!({"limit": ALERTS, "range": "7d"})),
        site.ask(from, "exchange_flows_summary", json!({})),
    );
    let home = Home { stories: &site.options.stories, summary, fees, stress, projected, recent, alerts, flows };
    // All of them are refused together: by the rate limit, or before anything is indexed.
    if let (Err(refused), Err(_)) = (&home.summary, &home.recent) {
        return answer::refused(&site, "Cairn", "/", refused);
    }
    let scripts = &[HOME_SCRIPT.path()];
    Shown { title: "Cairn", place: "/", kind: Kind::Public, status: StatusCode::OK, scripts, content: &home }
        .answer(&site)
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;
    use crate::{
        Options,
        testing::{Canned, body_of, get},
    };

    #[tokio::test]
    async fn a_refused_part_leaves_the_rest() {
        let canned = Canned::new()
            .told("network_summary", r#"{"height":7,"price_usd":null,"price_reason":"no <price>","mempool_count":null}"#)
            .told("recent_blocks", r#"{"blocks":[{"height":7,"hash":"ab","time":"2024-01-01T00:00:00Z","tx_count":2,
                "weight":4000,"fees_sats":5,"fee_range":null,"pool":{"name":"<Pool>","slug":"p/q"},"pool_reason":null}]}"#);
        let html = body_of(get(canned, "/").await).await;
        assert!(html.contains("no &#60;price&#62;") && html.contains("&#60;Pool&#62;"), "{html}");
        assert!(html.contains("/pool/p%2Fq") && html.contains("class=\"refused\""), "{html}");
        assert!(!html.contains("<Pool>"));
    }

    /// The key of a story goes to the page of wallets in a body, since URLs are logged.
    #[tokio::test]
    async fn the_key_of_a_story_stands_in_a_form_and_in_no_url() {
        let story = |title: &str, account_key: Option<&str>| Story {
            title: title.to_owned(),
            description: String::new(),
            address: "a".to_owned(),
            account_key: account_key.map(str::to_owned),
        };
        let options = Options { stories: vec![story("one", Some("tpub<1")), story("two", None)], ..Options::default() };
        let canned = Arc::new(Canned::new().told("recent_blocks", r#"{"blocks":[]}"#));
        let request = Request::get("/").body(Body::empty()).unwrap();
        let html = body_of(crate::routes(canned, options).oneshot(request).await.unwrap()).await;
        assert_eq!(html.matches("action=\"/wallet\"").count(), 1, "{html}");
        assert!(html.contains("name=\"wallet\" value=\"tpub&#60;1\"") && html.contains("<code>tpub&#60;1</code>"));
        let targets = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        assert!(targets.into_iter().all(|target| !target.contains("tpub")), "{html}");
    }

    #[tokio::test]
    async fn nothing_at_all_is_an_error() {
        let response = get(Canned::new(), "/").await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
    }
}
