//! The websocket of watchers, by a client of another library.

mod hostile;
mod limits;
mod scripts;
mod txs;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use bitcoin::{Transaction, TxOut, hashes::Hash};
use cairn_chain::Chain;
use cairn_http::{HttpConfig, OtherInterface};
use cairn_link::IndexSource;
use cairn_model::{BlockHash, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, Network, Txid};
use cairn_operations::{ApiConfig, ApiState, serve_all};
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use cairn_testkit::Oracle;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message},
};

use super::{esplora, json as get_json};
use crate::{
    support::{World, everything_world, open_config},
    unconfirmed::{SEEN, Waiting},
};

/// Longest wait for a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server with a listener of Esplora's API.
struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    over: JoinHandle<std::io::Result<()>>,
}

fn unlimited() -> HttpConfig {
    HttpConfig { rate_limit: 0, ..open_config().http }
}

async fn serve(world: &World, config: HttpConfig) -> Server {
    let own = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let index = Arc::clone(&world.slot) as Arc<dyn IndexSource>;
    let state = ApiState::new(Arc::clone(&index), ApiConfig::from(config));
    let (stop, stopped) = oneshot::channel();
    let others = move |api: &cairn_http::Api| {
        let routes = cairn_esplora::routes(api, Chain::new(index, None));
        vec![OtherInterface { listener, routes, dialect: cairn_esplora::DIALECT }]
    };
    let over = tokio::spawn(serve_all(own, state, |_| Router::new(), others, async move { drop(stopped.await) }));
    Server { address, stop, over }
}

impl Server {
    async fn stream(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        // Small, so that a client that does not read is soon noticed.
        socket.set_recv_buffer_size(8 << 10).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    async fn try_watch(&self, path: &str) -> Result<Client, Error> {
        let url = format!("ws://{}{path}", self.address);
        client_async(url, self.stream().await).await.map(|(socket, _)| Client(socket))
    }

    async fn watch(&self) -> Client {
        self.try_watch("/api/v1/ws").await.unwrap()
    }
}

struct Client(WebSocketStream<TcpStream>);

impl Client {
    async fn say(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message, or the code and reason of the close.
    async fn next(&mut self) -> Result<Value, (u16, String)> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.expect("nothing comes") {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(text.as_str()).unwrap()),
                Some(Ok(Message::Close(Some(frame)))) => return Err((frame.code.into(), frame.reason.to_string())),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => return Err((0, format!("{other:?}"))),
            }
        }
    }

    /// The next message that has this member.
    async fn until(&mut self, member: &str) -> Value {
        loop {
            let message = self.next().await.unwrap_or_else(|closed| panic!("{member}: closed {closed:?}"));
            assert!(member == "error" || message.get("error").is_none(), "{member}: {message}");
            if message.get(member).is_some() {
                return message;
            }
        }
    }

    /// Says something, and gives the next message that has this member.
    async fn ask(&mut self, message: Value, member: &str) -> Value {
        self.say(message).await;
        self.until(member).await
    }

    /// Makes sure that all before is answered, and gives the messages that came.
    async fn settled(&mut self) -> Vec<Value> {
        self.say(json!({"action": "ping"})).await;
        let mut all = Vec::new();
        loop {
            let message = self.next().await.unwrap();
            if message == json!({"pong": true}) {
                return all;
            }
            all.push(message);
        }
    }

    /// The code with which the server closes the connection.
    async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Err(closed) = self.next().await {
                return closed;
            }
        }
    }
}

/// A chain whose newest blocks come and go.
struct Tip<'w> {
    world: &'w World,
    pool: Waiting<'w>,
    depth: usize,
}

impl<'w> Tip<'w> {
    /// Blocks above `depth` are taken back when [`Tip::back`] is called.
    fn new(world: &'w World, depth: usize) -> Self {
        Tip { world, pool: Waiting::at_tip(world), depth }
    }

    fn earlier(&self) -> Oracle {
        let blocks = self.world.oracle.blocks();
        Oracle::of(Network::Regtest, &blocks[..blocks.len() - self.depth])
    }

    /// Takes the newest blocks back; the mempool gets these deltas with the tip.
    fn back(&mut self, deltas: Vec<MempoolDelta>) {
        let to = (self.world.oracle.blocks().len() - 1 - self.depth) as u32;
        self.world.engine.lock().unwrap().unwind(to, &NoProgress).unwrap();
        self.tell_tip(to, deltas);
    }

