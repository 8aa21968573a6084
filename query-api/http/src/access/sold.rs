//! A request to an operation that is sold, in one form for HTTP and tools: a payment is bound to this form.

use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value};

use crate::{
    answers::error::Location,
    contract::{
        method::Method,
        offer::Unit,
        operation::{Info, RegisteredOperation},
    },
    requests::{
        fingerprint::write_sorted,
        parameters::{KEPT, text_of},
    },
};

/// A request that must be paid.
///
/// It is made from the checked parameters in their canonical form, so that two requests are the same if and only if
/// they ask for the same: the spelling of the URL, the order of parameters and unknown parameters do not count.
#[derive(Debug)]
pub struct SoldCall<'a> {
    /// Its operation.
    pub info: &'a Info,
    /// Name of the capability that is sold.
    pub capability: &'static str,
    /// The path template by which it came.
    pub template: &'static str,
    /// Its path.
    pub path: String,
    /// Its query string, sorted by name; empty for POST.
    pub query: String,
    /// The fields of its body as JSON, sorted by name; `None` for GET.
    pub body: Option<String>,
    /// Number of priced units in it: 1, or the addresses of a batch.
    pub units: u64,
    /// Its price in satoshis; `None` if it has none at present.
    pub price_sats: Option<u64>,
    /// The price of a unit in dollars, as decimal text.
    pub unit_usd: Option<&'static str>,
    /// Why the payment in the request does not open it, as a stable word.
    pub refused: Option<&'static str>,
    /// The network of the index; `None` while it is unknown.
    pub network: Option<&'static str>,
    /// Public URL of the service.
    pub base_url: &'a str,
}

impl<'a> SoldCall<'a> {
    /// Describes a request by its checked parameters. Its price is that of the list.
    pub(crate) fn new(
        op: &'a RegisteredOperation,
        template: &'static str,
        input: &Value,
        network: Option<&'static str>,
        base_url: &'a str,
    ) -> Self {
        let of = |location: Location| {
            let fields = op.input.fields.iter().filter(move |field| field.location == location);
            fields.filter_map(|field| Some((&field.name, input.get(&field.name).filter(|value| !value.is_null())?)))
        };
        let path = template.split('/').map(|segment| {
            let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            let value = name.and_then(|name| input.get(name)).map(text_of);
            value.map_or_else(|| segment.to_owned(), |text| utf8_percent_encode(&text, KEPT).to_string())
        });
        let mut pairs: Vec<(&String, String)> =
            of(Location::Query).map(|(name, value)| (name, sorted(value))).collect();
        pairs.sort();
        let pairs = pairs
            .iter()
            .map(|(name, text)| format!("{}={}", utf8_percent_encode(name, KEPT), utf8_percent_encode(text, KEPT)));
        let body = (op.info.method == Method::Post).then(|| {
            let members: Map<String, Value> =
                of(Location::Body).map(|(name, value)| (name.clone(), value.clone())).collect();
            sorted(&Value::Object(members))
        });
        let units = units(op, input);
        SoldCall {
            info: &op.info,
            capability: op.offer.capability.unwrap_or(op.info.name),
            template,
            path: path.collect::<Vec<_>>().join("/"),
            query: pairs.collect::<Vec<_>>().join("&"),
            body,
            units,
            price_sats: op.offer.price_sats.map(|price| price.saturating_mul(units)),
            unit_usd: op.offer.x402_usd,
            refused: None,
            network,
            base_url,
        }
    }

    /// Its HTTP method.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.info.method.name()
    }
}

/// Number of priced units of a request: the addresses of a batch, if the price is for each.
fn units(op: &RegisteredOperation, input: &Value) -> u64 {
    let addresses = || input.get("addresses").and_then(Value::as_array).map_or(1, Vec::len);
    match op.offer.unit {
        Some(Unit::Address) => u64::try_from(addresses()).unwrap_or(u64::MAX),
        Some(Unit::Request) | None => 1,
    }
}

/// A value as text; objects and lists as JSON with sorted names.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => {
            let mut text = String::new();
            write_sorted(value, &mut text);
            text
        }
        other => text_of(other),
    }
}
