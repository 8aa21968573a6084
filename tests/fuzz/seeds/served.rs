//! Seeds of the targets that need an index.

use bitcoin::consensus::serialize;
use cairn_chaingen::{EverythingOptions, everything};
use cairn_events::{Currency, LiveQuote};
use cairn_link::{Message, VERSION};
use cairn_model::{BlockHash, MempoolDelta, NodeFloor, Part, RemoveReason, SourceStatus, Trouble, Txid};

use crate::targets::served::World;

pub fn link() -> Vec<Vec<u8>> {
    let options = EverythingOptions { blocks: 110, max_txs: 3, forks: vec![], showpieces: false };
    let chain = everything(5, &options).unwrap();
    let tx = &chain.active()[109].block.txdata[0];
    let raw = serialize(tx);
    let add = |tag: u8, parent: u8, has_raw: bool| {
        let input = cairn_model::MempoolInput {
            prev_txid: Txid([parent; 32]),
            prev_vout: 0,
            sequence: 0xffff_fffd,
            value: 10_000,
            birth: (parent > 100).then_some(5),
            script: [&[0x00, 0x14][..], &[parent; 20]].concat().into(),
        };
        let output =
            cairn_model::MempoolOutput { value: 9_000, script: [&[0x00, 0x14][..], &[tag; 20]].concat().into() };
        MempoolDelta::Add(std::sync::Arc::new(cairn_model::MempoolTx {
            txid: Txid([tag; 32]),
            wtxid: Txid([if has_raw { tag } else { tag + 1 }; 32]),
            size: 140,
            base_size: 110,
            sigop_cost: 4,
            fee_sats: 1_000,
            version: 2,
            lock_time: 0,
            first_seen_ms: 1_700_000_000_000,
            inputs: [input].into(),
            outputs: [output].into(),
            raw: has_raw.then(|| raw.clone().into()),
        }))
    };
    let step = |deltas: Vec<MempoolDelta>, complete| Message::Mempool { deltas, complete };
    let reset = MempoolDelta::Reset { sequence: 5 };
    let block = MempoolDelta::Block { height: 110, hash: BlockHash([9; 32]), time: 1_700_000_000 };
    let remove = |reason| MempoolDelta::Remove { txid: Txid([1; 32]), reason };
    let floor = NodeFloor { mempool_min_fee: 1, min_relay_fee: 1_000, max_bytes: 1 << 28, usage_bytes: 1 << 20 };
    let status = SourceStatus { at: 7, mempool_sequence: Some(9), ..SourceStatus::default() };
    let start = vec![reset.clone(), block.clone(), MempoolDelta::Sequence(6)];
    let reasons = [
        RemoveReason::Unknown,
        RemoveReason::Confirmed { height: 111 },
        RemoveReason::Replaced { by: Txid([2; 32]) },
        RemoveReason::Evicted,
        RemoveReason::Conflict,
        RemoveReason::Expired,
    ];
    let mut steps = vec![
        vec![Message::Hello { version: VERSION }, Message::Best(Some(110)), Message::Best(None)],
        vec![Message::Tip { height: 110, hash: BlockHash([9; 32]) }],
        vec![Message::Source(Box::new(status))],
        vec![
            Message::Troubles(vec![Trouble::new(Part::Disk, "it is full", "waits for room", 1_700_000_000)]),
            Message::Troubles(Vec::new()),
        ],
        vec![
            Message::Prices(vec![live_quote("USD", Some("kraken")), live_quote("EUR", None)]),
            Message::Prices(Vec::new()),
        ],
        vec![step(start.clone(), true)],
        vec![step(start.clone(), false), step(vec![add(1, 200, true), add(2, 1, false)], true)],
        vec![step([start.clone(), vec![add(2, 1, true), add(1, 200, true), add(3, 2, true)]].concat(), true)],
        vec![step([start.clone(), vec![add(1, 200, true), add(1, 200, true)]].concat(), true)],
        vec![step([start.clone(), vec![MempoolDelta::NodeFloor(floor)]].concat(), true)],
        vec![step(vec![add(1, 1, true)], true)],
    ];
    for reason in reasons {
        let deltas = vec![add(1, 200, true), add(2, 1, true), remove(reason)];
        steps.push(vec![step([start.clone(), deltas].concat(), true), step(vec![block.clone()], true)]);
    }
    let mut all: Vec<Vec<u8>> =
        steps.iter().map(|messages| messages.iter().flat_map(Message::to_frame).collect()).collect();
    all.push(vec![255, 255, 255, 255, 3]);
    all.push(vec![2, 0, 0, 0, 9, 9]);
    all
}

/// A price of bitcoin.
fn live_quote(quote: &str, source: Option<&str>) -> LiveQuote {
    LiveQuote {
        base: Currency::BTC,
        quote: quote.parse().unwrap(),
        price: 98_765.into(),
        at: 1_700_000_000,
        source: source.map(|source| source.parse().unwrap()),
        sources: 3,
        dropped: 1,
        disputed: source.is_none(),
    }
}

