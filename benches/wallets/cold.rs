//! Graphs around the busiest address of a chain as mainnet's, from an index of which nothing is in memory: before each
//! question its files leave the system's cache, and a new reader has none of its own. Cache and speed of the disk
//! itself depend on the machine.

use std::{fs::File, path::Path};

use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_domain::address_of;
use cairn_model::Network;
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use rustix::fs::{Advice, fadvise};
use serde_json::Value;

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
    ] {
        let question = Question::get(format!("/v1/wallets/{address}/{rest}"));
        let answers: Vec<Answered> = (0..TIMES)
            .map(|_| {
                forget(&data);
                let engine = Engine::open(&data, &facts).unwrap();
                let asked = LocalApi::of(engine.reader());
                // The reads of opening do not count for the question.
                asked.ask(&Question::get("/v1/chain/recent-blocks"));
                asked.ask(&question)
            })
            .collect();
        let whole = answers.iter().filter(|answer| {
            let graph: Value = serde_json::from_slice(&answer.body).unwrap();
            graph["truncated_reasons"]
                .as_array()
                .is_none_or(|reasons| reasons.iter().all(|reason| reason != "time_budget"))
        });
        print_row(&format!("{rest} (whole within the time: {} of {TIMES})", whole.count()), &answers);
    }
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