    /// Indexes them again.
    fn forth(&mut self, deltas: Vec<MempoolDelta>) {
        let files = BlockFiles::open(&self.world.blocks_dir, Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        self.world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
        self.tell_tip(self.world.oracle.blocks().len() as u32 - 1, deltas);
    }

    fn tell_tip(&mut self, height: u32, mut deltas: Vec<MempoolDelta>) {
        let block = &self.world.oracle.blocks()[height as usize];
        let hash = BlockHash(block.block_hash().to_byte_array());
        deltas.push(MempoolDelta::Block { height, hash, time: block.header.time });
        self.pool.tell(deltas);
    }
}

/// The smallest depth at which a transaction of the block above spends only coins of the blocks below, and both.
fn reversible(world: &World) -> (usize, Transaction) {
    let blocks = world.oracle.blocks();
    for depth in 1..12 {
        let earlier = Oracle::of(Network::Regtest, &blocks[..blocks.len() - depth]);
        let of_coins =
            |tx: &&Transaction| tx.input.iter().all(|input| earlier.coins().contains_key(&input.previous_output));
        if let Some(tx) = blocks[blocks.len() - depth].txdata[1..].iter().find(of_coins) {
            return (depth, tx.clone());
        }
    }
    panic!("no block has such a transaction");
}

/// A confirmed transaction, as it waited in the mempool.
fn unconfirmed(tx: &Transaction, before: &Oracle) -> Arc<MempoolTx> {
    let spent: Vec<TxOut> = tx
        .input
        .iter()
        .map(|input| &before.coins()[&input.previous_output])
        .map(|coin| TxOut { value: bitcoin::Amount::from_sat(coin.value_sats), script_pubkey: coin.script.clone() })
        .collect();
    let sum = |outputs: &[TxOut]| outputs.iter().map(|output| output.value.to_sat()).sum::<u64>();
    let inputs = tx.input.iter().zip(&spent).map(|(input, out)| MempoolInput {
        prev_txid: Txid(input.previous_output.txid.to_byte_array()),
        prev_vout: input.previous_output.vout,
        sequence: input.sequence.0,
        value: out.value.to_sat(),
        script: out.script_pubkey.as_bytes().into(),
        birth: Some(1),
    });
    let output = |out: &TxOut| MempoolOutput { value: out.value.to_sat(), script: out.script_pubkey.as_bytes().into() };
    Arc::new(MempoolTx {
        txid: Txid(tx.compute_txid().to_byte_array()),
        wtxid: Txid(tx.compute_wtxid().to_byte_array()),
        size: tx.total_size() as u32,
        base_size: tx.base_size() as u32,
        sigop_cost: 4,
        fee_sats: sum(&spent) - sum(&tx.output),
        version: tx.version.0,
        lock_time: tx.lock_time.to_consensus_u32(),
        first_seen_ms: SEEN,
        inputs: inputs.collect(),
        outputs: tx.output.iter().map(output).collect(),
        raw: Some(bitcoin::consensus::serialize(tx).into()),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn present_data_are_those_of_the_routes() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let server = serve(world, unlimited()).await;
    let router = esplora(world, None);
    let coins: Vec<_> = pool.coins(100_000).take(3).collect();
    let target = bitcoin::ScriptBuf::from_bytes([&[0, 20][..], &[0xd1; 20]].concat());
    pool.send(&coins[..1], &[(target.clone(), 10_000)], 1_000);
    crate::mempool_ops::settle(&pool).await;
    for path in ["/api/v1/ws", "/v1/ws"] {
        let mut client = server.try_watch(path).await.unwrap();
        let init = client.ask(json!({"action": "init"}), "blocks").await;
        let mut newest: Vec<Value> = super::list(&get_json(&router, "/api/v1/blocks").await)[..8].to_vec();
        newest.reverse();
        assert_eq!(init["blocks"], json!(newest));
        assert_eq!(init["mempool-blocks"], get_json(&router, "/api/v1/fees/mempool-blocks").await);
        assert_eq!(init["fees"], get_json(&router, "/api/v1/fees/recommended").await);
        let info = &init["mempoolInfo"];
        assert_eq!(
            (&info["loaded"], &info["size"], &info["mempoolminfee"]),
            (&json!(true), &json!(1), &json!(0.00001))
        );
        assert!(client.settled().await.is_empty());
    }
    let mut client = server.watch().await;
    let all = json!({"action": "want", "data": ["blocks", "stats", "mempool-blocks", "live-2h-chart"]});
    let first = client.ask(all.clone(), "blocks").await;
    assert!(first.get("mempool-blocks").is_some() && first.get("mempoolInfo").is_some(), "{first}");
    // The same again brings nothing.
    client.say(all).await;
    assert!(client.settled().await.is_empty());
    let mut other = server.watch().await;
    other.ask(json!({"action": "want", "data": ["mempool-blocks"]}), "mempool-blocks").await;
    pool.send(&coins[1..2], &[(target, 10_000)], 2_000);
    crate::mempool_ops::settle(&pool).await;
    let changed = client.until("mempool-blocks").await;
    assert_eq!(changed["mempool-blocks"], get_json(&router, "/api/v1/fees/mempool-blocks").await);
    let changed = other.until("mempool-blocks").await;
    assert!(changed.get("mempoolInfo").is_none() && changed.get("block").is_none(), "{changed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_come_and_a_reorganization_replaces_the_list() {
    let world = &everything_world();
    let mut tip = Tip::new(world, 3);
    let server = serve(world, unlimited()).await;
    let router = esplora(world, None);
    let mut client = server.watch().await;
    let ids = |blocks: &Value| -> Vec<String> {
        super::list(blocks).iter().map(|block| block["id"].as_str().unwrap().to_owned()).collect()
    };
    let chain: Vec<String> = world.oracle.blocks().iter().map(|block| block.block_hash().to_string()).collect();
    let first = client.ask(json!({"action": "want", "data": ["blocks"]}), "blocks").await;
    assert_eq!(ids(&first["blocks"]), chain[chain.len() - 8..]);
    for _ in 0..2 {
        tip.back(vec![]);
        let shorter = client.until("blocks").await;
        assert_eq!(ids(&shorter["blocks"]), chain[chain.len() - 11..chain.len() - 3]);
        tip.forth(vec![]);
        for id in &chain[chain.len() - 3..] {
            let block = client.until("block").await;
            assert_eq!(block["block"], get_json(&router, &format!("/api/v1/block/{id}")).await);
        }
    }
    client.say(json!({"action": "want", "data": []})).await;
    client.settled().await;
    tip.back(vec![]);
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert!(client.settled().await.is_empty());
}
