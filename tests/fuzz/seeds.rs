//! The first files of the corpus: good and nearly good input of each target, from generated chains and by hand.
//! Those that libFuzzer found lie beside them, under the names that it gave them.

mod inputs;
mod proofs;
mod served;

use std::{fs, path::Path};

use bitcoin::consensus::serialize;
use cairn_chaingen::{EverythingOptions, Mined, corefiles::write_undo, everything};
use cairn_tables::{Table, encode_key, encode_value};

use crate::targets::parsers::{Chain, REGTEST_MAGIC};

/// Writes all of them; files of other names stay.
pub fn write(folder: &Path) {
    let all: [(&str, Vec<Vec<u8>>); 18] = [
        ("addresses", addresses()),
        ("block_files", block_files()),
        ("blocks", blocks()),
        ("cursors", served::cursors()),
        ("event_files", inputs::event_files()),
        ("http", served::http()),
        ("labels", inputs::labels()),
        ("link", served::link()),
        ("mcp", served::mcp()),
        ("quotes", inputs::quotes()),
        ("rows", rows()),
        ("rpc", rpc()),
        ("signatures", inputs::signatures()),
        ("timestamps", proofs::timestamps()),
        ("transactions", transactions()),
        ("undo", undo()),
        ("undo_files", undo_files()),
        ("zmq", zmq()),
    ];
    for (target, seeds) in all {
        let folder = folder.join(target);
        fs::create_dir_all(&folder).unwrap();
        for (at, bytes) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{at:02}")), bytes).unwrap();
        }
    }
}

fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn mined() -> Vec<Mined> {
    let options = EverythingOptions { blocks: 140, max_txs: 5, forks: vec![], showpieces: false };
    let chain = everything(79, &options).unwrap();
    let mut blocks: Vec<Mined> = chain.active().into_iter().skip(100).cloned().collect();
    blocks.retain(|mined| mined.block.total_size() < 6_000);
    blocks
}

fn addresses() -> Vec<Vec<u8>> {
    let hash = "scripthash:6191c3b590bfcfa0475e877c302da1e323497acf3b42c08d8fa28e364edf018b";
    let mut all = texts(&[hash, &hash.to_uppercase(), "scripthash:00", "", "bcrt1", "1", "bc1pfeessrawgf"]);
    for mined in mined().iter().take(12) {
        let scripts = mined.block.txdata.iter().flat_map(|tx| &tx.output).map(|output| &output.script_pubkey);
        for network in [bitcoin::Network::Bitcoin, bitcoin::Network::Regtest, bitcoin::Network::Signet] {
            let found = scripts.clone().find_map(|script| bitcoin::Address::from_script(script, network).ok());
            all.extend(found.map(|address| address.to_string().into_bytes()));
        }
    }
    distinct(all)
}

fn distinct(mut all: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    all.sort();
    all.dedup();
    all
}

fn block_files() -> Vec<Vec<u8>> {
    let chain = Chain::new(4);
    let whole = chain.block_file();
    let records: Vec<Vec<u8>> = chain
        .blocks
        .iter()
        .map(serialize)
        .map(|block| [&REGTEST_MAGIC[..], &(block.len() as u32).to_le_bytes(), &block].concat())
        .collect();
    let mut shuffled = records.clone();
    shuffled[1..].reverse();
    let mut damaged = whole.clone();
    damaged[records[0].len() + records[1].len() + 40] ^= 1;
    let mut cut = records[0].clone();
    cut.extend(&records[1][..60]);
    cut.extend(records[2..].concat());
    vec![
        whole.clone(),
        records[0].clone(),
        shuffled.concat(),
        [whole.clone(), vec![0; 64]].concat(),
        [whole.clone(), vec![0; 200], records[1].clone()].concat(),
        [records[0].clone(), vec![7; 33], records[1..].concat()].concat(),
        [whole.clone(), records[2].clone()].concat(),
        [records[0].clone(), records[2..].concat()].concat(),
        whole[..whole.len() - 30].to_vec(),
        [vec![0; 128], whole.clone()].concat(),
        [whole.clone(), REGTEST_MAGIC.to_vec(), vec![0xff; 4]].concat(),
        damaged,
        cut,
        [records[0].clone(), REGTEST_MAGIC.to_vec(), vec![0xf0, 0, 0, 0], records[1..].concat()].concat(),
        bitcoin::consensus::serialize(&bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin)),
        REGTEST_MAGIC.to_vec(),
    ]
}

