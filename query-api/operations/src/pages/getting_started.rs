//! The page for newcomers. It uses no script and no external resource.

use askama::{Template, filters::Safe};
use cairn_http::{GETTING_STARTED_PAGE, Method, Page as Shell, RegisteredOperation, segment};

use super::exceptions::{Exceptions, exceptions};
use crate::config::ApiConfig;

#[derive(Template)]
#[template(path = "getting_started.html")]
struct GettingStarted<'a> {
    live: bool,
    is_sold: bool,
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
    /// Path of a call that can be paid by x402; `None` if there are none.
    paid_by_x402: Option<&'a str>,
}

/// How to pay, with the first operations that must be paid and that a path alone asks for.
fn paying<'a>(operations: &'a [RegisteredOperation], config: &'a ApiConfig) -> Safe<Paying<'a>> {
    let config = &config.http;
    let is_example = |op: &&RegisteredOperation| {
        op.info.method == Method::Get && !op.input.fields.iter().any(|field| field.required)
    };
    let mut examples = operations.iter().filter(is_example).filter(|op| config.is_billable(op));
    let by_x402 = examples.clone().find(|op| config.sells_by_x402(op)).map(|op| op.info.path);
    let paid = examples.find(|op| op.offer.price_sats.is_some()).map_or("", |op| op.info.path);
    let sells = config.payment_backend().is_some();
    Safe(Paying { base: &config.base_url, sells, paid, paid_by_x402: by_x402 })
}

pub(super) fn getting_started(operations: &[RegisteredOperation], config: &ApiConfig) -> String {
    let path = config.example_address().map_or("/v1/chain/recent-blocks".to_owned(), |address| {
        format!("/v1/wallets/{}/transactions?limit=5", segment(address))
    });
    let page = GettingStarted {
        live: config.http.access_mode.is_live(),
        is_sold: config.http.pass_for_sale().is_ok(),
        base: &config.http.base_url,
        path,
        exceptions: exceptions(operations, config),
        paying: paying(operations, config),
    };
    Shell { title: "Getting started", place: GETTING_STARTED_PAGE, scripts: &[], styles: &[], content: &page }.html()
}
