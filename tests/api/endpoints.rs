//! The operations of the interface: each answers, or says that it is not built yet.

use std::{collections::BTreeSet, path::PathBuf};

use axum::{body::Body, http::Request};

use crate::support::{DOCUMENT, assert_problem, everything_world, get, send};

/// The operations as they were agreed upon. A copy of the specification's list, which lies outside of the repository.
const AGREED: &str = include_str!("../../query-api/operations/agreed.tsv");

/// Method and path template of each operation.
fn agreed() -> impl Iterator<Item = (&'static str, &'static str)> {
    AGREED.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        (!columns[2].is_empty()).then(|| (columns[0], columns[1]))
    })
}

#[test]
fn the_list_is_the_one_of_the_specification() {
    let data = cairn_testkit::shared_data_or_skip!();
    let spec = data.join("../spec/endpoints.tsv");
    let Ok(text) = std::fs::read_to_string(&spec) else {
        cairn_testkit::skip!("no {}", PathBuf::from("spec").join("endpoints.tsv").display())
    };
    // Ours has one more column: what an operation will be found by.
    let columns = |line: &str| line.split('\t').take(9).collect::<Vec<_>>().join("\t");
    let ours: Vec<String> = AGREED.trim_end().lines().map(columns).collect();
    let theirs: Vec<String> = text.trim_end().lines().map(str::to_owned).collect();
    assert_eq!(ours, theirs);
}

#[tokio::test]
async fn every_agreed_operation_is_built_and_cataloged() {
    let world = &everything_world();
    let router = world.open_router();
    let health = get(&router, "/api/health").await.body;
    let mut cataloged = BTreeSet::new();
    for package in ["primary_package", "timestamp_package"] {
        for entry in health[package]["endpoint_catalog"].as_array().unwrap() {
            cataloged.insert((entry["method"].as_str().unwrap(), entry["path"].as_str().unwrap()));
        }
    }
    let mut built = 0;
    for (method, path) in agreed() {
        assert!(DOCUMENT["paths"][path][method.to_lowercase()].is_object(), "{method} {path}");
        assert!(cataloged.contains(&(method, path)), "{method} {path}");
        built += 1;
        // The path knows its methods.
        let place = path.replace(['{', '}'], "x");
        let wrong = Request::builder().method("DELETE").uri(&place).body(Body::empty()).unwrap();
        let reply = send(&router, wrong).await;
        assert_problem(&reply, 405, "method_not_allowed");
        assert!(reply.header("allow").contains(method), "{path}");
    }
    // Routes that were not agreed upon are our own: they are in the catalog like everything else.
    let added = cataloged.iter().filter(|route| !agreed().any(|agreed| agreed == **route)).count();
    assert_eq!(health["endpoints_available"].as_u64().unwrap() as usize, built + added);
    assert_eq!((cataloged.len(), added), (built + added, 5));
    assert_eq!(built, 93);
}
