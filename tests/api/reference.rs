//! The pages of the reference: whole in themselves, and all codes explained.

use std::sync::Arc;

use axum::{body::Body, http::Request};
use cairn_http::ErrorCode;
use cairn_link::IndexSlot;
use cairn_operations::{ApiState, openapi_document, router};

use crate::support::{open_config, send};

async fn page(path: &str) -> String {
    let router = router(ApiState::new(Arc::new(IndexSlot::new()), open_config()));
    let reply = send(&router, Request::get(path).body(Body::empty()).unwrap()).await;
    assert_eq!(reply.status, 200, "{path}");
    reply.text
}

#[tokio::test]
async fn every_failure_and_every_operation_is_explained() {
    let (reference, errors) = (page("/api/reference/").await, page("/api/reference/errors/").await);
    for code in ErrorCode::ALL {
        assert!(errors.contains(&format!("id=\"{}\"", code.name())), "{}", code.name());
    }
    let document = openapi_document(&open_config());
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(reference.contains(&format!("id=\"{name}\"")), "{name}");
        }
    }
}

#[tokio::test]
async fn pages_load_nothing_from_elsewhere() {
    let pages = [
        "/about",
        "/checkout",
        "/getting-started",
        "/api/reference/",
        "/api/reference/errors/",
        "/api/reference/definitions/",
        "/api/reference/definitions/recommended-fees",
    ];
    for path in pages {
        let html = page(path).await;
        for attribute in ["src=\"", "href=\""] {
            for target in html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(target.starts_with(['/', '#']) || target == "data:,", "{path}: {target}");
            }
        }
        assert_eq!(html.matches("<section").count(), html.matches("</section>").count(), "{path}");
    }
}
