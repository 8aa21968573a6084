//! A node that gives prepared answers, and a watcher that listens to it.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness, absolute::LockTime, consensus::serialize,
    hashes::Hash, transaction::Version,
};
use cairn_mempool::{CoinSource, CoinsError, ConfirmedCoin, IndexTip, MempoolOptions, MempoolState, MempoolWatcher};
use cairn_model::{BlockHash, CancelToken, MempoolDelta, Txid};
use cairn_node::{NodeAuth, NodeClient, NodeConfig, RetryPolicy};
use serde_json::{Value, json};

use crate::chain::txid;

pub const TIP: BlockHash = BlockHash([7; 32]);

/// The node's answers.
#[derive(Default)]
pub struct Says {
    pub pool: Vec<bitcoin::Txid>,
    pub bodies: BTreeMap<String, Value>,
    pub sequence: u64,
    pub tip: BlockHash,
    pub calls: BTreeMap<String, u32>,
}

/// Coins of one transaction: each output is worth 1 000 satoshis.
pub struct Ours;

impl CoinSource for Ours {
    fn coin(&self, txid: &Txid, _: u32) -> Result<Option<ConfirmedCoin>, CoinsError> {
        Ok((*txid == Txid([1; 32])).then(|| ConfirmedCoin { value: 1_000, script: Box::from([0x51]), height: 5 }))
    }
}

pub fn tx(spends: &[(bitcoin::Txid, u32)], outputs: &[u64]) -> Transaction {
    let input = |&(txid, vout): &(bitcoin::Txid, u32)| TxIn {
        previous_output: OutPoint { txid, vout },
        script_sig: ScriptBuf::new(),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    };
    let output =
        |&value: &u64| TxOut { value: Amount::from_sat(value), script_pubkey: ScriptBuf::from(vec![0x51; 20]) };
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: spends.iter().map(input).collect(),
        output: outputs.iter().map(output).collect(),
    }
}

pub fn tip(height: u32, hash: BlockHash) -> IndexTip {
    IndexTip { height, hash, time: 1 }
}

pub fn coin(vout: u32) -> (bitcoin::Txid, u32) {
    (bitcoin::Txid::from_byte_array([1; 32]), vout)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Says {
    /// The node has a transaction and gives it out.
    pub fn has(&mut self, tx: &Transaction) -> bitcoin::Txid {
        let txid = tx.compute_txid();
        self.pool.push(txid);
        self.bodies.insert(txid.to_string(), json!({ "result": hex(&serialize(tx)) }));
        txid
    }

    fn answer(&mut self, request: &Value) -> Value {
        let method = request["method"].as_str().unwrap();
        *self.calls.entry(method.to_owned()).or_default() += 1;
        let absent = json!({ "error": { "code": -5, "message": "not here" } });
        let mut answer = match method {
            "getbestblockhash" => json!({ "result": self.tip.to_string() }),
            "getrawmempool" => {
                let txids: Vec<String> = self.pool.iter().map(ToString::to_string).collect();
                json!({ "result": { "txids": txids, "mempool_sequence": self.sequence } })
            }
            "getmempoolinfo" => json!({ "result": {
                "loaded": true, "size": 1, "bytes": 1, "usage": 1, "maxmempool": 1,
                "mempoolminfee": 0.00001, "minrelaytxfee": 0.00001,
            } }),
            "getrawtransaction" => self.bodies.get(request["params"][0].as_str().unwrap()).unwrap_or(&absent).clone(),
            _ => absent,
        };
        answer["id"] = request["id"].clone();
        answer
    }
}

fn serve(stream: TcpStream, says: &Mutex<Says>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request: Value = serde_json::from_slice(&body).unwrap();
        let answer = {
            let mut says = says.lock().unwrap();
            match &request {
                Value::Array(requests) => Value::Array(requests.iter().map(|request| says.answer(request)).collect()),
                request => says.answer(request),
            }
        };
        let answer = answer.to_string();
        write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len())?;
    }
}

pub struct Hostile {
    says: Arc<Mutex<Says>>,
    pub watcher: MempoolWatcher,
    pub deltas: Vec<MempoolDelta>,
    pub tip: IndexTip,
    pub now: u64,
}

impl Hostile {
    pub fn new(options: MempoolOptions) -> Self {
        let says = Arc::new(Mutex::new(Says { sequence: 10, tip: TIP, ..Says::default() }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&says);
        // Both kinds of threads end with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, says) = (stream.unwrap(), Arc::clone(&shared));
                thread::spawn(move || serve(stream, &says));
            }
        });
        let auth = NodeAuth::UserPassword { user: "u".to_owned(), password: "p".to_owned() };
        let config = NodeConfig { retry: RetryPolicy::NONE, ..NodeConfig::new(format!("http://{address}"), auth) };
        let client = NodeClient::new(&config, CancelToken::new()).unwrap();
        Hostile {
            says,
            watcher: MempoolWatcher::new(client, options),
            deltas: Vec::new(),
            tip: tip(9, TIP),
            now: 1_000_000,
        }
    }

    pub fn says(&self) -> std::sync::MutexGuard<'_, Says> {
        self.says.lock().unwrap()
    }

    /// Lets so much time pass, with steps when they are due. Gives the number of steps.
    pub fn pass(&mut self, ms: u64) -> u32 {
        let until = self.now + ms;
        let mut steps = 0;
        while self.now < until {
            let step = self.watcher.step(&Ours, self.tip, self.now).unwrap();
            self.deltas.extend(step.deltas);
            self.now += step.again_in.as_millis() as u64;
            steps += 1;
            assert!(steps < 2_000, "{:?}", self.watcher.status());
        }
        steps
    }

    pub fn calls(&self, method: &str) -> u32 {
        self.says().calls.get(method).copied().unwrap_or_default()
    }

    pub fn has(&self, of: bitcoin::Txid) -> bool {
        self.watcher.get(&txid(of)).is_some()
    }

    pub fn is_complete(&self) -> bool {
        matches!(self.deltas.last(), Some(MempoolDelta::Sequence(_)))
            && self.watcher.status().state == MempoolState::Synced
    }
}

/// With the sequence topic heard, so that snapshots are a minute apart.
pub fn hostile() -> Hostile {
    let mut node = Hostile::new(MempoolOptions::default());
    node.watcher.listening(&[cairn_node::Topic::Sequence]);
    node
}