pub fn http() -> Vec<Vec<u8>> {
    let World { busy, txid, block, .. } = World::get();
    let get = |target: &str| format!("GET {target}\nhost: cairn.test\n\n");
    let mut all: Vec<String> = [
        "/about",
        "/openapi.json",
        "/llms.txt",
        "/livez",
        "/api/health",
        "/api/health/full",
        "/api/reference",
        "/v1/capabilities",
        "/v1/chain/recent-blocks?limit=2&view=compact",
        "/v1/chain/projected-blocks?txids_limit=3",
        "/v1/mempool/stats",
        "/v1/mempool/fee-distribution",
        "/v1/fees/recommended",
        "/v1/network/summary",
        "/v1/network/mempool/stress?include_components=true&history_hours=24",
        "/v1/qr?data=bitcoin%3Ax%C3%BC",
        "/v1/nothing",
        "/v1/blocks/5?tx_limit=2&tx_offset=1",
        "*",
    ]
    .map(get)
    .into();
    all.extend([
        get(&format!("/v1/blocks/{block}?tx_limit=100")),
        get(&format!("/v1/tx/{txid}?include_hex=true&io_limit=2&inputs_from=1")),
        get(&format!("/v1/tx/{txid}/status")),
        get(&format!("/v1/tx/{txid}/op-return")),
        get(&format!("/v1/mempool/tx/{txid}?relatives_limit=1&io_limit=1")),
        get(&format!("/v1/wallets/{busy}/overview?view=compact")),
        get(&format!("/v1/wallets/{busy}/transactions?limit=3&offset=2")),
        get(&format!("/v1/wallets/{busy}/balance-history?from=2020-01-01&to=2026-02-28")),
        format!("HEAD /v1/tx/{txid}\nhost: cairn.test\nif-none-match: \"a\", W/\"b\"\naccept: text/html\n\n"),
        "OPTIONS /v1/tx/verify\norigin: http://a.test\naccess-control-request-method: POST\n\n".to_owned(),
        "DELETE /v1/tx/verify\nhost: cairn.test\n\n".to_owned(),
        format!("POST /v1/tx/verify\ncontent-type: application/json\n\n{{\"txid\":\"{txid}\",\"expected_address\":\"{busy}\",\"min_amount_sats\":1}}"),
        "POST /v1/tx/broadcast\ncontent-type: text/plain\n\n0200".to_owned(),
        "POST /v1/tx/broadcast\ncontent-type: application/json\n\n{\"tx_hex\":\"00\"}".to_owned(),
        "GET /v1/chain/recent-blocks\naccept-encoding: gzip, br;q=0.5\nauthorization: Bearer cairn_ses_x\n\n".to_owned(),
        "GET /mcp/\naccept: text/event-stream\nhost: cairn.test\n\n".to_owned(),
        "POST /mcp/\ncontent-type: application/json\nhost: cairn.test\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_owned(),
        "GET http://other.test/v1/chain/recent-blocks?limit=0&limit=1\n\n".to_owned(),
    ]);
    all.into_iter().map(String::into_bytes).collect()
}

pub fn mcp() -> Vec<Vec<u8>> {
    let World { busy, txid, .. } = World::get();
    let call = |name: &str, arguments: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    };
    let all = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"nothing","params":[1]}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#.to_owned(),
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_owned(),
        "[]".to_owned(),
        "{".to_owned(),
        "null".to_owned(),
        call("recent_blocks", r#"{"limit":2}"#.to_owned()),
        call("wallet_overview", format!(r#"{{"address":"{busy}"}}"#)),
        call("wallet_overview", r#"{"address":7,"more":[{}]}"#.to_owned()),
        call("tx_lookup", format!(r#"{{"txid":"{txid}","io_limit":2}}"#)),
        call("search_endpoints", r#"{"query":"balance"}"#.to_owned()),
        call("describe_endpoint", r#"{"endpoint":"tx_status"}"#.to_owned()),
        call("call_endpoint", r#"{"endpoint":"recent_blocks","arguments":{"limit":1}}"#.to_owned()),
        call("nothing", "{}".to_owned()),
    ];
    let batch = format!("[{},{},{}]", all[1], all[3], all[11]);
    let mut all: Vec<Vec<u8>> = all.iter().map(|text| [&[1][..], text.as_bytes()].concat()).collect();
    all.push([&[2][..], batch.as_bytes()].concat());
    all.push([&[0][..], &all[0][1..]].concat());
    all.push([&[3][..], &all[2][1..]].concat());
    all.push([&[4][..], &all[3][1..]].concat());
    all
}

pub fn cursors() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for list in 0..3u8 {
        all.push(vec![list]);
        // Version, filters, position, height, hash.
        for at in [0, 1, 16, 15, 20, 52] {
            let mut mask = vec![0; 54];
            (mask[0], mask[at + 1]) = (list, 1);
            all.push(mask);
        }
        all.push([vec![list], vec![0; 9], vec![0xff; 8]].concat());
        all.push(vec![list + 3]);
        all.push([vec![list + 3], b"00-11".to_vec()].concat());
        all.push([vec![list + 3], vec![b'0'; 106]].concat());
    }
    all.push([vec![4], vec![b'0'; 106], b"-".to_vec(), vec![b'1'; 80]].concat());
    all
}
