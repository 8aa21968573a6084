//! Wrong messages, and clients that break the protocol.

use futures_util::SinkExt;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{serve, unlimited};
use crate::{esplora::refused, support::everything_world};

#[tokio::test(flavor = "multi_thread")]
async fn wrong_messages_get_a_reason_and_the_connection_stays() {
    let world = &everything_world();
    let server = serve(world, unlimited()).await;
    let mut client = server.watch().await;
    let many = vec!["bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"; 101];
    for (message, expected) in [
        (json!([]), "not a JSON object"),
        (json!({"action": "dance"}), "may be \"init\", \"want\" or \"ping\""),
        (json!({"action": "want", "data": ["cats"]}), "\"cats\" is not served"),
        (json!({"track-rbf": "all"}), "\"track-rbf\" is not served"),
        (json!({"track-tx": "11"}), "is not a txid"),
        (json!({"track-address": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}), "not an address of this network"),
        (json!({"track-addresses": many}), "has 101 entries; a connection tracks at most 100"),
        (json!({"track-scriptpubkeys": ["0"]}), "2 to 20000 hexadecimal digits"),
        (json!({"track-address": "a".repeat(70_000)}), "at most 65536 are allowed"),
    ] {
        let answer = client.ask(message, "error").await;
        assert!(answer["error"].as_str().unwrap().contains(expected), "{answer}");
    }
    let answer = client.ask(json!({"track-addresses": ["x"]}), "error").await;
    assert_eq!(answer["error"], answer["track-addresses-error"]);
    client.0.send(Message::text("{")).await.unwrap();
    assert!(client.until("error").await["error"].as_str().unwrap().contains("is not JSON"));
    client.0.send(Message::binary(vec![0; 100])).await.unwrap();
    assert!(client.until("error").await["error"].as_str().unwrap().contains("binary"));
    assert!(client.settled().await.is_empty());
    // Two requests in one message.
    client.say(json!({"track-address": "stop", "action": "ping"})).await;
    client.until("pong").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_the_protocol_ends_the_connection() {
    let world = &everything_world();
    let server = serve(world, unlimited()).await;
    let mut client = server.watch().await;
    client.0.send(Message::text("x".repeat(200_000))).await.unwrap();
    let (code, reason) = client.closed().await;
    assert!(code == 1009 && reason.contains("at most 65536"), "{code} {reason}");
    // Bytes that are not a frame.
    use tokio::io::AsyncWriteExt;
    let mut client = server.watch().await;
    client.0.get_mut().write_all(&[0xff; 4_000]).await.unwrap();
    let (code, _) = client.closed().await;
    assert!(code == 1009 || code == 0, "{code}");
    // A client that only asks by HTTP.
    let router = crate::esplora::esplora(world, None);
    let said = crate::esplora::get(&router, "/v1/ws").await;
    assert_eq!(said.header("upgrade"), "websocket");
    assert!(said.status == 426 && said.text().contains("open this path as a websocket"), "{}", said.text());
    refused(&router, "/v1/ws/more", 404, "endpoint does not exist \"/v1/ws/more\"").await;
}