fn blocks() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = mined().iter().map(|mined| serialize(&mined.block)).collect();
    all.truncate(24);
    all.push(serialize(&bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin)));
    let cut = all[0][..all[0].len() - 5].to_vec();
    all.push(cut);
    all
}

fn undo() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for mined in mined() {
        let mut bytes = Vec::new();
        write_undo(&mut bytes, &mined.spent);
        all.push(bytes);
    }
    let mut all = distinct(all);
    all.truncate(24);
    all
}

fn undo_files() -> Vec<Vec<u8>> {
    let chain = Chain::new(5);
    let file = |content: Vec<u8>| [vec![0], content].concat();
    let whole = chain.undo_file();
    let mut damaged = whole.clone();
    damaged[20] ^= 1;
    let mut all = vec![
        file(whole.clone()),
        file(Vec::new()),
        file([whole.clone(), vec![0; 90]].concat()),
        file([vec![0; 90], whole.clone()].concat()),
        file([vec![9; 21], whole.clone()].concat()),
        file(whole[..whole.len() - 20].to_vec()),
        file([whole.clone(), whole.clone()].concat()),
        file(damaged),
        file([REGTEST_MAGIC.to_vec(), vec![0xff; 40]].concat()),
    ];
    for height in 1..=5u8 {
        all.push([vec![height], chain.undo_of(height.into())].concat());
    }
    all.extend(undo().into_iter().take(6).map(|undo| [vec![3], undo].concat()));
    all
}

fn transactions() -> Vec<Vec<u8>> {
    let mined = mined();
    let mut all: Vec<Vec<u8>> =
        mined.iter().flat_map(|mined| &mined.block.txdata).map(serialize).filter(|tx| tx.len() < 1_500).collect();
    all = all.into_iter().step_by(4).take(36).collect();
    // Scripts alone are looked at, too.
    all.push([&[0x6a, 20][..], b"omni", &[0; 16]].concat());
    all.push([&[0x6a, 0x5d][..], &[2, 1, 2, 0x4c, 1, 1]].concat());
    all.push([&[0x00, 0x14][..], &[7; 20]].concat());
    all.push([&[0x51, 0x20][..], &[7; 32]].concat());
    all
}

fn rows() -> Vec<Vec<u8>> {
    let mut all =
        vec![vec![], vec![0], vec![0; 4], vec![0; 8], vec![1; 13], vec![0; 32], vec![2; 36], vec![1; 44], vec![0; 80]];
    macro_rules! of_tables {
        ($($file:ident: $($table:ident),+;)*) => {
            // Whatever a table reads from simple bytes, in its own form.
            $($(of_table::<cairn_tables::$file::$table>(&mut all);)+)*
        };
    }
    cairn_tables::for_each_table!(of_tables);
    let mut all = distinct(all);
    all.truncate(80);
    all
}

fn of_table<T: Table>(all: &mut Vec<Vec<u8>>) {
    let simple = (0..200).flat_map(|length| [0u8, 1].map(|byte| vec![byte; length]));
    let (keys, values): (Vec<Vec<u8>>, Vec<Vec<u8>>) = simple
        .map(|bytes| {
            let key = T::decode_key(&bytes).map(|key| encode_key::<T>(&key)).unwrap_or_default();
            (key, T::decode_value(&bytes).map(|value| encode_value::<T>(&value)).unwrap_or_default())
        })
        .unzip();
    all.extend(keys.into_iter().filter(|key| !key.is_empty()).take(2));
    all.extend(values.into_iter().filter(|value| !value.is_empty()).take(3));
}

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = vec![parts.len() as u8];
    for part in parts {
        all.extend((part.len() as u16).to_le_bytes());
        all.extend(*part);
    }
    all
}

