//! `cairn mcp`: the protocol over standard input and output, over an index and for a server.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use cairn_support::{World, fails, get_json};
use serde_json::{Value, json};

use crate::CAIRN;

/// The program, spoken to as a desktop client does.
pub(crate) struct Spoken {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Spoken {
    pub(crate) fn start(world: &World, line: &str) -> Self {
        let mut command = world.command(line);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Spoken { child, input, output }
    }

    fn say(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// The next line, which is one message.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    /// The handshake; then a tool is called, as every client does.
    pub(crate) fn greet(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let asked = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let agreed = self.ask(1, "initialize", asked);
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        agreed
    }

    /// Ends the input; the program has to end, too.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        // Most have ended by themselves.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address of the demo with a balance.
pub(crate) fn rich(address: &str) -> (String, u64) {
    let examples = get_json(address, "/v1/wallets")["endpoints"].clone();
    let example = |row: &Value| {
        let path = row["example"].as_str()?.strip_suffix("/overview")?;
        path.rsplit_once('/').map(|(_, wallet)| wallet.to_owned())
    };
    let wallet = examples.as_array().unwrap().iter().find_map(example).unwrap();
    let balance = get_json(address, &format!("/v1/wallets/{wallet}/overview"))["balance"]["confirmed_sats"].as_u64();
    (wallet, balance.filter(|balance| *balance > 0).unwrap())
}

fn speaks(mut client: Spoken, wallet: &str, balance: u64) {
    let agreed = client.greet("2025-06-18");
    assert_eq!((&agreed["protocolVersion"], &agreed["serverInfo"]["name"]), (&json!("2025-06-18"), &json!("cairn")));
    let tools = client.ask(2, "tools/list", json!({}));
    assert!(tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "wallet_overview"));
    let call = json!({"name": "wallet_overview", "arguments": {"address": wallet}});
    let result = client.ask(3, "tools/call", call);
    // The agreed revision has both.
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    for said in [&text, &result["structuredContent"]] {
        assert_eq!(said["data"]["balance"]["confirmed_sats"], balance, "{said}");
    }
    // A line that is not a message, and one that is too long, are reported; those after them are answered.
    client.say("no json");
    assert_eq!(client.hear()["error"]["code"], -32700);
    client.say(&format!("{{\"long\":\"{}\"}}", "x".repeat(1 << 20)));
    assert_eq!(client.hear()["error"]["code"], -32600);
    client.say("");
    assert_eq!(client.ask(4, "ping", json!({})), json!({}));
    // Several at once: each gets its answer, in whatever order.
    for id in 10..40 {
        client.say(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string());
    }
    let mut ids: Vec<u64> = (10..40).map(|_| client.hear()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (10..40).collect::<Vec<_>>());
    client.end();
}

#[test]
fn desktop_clients_are_served_over_standard_input() {
    let world = World::empty(CAIRN);
    let mut running = world.start("demo --datadir demo --listen 127.0.0.1:0");
    let address = running.address();
    let (wallet, balance) = rich(&address);
    // A server, by its URL with and without the path.
    for url in [format!("http://{address}"), format!("http://{address}/mcp/")] {
        speaks(Spoken::start(&world, &format!("mcp --url {url}")), &wallet, balance);
    }
    // The index, beside the process that writes it, and alone.
    speaks(Spoken::start(&world, "mcp --datadir demo"), &wallet, balance);
    running.signal("TERM");
    running.end();
    speaks(Spoken::start(&world, "mcp --datadir demo"), &wallet, balance);
    // If the server is away, a client that waits for an answer gets an error.
    let mut client = Spoken::start(&world, &format!("mcp --url http://{address}"));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    client.say(&json!({"jsonrpc": "2.0", "id": "a", "method": "ping"}).to_string());
    let refused = client.hear();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("a"), &json!(-32000)), "{refused}");
    client.end();
}

#[test]
fn where_messages_go_must_be_named() {
    let world = World::empty(CAIRN);
    fails(world.run("mcp"), 2, &["neither --url nor --datadir", "--url with the URL of a server"]);
    fails(world.run("mcp --url ftp://x"), 2, &["--url cannot be used", "http"]);
}
