//! A server over an index of a chain with the worst transactions.

use std::{
    net::SocketAddr,
    process::Command,
    sync::{Arc, LazyLock},
    time::Duration,
};

use bitcoin::{
    OutPoint, ScriptBuf, Transaction, Witness,
    hashes::{Hash, sha256},
};
use cairn_chain::Chain;
use cairn_electrum::{Listeners, Options, Tls};
use cairn_events::{
    Body, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Interval, Provenance, Quote,
    QuoteRow, Series,
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_model::{CancelToken, Network};
use cairn_operations::{ApiConfig, ApiState};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_support::forge::{Forge, coinbase, out, pay, script, spend};
use cairn_testkit::temp_dir;
use rust_decimal::Decimal;
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime::Runtime};

pub fn long() -> bool {
    std::env::var_os("CAIRN_TEST_LONG").is_some()
}

/// The worst transactions, each with what is worst about it.
pub struct Worst {
    /// 111,000 outputs.
    pub outputs: Transaction,
    /// 24,000 inputs, which spend outputs of it.
    pub inputs: Transaction,
    /// Nearly 4 MB of witness in one input.
    pub witness: Transaction,
    /// An OP_RETURN output with 900,000 pushes.
    pub pushes: Transaction,
    /// 30,000 small OP_RETURN outputs.
    pub carriers: Transaction,
    /// Height of a block whose coinbase has 90,000 outputs.
    pub payouts: u32,
    /// A script with a short history.
    pub quiet: ScriptBuf,
    /// `scripthash:` of the script with the longest history.
    pub busy_address: String,
}

/// An index of a chain with them.
pub struct World {
    pub worst: Worst,
    slot: Arc<IndexSlot>,
    _engine: Engine,
    _folders: (TempDir, TempDir),
}

/// One byte: anyone can spend it. Nothing is shorter.
pub fn anyone() -> ScriptBuf {
    ScriptBuf::from_bytes(vec![0x51])
}

/// How requests name a script without an address.
pub fn by_hash(script: &ScriptBuf) -> String {
    format!("scripthash:{}", hex::encode(sha256::Hash::hash(script.as_bytes()).to_byte_array()))
}

