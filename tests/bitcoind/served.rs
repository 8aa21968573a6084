//! The program at work beside a node: what it serves, and that it is what the node says.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use cairn_support::{Running, World, get, wait_until};
use serde_json::Value;

use crate::{CAIRN, node::Node};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Arguments of a command that follows a node and ends.
pub(crate) const ONCE: &str = "index --network regtest --datadir data --once";

/// A folder with an index that a running program writes and serves, in one process or two.
pub(crate) struct Served {
    pub(crate) world: World,
    index: String,
    listen: String,
    writing: Option<Running>,
    serving: Option<Running>,
    /// Where it is asked.
    pub(crate) address: String,
}

impl Served {
    /// `cairn run`: one process.
    #[track_caller]
    pub(crate) fn one_process(node: &Node) -> Self {
        Served::one_process_with(node, "")
    }

    /// `cairn run` with further arguments.
    #[track_caller]
    pub(crate) fn one_process_with(node: &Node, more: &str) -> Self {
        let common = format!("--network regtest --datadir data {} {more}", node.arguments());
        let mut served = Served {
            world: World::empty(CAIRN),
            index: String::new(),
            listen: format!("run {common}"),
            writing: None,
            serving: None,
            address: String::new(),
        };
        served.start_serving();
        served
    }

    /// `cairn index` and `cairn serve`: two processes.
    #[track_caller]
    pub(crate) fn two_processes(node: &Node) -> Self {
        let mut served = Served {
            world: World::empty(CAIRN),
            index: format!("index --network regtest --datadir data {}", node.arguments()),
            listen: format!("serve --datadir data {}", node.arguments()),
            writing: None,
            serving: None,
            address: String::new(),
        };
        served.start_writing();
        served.writing.as_mut().unwrap().wait_for("at the node's tip");
        served.start_serving();
        served
    }

    /// Starts the process that serves, which in one process writes too.
    #[track_caller]
    pub(crate) fn start_serving(&mut self) {
        let mut serving = self.world.start(&format!("{} --rate-limit 0 --listen 127.0.0.1:0", self.listen));
        self.address = serving.address();
        self.serving = Some(serving);
    }

    /// Starts the process that writes.
    #[track_caller]
    pub(crate) fn start_writing(&mut self) {
        assert!(!self.index.is_empty(), "one process does both");
        self.writing = Some(self.world.start(&self.index));
    }

    /// Ends the process that serves with a signal.
    #[track_caller]
    pub(crate) fn end_serving(&mut self, signal: &str) {
        end(&mut self.serving, signal);
    }

    /// Ends the process that writes with a signal.
    #[track_caller]
    pub(crate) fn end_writing(&mut self, signal: &str) {
        end(&mut self.writing, signal);
    }

    /// The output of the processes so far.
    pub(crate) fn said(&self) -> String {
        [&self.writing, &self.serving].into_iter().flatten().map(Running::said).collect()
    }

    /// A JSON answer with its status.
    #[track_caller]
    pub(crate) fn try_get(&self, path: &str) -> (u16, Value) {
        let (status, body) = get(&self.address, path);
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {status}, {error}: {body}")))
    }

    /// A JSON answer.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = self.try_get(path);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// The answer to a JSON body, with its status.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_as(path, "application/json", &body.to_string())
    }

    /// The answer to a body of any type, with its status.
    #[track_caller]
    pub(crate) fn post_as(&self, path: &str, content_type: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, length) = (&self.address, body.len());
        let head = format!("Host: {host}\r\nContent-Type: {content_type}\r\nContent-Length: {length}");
        write!(stream, "POST {path} HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {head}, {error}: {body}")))
    }

    /// The tip that it answers from, empty while it syncs.
    #[track_caller]
    pub(crate) fn tip(&self) -> String {
        let body = self.try_get("/v1/chain/recent-blocks?limit=1").1;
        body["_meta"]["tip"]["hash"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until it answers from the node's tip.
    #[track_caller]
    pub(crate) fn settle(&self, node: &Node) {
        let best = node.best();
        wait_until(&format!("the tip {best}"), || self.tip() == best);
    }

    /// Ends it as an operator does, and audits the index against the node.
    #[track_caller]
    pub(crate) fn end_and_verify(&mut self, node: &Node) {
        for running in [&mut self.serving, &mut self.writing] {
            if running.is_some() {
                end(running, "TERM");
            }
        }
        verify(&self.world, node, "data");
        // The signal may have come before late stages were at the tip: the next process that writes goes on.
        self.world.run(&format!("{ONCE} {}", node.arguments())).success();
        // An index that followed the node equals one that reads its chain in one go.
        self.world.run(&format!("{} {}", ONCE.replace("data ", "straight "), node.arguments())).success();
        let [followed, straight] = ["data", "straight"].map(|dir| checksum(&self.world, dir));
        assert_eq!(followed, straight);
    }
}

#[track_caller]
fn end(running: &mut Option<Running>, signal: &str) {
    let mut running = running.take().unwrap();
    running.signal(signal);
    let (status, _) = running.end();
    let code = if signal == "TERM" { Some(143) } else { None };
    assert_eq!(status.code(), code, "{}", running.said());
}

/// `cairn verify --node` finds no difference.
#[track_caller]
pub(crate) fn verify(world: &World, node: &Node, datadir: &str) {
    let verified = world.stdout(&format!("verify --datadir {datadir} {}", node.arguments()));
    assert!(verified.contains("MuHash of the coins matches the node") && !verified.contains("DIFFERS"), "{verified}");
    let told = node.rpc("gettxoutsetinfo", serde_json::json!(["muhash"]));
    assert!(verified.contains(told["muhash"].as_str().unwrap()), "{verified}");
}

/// Checksums of all tables.
#[track_caller]
pub(crate) fn checksum(world: &World, datadir: &str) -> String {
    world.stdout(&format!("db checksum --datadir {datadir}"))
}
