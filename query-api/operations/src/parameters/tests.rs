//! Inputs with these parameters, checked as those of operations are.
#![allow(clippy::unwrap_used, dead_code)]
use cairn_http::{Detail, InputSpec, Members, Method, Raw, Warning};
use serde_json::{Value, json};

use super::{
    FORMATS,
    identifier::{AddressParam, TxidParam},
};
use crate::operation::prelude::*;

#[derive(Debug, Deserialize, JsonSchema)]
struct Example {
    address: AddressParam,
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    #[serde(default)]
    view: Detail,
    min_btc: Option<f64>,
    deep: Option<bool>,
    #[schemars(length(min = 2, max = 3))]
    word: Option<String>,
    tx: Option<TxidParam>,
    kind: Option<Detail>,
}

fn ten() -> u32 {
    10
}

fn bind(address: &str, query: &[(&str, &str)]) -> Result<(Example, Vec<Warning>), ApiError> {
    let spec = InputSpec::of::<Example>("/x/{address}", Method::Get);
    let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    let raw = Raw {
        path: vec![("address".to_owned(), address.to_owned())],
        query: query.iter().map(own).collect(),
        ..Raw::default()
    };
    let (value, warnings) = spec.bind(&raw, FORMATS, Some("main"))?;
    Ok((serde_json::from_value(value).unwrap(), warnings))
}

const GENESIS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

#[test]
fn good_requests_bind() {
    let (input, warnings) = bind(GENESIS, &[]).unwrap();
    assert_eq!((input.limit, input.view, input.address.text.as_str()), (10, Detail::Full, GENESIS));
    assert!(warnings.is_empty());
    let query =
        [("limit", "100"), ("view", "compact"), ("min_btc", "0.1"), ("deep", "true"), ("kind", "full"), ("word", "12")];
    let (input, _) = bind(GENESIS, &query).unwrap();
    assert_eq!((input.limit, input.view, input.min_btc, input.deep), (100, Detail::Compact, Some(0.1), Some(true)));
    assert_eq!((input.word.as_deref(), input.kind), (Some("12"), Some(Detail::Full)));
    assert_eq!(bind(GENESIS, &[("min_btc", "3")]).unwrap().0.min_btc, Some(3.0));
}

#[test]
fn every_bad_field_is_reported() {
    let query =
        [("limit", "101"), ("view", "tiny"), ("min_btc", "inf"), ("deep", "maybe"), ("word", "x"), ("kind", "none")];
    let error = bind(GENESIS, &query).unwrap_err();
    assert_eq!((error.status.as_u16(), error.code), (422, ErrorCode::ValidationError));
    let names: Vec<_> = error.errors.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["limit", "view", "min_btc", "deep", "word", "kind"]);
    assert_eq!(error.errors[0].allowed, Some(json!({"minimum": 1, "maximum": 100})));
    for bad in ["", "1.5", "-1", "0x10", "1e3", "+5", "99999999999999999999999"] {
        assert_eq!(bind(GENESIS, &[("limit", bad)]).unwrap_err().errors.len(), 1, "{bad:?}");
    }
    assert_eq!(bind(GENESIS, &[("limit", "1"), ("limit", "2")]).unwrap_err().code, ErrorCode::ValidationError);
}

#[test]
fn malformed_identifiers_have_their_own_codes() {
    let error = bind("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", &[("limit", "0"), ("tx", "zz")]).unwrap_err();
    assert_eq!((error.status.as_u16(), error.code, error.errors.len()), (400, ErrorCode::InvalidAddress, 3));
    assert_eq!(bind("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", &[]).unwrap_err().code, "wrong_network");
    assert_eq!(bind(GENESIS, &[("tx", "zz")]).unwrap_err().code, "invalid_txid");
}

#[test]
fn unknown_parameters_are_ignored_aloud() {
    let (_, warnings) = bind(GENESIS, &[("limt", "5"), ("limt", "5"), ("zzzzzzzz", "")]).unwrap();
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].message.contains("did you mean limit?"));
    assert!(!warnings[1].message.contains("did you mean"));
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Batch {
    #[schemars(length(min = 1, max = 2))]
    addresses: Vec<AddressParam>,
    note: Option<String>,
}

#[test]
fn bodies_are_checked_too() {
    let spec = InputSpec::of::<Batch>("/x", Method::Post);
    let bind = |body: Value| {
        let body = body.as_object().cloned().unwrap();
        let body = Members { values: body, ..Members::default() };
        spec.bind(&Raw { body, ..Raw::default() }, FORMATS, Some("main"))
    };
    assert!(bind(json!({"addresses": [GENESIS]})).is_ok());
    assert_eq!(bind(json!({})).unwrap_err().errors[0].message, "is required");
    assert_eq!(bind(json!({"addresses": []})).unwrap_err().code, ErrorCode::ValidationError);
    let error = bind(json!({"addresses": ["x", 1], "note": 1})).unwrap_err();
    let names: Vec<_> = error.errors.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["addresses[0]", "addresses[1]", "note"]);
    assert_eq!(error.code, "invalid_address");
    assert_eq!(bind(json!({"addresses": [GENESIS], "nota": 1})).unwrap().1.len(), 1);
}