fn make() -> World {
    let mut forge = Forge::new();
    let mut coins = Vec::new();
    for tag in 1..=10 {
        let made = coinbase(tag, vec![pay(50_000_000, script(tag))]);
        coins.push(out(&made, 0));
        forge.block(vec![made]);
    }
    let mut coins = coins.into_iter();
    let mut block = |txs: Vec<Transaction>, tag: u32| {
        forge.block([vec![coinbase(1_000 + tag, vec![pay(1, script(1))])], txs].concat())
    };
    let mut next = || coins.next().unwrap();
    let outputs = spend(&[next()], (0..111_000).map(|_| pay(1, anyone())).collect());
    let made: Vec<OutPoint> = {
        let txid = outputs.compute_txid();
        (0..24_000).map(|n| OutPoint { txid, vout: n * 4 }).collect()
    };
    block(vec![outputs.clone()], 1);
    let inputs = spend(&made, vec![pay(1, script(2))]);
    block(vec![inputs.clone()], 2);
    let mut witness = spend(&[next()], vec![pay(1, script(3))]);
    witness.input[0].witness = Witness::from_slice(&vec![vec![7u8; 400]; 9_700]);
    block(vec![witness.clone()], 3);
    let many = ScriptBuf::from_bytes([vec![0x6a], vec![0x51; 900_000]].concat());
    let pushes = spend(&[next()], vec![pay(0, many)]);
    block(vec![pushes.clone()], 4);
    let small = |n: u32| ScriptBuf::from_bytes([&[0x6a, 4][..], &n.to_le_bytes()].concat());
    let carriers = spend(&[next()], (0..30_000).map(|n| pay(0, small(n))).collect());
    block(vec![carriers.clone()], 5);
    let fan = spend(&[next()], (0..2_500).map(|_| pay(1_000, anyone())).collect());
    block(vec![fan.clone()], 6);
    // One script is paid by all of these.
    block((0..2_500).map(|n| spend(&[out(&fan, n)], vec![pay(1 + u64::from(n % 900), script(1))])).collect(), 7);
    let payouts = forge.block(vec![coinbase(2_000, (0..90_000).map(|_| pay(1, anyone())).collect())]);
    let (blocks, data) = (temp_dir(), temp_dir());
    forge.write(blocks.path());
    let facts = Facts { blocks_dir: Some(blocks.path().to_owned()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(data.path(), &facts).unwrap();
    let files = BlockFiles::open(blocks.path(), Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.set_silent_payments(true);
    engine.follow_up(&NoProgress, true).unwrap();
    engine.take_document(&prices(), 1_900_000_000).unwrap();
    for source in 0..70 {
        engine.take_document(&claims(source, &script(1)), 1_900_000_000).unwrap();
    }
    engine.take_document(&members(), 1_900_000_000).unwrap();
    let busy_address = by_hash(&script(1));
    let worst = Worst { outputs, inputs, witness, pushes, carriers, payouts, quiet: script(9), busy_address };
    let slot = Arc::new(IndexSlot::with(engine.reader()));
    World { worst, slot, _engine: engine, _folders: (blocks, data) }
}

/// Forty years of daily prices, and of exchange rates of two currencies.
fn prices() -> Document {
    let slug = |text: &str| text.parse().unwrap();
    let provenance = Provenance {
        document: DocumentHash([7; 32]),
        source: slug("tests"),
        licence: slug("cc0-1.0"),
        origin: "a test".to_owned(),
        retrieved_at: 1,
    };
    let pairs = [("BTC", "USD"), ("EUR", "JPY"), ("EUR", "USD")];
    let rows = pairs.into_iter().flat_map(|(base, quote)| {
        let currency = |code: &str| code.parse().unwrap();
        let series = Series { base: currency(base), quote: currency(quote), interval: Interval::Day };
        let quote =
            |n: u32| Quote { close: Decimal::new(i64::from(10_007 + n), 4).normalize(), range: None, volume: None };
        (15_000u32..29_600).map(move |day| QuoteRow { series, closes_at: day * 86_400, quote: quote(day) })
    });
    Document { provenance, received_at: None, body: Body::Quotes(rows.collect()) }
}

/// More claims of one script than an answer takes, with texts as long as they may be.
fn claims(source: u8, script: &ScriptBuf) -> Document {
    let provenance = Provenance {
        document: DocumentHash([source.wrapping_add(100); 32]),
        source: format!("source-{source}").parse().unwrap(),
        licence: "cc0-1.0".parse().unwrap(),
        origin: "a test".to_owned(),
        retrieved_at: 1,
    };
    let claim = |row: u32| Claim {
        level: 40,
        entity: format!("entity-{row}-{source}").parse().ok(),
        entity_name: "N".repeat(200).into(),
        category: Some(Category::Exchange),
        label: "L".repeat(200).into(),
        source_url: "u".repeat(1_000).into(),
        origin_url: "o".repeat(1_000).into(),
        note: "n".repeat(1_000).into(),
        is_inherited: true,
        ..Claim::bare(row, script.as_bytes().into(), ClaimType::ControlledBy, EvidenceTier::ThirdParty)
    };
    let list = ClaimList { name: "list".parse().unwrap(), is_complete: true };
    Document { provenance, received_at: None, body: Body::Claims { list, rows: (1..=70).map(claim).collect() } }
}

/// Members of one entity: the script of the largest transactions, some with a short history, and thousands that no
/// block has.
fn members() -> Document {
    let scripts = [anyone()].into_iter().chain((2..=10).map(script)).chain((10_000..14_000).map(script));
    let mut document = claims(200, &anyone());
    if let Body::Claims { rows, .. } = &mut document.body {
        let first = rows[0].clone();
        let member = |(row, script): (u32, ScriptBuf)| Claim {
            row,
            script: script.as_bytes().into(),
            entity: "many".parse().ok(),
            note: "".into(),
            ..first.clone()
        };
        *rows = (1..).zip(scripts).map(member).collect();
    }
    document
}

/// The index. It is made once for all tests of the process.
pub static WORLD: LazyLock<World> = LazyLock::new(make);

/// A certificate for the Electrum protocol, made once; `None` without openssl.
static TLS: LazyLock<Option<Tls>> = LazyLock::new(|| {
    let folder = temp_dir();
    let request =
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out cert -days 2 -subj /CN=x";
    let made = Command::new("openssl").args(request.split(' ')).current_dir(folder.path()).output();
    let is_made = made.is_ok_and(|made| made.status.success());
    is_made.then(|| Tls::from_files(&folder.path().join("cert"), &folder.path().join("key")).unwrap())
});

/// A running server; it ends with this.
pub struct Server {
    pub address: SocketAddr,
    /// Port of the Electrum protocol.
    pub electrum: SocketAddr,
    /// Its port over TLS; `None` without openssl.
    pub electrum_tls: Option<SocketAddr>,
    stop: CancelToken,
    runtime: Option<Runtime>,
}

impl Server {
    pub fn start(rate_limit: u32) -> Server {
        let runtime = cairn_http::runtime().unwrap();
        let http = HttpConfig {
            gates_enabled: false,
            rate_limit,
            request_timeout: Duration::from_secs(20),
            ..ApiConfig::default().http
        };
        let state = ApiState::new(Arc::clone(&WORLD.slot) as Arc<_>, ApiConfig::from(http));
        let bind = || runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let (listener, plain, stop) = (bind(), bind(), CancelToken::new());
        let tls = TLS.clone().map(|tls| (bind(), tls));
        let address = |of: &TcpListener| of.local_addr().unwrap();
        let mut server = Server {
            address: address(&listener),
            electrum: address(&plain),
            electrum_tls: tls.as_ref().map(|(listener, _)| address(listener)),
            stop: stop.clone(),
            runtime: None,
        };
        let routes = move |api: &cairn_http::Api| {
            let chain = Chain::new(Arc::clone(&WORLD.slot) as Arc<_>, None);
            let listeners = Listeners { plain: Some(plain), tls };
            tokio::spawn(cairn_electrum::serve(listeners, api.clone(), chain, Options::default(), stop));
            cairn_mcp::routes(api, cairn_mcp::Options::default())
        };
        let within = runtime.enter();
        runtime.spawn(cairn_operations::serve(listener, state, routes, std::future::pending()));
        drop(within);
        server.runtime = Some(runtime);
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
