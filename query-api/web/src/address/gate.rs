//! A page of an address that needs a session or a payment: the words of the API, with the ways to the other pages.

use askama::Template;
use axum::response::Response;

use crate::{
    answer::{self, Kind, Shown},
    ask::Refused,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

#[derive(Template)]
#[template(path = "address/gate.html")]
struct Gate<'a> {
    address: &'a str,
    tabs: Tabs,
    refused: &'a Refused,
}

/// Answers with a refusal. A gate leaves the tabs, since other pages of the address are free.
pub(super) fn refused(site: &Site, title: &str, address: &str, tab: Tab, refused: &Refused) -> Response {
    if !matches!(refused.status, 402 | 403) {
        return answer::refused(site, title, "", refused);
    }
    let content = Gate { address, tabs: tabs(address, tab), refused };
    let (kind, status) = (Kind::Private, refused.http_status());
    Shown { title, place: "", kind, status, scripts: &[], content: &content }.answer(site)
}
