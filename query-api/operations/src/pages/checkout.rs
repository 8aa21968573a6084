//! The page of the checkout, and what its forms do. They need no script: each form is a call of an operation, and its
//! answer is a page.

use std::sync::Arc;

use askama::{Template, filters::Safe};
use axum::{
    Router,
    body::Body,
    extract::{Query, Request, State as Shared},
    http::{HeaderValue, Method, StatusCode, Uri, header, request::Parts},
    response::{IntoResponse, Response},
    routing::any,
};
use cairn_http::{
    Api, CHECKOUT_PAGE, Document, ErrorCode, PASS_PLAN, POLICY, Page as Shell, PassMethod, PassOffer,
    RegisteredOperation, Reply,
};
use serde_json::{Map, Value, json};

use super::exceptions::{Exceptions, exceptions};
use crate::config::ApiConfig;

/// Where the form goes that opens a checkout.
pub(super) const OPEN: &str = "/checkout/open";
/// Where the form goes that looks up a payment.
pub(super) const PAYMENT: &str = "/checkout/payment";
/// Bytes of a form. All that these have is shorter.
const MAX_FORM_BYTES: usize = 2_048;
#[derive(Template)]
#[template(path = "checkout.html")]
struct Checkout<'a> {
    live: bool,
    base: &'a str,
    /// The pass, while it is sold.
    sold: Option<&'a PassOffer>,
    exceptions: Safe<Exceptions<'a>>,
}

#[derive(Template)]
#[template(path = "checkout_payment.html")]
struct Payment<'a> {
    shown: Shown<'a>,
}

#[derive(Template)]
#[template(path = "checkout_problem.html")]
struct Problem<'a> {
    title: &'a str,
    detail: &'a str,
}

/// A checkout as its page shows it.
struct Shown<'a> {
    checkout_id: &'a str,
    secret: &'a str,
    state: &'a str,
    note: &'a str,
    /// True while something can be paid.
    is_payable: bool,
    amount_sats: u64,
    payment_uri: &'a str,
    /// Invoice or address.
    pay_to: &'a str,
    qr_path: &'a str,
    expires_at: &'a str,
    api_key: Option<&'a str>,
    pass_ends_at: &'a str,
}

impl<'a> Shown<'a> {
    /// Reads the answer of an operation of the checkout.
    fn of(answer: &'a Value, secret: &'a str) -> Self {
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let (payment, state) = (&answer["payment"], text(&answer["state"]));
        let pay_to = if payment["invoice"].is_string() { &payment["invoice"] } else { &payment["address"] };
        Shown {
            checkout_id: text(&answer["checkout_id"]),
            secret: answer["claim_secret"].as_str().unwrap_or(secret),
            state,
            note: match answer["api_key_reason"].as_str() {
                Some("shown_before") => "The key of the pass was shown before, and cannot be shown again.",
                Some("pass_ended") => "The time of the pass is over.",
                _ => text(&answer["note"]),
            },
            is_payable: matches!(state, "open" | "underpaid"),
            amount_sats: payment["amount_sats"].as_u64().unwrap_or_default(),
            payment_uri: text(&payment["payment_uri"]),
            pay_to: text(pay_to),
            qr_path: text(&payment["qr_path"]),
            expires_at: text(&answer["expires_at"]),
            api_key: answer["api_key"].as_str(),
            pass_ends_at: text(&answer["pass_ends_at"]),
        }
    }
}

/// A method in the words of the page.
pub(super) fn label(method: PassMethod) -> &'static str {
    match method {
        PassMethod::Lightning => "Lightning",
        PassMethod::Onchain => "On chain",
    }
}

pub(super) fn html(operations: &[RegisteredOperation], config: &ApiConfig) -> String {
    let page = Checkout {
        live: config.http.access_mode.is_live(),
        base: &config.http.base_url,
        sold: config.http.pass_for_sale().ok(),
        exceptions: exceptions(operations, config),
    };
    framed(&page)
}

