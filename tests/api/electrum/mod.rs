//! The Electrum protocol over an index of a generated chain, against the naive ledger.

mod hostile;
mod news;
mod scans;
mod scripts;
mod shapes;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::Router;
use bitcoin::{
    Script,
    hashes::{Hash, sha256},
};
use cairn_chain::Chain;
use cairn_electrum::{Listeners, Options};
use cairn_link::IndexSlot;
use cairn_model::{BlockHash, CancelToken, Txid};
use cairn_operations::{ApiConfig, ApiState, BroadcastLimits, NodeAccess, Question, Refused, Unreachable, router_with};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::support::{World, open_config};

/// Whatever is waited for comes in this time.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server of the protocol, which ends with it.
pub struct Server {
    pub address: SocketAddr,
    stop: CancelToken,
    _router: Router,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Server {
    pub async fn new(world: &World) -> Server {
        Server::with(world, open_config(), Options::default(), None).await
    }

    pub async fn with(world: &World, config: ApiConfig, options: Options, node: Option<Arc<dyn NodeAccess>>) -> Server {
        Server::over(&world.slot, config, options, node).await
    }

    pub async fn over(
        slot: &Arc<IndexSlot>,
        config: ApiConfig,
        options: Options,
        node: Option<Arc<dyn NodeAccess>>,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancelToken::new());
        let chain = Chain::new(Arc::clone(slot) as Arc<_>, node);
        let state = ApiState::new(Arc::clone(slot) as Arc<_>, config);
        let router = router_with(state, |api| {
            let listeners = Listeners { plain: Some(listener), tls: None };
            tokio::spawn(cairn_electrum::serve(listeners, api.clone(), chain, options, stop.clone()));
            Router::new()
        });
        Server { address, stop, _router: router }
    }

    pub async fn connect(&self) -> Client {
        Client { stream: BufReader::new(TcpStream::connect(self.address).await.unwrap()), next: 1, news: Vec::new() }
    }

    /// A connection with this version.
    pub async fn speak(&self, version: &str) -> Client {
        let mut client = self.connect().await;
        let answer = client.ask("server.version", json!(["test", version])).await;
        assert_eq!(answer[1], version);
        client
    }
}

/// A client of the protocol.
pub struct Client {
    pub stream: BufReader<TcpStream>,
    next: u64,
    /// Notifications that came before an answer.
    pub news: Vec<Value>,
}

impl Client {
    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: &[u8]) {
        // It may be closed before all has been said.
        let _ = self.stream.write_all(bytes).await;
    }

    /// The next message; `None` if the connection is closed.
    pub async fn message(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.stream.read_line(&mut line)).await.expect("nothing comes");
        matches!(read, Ok(1..)).then(|| serde_json::from_str(&line).unwrap())
    }

    /// The whole answer to a request.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(format!("{request}\n").as_bytes()).await;
        loop {
            let message = self.message().await.unwrap_or_else(|| panic!("{method}: the connection is closed"));
            if message.get("method").is_some() {
                self.news.push(message);
                continue;
            }
            assert_eq!((&message["id"], &message["jsonrpc"]), (&json!(id), &json!("2.0")), "{message}");
            return message;
        }
    }

    /// The result of a request that succeeds.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = self.call(method, params).await;
        message.get("result").unwrap_or_else(|| panic!("{method}: {message}")).clone()
    }

    /// The code and text of a request that fails.
    pub async fn fail(&mut self, method: &str, params: Value) -> (i64, String) {
        let message = self.call(method, params).await;
        let error = message.get("error").unwrap_or_else(|| panic!("{method}: {message}"));
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// The next notification.
    pub async fn notified(&mut self) -> Value {
        if !self.news.is_empty() {
            return self.news.remove(0);
        }
        self.message().await.expect("the connection is closed")
    }
}

/// A script hash as the protocol writes it.
pub fn script_hash(script: &Script) -> String {
    Txid(sha256::Hash::hash(script.as_bytes()).to_byte_array()).to_string()
}

/// A node that answers what a test says.
#[derive(Default)]
pub struct Scripted {
    pub sent: Mutex<Vec<Vec<u8>>>,
    pub asked: Mutex<Vec<Question>>,
    /// `None`: it rejects.
    pub answer: Mutex<Option<Value>>,
}

fn rejected() -> Refused {
    Refused::Rejected { code: -26, reason: "min relay fee not met".to_owned() }
}

impl NodeAccess for Scripted {
    fn broadcast(&self, raw: &[u8], _: BroadcastLimits) -> Result<Txid, Refused> {
        self.sent.lock().unwrap().push(raw.to_vec());
        let tx: bitcoin::Transaction = bitcoin::consensus::deserialize(raw).map_err(|_| rejected())?;
        let is_accepted = self.answer.lock().unwrap().is_some();
        if is_accepted { Ok(Txid(tx.compute_txid().to_byte_array())) } else { Err(rejected()) }
    }

    fn check(&self, _: &[u8], _: BroadcastLimits) -> Result<(), Refused> {
        Err(Refused::Unavailable)
    }

    fn raw_transaction(&self, _: &Txid, _: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable> {
        Ok(None)
    }

    fn raw_block(&self, _: &BlockHash) -> Result<Option<Vec<u8>>, Unreachable> {
        Err(Unreachable)
    }

    fn ask(&self, question: &Question) -> Result<Value, Refused> {
        self.asked.lock().unwrap().push(question.clone());
        self.answer.lock().unwrap().clone().ok_or_else(rejected)
    }
}
