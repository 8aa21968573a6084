//! Measures a thousand clients of the live stream.
//!
//! `cairn demo` serves the demo's chain. The clients connect to `/v1/events`, begin with an event before the chain's
//! last one, and hold their connections. Printed: how many got the events that they missed, and resident memory of the
//! server before, with all of them, and when they are gone.
//!
//! `CAIRN_BENCH_STREAMS` (1000) is the number of clients. Each takes an open file here and one there.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Events before the newest one from which each client goes on.
const MISSED: u64 = 20;
/// A client has what it missed after this, or it counts as without.
const LONGEST: Duration = Duration::from_secs(30);

/// A server, which ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    fn start(datadir: &std::path::Path, streams: usize) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        command.args(["demo", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--datadir"]).arg(datadir);
        for of in ["streams", "streams-per-client", "connections", "connections-per-client"] {
            // All come from one address, which may have half of the places at most.
            command.arg(format!("--max-{of}")).arg((2 * streams + 200).to_string());
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut log, mut line) = (BufReader::new(child.stderr.take().unwrap()), String::new());
        let address = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the server ended");
            if let Some(rest) = line.split("url=\"http://").nth(1) {
                break rest.split('"').next().unwrap().to_owned();
            }
        };
        thread::spawn(move || log.lines().for_each(drop));
        Server { child, address }
    }

    fn resident(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }

    fn get(&self, path: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        write!(socket, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address).unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text
    }
}

/// Connects once, and reads the events that it missed. Gives the status line that it was refused with, or what went
/// wrong.
fn attempt(address: &str, after: &str) -> Result<TcpStream, String> {
    let failed = |error: std::io::Error| error.kind().to_string();
    let mut socket = TcpStream::connect(address).map_err(failed)?;
    socket.set_read_timeout(Some(LONGEST)).unwrap();
    let accept = "Accept: text/event-stream";
    write!(socket, "GET /v1/events?after={after} HTTP/1.1\r\nHost: {address}\r\n{accept}\r\n\r\n").map_err(failed)?;
    let mut lines = BufReader::new(socket.try_clone().unwrap()).lines();
    let status = lines.next().unwrap_or(Ok("closed".to_owned())).map_err(failed)?;
    if !status.contains(" 200 ") {
        return Err(status);
    }
    let ids = lines.map_while(Result::ok).filter(|line| line.starts_with("id:"));
    let got = ids.take(MISSED as usize).count() as u64;
    if got == MISSED { Ok(socket) } else { Err(format!("{got} events, then no more")) }
}

/// Connects, and again if it is refused, as clients do. Gives the connection, or how the last attempt ended.
fn client(address: &str, after: &str) -> Result<TcpStream, String> {
    let until = Instant::now() + LONGEST;
    loop {
        match attempt(address, after) {
            Err(_) if Instant::now() < until => thread::sleep(Duration::from_millis(500)),
            ended => return ended,
        }
    }
}

fn main() {
    let streams: usize =
        env::var("CAIRN_BENCH_STREAMS").map_or(1_000, |text| text.parse().expect("CAIRN_BENCH_STREAMS"));
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&dir.path().join("data"), streams);
    let page = server.get("/v1/events?limit=1");
    let id = page.split("\"last_id\":\"").nth(1).expect("the page has the last id").split('"').next().unwrap();
    let (epoch, last) = id.split_once('-').unwrap();
    let after = format!("{epoch}-{}", last.parse::<u64>().unwrap() - MISSED);
    let before = server.resident();
    let start = Instant::now();
    let address = server.address.clone();
    let clients: Vec<_> = (0..streams)
        .map(|_| {
            let (address, after) = (address.clone(), after.clone());
            thread::Builder::new().stack_size(128 << 10).spawn(move || client(&address, &after)).unwrap()
        })
        .collect();
    let ended: Vec<Result<TcpStream, String>> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let took = start.elapsed();
    let with = server.resident();
    let got = ended.iter().filter(|ended| ended.is_ok()).count();
    let others: BTreeSet<&String> = ended.iter().filter_map(|ended| ended.as_ref().err()).collect();
    if !others.is_empty() {
        println!("the others: {others:?}");
    }
    drop(ended);
    thread::sleep(Duration::from_secs(2));
    println!("{got} of {streams} clients got {MISSED} events and stayed, after {:.1} s", took.as_secs_f64());
    println!(
        "resident memory: {before:.0} MiB before, {with:.0} with them ({:.0} more), {:.0} when they are gone",
        with - before,
        server.resident()
    );
    assert!(got * 10 >= streams * 9, "nine of ten are served");
}
