//! The page of a wallet: a form for descriptors, extended public keys or addresses, and the answer to it. Nothing that
//! is entered is kept, or written into the answer.

mod addresses;
mod entered;
mod lookup;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Form, State, rejection::FormRejection},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use self::{
    addresses::Rows,
    entered::{Asked, Entered},
    lookup::{Gains, Wallet},
};
use crate::{
    answer::{Kind, Shown},
    ask::{Part, Refused, Told},
    format, links,
    operations::Request,
    route::PageRoutes,
    site::Site,
};

const MAX_FORM_BYTES: usize = 64 << 10;
/// Transactions of the history.
const TRANSACTIONS: u64 = 25;
/// Gap limit of the API without another one.
const GAP_LIMIT: u64 = 20;

/// The answer that stands above the form.
#[derive(Default)]
enum Answer {
    #[default]
    None,
    Refused(Refused),
    Wallet(Box<Answered>),
    Addresses(Told<Rows>),
}

/// A wallet as the operation answered.
struct Answered {
    told: Told<Wallet>,
    gains: Part<Gains>,
    gap_limit: String,
}

#[derive(Template)]
#[template(path = "wallet/wallet.html")]
struct Page {
    answer: Answer,
}

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new().form("/wallet", page, answer).layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
}

async fn page(State(site): State<Arc<Site>>) -> Response {
    shown(&site, Kind::Public, Answer::None)
}

async fn answer(State(site): State<Arc<Site>>, parts: Parts, form: Result<Form<Entered>, FormRejection>) -> Response {
    let answer = match form {
        Ok(Form(entered)) => answered(&site, &parts, &entered).await,
        Err(rejection) => Answer::Refused(unreadable(rejection.status())),
    };
    shown(&site, Kind::Private, answer)
}

/// Why a form cannot be read.
fn unreadable(status: StatusCode) -> Refused {
    let (title, code, detail) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => (
            "The form is too large",
            "payload_too_large",
            format!("a form has at most {MAX_FORM_BYTES} bytes; send fewer descriptors, keys or addresses at once"),
        ),
        _ => (
            "The form cannot be read",
            "invalid_body",
            "a form of this page has the fields wallet, gap_limit and currency; send it again from this page"
                .to_owned(),
        ),
    };
    Refused { status: status.as_u16(), code: code.to_owned(), title: title.to_owned(), detail, ..Refused::default() }
}

async fn answered(site: &Site, parts: &Parts, entered: &Entered) -> Answer {
    let asked = match entered.asked() {
        Some(asked) => asked,
        None => return Answer::Refused(nothing()),
    };
    match asked {
        Asked::Addresses(addresses) => {
            match submit(site, parts, "batch_overview", json!({"addresses": addresses})).await {
                Ok(told) => Answer::Addresses(told),
                Err(refused) => Answer::Refused(refused),
            }
        }
        Asked::Wallet(wallet) => of_wallet(site, parts, entered, wallet).await,
    }
}

async fn of_wallet(site: &Site, parts: &Parts, entered: &Entered, wallet: Value) -> Answer {
    let (gap_limit, currency) = (entered.gap_limit(), entered.currency());
    let include = json!(["addresses", "transactions"]);
    let input = json!({"wallet": wallet, "gap_limit": gap_limit, "currency": currency, "include": include,
        "limit": TRANSACTIONS});
    let told = match submit(site, parts, "wallet_lookup", input).await {
        Ok(told) => told,
        Err(refused) => return Answer::Refused(refused),
    };
    // Asked separately: long histories have no profit and loss, or need a session for it, and the rest remains.
    let input = json!({"wallet": wallet, "gap_limit": gap_limit, "currency": currency, "include": ["pnl"]});
    let gains = submit(site, parts, "wallet_lookup", input).await;
    let gap_limit = gap_limit.map_or_else(|| GAP_LIMIT.to_string(), |limit| limit.to_string());
    Answer::Wallet(Box::new(Answered { told, gains, gap_limit }))
}

fn nothing() -> Refused {
    Refused {
        status: 422,
        code: "validation_error".to_owned(),
        title: "Nothing is entered".to_owned(),
        detail: "the text is empty; paste an output descriptor, an extended public key or addresses".to_owned(),
        ..Refused::default()
    }
}

/// Asks an operation with what a form has.
async fn submit<T: DeserializeOwned>(site: &Site, from: &Parts, operation: &'static str, input: Value) -> Part<T> {
    let mut input = match input {
        Value::Object(input) => input,
        _ => Map::new(),
    };
    input.retain(|_, value| !value.is_null());
    site.send(Request { operation, input, bytes: MAX_FORM_BYTES, from, is_form: true }).await
}

fn shown(site: &Site, kind: Kind, answer: Answer) -> Response {
    let (status, retry_after) = match &answer {
        Answer::Refused(refused) => (refused.http_status(), refused.retry_after),
        _ => (StatusCode::OK, None),
    };
    let page = Page { answer };
    let mut response =
        Shown { title: "Wallet", place: "/wallet", kind, status, scripts: &[], content: &page }.answer(site);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

#[cfg(test)]
mod tests;
