//! `cairn feedback`: what clients send to a running server is listed and closed beside it.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::common::{Running, World, fails};

/// Sends feedback; the whole answer.
fn post(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /v1/feedback HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn ticket_in(answer: &str) -> &str {
    let at = answer.find("\"fb_").unwrap_or_else(|| panic!("{answer}"));
    &answer[at + 1..at + 20]
}

#[test]
fn tickets_are_listed_and_closed_beside_a_server() {
    let world = World::small(5);
    world.index();
    let mut server = Running::start(world.command("serve --datadir data --listen 127.0.0.1:0"));
    let address = server.address();
    let list = |more: &str| world.stdout(&format!("feedback list --datadir data {more}"));
    assert_eq!(list(""), "");
    let first = post(&address, r#"{"type": "general", "message": "one\ntwo \u001b[31m"}"#);
    assert!(first.starts_with("HTTP/1.1 422 "), "{first}");
    let first = post(&address, r#"{"type": "general", "message": "one\ntwo \u202e"}"#);
    let second = post(&address, r#"{"type": "data_quality", "reason": "three", "suggested_label": "x"}"#);
    let (first, second) = (ticket_in(&first), ticket_in(&second));
    let text = list("");
    assert!(
        text.contains(&format!("{first} open general ")) && text.contains("  | one\n  | two \\u{202e}\n"),
        "{text}"
    );
    assert!(
        text.contains(&format!("{second} open data_quality ")) && text.contains("  suggested label: x\n"),
        "{text}"
    );
    assert!(list("--limit 1").ends_with("There are more than 1: see --limit.\n"));

    assert_eq!(world.stdout(&format!("feedback resolve --datadir data {first}")), format!("resolved {first}\n"));
    let closed = world.stdout(&format!("feedback resolve --datadir data --reject --note spam {second}"));
    assert_eq!(closed, format!("rejected {second}\n"));
    fails(world.run(&format!("feedback resolve --datadir data {second}")), 1, &["is already rejected"]);
    fails(world.run("feedback resolve --datadir data fb_0"), 1, &["there is no ticket", "--only all"]);
    assert_eq!(list(""), "");
    assert!(list("--only rejected").contains("  note: spam\n"));
    assert_eq!(list("--only all").matches(" general ").count(), 1);
    // The same words open a new ticket now.
    let again = post(&address, r#"{"type": "data_quality", "reason": "three", "suggested_label": "x"}"#);
    assert_ne!(ticket_in(&again), second);
    server.signal("TERM");
    server.end();
    assert!(!server.said().contains("three"), "what clients write is in the log");
}
