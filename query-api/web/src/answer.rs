//! Pages as answers over HTTP.

use std::fmt::Display;

use askama::{Template, filters::HtmlSafe};
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use cairn_http::{POLICY, Page};

use crate::{
    ask::Refused,
    assets::{SITE_SCRIPT, SITE_STYLE},
    site::Site,
};

pub(crate) const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Who may keep and list a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// About the chain as a whole: for everybody.
    Public,
    /// About an address or a transaction: search engines list it only if the operator wants that.
    Unlisted,
    /// Made from what its reader has entered: kept nowhere.
    Private,
}

/// A page before it has its frame.
pub(crate) struct Shown<'a, C> {
    /// Title and first heading.
    pub(crate) title: &'a str,
    /// Path of the page in the navigation that it belongs to; empty: none.
    pub(crate) place: &'a str,
    pub(crate) kind: Kind,
    pub(crate) status: StatusCode,
    /// Scripts in addition to that of all pages.
    pub(crate) scripts: &'a [&'a str],
    pub(crate) content: &'a C,
}

impl<C: Display> Shown<'_, C> {
    pub(crate) fn answer(self, site: &Site) -> Response {
        let Shown { title, place, kind, status, scripts, content } = self;
        let scripts: Vec<&str> = std::iter::once(SITE_SCRIPT.path()).chain(scripts.iter().copied()).collect();
        let page = Page { title, place, scripts: &scripts, styles: &[SITE_STYLE.path()], content };
        let kept = if kind == Kind::Private { "private, no-store" } else { "no-cache" };
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
            // A page without a referrer sends its forms with `Origin: null`, which the server refuses.
            (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        ];
        let mut response = (status, headers, page.html()).into_response();
        let is_listed = kind == Kind::Public || (kind == Kind::Unlisted && site.options.for_search_engines);
        if !is_listed {
            response.headers_mut().insert(ROBOTS, HeaderValue::from_static("noindex"));
        }
        response
    }
}

/// The page in the place of one whose main operation did not answer.
pub(crate) fn refused(site: &Site, title: &str, place: &str, refused: &Refused) -> Response {
    let (status, retry_after) = (refused.http_status(), refused.retry_after);
    let page = Shown { title, place, kind: Kind::Private, status, scripts: &[], content: refused };
    let mut response = page.answer(site);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Writes a refusal as a paragraph: in the place of a part of a page, or as all of its content.
#[derive(Template)]
#[template(path = "refused.html")]
struct Paragraph<'a> {
    status: u16,
    code: &'a str,
    title: &'a str,
    detail: &'a str,
    path: &'a str,
}

impl Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Refused { status, code, title, detail, path, .. } = self;
        Paragraph { status: *status, code, title, detail, path }.fmt(f)
    }
}

impl HtmlSafe for Refused {}
