#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use super::*;
use crate::{
    codes::{ERRORS, explained_at},
    openapi, routes,
};

#[test]
fn every_failure_and_every_operation_is_explained() {
    let operations = routes::operations();
    for op in &operations {
        for (status, code) in openapi::failures(op) {
            let known = ERRORS.iter().any(|(s, c, _)| (*s, *c) == (status, code));
            assert!(known, "{}: {status} {code}", op.info.name);
        }
    }
    let codes: BTreeSet<_> = ERRORS.iter().map(|(_, code, _)| code).collect();
    assert_eq!(codes.len(), ERRORS.len());
    assert_eq!(explained_at("http://x", "rate_limited"), "http://x/api/reference/errors/#rate_limited");
    assert_eq!(explained_at("http://x", "else"), "http://x/api/reference/errors/#errors");
}

#[test]
fn pages_load_nothing_from_elsewhere() {
    let (operations, config) = (routes::operations(), ApiConfig::default());
    let openapi = openapi::of(&operations, &config);
    let page = operations::page(&operations, &openapi, &config);
    for op in &operations {
        assert!(page.contains(&format!("id=\"{}\"", op.info.name)), "{}", op.info.name);
    }
    for html in
        [page, errors::page(&operations), definitions::index()].into_iter().chain(definitions::pages().map(|p| p.1))
    {
        for attribute in ["src=\"", "href=\""] {
            for target in html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(target.starts_with(['/', '#']) || target == "data:,", "{target}");
            }
        }
        assert_eq!(html.matches("<section").count(), html.matches("</section>").count());
    }
}
