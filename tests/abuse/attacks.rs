//! Attacks that a client can try within its budget: those of the review of November 2026, and more.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use cairn_support::{forge::script, loopback::connect};
use serde_json::{Value, json};

use crate::{
    price::{PROOF_END, PROOF_START},
    support::{WORLD, anyone, by_hash},
};

/// The requests of an attacker, one after the other, on each connection.
pub struct Attack {
    pub name: &'static str,
    /// Connections at the same time.
    pub connections: usize,
    pub way: Way,
}

pub enum Way {
    /// Sends these requests in turn and reads the answers.
    Asks(Vec<Vec<u8>>),
    /// As [`Way::Asks`], with requests and answers that are lines.
    AsksLines(Vec<Vec<u8>>),
    /// Sends a request, half-closes or leaves at once, and connects again.
    Leaves(Vec<u8>),
    /// Sends requests without reading any answer.
    NeverReads(Vec<u8>),
    /// Sends a byte now and then.
    Drips(Vec<u8>),
    /// Connects and says nothing.
    Idles,
}

fn get(path: &str) -> Vec<u8> {
    with_headers(path, "")
}

fn with_headers(path: &str, headers: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n").into_bytes()
}

fn post(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn message(id: usize, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn mcp(method: &str, params: &Value) -> Vec<u8> {
    post("/mcp/", &message(1, method, params).to_string())
}

fn batch(messages: usize, method: &str, params: &Value) -> Vec<u8> {
    post("/mcp/", &Value::from_iter((0..messages).map(|id| message(id, method, params))).to_string())
}

/// All attacks.
pub fn all() -> Vec<Attack> {
    let worst = &WORLD.worst;
    let [inputs, outputs, witness, pushes, carriers] =
        [&worst.inputs, &worst.outputs, &worst.witness, &worst.pushes, &worst.carriers]
            .map(|tx| tx.compute_txid().to_string());
    let whole = |txid: &str| get(&format!("/v1/tx/{txid}?io_limit=25000"));
    let busy = &worst.busy_address;
    let tool = |name: &str, arguments: Value| mcp("tools/call", &json!({"name": name, "arguments": arguments}));
    let lists = |n| batch(n, "tools/list", &json!({}));
    let unknown = |n: usize| Value::from_iter((0..n).map(|n| (format!("unknown_{n}"), json!(n))).collect::<Vec<_>>());
    let attack = |name, connections, way| Attack { name, connections, way };
    vec![
        // The review's.
        attack("transactions with all inputs and outputs", 8, Way::Asks(vec![whole(&inputs), whole(&outputs)])),
        attack("batches of lists of tools, left half-closed", 64, Way::Leaves(lists(20))),
        attack("batches of lists of tools", 8, Way::Asks(vec![lists(20)])),
        attack("long paths and queries", 8, {
            let query = format!("/v1/wallets?{}", "y=1&".repeat(10_000));
            Way::Asks(vec![get(&format!("/{}", "x".repeat(60_000))), get(&query)])
        }),
        attack("a message of a mebibyte", 8, {
            let long = json!({"name": "tx_status", "arguments": {"txid": "0".repeat(1 << 20)}});
            Way::Asks(vec![mcp("tools/call", &long)])
        }),
        attack("a body with many unknown members", 8, {
            Way::Asks(vec![post("/v1/tx/verify", &unknown(40_000).to_string())])
        }),
        attack("lists of pushes and payouts", 8, {
            let paths = [format!("/v1/tx/{pushes}/op-return"), format!("/v1/tx/{carriers}/op-return")];
            let blocks = [format!("/v1/blocks/{}", worst.payouts), "/v1/chain/recent-blocks".to_owned()];
            Way::Asks(paths.iter().chain(&blocks).map(|path| get(path)).collect())
        }),
        attack("idle connections", 500, Way::Idles),
        attack("event streams", 40, Way::Asks(vec![with_headers("/mcp/", "Accept: text/event-stream\r\n")])),
        // Ours.
        attack("bytes of a large transaction", 8, {
            Way::Asks(vec![get(&format!("/v1/tx/{witness}?include_hex=true")), get(&format!("/v1/tx/{witness}"))])
        }),
        attack("answers that nobody reads", 32, Way::NeverReads(whole(&inputs))),
        attack("refusals that nobody reads", 32, Way::NeverReads(get("/nothing"))),
        attack("requests that arrive byte by byte", 64, Way::Drips(whole(&inputs))),
        attack("connections that are opened and left", 32, Way::Leaves(get("/api/health/full"))),
        attack("deep nesting", 8, {
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            Way::Asks(vec![post("/v1/tx/verify", &deep), post("/mcp/", &deep)])
        }),
        attack("batches of a hundred busy addresses", 8, {
            let addresses = json!({"addresses": vec![busy.as_str(); 100]});
            let others: Vec<String> = (0..100).map(|n| format!("scripthash:{n:064x}")).collect();
            let others = json!({"addresses": others});
            Way::Asks(vec![
                post("/v1/batch/overview", &addresses.to_string()),
                post("/v1/batch/overview", &others.to_string()),
            ])
        }),
        attack("the last pages of a history", 8, {
            let page = |offset: usize| get(&format!("/v1/wallets/{busy}/transactions?limit=100&offset={offset}"));
            Way::Asks([0, 1_000, 5_000, 100_000].map(page).into())
        }),
        attack("days of a busy address", 8, {
            let days = |format: &str| get(&format!("/v1/wallets/{busy}/balance-history?format={format}"));
            Way::Asks(["json", "csv", "markdown"].map(days).into())
        }),
        attack("many tags and header lines", 8, {
            let tags = format!("If-None-Match: {}\"x\"\r\n", "\"abcdefgh\", ".repeat(2_500));
            let lines: String = (0..90).map(|n| format!("X-Line-{n}: {}\r\n", "v".repeat(300))).collect();
            Way::Asks(vec![with_headers("/api/health", &tags), with_headers("/api/health", &lines)])
        }),
        attack("searches with long questions", 8, {
            let words: String = (0..2_000).map(|n| format!("wallet{n} balance fee ")).collect();
            let question = json!({"query": words.chars().take(30_000).collect::<String>()});
            Way::Asks(vec![tool("search_endpoints", question), tool("describe_endpoint", json!({"endpoint": "x"}))])
        }),
        attack("the largest documents", 8, Way::Asks(["/openapi.json", "/llms-full.txt", "/docs"].map(get).into())),
        attack("images of long texts", 8, {
            Way::Asks(vec![get(&format!("/v1/qr?data={}", "Z".repeat(1_200))), get("/v1/qr?data=1")])
        }),
        attack("exposures, signals and checks with the dearest parameters", 8, {
            let anyone = by_hash(&anyone());
            let of = |address: &str| {
                let rest =
                    ["risk-signals", "risk-exposure?depth=4&path_limit=50", "sanctions-exposure?depth=4&path_limit=50"];
                let mut asked: Vec<_> = rest.iter().map(|rest| get(&format!("/v1/wallets/{address}/{rest}"))).collect();
                asked.push(get(&format!("/v1/risk-check/{address}?depth=2")));
                asked
            };
            Way::Asks([of(busy), of(&anyone)].concat())
        }),
        attack("batches of risk checks", 8, {
            let many: Vec<String> = (2..=10).map(|n| by_hash(&script(n))).chain([busy.clone()]).collect();
            let hundred = json!({"addresses": vec![busy.as_str(); 100]});
            let ten = json!({"addresses": many, "depth": 2});
            let signals = json!({"addresses": many});
            Way::Asks(vec![
                post("/v1/risk-check/batch", &hundred.to_string()),
                post("/v1/risk-check/batch", &ten.to_string()),
                post("/v1/batch/risk-signals", &signals.to_string()),
                post("/v1/batch/intelligence", &signals.to_string()),
            ])
        }),
        attack("evidence packs with all proofs", 8, {
            let pack =
                |address: &str| get(&format!("/v1/wallets/{address}/evidence-pack?depth=4&tx_limit=100&proofs=true"));
            Way::Asks(vec![pack(busy), pack(&by_hash(&anyone())), pack(&by_hash(&script(2)))])
        }),
        attack("proofs of timestamps as long as they may be", 8, {
            let proof = format!("{PROOF_START}{}{PROOF_END}", "CAgI".repeat(83));
            let long = json!({"proof_base64": "CAgI".repeat(20_000)});
            Way::Asks(vec![
                post("/v1/timestamp/verify", &json!({"proof_base64": proof}).to_string()),
                post("/v1/timestamp/verify", &long.to_string()),
            ])
        }),
        attack("tools with the dearest arguments", 8, {
            let arguments = json!({"txid": inputs, "io_limit": 25_000});
            let params = json!({"name": "get_transaction", "arguments": arguments});
            Way::Asks(vec![mcp("tools/call", &params), batch(20, "tools/call", &params)])
        }),
    ]
}

impl Attack {
    /// Attacks on one connection at a time, as long as `goes_on` returns true. Returns the number of requests.
    pub fn run(&self, host: u8, server: SocketAddr, goes_on: &dyn Fn() -> bool) -> u64 {
        // Attackers have processors of their own: here they must not take the server's. On Linux this is the thread's.
        rustix::process::setpriority_process(None, 10).unwrap();
        let (mut at, mut sent) = (0, 0);
        while goes_on() {
            let Ok(mut stream) = connect(host, server) else {
                thread::sleep(Duration::from_millis(5));
                continue;
            };
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            match &self.way {
                Way::Asks(requests) | Way::AsksLines(requests) => {
                    let reads = if matches!(self.way, Way::Asks(_)) { reads_an_answer } else { reads_a_line };
                    while goes_on() {
                        let request = &requests[at % requests.len()];
                        at += 1;
                        if stream.write_all(request).is_err() || !reads(&mut stream, goes_on) {
                            break;
                        }
                        sent += 1;
                    }
                }
                Way::Leaves(request) => {
                    let _ = stream.write_all(request);
                    if sent % 2 == 0 {
                        let _ = stream.shutdown(Shutdown::Write);
                    }
                    sent += 1;
                    thread::sleep(Duration::from_millis(1));
                }
                Way::NeverReads(request) => {
                    while goes_on() && stream.write_all(request).is_ok() {
                        sent += 1;
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                Way::Drips(request) => {
                    for byte in request {
                        if !goes_on() || stream.write_all(std::slice::from_ref(byte)).is_err() {
                            break;
                        }
                        thread::sleep(Duration::from_millis(2));
                    }
                    sent += 1;
                }
                Way::Idles => {
                    while goes_on() && !matches!(stream.read(&mut [0; 16]), Ok(0)) {}
                    sent += 1;
                }
            }
        }
        sent
    }
}

/// Reads an answer to its end: of a stated length, in chunks, or until nothing comes for a while. False if the
/// connection is of no more use.
fn reads_an_answer(stream: &mut TcpStream, goes_on: &dyn Fn() -> bool) -> bool {
    let (mut read, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let mut silent = 0;
    while goes_on() && silent < 50 {
        match stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(n) => read.extend_from_slice(&buffer[..n]),
            Err(_) => silent += 1,
        }
        let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
        if head.starts_with("http/1.1 429") {
            // The budget is spent: as a program that obeys would.
            thread::sleep(Duration::from_millis(2));
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        match length {
            Some(length) if read.len() >= end + 4 + length => return !head.contains("connection: close"),
            None if read.ends_with(b"\r\n0\r\n\r\n") => return true,
            _ => {}
        }
    }
    false
}

/// Reads until a line ends. False if the connection is of no more use.
fn reads_a_line(stream: &mut TcpStream, goes_on: &dyn Fn() -> bool) -> bool {
    let (mut buffer, mut silent) = (vec![0; 64 << 10], 0);
    while goes_on() && silent < 150 {
        match stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(n) if buffer[n - 1] == b'\n' => return true,
            Ok(_) => {}
            Err(_) => silent += 1,
        }
    }
    false
}
