//! Graphs and risk evidence around the busiest address of a chain as mainnet's, from an index of which nothing is in
//! memory: before each question its files leave the system's cache, and a new reader has none of its own. Cache and
//! speed of the disk itself depend on the machine. Each question is asked a second time, when its rows are in memory.

use std::{fs::File, path::Path};

use bitcoin::{ScriptBuf, WPubkeyHash, hashes::Hash};
use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_domain::address_of;
use cairn_events::{
    self as events, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Provenance,
};
use cairn_model::Network;
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use rustix::fs::{Advice, fadvise};

use crate::{
    TIMES,
    questions::{Answered, LocalApi, Question, print_row},
};

pub(crate) fn measure(mib: u64) {
    let folder = cairn_testkit::temp_dir();
    let (blocks, data) = (folder.path().join("blocks"), folder.path().join("data"));
    std::fs::create_dir(&blocks).unwrap();
    let options = MainnetOptions::new(18, mib << 20);
    write_mainnet(&blocks, FileOptions::new(bitcoin::Network::Regtest, [0; 8]), &options).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    {
        let mut engine = Engine::open(&data, &facts).unwrap();
        let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
        engine.take_document(&label(), 1_800_000_000).unwrap();
        engine.follow_up(&NoProgress, true).unwrap();
        engine.settle().unwrap();
    }
    let address = address_of(options.busiest().unwrap().as_bytes(), Network::Regtest).unwrap();
    println!("\n{mib} MiB of blocks as mainnet's; nothing of the index in memory");
    println!("\n| answer | ms, median | ms, most | rows read | bytes |\n|---|---|---|---|---|");
    for rest in [
        "flow-graph",
        "flow-graph?hops=2",
        "flow-graph?hops=4&node_limit=200",
        "flow-graph?hops=4&node_limit=200&min_btc=0",
        "flow-graph?hops=4&node_limit=200&min_btc=0&fold=cluster",
        "risk-signals",
        "risk-exposure",
        "risk-exposure?depth=4",
        "risk-check?depth=2",
        "evidence-pack?depth=2",
    ] {
        let path = match rest.strip_prefix("risk-check") {
            Some(more) => format!("/v1/risk-check/{address}{more}"),
            None => format!("/v1/wallets/{address}/{rest}"),
        };
        let question = Question::get(path);
        let (cold, warm): (Vec<Answered>, Vec<Answered>) = (0..TIMES)
            .map(|_| {
                forget(&data);
                let engine = Engine::open(&data, &facts).unwrap();
                let asked = LocalApi::of(engine.reader());
                // The reads of opening do not count for the question.
                asked.ask(&Question::get("/v1/chain/recent-blocks"));
                (asked.ask(&question), asked.ask(&question))
            })
            .unzip();
        let whole = cold.iter().filter(|answer| !String::from_utf8_lossy(&answer.body).contains("time_budget"));
        print_row(&format!("{rest} (whole within the time: {} of {TIMES})", whole.count()), &cold);
        print_row(&format!("{rest}, again"), &warm);
    }
}

/// A label, without which no server looks at claims.
fn label() -> Document {
    let provenance = Provenance {
        document: DocumentHash([1; 32]),
        source: "bench".parse().unwrap(),
        licence: "mit".parse().unwrap(),
        origin: "a bench".to_owned(),
        retrieved_at: 1_700_000_000,
    };
    let list = ClaimList { name: "list".parse().unwrap(), is_complete: false };
    let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array([7; 20]));
    let claim = Claim {
        level: 90,
        entity: Some("exchange".parse().unwrap()),
        entity_name: "Exchange".into(),
        category: Some(Category::Exchange),
        source_url: "https://lists.example/1".into(),
        ..Claim::bare(1, script.as_bytes().into(), ClaimType::ControlledBy, EvidenceTier::SelfDisclosed)
    };
    Document { provenance, received_at: None, body: events::Body::Claims { list, rows: vec![claim] } }
}

/// Takes the files of a folder out of the system's cache.
fn forget(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            forget(&path);
        } else {
            let file = File::open(&path).unwrap();
            // Pages that are not yet written cannot leave.
            file.sync_all().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        }
    }
}