fn zmq() -> Vec<Vec<u8>> {
    let chain = Chain::new(1);
    let (block, tx) = (serialize(&chain.blocks[1]), serialize(&chain.blocks[1].txdata[0]));
    let hash: Vec<u8> = (0..32).collect();
    let change = |label: u8, rest: &[u8]| [&hash[..], &[label], rest].concat();
    let number = |n: u32| n.to_le_bytes();
    let mut all = vec![
        frame(&[b"hashblock", &hash, &number(0)]),
        frame(&[b"rawblock", &block, &number(1)]),
        frame(&[b"rawtx", &tx, &number(u32::MAX)]),
        frame(&[b"sequence", &change(b'C', &[]), &number(3)]),
        frame(&[b"sequence", &change(b'D', &[]), &number(4)]),
        frame(&[b"sequence", &change(b'A', &[2; 8]), &number(5)]),
        frame(&[b"sequence", &change(b'R', &[255; 8]), &number(6)]),
        frame(&[b"sequence", &change(b'X', &[]), &number(7)]),
        frame(&[b"hashtx", &hash, &number(8)]),
        frame(&[b"rawtx", b"", &number(9)]),
        frame(&[b"rawblock", &[0; 79], &number(9)]),
        frame(&[b"hashblock", &hash[..31], &number(9)]),
        frame(&[b"hashblock", &hash, &[1, 2, 3]]),
        frame(&[b"hashblock", &hash]),
        frame(&[]),
        vec![4, 255, 255, 1, 2, 3],
    ];
    all.push(all[..8].concat());
    all.push([all[0].clone(), all[0].clone(), all[3].clone(), all[5].clone()].concat());
    all
}

fn rpc() -> Vec<Vec<u8>> {
    let hash = "00000000000000000000000000000000000000000000000000000000000000ff";
    let results = [
        format!(r#"{{"chain":"main","blocks":9,"headers":9,"bestblockhash":"{hash}","initialblockdownload":false,"pruned":true,"pruneheight":7,"verificationprogress":0.99}}"#),
        r#"{"version":280000,"subversion":"/Satoshi:28.0.0/","connections":8,"networkactive":true,"relayfee":0.00001000,"warnings":["one"]}"#.to_owned(),
        r#"{"version":250000,"warnings":"one text"}"#.to_owned(),
        format!(r#"{{"height":1,"bestblock":"{hash}","txouts":1,"bogosize":75,"muhash":"{hash}","total_amount":50.00000000}}"#),
        format!(r#"{{"txids":["{hash}","{hash}"],"mempool_sequence":12}}"#),
        format!(r#"{{"vsize":141,"weight":561,"time":1700000000,"height":5,"fees":{{"base":1e-5,"modified":-0.1,"ancestor":0.1,"descendant":0.1}},"descendantcount":1,"ancestorcount":1,"depends":["{hash}"],"spentby":[]}}"#),
        r#"{"loaded":true,"size":2,"bytes":300,"usage":1000,"total_fee":0.00002,"maxmempool":300000000,"mempoolminfee":0.00001,"minrelaytxfee":0.00001,"incrementalrelayfee":0.00001,"fullrbf":true}"#.to_owned(),
        r#"{"blockmintxfee":0.00001000}"#.to_owned(),
        r#"[{"type":"pubrawtx","address":"tcp://127.0.0.1:28332","hwm":1000}]"#.to_owned(),
        format!("\"{hash}\""),
        "\"0200\"".to_owned(),
        "null".to_owned(),
        "20999999.9769".to_owned(),
        "1e2147483647".to_owned(),
    ];
    let single = |result: &String| format!(r#"{{"result":{result},"error":null,"id":7}}"#);
    let mut all: Vec<String> = results.iter().map(single).collect();
    let part = |id: u64, result: &str| format!(r#"{{"result":{result},"error":null,"id":{id}}}"#);
    let failed = |code: i64| format!(r#"{{"result":null,"error":{{"code":{code},"message":"no"}},"id":8}}"#);
    all.push(format!("[{},{},{}]", part(9, &results[9]), failed(-5), part(7, &results[5])));
    all.push(format!("[{},{}]", part(7, "1"), part(8, "2")));
    all.push(format!("[{}]", part(u64::MAX, "1")));
    all.push(failed(-28));
    all.push(failed(-8));
    all.push(r#"{"result":1,"id":"7"}"#.to_owned());
    all.push("<html>no</html>".to_owned());
    // Errors repeat the beginning only.
    let long = "x".repeat(6_000);
    all.push(format!(r#"{{"error":{{"code":-1,"message":"{long}"}},"id":7}}"#));
    all.push(format!(r#"{{"result":"{long}","id":7}}"#));
    all.push(format!(r#"{{"result":1,"id":"{long}"}}"#));
    all.push("{".to_owned());
    let mut all: Vec<Vec<u8>> = all.into_iter().map(|text| [&[0][..], text.as_bytes()].concat()).collect();
    all.push(b"\x03Work queue depth exceeded".to_vec());
    all.push(b"\x04".to_vec());
    all
}