/// The page as a document. It has forms while a pass is sold.
pub(super) fn document(operations: &[RegisteredOperation], config: &ApiConfig) -> Document {
    Document::page(CHECKOUT_PAGE, html(operations, config))
}

pub(crate) fn routes(api: &Api) -> Router {
    let router = Router::new().route(OPEN, any(open)).route(PAYMENT, any(payment));
    router.with_state(Arc::new(api.clone()))
}

async fn open(Shared(api): Shared<Arc<Api>>, request: Request) -> Response {
    with_form(&api, request, async |api, form, parts| {
        let input = json!({"plan_id": PASS_PLAN, "payment_method_id": form.get("payment_method_id")});
        call(api, "create_checkout", input, "", parts).await
    })
    .await
}

async fn payment(Shared(api): Shared<Arc<Api>>, request: Request) -> Response {
    with_form(&api, request, async |api, form, parts| {
        let secret = form.get("checkout_secret").and_then(Value::as_str).unwrap_or_default();
        let input = json!({"checkout_id": form.get("checkout_id"), "checkout_secret": secret});
        call(api, "refresh_checkout", input, secret, parts).await
    })
    .await
}

/// Reads a form and answers it. A browser that asks for the address itself gets to the page.
async fn with_form(
    api: &Api,
    request: Request,
    answer: impl AsyncFnOnce(&Api, &Map<String, Value>, &Parts) -> Response,
) -> Response {
    let (parts, body) = request.into_parts();
    match parts.method {
        Method::POST => {}
        // Relative, since a proxy may serve the API below another path.
        Method::GET | Method::HEAD => {
            return (StatusCode::SEE_OTHER, [(header::LOCATION, "../checkout")]).into_response();
        }
        _ => return Api::method_not_allowed(&parts.method, "GET, HEAD, POST, OPTIONS"),
    }
    match fields(api, body, &parts).await {
        Ok(form) => answer(api, &form, &parts).await,
        Err(refused) => *refused,
    }
}

async fn fields(api: &Api, body: Body, parts: &Parts) -> Result<Map<String, Value>, Box<Response>> {
    let bytes = api.body(body, parts).await?;
    // A form is written like a query string.
    let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= MAX_FORM_BYTES);
    let uri = text.and_then(|text| format!("/?{text}").parse::<Uri>().ok());
    let read = uri.and_then(|uri| Query::<Vec<(String, String)>>::try_from_uri(&uri).ok());
    let Query(fields) = read.ok_or_else(|| {
        let problem =
            Problem { title: "The form cannot be read", detail: "Send it again from the page of the checkout." };
        Box::new(page(StatusCode::UNPROCESSABLE_ENTITY, &problem))
    })?;
    Ok(fields.into_iter().map(|(name, value)| (name, Value::String(value))).collect())
}

async fn call(api: &Api, operation: &str, input: Value, secret: &str, parts: &Parts) -> Response {
    let Value::Object(input) = input else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let reply = match api.call_for_form(operation, input, MAX_FORM_BYTES, parts).await {
        Ok(Some(reply)) => reply,
        Ok(None) => return Api::problem(ErrorCode::InternalError, "the form has no operation", None),
        Err(error) => return error.into_response(),
    };
    let Reply { status, body, .. } = reply;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status.is_success() {
        return page(status, &Payment { shown: Shown::of(&answer, secret) });
    }
    let text = |name: &str| answer[name].as_str().unwrap_or_default();
    page(status, &Problem { title: text("title"), detail: text("detail") })
}

/// A page that only its reader may see.
fn page(status: StatusCode, content: &impl std::fmt::Display) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        // With `no-referrer`, browsers would send the forms with `Origin: null`, which is refused.
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    (status, headers, framed(content)).into_response()
}

fn framed(content: &impl std::fmt::Display) -> String {
    Shell { title: "Checkout", place: "", scripts: &[], styles: &[], content }.html()
}
