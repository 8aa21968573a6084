//! Requests that nobody should send: each is refused with a status and a text.

use axum::{body::Body, http::Request};

use super::{esplora, get, json, list, post, refused, send};
use crate::support::{address, everything_world};

#[tokio::test]
async fn wrong_parts_of_paths_are_refused() {
    let world = &everything_world();
    let router = esplora(world, None);
    let long = "0".repeat(5_000);
    for wrong in ["zz", "0", "-1", &long, &"g".repeat(64), &"0".repeat(63), "%00", "%C3%A9"] {
        for path in [
            format!("/tx/{wrong}"),
            format!("/tx/{wrong}/status"),
            format!("/tx/{wrong}/outspends"),
            format!("/tx/{wrong}/merkle-proof"),
            format!("/block/{wrong}"),
            format!("/block/{wrong}/status"),
            format!("/block/{wrong}/raw"),
            format!("/v1/cpfp/{wrong}"),
        ] {
            refused(&router, &path, 400, "Invalid hex string").await;
        }
    }
    let hash = "00".repeat(32);
    for wrong in ["-1", "abc", "1.5", "99999999999999999999", "0x10", &"9".repeat(300)] {
        refused(&router, &format!("/block-height/{wrong}"), 400, "Invalid number").await;
        refused(&router, &format!("/tx/{hash}/outspend/{wrong}"), 400, "Invalid number").await;
        refused(&router, &format!("/block/{hash}/txid/{wrong}"), 400, "Invalid number").await;
        // Lists begin at the tip.
        assert_eq!(list(&json(&router, "/blocks").await), list(&json(&router, &format!("/blocks/{wrong}")).await));
    }
    refused(&router, "/tx/x/outspend/4294967296", 400, "Invalid number").await;
    for height in ["4294967295", "4294967296", "18446744073709551615"] {
        refused(&router, &format!("/block-height/{height}"), 404, "Block not found").await;
        refused(&router, &format!("/blocks/{height}"), 404, "Block not found").await;
        assert_eq!(list(&json(&router, &format!("/v1/blocks/{height}")).await).len(), 15);
    }
    let tip = world.oracle.blocks().last().unwrap().block_hash();
    for index in ["4294967296", "18446744073709551615"] {
        refused(&router, &format!("/block/{tip}/txid/{index}"), 404, "tx index out of range").await;
        refused(&router, &format!("/block/{tip}/txs/{index}"), 400, "start index must be a multiple of 25").await;
    }
    for index in ["4294967300", "18446744073709551600"] {
        refused(&router, &format!("/block/{tip}/txs/{index}"), 400, "start index out of range").await;
    }
    for prefix in ["", "/api"] {
        refused(&router, &format!("{prefix}/address-prefix/bc1"), 501, "address search is not supported").await;
    }
}

#[tokio::test]
async fn wrong_names_of_scripts_are_refused() {
    let world = &everything_world();
    let router = esplora(world, None);
    for rest in ["", "/txs", "/txs/chain", "/txs/mempool", "/utxo", "/txs/summary"] {
        for wrong in ["x", "bc1q", &"1".repeat(5_000), &format!("scripthash:{}", "00".repeat(32)), "%00"] {
            refused(&router, &format!("/address/{wrong}{rest}"), 400, "Invalid Bitcoin address").await;
        }
        let of_main = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        refused(&router, &format!("/address/{of_main}{rest}"), 400, "Address on invalid network").await;
        for wrong in ["zz", "0", &"0".repeat(63), "00", &"00".repeat(31), &"00".repeat(2_000)] {
            refused(&router, &format!("/scripthash/{wrong}{rest}"), 400, "Invalid scripthash").await;
        }
    }
    let script = world.oracle.scripts().find(|script| script.is_p2wsh()).unwrap();
    let known = address(script).unwrap();
    let valid = json(&router, &format!("/v1/validate-address/{known}")).await;
    assert_eq!(
        (&valid["isvalid"], &valid["iswitness"], &valid["witness_version"]),
        (&true.into(), &true.into(), &0.into())
    );
    let invalid = json(&router, "/v1/validate-address/bc1q").await;
    assert_eq!((&invalid["isvalid"], invalid["error"].is_string()), (&false.into(), true));
}

#[tokio::test]
async fn lists_and_bodies_are_bounded() {
    let world = &everything_world();
    let router = esplora(world, None);
    let many = vec!["00".repeat(32); 51];
    refused(&router, &format!("/txs/outspends?txids={}", many.join(",")), 400, "Too many txids requested").await;
    refused(&router, "/txs/outspends", 400, "No txids specified").await;
    let query: String = many.iter().map(|txid| format!("&txId[]={txid}")).collect();
    refused(&router, &format!("/v1/outspends?{}", &query[1..]), 400, "Too many txids requested").await;
    refused(&router, "/v1/transaction-times", 400, "No txids specified").await;
    for path in ["/tx", "/txs/package", "/txs/test"] {
        let said = post(&router, path, vec![b'0'; 5 << 20]).await;
        assert_eq!((said.status, said.header("content-type")), (413, "text/plain"), "{path}: {}", said.text());
        // A text must be UTF-8.
        let said = post(&router, path, vec![0xff; 100]).await;
        assert_eq!(said.status, 400, "{path}: {}", said.text());
    }
    for (method, path) in [("DELETE", "/tx"), ("PUT", "/blocks"), ("POST", "/blocks/tip/hash")] {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let said = send(&router, request).await;
        assert_eq!(said.status, 405, "{method} {path}");
        assert!(!said.header("allow").is_empty());
    }
    // A query string may have anything.
    for query in ["", "?", "?tx", "?%ff=%ff&&=", "?tx=%C3%A9&tx=1"] {
        let said = get(&router, &format!("/broadcast{query}")).await;
        assert_eq!(said.status, 400, "{query}: {}", said.text());
    }
}
