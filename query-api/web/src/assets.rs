//! Style sheets and scripts of the pages. Their paths have a version, so browsers keep them for good.

use std::sync::{Arc, LazyLock};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, header},
    routing::any,
};
use cairn_http::{Document, versioned};

use crate::site::Site;

/// A file that pages load.
pub(crate) struct Asset {
    at: &'static str,
    media_type: &'static str,
    content: &'static str,
    versioned: LazyLock<String>,
}

macro_rules! asset {
    ($at:literal, $media_type:literal, $content:expr) => {
        Asset {
            at: $at,
            media_type: $media_type,
            content: $content,
            versioned: LazyLock::new(|| versioned($at, $content)),
        }
    };
}

/// The style of the pages, besides the style of the frame.
pub(crate) static SITE_STYLE: Asset = asset!(
    "/assets/site.css",
    "text/css; charset=utf-8",
    concat!(
        include_str!("../assets/site.css"),
        include_str!("../assets/chart.css"),
        include_str!("../assets/address.css"),
        include_str!("../assets/block.css"),
        include_str!("../assets/home.css"),
        include_str!("../assets/trace.css"),
        include_str!("../assets/tx.css"),
        include_str!("../assets/wallet.css"),
    )
);
/// The script of all pages: what is better with scripts, and complete without.
pub(crate) static SITE_SCRIPT: Asset =
    asset!("/assets/site.js", "text/javascript; charset=utf-8", include_str!("../assets/site.js"));

pub(crate) static HOME_SCRIPT: Asset =
    asset!("/assets/home.js", "text/javascript; charset=utf-8", include_str!("../assets/home.js"));

pub(crate) static TX_SCRIPT: Asset =
    asset!("/assets/tx.js", "text/javascript; charset=utf-8", include_str!("../assets/tx.js"));

pub(crate) static TRACE_SCRIPT: Asset =
    asset!("/assets/trace.js", "text/javascript; charset=utf-8", include_str!("../assets/trace.js"));

static ALL: [&Asset; 5] = [&SITE_STYLE, &SITE_SCRIPT, &HOME_SCRIPT, &TX_SCRIPT, &TRACE_SCRIPT];

impl Asset {
    /// Its path with its version.
    pub(crate) fn path(&self) -> &str {
        &self.versioned
    }
}

pub(crate) fn routes() -> Router<Arc<Site>> {
    ALL.into_iter().fold(Router::new(), |router, asset| {
        let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
        let document = Document::new(asset.at, asset.media_type, asset.content).with(header::CACHE_CONTROL, kept);
        let document = Arc::new(document);
        router.route(asset.at, any(move |request: Request| async move { document.answer(&request) }))
    })
}
