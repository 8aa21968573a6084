//! Limits: places, permits, budgets, memory, and the end of the server.

use std::time::Duration;

use cairn_http::HttpConfig;
use futures_util::SinkExt;
use serde_json::json;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::{Client, PATIENCE, Server, serve, unlimited};
use crate::support::everything_world;

/// Status and text with which a connection is refused.
async fn refused(server: &Server) -> (u16, String) {
    match server.try_watch("/api/v1/ws").await {
        Err(Error::Http(response)) => {
            let text = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
            (response.status().as_u16(), text)
        }
        other => panic!("{:?}", other.map(drop)),
    }
}

/// A connection, once there is a place for it.
async fn at_last(server: &Server) -> Client {
    let connecting = async {
        loop {
            match server.try_watch("/api/v1/ws").await {
                Ok(client) => return client,
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    };
    timeout(PATIENCE, connecting).await.expect("no place becomes free")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_a_place_among_the_streams() {
    let world = &everything_world();
    let server = serve(world, HttpConfig { max_streams_per_client: 2, ..unlimited() }).await;
    let (mut one, two) = (server.watch().await, server.watch().await);
    one.ask(json!({"action": "ping"}), "pong").await;
    let (status, text) = refused(&server).await;
    assert!(status == 503 && text.contains("too many streams are open; a client may have 2"), "{status} {text}");
    drop(two);
    let mut three = at_last(&server).await;
    three.ask(json!({"action": "ping"}), "pong").await;
    one.ask(json!({"action": "ping"}), "pong").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_keeps_its_permit() {
    let world = &everything_world();
    let server = serve(world, HttpConfig { max_connections_per_client: 2, ..unlimited() }).await;
    let (mut one, two) = (server.watch().await, server.watch().await);
    one.ask(json!({"action": "ping"}), "pong").await;
    let (status, text) = refused(&server).await;
    assert!(status == 429 && text.contains("too many open connections"), "{status} {text}");
    drop(two);
    at_last(&server).await;
    one.ask(json!({"action": "ping"}), "pong").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_charged() {
    let world = &everything_world();
    let server = serve(world, HttpConfig { rate_limit: 60, ..unlimited() }).await;
    let mut client = server.watch().await;
    let mut answered = 0;
    let error = loop {
        client.say(json!({"action": "ping"})).await;
        let answer = client.next().await.unwrap();
        if answer.get("error").is_some() {
            break answer["error"].as_str().unwrap().to_owned();
        }
        answered += 1;
        assert!(answered < 200, "nothing is charged");
    };
    assert!(answered >= 10 && error.contains("limit"), "{answered} {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_closed() {
    let world = &everything_world();
    let config = HttpConfig { request_timeout: Duration::from_secs(1), max_streams_per_client: 1, ..unlimited() };
    let server = serve(world, config).await;
    let mut client = server.watch().await;
    let flooding = async {
        // Answers to these fill the buffers of both sides. Then the server neither writes nor reads.
        while client.0.send(Message::text(r#"{"action":"init"}"#)).await.is_ok() {}
    };
    timeout(PATIENCE, flooding).await.expect("the connection stays open");
    at_last(&server).await.ask(json!({"action": "ping"}), "pong").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_end_with_the_server() {
    let world = &everything_world();
    let server = serve(world, unlimited()).await;
    let mut client = server.watch().await;
    client.ask(json!({"action": "want", "data": ["blocks"]}), "blocks").await;
    let Server { stop, over, .. } = server;
    stop.send(()).unwrap();
    let (code, reason) = client.closed().await;
    assert!(code == 1001 && reason.contains("the server stops"), "{code} {reason}");
    drop(client);
    timeout(PATIENCE, over).await.expect("the server goes on").unwrap().unwrap();
}
