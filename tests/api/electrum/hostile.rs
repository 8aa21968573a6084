//! Clients that send too much, too slowly or nonsense. Others are served meanwhile.

use std::time::Duration;

use cairn_electrum::Options;
use cairn_http::HttpConfig;
use cairn_operations::ApiConfig;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Client, PATIENCE, Server};
use crate::support::{everything_world, open_config};

async fn code(client: &mut Client, line: &[u8]) -> Value {
    client.send(line).await;
    client.send(b"\n").await;
    client.message().await.expect("the connection is closed")["error"]["code"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_answered_and_the_connection_stays() {
    let world = &everything_world();
    let server = Server::new(world).await;
    let mut client = server.connect().await;
    assert_eq!(code(&mut client, b"{").await, -32700);
    assert_eq!(code(&mut client, &[0xff, 0xfe, 0]).await, -32700);
    assert_eq!(code(&mut client, &b"[".repeat(10_000)).await, -32700);
    assert_eq!(code(&mut client, b"[]").await, -32600);
    assert_eq!(code(&mut client, b"7").await, -32600);
    assert_eq!(code(&mut client, br#"{"id":1,"method":"m","params":7}"#).await, -32600);
    let batch = |n: usize| format!("[{}]", vec![r#"{"id":1,"method":"server.ping"}"#; n].join(","));
    // Each request of a batch gets an answer, unless there are far too many.
    client.send(format!("{}\n", batch(502)).as_bytes()).await;
    let answers = client.message().await.unwrap();
    let answers = answers.as_array().unwrap();
    assert!(answers[..500].iter().all(|answer| answer["id"] == 1 && answer.get("result").is_some()));
    let beyond: Vec<_> = answers[500..].iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
    assert_eq!(beyond, [(&json!(1), &json!(-32600)); 2]);
    assert_eq!(code(&mut client, format!("[1{}]", ",1".repeat(5_000)).as_bytes()).await, -32600);
    // Notifications get no answer, empty lines neither.
    client.send(b"\r\n{\"method\":\"server.ping\"}\n[{\"method\":\"server.ping\"}]\n").await;
    let long = format!(r#"{{"id":5,"method":"server.ping","params":["{}"]}}"#, "a".repeat(70_000));
    assert_eq!(code(&mut client, long.as_bytes()).await, -32600);
    assert_eq!(client.ask("server.ping", json!([])).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_may_come_one_at_a_time_and_requests_all_at_once() {
    let world = &everything_world();
    let server = Server::new(world).await;
    let mut client = server.connect().await;
    for byte in b"{\"id\":1,\"method\":\"server.ping\"}\n" {
        client.send(&[*byte]).await;
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.message().await.unwrap()["id"], 1);
    let many: String = (0..500).map(|id| format!("{{\"id\":{id},\"method\":\"server.ping\"}}\n")).collect();
    client.send(many.as_bytes()).await;
    for id in 0..500 {
        assert_eq!(client.message().await.unwrap()["id"], id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_lines_end_the_connection() {
    let world = &everything_world();
    let server = Server::new(world).await;
    let mut client = server.connect().await;
    client.send(&vec![b'x'; (1 << 20) + 1]).await;
    let answer = client.message().await;
    assert!(answer.is_none_or(|answer| answer["error"]["code"] == -32600));
    assert_eq!(server.connect().await.ask("server.ping", json!([])).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_closed() {
    let world = &everything_world();
    let server = Server::new(world).await;
    let (mut client, begun) = (server.connect().await, Instant::now());
    assert_eq!(client.message().await, None);
    assert!(begun.elapsed() < PATIENCE && begun.elapsed() > Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_count_with_those_of_http() {
    let world = &everything_world();
    let http = HttpConfig { max_connections_per_client: 2, ..open_config().http };
    let server = Server::with(world, ApiConfig::from(http), Options::default(), None).await;
    let (mut one, mut two) = (server.connect().await, server.connect().await);
    for client in [&mut one, &mut two] {
        assert_eq!(client.ask("server.ping", json!([])).await, Value::Null);
    }
    assert_eq!(server.connect().await.message().await, None);
    drop(one);
    let again = async {
        loop {
            let mut client = server.connect().await;
            client.send(b"{\"id\":1,\"method\":\"server.ping\"}\n").await;
            if client.message().await.is_some() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the permit is not given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_ask_too_much_wait() {
    let world = &everything_world();
    let http = HttpConfig { rate_limit: 60, ..open_config().http };
    let server = Server::with(world, ApiConfig::from(http), Options::default(), None).await;
    let mut client = server.connect().await;
    let begun = Instant::now();
    let mut refused = 0;
    for _ in 0..65 {
        let answer = client.call("server.ping", json!([])).await;
        match answer.get("error") {
            Some(error) => {
                assert_eq!(error["code"], -102, "{answer}");
                refused += 1;
            }
            None => assert_eq!(answer["result"], Value::Null),
        }
        if refused > 0 || begun.elapsed() > Duration::from_secs(10) {
            break;
        }
    }
    assert!(refused > 0 || begun.elapsed() > Duration::from_secs(1));
    // Neither wait nor refusal ends the connection.
    client.send(b"{").await;
}
