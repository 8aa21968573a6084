//! The addresses that have something in common with one, as a file.

use std::{fmt::Write, sync::Arc};

use axum::{
    extract::{Path, State},
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use crate::{answer, site::Site};

/// Addresses of each kind.
pub(super) const MEMBERS: u32 = 1_000;

#[derive(Deserialize)]
struct Intelligence {
    address: String,
    cohorts: Vec<Cohort>,
}

#[derive(Deserialize)]
struct Cohort {
    basis: String,
    sample: Vec<String>,
}

/// A row for each address, the address itself first.
fn csv(found: &Intelligence) -> String {
    let mut text = "basis,address\r\n".to_owned();
    let others = found.cohorts.iter().flat_map(|cohort| cohort.sample.iter().map(|one| (cohort.basis.as_str(), one)));
    for (basis, address) in std::iter::once(("self", &found.address)).chain(others) {
        // The own address stands as it was asked for, which may be a URI.
        if address.chars().all(|c| c.is_ascii_alphanumeric() || c == ':') {
            // Writing to a text does not fail.
            let _ = write!(text, "{basis},{address}\r\n");
        }
    }
    text
}

pub(super) async fn file(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let input = json!({"address": address, "sample_limit": MEMBERS});
    match site.ask::<Intelligence>(&parts, "address_intelligence", input).await {
        Err(refused) => answer::refused(&site, "Cluster", "", &refused),
        Ok(told) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8")),
                (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"cluster.csv\"")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
                (answer::ROBOTS, HeaderValue::from_static("noindex")),
            ];
            (headers, csv(&told.data)).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use crate::testing::{Canned, body_of, get};

    #[tokio::test]
    async fn a_row_for_each_address() {
        let canned = Canned::new().told(
            "address_intelligence",
            r#"{"address":"a","cohorts":[{"basis":"cluster","sample":["b","c"]},{"basis":"label_pattern","sample":["d"]}]}"#,
        );
        let response = get(canned, "/address/a/cluster.csv").await;
        assert_eq!(response.headers()["content-type"], "text/csv; charset=utf-8");
        let expected = "basis,address\r\nself,a\r\ncluster,b\r\ncluster,c\r\nlabel_pattern,d\r\n";
        assert_eq!(body_of(response).await, expected);
        let canned = Canned::new().refused("address_intelligence", 402, "payment_required", "pay <it>");
        assert_eq!(get(canned, "/address/a/cluster.csv").await.status(), StatusCode::PAYMENT_REQUIRED);
    }
}
