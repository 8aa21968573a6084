//! The work of a wallet over the Electrum protocol: the history of a busy script, and the restore of a wallet.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use bitcoin::{Block, ScriptBuf, hashes::Hash, hashes::sha256};
use serde_json::{Value, json};

/// Scripts of the wallet.
const WALLET: usize = 1_000;
/// A busy script has at most this many outputs, which makes at most twice as many transactions: servers refuse longer
/// histories by default.
const MAX_OUTPUTS: u32 = 4_900;
/// A script of the wallet has at most this many.
const MAX_OUTPUTS_OF_WALLET: u32 = 100;
/// Scripts among which those of the wallet are chosen.
const CANDIDATES: usize = 2 * WALLET;
/// Histories that are asked for; the median counts.
const HISTORIES: usize = 9;
/// Requests that are on their way at once.
const AT_ONCE: usize = 100;
const PATIENCE: Duration = Duration::from_secs(600);

/// The scripts of a chain by how often they are paid.
#[derive(Default)]
pub(crate) struct Counted {
    outputs: HashMap<ScriptBuf, u32>,
    seen: u64,
    wallet: Vec<ScriptBuf>,
}

/// The script of each output of this number, and its multiples, is one of the wallet.
const EVERY: u64 = 997;

impl Counted {
    /// Counts the outputs of a block.
    pub(crate) fn add(&mut self, block: &Block) {
        for output in block.txdata.iter().flat_map(|tx| &tx.output) {
            if output.script_pubkey.is_op_return() {
                continue;
            }
            self.seen += 1;
            if self.seen.is_multiple_of(EVERY)
                && self.wallet.len() < CANDIDATES
                && !self.wallet.contains(&output.script_pubkey)
            {
                self.wallet.push(output.script_pubkey.clone());
            }
            *self.outputs.entry(output.script_pubkey.clone()).or_default() += 1;
        }
    }

    /// The questions.
    pub(crate) fn questions(self) -> Questions {
        let fits = self.outputs.iter().filter(|(_, count)| **count <= MAX_OUTPUTS);
        let (busy, outputs) = fits.max_by_key(|(script, count)| (**count, (*script).clone())).expect("a script");
        let is_personal = |script: &&ScriptBuf| self.outputs[*script] <= MAX_OUTPUTS_OF_WALLET;
        let wallet = self.wallet.iter().filter(is_personal).take(WALLET).map(hash).collect();
        Questions { busy: hash(busy), outputs: *outputs, wallet }
    }
}

/// The hash of a script as the protocol writes it.
fn hash(script: &ScriptBuf) -> String {
    let mut bytes = sha256::Hash::hash(script.as_bytes()).to_byte_array();
    bytes.reverse();
    hex::encode(bytes)
}

/// The questions of a wallet.
pub(crate) struct Questions {
    busy: String,
    /// Outputs that pay the busy script.
    pub(crate) outputs: u32,
    wallet: Vec<String>,
}

/// Times of the answers.
#[derive(Clone, Copy)]
pub(crate) struct Answered {
    /// The history of the busy script, in milliseconds: the median.
    pub(crate) history_ms: f64,
    /// Entries in it.
    pub(crate) entries: usize,
    /// All scripts of the wallet subscribed to, and their histories, in seconds.
    pub(crate) restore_s: f64,
}

struct Server {
    lines: BufReader<TcpStream>,
}

impl Server {
    fn connect(port: u16) -> Result<Self, String> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        let mut server = Server { lines: BufReader::new(stream) };
        server.ask("server.version", &[json!(["bench", "1.4"])])?;
        Ok(server)
    }

    /// Sends calls of a method, some at once, and returns their results in order.
    fn ask(&mut self, method: &str, all: &[Value]) -> Result<Vec<Value>, String> {
        let mut results = Vec::with_capacity(all.len());
        for some in all.chunks(AT_ONCE) {
            let call = |params: &Value| json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
            let calls: String = some.iter().map(|params| format!("{}\n", call(params))).collect();
            self.lines.get_mut().write_all(calls.as_bytes()).map_err(|error| error.to_string())?;
            for _ in some {
                results.push(self.result()?);
            }
        }
        Ok(results)
    }

    /// Sends a call, and waits for the last byte of its answer. Returns the milliseconds, and the result, which is read
    /// after the clock has stopped: what a client does with an answer is not the server's time.
    fn time(&mut self, method: &str, params: &Value) -> Result<(f64, Value), String> {
        let call = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
        let started = Instant::now();
        self.lines.get_mut().write_all(format!("{call}\n").as_bytes()).map_err(|error| error.to_string())?;
        let line = self.line()?;
        Ok((started.elapsed().as_secs_f64() * 1e3, result(&line)?.ok_or("a notification came first")?))
    }

    /// The next line.
    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line).map_err(|error| error.to_string())? {
            0 => Err("the connection ended".to_owned()),
            _ => Ok(line),
        }
    }

    /// The next result; notifications are passed over.
    fn result(&mut self) -> Result<Value, String> {
        loop {
            if let Some(result) = result(&self.line()?)? {
                return Ok(result);
            }
        }
    }
}

/// The result in a line; `None` if it is a notification.
fn result(line: &str) -> Result<Option<Value>, String> {
    let mut message: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if message.get("method").is_some() {
        return Ok(None);
    }
    message.get_mut("result").map(|result| Some(result.take())).ok_or_else(|| message.to_string())
}

/// Asks a server.
pub(crate) fn ask(port: u16, questions: &Questions) -> Result<Answered, String> {
    let mut server = Server::connect(port)?;
    let (mut times, mut entries) = (Vec::new(), 0);
    for _ in 0..HISTORIES {
        let (time, found) = server.time("blockchain.scripthash.get_history", &json!([questions.busy]))?;
        times.push(time);
        entries = found.as_array().map_or(0, Vec::len);
    }
    times.sort_by(f64::total_cmp);
    let each: Vec<Value> = questions.wallet.iter().map(|script| json!([script])).collect();
    let started = Instant::now();
    let statuses = server.ask("blockchain.scripthash.subscribe", &each)?;
    let used = each.iter().zip(&statuses).filter(|(_, status)| !status.is_null()).map(|(params, _)| params.clone());
    let used: Vec<Value> = used.collect();
    if used.len() != each.len() {
        return Err(format!("{} of {} scripts have a history", used.len(), each.len()));
    }
    server.ask("blockchain.scripthash.get_history", &used)?;
    Ok(Answered { history_ms: times[HISTORIES / 2], entries, restore_s: started.elapsed().as_secs_f64() })
}
