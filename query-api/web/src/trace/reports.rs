//! The page of what unknown people report about an address.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    answer::{self, Kind, Shown},
    ask::Told,
    format, links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

/// Reports of a page.
const REPORTS: u32 = 20;

#[derive(Deserialize)]
struct Reports {
    reports: Vec<Report>,
    next_cursor: Option<String>,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Report {
    report_id: String,
    category: String,
    description: Option<String>,
    text_removed: Option<String>,
    #[serde(default)]
    evidence_txids: Vec<String>,
    evidence_url: Option<String>,
    up: i64,
    down: i64,
    published_height: Option<u64>,
    published_at: Option<String>,
    #[serde(default)]
    late: bool,
    #[serde(default)]
    contested: bool,
    reply: Option<Reply>,
    confidence_level: Option<u64>,
}

#[derive(Deserialize)]
struct Reply {
    text: Option<String>,
    replied_at: String,
}

#[derive(Template)]
#[template(path = "trace/reports.html")]
struct ReportsPage {
    tabs: Tabs,
    address: String,
    path: String,
    told: Told<Reports>,
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    let input = json!({"address": address, "limit": REPORTS, "cursor": parameters.get("cursor")});
    match site.ask::<Reports>(&parts, "address_reports", input).await {
        Err(refused) => answer::refused(&site, "Reports", "", &refused),
        Ok(told) => {
            let title = format!("Reports: {}", links::short(&address));
            let path = format!("{}/reports", links::address_path(&address));
            let content = ReportsPage { tabs: tabs(&address, Tab::Reports), address, path, told };
            let (kind, status) = (Kind::Unlisted, StatusCode::OK);
            Shown { title: &title, place: "", kind, status, scripts: &[], content: &content }.answer(&site)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Canned, body_of, get};

    #[tokio::test]
    async fn reports_are_inert_and_say_why_texts_are_missing() {
        let canned = Canned::new().told(
            "address_reports",
            r#"{"reports":[
                {"report_id":"r1","category":"scam","description":"<img src=x>","text_removed":null,"up":3,"down":1,
                    "evidence_txids":["ab"],"evidence_url":"https://x.test/\"><b>","published_height":7,
                    "published_at":"2024-01-01T00:00:00Z","contested":true,
                    "reply":{"text":"not <i>","replied_at":"2024-01-02T00:00:00Z"}},
                {"report_id":"r2","category":"theft","description":null,"text_removed":"erased_on_request",
                    "up":0,"down":0}],
                "next_cursor":"n&1","caveats":["Nobody has verified these reports"]}"#,
        );
        let html = body_of(get(canned, "/address/a1/reports").await).await;
        for part in
            ["&#60;img src=x&#62;", "not &#60;i&#62;", "erased on request", "/block/7", "cursor=n%261", "contested"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<img") && !html.contains("href=\"https://x.test"), "{html}");
    }

    #[tokio::test]
    async fn a_refusal_keeps_its_status() {
        let canned = Canned::new().refused("address_reports", 503, "reports_not_configured", "no file for <reports>");
        let response = get(canned, "/address/x/reports").await;
        assert_eq!(response.status(), 503);
        assert!(body_of(response).await.contains("&#60;reports&#62;"));
    }
}
